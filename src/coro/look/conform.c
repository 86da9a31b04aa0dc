/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/look/conform.h"

#include "coro/engine/station.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct judge {
	const struct coro_shm *shm;
	void (*tell)(void *arg, const struct conform_finding *finding);
	void *arg;
	struct conform_sums *sums;
	uint32_t station;
};

__attribute__((format(printf, 4, 5))) static void conform_say(const struct judge *j,
							      enum conform_weight weight,
							      const char *rule, const char *format,
							      ...)
{
	struct conform_finding f = {.weight = weight, .rule = rule, .station = j->station};
	va_list list;

	va_start(list, format);
	vsnprintf(f.text, sizeof(f.text), format, list);
	va_end(list);
	if (weight == CONFORM_BROKEN)
		j->sums->broken++;
	else
		j->sums->notes++;
	j->tell(j->arg, &f);
}

#define BROKEN(j, rule, ...) conform_say(j, CONFORM_BROKEN, rule, __VA_ARGS__)
#define NOTE(j, rule, ...) conform_say(j, CONFORM_NOTE, rule, __VA_ARGS__)

/* ---- header */

static void judge_extension(const struct judge *j, const struct weft_ctp_header *h)
{
	if (h->clock_id != 1)
		BROKEN(j, "header", "clock_id is %d, not CLOCK_MONOTONIC (1)", h->clock_id);
	if (h->dirty_shift > 31 || (h->max_stations - 1) >> h->dirty_shift >= WEFT_CTP_DIRTY_BITS)
		BROKEN(j, "header", "dirty_shift %u does not reach all stations", h->dirty_shift);
	if (h->rsv0 || !station_is_zero(h->rsv1, sizeof(h->rsv1)) ||
	    !station_is_zero(h->rsv2, sizeof(h->rsv2)) ||
	    !station_is_zero(h->rsv3, sizeof(h->rsv3)))
		BROKEN(j, "reserved", "reserved bytes of the header are not 0");
	for (int i = 0; i < 2; i++)
		if ((uint32_t)h->recycle[i] > j->shm->count)
			BROKEN(j, "recycle", "stack %d begins at station %u, of %u", i,
			       (uint32_t)h->recycle[i] - 1, j->shm->count);
	if (h->anchor.seq & 1)
		NOTE(j, "anchor", "being written, or its engine died over it");
}

static void judge_header(const struct judge *j)
{
	const struct weft_ctp_header *h = j->shm->header;

	if (j->shm->count < h->max_stations)
		BROKEN(j, "size", "the file holds %u stations, its header says %u", j->shm->count,
		       h->max_stations);
	if (h->allocated_count > h->max_stations)
		NOTE(j, "allocated", "%u stations were asked for, there are %u", h->allocated_count,
		     h->max_stations);
	if (h->tracer_sleeping > 1)
		BROKEN(j, "header", "tracer_sleeping is %u", h->tracer_sleeping);
	if (j->shm->is_extended)
		judge_extension(j, h);
	else if (!station_is_zero((const uint8_t *)h + 0x18, WEFT_CTP_HEADER_BYTES - 0x18))
		NOTE(j, "reserved", "bytes behind the header's fields are not 0, and no extension");
}

/* ---- slots */

struct slots {
	struct cursor cursor;
	struct coro_event event[WEFT_CTP_SLOTS];
	uint32_t count;
};

static void conform_keep(void *arg, const struct coro_event *event)
{
	struct slots *s = arg;

	if (s->count < WEFT_CTP_SLOTS)
		s->event[s->count++] = *event;
}

static void judge_events(const struct judge *j, const struct weft_ctp_station *st,
			 const struct slots *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct coro_event *e = &s->event[i];

		if (i && e->ts < s->event[i - 1].ts)
			BROKEN(j, "time",
			       "an event's time %" PRIu64 " is before the last one's %" PRIu64,
			       e->ts, s->event[i - 1].ts);
		if (s->cursor.dialect == CURSOR_M && e->ts < st->birth_ts)
			BROKEN(j, "time", "an event's time %" PRIu64 " is before birth %" PRIu64,
			       e->ts, st->birth_ts);
		if (e->tid == 0)
			BROKEN(j, "tid", "an event of thread 0");
	}
	for (uint32_t i = 0; i < WEFT_CTP_SLOTS; i++)
		if (st->slots[i].is_active > 1)
			BROKEN(j, "is-active", "slot %u: is_active is %u", i,
			       st->slots[i].is_active);
}

