/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as a stream of samples. Opening reads the file once for everything that
 * samples depend on (contexts, which may stand behind their samples, periods, counters);
 * reading goes through it a second time and hands out the samples in file order. Memory
 * grows with contexts, distinct stacks and names, not with samples.
 *
 * Samples get their context from their own fields (weft.ExecutionSample, datadog.*) and
 * from contextual events of their thread (context.h); their own fields come first.
 */
#ifndef WEFT_REPORT_SOURCE_H
#define WEFT_REPORT_SOURCE_H

#include "report/decode.h"
#include "report/facts.h"
#include "report/model.h"

struct source;

/*
 * @which: "cpu", "wall", "all", "coroutine-run", "coroutine-wait", or the name of an event type.
 * A coroutine's run or wait is a sample of its duration, and of its own context alone. NULL: "cpu",
 * or "wall" when the file has no CPU samples. 0; -errno of opening; -EINVAL: no sample type of that
 * name. A damaged file opens as far as it is whole: facts.damage says so.
 */
int source_open(struct source **out, const char *path, const char *which);
void source_free(struct source *s);

/* What of frames is decoded, enum decode_detail; before source_read(). DECODE_LINES at first. */
void source_set_detail(struct source *s, unsigned int detail);

struct model *source_model(struct source *s);
const struct facts *source_facts(const struct source *s);

/* Do all samples that are counted tell running from waiting? */
int source_has_states(const struct source *s);

/* Are there among them runs or waits of coroutines, which have a site? */
int source_has_sites(const struct source *s);

/* Is a sample of this event type CPU time (or wall-clock time)? */
int source_type_is_cpu(const char *name);

/* Calls @each for every selected sample until it returns non-zero. 0, that, or -errno. */
int source_read(struct source *s, int (*each)(const struct sample *sample, void *arg), void *arg);

#endif
