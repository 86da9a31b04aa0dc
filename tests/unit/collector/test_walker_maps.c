/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the walker holds back. Samples of a process that has unloaded something since its mappings
 * were looked at wait while looking has cost too much for now: walked without, they would have no
 * names. They are handed on in order once it may look, and in any case at the process's end.
 */
#include "base/clock.h"
#include "collector/session/session.h"
#include "collector/walk/process_walk.h"
#include "collector/walk/walk.h"
#include "collector/write/process_work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The first half counts changes. */
#define UNLOADED (UINT64_C(1) << 32)
#define LIMIT ((size_t)1 << 20)
#define DEBT_NS (INT64_MIN / 2) /* what no time can pay */

struct scene {
	struct tables tables;
	struct table_cache cache;
	struct session *session;
	struct process *process;
	struct queue in, out;
	struct walker walker;
	pthread_t thread;
};

static void put(struct scene *s, enum batch_kind kind)
{
	queue_push(&s->in, batch_new(kind, s->process, 0));
}

/* Waits for the next batch that the walker hands on. */
static enum batch_kind next(struct scene *s)
{
	struct batch *b = queue_pop(&s->out);
	enum batch_kind kind = b->kind;

	free(b);
	return kind;
}

/* The walker knows the process, and waits for more. */
static void begin(struct scene *s)
{
	struct session_settings settings = {.period_ns = 1000000,
					    .ring_bytes = WEFT_RING_BYTES_MIN,
					    .stack_mode = WEFT_STACK_RAW,
					    .stack_copy_bytes = 4096};

	memset(s, 0, sizeof(*s));
	s->tables.fd = s->cache.fd = -1;
	assert_int_equal(process_new(&s->process, getpid()), 0);
	s->process->session_id = 1;
	s->process->opened_ns = clock_mono_ns();
	assert_int_equal(session_new(&s->session, s->process, &settings), 0);
	assert_int_equal(queue_init(&s->in, LIMIT), 0);
	assert_int_equal(queue_init(&s->out, LIMIT), 0);
	s->walker = (struct walker){
		.in = &s->in,
		.out = &s->out,
		.walking = {.modules = modules_new(&s->tables, &s->cache), .tables = &s->tables},
	};
	assert_non_null(s->walker.walking.modules);
	assert_int_equal(pthread_create(&s->thread, NULL, walker_run, &s->walker), 0);
	put(s, BATCH_OPEN);
	assert_int_equal(next(s), BATCH_OPEN);
}

static void end(struct scene *s)
{
	put(s, BATCH_FINISH);
	assert_int_equal(next(s), BATCH_FINISH);
	pthread_join(s->thread, NULL);
	assert_int_equal(s->walker.error, 0);
	assert_null(s->out.first);
	session_free(s->session);
	process_free(s->process);
	modules_free(s->walker.walking.modules);
	queue_destroy(&s->in);
	queue_destroy(&s->out);
}

static void unload_something(struct scene *s)
{
	__atomic_add_fetch(&s->process->base->modules_epoch, UNLOADED, __ATOMIC_RELEASE);
}

/* The walker takes nothing of it before the next put(). */
static void set_credit(struct scene *s, int64_t credit_ns)
{
	s->process->walk->look_credit_ns = credit_ns;
}

static void samples_wait_for_mappings_that_cannot_be_read_yet(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	set_credit(&s, DEBT_NS);
	put(&s, BATCH_SAMPLES);
	assert_int_equal(next(&s), BATCH_WALKED); /* nothing has changed: nothing to wait for */

	unload_something(&s);
	put(&s, BATCH_SAMPLES);
	put(&s, BATCH_EVENTS);
	put(&s, BATCH_COUNTS);
	assert_int_equal(next(&s), BATCH_COUNTS);
	assert_null(s.out.first);

	set_credit(&s, 1000000);
	put(&s, BATCH_THREAD_END);
	assert_int_equal(next(&s), BATCH_WALKED);
	assert_int_equal(next(&s), BATCH_PLACED);
	assert_int_equal(next(&s), BATCH_THREAD_END);
	end(&s);
}

static void the_process_ends_meanwhile(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	set_credit(&s, DEBT_NS);
	unload_something(&s);
	put(&s, BATCH_SAMPLES);
	put(&s, BATCH_SAMPLES);
	put(&s, BATCH_CLOSE);
	assert_int_equal(next(&s), BATCH_WALKED);
	assert_int_equal(next(&s), BATCH_WALKED);
	assert_int_equal(next(&s), BATCH_CLOSE);
	end(&s);
}

/* However many ask: what was looked at after they were taken in need not be looked at again. */
static void one_look_is_enough_for_all(void **state)
{
	uint64_t now_ns;
	struct scene s;

	(void)state;
	begin(&s);
	unload_something(&s);
	now_ns = clock_mono_ns();
	set_credit(&s, 1);
	process_look(s.process, now_ns);
	assert_true(s.process->walk->maps_ns >= now_ns);
	assert_false(process_map_is_stale(s.process));
	set_credit(&s, DEBT_NS);
	process_look(s.process, now_ns);
	assert_false(process_look_is_owed(s.process, now_ns)); /* it was not missed */
	process_look(s.process, clock_mono_ns() + 1);
	assert_true(process_look_is_owed(s.process, now_ns)); /* this one was */
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_wait_for_mappings_that_cannot_be_read_yet),
		cmocka_unit_test(the_process_ends_meanwhile),
		cmocka_unit_test(one_look_is_enough_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
