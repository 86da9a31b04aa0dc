/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's slot: claimed, primed and released by the thread itself (abi/session.h has the
 * states). Claiming is async-signal-safe and lock-free: of all that race for a slot one
 * compare-and-swap wins, and the generation in the same word keeps an old view from winning.
 *
 * Writers: claimers and owners here, the collector (DEAD -> DRAINING -> FREE). If a process
 * dies between any two stores, the collector finds a slot that is not FREE and closes it.
 */
#include "runtime/runtime.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "runtime/sys.h"

#define MAIN_STACK_REACH (UINT64_C(64) << 20)      /* the kernel maps nothing so near below it */
#define COLLECTOR_PATIENCE_NS UINT64_C(5000000000) /* it drains ten times a second at least */
#define MAIN_STACK_MARGIN UINT64_C(8192)           /* AT_EXECFN lies below the very top */

WEFT_API __thread struct weft_slot *weft_thread_slot __attribute__((tls_model("initial-exec")));

/* What a forked child uses until it has a session; never shared between threads. */
static struct weft_slot private_slot;

struct weft_slot *weft_slot_private(void)
{
	return &private_slot;
}

static uint64_t *state_of(uint32_t index)
{
	return &weft_rt.states[index];
}

static int state_changes(uint32_t index, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(state_of(index), &from, to, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* FREE (or DEAD, when stealing) -> OPENING, under the next generation. */
static int try_to_open(uint32_t index, enum weft_slot_state from)
{
	uint64_t word = __atomic_load_n(state_of(index), __ATOMIC_ACQUIRE);

	if (WEFT_STATE_OF(word) != from)
		return 0;
	return state_changes(index, word,
			     WEFT_STATE_WORD(WEFT_GENERATION_OF(word) + 1, WEFT_SLOT_OPENING));
}

static void give_hint(uint32_t index)
{
	__atomic_fetch_or(&weft_rt.free_bits[index / 64], UINT64_C(1) << index % 64,
			  __ATOMIC_RELEASE);
}

/* A free slot of an open block, or -1. Each pass of the inner loop clears a bit. */
static int64_t find_free(uint32_t blocks)
{
	for (uint32_t block = 0; block < blocks; block++) {
		uint64_t *word = &weft_rt.free_bits[block];
		uint64_t bits = __atomic_load_n(word, __ATOMIC_ACQUIRE);

		while (bits) {
			uint32_t bit = (uint32_t)__builtin_ctzll(bits);
			uint64_t mask = UINT64_C(1) << bit;
			uint64_t was = __atomic_fetch_and(word, ~mask, __ATOMIC_ACQ_REL);

			if ((was & mask) && try_to_open(block * 64 + bit, WEFT_SLOT_FREE))
				return (int64_t)block * 64 + bit;
			bits = was & ~mask;
		}
	}
	return -1;
}

/* What the dead owner counted goes to the header, so that the sums still hold. */
static void close_stolen_books(struct weft_slot *slot)
{
	uint64_t written = __atomic_load_n(&slot->samples_p.written, __ATOMIC_RELAXED);
	uint64_t delivered = __atomic_load_n(&slot->samples_c.delivered, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < WEFT_COUNTER_COUNT; i++) {
		uint64_t value = __atomic_load_n(&slot->counters[i], __ATOMIC_RELAXED);

		if (value)
			weft_rt_count(i, value);
	}
	weft_rt_count(WEFT_COUNTER_LOST_STOLEN, written > delivered ? written - delivered : 0);
	weft_rt_count(WEFT_COUNTER_SLOTS_STOLEN, 1);
}

static int64_t steal_dead(uint32_t blocks)
{
	for (uint32_t index = 0; index < blocks * WEFT_SESSION_BLOCK_SLOTS; index++) {
		if (!try_to_open(index, WEFT_SLOT_DEAD))
			continue;
		close_stolen_books(weft_rt_slot(index));
		return index;
	}
	return -1;
}

/*
 * Killed, or stopped for long: what it left DEAD is taken before more memory is, or a program
 * that goes on to begin threads would fill the whole session.
 */
static int collector_is_gone(void)
{
	uint64_t drained_ns = __atomic_load_n(&weft_rt.header->drained_ns, __ATOMIC_RELAXED);

	return drained_ns && clock_monotonic_ns() - drained_ns > COLLECTOR_PATIENCE_NS;
}

static int64_t find_slot(void)
{
	uint32_t limit = weft_rt.slot_count / WEFT_SESSION_BLOCK_SLOTS;

	for (;;) {
		uint32_t open = __atomic_load_n(&weft_rt.header->blocks_open, __ATOMIC_ACQUIRE);
		int64_t index;

		open = open < limit ? open : limit;
		index = find_free(open);
		if (index < 0 && collector_is_gone())
			index = steal_dead(open);
		if (index >= 0)
			return index;
		if (open == limit || weft_session_open_block(open))
			return steal_dead(open);
	}
}

/* OPENING: the books of the generation before are wiped; the consumer's lines with them. */
static void reset_books(struct weft_slot *slot, uint64_t generation)
{
	memset(slot, 0, offsetof(struct weft_slot, rsv_page));
	slot->thread.generation = generation;
	slot->thread.timer_id = -1;
}

static void prime(struct weft_slot *slot, const struct weft_birth *birth)
{
	slot->thread.tid = sys_gettid();
	slot->thread.flags = slot->thread.tid == weft_rt.pid ? WEFT_SLOT_MAIN : 0;
	slot->thread.stack_low = birth->stack_low;
	slot->thread.stack_high = birth->stack_high;
	slot->thread.primed_by = birth->how;
	sys_call5(SYS_prctl, PR_GET_NAME, slot->name, 0, 0, 0);
	slot->counters[birth->how] = 1;
}

static void count_use(uint32_t index)
{
	uint32_t high = __atomic_load_n(&weft_rt.header->slots_high, __ATOMIC_RELAXED);

	__atomic_fetch_add(&weft_rt.header->slots_used, 1, __ATOMIC_RELAXED);
	while (high < index + 1 &&
	       !__atomic_compare_exchange_n(&weft_rt.header->slots_high, &high, index + 1, 0,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void set_state(uint32_t index, uint64_t generation, enum weft_slot_state state)
{
	__atomic_store_n(state_of(index), WEFT_STATE_WORD(generation, state), __ATOMIC_RELEASE);
}

static void free_slot(uint32_t index, uint64_t generation)
{
	set_state(index, generation, WEFT_SLOT_FREE);
	give_hint(index);
}

struct weft_slot *weft_slot_claim(const struct weft_birth *birth)
{
	uint64_t began_ns = clock_monotonic_ns();
	int64_t index = find_slot();
	struct weft_slot *slot;
	uint64_t generation;

	if (index < 0)
		return NULL;
	slot = weft_rt_slot((uint32_t)index);
	generation =
		WEFT_GENERATION_OF(__atomic_load_n(state_of((uint32_t)index), __ATOMIC_RELAXED));
	reset_books(slot, generation);
	prime(slot, birth);
	slot->thread.claimed_ns = began_ns;
	/* A handler may have claimed for this thread meanwhile: then ours goes back. */
	if (!weft_copies_swap(NULL, slot)) {
		free_slot((uint32_t)index, generation);
		return weft_thread_slot;
	}
	set_state((uint32_t)index, generation, WEFT_SLOT_LIVE);
	count_use((uint32_t)index);
	__atomic_fetch_add(&weft_rt.header->claim_ns[log2_bucket(clock_monotonic_ns() - began_ns)],
			   1, __ATOMIC_RELAXED);
	return slot;
}

/* Does somebody drain dead slots? Else the owner frees its own. */
static int collector_drains(void)
{
	return weft_rt.has_collector && weft_rt_run_state() != WEFT_RUN_STOPPED;
}

void weft_slot_release(void)
{
	struct weft_slot *slot = weft_thread_slot;
	uint64_t generation;
	uint32_t index;

	if (!slot || !weft_guard_holds() || !weft_rt_is_ready() || slot == &private_slot)
		return;
	if (weft_rt.on_release)
		weft_rt.on_release(slot);
	weft_copies_store(NULL);
	index = weft_rt_index(slot);
	generation = slot->thread.generation;
	__atomic_fetch_sub(&weft_rt.header->slots_used, 1, __ATOMIC_RELAXED);
	set_state(index, generation, WEFT_SLOT_DEAD);
	if (!collector_drains() && state_changes(index, WEFT_STATE_WORD(generation, WEFT_SLOT_DEAD),
						 WEFT_STATE_WORD(generation, WEFT_SLOT_FREE)))
		give_hint(index);
}

void weft_thread_stack_main(struct weft_birth *birth)
{
	uint64_t reach = MAIN_STACK_REACH;
	struct rlimit limit;

	birth->stack_high = getauxval(AT_EXECFN);
	if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < reach)
		reach = limit.rlim_cur;
	reach = reach > 2 * MAIN_STACK_MARGIN ? reach - MAIN_STACK_MARGIN : 0;
	birth->stack_low = birth->stack_high - reach;
}
