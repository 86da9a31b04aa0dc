/* SPDX-License-Identifier: Apache-2.0 */
/* The wall engine beside children that block, run and end: what it says, and what it counts. */
#include "outside_child.h"

#include "base/clock.h"
#include "base/session_layout.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#define PERIOD_NS UINT64_C(5000000)
#define SECOND_NS UINT64_C(1000000000)

static const struct wall_options plain = {.period_ns = PERIOD_NS};

static void assert_between(uint64_t low, uint64_t got, uint64_t high)
{
	if (got < low || got > high)
		fail_msg("expected %llu to %llu, got %llu", (unsigned long long)low,
			 (unsigned long long)high, (unsigned long long)got);
}

static void sleep_for_ever(struct session *s, uint64_t *page)
{
	(void)s;
	__atomic_store_n(page, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void who_sleeps_is_read_once_and_then_counted(void **state)
{
	struct outside_child c;
	struct outside_told told;
	uint64_t now_ns;

	(void)state;
	assert_int_equal(outside_child_begin(&c, &plain, sleep_for_ever), 0);
	outside_child_await(&c, c.pid, 'S');
	now_ns = clock_mono_ns();
	for (int second = 0; second < 20; second++) /* the future, as far as it knows */
		wall_tick(c.wall, c.threads, now_ns += SECOND_NS, SECOND_NS);
	wall_flush(c.wall, now_ns);
	outside_child_take(&c, &told, NULL);
	assert_int_equal(told.samples, 1);
	assert_int_equal(told.last.state, WEFT_STATE_SLEEPING);
	assert_int_equal(told.last.flags & ~WEFT_SAMPLE_CUT, WEFT_SAMPLE_OUTSIDE);
	assert_int_equal(told.last.context, WEFT_CONTEXT_NONE);
	assert_true(told.last.copy_bytes > 0 && told.last.register_count > 0);
	assert_between((now_ns - c.began_ns) / PERIOD_NS - 1, told.ticks,
		       (now_ns - c.began_ns) / PERIOD_NS + 2);
	assert_int_equal(told.ends, 0);
	assert_int_equal(c.counts.counter[WEFT_COUNTER_WALL_TAKEN], 1);
	assert_int_equal(c.counts.counter[WEFT_COUNTER_WALL_REPEATED], told.ticks - 1);

	outside_child_finish(&c, now_ns + SECOND_NS);
	outside_child_take(&c, &told, NULL);
	assert_int_equal(told.ends, 1);
	assert_between(SECOND_NS / PERIOD_NS - 1, told.ticks, SECOND_NS / PERIOD_NS + 1);
	outside_child_end(&c);
}

static void run_for_ever(struct session *s, uint64_t *page)
{
	(void)s;
	for (;;)
		__atomic_store_n(page, 1, __ATOMIC_RELEASE);
}

static void who_runs_gives_nothing(void **state)
{
	struct outside_child c;
	struct outside_told told;

	(void)state;
	assert_int_equal(outside_child_begin(&c, &plain, run_for_ever), 0);
	outside_child_watch(&c, SECOND_NS / 2);
	outside_child_take(&c, &told, NULL);
	assert_int_equal(told.samples, 0);
	assert_int_equal(told.ticks, 0);
	outside_child_end(&c);
}

/* On a busy machine much time goes by between a thread's first sight and the first reading of its
 * times: it runs then, and is not told to have been blocked. */
static void what_ran_before_the_first_reading_was_not_blocked(void **state)
{
	struct outside_child c;
	struct outside_told told;
	struct watched_thread late = {.slot = THREADS_NO_SLOT};
	uint64_t passed_ns;

	(void)state;
	assert_int_equal(outside_child_begin(&c, &plain, run_for_ever), 0);
	outside_child_finish(&c, clock_mono_ns());
	outside_child_take(&c, &told, NULL);
	c.wall = wall_new(c.process, &plain, &c.queue, &c.counts);
	assert_non_null(c.wall);
	late.tid = late.inside_tid = c.pid;
	late.seen_ns = clock_mono_ns();
	usleep(200000);
	wall_thread_new(c.wall, &late);
	usleep(200000);
	outside_child_finish(&c, clock_mono_ns());
	outside_child_take(&c, &told, NULL);
	passed_ns = told.account.to_ns - told.account.from_ns;
	assert_int_equal(told.account.kind, WALL_ACCOUNT);
	/* The kernel's times of one that runs may be a tick old. */
	assert_between(passed_ns - 50000000, told.account.cpu_ns + told.account.delay_ns,
		       passed_ns + 50000000);
	outside_child_end(&c);
}

static uint64_t told_without_its_slot;

static void check_name(const struct batch *b)
{
	told_without_its_slot += b->thread.slot != 0 || b->thread.generation != 1;
}

/* How many batches there were; *last: the kind of the last. */
static size_t check_names(struct outside_child *c, enum batch_kind *last)
{
	size_t count = 0;

	for (; c->queue.first; count++) {
		struct batch *b = queue_pop(&c->queue);

		check_name(b);
		*last = b->kind;
		free(b);
	}
	return count;
}

/* Its slot is free before it is gone. Under a second name it would be a second thread in the file,
 * which the worker would never hear the end of, and it would be counted twice. */
static void who_lets_go_of_its_slot_is_one_thread(void **state)
{
	enum batch_kind last = BATCH_FINISH;
	struct watched_thread *watched;
	struct outside_child c;
	uint64_t now_ns, *word;
	size_t cursor = 0;

	(void)state;
	assert_int_equal(outside_child_begin(&c, &plain, sleep_for_ever), 0);
	outside_child_await(&c, c.pid, 'S');
	word = process_slot_state(c.process, 0);
	process_slot(c.process, 0)->thread.tid = c.pid;
	c.process->base->slots_high = 1;
	*word = WEFT_STATE_WORD(1, WEFT_SLOT_LIVE);
	outside_child_find(&c);
	now_ns = clock_mono_ns();
	for (int i = 0; i < 5; i++)
		wall_tick(c.wall, c.threads, now_ns += SECOND_NS, SECOND_NS);
	assert_true(check_names(&c, &last) > 0);
	*word = WEFT_STATE_WORD(1, WEFT_SLOT_DEAD);
	outside_child_find(&c);
	watched = threads_next(c.threads, &cursor);
	assert_non_null(watched);
	assert_int_equal(watched->slot, THREADS_NO_SLOT);
	for (int i = 0; i < 5; i++)
		wall_tick(c.wall, c.threads, now_ns += SECOND_NS, SECOND_NS);
	wall_flush(c.wall, now_ns);
	wall_thread_dead(c.wall, watched, now_ns += SECOND_NS);
	assert_true(check_names(&c, &last) > 0);
	assert_int_equal(last, BATCH_THREAD_GONE);
	assert_int_equal(told_without_its_slot, 0);
	assert_int_equal(c.counts.threads, 0); /* its claim was counted */
	outside_child_end(&c);
}

static void run_and_sleep(struct session *s, uint64_t *page)
{
	(void)s;
	__atomic_store_n(page, 1, __ATOMIC_RELEASE);
	for (unsigned int i = 1;; i = i * 1664525 + 1013904223) {
		uint64_t until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (i >> 16) % 6000000;

		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
			;
		nanosleep(&(struct timespec){0, (i >> 8) % 9000000}, NULL);
	}
}

static struct thread_sched runs_of(const struct outside_child *c)
{
	struct thread_sched runs = {.count = 0};
	size_t bytes;
	char path[48], *text;

	snprintf(path, sizeof(path), "task/%d/schedstat", (int)c->pid);
	text = proc_read_all(c->process->proc_fd, path, &bytes);
	if (text)
		assert_int_equal(thread_parse_schedstat(text, &runs), 0);
	free(text);
	return runs;
}

/* However loaded the machine is: what it neither ran nor waited for a CPU, it was blocked. */
static void samples_are_the_blocked_time(void **state)
{
	struct outside_child c;
	struct outside_told told;
	struct thread_sched before, after;
	uint64_t began_ns, blocked_ns, delay_ns;

	(void)state;
	assert_int_equal(outside_child_begin(&c, &plain, run_and_sleep), 0);
	before = runs_of(&c);
	if (!before.has_times)
		skip();
	began_ns = clock_mono_ns();
	outside_child_watch(&c, SECOND_NS);
	kill(c.pid, SIGSTOP);
	outside_child_await(&c, c.pid, 'T');
	outside_child_watch(&c, SECOND_NS / 10);
	wall_flush(c.wall, clock_mono_ns());
	after = runs_of(&c);
	delay_ns = after.delay_ns - before.delay_ns;
	blocked_ns = clock_mono_ns() - began_ns - (after.cpu_ns - before.cpu_ns) - delay_ns;
	outside_child_take(&c, &told, NULL);
	assert_between(blocked_ns / PERIOD_NS - 3, told.ticks, blocked_ns / PERIOD_NS + 3);
	assert_between(delay_ns / PERIOD_NS, told.delay_ticks + 4, delay_ns / PERIOD_NS + 8);
	assert_true(told.samples > 10);
	outside_child_end(&c);
}

static void names_are_filtered(void **state)
{
	struct wall_options by_name = {.period_ns = PERIOD_NS, .pattern = "no such*"};
	struct outside_child c;
	struct outside_told told;

	(void)state;
	assert_int_equal(outside_child_begin(&c, &by_name, sleep_for_ever), 0);
	outside_child_await(&c, c.pid, 'S');
	wall_tick(c.wall, c.threads, clock_mono_ns() + SECOND_NS, SECOND_NS);
	wall_flush(c.wall, clock_mono_ns() + SECOND_NS);
	outside_child_take(&c, &told, NULL);
	assert_int_equal(told.samples + told.more + told.ends, 0);
	assert_between(SECOND_NS / PERIOD_NS - 1, told.filtered, SECOND_NS / PERIOD_NS + 50);
	outside_child_end(&c);

	by_name.pattern = "test_coll*";
	assert_int_equal(outside_child_begin(&c, &by_name, sleep_for_ever), 0);
	outside_child_await(&c, c.pid, 'S');
	wall_tick(c.wall, c.threads, clock_mono_ns() + SECOND_NS, SECOND_NS);
	outside_child_take(&c, &told, NULL);
	assert_int_equal(told.samples, 1);
	outside_child_end(&c);
}

static void nobody_is_told_after_an_exec(void **state)
{
	struct outside_child c;
	struct outside_told told;

	(void)state;
	assert_int_equal(outside_child_begin(&c, &plain, sleep_for_ever), 0);
	outside_child_await(&c, c.pid, 'S');
	c.process->stack_start ^= 64; /* as if the one it was met with had another */
	outside_child_watch(&c, SECOND_NS / 10);
	outside_child_take(&c, &told, NULL);
	assert_int_equal(told.samples, 0);
	assert_true(c.counts.counter[WEFT_COUNTER_WALL_GONE] > 0);
	outside_child_end(&c);
}

static void the_dead_end_their_stay(void **state)
{
	struct outside_child c;
	struct outside_told told;

	(void)state;
	assert_int_equal(outside_child_begin(&c, &plain, sleep_for_ever), 0);
	outside_child_await(&c, c.pid, 'S');
	wall_tick(c.wall, c.threads, clock_mono_ns() + SECOND_NS, SECOND_NS);
	kill(c.pid, SIGKILL);
	outside_child_await(&c, c.pid, 'Z');
	wall_tick(c.wall, c.threads, clock_mono_ns() + 3 * SECOND_NS, SECOND_NS);
	threads_free(c.threads);
	c.threads = NULL;
	outside_child_take(&c, &told, NULL);
	assert_int_equal(told.samples, 1);
	assert_int_equal(told.ends, 1);
	outside_child_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_sleeps_is_read_once_and_then_counted),
		cmocka_unit_test(who_runs_gives_nothing),
		cmocka_unit_test(who_lets_go_of_its_slot_is_one_thread),
		cmocka_unit_test(what_ran_before_the_first_reading_was_not_blocked),
		cmocka_unit_test(samples_are_the_blocked_time),
		cmocka_unit_test(names_are_filtered),
		cmocka_unit_test(nobody_is_told_after_an_exec),
		cmocka_unit_test(the_dead_end_their_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
