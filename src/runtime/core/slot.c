/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's slot: claimed, primed and released by the thread itself (abi/session.h has the
 * states). Claiming is async-signal-safe and lock-free: of all threads that race for a slot, one
 * compare-and-swap wins; the generation in the same word makes one with a stale view fail.
 * Asynchronous signals are blocked meanwhile: a handler of the program that leaves by longjmp would
 * leak a slot in OPENING. (A program that filters its system calls has to take that risk.)
 *
 * Writers: claimers and owners here, the collector (HELD, DEAD -> DRAINING -> FREE, and LIVE ->
 * DEAD for a thread that is gone). If a process dies between any two stores, the collector finds a
 * slot that is not FREE and closes it. Model: tests/models/slot.pml, whose step names stand here
 * behind "model:".
 */
#include "runtime/core/customlabels_meet.h"
#include "runtime/core/label_store.h"
#include "runtime/core/runtime.h"

#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "runtime/core/sys.h"

/* the kernel keeps this much below it unmapped */
#define MAIN_STACK_REACH (UINT64_C(64) << 20)
#define MAIN_STACK_MARGIN UINT64_C(8192) /* AT_EXECFN lies below the very top */

WEFT_API __thread struct weft_slot *weft_thread_slot WEFT_TLS_MODEL;

/* What a forked child uses until it has a session; never shared between threads. */
static WEFT_LARGE struct weft_slot private_slot;

struct weft_slot *weft_slot_private(void)
{
	return &private_slot;
}

static int state_changes(uint32_t index, uint64_t from, uint64_t to)
{
	return cas_acq_rel(&weft_rt.states[index], &from, to);
}

/* The low 24 bits are never 0: a timer without a slot has 0 as its sigval. */
static uint64_t slot_next_generation(uint64_t generation)
{
	generation++;
	return generation & 0xFFFFFF ? generation : generation + 1;
}

/*
 * FREE (or DEAD, when stealing) -> OPENING, under the next generation, which is returned; 0: not
 * done. A DEAD slot that the collector holds is never taken. Pairs: the release of whoever made it
 * FREE or DEAD, and of the collector when it stops holding it. model: CLAIM, STEAL
 */
static uint64_t try_to_open(uint32_t index, enum weft_slot_state from)
{
	uint64_t word = load_acquire(&weft_rt.states[index]);
	uint64_t generation = slot_next_generation(WEFT_GENERATION_OF(word));

	if (WEFT_STATE_OF(word) != from || WEFT_STATE_IS_HELD(word))
		return 0;
	return state_changes(index, word, WEFT_STATE_WORD(generation, WEFT_SLOT_OPENING))
		       ? generation
		       : 0;
}

static void slot_set_hint(uint32_t index)
{
	__atomic_fetch_or(&weft_rt.free_bits[index / 64], UINT64_C(1) << index % 64,
			  __ATOMIC_RELEASE);
}

/* A slot in OPENING that belongs to this thread; generation 0 = none. */
struct opening {
	uint32_t index;
	int is_stolen;
	uint64_t generation;
};

/* A free slot of an open block. Each iteration of the inner loop clears a bit. */
static struct opening find_free(uint32_t blocks)
{
	struct opening o = {0};

	for (uint32_t block = 0; block < blocks; block++) {
		uint64_t *word = &weft_rt.free_bits[block];
		uint64_t bits = load_acquire(word);

		while (bits) {
			uint32_t bit = (uint32_t)__builtin_ctzll(bits);
			uint64_t mask = UINT64_C(1) << bit;
			uint64_t was = __atomic_fetch_and(word, ~mask, __ATOMIC_ACQ_REL);

			o.index = block * 64 + bit;
			if (was & mask)
				o.generation = try_to_open(o.index, WEFT_SLOT_FREE);
			if (o.generation)
				return o;
			bits = was & ~mask;
		}
	}
	return o;
}

static struct opening steal_dead(uint32_t blocks)
{
	struct opening o = {.is_stolen = 1};

	for (; o.index < blocks * WEFT_SESSION_BLOCK_SLOTS; o.index++) {
		o.generation = try_to_open(o.index, WEFT_SLOT_DEAD);
		if (o.generation)
			break;
	}
	return o;
}

/*
 * The collector was killed, or has been stopped for long. Then DEAD slots are taken before another
 * block is opened, or a program that keeps starting threads would fill the whole session.
 */
static int slot_collector_is_gone(void)
{
	uint64_t drained_ns = load_relaxed(&weft_rt.header->drained_ns);

	return drained_ns && clock_monotonic_ns() - drained_ns > COLLECTOR_PATIENCE_NS;
}

static struct opening slot_find(void)
{
	uint32_t limit = weft_layout.slot_count / WEFT_SESSION_BLOCK_SLOTS;

	for (;;) {
		uint32_t open = load_acquire(&weft_rt.header->blocks_open);
		struct opening o;

		open = open < limit ? open : limit;
		o = find_free(open);
		if (!o.generation && slot_collector_is_gone())
			o = steal_dead(open);
		if (o.generation)
			return o;
		if (open == limit || weft_session_open_block(open))
			return steal_dead(open);
	}
}