/* Of M every slot's seq says which event it is, and that must be the slot's. */
static void judge_seqs(const struct judge *j, const struct weft_ctp_station *st, uint8_t dialect)
{
	uint32_t odd = 0;

	for (uint32_t i = 0; i < WEFT_CTP_SLOTS; i++) {
		uint64_t seq = st->slots[i].seq;

		if (dialect == CURSOR_M && seq && ((seq - 1) / 2) % WEFT_CTP_SLOTS != i)
			BROKEN(j, "slot-order",
			       "slot %u: seq %" PRIu64 " is event %" PRIu64
			       ", which is slot %" PRIu64 "'s",
			       i, seq, (seq - 1) / 2, (seq - 1) / 2 % WEFT_CTP_SLOTS);
		if (dialect == CURSOR_D && seq && seq % WEFT_CTP_SLOTS != i)
			BROKEN(j, "slot-order", "slot %u: seq %" PRIu64 " belongs to slot %" PRIu64,
			       i, seq, seq % WEFT_CTP_SLOTS);
		if (dialect != CURSOR_D && (seq & 1)) {
			odd++;
			NOTE(j, "mid-write",
			     "slot %u: died in mid-write, or is being written (seq %" PRIu64 ")", i,
			     seq);
		}
	}
	if (odd > 1 && dialect == CURSOR_S)
		BROKEN(j, "parity", "%u slots are odd: two writers on one station", odd);
}

/* Written slots of one dialect are a run without gaps: the newest and up to seven before it. */
static void judge_run(const struct judge *j, const struct weft_ctp_station *st, uint8_t dialect)
{
	uint64_t newest = 0;

	if (dialect != CURSOR_M)
		return;
	for (uint32_t i = 0; i < WEFT_CTP_SLOTS; i++)
		if (st->slots[i].seq > newest)
			newest = st->slots[i].seq;
	for (uint32_t i = 0; newest && i < WEFT_CTP_SLOTS; i++) {
		uint64_t seq = st->slots[i].seq, n = (newest - 1) / 2, m = (seq - 1) / 2;

		if ((!seq && n >= i) || (seq && n - m >= WEFT_CTP_SLOTS))
			BROKEN(j, "gap", "slot %u: seq %" PRIu64 " while the newest is %" PRIu64, i,
			       seq, newest);
	}
}

/* ---- heads and totals of ours */

static void judge_slot_tails(const struct judge *j, const struct weft_ctp_station *st)
{
	for (uint32_t i = 0; i < WEFT_CTP_SLOTS; i++) {
		const struct weft_ctp_epoch *e = &st->slots[i];

		if (!e->seq || e->seq & 1)
			continue;
		if (e->kind > WEFT_CTP_KIND_SUSPEND)
			BROKEN(j, "kind", "slot %u: kind is %u", i, e->kind);
		else if (e->kind && (e->kind == WEFT_CTP_KIND_RESUME) != (e->is_active == 1))
			BROKEN(j, "kind", "slot %u: kind %u does not fit is_active %u", i, e->kind,
			       e->is_active);
		if (e->holds > WEFT_CTP_HOLDS_PAYLOAD || e->payload_bytes > WEFT_CTP_PAYLOAD_MAX)
			BROKEN(j, "payload", "slot %u: holds %u, %u bytes", i, e->holds,
			       e->payload_bytes);
	}
}

static uint64_t histogram_sum(const uint32_t *histogram)
{
	uint64_t sum = 0;

	for (int i = 0; i < WEFT_CTP_BUCKETS; i++)
		sum += histogram[i];
	return sum;
}

static void judge_totals(const struct judge *j, const struct weft_ctp_station *st,
			 const struct slots *s)
{
	uint64_t here = s->cursor.next - st->first_event;
	const struct weft_ctp_totals *t = &st->totals;
	uint64_t told = t->resumes + t->suspends;

	if (st->first_event > s->cursor.next)
		BROKEN(j, "first-event", "is %" PRIu64 ", but only %" PRIu64 " were written",
		       st->first_event, s->cursor.next);
	else if (told + 1 < here || told > here)
		BROKEN(j, "totals", "say %" PRIu64 " events, slots say %" PRIu64, told, here);
	if (histogram_sum(st->run_histogram) > t->suspends + 1 ||
	    histogram_sum(st->wait_histogram) > t->resumes + 1)
		BROKEN(j, "histogram", "has more intervals than there were switches");
	if (t->max_run_ns > t->run_ns || t->max_wait_ns > t->wait_ns)
		BROKEN(j, "totals", "a longest time is above the sum of all");
}

