/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file: what samples, contexts and counters become in it (names: base/recording.h,
 * meaning: docs/recording.md). Owns the JFR writer. Used by the worker thread alone.
 *
 * The writer would end a chunk by itself; here chunks end in recording_roll() only, so that
 * every open stretch is written into the chunk that holds its samples: whatever is in the
 * file is whole, after a kill too. A failed chunk is lost with its events, and its counters
 * are put again into the next; the first error is kept.
 */
#ifndef WEFT_COLLECTOR_RECORDING_H
#define WEFT_COLLECTOR_RECORDING_H

#include "collector/process.h"

#include <weft/abi/session.h>
#include <weft/jfr.h>

struct code;
struct recording;

struct recording_options {
	const char *path;
	const char *command_line;
	const char *version;
	const char *stack_mode;
	pid_t pid;
	uint64_t period_ns;
	uint64_t chunk_ns, chunk_bytes; /* 0 = default */
	int inline_context;
};

int recording_open(struct recording **out, const struct recording_options *options);

struct weft_jfr_writer *recording_writer(struct recording *r);

/* A new thread of @p: gives it its key. 0 or -errno. */
int recording_thread(struct recording *r, const struct process *p, struct process_thread *t);

/* The frames of a sample: at most as many as the walk has, and those inlined into the leaf. */
#define RECORDING_FRAMES_MAX (WEFT_FRAMES_MAX + 512)

struct recording_stack {
	size_t count;
	int truncated;
	struct weft_jfr_frame frame[RECORDING_FRAMES_MAX]; /* leaf first */
};

/* One sample: as many events as its weight says, and its part in a stretch. */
void recording_sample(struct recording *r, struct process *p, struct process_thread *t,
		      const struct weft_sample_record *sample, const struct recording_stack *stack);

/* The thread has ended: its stretch is written. */
void recording_thread_end(struct recording *r, struct process *p, struct process_thread *t);

/* A process joins, and is the recording's from here on; and it is over: its stretches are
 * written, and it is freed when its last row has reached the file. */
void recording_process_begin(struct recording *r, struct process *p);
void recording_process_end(struct recording *r, struct process *p, uint64_t now_ns,
			   const char *end);

/* Is the chunk due, by size? (By time: the drain thread asks.) */
int recording_is_full(const struct recording *r);

/* End the chunk: stretches, rows of all processes, counters. 0 or -errno. */
int recording_roll(struct recording *r, uint64_t now_ns);

/* Code of this file ran in @p, in the chunk that is open. */
void recording_module(struct process *p, const struct code *code);

struct recording_written {
	uint64_t bytes, samples, samples_lost; /* lost: with chunks that could not be written */
	int error;                             /* first -errno; 0 = none */
};
void recording_written(const struct recording *r, struct recording_written *out);

/* The last chunk, fsync, free. 0 or the first -errno; *out (unless NULL) tells what is in the
 * file. Takes NULL. */
int recording_close(struct recording *r, uint64_t now_ns, struct recording_written *out);

#endif