/*
 * A thread that ended without releasing its slot leaves its timer and clock, which only the slot
 * names. (Its control page is zeros when the slot is new, or its memory was given back.)
 */
static void delete_left_timer(struct weft_slot *slot)
{
	if (slot->thread.generation && weft_rt.on_release &&
	    (slot->thread.timer_id >= 0 || slot->samples_p.own[0]))
		weft_rt.on_release(slot);
}

/*
 * Continues the books of the dead owner (abi/session.h): one store turns the pending records in its
 * ring into lost ones, so that the books balance before and after. model: CARRY
 */
static void carry_on(uint64_t *stolen, const struct weft_ring_producer *p,
		     const struct weft_ring_consumer *c)
{
	uint64_t written = load_relaxed(&p->written);
	uint64_t taken = load_relaxed(&c->delivered) + load_relaxed(&c->refused);

	store_relaxed(stolen, written - taken);
}

static void carry_books_on(struct weft_slot *slot)
{
	carry_on(&slot->counters[WEFT_COUNTER_LOST_STOLEN], &slot->samples_p, &slot->samples_c);
	carry_on(&slot->counters[WEFT_COUNTER_EVENTS_STOLEN], &slot->events_p, &slot->events_c);
	weft_slot_count(slot, WEFT_COUNTER_SLOTS_STOLEN, 1);
	store_relaxed(&slot->samples_p.head, 0);
	store_relaxed(&slot->samples_c.tail, 0);
	store_relaxed(&slot->events_p.head, 0);
	store_relaxed(&slot->events_c.tail, 0);
	slot->samples_p.busy = slot->events_p.busy = 0;
	memset(slot->samples_p.own, 0, sizeof(slot->samples_p.own));
	memset(slot->events_p.own, 0, sizeof(slot->events_p.own));
}

static const struct weft_meet not_noted;

/* In OPENING: clears all that the previous owner left, except for a stolen slot's books. */
static void make_new(struct weft_slot *slot, const struct opening *o)
{
	delete_left_timer(slot);
	if (o->is_stolen) {
		carry_books_on(slot);
		memset(slot, 0, offsetof(struct weft_slot, outside));
		memset(slot->name, 0,
		       offsetof(struct weft_slot, counters) - offsetof(struct weft_slot, name));
		memset(slot->otel_record, 0, sizeof(slot->otel_record));
	} else {
		memset(slot, 0, offsetof(struct weft_slot, label_state));
	}
	weft_label_state_clear(slot);
	memset(&slot->otel, 0, sizeof(slot->otel));
	memset(slot->coro_labels, 0, sizeof(slot->coro_labels));
	slot->thread.generation = o->generation;
	slot->thread.timer_id = -1;
	slot->label_state.current_at = (uint64_t)(uintptr_t)weft_meet_cell(&not_noted);
}

/* A thread that libc has begun does not ask: a filter that nobody has seen may kill for it. */
static int32_t tid_at_birth(const struct weft_birth *birth)
{
	int32_t tid = birth->how == WEFT_COUNTER_PRIMED_HOOK ? weft_thread_number() : 0;

	return tid ? tid : sys_gettid();
}

static void slot_prime(struct weft_slot *slot, const struct weft_birth *birth)
{
	slot->thread.tid = tid_at_birth(birth);
	slot->thread.flags = slot->thread.tid == weft_rt.pid ? WEFT_SLOT_MAIN : 0;
	slot->thread.stack_low = birth->stack_low;
	slot->thread.stack_high = birth->stack_high;
	slot->thread.primed_by = birth->how;
	slot->pthread_self = (uint64_t)(uintptr_t)pthread_self();
	/* (a collector that attaches later reads the names of threads that live) */
	if (weft_rt.has_collector || birth->how != WEFT_COUNTER_PRIMED_HOOK)
		sys_call5(SYS_prctl, PR_GET_NAME, slot->name, 0, 0, 0);
	weft_slot_count(slot, birth->how, 1);
}

static void count_use(uint32_t index)
{
	uint32_t high = load_relaxed(&weft_rt.header->slots_high);

	__atomic_fetch_add(&weft_rt.header->slots_used, 1, __ATOMIC_RELAXED);
	while (high < index + 1 && !cas_relaxed(&weft_rt.header->slots_high, &high, index + 1))
		;
}

static void set_state(uint32_t index, uint64_t generation, enum weft_slot_state state)
{
	store_release(&weft_rt.states[index], WEFT_STATE_WORD(generation, state));
}

/* Does the collector drain dead slots? If not, the owner frees its own. */
static int collector_drains(void)
{
	return weft_rt.has_collector && weft_rt_run_state() != WEFT_RUN_CLOSED;
}

/*
 * LIVE -> DEAD; a collector that holds the slot meanwhile goes on with it. 0: it is DEAD already,
 * because the collector took this thread for gone. model: DIE
 */
