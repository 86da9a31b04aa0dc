/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coro_station.h
 * The probe's station side (not for direct use: weft/coro.h): how stations are claimed and given
 * back, and how an event is written, by the protocols of weft/abi/ctp.h (dialect M).
 *
 * Writers: of a station, the one thread that acts on its coroutine (wake: any, by atomic steps);
 * of the stacks and of allocated_count, anybody, lock-free. What is read from the file is never
 * trusted as an index before it is compared with the count that was validated at opening.
 * If a process dies between two stores here, at most one station is lost to all, or a slot stays
 * odd, which whoever takes the station next passes over.
 */
#ifndef WEFT_CORO_STATION_H
#define WEFT_CORO_STATION_H

#include <weft/coro_open.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_PROBE_NONE UINT32_MAX
#define WEFT_PROBE_TRIES 1000 /* of a lock-free step, before it is given up */
#define WEFT_PROBE_POPULATE_WRITE 23

static inline uint32_t weft_probe_index(const struct weft_probe_process *p,
					const struct weft_ctp_station *station)
{
	return (uint32_t)(station - p->stations);
}

/* ---- claiming a station ---- */

/* Can its page be written: it is not beyond the end of a file cut short, nor a hole that a full
 * disk has no block for? Kernels before 5.14 cannot tell; then the answer is yes. */
static WEFT_PROBE_COLD int weft_probe_is_there(const struct weft_probe_process *p,
					       const struct weft_ctp_station *station)
{
	long page = (long)((uintptr_t)station & ~(uintptr_t)(p->page_bytes - 1));
	long answer = weft_probe_call(SYS_madvise, page, (long)p->page_bytes,
				      WEFT_PROBE_POPULATE_WRITE, 0, 0, 0);

	return answer != -EFAULT && answer != -ENOMEM;
}

