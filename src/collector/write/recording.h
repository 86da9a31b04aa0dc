/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording: samples, contexts and counters become events (names: base/recording.h,
 * meaning: docs/recording.md). Owns the JFR writer. Used by the worker thread alone.
 *
 * Chunks end in recording_roll() alone, never by the writer's own limits, so that every span is in
 * the chunk that holds its samples: what is in the file is whole, even after a kill. When a chunk
 * cannot be written its events are lost, and its counters are put again into the next one; the
 * first error is kept.
 */
#ifndef WEFT_COLLECTOR_RECORDING_H
#define WEFT_COLLECTOR_RECORDING_H

#include "collector/look/published.h"
#include "collector/write/process_work.h"

#include <weft/abi/session.h>
#include <weft/jfr.h>

struct batch_thread;
struct code;
struct recording;
struct walked_sample;
struct walked_switch;
struct walked_event;
struct settings_text;
struct type_word;
struct timeline_item;
struct wall_word;

/* Texts, and what tell_arg points to, must live as long as the recording, but for the command line
 * and the settings, which are copied. */
struct recording_options {
	const char *path;
	const char *command_line;
	const char *version;
	const char *stack_mode;
	pid_t pid;
	uint64_t period_ns, wall_period_ns;
	uint32_t engines; /* enum weft_engine bits: whose samples are written; 0 = cpu */
	uint64_t chunk_ns, chunk_bytes; /* 0 = default */
	uint64_t max_bytes, max_age_ns; /* the newest is kept (weft/jfr.h); 0 = all of it */
	uint64_t duration_ns;           /* that it is to last; 0 = to the end */
	uint64_t start_ns;   /* 0 = now; else time is what is told here, and no clock is asked */
	const char *threads; /* pattern of the names of those that are wanted; NULL = all */
	const char *machine; /* where /proc and /sys lie, for tests; NULL = at / */
	int inline_context;
	enum published_from context_from;
	const struct settings_text *settings; /* NULL = none */
	/* Each warning that is put into the file is told, once; NULL = to nobody. */
	void (*tell)(void *arg, const char *text);
	void *tell_arg;
};

int recording_open(struct recording **out, const struct recording_options *options);

struct weft_jfr_writer *recording_writer(struct recording *r);

/* In recording_put.c. Is a thread of this name wanted (--threads)? */
int recording_wants(const struct recording *r, const char *name);
/* Gives a thread of @p its key in the file: one that is new, or has a key under its old name, whose
 * open stay and span are written under that first. 0 or -errno. */
int recording_thread(struct recording *r, struct process *p, struct process_thread *t);

/* Before the first event of a thread, which began at @since_ns: puts its jdk.ThreadStart, once. And
 * when it has ended: its jdk.ThreadEnd. */
void recording_thread_begin(struct recording *r, const struct process *p, struct process_thread *t,
			    uint64_t since_ns);
void recording_thread_gone(struct recording *r, struct process_thread *t, uint64_t now_ns);

/* Frames of a stack in the file: as many as a walk has, and room for inlined functions. */
#define RECORDING_FRAMES_MAX (WEFT_FRAMES_MAX + 512)

struct recording_trace {
	const struct weft_jfr_frame *frame; /* leaf first */
	size_t count;
	int truncated;
};

/* What a sample is written from. */
struct recorded_sample {
	uint64_t time_ns;
	uint32_t weight; /* in periods */
	uint8_t in_contextual_event, has_key;
	struct context_key key; /* zeros without has_key */
};

static inline const struct context_key *recorded_key(const struct recorded_sample *s)
{
	return s->has_key ? &s->key : NULL;
}

/* What a typed event is written from. */
struct recorded_event {
	uint64_t begin_ns, end_ns;
	uint32_t number; /* of its type, as its process counts them */
	uint32_t values_bytes;
	const uint8_t *values;
	struct context_key key; /* zeros: none */
};
struct recorded_event recording_event_of(struct recording *r, const struct walked_event *e);

/* Which labels a sample of @t has: a number of label_sets.h; 0 = none. To be asked for each of its
 * samples, in the order in which they were taken. */
uint32_t recording_labels(struct recording *r, struct process *p, struct process_thread *t,
			  const struct walked_sample *walked);

/* To @sample, a copy of that of @walked, with labels of that number, what a handler has copied of
 * another library's context. Which labels it has then. */
uint32_t recording_add_published(struct recording *r, struct process *p,
				 const struct walked_sample *walked,
				 struct weft_sample_record *sample, uint32_t labels);

/* A sample of CPU time: as many events as its weight says, and a longer span. With the wall engine
 * also the wall-clock samples of the time on a CPU that it stands for. */
void recording_sample(struct recording *r, struct process *p, struct process_thread *t,
		      const struct recorded_sample *sample, const struct recording_trace *trace);

/*
 * Wall-clock samples, to be called in order of time with recording_sample() of the same thread;
 * timeline.h sees to that. A stay becomes one event when it ends, and one at the end of each chunk
 * for its part in that.
 */
void recording_stay_begin(struct recording *r, struct process *p, struct process_thread *t,
			  struct timeline_item *item, uint64_t time_ns);
/* WALL_MORE and WALL_END. */
void recording_stay_more(struct recording *r, struct process *p, struct process_thread *t,
			 const struct wall_word *word);
