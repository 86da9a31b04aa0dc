/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See station.h. Each load that may race is load_fenced() or load_acquire(); pairs: a slot's seq
 * (acquire) with the writer's last store of it (release), the fence before the second look at
 * it with the writer's fence behind its odd store; generation likewise.
 */
#include "coro/engine/station.h"

#include "base/atomic.h"

#include <string.h>

#define SLOTS WEFT_CTP_SLOTS
#define TRIES 4
#define STEPS 1024                    /* of one visit to a station whose writer is fast */
#define SEQ_LIMIT (UINT64_C(1) << 60) /* no writer comes this far */

/* Tests make this long. */
#ifdef STATION_BETWEEN_READS
void STATION_BETWEEN_READS(void);
#else
#define STATION_BETWEEN_READS() ((void)0)
#endif

uint64_t cursor_lost(const struct cursor *c)
{
	return c->lapped + c->recycled + c->mid_write + c->unwritten;
}

/* An engine that is killed between two stores leaves a cursor that moved on and did not count why,
 * or the other way round: what it did not count was never handed out. */
void cursor_mend(struct cursor *c)
{
	uint64_t known = c->harvested + c->lapped + c->recycled + c->mid_write + c->unwritten;
	uint64_t moved = c->next - c->start;

	if (known < moved)
		c->unwritten += moved - known;
	else if (known > moved && c->harvested >= known - moved)
		c->harvested -= known - moved;
}

/* ---- which event a slot shows */

/* seq of event @n when it is whole; before that it is one less (M, S), or anything (D). */
static uint64_t want(const struct cursor *c, uint64_t n)
{
	switch (c->dialect) {
	case CURSOR_S:
		return 2 * (n / SLOTS + 1);
	case CURSOR_D:
		return n;
	default:
		return 2 * n + 2;
	}
}

/* The event that @slot showed whole before or at @seq; UINT64_MAX: none. */
static uint64_t shown(const struct cursor *c, uint32_t slot, uint64_t seq)
{
	if (seq >= SEQ_LIMIT)
		return UINT64_MAX;
	if (c->dialect == CURSOR_D)
		return seq ? seq : UINT64_MAX;
	if (seq < 2)
		return UINT64_MAX;
	return c->dialect == CURSOR_S ? (seq / 2 - 1) * SLOTS + slot : seq / 2 - 1;
}

/* One behind the newest event that any slot shows whole. */
static uint64_t bound(const struct weft_ctp_station *s, const struct cursor *c)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		uint64_t n = shown(c, i, load_acquire(&s->slots[i].seq));

		/* of S and M an odd seq shows the one before the one that is written */
		if (n != UINT64_MAX && n + 1 > newest)
			newest = n + 1;
	}
	return newest;
}

uint64_t station_written(const struct weft_ctp_station *s, const struct cursor *c)
{
	uint64_t end;

	if (c->dialect == CURSOR_UNKNOWN)
		return 0;
	end = bound(s, c);
	return (end > c->next ? end : c->next) - c->start;
}

/* ---- dialects S and D */

static enum cursor_dialect tell_apart(uint64_t a, uint64_t b)
{
	uint64_t whole_a = a + (a & 1), whole_b = b + (b & 1);

	if (!a && !b)
		return CURSOR_UNKNOWN;
	if (!a)
		return CURSOR_D;
	if (!b)
		return a <= 2 ? CURSOR_S : CURSOR_D;
	if (whole_a == whole_b || whole_a == whole_b + 2)
		return CURSOR_S;
	return a % SLOTS == 0 && b % SLOTS == 1 ? CURSOR_D : CURSOR_UNKNOWN;
}

/* By what the slots show now; CURSOR_UNKNOWN: empty, or it would not hold still. Slot 0 is filled
 * before slot 1: the later one is read first. */
static enum cursor_dialect station_dialect(const struct weft_ctp_station *s)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t b = load_acquire(&s->slots[1].seq);
		uint64_t a = load_acquire(&s->slots[0].seq);

		if (load_acquire(&s->slots[1].seq) == b)
			return tell_apart(a, b);
	}
	return CURSOR_UNKNOWN;
}

/* Writers of D begin with 1; some with 8, which shows as long as slots 2 to 7 are not all used. */
static uint64_t first_of_d(const struct weft_ctp_station *s)
{
	for (uint32_t i = 1; i < SLOTS; i++)
		if (load_fenced(&s->slots[i].seq) > 0 && load_fenced(&s->slots[i].seq) < SLOTS)
			return 1;
	for (uint32_t i = 1; i < SLOTS; i++)
		if (!load_fenced(&s->slots[i].seq) && load_fenced(&s->slots[0].seq) == SLOTS)
			return SLOTS;
	return 1;
}

