/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches, in order, from one thread to another, under a mutex. There are three queues: from the
 * drain thread and the outside thread to the walker, from the walker to the worker, and, without a
 * limit, from the drain thread to the outside thread.
 *
 * Batches that open, close and count always get in; samples only while the queue is below
 * its limit. The walker waits for room (queue_wait()), so a worker that lags (a slow disk,
 * DWARF of a big program) fills the second queue first, then the first. The drain thread never
 * waits: as room becomes scarce it is left to the rings that are fullest (queue_fill_needed()), and
 * what is refused stays in its ring, where the target counts what no longer fits. So nothing is
 * lost without a count, and memory is bounded by the two limits.
 */
#ifndef WEFT_COLLECTOR_QUEUE_H
#define WEFT_COLLECTOR_QUEUE_H

#include <pthread.h>
#include <stddef.h>
#include <weft/abi/session.h>

struct process;

enum batch_kind {
	BATCH_OPEN,     /* a process has joined; no data */
	BATCH_SAMPLES,  /* data: records, checked, without pads */
	BATCH_WALKED,   /* the same, walked; data: struct walked_sample */
	BATCH_EVENTS,   /* switches of coroutines, and events; data: struct checked_event */
	BATCH_PLACED,   /* the same; data: struct walked_switch, struct walked_event (walking.h) */
	BATCH_TYPE,     /* of events; data: struct type_word (session_events.h) */
	BATCH_SETTINGS, /* more lines of settings, for the recording; no process */
	BATCH_WARNING,  /* for the recording, and whoever began it; data: text; no process */
	BATCH_WALL,     /* of the outside thread; data: struct wall_word (wall_word.h) */
	BATCH_WALL_WALKED, /* the same; where a sample followed, a struct walked_sample follows */
	BATCH_LOOKS,       /* of the outside thread; data: struct look_word (looks.h) */
	BATCH_THREAD_END,  /* no more samples of this slot and generation */
	BATCH_THREAD_GONE, /* of the outside thread, which has no more of it either */
	BATCH_ACCOUNT,     /* data: struct account_head, then struct account_word (account.h) */
	BATCH_COUNTS,      /* data: struct session_counts */
	BATCH_CLOSE,       /* the process is over; data: struct session_counts */
	BATCH_ROLL,        /* end the chunk; no process */
	BATCH_TICK,        /* periodic events are due; no process */
	BATCH_FINISH,      /* end the file; no process */
};

/* Before each record of BATCH_EVENTS, what was found out about it; of a switch nothing. */
struct checked_event {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t values_bytes;
	struct weft_record record[]; /* as it came, whole */
};

struct batch_thread {
	uint32_t slot;
	int32_t tid;
	uint64_t generation;
	uint64_t claimed_ns;
	uint64_t cpu_ns;   /* THREAD_END: its own last reading; 0 = it left none */
	uint64_t ended_ns; /* THREAD_END: when it took that */
	char name[64];
};

struct batch {
	struct batch *next;
	enum batch_kind kind;
	struct process *process;
	struct batch_thread thread;
	const char *end; /* CLOSE: RECORDING_END_... */
	uint64_t time_ns;
	size_t bytes;
	uint8_t data[] __attribute__((aligned(8)));
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	struct batch *first, **last;
	size_t bytes, limit;
};

int queue_init(struct queue *q, size_t limit); /* 0 or -errno */
void queue_destroy(struct queue *q);           /* frees what is left */

struct batch *batch_new(enum batch_kind kind, struct process *process, size_t bytes);
/* Gives back the memory behind the data, which the limit of a queue does not know of. */
struct batch *batch_trim(struct batch *b); /* takes NULL */
int queue_has_room(struct queue *q);
/* How full, in thousandths, a ring must be to be emptied now: 0 while half of the queue is free, up
 * to 500 as it fills: as a record may take a quarter of a ring, and as much as a pad before it,
 * one that is half full may be full. More than 1000: the queue has no room. */
uint32_t queue_fill_needed(struct queue *q);
void queue_push(struct queue *q, struct batch *b); /* takes it over; NULL is ignored */
void queue_wait(struct queue *q);                  /* until it has room */

/* The next batch, waited for; the caller frees it. NULL: none has come by @due_ns
 * (CLOCK_MONOTONIC), which may be QUEUE_FOREVER. */
#define QUEUE_FOREVER UINT64_MAX
struct batch *queue_pop_until(struct queue *q, uint64_t due_ns);
static inline struct batch *queue_pop(struct queue *q)
{
	return queue_pop_until(q, QUEUE_FOREVER);
}

#endif