/* WALL_DELAY. Its context is that of @seen; NULL: that of the thread's newest sample. */
void recording_delay(struct recording *r, struct process *p, struct process_thread *t,
		     const struct wall_word *word, const struct recorded_sample *seen);

/* WALL_ACCOUNT, and when a thread has ended: a row of weft.ThreadTime, which has what the samples
 * stand for beside what the kernel says. */
void recording_time(struct recording *r, struct process *p, struct process_thread *t,
		    const struct wall_word *word);
void recording_time_end(struct recording *r, struct process *p, struct process_thread *t);

/* A run or a wait of a coroutine that has ended on @t, with the frame of its site. */
void recording_switch(struct recording *r, struct process *p, const struct process_thread *t,
		      const struct walked_switch *placed, const struct recording_trace *site);

/* BATCH_TYPE (session_events.h): a type of @p's, with its definition when it is new; or settings of
 * a type or of samples, which have changed. */
void recording_event_type(struct recording *r, struct process *p, const struct type_word *word,
			  const uint8_t *data, size_t bytes);
/* An event of such a type, to be called in order of time with the samples of the thread. */
void recording_event(struct recording *r, struct process *p, struct process_thread *t,
		     const struct recorded_event *e, const struct recording_trace *trace);

/* More lines of settings, for the types that the recording fills itself: system events, runs and
 * waits of coroutines. */
void recording_set(struct recording *r, const char *lines, size_t bytes);

/* Is there a type whose name @glob matches? */
int recording_has_types(const struct recording *r, const char *glob, size_t bytes);

/* A weft.Warning; the same text is put once, or again after thousands of others. */
void recording_put_warning(struct recording *r, const char *text);

/* Writes the thread's open stay and span: it has ended, or the chunk does. */
void recording_thread_end(struct recording *r, struct process *p, struct process_thread *t);

/*
 * CPU time by the kernel's account (account.h). recording_account() takes the data of a
 * BATCH_ACCOUNT, recording_account_end() a thread's own last reading, recording_account_process()
 * that of a process that is about to be reaped. recording_account_key(): the thread pool's key of a
 * thread that has a row already, or 0. recording_account_thread(): puts the last row of one.
 */
void recording_account(struct recording *r, struct process *p, const uint8_t *data, size_t bytes);
uint64_t recording_account_key(const struct process *p, const struct process_thread *t);
void recording_account_end(struct recording *r, struct process *p, const struct process_thread *t,
			   uint64_t claimed_ns, uint64_t cpu_ns, uint64_t now_ns);
void recording_account_thread(struct recording *r, struct process *p, struct process_thread *t);
void recording_account_process(struct recording *r, pid_t pid, uint64_t process_ns,
			       uint64_t now_ns);
void recording_account_free(struct process *p);

/* A process joins: the recording owns it from here on. And it is over: its spans are written, and
 * it is freed when the chunk with its last rows has reached the file. */
void recording_process_begin(struct recording *r, struct process *p);
void recording_process_end(struct recording *r, struct process *p, uint64_t now_ns,
			   const char *end);

/* Which process is the program; from any thread. And how it ended (jdk.Shutdown), before
 * recording_close(): "Exited with status 1". */
void recording_set_root(struct recording *r, pid_t pid);
void recording_shutdown(struct recording *r, uint64_t now_ns, const char *reason);

/* Puts the periodic events that are due (recording_system.h), and tells when the next are. */
uint64_t recording_tick(struct recording *r, uint64_t now_ns);

/* Has the open chunk its full size? (Whether its time is over the drain thread knows.) */
int recording_is_full(const struct recording *r);

/* Ends the chunk if it has grown to twice its size while its end was on its way through the queues:
 * its memory is bounded, and its counters are those of a moment before. 0 or -errno. */
int recording_roll_early(struct recording *r);

/* Ends the chunk with open spans, rows of all processes and counters. 0 or -errno. */
int recording_roll(struct recording *r, uint64_t now_ns);

/* Code of this file has run in @p: the open chunk gets a weft.Module for it. */
void recording_module(struct process *p, const struct code *code);

/* Ticks beside random looks (lockstep.h): a sample that a tick took; the data of a BATCH_LOOKS. */
void recording_tick_sample(struct recording *r, struct process *p,
			   const struct batch_thread *thread,
			   const struct weft_sample_record *record,
			   const struct recorded_sample *sample);
void recording_looks(struct recording *r, struct process *p, const uint8_t *data, size_t bytes);
void recording_lockstep_free(struct process *p);

/* Events of those kinds whose number is told. */
struct recording_events {
	uint64_t samples, wall; /* wall: ticks that the events stand for */
	uint64_t switches;      /* runs and waits of coroutines */
	uint64_t typed;         /* of the programs' own types */
};

struct recording_written {
	uint64_t bytes;
	struct recording_events in_file;
	struct recording_events lost; /* with chunks that could not be written */
	/* The oldest, by limits: the file has them no more. */
	uint64_t dropped_chunks, dropped_bytes;
	uint64_t used_ns, seen_ns; /* CPU time used, and seen in samples (weft.ThreadCPU) */
	uint32_t times_off;        /* threads whose wall-clock time does not add up */
	int error;                 /* first -errno; 0 = none */
};
void recording_written(const struct recording *r, struct recording_written *out);

/* Writes the last chunk, syncs and frees. 0 or the first -errno; *out (unless NULL) tells what is
 * in the file. Takes NULL. */
int recording_close(struct recording *r, uint64_t now_ns, struct recording_written *out);

#endif