/* Two looks in a row must agree, for a station of a writer that is at it. */
static int settle_legacy(const struct station_reader *r)
{
	struct cursor *c = r->cursor;
	enum cursor_dialect found = station_dialect(r->station);

	if (found == CURSOR_UNKNOWN || (c->likely != found && !r->is_last)) {
		c->likely = (uint8_t)found;
		return 0;
	}
	c->dialect = (uint8_t)found;
	c->start = c->next = found == CURSOR_D ? first_of_d(r->station) : 0;
	c->coroutines = 1;
	return 1;
}

/* ---- one event */

enum found {
	FOUND_NOTHING, /* not written yet, or being written */
	FOUND_EVENT,
	FOUND_LATER,     /* another one stands in its slot, or may do so */
	FOUND_ABANDONED, /* begun, and never to be ended */
};

static void station_copy(const struct weft_ctp_epoch *from, struct coro_event *to, uint8_t tail[32])
{
	const uint64_t *word = (const uint64_t *)(const void *)from->reserved;

	to->ts = load_fenced(&from->timestamp);
	to->tid = load_fenced(&from->tid);
	to->addr = load_fenced(&from->addr);
	for (int i = 0; i < 4; i++) {
		uint64_t value = load_fenced(&word[i]);

		memcpy(tail + (size_t)i * sizeof(value), &value, sizeof(value));
	}
}

int station_is_zero(const void *bytes, size_t count)
{
	while (count)
		if (((const uint8_t *)bytes)[--count])
			return 0;
	return 1;
}

/* What the last 32 bytes of a slot mean. Bytes of unknown origin are passed through. */
static void read_tail(const struct cursor *c, const uint8_t tail[32], struct coro_event *e)
{
	uint8_t holds = c->dialect == CURSOR_M ? tail[30] : WEFT_CTP_HOLDS_UNKNOWN,
		bytes = tail[29];

	e->is_active = tail[31] != 0;
	if (holds == WEFT_CTP_HOLDS_CONTEXT) {
		memcpy(&e->context, tail, sizeof(e->context));
		if (e->context.valid == 1)
			e->known |= CORO_KNOWS_CONTEXT;
		return;
	}
	if (holds == WEFT_CTP_HOLDS_UNKNOWN)
		bytes = station_is_zero(tail, WEFT_CTP_PAYLOAD_MAX) ? 0 : WEFT_CTP_PAYLOAD_MAX;
	if (!bytes || bytes > WEFT_CTP_PAYLOAD_MAX)
		return;
	e->payload_bytes = bytes;
	memcpy(e->payload, tail, bytes);
	e->known |= CORO_KNOWS_PAYLOAD;
}

/* D has no busy mark: the payload of event n is safe while n + 7 is not there. */
static int d_is_safe(const struct station_reader *r, uint64_t n)
{
	uint32_t slot = (uint32_t)((n + SLOTS - 1) % SLOTS);

	return load_acquire(&r->station->slots[slot].seq) < n + SLOTS - 1 || r->is_last ||
	       load_fenced(&r->station->is_dead) != 0;
}

/* Event @n is being written. Its writer begins n + 1 only behind it; so if that is there, and
 * n is still as it was, nobody writes it any more. */
static enum found station_look_at_busy(const struct station_reader *r, uint64_t n, uint64_t seq)
{
	const struct weft_ctp_epoch *slot = &r->station->slots[n % SLOTS];
	uint64_t next = load_acquire(&r->station->slots[(n + 1) % SLOTS].seq);

	if (r->is_last)
		return FOUND_ABANDONED;
	if (next < want(r->cursor, n + 1) - 1)
		return FOUND_NOTHING;
	FENCE_ACQUIRE();
	return load_fenced(&slot->seq) == seq ? FOUND_ABANDONED : FOUND_NOTHING;
}

static enum found station_look(const struct station_reader *r, uint64_t n, struct coro_event *e)
{
	const struct weft_ctp_epoch *slot = &r->station->slots[n % SLOTS];
	uint64_t seq = load_acquire(&slot->seq), wanted = want(r->cursor, n);
	uint8_t tail[32];

	if (seq >= SEQ_LIMIT)
		return FOUND_NOTHING;
	if (seq < wanted)
		return seq + 1 == wanted && r->cursor->dialect != CURSOR_D
			       ? station_look_at_busy(r, n, seq)
			       : FOUND_NOTHING;
	if (seq > wanted)
		return FOUND_LATER;
	if (r->cursor->dialect == CURSOR_D && !d_is_safe(r, n))
		return FOUND_LATER;
	STATION_BETWEEN_READS();
	station_copy(slot, e, tail);
	FENCE_ACQUIRE();
	if (load_fenced(&slot->seq) != seq)
		return FOUND_LATER;
	if (r->cursor->dialect == CURSOR_D && !d_is_safe(r, n))
		return FOUND_LATER;
	e->seq = seq;
	read_tail(r->cursor, tail, e);
	return FOUND_EVENT;
}

