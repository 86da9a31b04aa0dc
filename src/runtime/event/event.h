/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed events (weft/event.h), internals.
 *
 *   event_type.c   what types there are       event_clock.h  the TSC, or CLOCK_MONOTONIC
 *   event.c        begin, end, filters        event_put.c    an event into the ring
 *   event_entry.c  keeps a caller's registers, for its stack
 *   event_stack.c  that stack (libweft.so)    event_span.c   spans with a clock
 *   events_ring.h  the ring, and its books
 *
 * In a process with two copies of the runtime the master does all of it (copies.h): it owns the
 * types, and the rows that they point to.
 *
 * Filters, in this order, each but the first with its counter: enabled, select, threshold,
 * throttle. An event that they leave out was never attempted, and is not in the ring's books.
 *
 * A thread's commits and open contexts are words of its slot. Handlers of the program commit and
 * open contexts, too, between any two of our instructions: so each change is one instruction. What
 * begin remembers is the sum of commits and outside.samples, modulo 2^64; a coroutine takes that
 * sum along (event_state), so that it may go on on another thread.
 */
#ifndef WEFT_RUNTIME_EVENT_H
#define WEFT_RUNTIME_EVENT_H

#include <weft/event.h>

#include "runtime/core/runtime.h"

/* What one copy does for another. @caller: NULL where no stack is wanted. */
struct weft_event_v1 {
	uint32_t size; /* fields are appended, never changed */
	uint32_t rsv;
	const struct weft_event_row *(*enrol)(struct weft_event_type *type);
	void (*begin)(struct weft_event *event, struct weft_event_type *type);
	void (*end)(struct weft_event *event);
	int (*should_commit)(struct weft_event *event);
	int (*put)(struct weft_event *event, const struct weft_event_value *values, size_t count,
		   const struct weft_event_caller *caller);
	void (*cancel)(struct weft_event *event);
	int (*put_now)(struct weft_event_type *type, const struct weft_event_value *values,
		       size_t count, const struct weft_event_caller *caller);
	int (*put_at)(struct weft_event_type *type, uint64_t begin_ns, uint64_t end_ns,
		      const struct weft_event_value *values, size_t count,
		      const struct weft_event_caller *caller);
	void (*span_begin)(struct weft_span *span, const char *name, uint64_t span_id,
			   uint64_t root_span_id);
	int (*span_end)(struct weft_span *span);
};

#pragma GCC visibility push(hidden)

extern const struct weft_event_v1 weft_event_own;
/* The master's functions; NULL: this copy has no master. Set once, in the constructor. */
extern const struct weft_event_v1 *weft_event_master;

/* event_type.c */
const struct weft_event_row *weft_event_enrol_own(struct weft_event_type *type);
/* Logs the rows of all types to a session that has just begun. Async-signal-safe. */
void weft_event_types_replay(void);

/* Called by event_entry.c. */
int weft_event_put_from(struct weft_event *event, const struct weft_event_value *values,
			size_t count, const struct weft_event_caller *caller);
int weft_event_put_now_from(struct weft_event_type *type, const struct weft_event_value *values,
			    size_t count, const struct weft_event_caller *caller);
int weft_event_put_at_from(struct weft_event_type *type, uint64_t begin_ns, uint64_t end_ns,
			   const struct weft_event_value *values, size_t count,
			   const struct weft_event_caller *caller);

/* event_span.c */
void weft_event_span_begin_own(struct weft_span *span, const char *name, uint64_t span_id,
			       uint64_t root_span_id);
int weft_event_span_end_own(struct weft_span *span);

/* event_put.c: an event that has passed all filters, as it is to be written. */
struct weft_event_put {
	const struct weft_event_type *type;
	uint64_t begin, end;
	uint16_t flags; /* WEFT_EVENT_IN_TSC or 0 */
	const struct weft_event_value *values;
	size_t count;
	const struct weft_event_caller *caller; /* NULL: no stack */
};
/* 1: written. @slot NULL, or the private one: the event is counted as lost. */
int weft_event_write(struct weft_slot *slot, const struct weft_event_put *put);

/*
 * event_stack.c, called by weft_rt.take_event_stack (NULL in libweft.a): writes the caller's stack
 * to @to, as struct weft_event_stack and what follows it. Returns the bytes; 0: no stack.
 */
uint32_t weft_event_stack_write(struct weft_slot *slot, const struct weft_event_caller *caller,
				uint8_t *to, uint32_t room);

#pragma GCC visibility pop

/* One instruction, so that a count by a handler in between is not lost. */
static inline void weft_event_add(uint64_t *word, uint64_t amount)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(amount) : "memory", "cc");
#else
	__atomic_fetch_add(word, amount, __ATOMIC_RELEASE);
#endif
}

/* 1: @slot belongs to the session; 0: a forked child's private one. */
static inline int weft_event_is_counted(const struct weft_slot *slot)
{
	return slot && slot->thread.generation;
}

/* In the slot, or in the header if the thread has none. */
static inline void weft_event_count(struct weft_slot *slot, enum weft_counter counter)
{
	if (LIKELY(weft_event_is_counted(slot)))
		weft_event_add(&slot->counters[counter], 1);
	else if (LIKELY(!weft_rt_is_unbegun_child())) /* that sees its parent's session */
		weft_rt_count(counter, 1);
}

/* The sum that begin remembers. */
static inline uint64_t weft_event_commits(const struct weft_slot *slot)
{
	return load_relaxed(&slot->events.commits) + load_relaxed(&slot->outside.samples);
}

/* Is the thread in a context: a contextual event is open, or a span is set? */
static inline int weft_event_has_context(const struct weft_slot *slot)
{
	return (load_relaxed(&slot->events.open_contexts) | load_relaxed(&slot->context.span_id)) !=
	       0;
}

/* The state that moves with a coroutine. */
struct weft_event_state {
	uint64_t commits; /* the sum */
	uint64_t open_contexts;
};

/* Exchanges the thread's state for @state. What a handler commits meanwhile, or is counted from
 * outside, belongs to one of the two, and is not lost. */
static inline void weft_event_state_swap(struct weft_slot *slot, struct weft_event_state *state)
{
	uint64_t outside = load_relaxed(&slot->outside.samples);
	uint64_t commits = load_relaxed(&slot->events.commits);
	uint64_t open = load_relaxed(&slot->events.open_contexts);

	weft_event_add(&slot->events.commits, state->commits - outside - commits);
	weft_event_add(&slot->events.open_contexts, state->open_contexts - open);
	state->commits = commits + outside;
	state->open_contexts = open;
}

/* Into a slot that has no owner yet. */
static inline void weft_event_state_copy(struct weft_slot *to, const struct weft_slot *from)
{
	to->events.commits = weft_event_commits(from) - to->outside.samples;
	to->events.open_contexts = load_relaxed(&from->events.open_contexts);
}

#endif
