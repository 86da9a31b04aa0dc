/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session as the drain thread sees it: makes the memfd, drains its rings, closes the books
 * of slots whose threads have ended, and keeps the sums of all counters.
 *
 * The other side of the mapping is not trusted: the layout used is the private copy in
 * struct process, every state word is read once, every record is copied before it is
 * looked at. What a hostile target can reach is its own recording.
 *
 *   session.c         the memfd: made, mapped, closed
 *   session_drain.c   slots, one after the other
 *   session_rings.c   records out of rings
 *   session_sound.c   is a record what it must be?
 *   session_books.c   written = delivered + lost + pending
 *   session_tidy.c    threads that went without a word; memory of free slots
 *   session_account.c last readings of CPU clocks
 *   session_events.c  typed events, and their settings
 *   session_attach.c  a session that ran before
 *   session_private.h what these share
 *   attach.c          that session, found
 *   event_types.c     types, and shapes of events
 *   settings_text.c   settings as text
 *   tsc_clock.c       TSC ticks as CLOCK_MONOTONIC
 */
#ifndef WEFT_COLLECTOR_SESSION_H
#define WEFT_COLLECTOR_SESSION_H

#include "collector/look/account.h"
#include "collector/process/order.h"
#include "collector/process/process.h"
#include "collector/process/queue.h"
#include "collector/session/session_events.h"

struct session_settings {
	uint64_t period_ns;
	uint32_t engines;    /* enum weft_engine; 0 = cpu */
	uint32_t ring_bytes; /* of each of a slot's two rings; 0 = default */
	uint32_t stack_mode, stack_copy_bytes;
	uint64_t tables_bytes; /* of the table memfd; 0 = there is none */
	uint32_t prime_signal; /* 0 = none is to be used */
	uint32_t tick_signal;  /* SIGWINCH, else (0) SIGPROF */
	uint32_t clock;        /* enum weft_clock_choice */
	int32_t clock_error;   /* known before: why there are no hrtimers; 0 = none is known */
	struct event_options events;
	const char *socket; /* where the collector listens; NULL = not told */
	int tell_children;  /* of that, those without it in their environment */
};

struct slot_reader; /* what the collector remembers of a slot */

struct session {
	struct session *next;
	struct process *process; /* only what is constant or atomic once BATCH_OPEN is queued */
	int memfd, pidfd;
	struct slot_reader *readers; /* [slot_count], sparse */
	size_t readers_bytes;
	uint32_t touched; /* slots whose first pages are there already */
	uint64_t open_threads;
	struct session_counts closed;       /* of slots whose books are closed */
	uint64_t invalid;                   /* samples refused */
	uint64_t events_invalid;            /* records of events rings refused */
	uint64_t mistimed, events_mistimed; /* likewise, because of their times */
	uint64_t judged_ns;                 /* a reading of the clock that records were judged by */
	uint64_t (*clock)(void);            /* a test's; NULL: CLOCK_MONOTONIC */
	uint64_t drained_ns;                /* when all slots were looked at */
	uint64_t pass_ns;                   /* the most time of a pass */
	uint32_t round;                     /* of the drain thread's: when it was drained last */
	uint32_t sweep_next, fresh_next;    /* slot, word of marks: where the next pass goes on */
	int is_sweeping;            /* the last pass was for slots that are not marked, too */
	uint64_t tidied_ns, reaped; /* session_tidy() */
	uint32_t tidy_next;         /* slot */
	struct session_events events;
	struct event_options event_options;
	struct account_words ended; /* threads, of this pass: session_account.c */
	int has_twin;               /* a second runtime of the process has asked for a session */
	int is_stranger;            /* the process does not know of it (attach.h) */

	/* Of a session that was attached to (attach.h). */
	int attached;
	uint32_t attach_number;
	struct session_counts before; /* what earlier recordings counted there */
	uint64_t ordered_ns;          /* when the newest order was queued; 0 = not yet */
	uint64_t checked_ns;          /* when it was last seen to have the session still */
	int is_expected;              /* it has exec'ed a program that is to join by itself */
	struct order_search search;   /* for a thread to order */
};

/* Make the memfd for process @p, as big as its limits allow, and fill the header. Takes over
 * nothing. 0 and *out, or -errno. */
int session_new(struct session **out, struct process *p, const struct session_settings *settings);

/* Touch the control page and each ring's first page of the next few slots, so that their first use
 * costs the target no page allocation. Each pass does; when a session is new, so does who has
 * answered the process, which waits for that. */
void session_touch_ahead(struct session *s);

/* Frees what belongs to the drain thread; the mapping belongs to the process. */
void session_free(struct session *s);

/* A pass ends when it has taken so long, and the next one goes on there: what joins or ends is not
 * kept waiting, and no ring waits for thousands of others. */
#define SESSION_PASS_NS UINT64_C(20000000)

struct drain_result {
	int unfinished;           /* the pass has ended early: another should follow at once */
	uint32_t fill_permille;   /* of the fullest ring */
	uint32_t largest;         /* record, bytes */
	uint64_t samples, events; /* events: of all kinds */
};

enum drain_mode {
	DRAIN_RUNNING = 0,
	DRAIN_STOPPED, /* the recording ends, the process lives on: the queue takes everything */
	DRAIN_GONE,    /* the process is gone: whatever is not FREE is drained and closed */
};

/* One pass: what is new in the rings goes to @q. In DRAIN_RUNNING only while @q has room, for a
 * bounded time, and only from slots that the target has marked, but every two seconds from all. */
struct drain_result session_drain(struct session *s, struct queue *q, enum drain_mode mode);

/* Takes back slots of threads that ended without a word, and, a few at a time, the memory of slots
 * that are not used. */
void session_tidy(struct session *s, uint64_t now_ns);

/* Queues the last reading of the process's CPU clock: what it stored as it ended, or what the
 * kernel still tells of it. */
void session_account_last(struct session *s, struct queue *q);

/* Sums as of now. */
void session_count(struct session *s, struct session_counts *out);

/* Tell the target: timers disarm at their next tick. */
void session_stop(struct session *s);
/* Tell it that nobody drains any more: its threads free their own slots. */
void session_leave(struct session *s);
/* Tell it that the file is complete, and wake it; @h is a mapping of its first page. */
void session_done_at(struct weft_session_header *h);
int session_has_map(const struct session *s); /* can its handlers walk? */
int session_is_dead(const struct session *s); /* by its pidfd */
/* Is the target waiting for session_done_at()? */
int session_is_exiting(const struct session *s);

void session_set_budget(struct session *s, uint32_t timers);
uint32_t session_timers(const struct session *s); /* armed now, as the target says */

#endif
