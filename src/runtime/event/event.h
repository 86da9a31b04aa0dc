/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed events (weft/event.h) from the inside.
 *
 *   event_type.c   what types there are       event_clock.h  the TSC, or CLOCK_MONOTONIC
 *   event.c        begin, end, filters        event_put.c    an event into the ring
 *   event_entry.c  where a caller's registers are kept, for its stack
 *   event_stack.c  that stack (libweft.so)    event_span.c   spans with a clock
 *   events_ring.h  the ring, and its books
 *
 * In a process with two copies of the runtime all of it is the master's (copies.h): the types, and
 * the rows that they point to.
 *
 * Filters, in this order, each but the first with its counter: enabled, select, threshold,
 * throttle. What they leave out was never attempted: it is in no book of the ring.
 *
 * A thread's commits and open contexts are words of its slot. Handlers of the program commit and
 * open contexts too, between any two instructions of ours: so each change is one instruction.
 * What begin remembers is the sum of commits and outside.samples, modulo 2^64: a coroutine takes
 * that sum along (event_state), so it does not matter on which thread it goes on.
 */
#ifndef WEFT_RUNTIME_EVENT_H
#define WEFT_RUNTIME_EVENT_H

#include <weft/event.h>

#include "runtime/core/runtime.h"

/* What a caller's registers were as it called: event_entry.c fills it in, by these offsets. */
struct weft_event_caller {
#if defined(__x86_64__)
	uint64_t rbx, rbp, r12, r13, r14, r15;
#else
	uint64_t x19_x29[11];
#endif
	uint64_t sp; /* as it is after the return */
	uint64_t pc; /* within the instruction of the call */
};

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
/* The other copy's; NULL: this one does it. Set once, in the constructor. */
extern const struct weft_event_v1 *weft_event_master;

/* event_type.c */
const struct weft_event_row *weft_event_enrol_own(struct weft_event_type *type);
/* The rows of all types, into a session that has just begun. Async-signal-safe. */
void weft_event_types_replay(void);

/* event_entry.c goes on here. */
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

/* event_put.c: what is to be written, and nothing leaves it out any more. */
struct weft_event_put {
	const struct weft_event_type *type;
	uint64_t begin, end;
	uint16_t flags; /* WEFT_EVENT_IN_TSC or 0 */
	const struct weft_event_value *values;
	size_t count;
	const struct weft_event_caller *caller; /* NULL: no stack */
};
/* 1: it is in the ring. @slot: NULL, or the private one: it is counted, and gone. */
int weft_event_write(struct weft_slot *slot, const struct weft_event_put *put);

/*
 * event_stack.c, by way of weft_rt.take_event_stack (NULL in libweft.a): the caller's stack, as
 * struct weft_event_stack and what follows it, to @to. Returns how many bytes; 0: not to be had.
 */
uint32_t weft_event_stack_take(struct weft_slot *slot, const struct weft_event_caller *caller,
			       uint8_t *to, uint32_t room);

#pragma GCC visibility pop

/* One instruction, so that nothing that a handler counts in between is lost. */
static inline void weft_event_add(uint64_t *word, uint64_t amount)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(amount) : "memory", "cc");
#else
	__atomic_fetch_add(word, amount, __ATOMIC_RELEASE);
#endif
}

/* A slot of the session? Not that of a forked child that has none yet. */
static inline int weft_event_is_counted(const struct weft_slot *slot)
{
	return slot && slot->thread.generation;
}

/* On the thread itself, or without a slot in the header. */
static inline void weft_event_count(struct weft_slot *slot, enum weft_counter counter)
{
	if (LIKELY(weft_event_is_counted(slot)))
		weft_event_add(&slot->counters[counter], 1);
	else
		weft_rt_count(counter, 1);
}

/* The sum that begin remembers. */
static inline uint64_t weft_event_commits(const struct weft_slot *slot)
{
	return __atomic_load_n(&slot->events.commits, __ATOMIC_RELAXED) +
	       __atomic_load_n(&slot->outside.samples, __ATOMIC_RELAXED);
}

/* Is the thread in a context: a contextual event is open, or a span is set? */
static inline int weft_event_has_context(const struct weft_slot *slot)
{
	return (__atomic_load_n(&slot->events.open_contexts, __ATOMIC_RELAXED) |
		__atomic_load_n(&slot->context.span_id, __ATOMIC_RELAXED)) != 0;
}

/* What goes with a coroutine, and into a forked child. */
struct weft_event_state {
	uint64_t commits; /* the sum */
	uint64_t open_contexts;
};

static inline struct weft_event_state weft_event_state_of(const struct weft_slot *slot)
{
	return (struct weft_event_state){
		.commits = weft_event_commits(slot),
		.open_contexts = __atomic_load_n(&slot->events.open_contexts, __ATOMIC_RELAXED)};
}

/* The thread's state and @state change places. What is committed meanwhile by a handler, or seen
 * from outside, belongs to the one that comes or to the one that goes, and is not lost. */
static inline void weft_event_state_swap(struct weft_slot *slot, struct weft_event_state *state)
{
	uint64_t outside = __atomic_load_n(&slot->outside.samples, __ATOMIC_RELAXED);
	uint64_t commits = __atomic_load_n(&slot->events.commits, __ATOMIC_RELAXED);
	uint64_t open = __atomic_load_n(&slot->events.open_contexts, __ATOMIC_RELAXED);

	weft_event_add(&slot->events.commits, state->commits - outside - commits);
	weft_event_add(&slot->events.open_contexts, state->open_contexts - open);
	state->commits = commits + outside;
	state->open_contexts = open;
}

/* Into a slot that is no other's yet. */
static inline void weft_event_state_copy(struct weft_slot *to, const struct weft_slot *from)
{
	struct weft_event_state state = weft_event_state_of(from);

	to->events.commits = state.commits - to->outside.samples;
	to->events.open_contexts = state.open_contexts;
}

#endif
