/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the drain thread does again and again, without the thread: rounds through the sessions in
 * passes of a bounded time, by a clock that is made up; and ends of chunks, one at a time, however
 * late the worker takes them.
 */
#include "base/clock.h"
#include "collector/run/watch.h"
#include "collector/write/process_work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SESSIONS 5

static struct watch watch;
static struct worker worker;
static struct queue queue;
static uint64_t test_now_ns;

/* A pass may take 50 ms: with a reading before each session it has time for two of them. */
static uint64_t slow_clock(void)
{
	test_now_ns += 20000000;
	return test_now_ns;
}

static int begin(void **state)
{
	struct outside_options options = {.out = &queue};

	(void)state;
	memset(&worker, 0, sizeof(worker));
	watch = (struct watch)WATCH_CLOSED;
	watch.worker = &worker;
	watch.queue = &queue;
	watch.round = 1;
	watch.chunk_ns = UINT64_MAX;
	watch.now = slow_clock;
	test_now_ns = clock_mono_ns();
	return queue_init(&queue, 1 << 20) || outside_open(&watch.outside, &options);
}

static int end(void **state)
{
	struct session *s;

	(void)state;
	while ((s = watch.first)) {
		struct process *p = s->process;

		watch.first = s->next;
		session_free(s);
		process_free(p);
	}
	outside_stop(watch.outside);
	outside_free(watch.outside);
	queue_destroy(&queue);
	return 0;
}

static void add_sessions(uint32_t count)
{
	struct session_settings settings = {.period_ns = 1000000, .stack_mode = WEFT_STACK_AUTO};

	for (uint32_t i = 0; i < count; i++) {
		struct process *p;
		struct session *s;

		assert_int_equal(process_new(&p, getpid()), 0);
		p->opened_ns = clock_mono_ns();
		assert_int_equal(session_new(&s, p, &settings), 0);
		((struct weft_session_header *)p->base)->drained_ns = 0;
		s->next = watch.first;
		watch.first = s;
	}
}

/* Of the sessions, the first ones first: those that were drained since the last time, as their
 * programs see it, as bits. */
static uint32_t pass(void)
{
	uint32_t bits = 0, i = 0;

	watch_drain(&watch);
	for (struct session *s = watch.first; s; s = s->next, i++) {
		struct weft_session_header *h = s->process->base;

		bits |= (uint32_t)(h->drained_ns != 0) << i;
		h->drained_ns = 0;
	}
	return bits;
}

static void each_round_has_every_session_once(void **state)
{
	(void)state;
	add_sessions(SESSIONS);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(pass(), 0x03);
		assert_int_equal(watch.is_behind, 1);
		assert_int_equal(pass(), 0x0c);
		assert_int_equal(watch.is_behind, 1);
		assert_int_equal(pass(), 0x10);
		assert_int_equal(watch.is_behind, 0);
	}
}

/* It is not drained twice in this round, nor are the others made to wait for the next one. */
static void who_joins_in_a_round_is_drained_in_it(void **state)
{
	(void)state;
	add_sessions(SESSIONS);
	pass();
	add_sessions(1);
	assert_int_equal(pass(), 1 | 1 << 3);
	assert_int_equal(watch.is_behind, 1);
	assert_int_equal(pass(), 3 << 4);
	assert_int_equal(watch.is_behind, 0);
}

/* The chunk is full, the drain thread passes, and the worker is busy: so many BATCH_ROLLs are on
 * their way to it. */
static uint32_t rolls_of_passes(int passes)
{
	struct outside_options options = {.out = &queue};
	uint32_t rolls = 0;

	for (int i = 0; i < passes; i++)
		watch_drain(&watch);
	outside_stop(watch.outside);
	outside_free(watch.outside);
	while (queue.first) {
		struct batch *b = queue_pop(&queue);

		rolls += b->kind == BATCH_ROLL;
		free(b);
	}
	assert_int_equal(outside_open(&watch.outside, &options), 0);
	return rolls;
}

static void a_full_chunk_is_ended_once(void **state)
{
	(void)state;
	worker.roll_wanted = 1;
	assert_int_equal(rolls_of_passes(20), 1);
	worker.rolls++;
	worker.roll_wanted = 0;
	assert_int_equal(rolls_of_passes(20), 0);
	worker.roll_wanted = 1;
	assert_int_equal(rolls_of_passes(20), 1);
}

static void a_chunk_that_is_due_waits_for_the_one_before(void **state)
{
	(void)state;
	watch.chunk_ns = 1;
	assert_int_equal(rolls_of_passes(20), 1);
	worker.rolls++;
	assert_int_equal(rolls_of_passes(20), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_round_has_every_session_once, begin, end),
		cmocka_unit_test_setup_teardown(who_joins_in_a_round_is_drained_in_it, begin, end),
		cmocka_unit_test_setup_teardown(a_full_chunk_is_ended_once, begin, end),
		cmocka_unit_test_setup_teardown(a_chunk_that_is_due_waits_for_the_one_before, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
