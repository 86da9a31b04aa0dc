/* SPDX-License-Identifier: Apache-2.0 */
#include "report/read/plan.h"

#include "base/recording.h"

#include <stdlib.h>
#include <string.h>

static const char contextual[] = "jdk.jfr.Contextual";
static const char label_key[] = "weft.Key";

static void add_context_field(struct model *m, struct plan *p, const struct weft_jfr_class *c,
			      size_t index)
{
	const char *name = weft_jfr_class_field(c, index);
	const char *label = weft_jfr_class_annotation(c, name, label_key);
	uint32_t key = context_key_of_field(name);

	if (p->field_count == PLAN_FIELDS)
		return;
	if (label && *label)
		key = names_id_format(&m->keys, CONTEXT_LABEL_PREFIX "%s", label);
	p->field[p->field_count++] = (struct context_field){
		.index = index,
		.key = key ? key : names_id(&m->keys, name),
		.is_label = label && *label,
	};
}

static int is_header_field(const char *name)
{
	static const char *const header[] = {"startTime",
					     "duration",
					     "eventThread",
					     "stackTrace",
					     "state",
					     "sampledThread",
					     RECORDING_FIELD_SITE,
					     RECORDING_FIELD_LAST,
					     RECORDING_FIELD_FIRST,
					     RECORDING_FIELD_DELAY};

	for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++)
		if (strcmp(header[i], name) == 0)
			return 1;
	return 0;
}

/* The contextual fields are those that are annotated; all, if the type itself is annotated. */
static void plan_context(struct model *m, struct plan *p, const struct weft_jfr_class *c)
{
	size_t count = weft_jfr_class_fields(c);
	int all;

	for (size_t i = 0; i < count; i++)
		if (weft_jfr_class_annotated(c, weft_jfr_class_field(c, i), contextual))
			add_context_field(m, p, c, i);
	if (p->field_count)
		return;
	all = weft_jfr_class_annotated(c, NULL, contextual) ||
	      (p->sample && p->sample->fields_are_context);
	for (size_t i = 0; i < count; i++) {
		const char *name = weft_jfr_class_field(c, i);

		if (!is_header_field(name) && (all || (p->sample && context_key_of_field(name))))
			add_context_field(m, p, c, i);
	}
}

/* What its events are, besides being samples that may be counted. */
static unsigned int kinds_of(const struct plan *p, const struct weft_jfr_class *c)
{
	const char *name = weft_jfr_class_name(c);
	unsigned int kinds = p->thread >= 0 ? SAMPLE_OF_THREAD : 0;

	if (p->sample && !sample_type_is_interval(p->sample))
		return kinds | (p->sample->clock == SAMPLE_CPU ? SAMPLE_ON_CPU : SAMPLE_BY_CLOCK);
	if (p->role == ROLE_CONTEXT)
		return kinds | SAMPLE_CONTEXT;
	if (p->role != ROLE_NONE && !p->sample)
		return kinds;
	if (weft_jfr_class_find(c, "duration") >= 0 && strcmp(name, RECORDING_RECORDING) != 0)
		kinds |= SAMPLE_TIMED;
	return kinds | (sample_type_waits(name) ? SAMPLE_WAITED : 0);
}

void plan_as_sample(struct plan *p)
{
	p->role = ROLE_SAMPLE;
	p->sample = &sample_type_event;
}

struct plan *plan_new(struct model *m, const struct weft_jfr_class *c)
{
	const char *name = weft_jfr_class_name(c), *dot = strrchr(name, '.');
	struct plan *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->name = names_id(&m->names, name);
	p->simple_name = names_id(&m->names, dot ? dot + 1 : name);
	p->sample = sample_type_find(name);
	p->take = facts_taker(name);
	p->role = p->sample ? ROLE_SAMPLE : p->take ? ROLE_FACT : ROLE_NONE;
	p->thread = weft_jfr_class_find(c, "eventThread");
	if (p->thread < 0)
		p->thread = weft_jfr_class_find(c, "sampledThread");
	p->stack = weft_jfr_class_find(c, "stackTrace");
	p->state = p->sample ? weft_jfr_class_find(c, "state") : -1;
	p->times = p->sample && p->sample->times ? weft_jfr_class_find(c, p->sample->times) : -1;
	p->ticks = p->sample && p->sample->ticks ? weft_jfr_class_find(c, p->sample->ticks) : -1;
	p->site = p->sample && sample_type_is_interval(p->sample)
			  ? weft_jfr_class_find(c, RECORDING_FIELD_SITE)
			  : -1;
	plan_context(m, p, c);
	if (p->role == ROLE_NONE && p->field_count && p->thread >= 0)
		p->role = ROLE_CONTEXT;
	p->kinds = kinds_of(p, c);
	return p;
}
