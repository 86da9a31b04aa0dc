/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See source.h. Each class of the file gets a plan once per pass: what it is to us and at
 * which index its fields stand. Classes live as long as their reader, so their address is
 * the plan's key.
 */
#include "report/read/source.h"

#include "base/map.h"
#include "base/recording.h"
#include "jfr/join/join.h"
#include "report/read/account.h"
#include "report/read/context.h"
#include "report/read/facts_take.h"
#include "report/read/plan.h"
#include "report/read/times.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
	char *path;
	struct model model;
	struct facts facts;
	struct context_index *contexts;
	struct decoder decoder;
	struct weft_jfr_reader *reader;
	struct map *plans;      /* class -> plan's address */
	uint64_t chunk;         /* whose types were noted */
	int second;             /* pass: only samples and settings matter */
	int counts;             /* samples have no weight */
	char *other;            /* type that is counted and is no sample type; NULL = none */
	unsigned int kinds;     /* enum sample_kind: what is handed out */
	struct map *effects;    /* process -> bits of account_effect(); NULL = all are 1 */
	uint32_t effect_thread; /* that was asked for last */
	double effect;          /* of it */
	struct times_weigher times;
	const struct weft_jfr_event_view *event; /* that is handed out */
};

/* NULL: neither a sample type nor the one that was asked for. */
static const struct sample_type *source_type_of(const struct source *s, const char *name)
{
	const struct sample_type *t = sample_type_find(name);

	if (!t && s->other && strcmp(name, s->other) == 0)
		return &sample_type_event;
	return t;
}

static const struct sample_type *type_of_fact(const struct source *s, const struct fact_type *t)
{
	return source_type_of(s, names_text(&s->model.names, t->name));
}

/* ---- plans */

static void drop_plans(struct source *s)
{
	uint64_t *plan;
	const void *key;
	size_t cursor = 0, bytes;

	while (s->plans && map_next(s->plans, &cursor, &key, &bytes, &plan))
		free((void *)(uintptr_t)*plan);
	map_free(s->plans);
	s->plans = NULL;
}

/* A context that is counted itself is one for the others all the same: they come first. */
static struct plan *new_plan(struct source *s, const struct weft_jfr_class *c)
{
	struct plan *p = plan_new(&s->model, c);

	if (p && s->second && source_type_of(s, weft_jfr_class_name(c)) == &sample_type_event)
		plan_as_sample(p);
	return p;
}

static const struct plan *source_plan_of(struct source *s, const struct weft_jfr_class *c)
{
	uintptr_t key = (uintptr_t)c;
	uint64_t *at;

	if (!s->plans)
		s->plans = map_new();
	at = s->plans ? map_put(s->plans, &key, sizeof(key), NULL) : NULL;
	if (at && !*at)
		*at = (uintptr_t)new_plan(s, c);
	if (!at || !*at) {
		s->model.failed = 1;
		return NULL;
	}
	return (const struct plan *)(uintptr_t)*at;
}

/* ---- the passes */

/* Most files are mostly samples, whose stacks the first pass need not decode. */
static int source_wanted(const struct weft_jfr_class *c, void *arg)
{
	const char *name = weft_jfr_class_name(c);
	struct source *s = arg;
	const struct plan *p;

	if (s->second) {
		p = source_plan_of(s, c);
		return p &&
		       (p->role == ROLE_SAMPLE || p->role == ROLE_SETTING || (p->kinds & s->kinds));
	}
	if (sample_type_find(name))
		return 0;
	return plan_role(name) != ROLE_NONE || join_is_contextual(c);
}

static const struct weft_jfr_node *at(const struct weft_jfr_event_view *e, int index)
{
	return index >= 0 && (size_t)index < e->field_count ? &e->fields[index] : NULL;
}

static uint32_t context_items(struct source *s, const struct plan *p,
			      const struct weft_jfr_event_view *e, struct context_item *items)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->field_count; i++) {
		const struct weft_jfr_node *n = at(e, (int)p->field[i].index);
		uint32_t key = p->field[i].key;
		uint32_t value = key < CONTEXT_COROUTINE ? decode_hex_id(&s->decoder, n)
							 : decode_text(&s->decoder, n);

		if (key == CONTEXT_COROUTINE && decode_number(n, 1) == 0)
			value = 0;
		if (!value && p->field[i].is_label && n && n->shape == WEFT_JFR_V_STRING)
			value = names_id(&s->model.names, KEY_EMPTY);
		if (value)
			items[count++] = (struct context_item){key, p->simple_name, value};
	}
	return count;
}

