/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as a stream of samples. Opening reads the file once for what samples depend on:
 * periods, counters, and contexts, which may stand behind their samples. Reading goes through it
 * again and hands out the samples in the order of the file. Memory grows with contexts, distinct
 * stacks and names, not with samples.
 *
 * Samples get their context from their own fields (weft.ExecutionSample, datadog.*) and
 * from contextual events of their thread (context.h); their own fields come first.
 */
#ifndef WEFT_REPORT_SOURCE_H
#define WEFT_REPORT_SOURCE_H

#include "report/read/decode.h"
#include "report/read/facts.h"
#include "report/read/model.h"

struct source;

/*
 * @which: "cpu", "wall", "all", "coroutine-run", "coroutine-wait", or the name of an event type.
 * A coroutine's run or wait is a sample of its duration, and of its own context alone; an event of
 * any other type is one of its duration, and has the context that held when it ended, or else when
 * it began. NULL: "cpu", or "wall" when the file has no CPU samples. 0; -errno of opening; -EINVAL:
 * the file declares no event type of that name. A damaged file opens as far as it is whole:
 * facts.damage says so.
 */
int source_open(struct source **out, const char *path, const char *which);
void source_free(struct source *s);

/* What of frames is decoded (enum decode_detail), DECODE_LINES at first. Before source_read(). */
void source_set_detail(struct source *s, unsigned int detail);

/* Whether samples are counted only: then they have no weight. */
void source_set_counts(struct source *s, int counts);

struct model *source_model(struct source *s);
const struct facts *source_facts(const struct source *s);

/* Are all events that are counted samples? Of runs, waits and other events the file has every one:
 * their shares have no error. */
int source_is_sampled(const struct source *s);

/* Do all samples that are counted tell running from waiting? */
int source_has_states(const struct source *s);

/* Are runs or waits of coroutines among them, which have a site? */
int source_has_sites(const struct source *s);

/*
 * The contexts that a sample is in, innermost first, as numbers: the n-th event of SAMPLE_CONTEXT
 * that source_read() hands out is the n-th context, from 0. Returns how many, at most @room.
 */
uint32_t source_contexts(const struct source *s, const struct sample *sample, uint32_t *out,
			 uint32_t room);

/* While source_read() calls: the event that the sample was made of, and what decodes its fields. */
const struct weft_jfr_event_view *source_event(const struct source *s);
struct decoder *source_decoder(struct source *s);
const struct weft_jfr_reader *source_reader(const struct source *s);

/*
 * Calls @each for every event of these kinds (enum sample_kind) until it returns non-zero: 0, that,
 * or -errno. An event of several kinds comes once; one that is not counted weighs its duration.
 */
int source_read(struct source *s, unsigned int kinds,
		int (*each)(const struct sample *sample, void *arg), void *arg);

#endif
