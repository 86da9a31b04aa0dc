/* SPDX-License-Identifier: Apache-2.0 */
/* What wall*.c share; and what looks.c has from them: labels, texts, chance. */
#ifndef WEFT_COLLECTOR_WALL_PRIVATE_H
#define WEFT_COLLECTOR_WALL_PRIVATE_H

#include "collector/look/wall.h"
#include "collector/look/wall_books.h"
#include "collector/process/label_sets.h"
#include "collector/process/process.h"
#include "proc/thread_stat.h"

#define WALL_REGISTERS_MAX 33
/* More than a ring takes: who waits for events often has room for thousands of them in its frame.
 */
#define WALL_STACK_MAX (128 * 1024)
#define WALL_LOOK_BYTES_MAX                                                                        \
	(sizeof(struct weft_sample_record) + WALL_REGISTERS_MAX * 8 + WALL_STACK_MAX +             \
	 LABEL_BYTES_MAX + 8)

enum wall_file { WALL_FILE_RUNS, WALL_FILE_CALL, WALL_FILE_STAT, WALL_FILE_STATUS, WALL_FILES };

/* A stretch of time in which a thread did not run: begins with a sample. */
struct wall_stay {
	int is_open;
	int is_filtered;         /* no sample was told, nor will its ticks be */
	int is_stale;            /* its context was taken before it was known where to look */
	uint8_t state;           /* enum weft_thread_state */
	struct batch_thread who; /* as the sample was told */
	uint64_t began_ns;       /* when it was first looked at */
	uint64_t told_ns;        /* all ticks up to here are told or pending */
	uint64_t pending;        /* ticks that are its, and not told yet */
	uint64_t pending_ns;     /* since when */
};

/* Its account: of wall_account.c. */
struct wall_account {
	struct batch_thread who;   /* whose it is */
	uint64_t began_ns;         /* of it */
	uint64_t cpu_ns, delay_ns; /* that were the thread's by then */
	int is_told;               /* it was */
	int is_used;               /* something else was told under that name */
	int is_partial;            /* not all of the thread's time is told */
};

#define WALL_NAMES 3

struct wall_thread {
	struct watched_thread *watched;
	size_t place;             /* in the heap */
	uint64_t due_ns;          /* when to look again */
	uint64_t looked_ns;       /* up to here its time is in the books */
	struct thread_sched runs; /* then */
	struct wall_books books;
	int64_t delay_ns; /* that it waited for a CPU, by the kernel, less what samples stand for */
	uint64_t wait_count, wait_ns; /* run count when it was last found waiting, and since when */
	struct wall_stay stay;
	struct wall_account account;
	uint64_t delay_since_ns; /* delay_ns was less than a period then */
	struct published_thread published;
	int fd[WALL_FILES]; /* -1 = not open */
	int no_schedstat;
	int is_told; /* there are samples of it */
	int is_new;  /* wall_meet() has not seen it */
	/* Under which the worker has heard of it: without a slot, and with the one that it got. */
	struct batch_thread told[WALL_NAMES];
	uint32_t told_count;
};

/* What one look at a thread found: a struct weft_sample_record with its registers and stack. */
struct wall_look {
	uint8_t state;
	int is_filtered;
	int is_on_our_cpu;        /* or was there last */
	struct thread_sched runs; /* at its end */
	uint32_t bytes;
	int label_bytes; /* < 0: there are labels, and they could not be read whole */
	uint8_t labels[LABEL_BYTES_MAX];
	_Alignas(8) uint8_t record[WALL_LOOK_BYTES_MAX];
};

struct wall {
	struct process *process;
	struct wall_options options;
	struct queue *out;
	struct session_counts *counts;
	struct threads *threads;     /* whose slots are found; valid during wall_tick() */
	struct published *published; /* NULL: nobody else's contexts are wanted */
	struct wall_thread **heap;   /* by due_ns */
	size_t count, room;
	uint64_t random;
	struct wall_look look; /* the newest */
};

/* Run count and times; 0, or -errno: -ESRCH when the thread is gone. */
int wall_runs_read(struct wall *w, struct wall_thread *t, struct thread_sched *out);