static int source_take_context(struct source *s, const struct plan *p,
			       const struct weft_jfr_event_view *e)
{
	struct context_item items[PLAN_FIELDS];
	uint64_t thread = decode_thread_key(at(e, p->thread));
	uint32_t count;

	if (!thread || e->start_ns == INT64_MIN)
		return 0;
	count = context_items(s, p, e, items);
	if (!count)
		return 0;
	s->facts.context_count++;
	return context_index_add(s->contexts, thread, e->start_ns, e->start_ns + e->duration_ns,
				 items, count);
}

/* async-profiler started for wall-clock samples only gives their interval to the others. */
static void lend_interval(struct source *s)
{
	uint32_t wall = names_find(&s->model.names, WALL_CLOCK_SAMPLE);
	uint32_t cpu = names_find(&s->model.names, RECORDING_EXECUTION_SAMPLE);
	const struct fact_type *lender = NULL;

	for (uint32_t i = 0; i < s->facts.type_count; i++)
		if (cpu && s->facts.types[i].name == cpu && !s->facts.types[i].events)
			lender = &s->facts.types[i];
	for (uint32_t i = 0; i < s->facts.type_count && lender; i++)
		if (wall && s->facts.types[i].name == wall && !s->facts.types[i].period_ns)
			s->facts.types[i].period_ns = lender->period_ns;
}

static int take_fact(struct source *s, const struct plan *p, const struct weft_jfr_event_view *e)
{
	if (p->role == ROLE_CONTEXT)
		return source_take_context(s, p, e);
	facts_take(&s->facts, &s->model, &s->decoder, p->role, e);
	return 0;
}

/* Every sample type that a chunk declares, so that settings find their type's row. */
static int note_types(struct source *s)
{
	const struct weft_jfr_class *const *types;
	size_t count = weft_jfr_event_types(s->reader, &types);

	for (size_t i = 0; i < count; i++) {
		const char *name = weft_jfr_class_name(types[i]);
		struct fact_type *t;

		if (!source_type_of(s, name))
			continue;
		t = facts_type(&s->facts, names_id(&s->model.names, name));
		if (!t)
			return -ENOMEM;
		t->type_id = weft_jfr_class_id(types[i]);
	}
	return 0;
}

static int enter_chunk(struct source *s, const struct weft_jfr_event_view *e)
{
	if (e->chunk == s->chunk)
		return 0;
	s->chunk = e->chunk;
	return note_types(s);
}

static int start_pass(struct source *s, int second)
{
	weft_jfr_reader_free(s->reader);
	drop_plans(s);
	s->second = second;
	s->chunk = UINT64_MAX;
	errno = 0;
	s->reader = weft_jfr_open(s->path);
	if (!s->reader)
		return errno ? -errno : -EIO;
	weft_jfr_filter(s->reader, source_wanted, s);
	return decoder_enter(&s->decoder, UINT64_MAX - 1);
}

static void note_damage(struct source *s)
{
	const char *why = weft_jfr_error(s->reader);

	snprintf(s->facts.damage, sizeof(s->facts.damage), "%s",
		 why && *why ? why : "damaged behind this point");
}

static int first_event(struct source *s, const struct weft_jfr_event_view *e)
{
	const struct plan *p;
	int rc = enter_chunk(s, e);

	if (!rc)
		rc = decoder_enter(&s->decoder, e->chunk);
	if (rc)
		return rc;
	p = source_plan_of(s, e->type);
	if (!p)
		return -ENOMEM;
	s->facts.events++;
	if (source_type_of(s, weft_jfr_class_name(e->type))) {
		struct fact_type *t = facts_type(&s->facts, p->name);

		if (!t)
			return -ENOMEM;
		t->events++;
	}
	return take_fact(s, p, e);
}

static int source_first_pass(struct source *s)
{
	struct weft_jfr_event_view e;
	int rc = start_pass(s, 0);

	if (rc)
		return rc;
	while ((rc = weft_jfr_next(s->reader, &e)) > 0) {
		rc = first_event(s, &e);
		if (rc)
			return rc;
	}
	if (rc == -EBADMSG)
		note_damage(s);
	else if (rc)
		return rc;
	weft_jfr_span(s->reader, &s->facts.start_ns, &s->facts.end_ns);
	if (s->facts.failed)
		return -ENOMEM;
	context_index_seal(s->contexts);
	return 0;
}