static int end_life(uint32_t index, uint64_t generation)
{
	uint64_t word = load_relaxed(&weft_rt.states[index]);

	do {
		if (WEFT_GENERATION_OF(word) != generation || WEFT_STATE_OF(word) != WEFT_SLOT_LIVE)
			return 0;
	} while (!cas_release(&weft_rt.states[index], &word,
			      word + (WEFT_SLOT_DEAD - WEFT_SLOT_LIVE)));
	return 1;
}

/* model: FREE_OWN */
static void free_if_nobody_drains(uint32_t index, uint64_t generation)
{
	if (!collector_drains() && state_changes(index, WEFT_STATE_WORD(generation, WEFT_SLOT_DEAD),
						 WEFT_STATE_WORD(generation, WEFT_SLOT_FREE)))
		slot_set_hint(index);
}

/* OPENING -> DEAD, not FREE: it may hold a previous owner's books. */
static void slot_return(const struct opening *o)
{
	set_state(o->index, o->generation, WEFT_SLOT_DEAD);
	weft_rt_mark(o->index);
	free_if_nobody_drains(o->index, o->generation);
}

/* model: CLAIM .. PUBLISH */
static struct weft_slot *slot_claim(const struct weft_birth *birth)
{
	uint64_t began_ns = clock_monotonic_ns();
	struct opening o = slot_find();
	struct weft_slot *slot;

	if (!o.generation)
		return NULL;
	slot = weft_rt_slot(o.index);
	count_use(o.index);
	make_new(slot, &o);
	slot_prime(slot, birth);
	slot->thread.claimed_ns = began_ns;
	/* A handler may have claimed a slot for this thread meanwhile: this one is given back. */
	if (!weft_copies_swap(NULL, slot)) {
		__atomic_fetch_sub(&weft_rt.header->slots_used, 1, __ATOMIC_RELAXED);
		slot_return(&o);
		return weft_slot_mine();
	}
	set_state(o.index, o.generation, WEFT_SLOT_LIVE);
	__atomic_fetch_add(&weft_rt.header->claim_ns[log2_bucket(clock_monotonic_ns() - began_ns)],
			   1, __ATOMIC_RELAXED);
	return slot;
}

struct weft_slot *weft_slot_claim(const struct weft_birth *birth)
{
	void (*on_claim)(struct weft_slot *, uint64_t) = load_acquire(&weft_rt.on_claim);
	struct weft_slot *slot;
	uint64_t before;

	/* Nobody outside could find a thread without a number. */
	if (weft_key_has_ended() || (weft_rt_is_careful() && !weft_thread_number()))
		return NULL;
	before = sys_signals_block(SYS_SIGNALS_ASYNC);
	slot = slot_claim(birth);
	if (slot && on_claim && !birth->has_timer)
		on_claim(slot, before);
	if (!birth->has_timer)
		WEFT_CALL_PARTS(slot_changed);
	sys_signals_restore(before);
	return slot;
}

static void slot_release(struct weft_slot *slot)
{
	uint32_t index = weft_rt_index(slot);
	uint64_t generation = slot->thread.generation;

	if (weft_rt.on_release)
		weft_rt.on_release(slot);
	WEFT_CALL_PARTS(slot_ends, slot);
	slot->events.coroutine_at = 0;
	weft_copies_store(NULL);
	weft_account_thread(slot);
	if (!end_life(index, generation))
		return;
	weft_rt_mark(index);
	__atomic_fetch_sub(&weft_rt.header->slots_used, 1, __ATOMIC_RELAXED);
	free_if_nobody_drains(index, generation);
}

void weft_slot_release(void)
{
	struct weft_slot *slot = weft_slot_mine();
	uint64_t before;

	if (!slot || !weft_guard_holds() || !weft_rt_is_ready() || slot == &private_slot)
		return;
	before = sys_signals_block(SYS_SIGNALS_ASYNC);
	slot_release(slot);
	WEFT_CALL_PARTS(slot_changed);
	sys_signals_restore(before);
}

void weft_thread_stack_main(struct weft_birth *birth)
{
	uint64_t reach = MAIN_STACK_REACH, limit = sys_limit(RLIMIT_STACK);

	birth->stack_high = getauxval(AT_EXECFN);
	if (limit < reach)
		reach = limit;
	reach = reach > 2 * MAIN_STACK_MARGIN ? reach - MAIN_STACK_MARGIN : 0;
	birth->stack_low = birth->stack_high - reach;
}

int weft_stack_has_both(const struct weft_slot *slot, uint64_t a, uint64_t b)
{
	const struct weft_slot_events *e = &slot->events;
	uint64_t low = slot->thread.stack_low, high = slot->thread.stack_high;

	if (a >= low && a < high)
		return b >= low && b < high;
	low = e->coroutine_stack_low;
	high = e->coroutine_stack_high;
	return a >= low && a < high && b >= low && b < high;
}