/* The oldest event that may still be whole, given what stands in the slot of @n. */
static uint64_t oldest_after(const struct station_reader *r, uint64_t n)
{
	uint32_t place = (uint32_t)(n % SLOTS);
	uint64_t seq = load_acquire(&r->station->slots[place].seq);
	uint64_t there = shown(r->cursor, place, seq);

	if (there == UINT64_MAX || there < n + SLOTS)
		return n + 1;
	return there - (SLOTS - 1);
}

/* ---- a station of ours */

struct head {
	uint64_t probe_id, birth_ts, first_event;
	uint32_t generation, pid;
};

/* 0: it is being made new. */
static int station_read_head(const struct weft_ctp_station *s, struct head *head)
{
	for (int i = 0; i < TRIES; i++) {
		head->generation = load_acquire(&s->generation);
		head->probe_id = load_fenced(&s->probe_id);
		head->birth_ts = load_fenced(&s->birth_ts);
		head->first_event = load_fenced(&s->first_event);
		head->pid = load_fenced(&s->pid);
		FENCE_ACQUIRE();
		if (!(head->generation & 1) && load_fenced(&s->generation) == head->generation)
			return 1;
	}
	return 0;
}

static void cursor_take_head(struct cursor *c, const struct head *head)
{
	c->generation = head->generation;
	c->probe_id = head->probe_id;
	c->birth_ts = head->birth_ts;
	c->pid = head->pid;
}

static int generation_is(const struct station_reader *r, uint32_t generation)
{
	FENCE_ACQUIRE();
	return r->cursor->dialect != CURSOR_M || load_fenced(&r->station->generation) == generation;
}

static void station_hand_out(const struct station_reader *r, struct coro_event *e)
{
	struct cursor *c = r->cursor;

	e->probe_id = c->probe_id;
	e->birth_ts = c->birth_ts;
	e->station = r->index;
	e->generation = c->generation;
	e->pid = c->pid;
	e->known |= CORO_KNOWS_IDENTITY | CORO_KNOWS_BIRTH;
	if (e->known & CORO_KNOWS_DEATH)
		c->told = c->generation;
	c->next++;
	c->harvested++;
	r->take(r->arg, e);
}

static void station_lose(struct cursor *c, uint64_t *cause, uint64_t events)
{
	c->next += events;
	*cause += events;
}

/* It is dead, and event @n was never begun. */
static int is_dead_before(const struct station_reader *r, uint64_t n)
{
	return load_acquire(&r->station->is_dead) &&
	       load_acquire(&r->station->slots[n % SLOTS].seq) < want(r->cursor, n) - 1 &&
	       generation_is(r, r->cursor->generation);
}

/* A dead coroutine's last event says so. */
static void mark_death(const struct station_reader *r, struct coro_event *e)
{
	if (is_dead_before(r, r->cursor->next + 1))
		e->known |= CORO_KNOWS_DEATH;
}

static void station_tell_death(const struct station_reader *r)
{
	struct cursor *c = r->cursor;
	struct coro_death death = {.pid = c->pid, .station = r->index, .generation = c->generation};

	if (!r->died || !c->coroutines || c->told == c->generation)
		return;
	c->told = c->generation;
	r->died(r->arg, &death);
}

/* Events up to @end (not with it), or as far as there are any; @shown_generation is what the
 * station must still say for an event to count as this cursor's. Jumps over what is gone go to
 * *gone. */
static int64_t read_up_to(const struct station_reader *r, uint64_t end, uint32_t shown_generation,
			  uint64_t *gone, uint32_t most)
{
	struct cursor *c = r->cursor;
	uint32_t taken = 0;

	for (int step = 0; step < STEPS && c->next < end && taken < most; step++) {
		struct coro_event e = {0};
		enum found found = station_look(r, c->next, &e);
		uint64_t to;

		if (found == FOUND_NOTHING || !generation_is(r, shown_generation))
			break;
		if (found == FOUND_EVENT) {
			if (shown_generation == c->generation)
				mark_death(r, &e);
			else if (c->next + 1 == end)
				e.known |= CORO_KNOWS_DEATH;
			station_hand_out(r, &e);
			taken++;
		} else if (found == FOUND_ABANDONED) {
			station_lose(c, &c->mid_write, 1);
		} else {
			to = oldest_after(r, c->next);
			if (!generation_is(r, shown_generation))
				break;
			station_lose(c, gone, (to < end ? to : end) - c->next);
		}
	}
	return taken;
}

