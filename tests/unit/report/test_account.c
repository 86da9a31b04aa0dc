/* SPDX-License-Identifier: Apache-2.0 */
/* Description: what was seen is held against what was used, with the error that chance has. */
#include "report/read/account.h"

#include "base/recording.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS 1000000
#define S (1000 * (int64_t)MS)

struct scene {
	struct model m;
	struct facts f;
	uint32_t app, threads;
};

static int setup(void **state)
{
	static struct scene scene;

	scene = (struct scene){.threads = 0};
	assert_int_equal(model_init(&scene.m), 0);
	scene.f.model = &scene.m;
	scene.app = names_id(&scene.m.names, "app [1]");
	*state = &scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	facts_free(&s->f);
	model_free(&s->m);
	return 0;
}

static void tell_clock(struct scene *s, const char *clock, uint64_t period_ns)
{
	facts_clock(&s->f, &(struct fact_clock){.process = s->app,
						.clock = names_id(&s->m.names, clock),
						.period_ns = period_ns,
						.tick_ns = 4 * MS});
}

static uint32_t new_thread(struct scene *s)
{
	uint32_t name = names_id_format(&s->m.names, "thread [%u]", ++s->threads);

	return model_thread(&s->m, &(struct thread){name, name, s->app});
}

static void used(struct scene *s, uint32_t thread, int64_t used_ns, int64_t seen_ns,
		 int64_t samples)
{
	facts_cpu(&s->f, &(struct fact_cpu){s->app, thread, used_ns, seen_ns, samples});
}

static void rows_add_up(void **state)
{
	struct scene *s = *state;
	uint32_t one = new_thread(s), other = new_thread(s);
	struct account a;

	assert_int_equal(account_read(&s->f, &a), 0);
	tell_clock(s, RECORDING_CLOCK_TICKS, MS);
	tell_clock(s, RECORDING_CLOCK_HRTIMER, 5 * MS); /* the last stands */
	used(s, one, S, S, 200);
	used(s, one, S, 900 * MS, 180);
	used(s, other, 0, 100 * MS, 20);
	used(s, 0, 50 * MS, 0, 0);
	assert_int_equal(account_read(&s->f, &a), 1);
	assert_int_equal(a.used_ns, 2 * S + 50 * MS);
	assert_int_equal(a.seen_ns, 2 * S);
	assert_int_equal(a.samples, 400);
	assert_true(fabs(a.error_ns / sqrt(5e6 * 2.05e9) - 1) < 1e-9);
	assert_int_equal(a.within, 1);
	assert_int_equal(a.silent, 0);
}

static void ticks_have_more_error(void **state)
{
	struct scene *s = *state;
	struct account a;

	tell_clock(s, RECORDING_CLOCK_TICKS, MS);
	assert_true(fabs(account_effect(&s->f, s->app) - 4) < 1e-9);
	used(s, new_thread(s), S, S, 250);
	account_read(&s->f, &a);
	assert_true(fabs(a.error_ns / sqrt(4e6 * 1e9) - 1) < 1e-9);
}

/* An hrtimer whose samples in the kernel come by ticks: 400 signals of 1000 events. */
static void mixed_clocks_by_their_signals(void **state)
{
	struct scene *s = *state;

	tell_clock(s, RECORDING_CLOCK_HRTIMER, MS);
	assert_true(fabs(account_effect(&s->f, s->app) - 1) < 1e-9);
	used(s, new_thread(s), S, S, 400);
	assert_true(fabs(account_effect(&s->f, s->app) - (200 * 16 + 200) / 1000.0) < 1e-9);
}

