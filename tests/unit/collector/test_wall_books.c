/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wall engine's looks are worth, of threads that are made up: each is a row of phases, on
 * a CPU or blocked, so that every share is known. Looked at many times with seeds that are fixed,
 * the mean must be the truth within five standard errors, and half a point.
 */
#include "collector/look/wall_books.h"

#include "base/hash.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define PERIOD_NS UINT64_C(52631578) /* 19 Hz */
#define RUNS 300
#define PHASES 4
#define BIAS_POINTS 0.5

struct phase {
	uint64_t ns;
	int waits; /* 0 = on a CPU, else which wait */
};

struct row {
	const char *name;
	struct phase phase[PHASES]; /* the share of wait 1 in all that is blocked is asked for */
	uint64_t vary;              /* a phase is longer or shorter by up to 1/vary; 0: never */
};

static const struct row rows[] = {
	{"an epoll wait behind CPU work", {{8 * MS, 0}, {15 * MS, 1}, {82 * MS, 2}}, 20},
	{"the same, and CPU work between",
	 {{8 * MS, 0}, {15 * MS, 1}, {35 * MS, 0}, {40 * MS, 2}},
	 20},
	{"in step with the period",
	 {{PERIOD_NS / 2, 0}, {PERIOD_NS / 4, 1}, {PERIOD_NS / 4, 2}},
	 0},
	{"in step with two", {{PERIOD_NS / 2, 0}, {PERIOD_NS / 2, 1}, {PERIOD_NS, 2}}, 0},
	{"short waits", {{2 * MS, 0}, {2 * MS, 1}, {1 * MS, 0}, {9 * MS, 2}}, 5},
	{"a long one between", {{8 * MS, 0}, {15 * MS, 1}, {900 * MS, 2}}, 20},
	{"hardly ever blocked", {{45 * MS, 0}, {5 * MS, 1}, {200 * MS, 0}, {20 * MS, 2}}, 20},
};

/* A thread as it goes on, and what it has really done. */
struct made_up {
	const struct row *row;
	uint64_t seed, draws;
	size_t at;
	uint64_t now_ns, until_ns;    /* of the phase it is in */
	uint64_t blocked_ns, wait_ns; /* up to now; of it in wait 1 */
};

static uint64_t draw(struct made_up *m, uint64_t below)
{
	return (hash_mix(m->seed + ++m->draws * UINT64_C(0x9e3779b97f4a7c15)) >> 8) % below;
}

static void next_phase(struct made_up *m)
{
	uint64_t ns;

	do {
		m->at = (m->at + 1) % PHASES;
		ns = m->row->phase[m->at].ns;
	} while (!ns);
	if (m->row->vary)
		ns += draw(m, 2 * (ns / m->row->vary)) - ns / m->row->vary;
	m->until_ns = m->now_ns + ns;
}

static void spend(struct made_up *m, uint64_t to_ns)
{
	int waits = m->row->phase[m->at].waits;

	m->blocked_ns += waits ? to_ns - m->now_ns : 0;
	m->wait_ns += waits == 1 ? to_ns - m->now_ns : 0;
	m->now_ns = to_ns;
}

static void go_on(struct made_up *m, uint64_t to_ns)
{
	while (m->until_ns <= to_ns) {
		spend(m, m->until_ns);
		next_phase(m);
	}
	spend(m, to_ns);
}

/* What it does before it is seen first, so that it may be anywhere then. */
static void begin(struct made_up *m, const struct row *row, uint64_t seed)
{
	*m = (struct made_up){.row = row, .seed = hash_mix(seed + 1)};
	m->until_ns = row->phase[0].ns;
	go_on(m, draw(m, 2000 * MS) + 1);
	m->blocked_ns = m->wait_ns = 0;
}

struct outcome {
	double share_off; /* points of wait 1, seen less true */
	double sum_off;   /* samples times period less what was blocked, in periods */
};

static struct outcome watch(const struct row *row, uint64_t seed, uint64_t periods)
{
	uint64_t told[3] = {0}, start_ns, end_ns, cells;
	struct wall_books books;
	struct made_up m;
	double all;

