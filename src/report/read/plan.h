/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an event type of a file is to the report, found out once for each type: its role, and the
 * indexes of the fields that matter. The role follows from the type's name; a type of any other
 * name is a context if it has contextual fields and a thread.
 */
#ifndef WEFT_REPORT_PLAN_H
#define WEFT_REPORT_PLAN_H

#include "report/read/decode.h"
#include "report/read/facts.h"
#include "report/read/types.h"

/* An event that says something of the recording itself: facts_take.c. */
struct fact_event {
	struct facts *facts;
	struct decoder *decoder;
	const struct weft_jfr_reader *reader;
	const struct weft_jfr_event_view *event;
};

typedef void fact_taker(const struct fact_event *e);

/* Takes the events of a type into the facts; NULL: they say nothing of the recording itself. */
fact_taker *facts_taker(const char *type);

/* Of jdk.ActiveSetting. Rows of one setting follow each other in time: the newest holds until the
 * next, so samples have to be read with it. */
fact_taker facts_take_setting;

enum role { ROLE_NONE, ROLE_SAMPLE, ROLE_CONTEXT, ROLE_FACT };

#define PLAN_FIELDS 192 /* of a context; a sample keeps at most CONTEXT_ITEMS of their values */

struct context_field {
	size_t index;
	uint32_t key;
	int is_label; /* whose empty text is a value */
};

struct plan {
	enum role role;
	unsigned int kinds;                           /* enum sample_kind */
	int thread, stack, state, times, ticks, site; /* index of a field, or negative */
	const struct sample_type *sample;
	fact_taker *take; /* not NULL if the role is ROLE_FACT */
	uint32_t name, simple_name;
	uint32_t field_count;
	struct context_field field[PLAN_FIELDS];
};

/* NULL: out of memory. Freed with free(). */
struct plan *plan_new(struct model *m, const struct weft_jfr_class *c);
/* Makes events of the type samples of their duration, whatever else they are. */
void plan_as_sample(struct plan *p);

#endif
