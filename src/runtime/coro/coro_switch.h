/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs and waits of coroutines, written to the thread's events ring while a recording is on (struct
 * weft_switch_record). Called by coro_carry.c in every copy of the runtime; only in the one that
 * has the session is anything on.
 *
 * The context written is the one that the slot shows: so a wait is written once the coroutine's
 * context is on the thread, and a run before it leaves. No system call, no allocation, no lock. An
 * event that finds no room is counted and lost; nothing waits for the collector.
 */
#ifndef WEFT_RUNTIME_CORO_SWITCH_H
#define WEFT_RUNTIME_CORO_SWITCH_H

#include <weft/coro_carry.h>

#include "base/context_snapshot.h"
#include "runtime/context/labels.h"

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

/* @slot: the calling thread's, whose context is written; NULL: it could get none. */
void weft_switch_put(struct weft_slot *slot, const struct weft_switch *interval);
/* The same with @context. */
void weft_switch_put_of(struct weft_slot *slot, const struct weft_switch *interval,
			const struct weft_switch_context *context);

/* The wait that ends, for weft_coro_carry_v1.resume(), after the context was exchanged. */
static inline void weft_switch_wait(struct weft_slot *slot, const struct weft_coro *coro,
				    uint64_t now_ns)
{
	uint64_t woken_ns = load_relaxed(&coro->woken_ns);
	int is_first = coro->state == WEFT_CTP_CREATED;
	int is_woken = woken_ns && woken_ns >= coro->last_ns && woken_ns <= now_ns;
	struct weft_switch interval = {
		.begin_ns = coro->last_ns,
		.end_ns = now_ns,
		.coroutine = coro->id,
		.addr = is_first ? 0 : coro->last_addr,
		.woken_ns = is_woken ? woken_ns : 0,
		.flags = (uint16_t)((is_first ? WEFT_SWITCH_FIRST : 0) |
				    (is_woken ? WEFT_SWITCH_WOKEN : 0)),
	};

	if (weft_switch_is_on())
		weft_switch_put(slot, &interval);
}

/* The run that ends, for .suspend(), or for .destroy() of a running one (@is_last). Before the
 * context is exchanged, with @context NULL; else with the one that it had. */
static inline void weft_switch_run(struct weft_slot *slot, const struct weft_coro *coro,
				   uint64_t now_ns, int is_last,
				   const struct weft_switch_context *context)
{
	struct weft_switch interval = {
		.begin_ns = coro->last_ns,
		.end_ns = now_ns,
		.coroutine = coro->id,
		.flags = WEFT_SWITCH_RUN,
	};

	if (is_last || coro->flags & WEFT_CORO_ENDS)
		interval.flags |= WEFT_SWITCH_LAST;
	else
		interval.addr = coro->last_addr;
	if (!weft_switch_is_on())
		return;
	if (context)
		weft_switch_put_of(slot, &interval, context);
	else
		weft_switch_put(slot, &interval);
}

/* The wait that nothing ends any more, for .destroy() of a suspended one. */
static inline void weft_switch_gone(struct weft_slot *slot, const struct weft_coro *coro,
				    uint64_t now_ns, const struct weft_switch_context *context)
{
	int is_first = coro->state == WEFT_CTP_CREATED;
	struct weft_switch interval = {
		.begin_ns = coro->last_ns,
		.end_ns = now_ns,
		.coroutine = coro->id,
		.addr = is_first ? 0 : coro->last_addr,
		.flags = (uint16_t)(WEFT_SWITCH_LAST | (is_first ? WEFT_SWITCH_FIRST : 0)),
	};

	weft_switch_put_of(slot, &interval, context);
}

#endif
