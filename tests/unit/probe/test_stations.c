/* SPDX-License-Identifier: Apache-2.0 */
/* How stations are had: bounded, by many threads, again and again, and out of what others left. */
#include <pthread.h>

#include "probe.h"

#define STATIONS 128
#define THREADS 4

static struct probe_file file;

static void ten_of_them(void *arg)
{
	struct weft_coro c[10];
	int i, traced = 0;

	(void)arg;
	for (i = 0; i < 10; i++) {
		traced += weft_coro_create(&c[i], NULL);
		weft_coro_resume(&c[i], NULL);
		weft_coro_suspend(&c[i], NULL);
	}
	CHECK(traced, ==, 4);
	for (i = 0; i < 10; i++)
		weft_coro_destroy(&c[i]);
}

static void refusals(void **state)
{
	(void)state;
	file = probe_file(4, OURS, WEFT_CTP_TIMER);
	in_child(ten_of_them, NULL);
	assert_int_equal(file.header->allocated_count, 4);
	assert_int_equal(file.header->refused, 6);
	probe_file_gone(&file);
	file = probe_file(4, PEER, 0);
	file.header->allocated_count = 0;
	in_child(ten_of_them, NULL);
	assert_int_equal(file.header->allocated_count, 4);
	assert_int_equal(file.header->refused, 0); /* bytes that are not ours there */
	probe_file_gone(&file);
}

/* Others add past the maximum; ours stands still, and never wraps. */
static void past_the_end(void *arg)
{
	struct weft_coro c;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 0);
}

static void no_wrap(void **state)
{
	(void)state;
	file = probe_file(4, OURS, WEFT_CTP_TIMER);
	file.header->allocated_count = UINT32_MAX;
	in_child(past_the_end, NULL);
	assert_int_equal(file.header->allocated_count, UINT32_MAX);
	probe_file_gone(&file);
}

static unsigned rounds = 20000;

static void *short_ones(void *arg)
{
	struct weft_coro c;
	unsigned i;

	for (i = 0; i < rounds; i++) {
		CHECK(weft_coro_create(&c, NULL), ==, 1);
		CHECK(c.station->probe_id, ==, c.id);
		CHECK(c.station->state, ==, WEFT_CTP_CREATED);
		CHECK(c.station->is_dead, ==, 0);
		CHECK(c.station->totals.resumes, ==, 0);
		CHECK(c.station->first_event, ==, c.next_event);
		weft_coro_resume(&c, arg);
		weft_coro_suspend(&c, arg);
		CHECK(c.station->probe_id, ==, c.id); /* still nobody else's */
		CHECK(c.station->generation, ==, c.generation);
		CHECK(c.station->totals.suspends, ==, 1);
		weft_coro_destroy(&c);
	}
	return NULL;
}

static void threads_of_short_ones(void *arg)
{
	pthread_t thread[THREADS];
	int i;

	(void)arg;
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, short_ones, NULL), ==, 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

/* n after the newest event: as many were written there. */
static uint64_t written(const struct weft_ctp_station *st)
{
	return weft_probe_next_event(st);
}

/* All stations went round, none is lost, and no event: seq never went back. */
static void recycled(void **state)
{
	uint64_t sum = 0, generations = 0;
	uint32_t i, dead = 0;

	(void)state;
	file = probe_file(STATIONS, OURS, WEFT_CTP_TIMER | WEFT_CTP_RECYCLE);
	in_child(threads_of_short_ones, NULL);
	for (i = 0; i < STATIONS; i++) {
		sum += written(&file.stations[i]);
		generations += file.stations[i].generation / 2;
		dead += file.stations[i].state == WEFT_CTP_LISTED;
		assert_true(file.stations[i].generation > 2);
	}
	assert_int_equal(file.header->refused, 0);
	assert_int_equal(dead, STATIONS);
	assert_int_equal(file.header->recycle_count, STATIONS);
	assert_int_equal(sum, 2ull * rounds * THREADS);
	assert_int_equal(generations, (uint64_t)rounds * THREADS);
	probe_file_gone(&file);
}

