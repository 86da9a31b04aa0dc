/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: a station is read whole, in all dialects: what a probe writes is what a snapshot
 * says; what is half written, of another generation, or hostile is not taken for it; and one
 * that is written meanwhile by another thread never shows halves of two events.
 */
#include "coro/engine/snapshot.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#define STATIONS 4

struct file {
	struct weft_ctp_header header;
	struct weft_ctp_station station[STATIONS];
};

static struct file *file;
static struct coro_shm shm;

static int setup(void **state)
{
	(void)state;
	file = aligned_alloc(4096, (sizeof(*file) + 4095) / 4096 * 4096);
	assert_non_null(file);
	memset(file, 0, sizeof(*file));
	file->header.magic = WEFT_CTP_MAGIC;
	file->header.max_stations = file->header.allocated_count = STATIONS;
	shm = (struct coro_shm){.header = &file->header,
				.stations = file->station,
				.count = STATIONS,
				.is_extended = 1,
				.fd = -1,
				.bytes = sizeof(*file)};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(file);
	return 0;
}

static struct weft_ctp_epoch slot(uint64_t seq, int active, uint64_t ns)
{
	return (struct weft_ctp_epoch){.timestamp = ns,
				       .tid = 77,
				       .addr = 0x1000 + seq,
				       .seq = seq,
				       .is_active = (uint8_t)active};
}

struct wanted {
	uint32_t station;
	struct coro_state *state;
};

static int is_wanted(void *arg, const struct coro_state *state)
{
	const struct wanted *w = arg;

	if (state->station != w->station)
		return 0;
	*w->state = *state;
	return 1;
}

/* 0; -ENOENT: it is not told, never had or not holding still. */
static int one(uint32_t station, struct coro_state *state)
{
	struct wanted w = {station, state};
	int rc = coro_snapshot(&shm, is_wanted, &w);

	return rc < 0 ? rc : rc ? 0 : -ENOENT;
}

/* Of ours, with events 0 .. @count - 1; it runs and suspends in turn. */
static struct weft_ctp_station *ours(uint32_t i, unsigned int count)
{
	struct weft_ctp_station *s = &file->station[i];

	s->probe_id = 100 + i;
	s->birth_ts = 500;
	s->dialect = WEFT_CTP_MONOTONIC;
	s->generation = 2;
	s->pid = 12;
	s->state = !count ? WEFT_CTP_CREATED : count % 2 ? WEFT_CTP_RUNNING : WEFT_CTP_SUSPENDED;
	for (unsigned int n = 0; n < count; n++)
		s->slots[n % WEFT_CTP_SLOTS] = slot(2 * (uint64_t)n + 2, n % 2 == 0, 1000 + n);
	return s;
}

static void what_it_is_at(void **state)
{
	struct coro_state s;

	(void)state;
	ours(0, 13)->site = 0x77;
	assert_int_equal(one(0, &s), 0);
	assert_int_equal(s.state, WEFT_CTP_RUNNING);
	assert_int_equal(s.since_ns, 1012);
	assert_int_equal(s.addr, 0x1000 + 26);
	assert_int_equal(s.tid, 77);
	assert_int_equal(s.pid, 12);
	assert_int_equal(s.site, 0x77);
	assert_int_equal(s.event_count, 8);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(s.events[i].seq, 2 * (5 + i) + 2);
	ours(1, 0);
	assert_int_equal(one(1, &s), 0);
	assert_int_equal(s.state, WEFT_CTP_CREATED);
	assert_int_equal(s.since_ns, 500);
	ours(2, 4)->state = WEFT_CTP_READY;
	assert_int_equal(one(2, &s), 0);
	assert_int_equal(s.state, WEFT_CTP_READY);
	file->station[2].is_dead = 1;
	assert_int_equal(one(2, &s), 0);
	assert_int_equal(s.state, WEFT_CTP_DEAD);
	assert_int_equal(one(3, &s), -ENOENT);
	assert_int_equal(one(STATIONS, &s), -ENOENT);
}

/* Its writer died over it, or is at it: the event before counts. */
static void half_written(void **state)
{
	struct weft_ctp_station *station = ours(0, 10);
	struct coro_state s;

	(void)state;
	station->slots[9 % 8].seq = 2 * 9 + 1;
	assert_int_equal(one(0, &s), 0);
	assert_int_equal(s.since_ns, 1008);
	assert_int_equal(s.state, WEFT_CTP_RUNNING);
	assert_int_equal(s.event_count, 7);
	station->generation = 3;
	assert_int_equal(one(0, &s), -ENOENT);
}

/* What the station's last coroutine did is not this one's. */
static void of_this_generation_alone(void **state)
{
	struct weft_ctp_station *station = ours(0, 10);
	struct coro_state s;

	(void)state;
	station->generation = 4;
	station->first_event = 9;
	assert_int_equal(one(0, &s), 0);
	assert_int_equal(s.event_count, 1);
	station->first_event = 10;
	assert_int_equal(one(0, &s), 0);
	assert_int_equal(s.event_count, 0);
	assert_int_equal(s.state, WEFT_CTP_CREATED);
	assert_int_equal(s.since_ns, 500);
}

