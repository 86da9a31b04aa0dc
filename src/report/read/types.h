/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of event types by their names: a const table of sample types, types whose thread
 * waited, and fields that hold the ids of a trace. Everything else follows from annotations.
 */
#ifndef WEFT_REPORT_TYPES_H
#define WEFT_REPORT_TYPES_H

#include "base/recording.h"

#include <weft/jfr.h>

#define WALL_CLOCK_SAMPLE RECORDING_WALL_SAMPLE /* async-profiler's, and weft's */

enum sample_clock {
	SAMPLE_CPU = 1,
	SAMPLE_WALL,
	/* No samples, but intervals; counted only if they are asked for. */
	SAMPLE_RUN,   /* the time that a run of a coroutine took */
	SAMPLE_WAIT,  /* the time that a coroutine waited */
	SAMPLE_EVENT, /* the duration of an event of any other type */
};

struct sample_type {
	const char *name;
	enum sample_clock clock;
	const char *times;      /* field with the number of periods that the event stands for;
				   NULL = it is one */
	const char *ticks;      /* field with its weight in ticks, which goes before the period,
				   or, if the type has times as well, is for want of one;
				   NULL = none */
	const char *yields_to;  /* is left out of a file that has events of this type, which would
				   count the same time again; NULL = none */
	int fields_are_context; /* its own fields are tags */
	int has_states;         /* it tells running from waiting, and counts as one sample for
				   each of its periods */
};

/* Stands for all types that are not in the table: an event of them weighs its duration. */
extern const struct sample_type sample_type_event;
/* Is it an event type whose thread waited: for a lock, for input or output, asleep? */
int sample_type_waits(const char *name);

/* NULL: not a sample type. */
const struct sample_type *sample_type_find(const char *name);
/* Does @which ask for it ("cpu", "wall", "all" of these two, "coroutine-run",
 * "coroutine-wait", a type's name)? */
int sample_type_is(const struct sample_type *t, const char *which);
/* Is @which one of these words, or the name of a sample type? */
int sample_type_choice(const char *which);

/* Does an event of it weigh its duration? */
int sample_type_is_interval(const struct sample_type *t);

/* CONTEXT_SPAN, _ROOT, _TRACE, _COROUTINE, or 0 for any other field. */
uint32_t context_key_of_field(const char *field);

/* A setting's timespan (base/event_settings.h), or a bare number of ns. 0 = not a time. */
uint64_t period_parse(const char *text, size_t bytes);

#endif
