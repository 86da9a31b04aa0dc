/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All dialects of cTP at once, with writers and a reader that stall anywhere: also in the middle
 * of an event, and of a station's change of hands. What each event says is computed from its
 * station, its number and its coroutine's number alone, so that the reader's side can tell
 *
 *   torn    fields of two events in one
 *   wrong   given to another coroutine, or with another dialect's number
 *   order   not later than the one before of its station
 *   books   written == harvested + lost + pending, whenever asked; at the end nothing pends, and
 *           written is what the writers wrote, for each station
 *
 * usage: dialects SEED RUNS STATIONS EVENTS [--caught]
 * Events: in all, per run. Says TAP; with --caught it is good that a run fails.
 */
#include "coro/engine/harvest.h"
#include "coro/engine/station.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WRITERS 3 /* of which each has every third station */
#define FIRST_TS 1000
#define LIFE_BITS 20 /* of a probe_id: which coroutine of its station */

void reader_stalls(void);

enum dialect { DIALECT_S, DIALECT_D1, DIALECT_D8, DIALECT_M, DIALECTS };

struct station {
	uint64_t events; /* written; the writer's, read when it has ended */
	uint64_t life;
	uint64_t last_ts; /* the reader's */
	uint64_t taken;
};

struct torture {
	struct coro_shm shm;
	struct coro_harvest *harvest;
	struct cursor *cursors;
	struct station *stations;
	uint32_t count;
	uint64_t seed, events_each;
	int ended; /* writers; atomic */
	uint64_t torn, wrong, unordered, unbalanced, asked;
};

