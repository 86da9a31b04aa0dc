/* SPDX-License-Identifier: Apache-2.0 */
/* Harvesting hand-made files of all dialects: order, losses by cause, the dead, a file cut short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coro/engine/harvest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct place {
	char path[64];
	struct coro_shm shm;
	struct coro_harvest *h;
	struct coro_batch batch;
};

static int open_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	int fd;

	if (!p)
		return -1;
	strcpy(p->path, "/tmp/weft-harvest-XXXXXX");
	fd = mkstemp(p->path);
	if (fd < 0)
		return -1;
	close(fd);
	unlink(p->path);
	*state = p;
	if (coro_shm_create(&p->shm, p->path, 200, CORO_SHM_NEVER))
		return -1;
	return coro_harvest_new(&p->h, &p->shm);
}

static int close_place(void **state)
{
	struct place *p = *state;

	coro_harvest_free(p->h);
	coro_shm_close(&p->shm);
	unlink(p->path);
	free(p->batch.events);
	free(p);
	return 0;
}

/* ---- writers */

static struct weft_ctp_station *claim(struct place *p)
{
	return &p->shm.stations[p->shm.header->allocated_count++];
}

static void settle(struct weft_ctp_station *s, uint32_t pid, uint64_t first)
{
	s->generation += 2;
	s->dialect = WEFT_CTP_MONOTONIC;
	s->state = WEFT_CTP_CREATED;
	s->is_dead = 0;
	s->pid = pid;
	s->probe_id = 1000 + s->generation;
	s->first_event = first;
}

static void fill(struct weft_ctp_epoch *slot, uint64_t n, uint64_t seq)
{
	slot->timestamp = 100 + n;
	slot->tid = 5;
	slot->addr = n;
	slot->is_active = n % 2 == 0;
	slot->seq = seq;
}

static void write_m(struct weft_ctp_station *s, uint64_t from, uint64_t to)
{
	for (uint64_t n = from; n < to; n++)
		fill(&s->slots[n % 8], n, 2 * n + 2);
}

static void write_s(struct weft_ctp_station *s, uint64_t from, uint64_t to)
{
	for (uint64_t n = from; n < to; n++)
		fill(&s->slots[n % 8], n, 2 * (n / 8 + 1));
}

static void write_d(struct weft_ctp_station *s, uint64_t from, uint64_t to)
{
	for (uint64_t n = from; n < to; n++)
		fill(&s->slots[n % 8], n, n);
}

/* ---- what is found */

static void take(struct place *p, enum coro_sweep sweep, int64_t expected)
{
	struct coro_books b;

	p->batch.count = 0;
	assert_int_equal(coro_harvest_take(p->h, sweep, &p->batch), expected);
	assert_int_equal(p->batch.count, expected);
	assert_int_equal(coro_harvest_books(p->h, &b), 0);
	assert_int_equal(b.written, b.harvested + b.lost + b.pending);
	assert_int_equal(b.lost,
			 b.lost_lapped + b.lost_recycled + b.lost_mid_write + b.lost_unwritten);
}

static struct coro_books books(struct place *p)
{
	struct coro_books b;

	assert_int_equal(coro_harvest_books(p->h, &b), 0);
	return b;
}

static void expect_run(const struct place *p, uint64_t first)
{
	for (size_t i = 0; i < p->batch.count; i++) {
		assert_int_equal(p->batch.events[i].addr, first + i);
		assert_int_equal(p->batch.events[i].ts, 100 + first + i);
		assert_int_equal(p->batch.events[i].is_active, (first + i) % 2 == 0);
	}
}

static void ours_in_order_and_lapped(void **state)
{
	struct place *p = *state;
	struct weft_ctp_station *s = claim(p);

	settle(s, 7, 0);
	write_m(s, 0, 5);
	take(p, CORO_SWEEP_ALL, 5);
	expect_run(p, 0);
	take(p, CORO_SWEEP_ALL, 0);
	write_m(s, 5, 30);
	take(p, CORO_SWEEP_ALL, 8);
	expect_run(p, 22);
	assert_int_equal(books(p).lost_lapped, 17);
	assert_int_equal(books(p).written, 30);
	assert_int_equal(p->batch.events[0].known, CORO_KNOWS_IDENTITY | CORO_KNOWS_BIRTH);
	assert_int_equal(p->batch.events[0].pid, 7);
}

