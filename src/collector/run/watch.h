/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drain thread: answers processes that join, as the door (door.h) hands them on, sees them
 * exec and end, drains all sessions often enough, keeps the budget of CPU timers, and says when
 * chunks end. It never waits for a target, nor for the worker.
 */
#ifndef WEFT_COLLECTOR_WATCH_H
#define WEFT_COLLECTOR_WATCH_H

#include "collector/look/outside.h"
#include "collector/run/collector.h"
#include "collector/run/door.h"
#include "collector/session/session.h"
#include "collector/walk/tables.h"
#include "collector/write/worker.h"

#define WATCH_WAITING_MAX 1024

struct map;

struct watch {
	struct queue *queue;
	struct worker *worker;
	struct outside *outside;
	const struct tables
		*tables;  /* of the walker: descriptor and size, which stay as they are */
	struct door door; /* its own thread's, but for callers and the list of processes */
	struct session_settings settings;
	struct tsc_clock clock;
	struct settings_text text; /* of events: what new processes begin with */
	struct session *first;
	int poll_fd;    /* epoll */
	int finish_fd;  /* eventfd: the recording is to end */
	int root_event; /* eventfd: see collector_root_fd() */
	pid_t root;     /* atomic; 0 = not known */
	int finishing;  /* atomic */
	int no_children;
	int max_pause_ms, pause_ms;
	int is_behind;         /* the last pass did not come to its end */
	uint32_t round;        /* of passes through all sessions, from 1 */
	uint64_t (*now)(void); /* a test's, for the time of passes; NULL: CLOCK_MONOTONIC */
	uint32_t largest,
		largest_before; /* largest record of late, and of the time before, bytes */
	uint64_t largest_ns;    /* when largest_before was set */
	uint64_t events_ns;     /* when events were last drained; 0 = never */
	uint64_t shared_ns;     /* when the budget of timers was shared */
	uint64_t chunk_ns, chunk_start_ns;
	uint32_t rolls;              /* BATCH_ROLLs sent: the worker takes them when it can */
	uint64_t joined_ns;          /* when the newest process did */
	uint32_t processes, running; /* atomic */
	uint64_t waiting_ns;         /* when processes were attached to; 0 = none were */
	uint32_t attach_waiting;     /* atomic: of these, whose threads did not run yet */
	int attach_error;            /* atomic: -errno of one that could not begin */
	uint32_t attach_execs; /* that have become other programs; once the thread has ended */

	/* Known once the thread has ended. */
	uint32_t refused; /* processes for which no session could be made */
	uint32_t gone;    /* likewise, as they were no more */
	struct map *refused_pids;
	int refused_error;
	struct weft_session_header *waiting[WATCH_WAITING_MAX]; /* headers of those that run on */
	size_t waiting_count;
};

#define WATCH_CLOSED                                                                               \
	{                                                                                          \
		.door = DOOR_CLOSED, .poll_fd = -1, .finish_fd = -1, .root_event = -1              \
	}

int watch_open(struct watch *w, struct queue *queue, struct worker *worker, struct outside *outside,
	       const struct tables *tables, const struct collector_options *options);
void watch_close(struct watch *w);
void *watch_run(void *arg); /* thread function; @arg: struct watch */
/* One pass through the sessions, of a bounded time: the thread's work, again and again. */
void watch_drain(struct watch *w);
/* From any thread: engines stop, all sessions are closed, the thread ends. */
void watch_finish(struct watch *w);
void watch_tell_done(struct watch *w); /* the file is complete: programs that wait for it may end */

/* In watch_join.c: answers callers, for a few milliseconds at most. */
void watch_answer_callers(struct watch *w);
/* In watch_set.c: one that asks for other settings. */
void watch_set(struct watch *w, const struct caller *caller);

/* The session of @p: that of @t, else (NULL) a new one, whose end is seen from now on. 0 or -errno:
 * then @p is freed. */
int watch_make_session(const struct watch *w, struct process *p, struct attach_target *t,
		       struct session **out);
void watch_begin_session(struct watch *w, struct session *s);
/* Is the session mapped, by this text of its process's maps? 1, 0, or -errno: unknown. */
int watch_is_mapped(const struct session *s, const char *maps, size_t bytes);

/* In watch_attach.c. To the processes that @o names, before the thread runs; of what fails
 * w->attach_error tells. */
void watch_attach_all(struct watch *w, const struct collector_options *o);
uid_t watch_attach_user(const struct collector_options *o);
int watch_attach_tick(struct watch *w, uint64_t now_ns); /* ms, when to come again */
void watch_attach_stop(struct watch *w);

/* In watch.c. What becomes readable wakes the thread: 0 or -errno; the newest session of a pid, or
 * NULL; the parts of the budget of CPU timers, @joining may be NULL. */
int watch_add_fd(const struct watch *w, int fd);
struct session *watch_session_of(const struct watch *w, pid_t pid);
void watch_share_budget(struct watch *w, struct session *joining);

/* A process is over, by one of RECORDING_END_...; frees @s. */
void watch_close_session(struct watch *w, struct session *s, const char *end);

#endif