/* ---- which samples */

static int any_events(struct source *s, const char *which)
{
	for (uint32_t i = 0; i < s->facts.type_count; i++) {
		struct fact_type *t = &s->facts.types[i];

		if (t->events && sample_type_is(type_of_fact(s, t), which))
			return 1;
	}
	return 0;
}

/* Is there another type in the file that this one would count twice? */
static int is_doubled(const struct source *s, const struct sample_type *type)
{
	for (uint32_t i = 0; i < s->facts.type_count; i++) {
		const struct fact_type *t = &s->facts.types[i];

		if (t->events && sample_type_yields(type, names_text(&s->model.names, t->name)))
			return 1;
	}
	return 0;
}

static void choose_types(struct source *s, const char *which)
{
	if (!which)
		which = any_events(s, "cpu") || !any_events(s, "wall") ? "cpu" : "wall";
	for (uint32_t i = 0; i < s->facts.type_count; i++) {
		struct fact_type *t = &s->facts.types[i];
		const struct sample_type *type = type_of_fact(s, t);

		t->lasts = sample_type_is_interval(type);
		t->counted = type == &sample_type_event ||
			     (sample_type_is(type, which) &&
			      (strcmp(which, type->name) == 0 || !is_doubled(s, type)));
	}
}

/* Is the type that was asked for in the file? */
static int is_declared(struct source *s)
{
	uint32_t name = names_find(&s->model.names, s->other);

	for (uint32_t i = 0; i < s->facts.type_count; i++)
		if (name && s->facts.types[i].name == name)
			return 1;
	return 0;
}

int source_open(struct source **out, const char *path, const char *which)
{
	struct source *s;
	int rc = -ENOMEM;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->kinds = SAMPLE_COUNTED;
	s->path = strdup(path);
	s->contexts = context_index_new();
	if (which && !sample_type_choice(which)) {
		s->other = strdup(which);
		if (!s->other)
			goto err;
	}
	if (!s->path || !s->contexts || model_init(&s->model) ||
	    decoder_init(&s->decoder, &s->model))
		goto err;
	rc = source_first_pass(s);
	if (!rc)
		rc = model_error(&s->model);
	if (!rc && s->other && !is_declared(s))
		rc = *s->facts.damage ? -ENODATA : -EINVAL;
	if (rc)
		goto err;
	lend_interval(s);
	choose_types(s, which);
	s->decoder.process = s->facts.jvm;
	*out = s;
	return 0;
err:
	source_free(s);
	return rc;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	weft_jfr_reader_free(s->reader);
	drop_plans(s);
	decoder_free(&s->decoder);
	context_index_free(s->contexts);
	map_free(s->effects);
	facts_free(&s->facts);
	model_free(&s->model);
	free(s->path);
	free(s->other);
	free(s);
}

void source_set_counts(struct source *s, int counts)
{
	s->counts = counts;
}

void source_set_kinds(struct source *s, unsigned int kinds)
{
	s->kinds = kinds;
}

void source_set_detail(struct source *s, unsigned int detail)
{
	s->decoder.detail = detail;
}

struct model *source_model(struct source *s)
{
	return &s->model;
}

const struct facts *source_facts(const struct source *s)
{
	return &s->facts;
}

int source_is_sampled(const struct source *s)
{
	for (uint32_t i = 0; i < s->facts.type_count; i++) {
		const struct fact_type *t = &s->facts.types[i];

		if (t->counted && t->events && t->lasts)
			return 0;
	}
	return 1;
}

int source_has_states(const struct source *s)
{
	int has = 0;

	for (uint32_t i = 0; i < s->facts.type_count; i++) {
		const struct fact_type *t = &s->facts.types[i];

		if (!t->counted || !t->events)
			continue;
		if (!type_of_fact(s, t)->has_states)
			return 0;
		has = 1;
	}
	return has;
}

int source_has_sites(const struct source *s)
{
	for (uint32_t i = 0; i < s->facts.type_count; i++) {
		const struct fact_type *t = &s->facts.types[i];
		const struct sample_type *type = type_of_fact(s, t);

		if (t->counted && t->events && sample_type_is_interval(type) &&
		    type != &sample_type_event)
			return 1;
	}
	return 0;
}

