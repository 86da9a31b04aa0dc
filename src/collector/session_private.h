/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by session.c, session_drain.c and session_books.c alone. */
#ifndef WEFT_COLLECTOR_SESSION_PRIVATE_H
#define WEFT_COLLECTOR_SESSION_PRIVATE_H

#include "collector/session.h"

/* What the collector remembers of a slot: positions live here, not in shared memory. */
struct slot_reader {
	uint64_t generation;        /* whose books these are; 0 = nobody's yet */
	uint64_t closed_generation; /* the newest whose books are closed */
	uint64_t tail;
	uint64_t delivered, refused, stolen; /* since the slot was FREE */
	uint64_t claimed_ns, named_ns, name_pause_ns;
	int32_t tid;
	uint64_t tid_start; /* 0 = not looked at yet */
	uint32_t reaped;    /* its thread, or one before, was found gone */
	uint32_t idle;      /* was FREE when it was looked at */
	uint32_t announced; /* a batch of it was queued */
	char name[64];
};

/* Touch the control page and each ring's first page of the next few slots, so that their
 * first use costs the target no page allocation. */
void session_touch_ahead(struct session *s);

uint32_t session_slots_high(const struct session *s); /* as far as it can be believed */

/* From a word that was seen to another; 0: somebody came in between. */
int session_state_changes(struct session *s, uint32_t index, uint64_t from, uint64_t to);
void session_free_slot(struct session *s, uint32_t index, uint64_t from); /* and its hint */
void session_punch(struct session *s, uint32_t index, uint32_t from);     /* up to its end */

/* Start time of a thread of the process, clock ticks; 0: there is none. */
uint64_t session_thread_start(const struct process *p, int32_t tid);

/* How the life of a slot ended: what may be left in a thread's hands. */
enum slot_end {
	END_RELEASED, /* by the thread itself: nothing */
	END_KILLED,   /* at any step: one sample of a handler */
	END_OPENING,  /* before it began: all that was left to a thief */
};

/* Add a slot's books to s->closed, check that they balance, and wipe them: the slot is ours. */
void session_close_books(struct session *s, uint32_t index, struct weft_slot *slot,
			 enum slot_end end);

#endif