static void dirty_bits_tell_where(void **state)
{
	struct place *p = *state;
	struct weft_ctp_station *s = NULL;

	for (int i = 0; i < 200; i++)
		settle(s = claim(p), 7, 0);
	take(p, CORO_SWEEP_DIRTY, 0);
	write_m(s, 0, 2);
	p->shm.header->dirty[0] = 1 << 3; /* stations 192 to 255 */
	take(p, CORO_SWEEP_DIRTY, 2);
	assert_int_equal(p->shm.header->dirty[0], 0);
	/* without its bit it is found in its turn */
	write_m(s, 2, 3);
	p->batch.count = 0;
	for (int i = 0; i < 10 && p->batch.count == 0; i++)
		assert_true(coro_harvest_take(p->h, CORO_SWEEP_DIRTY, &p->batch) >= 0);
	assert_int_equal(p->batch.count, 1);
}

static void a_busy_slot_waits(void **state)
{
	struct place *p = *state;
	struct weft_ctp_station *s = claim(p);

	settle(s, 7, 0);
	write_m(s, 0, 2);
	s->slots[2].seq = 5;
	take(p, CORO_SWEEP_ALL, 2);
	write_m(s, 2, 3);
	take(p, CORO_SWEEP_ALL, 1);
	assert_int_equal(books(p).lost, 0);
}

static void a_used_station_keeps_its_numbers(void **state)
{
	struct place *p = *state;
	struct weft_ctp_station *s = claim(p);

	settle(s, 7, 0);
	write_m(s, 0, 3);
	take(p, CORO_SWEEP_ALL, 3);
	write_m(s, 3, 5); /* the first one's last two, read after it is gone */
	settle(s, 8, 5);
	write_m(s, 5, 6);
	take(p, CORO_SWEEP_ALL, 3);
	assert_int_equal(p->batch.events[0].pid, 7);
	assert_int_equal(p->batch.events[1].pid, 7);
	assert_true(p->batch.events[1].known & CORO_KNOWS_DEATH);
	assert_int_equal(p->batch.events[2].pid, 8);
	assert_int_equal(p->batch.events[2].probe_id, 1004);
	/* three more since the last look: whose the events between were cannot be told */
	write_m(s, 6, 9);
	settle(s, 8, 9);
	settle(s, 8, 9);
	settle(s, 8, 9);
	write_m(s, 9, 10);
	take(p, CORO_SWEEP_ALL, 1);
	assert_int_equal(books(p).lost_recycled, 3);
	assert_int_equal(books(p).coroutines, 5);
}

static void the_dead_are_buried(void **state)
{
	struct place *p = *state;
	struct weft_ctp_station *s = claim(p), *other = claim(p);

	settle(s, 7, 0);
	settle(other, 8, 0);
	write_m(s, 0, 3);
	s->slots[3].seq = 7;
	take(p, CORO_SWEEP_ALL, 3);
	assert_int_equal(coro_harvest_bury(p->h, 7), 1);
	assert_int_equal(books(p).lost_mid_write, 1);
	assert_int_equal(books(p).written, 4);
	assert_int_equal(s->is_dead, 1);
	assert_int_equal(s->state, WEFT_CTP_LISTED);
	assert_int_equal((uint32_t)p->shm.header->recycle[1], 1);
	assert_int_equal(other->state, WEFT_CTP_CREATED);
	assert_int_equal(coro_harvest_bury(p->h, 7), 0);
	settle(s, 9, 4); /* used again: the odd slot is passed over */
	write_m(s, 4, 6);
	take(p, CORO_SWEEP_ALL, 2);
	assert_int_equal(books(p).written, 6);
}

static void legacy_dialects_are_found_out(void **state)
{
	struct place *p = *state;
	struct weft_ctp_station *s = claim(p), *d = claim(p), *d8 = claim(p);

	write_s(s, 0, 1);
	write_d(d, 1, 2);
	write_d(d8, 8, 11);
	take(p, CORO_SWEEP_DIRTY, 0); /* a second look must agree */
	take(p, CORO_SWEEP_DIRTY, 5);
	write_s(s, 1, 20);
	take(p, CORO_SWEEP_DIRTY, 8);
	expect_run(p, 12);
	write_d(d, 2, 20); /* slot 4 may be written now: it has no mark of that */
	take(p, CORO_SWEEP_DIRTY, 7);
	expect_run(p, 13);
	assert_int_equal(books(p).legacy, 3);
	assert_int_equal(books(p).written, 20 + 19 + 3);
	assert_int_equal(books(p).lost_lapped, 11 + 11);
}