/*
 * Look at a thread whose run count was just read: 1 and w->look (all but the time and the weight
 * of its sample), 0: it is not blocked, or ran meanwhile, which is counted.
 */
int wall_look(struct wall *w, struct wall_thread *t, const struct thread_sched *before);

/* Its state, and whether --threads wants it: 1 and w->look.state, .is_filtered, 0: it is gone. */
int wall_read_state(struct wall *w, struct wall_thread *t);

/* It is on a CPU, or waits for one. */
int wall_is_runnable(struct wall *w, struct wall_thread *t);

/* Of a runnable thread: it got on a CPU more often than it left one. Where the kernel counted
 * fewer arrivals, it is not known to be there. */
int wall_is_on_cpu(struct wall *w, struct wall_thread *t);

/* The context of its slot, whose labels go into w->look for wall_put_labels(); and where its stack
 * with @sp ends; 0: no slot, or no such stack. */
uint64_t wall_take_context(struct wall *w, const struct watched_thread *t,
			   struct weft_sample_record *sample, uint64_t sp);

/* wall_labels.c: as abi/session.h has them in a sample; how many bytes, < 0: not to be had. And
 * behind a record that is whole, which has room. */
int wall_labels_of_slot(const struct process *p, uint32_t slot, int32_t tid, uint8_t *to);
void wall_put_labels(struct weft_sample_record *sample, const uint8_t *labels, int bytes);

/* With v1 off the ids are kept, and not shown (weft/publish.h). */
int wall_shows_ids(const struct process *p);

/* --wall-filter context, or the setting select; and the setting enabled. */
static inline int wall_wants_context(const struct wall *w)
{
	return w->options.context_only ||
	       load_relaxed(&w->process->wall_asked) == SAMPLES_IN_CONTEXT;
}

static inline int wall_is_off(const struct wall *w)
{
	return load_relaxed(&w->process->wall_asked) == SAMPLES_NONE;
}

/* As is asked, of a sample that has its context. */
int wall_has_no_context(const struct wall *w, const struct weft_sample_record *sample);

/* wall.c: one word, and the @sample behind it (record.bytes long) unless NULL. */
void wall_tell(struct wall *w, struct wall_thread *t, const struct batch_thread *who,
	       struct wall_word word, const struct weft_sample_record *sample);
void wall_identify(const struct watched_thread *t, struct batch_thread *out);
uint64_t wall_take_ticks(const struct wall *w, int64_t *ns);

double wall_random(uint64_t *state); /* uniform on [0, 1) */

/* wall_delay.c: at a look whose times are in the books; before a chunk ends; and of a thread that
 * is gone. */
void wall_delay(struct wall *w, struct wall_thread *t, uint64_t now_ns);
void wall_delay_flush(struct wall *w, struct wall_thread *t, uint64_t now_ns);
void wall_delay_end(struct wall *w, struct wall_thread *t, uint64_t now_ns);

/* wall_account.c: a thread's time by the kernel, against which its samples are held. Begun with the
 * first reading of the thread, followed at each look; told when all its samples so far are; ended
 * when the thread has, at @now_ns the latest, with what it had used by then. */
void wall_account_begin(struct wall_thread *t);
void wall_account_follow(struct wall *w, struct wall_thread *t);
void wall_account_tell(struct wall *w, struct wall_thread *t);
/* It ended so long ago that the worker may have forgotten it: nothing may be told of its whole. */
int wall_account_is_late(const struct wall *w, const struct wall_thread *t, uint64_t now_ns);
uint64_t wall_account_last(const struct wall *w, const struct wall_thread *t,
			   struct thread_sched *runs, uint64_t now_ns);

/* A whole file of a thread, terminated: its bytes or -errno. *fd is -1, or the file, and open from
 * then on while there are descriptors; closed, with others, by wall_files_close(). */
int wall_file_read(const struct process *p, int32_t tid, int *fd, const char *name, char *out,
		   size_t room);
void wall_files_close(int *fd, int count);

static inline void wall_count(struct wall *w, enum weft_counter counter, uint64_t n)
{
	w->counts->counter[counter] += n;
}

#endif
