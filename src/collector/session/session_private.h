/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files session*.c alone. */
#ifndef WEFT_COLLECTOR_SESSION_PRIVATE_H
#define WEFT_COLLECTOR_SESSION_PRIVATE_H

#include "collector/session/session.h"

/* One of its rings. */
struct ring_tally {
	uint64_t tail;
	uint64_t delivered, refused, stolen; /* since the slot was FREE */
};

/* What the collector remembers of a slot: positions live here, not in shared memory. */
struct slot_reader {
	struct batch_thread who;    /* whose books these are; generation 0 = nobody's yet */
	uint64_t closed_generation; /* the newest whose books are closed */
	struct ring_tally samples, events;
	uint64_t named_ns, name_pause_ns;
	uint32_t reaped;    /* its thread, or one before, was found gone */
	uint32_t idle;      /* was FREE when it was looked at */
	uint32_t announced; /* a batch of it was queued */
};

/* One pass over a session's slots. */
struct pass {
	struct session *session;
	struct queue *queue;
	int last;
	int is_working; /* something was done since the clock was read */
	int is_ending;  /* the slot's thread has ended: it waits to be given back */
	uint64_t now_ns;
	struct drain_result result;
};

/* In session_rings.c. What is new in both rings of a slot that is held, or in DRAINING, to the
 * queue; 0: the queue would not take any more of one of them, which is left as it is. */
int session_drain_rings(struct pass *pass, uint32_t index, struct weft_slot *slot);
/* Is there nothing new in either? */
int session_rings_are_empty(const struct slot_reader *reader, const struct weft_slot *slot);
/* Tells the worker that the thread which had the slot has ended, if it has heard of it. */
void session_end_thread(const struct pass *pass, uint32_t index);

/* In session_account.c. What the thread that had the slot stored there at its end; zeros of a slot
 * that has another owner by now. */
struct slot_words session_last_words(const struct session *s, uint32_t index);
/* Notes the CPU time of a thread that the worker has not heard of; tells what was noted. */
void session_account_end(struct session *s, int32_t tid, uint64_t cpu_ns);
void session_account_tell(struct session *s, struct queue *q, uint64_t now_ns);

/* The clock, or a test's. */
uint64_t session_now(const struct session *s);

/* In session_sound.c. What is wrong with a record? All that later readers rely on is checked. */
enum record_fault fault_of_sample(const struct weft_record *record, struct session *s);
/* Of a switch or an event; also fills in what stands before it. */
enum record_fault fault_of_event(struct checked_event *event, struct session *s);
/* Can something that was read just now have that time? */
enum record_fault fault_of_time(uint64_t time_ns, struct session *s);

/* In session.c. Of @p, with no memory yet; NULL: out of memory. */
struct session *session_of(struct process *p);
/* Map the memfd, whose layout is known, and make room for readers. 0 or -ENOMEM. */
int session_map(struct session *s);
/* What every recording has in the header: the clocks of this moment, and the settings. */
void session_write_settings(struct session *s, const struct session_settings *settings);

void session_mark(struct session *s, uint32_t index); /* it is looked at in the next pass */

/* Changes the state word from the one that was seen. 0: somebody else changed it first. */
int session_state_changes(struct session *s, uint32_t index, uint64_t from, uint64_t to);
/* Sets it FREE, and its bit where threads look for a slot. */
void session_free_slot(struct session *s, uint32_t index, uint64_t from);
/* Gives back the memory of the slot from byte @from on. */
void session_punch(struct session *s, uint32_t index, uint32_t from);

/* Sets all of its counters to zero: the slot is in DRAINING, and nobody else's. */
void session_wipe_books(struct weft_slot *slot);

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