static WEFT_PROBE_COLD uint32_t weft_probe_fresh(struct weft_probe_process *p)
{
	uint32_t index = WEFT_PROBE_LOAD(p->header->allocated_count);

	while (index < p->count) {
		if (!weft_probe_is_there(p, &p->stations[index]))
			return WEFT_PROBE_NONE;
		if (__atomic_compare_exchange_n(&p->header->allocated_count, &index, index + 1, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return index;
	}
	return WEFT_PROBE_NONE;
}

static inline uint64_t weft_probe_next_head(uint64_t head, uint32_t top)
{
	return ((head >> 32) + 1) << 32 | top;
}

/* Takes the top of the stack whose turn it is; when that is empty and the other is not, they
 * change places. */
static WEFT_PROBE_COLD uint32_t weft_probe_pop(struct weft_probe_process *p)
{
	struct weft_ctp_header *header = p->header;
	int tries;

	for (tries = 0; tries < WEFT_PROBE_TRIES; tries++) {
		uint32_t turn = __atomic_load_n(&header->recycle_turn, __ATOMIC_ACQUIRE);
		uint64_t *stack = &header->recycle[turn & 1];
		uint64_t head = __atomic_load_n(stack, __ATOMIC_ACQUIRE);
		uint32_t top = (uint32_t)head, below;

		if (!top) {
			if (!(uint32_t)WEFT_PROBE_LOAD(header->recycle[~turn & 1]))
				return WEFT_PROBE_NONE;
			__atomic_compare_exchange_n(&header->recycle_turn, &turn, turn + 1, 0,
						    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
			continue;
		}
		if (top > p->count)
			return WEFT_PROBE_NONE;
		below = WEFT_PROBE_LOAD(p->stations[top - 1].next_dead);
		if (__atomic_compare_exchange_n(stack, &head, weft_probe_next_head(head, below), 0,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			__atomic_fetch_sub(&header->recycle_count, 1, __ATOMIC_RELAXED);
			return top - 1;
		}
	}
	return WEFT_PROBE_NONE;
}

static inline int weft_probe_state_changes(struct weft_ctp_station *station, uint8_t from,
					   uint8_t to)
{
	return __atomic_compare_exchange_n(&station->state, &from, to, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* Takes a popped station. The pid comes first: an engine that finds it CREATED must not take it for
 * one of a dead process that had it before. One that is not LISTED has an owner, whatever the stack
 * says. */
static WEFT_PROBE_COLD int weft_probe_take(const struct weft_probe_process *p,
					   struct weft_ctp_station *station)
{
	if (WEFT_PROBE_LOAD(station->state) != WEFT_CTP_LISTED)
		return 0;
	WEFT_PROBE_STORE(station->pid, p->pid);
	return weft_probe_state_changes(station, WEFT_CTP_LISTED, WEFT_CTP_CREATED);
}

static WEFT_PROBE_COLD uint32_t weft_probe_used(struct weft_probe_process *p)
{
	uint32_t index;
	int tries;

	for (tries = 0; tries < WEFT_PROBE_TRIES; tries++) {
		index = weft_probe_pop(p);
		if (index == WEFT_PROBE_NONE || weft_probe_take(p, &p->stations[index]))
			return index;
	}
	return WEFT_PROBE_NONE;
}

static inline int weft_probe_recycles(const struct weft_probe_process *p)
{
	return p->is_extended && (WEFT_PROBE_LOAD(p->header->features) & WEFT_CTP_RECYCLE);
}

static WEFT_PROBE_COLD uint32_t weft_probe_claim(struct weft_probe_process *p)
{
	uint32_t index = WEFT_PROBE_NONE;
	int recycles = weft_probe_recycles(p);

	if (recycles && WEFT_PROBE_LOAD(p->header->recycle_count) >= WEFT_CTP_RECYCLE_EARLY)
		index = weft_probe_used(p);
	if (index == WEFT_PROBE_NONE)
		index = weft_probe_fresh(p);
	if (index == WEFT_PROBE_NONE && recycles)
		index = weft_probe_used(p);
	if (index == WEFT_PROBE_NONE && p->is_extended)
		__atomic_fetch_add(&p->header->refused, 1, __ATOMIC_RELAXED);
	return index;
}

/* Onto the stack that nobody pops from. */
static WEFT_PROBE_COLD void weft_probe_push(struct weft_probe_process *p,
					    struct weft_ctp_station *station)
{
	struct weft_ctp_header *header = p->header;
	uint32_t top = weft_probe_index(p, station) + 1;
	uint64_t *stack, head;

	if (!weft_probe_state_changes(station, WEFT_CTP_DEAD, WEFT_CTP_LISTED))
		return;
	do {
		stack = &header->recycle[~WEFT_PROBE_LOAD(header->recycle_turn) & 1];
		head = WEFT_PROBE_LOAD(*stack);
		WEFT_PROBE_STORE(station->next_dead, (uint32_t)head);
	} while (!__atomic_compare_exchange_n(stack, &head, weft_probe_next_head(head, top), 0,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	__atomic_fetch_add(&header->recycle_count, 1, __ATOMIC_RELAXED);
}

/* ---- a station's head ---- */

/* The n after those of all events that were ever written or begun in @station. */
static WEFT_PROBE_COLD uint64_t weft_probe_next_event(const struct weft_ctp_station *station)
{
	uint64_t next = 0, seq;
	int i;

	for (i = 0; i < WEFT_CTP_SLOTS; i++) {
		seq = WEFT_PROBE_LOAD(station->slots[i].seq);
		if ((seq >> 1) + (seq & 1) > next)
			next = (seq >> 1) + (seq & 1);
	}
	return next;
}

static WEFT_PROBE_COLD void weft_probe_wipe_totals(struct weft_ctp_station *station)
{
	uint64_t *word = (uint64_t *)(void *)&station->totals;
	uint64_t *end = (uint64_t *)(void *)(station + 1);

	for (; word < end; word++)
		WEFT_PROBE_STORE(*word, 0);
}

static WEFT_PROBE_COLD void weft_probe_parent(struct weft_ctp_station *station,
					      const struct weft_coro *parent)
{
	int known = parent && parent->station && parent->owner == weft_probe_owner(parent->process);

	WEFT_PROBE_STORE(station->parent_station,
			 known ? weft_probe_index(parent->process, parent->station) + 1 : 0);
	WEFT_PROBE_STORE(station->parent_generation, known ? parent->generation : 0);
}

/* Makes @station the coroutine's, under the lock of its generation. */
static WEFT_PROBE_COLD void weft_probe_settle(struct weft_probe_process *p, struct weft_coro *coro,
					      struct weft_ctp_station *station,
					      const struct weft_coro *parent, uint64_t site)
{
	uint32_t generation = WEFT_PROBE_LOAD(station->generation) | 1;

	WEFT_PROBE_STORE(station->generation, generation);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	coro->next_event = weft_probe_next_event(station);
	WEFT_PROBE_STORE(station->probe_id, coro->id);
	WEFT_PROBE_STORE(station->birth_ts, coro->last_ns);
	WEFT_PROBE_STORE(station->dialect, WEFT_CTP_MONOTONIC);
	WEFT_PROBE_STORE(station->language, coro->language);
	WEFT_PROBE_STORE(station->state, coro->state);
	WEFT_PROBE_STORE(station->pid, p->pid);
	WEFT_PROBE_STORE(station->site, site);
	WEFT_PROBE_STORE(station->first_event, coro->next_event);
	WEFT_PROBE_STORE(station->last_wake_ns, 0);
	weft_probe_parent(station, parent);
	weft_probe_wipe_totals(station);
	WEFT_PROBE_STORE(station->totals.last_ns, coro->last_ns);
	WEFT_PROBE_STORE(station->is_dead, 0);
	coro->generation = generation + 1;
	__atomic_store_n(&station->generation, generation + 1, __ATOMIC_RELEASE);
}

static WEFT_PROBE_COLD uint64_t weft_probe_number(struct weft_probe_process *p)
{
	uint32_t count = __atomic_add_fetch(&p->ids, 1, __ATOMIC_RELAXED);

	return (uint64_t)p->pid << 31 | (count & 0x7fffffff);
}

static WEFT_PROBE_COLD void weft_probe_enter(struct weft_probe_process *p, struct weft_coro *coro,
					     const struct weft_coro *parent, uint64_t site)
{
	uint32_t index =
		p->header && !WEFT_PROBE_LOAD(p->is_cut) ? weft_probe_claim(p) : WEFT_PROBE_NONE;

	if (index == WEFT_PROBE_NONE)
		return;
	weft_probe_settle(p, coro, &p->stations[index], parent, site);
	__atomic_store_n(&coro->station, &p->stations[index], __ATOMIC_RELEASE);
}

/* In a child the station is the parent's, so the coroutine takes one of its own; after the file
 * was cut short, none. */
static WEFT_PROBE_COLD void weft_probe_adopt(struct weft_probe_process *p, struct weft_coro *coro)
{
	struct weft_ctp_station *theirs = coro->station;
	uint32_t owner = weft_probe_renewed(p);
	int saved = errno;

	WEFT_PROBE_STORE(coro->station, NULL);
	WEFT_PROBE_STORE(coro->owner, owner);
	if (coro->flags & WEFT_CORO_NUMBERED)
		coro->id = weft_probe_number(p);
	if (theirs)
		weft_probe_enter(p, coro, NULL, WEFT_PROBE_LOAD(theirs->site));
	errno = saved;
}

/* ---- an event ---- */

static inline uint64_t weft_probe_tid(struct weft_probe_thread *thread, uint32_t owner)
{
	if (WEFT_PROBE_UNLIKELY(thread->owner != owner)) {
		thread->tid = (uint64_t)weft_probe_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
		thread->owner = owner;
	}
	return thread->tid;
}

/* The last 32 bytes of a slot as four words (little endian): what the coroutine has to tell, and
 * the kind of event. Word by word: of use to the compiler, which then keeps them in registers. */
WEFT_PROBE_HOT void weft_probe_tail(const struct weft_coro *coro, int is_resume, uint64_t tail[4])
{
	uint32_t kind = is_resume ? WEFT_CTP_KIND_RESUME : WEFT_CTP_KIND_SUSPEND, low;

	memcpy(&tail[0], coro->bytes, 8);
	memcpy(&tail[1], coro->bytes + 8, 8);
	memcpy(&tail[2], coro->bytes + 16, 8);
	memcpy(&low, coro->bytes + 24, 4);
	kind |= (uint32_t)coro->payload_bytes << 8 | (uint32_t)coro->holds << 16 |
		(uint32_t)is_resume << 24;
	tail[3] = low | (uint64_t)kind << 32;
}

WEFT_PROBE_HOT void weft_probe_write_slot(struct weft_ctp_epoch *slot, uint64_t n, uint64_t now,
					  uint64_t tid, uint64_t addr, const uint64_t tail[4])
{
	uint64_t *to = (uint64_t *)(void *)slot->reserved;

	WEFT_PROBE_STORE(slot->seq, 2 * n + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	WEFT_PROBE_STORE(slot->timestamp, now);
	WEFT_PROBE_STORE(slot->tid, tid);
	WEFT_PROBE_STORE(slot->addr, addr);
	WEFT_PROBE_STORE(to[0], tail[0]);
	WEFT_PROBE_STORE(to[1], tail[1]);
	WEFT_PROBE_STORE(to[2], tail[2]);
	WEFT_PROBE_STORE(to[3], tail[3]);
	__atomic_store_n(&slot->seq, 2 * n + 2, __ATOMIC_RELEASE);
}

static inline uint32_t weft_probe_bucket(uint64_t ns)
{
	uint32_t log2 = 63u - (uint32_t)__builtin_clzll(ns | 32);

	return log2 - 5 < WEFT_CTP_BUCKETS ? log2 - 5 : WEFT_CTP_BUCKETS - 1;
}

/* One writer: a load and a store, no locked step. */
static inline void weft_probe_add(uint64_t *sum, uint64_t more)
{
	WEFT_PROBE_STORE(*sum, WEFT_PROBE_LOAD(*sum) + more);
}

WEFT_PROBE_HOT void weft_probe_count_time(uint64_t *sum, uint64_t *most, uint32_t *histogram,
					  uint64_t ns)
{
	uint32_t *bucket = &histogram[weft_probe_bucket(ns)];

	weft_probe_add(sum, ns);
	if (ns > WEFT_PROBE_LOAD(*most))
		WEFT_PROBE_STORE(*most, ns);
	WEFT_PROBE_STORE(*bucket, WEFT_PROBE_LOAD(*bucket) + 1);
}

/* @was: the state that ends. A resume of what runs, or a suspend of what does not, ends none. */
WEFT_PROBE_HOT void weft_probe_count(struct weft_ctp_station *station, uint8_t was, int is_resume,
				     uint64_t ns, uint64_t now)
{
	struct weft_ctp_totals *totals = &station->totals;

	weft_probe_add(is_resume ? &totals->resumes : &totals->suspends, 1);
	if (is_resume && was != WEFT_CTP_RUNNING)
		weft_probe_count_time(&totals->wait_ns, &totals->max_wait_ns,
				      station->wait_histogram, ns);
	else if (!is_resume && was == WEFT_CTP_RUNNING)
		weft_probe_count_time(&totals->run_ns, &totals->max_run_ns, station->run_histogram,
				      ns);
	WEFT_PROBE_STORE(totals->last_ns, now);
	WEFT_PROBE_STORE(station->state,
			 (uint8_t)(is_resume ? WEFT_CTP_RUNNING : WEFT_CTP_SUSPENDED));
}

/* The bit is loaded first: a store would take the cache line from all other writers. */
static inline void weft_probe_mark_dirty(const struct weft_probe_process *p,
					 const struct weft_ctp_station *station)
{
	uint32_t bit = weft_probe_index(p, station) >> (p->dirty_shift & 31);
	uint64_t *word = &p->header->dirty[bit / 64], mask = (uint64_t)1 << (bit & 63);

	if (!(WEFT_PROBE_LOAD(*word) & mask))
		__atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
}

/* After an event is written: lets the engine know. */
static inline void weft_probe_tell(struct weft_probe_process *p,
				   const struct weft_ctp_station *station)
{
	if (WEFT_PROBE_LIKELY(p->dirty_shift < 32))
		weft_probe_mark_dirty(p, station);
	if (WEFT_PROBE_LIKELY(p->is_extended &&
			      (WEFT_PROBE_LOAD(p->header->features) & WEFT_CTP_TIMER)))
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (WEFT_PROBE_LOAD(p->header->tracer_sleeping) == 1)
		weft_probe_wake_engine(p);
}

WEFT_PROBE_HOT void weft_probe_event(struct weft_probe_process *p, struct weft_probe_thread *here,
				     struct weft_coro *coro, int is_resume, uint64_t before,
				     uint64_t now, const void *addr)
{
	struct weft_ctp_station *station = coro->station;
	uint64_t n = coro->next_event++, tail[4];

	weft_probe_tail(coro, is_resume, tail);
	weft_probe_write_slot(&station->slots[n % WEFT_CTP_SLOTS], n, now,
			      weft_probe_tid(here, coro->owner), (uint64_t)(uintptr_t)addr, tail);
	weft_probe_count(station, coro->state, is_resume, now - before, now);
	weft_probe_tell(p, station);
}

#ifdef __cplusplus
}
#endif
#endif