int source_type_is_cpu(const char *name)
{
	const struct sample_type *t = sample_type_find(name);

	return t && t->clock == SAMPLE_CPU;
}

/* ---- samples */

static uint64_t source_weight_of(const struct source *s, const struct plan *p, struct fact_type *t,
				 const struct weft_jfr_event_view *e)
{
	int64_t times = p->times >= 0 ? decode_number(at(e, p->times), 1) : 1;
	int64_t ticks = p->ticks >= 0 ? decode_number(at(e, p->ticks), 0) : 0;

	if (!t || !p->sample || sample_type_is_interval(p->sample))
		return e->duration_ns > 0 ? (uint64_t)e->duration_ns : 0;
	if (ticks > 0 && p->times >= 0 && !t->period_ns)
		return (uint64_t)weft_jfr_ticks_ns(s->reader, ticks);
	if (ticks > 0 && p->times < 0) {
		uint64_t ns = (uint64_t)weft_jfr_ticks_ns(s->reader, ticks);

		if (!t->period_ns)
			t->period_ns = ns;
		return ns;
	}
	if (times < 1 || (t->period_ns && (uint64_t)times > UINT64_MAX / t->period_ns))
		times = 1;
	return t->period_ns * (uint64_t)times;
}

static uint64_t source_times_of(const struct plan *p, const struct weft_jfr_event_view *e)
{
	int64_t times = p->sample && p->sample->has_states ? decode_number(at(e, p->times), 1) : 1;

	return times > 1 ? (uint64_t)times : 1;
}

/* Of a sample of CPU time: by how much its signals are fewer than its events. */
static double effect_of(struct source *s, uint32_t thread)
{
	const struct thread *t = model_thread_at(&s->model, thread);
	uint64_t *bits;

	if (thread == s->effect_thread)
		return s->effect;
	bits = map_put(s->effects, &t->process, sizeof(t->process), NULL);
	if (!bits) {
		s->model.failed = 1;
		return 1;
	}
	memcpy(&s->effect, bits, sizeof(s->effect));
	if (!*bits) {
		s->effect = account_effect(&s->facts, &s->model, t->process);
		memcpy(bits, &s->effect, sizeof(*bits));
	}
	s->effect_thread = thread;
	return s->effect;
}

static void set_draws(struct source *s, struct sample *sample)
{
	int has_effect = s->effects && (sample->kinds & SAMPLE_ON_CPU) && sample->thread;
	double effect = has_effect ? effect_of(s, sample->thread) : 1;
	double weight = (double)(sample->weight_ns ? sample->weight_ns : sample->times);

	sample->draws = (struct draws){1 / effect, weight, weight * weight * effect};
}

/* By its line, or its offset, or the number that the program gave. */
static uint32_t site_of(struct source *s, const struct plan *p, const struct weft_jfr_event_view *e,
			uint32_t stack_id)
{
	const struct stack *stack = model_stack_at(&s->model, stack_id);
	uint64_t address = (uint64_t)decode_number(at(e, p->site), 0);
	struct names *names = &s->model.names;
	const char *function, *file;

	if (p->site < 0 || (!address && !stack->count))
		return 0;
	if (!stack->count)
		return names_id_format(names, "0x%llx", (unsigned long long)address);
	function = names_text(names, stack->frames[0].function);
	file = names_text(names, stack->frames[0].file);
	file = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	if (*file && stack->frames[0].line)
		return names_id_format(names, "%s %s:%d", function, file,
				       (int)stack->frames[0].line);
	return stack->frames[0].offset ? names_id_format(names, "%s+0x%x", function,
							 (unsigned int)stack->frames[0].offset)
				       : stack->frames[0].function;
}

/* An event's is the one in which it was committed, at its end; or at least began. */
static void ask_context(const struct source *s, const struct plan *p, struct sample *sample)
{
	uint64_t thread = sample->thread_key;
	int64_t last_ns = sample->time_ns + (sample->duration_ns > 0 ? sample->duration_ns - 1 : 0);

	if (!thread || (p->sample && p->sample != &sample_type_event &&
			sample_type_is_interval(p->sample))) /* these have all of it */
		return;
	if (last_ns > sample->time_ns)
		context_index_ask(s->contexts, thread, last_ns, &sample->context);
	if (sample->context.count == sample->own)
		context_index_ask(s->contexts, thread, sample->time_ns, &sample->context);
}

