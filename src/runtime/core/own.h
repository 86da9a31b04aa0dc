/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread calls its own: its slot, and what the program believes its SIGPROF to be. Every
 * room reads and stores these words by the functions here, because libweft-late.so finds them in
 * another way:
 *
 *   libweft.so, .a    initial-exec TLS: a plain load, in handlers too
 *   libweft-late.so   TLSDESC. If the descriptor is static (its argument is the variable's distance
 *                     from the thread pointer, as found once at load), the words are read at that
 *                     distance, a plain load too. Else a first access may call malloc. Then the
 *                     words are in the thread's seat (seats.c), a private hash over thread
 *                     pointers, and the TLS variable is only what context writes read first. It is
 *                     accessed outside our handlers, and its address kept in the seat, so that a
 *                     handler can store there.
 *
 * Only the owning thread stores its words. Async-signal-safe except for weft_slot_show().
 */
#ifndef WEFT_RUNTIME_OWN_H
#define WEFT_RUNTIME_OWN_H

#include <stdint.h>

#include <weft/context.h>

#include "base/atomic.h"
#include "base/thread_pointer.h"

struct weft_belief {
	uint64_t with;       /* all that was blocked when SIGPROF was */
	uint64_t rsv;        /* a seat has a cache line of its own (seats.c) */
	int32_t own_view;    /* vfork child whose mask only the kernel knows; 0 = none */
	uint16_t is_blocked; /* does the program believe so? */
	uint16_t is_closed;  /* really blocked, and the timer stands still (mask.c) */
};

#ifndef WEFT_LATE

extern __thread struct weft_belief weft_thread_belief
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline struct weft_slot *weft_slot_mine(void)
{
	return weft_thread_slot;
}

static inline void weft_slot_put(struct weft_slot *slot)
{
	store_release(&weft_thread_slot, slot);
}

static inline int weft_slot_swap(struct weft_slot *expected, struct weft_slot *slot)
{
	return cas_acq_rel(&weft_thread_slot, &expected, slot);
}

/* Not in a handler: stores the slot where context writes read it. */
static inline void weft_slot_show(struct weft_slot *slot)
{
	weft_slot_put(slot);
}

/* The calling thread's words; NULL: it has none, or (@make) there is no room for them. */
static inline struct weft_belief *weft_belief_mine(int make)
{
	(void)make;
	return &weft_thread_belief;
}

/* Distance of the variable from the thread pointer if it is the same in all threads; else 0. */
static inline int64_t weft_slot_distance(void)
{
	return (char *)&weft_thread_slot - weft_thread_pointer();
}

static inline void weft_own_begin(void)
{
}

#else

#pragma GCC visibility push(hidden)
/* 0: not static. Set in the constructor, then read only. */
extern int64_t weft_own_slot_distance, weft_own_belief_distance;

struct weft_slot *weft_seat_slot(void);
void weft_seat_put(struct weft_slot *slot);
int weft_seat_swap(struct weft_slot *expected, struct weft_slot *slot);
void weft_seat_show(struct weft_slot *slot);
struct weft_belief *weft_seat_belief(int make);
void weft_own_begin(void); /* in the constructor, before anything is begun */
#pragma GCC visibility pop

static inline struct weft_slot **weft_slot_place(void)
{
	return (struct weft_slot **)(void *)(weft_thread_pointer() + weft_own_slot_distance);
}

static inline struct weft_slot *weft_slot_mine(void)
{
	if (__builtin_expect(weft_own_slot_distance != 0, 1))
		return load_relaxed(weft_slot_place());
	return weft_seat_slot();
}

static inline void weft_slot_put(struct weft_slot *slot)
{
	if (weft_own_slot_distance)
		store_release(weft_slot_place(), slot);
	else
		weft_seat_put(slot);
}

static inline int weft_slot_swap(struct weft_slot *expected, struct weft_slot *slot)
{
	if (!weft_own_slot_distance)
		return weft_seat_swap(expected, slot);
	return cas_acq_rel(weft_slot_place(), &expected, slot);
}

static inline void weft_slot_show(struct weft_slot *slot)
{
	if (weft_own_slot_distance)
		weft_slot_put(slot);
	else
		weft_seat_show(slot);
}

static inline struct weft_belief *weft_belief_mine(int make)
{
	if (weft_own_belief_distance)
		return (struct weft_belief *)(void *)(weft_thread_pointer() +
						      weft_own_belief_distance);
	return weft_seat_belief(make);
}

static inline int64_t weft_slot_distance(void)
{
	return weft_own_slot_distance;
}

#endif
#endif
