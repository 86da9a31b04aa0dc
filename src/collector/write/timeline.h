/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the samples and events of a thread into the order of time.
 *
 * A span is a stretch of consecutive samples (stretch.h), so their order decides in which span they
 * are. But they come by several ways: those of the thread's own handler when its ring is drained
 * (every 100 ms at the latest), those from outside at once, how long a stay lasted at the next look
 * (up to a second later), and events, which count as samples at their end, by a ring of their own.
 *
 * So each waits here until nothing older can come any more. This is judged by the newest time that
 * any item had, not by the clock: a worker that lags takes everything late. What comes too late
 * all the same is written with a later time, behind what was written already, and with its own
 * context. When more waits than memory is allowed for, all of it is written at once. A thread that
 * has ended stays for a while, for the wall engine notices later. Only while memory is scarce, and
 * rings are held back, can a thread's own sample come when its end was told from outside and it is
 * gone: then it has a second life in the file.
 *
 * Used by the worker, with the wall engine and for processes that have typed events; else samples
 * come in order.
 */
#ifndef WEFT_COLLECTOR_TIMELINE_H
#define WEFT_COLLECTOR_TIMELINE_H

#include "collector/process/wall_word.h"
#include "collector/write/recording.h"

/* The drain thread's longest pause, and what a busy machine adds to it. */
#define TIMELINE_WAIT_NS UINT64_C(300000000)

enum timeline_kind {
	ITEM_SAMPLE, /* of the thread's own */
	ITEM_WORD,   /* from outside; a sample may have come with it */
	ITEM_EVENT,
};

/* Const while it waits. */
struct timeline_item {
	struct timeline_item *next;
	uint64_t time_ns; /* by which items are ordered */
	uint32_t refs, bytes;
	uint8_t kind;          /* enum timeline_kind */
	uint8_t has_sample;    /* else it is zeros */
	struct wall_word word; /* of ITEM_WORD; else zeros */
	union {
		struct recorded_sample sample;
		struct recorded_event event; /* of ITEM_EVENT */
	};
	struct recording_trace trace;
	struct weft_jfr_frame frame[];
};

/* A thread that is blocked: of recording_wall.c. */
struct thread_stay {
	struct timeline_item *item; /* its first sample; NULL = there is no stay */
	uint64_t time_ns;           /* of the event to come */
	uint64_t end_ns;            /* so long the thread is known to be there */
	uint32_t samples;           /* that no event tells yet */
	uint8_t is_newest;          /* nothing else of the thread was written after its beginning */
	uint8_t is_split;           /* an event of it was written: the next needs another time */
	uint8_t is_apart;           /* the event to come needs a span for itself */
};

/* How a thread's time was spent: of recording_time.c. */
enum time_place { TIME_RUNNING, TIME_WAITING, TIME_BLOCKED, TIME_PLACES };
struct thread_time {
	uint64_t due_ns[TIME_PLACES];  /* by the kernel's account */
	uint64_t seen_ns[TIME_PLACES]; /* by the samples in the file */
	uint64_t due_told_ns[TIME_PLACES], seen_told_ns[TIME_PLACES]; /* in rows, of both */
	struct wall_word account;                                     /* the newest */
	int is_known, is_partial; /* there is an account; samples were left out */
};

struct timeline {
	struct timeline *next; /* of those with something to do */
	struct process *process;
	struct process_thread *thread;
	struct timeline_item *first, *last; /* in order of time */
	struct timeline_item *hint;         /* put in last; NULL = it is written */
	struct timeline_item *newest;       /* written: the thread's newest sample; or NULL */
	struct timeline_item *own;          /* the newest of its own handler's; or NULL */
	struct thread_stay stay;
	struct thread_time time;
	struct wall_word early; /* waits for a CPU, told before there was any sample */
	uint64_t told_ns;       /* time of the newest word: words stay in their own order */
	uint64_t ended_ns;      /* 0 = the thread lives */
	int listed;
};

struct timelines {
	struct recording *recording;
	struct timeline *first;
	uint64_t now_ns;   /* the newest time seen */
	uint64_t swept_ns; /* when the threads were gone through */
	size_t bytes;      /* of all items that wait */
	size_t limit;      /* of that: what is above does not wait any longer; 0 = none */
};

/* Takes over @item of @t. 0; -ENOMEM, as for NULL. */
int timeline_put(struct timelines *all, struct process *p, struct process_thread *t,
		 struct timeline_item *item);

/* The thread has ended: it is written and dropped when nothing of it can come any more. */
void timeline_end(struct timelines *all, struct process *p, struct process_thread *t,
		  uint64_t now_ns);

/* Writes what has waited long enough by @now_ns, or by the newest item. Only now and then, but
 * @at_once. */
void timelines_advance(struct timelines *all, uint64_t now_ns, int at_once);

/* Writes everything of @p, which is over. */
void timelines_close(struct timelines *all, struct process *p);

/* An item, held once, with copies of all that it is made of; NULL: out of memory. Of an event,
 * whose turn is its end; or a sample. @word NULL: of the thread's own; else it is what came from
 * outside, and @sample is NULL unless one follows that. */
struct timeline_item *timeline_item_of_event(const struct recorded_event *event,
					     const struct recording_trace *trace);
struct timeline_item *timeline_item_new(const struct recorded_sample *sample,
					const struct recording_trace *trace,
					const struct wall_word *word);
void timeline_keep(struct timeline_item *item);
void timeline_drop(struct timeline_item *item); /* takes NULL */

#endif