static void judge_ours(const struct judge *j, const struct weft_ctp_station *st,
		       const struct slots *s)
{
	if (st->dialect > WEFT_CTP_MONOTONIC)
		BROKEN(j, "dialect", "is %u", st->dialect);
	if (st->generation & 1) {
		NOTE(j, "generation", "odd: its head is being made, or its maker died over it");
		return;
	}
	if (st->generation == 0)
		BROKEN(j, "generation", "0, of a station in use");
	if (st->state == WEFT_CTP_UNUSED || st->state > WEFT_CTP_LISTED)
		BROKEN(j, "state", "is %u", st->state);
	if ((st->state >= WEFT_CTP_DEAD) != (st->is_dead != 0))
		BROKEN(j, "state", "is %u, and is_dead is %u", st->state, st->is_dead);
	if (st->pid == 0)
		BROKEN(j, "pid", "is 0");
	if (st->next_dead > j->shm->count || st->parent_station > j->shm->count)
		BROKEN(j, "index", "next_dead %u, parent_station %u, of %u stations", st->next_dead,
		       st->parent_station, j->shm->count);
	if (st->context.seq & 1)
		NOTE(j, "context", "being written, or its writer died over it");
	if (st->context.label_bytes > sizeof(st->context.labels))
		BROKEN(j, "context", "label_bytes is %u", st->context.label_bytes);
	judge_slot_tails(j, st);
	judge_totals(j, st, s);
}

static void judge_legacy(const struct judge *j, const struct weft_ctp_station *st,
			 const struct slots *s)
{
	if (s->cursor.dialect == CURSOR_UNKNOWN && (st->slots[0].seq || st->slots[1].seq))
		BROKEN(j, "dialect",
		       "slots 0 and 1 have seq %" PRIu64 " and %" PRIu64
		       ", which neither dialect S nor D writes",
		       st->slots[0].seq, st->slots[1].seq);
}

static void conform_judge_station(struct judge *j, uint32_t index)
{
	const struct weft_ctp_station *st = &j->shm->stations[index];
	struct slots s = {.count = 0};
	struct station_reader r = {.station = st,
				   .cursor = &s.cursor,
				   .index = index,
				   .is_last = 1,
				   .take = conform_keep,
				   .arg = &s};

	j->station = index;
	station_read(&r, UINT32_MAX);
	j->sums->events += station_written(st, &s.cursor);
	j->sums->ours += s.cursor.dialect == CURSOR_M;
	j->sums->s += s.cursor.dialect == CURSOR_S;
	j->sums->d += s.cursor.dialect == CURSOR_D;
	j->sums->empty += s.cursor.dialect == CURSOR_UNKNOWN;
	if (st->is_dead > 1)
		BROKEN(j, "is-dead", "is %u", st->is_dead);
	judge_seqs(j, st, s.cursor.dialect);
	judge_run(j, st, s.cursor.dialect);
	judge_events(j, st, &s);
	if (s.cursor.dialect == CURSOR_M || st->dialect)
		judge_ours(j, st, &s);
	else
		judge_legacy(j, st, &s);
}

static int judge_all(void *arg)
{
	struct judge *j = arg;
	uint32_t allocated = coro_shm_allocated(j->shm);

	j->station = CONFORM_NO_STATION;
	judge_header(j);
	for (uint32_t i = 0; i < allocated; i++)
		conform_judge_station(j, i);
	for (uint32_t i = allocated; i < j->shm->count && i < allocated + 4096; i++)
		if (!station_is_zero(&j->shm->stations[i], sizeof(j->shm->stations[i]))) {
			j->station = i;
			BROKEN(j, "allocated", "written, and never had (allocated_count is %u)",
			       allocated);
		}
	j->sums->stations = allocated;
	return 0;
}

int coro_conform(const struct coro_shm *shm,
		 void (*tell)(void *arg, const struct conform_finding *finding), void *arg,
		 struct conform_sums *sums)
{
	struct judge j = {.shm = shm, .tell = tell, .arg = arg, .sums = sums};

	memset(sums, 0, sizeof(*sums));
	return coro_shm_guard(shm, judge_all, &j);
}
