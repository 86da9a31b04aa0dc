/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reader knows of event types: one const table of the sample types in use, and
 * how fields are called that carry the ids of a trace. Anything else goes by annotations.
 */
#ifndef WEFT_REPORT_TYPES_H
#define WEFT_REPORT_TYPES_H

#include "base/recording.h"

#include <weft/jfr.h>

#define WALL_CLOCK_SAMPLE RECORDING_WALL_SAMPLE /* async-profiler's, and weft's */

enum sample_clock {
	SAMPLE_CPU = 1,
	SAMPLE_WALL,
	SAMPLE_RUN,   /* no samples: the time that each run of a coroutine took, */
	SAMPLE_WAIT,  /* and each wait; neither is counted unless it is asked for */
	SAMPLE_EVENT, /* an event of any other type, by its name alone: what it lasted */
};

struct sample_type {
	const char *name;
	enum sample_clock clock;
	const char *times;      /* field: how many periods the event stands for; NULL = one */
	const char *ticks;      /* field: its weight in ticks, whatever the period; of one that has
				   times, too, where the period is not known; NULL = none */
	const char *yields_to;  /* is left out of a file that has events of this type, which would
				   count the same time again; NULL = none */
	int fields_are_context; /* strings of its own are tags */
	int has_states;         /* it tells running from waiting, and is as many samples as it
				   stands for periods */
};

/* What stands for the types that are not in the table: each event is as long as it lasted. */
extern const struct sample_type sample_type_event;
/* Is it an event type whose thread waited: for a lock, for input or output, asleep? */
int sample_type_waits(const char *name);

/* NULL: not a sample type. */
const struct sample_type *sample_type_find(const char *name);
/* Is it asked for by @which ("cpu", "wall", "all" of these two, "coroutine-run",
 * "coroutine-wait", a type's name)? */
int sample_type_is(const struct sample_type *t, const char *which);
/* Does @which mean anything at all? */
int sample_type_choice(const char *which);

/* Is an event of it as long as it lasted? */
int sample_type_is_interval(const struct sample_type *t);

/* CONTEXT_SPAN, _ROOT, _TRACE, _COROUTINE, or 0 for any other field. */
uint32_t context_key_of_field(const char *field);

/* "5025125 ns", "20 ms", "1 s", or a bare number of ns. 0 = not a time. */
uint64_t period_parse(const char *text, size_t bytes);

#endif
