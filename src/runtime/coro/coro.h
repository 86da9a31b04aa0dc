/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines inside the program: a coroutine's context moves with it from thread to thread, and
 * each switch is a record in the thread's events ring. Called by weft/coro.h's probe.
 *
 * Runs on the thread that resumes or suspends. A coroutine's words are touched only by the thread
 * that runs it; the thread's slot shows the context of whatever is running.
 *
 *   coro_carry.c   resume and suspend: contexts are exchanged
 *   coro_switch.c  runs and waits, into the ring
 *   coro_tell.c    the context in station and events
 *
 * Public header: weft/coro_carry.h. Where coroutines' labels lie: core/coro_blocks.c; how a thread
 * shows them: context/label_switch.c.
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
#ifndef WEFT_RUNTIME_CORO_ROOM_H
#define WEFT_RUNTIME_CORO_ROOM_H

#include <weft/coro_carry.h>

#include "base/context_snapshot.h"
#include "runtime/context/labels.h"
#include "runtime/core/sys.h"
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

/*
 * coro_switch.c: runs and waits of coroutines, written to the thread's events ring while a
 * recording is on (struct weft_switch_record). Called in every copy of the runtime; only in the one
 * that has the session is anything on.
 *
 * The context written is the one that the slot shows: so a wait is written once the coroutine's
 * context is on the thread, and a run before it leaves. No system call, no allocation, no lock. An
 * event that finds no room is counted and lost; nothing waits for the collector.
 */

/* An interval that has just ended on this thread. */
struct weft_switch {
	uint64_t begin_ns, end_ns; /* an end before the begin is written as the begin */
	uint64_t coroutine, addr, woken_ns;
	uint16_t flags; /* enum weft_switch_flag without TAGS */
};

/* Are switches being recorded? */
static inline int weft_switch_is_on(void)
{
	return weft_rt_is_ready() && weft_rt_run_state() == WEFT_RUN_RECORDING;
}

/* The context to be written: the thread's, or one that is not on a thread. */
struct weft_switch_context {
	enum weft_sample_context found;
	struct weft_context_snapshot ids;
	const struct weft_custom_labels_set *labels; /* NULL: none */
};

/* The context that @slot shows. */
static inline void weft_switch_read_context(const struct weft_slot *slot,
					    struct weft_switch_context *seen)
{
	seen->found = weft_context_snapshot(slot, &seen->ids);
	seen->labels = weft_labels_visible(slot);
}

/* @slot: the calling thread's; NULL: it could get none. @context NULL: the one that @slot shows. */
void weft_switch_put(struct weft_slot *slot, const struct weft_switch *interval,
		     const struct weft_switch_context *context);

/* The wait that ends, for weft_coro_carry_v1.resume(), after the context was exchanged. With
 * @context: the wait that nothing ends any more, for .destroy() of a suspended one. */
static inline void weft_switch_wait(struct weft_slot *slot, const struct weft_coro *coro,
				    uint64_t now_ns, const struct weft_switch_context *context)
{
	uint64_t woken_ns = context ? 0 : load_relaxed(&coro->woken_ns);
	int is_first = coro->state == WEFT_CTP_CREATED;
	int is_woken = woken_ns && woken_ns >= coro->last_ns && woken_ns <= now_ns;
	struct weft_switch interval = {
		.begin_ns = coro->last_ns + weft_time_shift(),
		.end_ns = now_ns + weft_time_shift(),
		.coroutine = coro->id,
		.addr = is_first ? 0 : coro->last_addr,
		.woken_ns = is_woken ? woken_ns + weft_time_shift() : 0,
		.flags = (uint16_t)((is_first ? WEFT_SWITCH_FIRST : 0) |
				    (is_woken ? WEFT_SWITCH_WOKEN : 0) |
				    (context ? WEFT_SWITCH_LAST : 0)),
	};

	if (weft_switch_is_on())
		weft_switch_put(slot, &interval, context);
}

/* The run that ends, for .suspend(), or for .destroy() of a running one (@is_last). Before the
 * context is exchanged, with @context NULL; else with the one that it had. */
static inline void weft_switch_run(struct weft_slot *slot, const struct weft_coro *coro,
				   uint64_t now_ns, int is_last,
				   const struct weft_switch_context *context)
{
	struct weft_switch interval = {
		.begin_ns = coro->last_ns + weft_time_shift(),
		.end_ns = now_ns + weft_time_shift(),
		.coroutine = coro->id,
		.flags = WEFT_SWITCH_RUN,
	};

	if (is_last || coro->flags & WEFT_CORO_ENDS)
		interval.flags |= WEFT_SWITCH_LAST;
	else
		interval.addr = coro->last_addr;
	if (weft_switch_is_on())
		weft_switch_put(slot, &interval, context);
}

/* coro_tell.c */
void weft_coro_write_event(struct weft_coro *coro, const struct weft_switch_context *seen);
void weft_coro_write_station(struct weft_coro *coro, const struct weft_slot *slot,
			     const struct weft_switch_context *seen);

#endif
