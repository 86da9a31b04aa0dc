/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an event type of a file is to the report, found out once: its role, and at which
 * index the fields stand that matter. Roles go by the type's name; a type of any name with
 * contextual fields and a thread is a context.
 */
#ifndef WEFT_REPORT_PLAN_H
#define WEFT_REPORT_PLAN_H

#include "report/read/facts_take.h"
#include "report/read/types.h"

enum role { ROLE_NONE, ROLE_SAMPLE, ROLE_CONTEXT, ROLE_FACT };

#define PLAN_FIELDS 192 /* of contexts; a sample keeps CONTEXT_ITEMS that are there */

struct context_field {
	size_t index;
	uint32_t key;
	int is_label; /* an empty text is a value */
};

struct plan {
	enum role role;
	unsigned int kinds;                           /* enum sample_kind */
	int thread, stack, state, times, ticks, site; /* index of a field, or negative */
	const struct sample_type *sample;
	fact_taker *take; /* ROLE_FACT */
	uint32_t name, simple_name;
	uint32_t field_count;
	struct context_field field[PLAN_FIELDS];
};

/* NULL: out of memory. Freed with free(). */
struct plan *plan_new(struct model *m, const struct weft_jfr_class *c);
/* Events of the type are samples, each as long as it lasted, whatever else they are. */
void plan_as_sample(struct plan *p);

#endif