/* Stations rest: with the turn about, the one that died first is not the one had next. */
static void rests(void *arg)
{
	struct weft_coro a, b, c;

	(void)arg;
	weft_coro_create(&a, NULL);
	weft_coro_create(&b, NULL);
	weft_coro_destroy(&a);
	weft_coro_destroy(&b);
	CHECK(weft_coro_create(&c, NULL), ==, 1); /* from the stack, which now gives */
	weft_coro_destroy(&c);                    /* to the other one */
	CHECK((uint32_t)file.header->recycle[0] != 0, ==, 1);
	CHECK((uint32_t)file.header->recycle[1] != 0, ==, 1);
	CHECK(file.header->recycle_turn, ==, 1);
}

static void turns(void **state)
{
	(void)state;
	file = probe_file(2, OURS, WEFT_CTP_TIMER | WEFT_CTP_RECYCLE);
	in_child(rests, NULL);
	probe_file_gone(&file);
}

static void early(void *arg)
{
	static struct weft_coro c[WEFT_CTP_RECYCLE_EARLY];
	int i;

	(void)arg;
	for (i = 0; i < WEFT_CTP_RECYCLE_EARLY - 1; i++)
		CHECK(weft_coro_create(&c[i], NULL), ==, 1);
	for (i = 0; i < WEFT_CTP_RECYCLE_EARLY - 1; i++)
		weft_coro_destroy(&c[i]);
	CHECK(weft_coro_create(&c[0], NULL), ==, 1);
	CHECK(c[0].generation, ==, 2); /* a fresh one */
	CHECK(file.header->allocated_count, ==, WEFT_CTP_RECYCLE_EARLY);
	weft_coro_destroy(&c[0]);
	CHECK(weft_coro_create(&c[0], NULL), ==, 1);
	CHECK(c[0].generation, ==, 4); /* an old one */
	CHECK(file.header->allocated_count, ==, WEFT_CTP_RECYCLE_EARLY);
}

static void fresh_first(void **state)
{
	(void)state;
	file = probe_file(2 * WEFT_CTP_RECYCLE_EARLY, OURS, WEFT_CTP_TIMER | WEFT_CTP_RECYCLE);
	in_child(early, NULL);
	probe_file_gone(&file);
}

static void next_one(void *arg)
{
	struct weft_coro c;

	CHECK(weft_coro_create(&c, NULL), ==, arg ? 1 : 0);
	if (!arg)
		return;
	weft_coro_resume(&c, NULL);
	CHECK(c.station->slots[0].seq & c.station->slots[1].seq & 1, ==, 0);
}

/* As a writer left it that was killed over event 8, in a station whose head was half made. */
static void odd_slot(void **state)
{
	struct weft_ctp_station *st;
	uint64_t n;

	(void)state;
	file = probe_file(1, OURS, WEFT_CTP_TIMER | WEFT_CTP_RECYCLE);
	st = file.stations;
	for (n = 0; n < WEFT_CTP_SLOTS; n++)
		st->slots[n].seq = 2 * n + 2;
	st->slots[0].seq = 2 * n + 1;
	st->generation = 7;
	st->state = WEFT_CTP_LISTED;
	file.header->allocated_count = 1;
	file.header->recycle[0] = 1;
	file.header->recycle_count = 1;
	in_child(next_one, &file);
	assert_int_equal(st->first_event, 9);
	assert_non_null(event_of(st, 9));
	assert_int_equal(st->slots[0].seq, 17); /* never written: whoever reads says so */
	assert_int_equal(st->generation, 8);
	probe_file_gone(&file);
}

/* A file that somebody scribbled in: no index is believed, nothing hangs. */
static void scribbled(void **state)
{
	(void)state;
	file = probe_file(2, OURS, WEFT_CTP_TIMER | WEFT_CTP_RECYCLE);
	file.header->allocated_count = 2;
	file.header->recycle[0] = 3; /* beyond the file */
	in_child(next_one, NULL);
	file.header->recycle[0] = 1; /* not LISTED, and below it itself */
	file.stations[0].next_dead = 1;
	in_child(next_one, NULL);
	file.stations[0].state = WEFT_CTP_LISTED;
	file.stations[0].next_dead = 0xffffff00;
	in_child(next_one, &file);
	in_child(next_one, NULL);
	assert_int_equal(file.header->refused, 3);
	probe_file_gone(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals),    cmocka_unit_test(no_wrap),
		cmocka_unit_test(recycled),    cmocka_unit_test(turns),
		cmocka_unit_test(odd_slot),    cmocka_unit_test(scribbled),
		cmocka_unit_test(fresh_first),
	};

	if (getenv("WEFT_ROUNDS"))
		rounds = (unsigned)atoi(getenv("WEFT_ROUNDS"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