static void threads_without_a_sample(void **state)
{
	struct scene *s = *state;
	uint32_t busy = new_thread(s), deaf = new_thread(s), brief = new_thread(s);
	const struct fact_cpu *row[2];
	struct account a;

	tell_clock(s, RECORDING_CLOCK_HRTIMER, 5 * MS);
	used(s, busy, 100 * S, 100 * S, 20000);
	used(s, deaf, 101 * MS, 0, 0); /* more than 20 periods */
	used(s, brief, 99 * MS, 0, 0); /* fewer: could be chance */
	account_read(&s->f, &a);
	assert_int_equal(a.within, 1);
	assert_int_equal(a.silent, 1);
	assert_int_equal(account_rows(&s->f, ACCOUNT_SILENT, row, 2), 1);
	assert_int_equal(row[0]->thread, deaf);
	used(s, new_thread(s), 50 * S, 0, 0);
	account_read(&s->f, &a);
	assert_int_equal(a.within, 0);
	assert_true(a.off < -3);
	assert_int_equal(a.silent, 3); /* then all are named */
	assert_int_equal(account_rows(&s->f, ACCOUNT_GAPS, row, 2), 2);
	assert_int_equal(row[0]->used_ns, 50 * S);
	assert_int_equal(row[1]->thread, deaf);
	assert_int_equal(a.outside, 0);
}

/* Hundreds of programs that do little are short together; who was met too often is not named. */
static void what_puts_the_whole_off(void **state)
{
	struct scene *s = *state;
	uint32_t often = new_thread(s), less = new_thread(s);
	const struct fact_cpu *row[3];
	struct account a;

	tell_clock(s, RECORDING_CLOCK_HRTIMER, 5 * MS);
	used(s, often, 100 * MS, 200 * MS, 40);
	used(s, less, 100 * MS, 95 * MS, 19);
	used(s, 0, 900 * MS, 0, 0);
	account_read(&s->f, &a);
	assert_true(!a.within && a.off < 0);
	assert_int_equal(a.outside, 1);
	assert_int_equal(a.outside_ns, 900 * MS);
	assert_int_equal(account_rows(&s->f, ACCOUNT_GAPS, row, 3), 2);
	assert_int_equal(row[0]->used_ns, 900 * MS);
	assert_int_equal(row[1]->thread, less);
}

/* A second of work: 250 ticks are due, with a standard error of 71 ms of 5 ms each. */
static void whom_ticks_meet_too_seldom(void **state)
{
	struct scene *s = *state;
	uint32_t reader = new_thread(s), even = new_thread(s);
	struct account_met met[2];

	tell_clock(s, RECORDING_CLOCK_TICKS, 5 * MS);
	used(s, even, S, 1100 * MS, 220);
	for (int i = 0; i < 10; i++)
		used(s, new_thread(s), 5 * MS, 5 * MS, 1);
	used(s, 0, 80 * MS, 0, 0); /* 130 ms: too few to tell */
	assert_int_equal(account_met(&s->f, met, 2), 0);
	used(s, reader, S, 560 * MS, 112);
	assert_int_equal(account_met(&s->f, met, 2), 1);
	assert_int_equal(met[0].thread, reader);
	assert_true(fabs(met[0].part - 0.56) < 1e-9 && met[0].off < -6);
	used(s, 0, 900 * MS, 0, 0);
	assert_int_equal(account_met(&s->f, met, 2), 2);
	assert_int_equal(met[0].thread, 0);
	assert_int_equal(met[0].process, s->app);
	assert_int_equal(account_met(&s->f, met, 1), 1);
	tell_clock(s, RECORDING_CLOCK_HRTIMER, 5 * MS); /* of those silence is told, and gaps */
	assert_int_equal(account_met(&s->f, met, 2), 0);
}

static void numbers_of_a_file_do_not_overflow(void **state)
{
	struct scene *s = *state;
	uint32_t one = new_thread(s);
	struct account a;

	used(s, one, INT64_MAX, INT64_MIN, INT64_MAX);
	used(s, one, INT64_MAX, INT64_MIN, INT64_MAX);
	used(s, new_thread(s), INT64_MAX, INT64_MIN, 0);
	assert_int_equal(account_read(&s->f, &a), 1);
	assert_true(a.used_ns == INT64_MAX);
	assert_true(a.seen_ns == INT64_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_add_up, setup, teardown),
		cmocka_unit_test_setup_teardown(ticks_have_more_error, setup, teardown),
		cmocka_unit_test_setup_teardown(mixed_clocks_by_their_signals, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_without_a_sample, setup, teardown),
		cmocka_unit_test_setup_teardown(what_puts_the_whole_off, setup, teardown),
		cmocka_unit_test_setup_teardown(whom_ticks_meet_too_seldom, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers_of_a_file_do_not_overflow, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