	begin(&m, row, seed);
	start_ns = m.now_ns;
	end_ns = start_ns + periods * PERIOD_NS;
	wall_books_begin(&books, start_ns, PERIOD_NS, seed);
	while (wall_books_due(&books) < end_ns) {
		go_on(&m, wall_books_due(&books));
		cells = wall_books_pass(&books, m.now_ns);
		assert_int_equal(cells, 1);
		books.blocked_ns = (int64_t)m.blocked_ns;
		if (row->phase[m.at].waits)
			told[row->phase[m.at].waits] +=
				wall_books_weigh(&books, cells, m.now_ns, 1);
	}
	go_on(&m, end_ns);
	all = (double)(told[1] + told[2]);
	return (struct outcome){
		.share_off =
			100 * ((double)told[1] / all - (double)m.wait_ns / (double)m.blocked_ns),
		.sum_off = all - (double)m.blocked_ns / (double)PERIOD_NS,
	};
}

static void shares_are_true(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double sum = 0, squares = 0, error, sums = 0;

		for (uint64_t seed = 0; seed < RUNS; seed++) {
			struct outcome o = watch(&rows[i], seed, 1000);

			sum += o.share_off;
			squares += o.share_off * o.share_off;
			sums += o.sum_off * o.sum_off;
		}
		error = sqrt(squares / RUNS / RUNS);
		print_message("%-32s off by %+.2f points, standard error %.2f; sum %.2f periods\n",
			      rows[i].name, sum / RUNS, error, sqrt(sums / RUNS));
		if (fabs(sum / RUNS) > 5 * error || fabs(sum / RUNS) > BIAS_POINTS + 2 * error)
			fail_msg("%s: off by %.2f points, %.2f expected", rows[i].name, sum / RUNS,
				 error);
	}
}

/* Of 2000 periods: half a hundredth is ten. */
static void the_sum_is_the_kernels(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (uint64_t seed = 0; seed < 100; seed++) {
			struct outcome o = watch(&rows[i], seed, 2000);

			if (fabs(o.sum_off) > 10)
				fail_msg("%s, seed %d: off by %.1f periods of 2000", rows[i].name,
					 (int)seed, o.sum_off);
		}
	}
}

/* Any moment of a period is looked at as often as any other. */
static void looks_have_no_phase(void **state)
{
	uint64_t met[16] = {0};

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct wall_books b;

		wall_books_begin(&b, 12345, PERIOD_NS, seed);
		for (int i = 0; i < 1000; i++) {
			uint64_t due_ns = wall_books_due(&b);

			met[(due_ns - b.start_ns) % PERIOD_NS * 16 / PERIOD_NS]++;
			assert_int_equal(wall_books_pass(&b, due_ns - 1), 0);
			assert_int_equal(wall_books_pass(&b, due_ns), 1);
		}
	}
	for (size_t i = 0; i < 16; i++) /* 6250 each, with an error of 77 */
		if (met[i] < 6250 - 385 || met[i] > 6250 + 385)
			fail_msg("%d looks in part %d", (int)met[i], (int)i);
}

/* Who sleeps is worth a sample for each period, however rarely it is looked at. */
static void a_long_wait_is_exact(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct wall_books b;
		uint64_t now_ns = 0, told = 0;

		wall_books_begin(&b, 0, PERIOD_NS, seed);
		for (uint64_t i = 1; i < 500; i++) {
			now_ns += hash_mix(seed << 32 | i) % (40 * PERIOD_NS);
			b.blocked_ns = (int64_t)now_ns;
			told += wall_books_weigh(&b, wall_books_pass(&b, now_ns), now_ns, 1);
		}
		assert_true(told >= now_ns / PERIOD_NS && told <= now_ns / PERIOD_NS + 1);
	}
}

/* A thread that lives for less than a period is met with the probability that it is due. */
static void who_lives_briefly_is_met_as_often_as_is_due(void **state)
{
	uint64_t told = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 10000; seed++) {
		struct wall_books b;

		wall_books_begin(&b, 777, PERIOD_NS, seed);
		told += wall_books_due(&b) - 777 < PERIOD_NS / 5;
	}
	assert_true(told > 2000 - 200 && told < 2000 + 200); /* 2000, with an error of 40 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_true),
		cmocka_unit_test(the_sum_is_the_kernels),
		cmocka_unit_test(looks_have_no_phase),
		cmocka_unit_test(a_long_wait_is_exact),
		cmocka_unit_test(who_lives_briefly_is_met_as_often_as_is_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