static void other_dialects(void **state)
{
	struct coro_state s;

	(void)state;
	file->station[0].probe_id = 5;
	for (unsigned int n = 0; n < 11; n++) /* S: laps */
		file->station[0].slots[n % 8] = slot(2 * (n / 8 + 1), n % 2, 1000 + n);
	assert_int_equal(one(0, &s), 0);
	assert_int_equal(s.since_ns, 1010);
	assert_int_equal(s.state, WEFT_CTP_SUSPENDED);
	assert_int_equal(s.has_totals, 0);
	file->station[1].probe_id = 6;
	for (unsigned int n = 1; n < 12; n++) /* D: the number's own slot */
		file->station[1].slots[n % 8] = slot(n, n % 2, 1000 + n);
	assert_int_equal(one(1, &s), 0);
	assert_int_equal(s.since_ns, 1011);
	assert_int_equal(s.state, WEFT_CTP_RUNNING);
	assert_int_equal(s.event_count, 8);
}

static void labels_and_ids(void **state)
{
	static const char labels[] = "\6\4tenantacme\1\1xy";
	struct weft_ctp_station *station = ours(0, 2);
	struct coro_state s;

	(void)state;
	memcpy(station->context.labels, labels, sizeof(labels) - 1);
	station->context.label_bytes = sizeof(labels) - 1;
	station->context.prefix.span_id[7] = 9;
	station->context.seq = 1;
	assert_int_equal(one(0, &s), -ENOENT);
	station->context.seq = 2;
	assert_int_equal(one(0, &s), 0);
	assert_int_equal(s.has_context, 1);
	assert_int_equal(s.context.label_bytes, sizeof(labels) - 1);
	/* the event's own ids are newer */
	station->slots[1].holds = WEFT_CTP_HOLDS_CONTEXT;
	station->slots[1].reserved[23] = 4;
	assert_int_equal(one(0, &s), 0);
	assert_int_equal(s.context.prefix.span_id[7], 4);
	station->context.label_bytes = 60000;
	assert_int_equal(one(0, &s), 0);
	assert_int_equal(s.context.label_bytes, sizeof(s.context.labels));
}

static int count_each(void *arg, const struct coro_state *s)
{
	unsigned int *count = arg;

	assert_int_equal(s->station, *count);
	return ++*count == 2 ? 42 : 0;
}

static void each_in_order_until_told(void **state)
{
	unsigned int count = 0;

	(void)state;
	for (uint32_t i = 0; i < STATIONS; i++)
		ours(i, 2);
	assert_int_equal(coro_snapshot(&shm, count_each, &count), 42);
	assert_int_equal(count, 2);
	file->header.allocated_count = UINT32_MAX; /* others add past the maximum */
	count = 2;
	assert_int_equal(one(STATIONS, &(struct coro_state){0}), -ENOENT);
}

static void as_a_trace(void **state)
{
	struct coro_state s;
	struct coro_event e;

	(void)state;
	ours(0, 3)->is_dead = 1;
	assert_int_equal(one(0, &s), 0);
	e = coro_state_event(&s, 0);
	assert_int_equal(e.known, CORO_KNOWS_IDENTITY | CORO_KNOWS_BIRTH);
	assert_int_equal(e.ts, 1000);
	assert_int_equal(e.is_active, 1);
	assert_int_equal(e.birth_ts, 500);
	e = coro_state_event(&s, 2);
	assert_true(e.known & CORO_KNOWS_DEATH);
	assert_int_equal(e.seq, 6);
}

/* ---- against a writer */

#define WRITES 300000

static void write_event(struct weft_ctp_station *s, uint64_t n)
{
	struct weft_ctp_epoch *e = &s->slots[n % WEFT_CTP_SLOTS];

	__atomic_store_n(&e->seq, 2 * n + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&e->timestamp, 1000 + n, __ATOMIC_RELAXED);
	__atomic_store_n(&e->tid, n & 0xFFFF, __ATOMIC_RELAXED);
	__atomic_store_n(&e->addr, n, __ATOMIC_RELAXED);
	__atomic_store_n((uint32_t *)(void *)&e->kind, (n & 1 ? 0u : 1u) << 24, __ATOMIC_RELAXED);
	__atomic_store_n(&e->seq, 2 * n + 2, __ATOMIC_RELEASE);
}

static int is_writing;

static void *write_many(void *arg)
{
	for (uint64_t n = 0; n < WRITES; n++)
		write_event(arg, n);
	__atomic_store_n(&is_writing, 0, __ATOMIC_RELEASE);
	return NULL;
}

static void never_halves(void **state)
{
	struct weft_ctp_station *station = ours(0, 0);
	unsigned int looks = 0;
	uint64_t last = 0;
	pthread_t writer;

	(void)state;
	is_writing = 1;
	assert_int_equal(pthread_create(&writer, NULL, write_many, station), 0);
	while (__atomic_load_n(&is_writing, __ATOMIC_ACQUIRE) || !looks) {
		struct coro_state s;

		assert_int_equal(one(0, &s), 0);
		for (unsigned int i = 0; i < s.event_count; i++) {
			const struct weft_ctp_epoch *e = &s.events[i];
			uint64_t n = e->seq / 2 - 1;

			assert_int_equal(e->timestamp, 1000 + n);
			assert_int_equal(e->addr, n);
			assert_int_equal(e->tid, n & 0xFFFF);
			assert_int_equal(e->is_active, n & 1 ? 0 : 1);
		}
		if (s.event_count) {
			assert_true(s.since_ns >= last);
			last = s.since_ns;
		}
		looks++;
	}
	assert_int_equal(pthread_join(writer, NULL), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(what_it_is_at),  T(half_written),   T(of_this_generation_alone),
		T(other_dialects), T(labels_and_ids), T(each_in_order_until_told),
		T(as_a_trace),     T(never_halves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
