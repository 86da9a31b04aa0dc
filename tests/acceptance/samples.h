/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a recording with their context, for tests: what a reader sees who knows
 * JFR but nothing of weft. A sample's context is that of the weft.Span event of the same
 * thread (by pool key) whose time covers it, as the JDK joins contextual events; or its own
 * fields where it is a weft.ExecutionSample.
 */
#ifndef ACCEPTANCE_SAMPLES_H
#define ACCEPTANCE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#define SAMPLE_FRAMES_MAX 512
#define SAMPLE_TAG "route"

struct sample {
	int64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t thread_key;
	int64_t os_tid;
	char thread[64], process[64];        /* name of the thread; of its group */
	char span[20], trace[40], route[64]; /* "" = none */
	int truncated;
	size_t frames; /* leaf first */
	const char *frame[SAMPLE_FRAMES_MAX], *module[SAMPLE_FRAMES_MAX];
};

struct samples {
	struct sample *sample; /* in order of the file */
	size_t count;
	size_t spans;
	char **names; /* what frame and module point to */
	size_t name_count;
};

/** Reads a whole recording. 0; -errno; -EBADMSG: damaged (what came before is there). */
int samples_read(const char *path, struct samples *out);
/** Its wall-clock samples instead: one for each event, of however many samples that is. */
int samples_read_wall(const char *path, struct samples *out);
void samples_free(struct samples *s);

#endif