static void at_the_end_all_that_is_whole_counts(void **state)
{
	struct place *p = *state;
	struct weft_ctp_station *s = claim(p), *d = claim(p), *m = claim(p);

	write_s(s, 0, 8);
	write_d(d, 1, 9);
	settle(m, 7, 0);
	write_m(m, 0, 4);
	m->slots[4].seq = 9;
	take(p, CORO_SWEEP_LAST, 8 + 8 + 4);
	assert_int_equal(books(p).lost_mid_write, 1);
	assert_int_equal(books(p).pending, 0);
}

static void what_is_given_up_is_lost(void **state)
{
	struct place *p = *state;
	struct weft_ctp_station *s = claim(p);
	struct coro_books b;

	settle(s, 7, 0);
	write_m(s, 0, 4);
	take(p, CORO_SWEEP_ALL, 4);
	coro_harvest_give_up(p->h, p->batch.events + 1, 3);
	b = books(p);
	assert_int_equal(b.harvested, 1);
	assert_int_equal(b.lost_unwritten, 3);
	assert_int_equal(b.written, 4);
}

static void a_file_cut_short_is_an_error_and_no_crash(void **state)
{
	struct place *p = *state;
	struct coro_books b;

	for (int i = 0; i < 100; i++) {
		struct weft_ctp_station *s = claim(p);

		settle(s, 7, 0);
		write_m(s, 0, 2);
	}
	take(p, CORO_SWEEP_ALL, 200);
	assert_int_equal(truncate(p->path, 4096), 0);
	p->batch.count = 0;
	assert_int_equal(coro_harvest_take(p->h, CORO_SWEEP_ALL, &p->batch), -EIO);
	assert_int_equal(coro_harvest_books(p->h, &b), -EIO);
	assert_int_equal(b.coroutines, 100);
	assert_int_equal(b.harvested, 200);
	assert_int_equal(b.written, 200);
	/* the rest goes on, as if nothing more were written */
	assert_int_equal(coro_harvest_take(p->h, CORO_SWEEP_LAST, &p->batch), 0);
	assert_int_equal(coro_harvest_books(p->h, &b), -EIO);
	assert_int_equal(b.coroutines, 100);
	assert_int_equal(b.written, 200);
	assert_int_equal(truncate(p->path, 0), 0);
	assert_int_equal(coro_harvest_take(p->h, CORO_SWEEP_LAST, &p->batch), -EIO);
	assert_int_equal(coro_harvest_books(p->h, &b), -EIO);
	assert_int_equal(b.stations, 100);
	assert_int_equal(b.written, 200);
}

/* Whatever stands in a file, nothing is read beside it and the books balance. */
static void nonsense_is_survived(void **state)
{
	struct place *p = *state;
	uint64_t x = 88172645463325252u;

	p->shm.header->allocated_count = UINT32_MAX;
	for (int round = 0; round < 50; round++) {
		uint64_t *word = (uint64_t *)(void *)p->shm.stations;

		for (size_t i = 0; i < 200 * sizeof(*p->shm.stations) / 8; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			word[i] = round % 2 ? x : x % 40;
		}
		for (int i = 0; i < 16; i++)
			p->shm.header->dirty[i] = x;
		p->batch.count = 0;
		assert_true(coro_harvest_take(p->h,
					      round % 3 == 0 ? CORO_SWEEP_ALL : CORO_SWEEP_DIRTY,
					      &p->batch) >= 0);
		books(p);
		assert_true(coro_harvest_bury(p->h, 3) >= 0);
	}
	p->batch.count = 0;
	assert_true(coro_harvest_take(p->h, CORO_SWEEP_LAST, &p->batch) >= 0);
	books(p);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, open_place, close_place)
	const struct CMUnitTest tests[] = {
		CASE(ours_in_order_and_lapped),
		CASE(dirty_bits_tell_where),
		CASE(a_busy_slot_waits),
		CASE(a_used_station_keeps_its_numbers),
		CASE(the_dead_are_buried),
		CASE(legacy_dialects_are_found_out),
		CASE(at_the_end_all_that_is_whole_counts),
		CASE(what_is_given_up_is_lost),
		CASE(a_file_cut_short_is_an_error_and_no_crash),
		CASE(nonsense_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