struct writer {
	struct torture *t;
	uint32_t number;
	uint64_t random;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

static uint64_t next_random(uint64_t *state)
{
	return mix(*state += UINT64_C(0x9E3779B97F4A7C15));
}

/* Mostly nothing, now and then another thread's turn, seldom a real stall. */
static void stall(uint64_t *random)
{
	uint64_t r = next_random(random);

	if (r % 4096 == 0)
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	else if (r % 64 == 0)
		sched_yield();
}

/* The reader's, between its first look at a slot and its copy: station.c is built with it. */
void reader_stalls(void)
{
	static uint64_t random;

	stall(&random);
}

static enum dialect dialect_of(const struct torture *t, uint32_t station)
{
	return (enum dialect)(mix(t->seed ^ station) % DIALECTS);
}

static uint64_t probe_id(uint32_t station, uint64_t life)
{
	return ((uint64_t)station + 1) << LIFE_BITS | life;
}

static uint64_t said_tid(uint64_t probe, uint64_t n)
{
	return mix(probe ^ n << 32) >> 1;
}

static uint64_t said_addr(uint64_t probe, uint64_t n)
{
	return mix(probe + n * 3);
}

/* ---- writers */

/* ThreadSanitizer knows no fences: there each store of a payload is a release, which is as good. */
#ifdef __SANITIZE_THREAD__
#define STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELEASE)
#define FENCE_RELEASE() ((void)0)
#else
#define STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)
#define FENCE_RELEASE() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif

static void put_payload(struct weft_ctp_epoch *slot, uint64_t probe, uint64_t n, uint64_t *random)
{
	STORE(slot->addr, said_addr(probe, n));
	stall(random);
	STORE(slot->tid, said_tid(probe, n));
	STORE(slot->timestamp, FIRST_TS + n);
	stall(random);
	STORE(slot->is_active, (uint8_t)(n & 1));
}

static void write_laps(struct weft_ctp_epoch *slot, uint64_t probe, uint64_t n, uint64_t *random)
{
	uint64_t seq = __atomic_load_n(&slot->seq, __ATOMIC_RELAXED);

	STORE(slot->seq, seq + 1);
	FENCE_RELEASE();
	put_payload(slot, probe, n, random);
	__atomic_store_n(&slot->seq, seq + 2, __ATOMIC_RELEASE);
}

/* The documented way has no mark before the payload: only this order keeps a reader safe. */
static void write_documented(struct weft_ctp_epoch *slot, uint64_t probe, uint64_t n, uint64_t seq,
			     uint64_t *random)
{
	FENCE_RELEASE();
	put_payload(slot, probe, n, random);
	__atomic_store_n(&slot->seq, seq, __ATOMIC_RELEASE);
}

static void write_monotonic(struct weft_ctp_epoch *slot, uint64_t probe, uint64_t n,
			    uint64_t *random)
{
	STORE(slot->seq, 2 * n + 1);
	FENCE_RELEASE();
	put_payload(slot, probe, n, random);
	STORE(slot->kind, WEFT_CTP_KIND_SUSPEND - (uint8_t)(n & 1));
	__atomic_store_n(&slot->seq, 2 * n + 2, __ATOMIC_RELEASE);
}

/* Another coroutine has the station from here on. */
static void be_born(struct torture *t, uint32_t i, uint64_t *random)
{
	struct weft_ctp_station *s = &t->shm.stations[i];
	struct station *mine = &t->stations[i];
	uint32_t generation = __atomic_load_n(&s->generation, __ATOMIC_RELAXED);

	mine->life++;
	STORE(s->generation, generation + 1);
	FENCE_RELEASE();
	STORE(s->probe_id, probe_id(i, mine->life));
	stall(random);
	STORE(s->birth_ts, FIRST_TS + mine->events);
	STORE(s->is_dead, 0);
	STORE(s->pid, (uint32_t)getpid());
	STORE(s->dialect, WEFT_CTP_MONOTONIC);
	STORE(s->state, WEFT_CTP_CREATED);
	STORE(s->first_event, mine->events);
	stall(random);
	__atomic_store_n(&s->generation, generation + 2, __ATOMIC_RELEASE);
}

static void set_dirty(struct torture *t, uint32_t station)
{
	struct weft_ctp_header *h = t->shm.header;
	uint32_t bit = station >> h->dirty_shift;
	uint64_t mask = UINT64_C(1) << bit % 64;

	if (!(__atomic_load_n(&h->dirty[bit / 64], __ATOMIC_RELAXED) & mask))
		__atomic_fetch_or(&h->dirty[bit / 64], mask, __ATOMIC_RELEASE);
}

static void write_one(struct torture *t, uint32_t i, uint64_t *random)
{
	struct weft_ctp_station *s = &t->shm.stations[i];
	struct station *mine = &t->stations[i];
	enum dialect dialect = dialect_of(t, i);
	uint64_t n = mine->events, start = dialect == DIALECT_D8 ? 8 : 1, probe;

	if (dialect == DIALECT_M && (!mine->life || next_random(random) % 16 == 0))
		be_born(t, i, random);
	probe = probe_id(i, mine->life);
	if (dialect == DIALECT_S)
		write_laps(&s->slots[n % 8], probe, n, random);
	else if (dialect == DIALECT_M)
		write_monotonic(&s->slots[n % 8], probe, n, random);
	else
		write_documented(&s->slots[(start + n) % 8], probe, n, start + n, random);
	mine->events = n + 1;
	if (dialect == DIALECT_M)
		set_dirty(t, i);
}

static void *write_all(void *arg)
{
	struct writer *w = arg;
	struct torture *t = w->t;
	uint64_t written = 0;

	while (written < t->events_each) {
		uint32_t i = (uint32_t)(next_random(&w->random) % (t->count / WRITERS)) * WRITERS +
			     w->number;
		uint64_t burst = 1 + next_random(&w->random) % 12;

		for (uint64_t k = 0; k < burst; k++)
			write_one(t, i, &w->random);
		written += burst;
	}
	__atomic_fetch_add(&t->ended, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* ---- the reader's side */

static void judge(struct torture *t, const struct coro_event *e)
{
	uint64_t station = (e->probe_id >> LIFE_BITS) - 1, n = e->ts - FIRST_TS;
	enum dialect dialect;
	struct station *s;

	if (station >= t->count || e->ts < FIRST_TS) {
		t->torn++;
		return;
	}
	s = &t->stations[station];
	dialect = dialect_of(t, (uint32_t)station);
	t->torn += e->tid != said_tid(e->probe_id, n) || e->addr != said_addr(e->probe_id, n) ||
		   e->is_active != (n & 1);
	t->wrong += (dialect == DIALECT_M && e->seq != 2 * n + 2) ||
		    (dialect == DIALECT_D1 && e->seq != n + 1) ||
		    (dialect == DIALECT_D8 && e->seq != n + 8) ||
		    (dialect == DIALECT_S && e->seq != n / 8 * 2 + 2);
	t->unordered += e->ts <= s->last_ts;
	s->last_ts = e->ts;
	s->taken++;
}

static int balance(const struct coro_books *b)
{
	return b->written == b->harvested + b->lost + b->pending &&
	       b->lost == b->lost_lapped + b->lost_recycled + b->lost_mid_write + b->lost_unwritten;
}

static struct coro_books books_of(const struct torture *t, uint32_t station)
{
	const struct cursor *c = &t->cursors[station];
	struct coro_books b = {.written = station_written(&t->shm.stations[station], c),
			       .harvested = c->harvested,
			       .lost = cursor_lost(c),
			       .lost_lapped = c->lapped,
			       .lost_recycled = c->recycled,
			       .lost_mid_write = c->mid_write,
			       .lost_unwritten = c->unwritten};

	b.pending = b.written - b.harvested - b.lost;
	return b;
}

static void ask(struct torture *t, uint64_t *random)
{
	struct coro_books books;

	coro_harvest_books(t->harvest, &books);
	t->unbalanced += !balance(&books);
	for (int i = 0; i < 16; i++) {
		uint32_t station = (uint32_t)(next_random(random) % t->count);

		books = books_of(t, station);
		t->unbalanced += !balance(&books) || books.pending > books.written;
		t->asked++;
	}
}

static int take(struct torture *t, enum coro_sweep sweep, struct coro_batch *batch)
{
	int64_t found;

	batch->count = 0;
	found = coro_harvest_take(t->harvest, sweep, batch);
	for (size_t i = 0; i < batch->count; i++)
		judge(t, &batch->events[i]);
	return found < 0 ? (int)found : 0;
}

static int read_all(struct torture *t, uint64_t *random)
{
	struct coro_batch batch = {0};
	int rc = 0;

	while (!rc && __atomic_load_n(&t->ended, __ATOMIC_ACQUIRE) < WRITERS) {
		rc = take(t, next_random(random) % 8 ? CORO_SWEEP_DIRTY : CORO_SWEEP_ALL, &batch);
		ask(t, random);
		stall(random);
	}
	if (!rc)
		rc = take(t, CORO_SWEEP_ALL, &batch);
	if (!rc)
		rc = take(t, CORO_SWEEP_LAST, &batch);
	free(batch.events);
	return rc;
}

/* Who came late cannot see where the documented dialect began: at 1, or at 8, is 7 events apart. */
static int is_written(const struct torture *t, uint32_t station, uint64_t written)
{
	uint64_t events = t->stations[station].events;

	return written == events || (dialect_of(t, station) == DIALECT_D8 && written == events + 7);
}

/* At the end: each station's books, against what its writer and we counted. */
static uint64_t false_ends(struct torture *t)
{
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		struct coro_books b = books_of(t, i);

		wrong += !balance(&b) || b.pending || !is_written(t, i, b.written) ||
			 b.harvested != t->stations[i].taken;
	}
	return wrong;
}

/* ---- a run */

static void make_stations(struct torture *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (dialect_of(t, i) != DIALECT_M)
			t->shm.stations[i].probe_id = probe_id(i, 0);
	__atomic_store_n(&t->shm.header->allocated_count, t->count, __ATOMIC_RELEASE);
}

static int run_threads(struct torture *t)
{
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];
	uint64_t random = t->seed;
	int rc;

	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){t, i, mix(t->seed + i)};
		if (pthread_create(&threads[i], NULL, write_all, &writers[i]))
			abort();
	}
	rc = read_all(t, &random);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	return rc;
}

