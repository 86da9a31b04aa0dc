/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines in the target: internals of weft/coro_carry.h. Where their labels lie: coro_blocks.c;
 * how a thread shows them: label_switch.c.
 *
 * A coroutine's words lie in its struct weft_coro. `context` is whichever is not on a thread at the
 * moment: while it is suspended, its own; while it runs, the one that the thread had before.
 *
 * Coroutines that run on one thread, each resumed while the one before ran, form a chain: the
 * slot's events.coroutine_at is the newest, `outer` the one before it. If one leaves from the
 * middle (a scheduler that calls resume(b), then suspend(a)), its context is held by the next newer
 * one.
 *
 * Only writer: the thread that runs the coroutine. Handlers read the slot only.
 */
#ifndef WEFT_RUNTIME_CORO_CARRY_H
#define WEFT_RUNTIME_CORO_CARRY_H

#include <weft/coro_carry.h>

#include "runtime/core/runtime.h"
#include "runtime/event/event.h"

enum coro_phase {
	CORO_UNKNOWN = 0, /* created before this copy of libweft was loaded */
	CORO_SUSPENDED = 1,
	CORO_RUNS = 2,
	CORO_SLOTLESS = 3, /* runs on a thread without slot: there is nothing to exchange */
	CORO_GONE = 4,
};

/* What station->context holds already. */
struct coro_told {
	uint64_t span_id, root_span_id, trace_id[2];
	uint64_t trace_flags;
	uint64_t labels; /* place and generation of the labels, mixed */
};

/* Which store the context shows; any other value is the address of a block's. */
enum coro_store { CORO_STORE_THREAD = 0, CORO_STORE_SPARE = 1 };

/* A whole context that is not on a thread. */
struct coro_context {
	struct weft_context_words words;
	uint64_t store; /* enum coro_store */
	/* if the store is the thread's spare one: the scopes entered in it */
	uint64_t scopes_number;
	uint32_t scopes_saved;
	uint32_t rsv;
	struct weft_event_state
		events; /* contextual events that are open, and what was committed */
};

struct coro_words {
	uint32_t phase; /* enum coro_phase */
	uint32_t era;   /* generation of forks in which it runs */
	struct coro_context context;
	uint64_t block; /* its struct weft_label_store; 0 = no block yet */
	uint64_t outer; /* struct weft_coro * */
	uint64_t slot;  /* of the thread on which it runs */
	uint64_t slot_generation;
	struct coro_told told;
	uint64_t rsv[WEFT_CORO_CARRY_WORDS - 29];
};

_Static_assert(sizeof(struct coro_words) == WEFT_CORO_CARRY_WORDS * 8, "words of a coroutine");

static inline struct coro_words *weft_coro_words(struct weft_coro *coro)
{
	return (struct coro_words *)(void *)coro->carry;
}

extern const struct weft_coro_carry_v1 weft_coro_carry_own __attribute__((visibility("hidden")));

/* Before a label is set: allocates a block for a coroutine without one. If there is no memory, its
 * store stays the spare one, which has no room for labels. */
void weft_coro_own_block(struct weft_slot *slot);

/* Into a slot that has no owner yet: a forked child inherits the running coroutine. */
void weft_coro_copy(struct weft_slot *to, const struct weft_slot *from);
void weft_coro_after_fork(void);

/* coro_tell.c */
struct weft_switch_context;
void weft_coro_write_event(struct weft_coro *coro, const struct weft_switch_context *seen);
void weft_coro_write_station(struct weft_coro *coro, const struct weft_slot *slot,
			     const struct weft_switch_context *seen);

#endif