/* It was given to another coroutine since: the one before may have left events. */
static int64_t change_generation(const struct station_reader *r, const struct head *head)
{
	struct cursor *c = r->cursor;
	uint64_t first = head->first_event, end = bound(r->station, c);
	int64_t taken = 0;

	if (first > end + 1) /* one may be odd */
		first = end;
	if (c->coroutines && head->generation - c->generation == 2)
		taken = read_up_to(r, first, head->generation, &c->recycled, UINT32_MAX);
	if (!generation_is(r, head->generation))
		return taken;
	if (c->next < first)
		station_bury_slots(r->station, c);
	if (c->next < first)
		station_lose(c, &c->recycled, first - c->next);
	station_tell_death(r);
	c->coroutines +=
		head->generation > c->generation + 1 ? (head->generation - c->generation) / 2 : 1;
	cursor_take_head(c, head);
	return taken;
}

static int64_t station_read_ours(const struct station_reader *r, uint32_t most)
{
	struct cursor *c = r->cursor;
	struct head head;
	int64_t taken = 0;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = c->next;

		if (!station_read_head(r->station, &head) || !head.generation)
			break; /* none: the page is gone */
		if (head.generation != c->generation || !c->coroutines)
			taken += change_generation(r, &head);
		if (c->generation == head.generation)
			taken += read_up_to(r, UINT64_MAX, head.generation, &c->lapped, most);
		if (c->next == before || generation_is(r, c->generation))
			break;
	}
	if (c->generation && is_dead_before(r, c->next))
		station_tell_death(r);
	return taken;
}

/* ---- */

static int64_t read_legacy(const struct station_reader *r, uint32_t most)
{
	struct cursor *c = r->cursor;

	if (c->dialect == CURSOR_UNKNOWN && !settle_legacy(r))
		return 0;
	c->probe_id = load_fenced(&r->station->probe_id);
	c->birth_ts = load_fenced(&r->station->birth_ts);
	return read_up_to(r, UINT64_MAX, 0, &c->lapped, most);
}

/* A station of which the newest events are older than what was read: begun anew by somebody. */
static void resynchronise(const struct station_reader *r)
{
	struct cursor *c = r->cursor;
	uint64_t last = c->next - 1, end;

	if (c->dialect == CURSOR_UNKNOWN || c->next == c->start ||
	    load_acquire(&r->station->slots[last % SLOTS].seq) >= want(c, last) - 1)
		return;
	end = bound(r->station, c);
	if (end >= c->next)
		return;
	c->start -= c->next - end; /* modulo 2^64: only differences count */
	c->next = end;
}

/* Nobody writes any more, so what is not whole is lost. */
static void read_rest(const struct station_reader *r)
{
	struct cursor *c = r->cursor;
	uint64_t end = bound(r->station, c);

	if (end > c->next)
		station_lose(c, &c->lapped, end - c->next);
}

int64_t station_read(struct station_reader *r, uint32_t most)
{
	struct cursor *c = r->cursor;
	int64_t taken;

	if (load_acquire(&r->station->dialect) == WEFT_CTP_MONOTONIC &&
	    (c->dialect == CURSOR_UNKNOWN || c->dialect == CURSOR_M))
		c->dialect = CURSOR_M;
	if (r->is_thorough || r->is_last)
		resynchronise(r);
	taken = c->dialect == CURSOR_M ? station_read_ours(r, most) : read_legacy(r, most);
	if (r->is_last && c->dialect != CURSOR_UNKNOWN && taken < most)
		read_rest(r);
	return taken;
}

void station_skip(const struct weft_ctp_station *s, struct cursor *c)
{
	struct station_reader r = {.station = s, .cursor = c, .is_last = 1};
	struct head head;

	if (load_acquire(&s->dialect) == WEFT_CTP_MONOTONIC) {
		c->dialect = CURSOR_M;
		if (!station_read_head(s, &head))
			return;
		cursor_take_head(c, &head);
		c->coroutines = 1;
	} else if (!settle_legacy(&r)) {
		return;
	}
	c->start = c->next = bound(s, c);
}

void station_bury_slots(const struct weft_ctp_station *s, struct cursor *c)
{
	if ((c->dialect == CURSOR_M || c->dialect == CURSOR_S) &&
	    load_acquire(&s->slots[c->next % SLOTS].seq) == want(c, c->next) - 1)
		station_lose(c, &c->mid_write, 1);
}