static int report(struct torture *t, int rc)
{
	struct coro_books b;
	uint64_t ends = false_ends(t);
	int good;

	coro_harvest_books(t->harvest, &b);
	good = !rc && !t->torn && !t->wrong && !t->unordered && !t->unbalanced && !ends &&
	       balance(&b) && b.harvested && b.written >= t->events_each * WRITERS;
	printf("# seed %#llx: written %llu, harvested %llu, lost %llu (lapped %llu, recycled %llu, "
	       "mid-write %llu)\n"
	       "# torn %llu, wrong %llu, unordered %llu, unbalanced %llu of %llu, false ends %llu, "
	       "rc %d\n",
	       (unsigned long long)t->seed, (unsigned long long)b.written,
	       (unsigned long long)b.harvested, (unsigned long long)b.lost,
	       (unsigned long long)b.lost_lapped, (unsigned long long)b.lost_recycled,
	       (unsigned long long)b.lost_mid_write, (unsigned long long)t->torn,
	       (unsigned long long)t->wrong, (unsigned long long)t->unordered,
	       (unsigned long long)t->unbalanced, (unsigned long long)t->asked,
	       (unsigned long long)ends, rc);
	return good;
}

static int run(uint64_t seed, uint32_t stations, uint64_t events)
{
	struct torture t = {.seed = seed, .events_each = events / WRITERS};
	char path[64];
	int good;

	t.count = stations - stations % WRITERS;
	snprintf(path, sizeof(path), "/dev/shm/weft-dialects-%d", (int)getpid());
	if (coro_shm_create(&t.shm, path, t.count, CORO_SHM_NEVER) < 0)
		return 0;
	unlink(path);
	t.stations = calloc(t.count, sizeof(*t.stations));
	t.cursors = calloc(t.count, sizeof(*t.cursors));
	if (!t.stations || !t.cursors || coro_harvest_resume(&t.harvest, &t.shm, t.cursors) < 0)
		abort();
	make_stations(&t);
	good = report(&t, run_threads(&t));
	coro_harvest_free(t.harvest);
	coro_shm_close(&t.shm);
	free(t.stations);
	free(t.cursors);
	return good;
}

int main(int argc, char **argv)
{
	int is_broken = argc == 6 && !strcmp(argv[5], "--caught"), runs, failed = 0;
	uint64_t seed;

	if (argc != 5 && !is_broken)
		return 2;
	seed = strtoull(argv[1], NULL, 0);
	runs = atoi(argv[2]);
	printf("1..%d\n", is_broken ? 1 : runs);
	for (int i = 0; i < runs; i++) {
		int good = run(mix(seed + (uint64_t)i), (uint32_t)atoi(argv[3]),
			       strtoull(argv[4], NULL, 0));

		failed += !good;
		if (!is_broken)
			printf("%s %d - all dialects, with stalls\n", good ? "ok" : "not ok",
			       i + 1);
	}
	if (!is_broken)
		return failed != 0;
	printf("%s 1 - a reader without its check is caught\n", failed ? "ok" : "not ok");
	return !failed;
}