static void source_make_sample(struct source *s, const struct plan *p, struct fact_type *t,
			       const struct weft_jfr_event_view *e, struct sample *out)
{
	struct context_item own[PLAN_FIELDS];
	uint32_t count = context_items(s, p, e, own);

	out->time_ns = e->start_ns;
	out->duration_ns = e->duration_ns;
	out->kinds = p->kinds | (t && t->counted ? SAMPLE_COUNTED : 0);
	out->type = p->name;
	out->thread_key = decode_thread_key(at(e, p->thread));
	out->weight_ns = s->counts ? 0 : source_weight_of(s, p, t, e);
	out->times = source_times_of(p, e);
	out->state = decode_state(&s->decoder, at(e, p->state));
	out->thread = decode_thread(&s->decoder, at(e, p->thread));
	if (s->facts.time_count && t && p->sample && p->sample->has_states && out->thread &&
	    out->state)
		out->weight_ns = times_weigh(&s->times, &s->facts, &s->model, out, t->period_ns);
	set_draws(s, out);
	out->stack = decode_stack(&s->decoder, at(e, p->stack));
	if (!p->sample || p->sample == &sample_type_event)
		out->stack = model_below(&s->model, out->stack);
	out->site = site_of(s, p, e, out->stack);
	out->context.count = out->context.cut = 0;
	for (uint32_t i = 0; i < count; i++)
		context_add(&out->context, own[i]);
	out->own = out->context.count;
	if (!out->thread_key || out->time_ns == INT64_MIN || !count)
		out->kinds &= ~(unsigned int)SAMPLE_CONTEXT;
	ask_context(s, p, out);
}

static int second_event(struct source *s, const struct weft_jfr_event_view *e,
			struct sample *sample)
{
	struct fact_type *t = NULL;
	const struct plan *p;
	int rc = enter_chunk(s, e);

	if (!rc)
		rc = decoder_enter(&s->decoder, e->chunk);
	p = rc ? NULL : source_plan_of(s, e->type);
	if (!p)
		return rc ? rc : -ENOMEM;
	if (p->role == ROLE_SETTING)
		facts_take(&s->facts, &s->model, &s->decoder, ROLE_SETTING, e);
	if (p->role == ROLE_SAMPLE) {
		t = facts_type(&s->facts, p->name);
		if (!t)
			return -ENOMEM;
	}
	if (!((p->kinds | (t && t->counted ? SAMPLE_COUNTED : 0u)) & s->kinds))
		return 0;
	source_make_sample(s, p, t, e, sample);
	return (sample->kinds & s->kinds) != 0;
}

uint32_t source_contexts(const struct source *s, const struct sample *sample, uint32_t *out,
			 uint32_t room)
{
	int64_t length = sample->duration_ns > 0 ? sample->duration_ns - 1 : 0;
	uint32_t count = 0;

	if (sample->thread_key)
		count = context_index_holding(s->contexts, sample->thread_key,
					      sample->time_ns + length, out, room);
	if (sample->thread_key && !count && length)
		count = context_index_holding(s->contexts, sample->thread_key, sample->time_ns, out,
					      room);
	return count;
}

uint32_t source_context_count(const struct source *s)
{
	return s->facts.context_count;
}

const struct weft_jfr_event_view *source_event(const struct source *s)
{
	return s->event;
}

struct decoder *source_decoder(struct source *s)
{
	return &s->decoder;
}

const struct weft_jfr_reader *source_reader(const struct source *s)
{
	return s->reader;
}

int source_read(struct source *s, int (*each)(const struct sample *sample, void *arg), void *arg)
{
	struct weft_jfr_event_view e;
	struct sample sample;
	int rc = start_pass(s, 1);

	if (!rc && !s->effects && account_has_effects(&s->facts)) {
		s->effects = map_new();
		rc = s->effects ? 0 : -ENOMEM;
	}
	if (rc)
		return rc;
	while ((rc = weft_jfr_next(s->reader, &e)) > 0) {
		rc = second_event(s, &e, &sample);
		s->event = &e;
		if (rc > 0)
			rc = each(&sample, arg);
		s->event = NULL;
		if (rc)
			return rc;
	}
	/* Damage was noted by the first pass, and what came before it is good. */
	return rc && rc != -EBADMSG ? rc : model_error(&s->model);
}
