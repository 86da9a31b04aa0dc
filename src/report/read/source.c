/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See source.h. In each pass every class of the file gets its plan once (plan.h). Classes live as
 * long as their reader, so plans are found by a class's address.
 */
#include "report/read/source.h"

#include "base/map.h"
#include "base/recording.h"
#include "jfr/join/join.h"
#include "report/read/account.h"
#include "report/read/context.h"
#include "report/read/key.h"
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
	struct context_index contexts;
	struct decoder decoder;
	struct weft_jfr_reader *reader;
	struct map *plans;  /* address of a class -> address of its plan */
	uint64_t chunk;     /* the one whose types were noted last */
	int second;         /* it is the second pass, for samples and settings only */
	int counts;         /* samples have no weight */
	char *other;        /* a type that was asked for and is no sample type; NULL = none */
	unsigned int kinds; /* enum sample_kind: what is handed out */
	double *effects;    /* account_effect() of each of facts.clocks; NULL = all are 1 */
	struct times_weigher times;
	const struct weft_jfr_event_view *event; /* while it is handed out */
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

/* In the first pass an event that is to be counted is a context for the others, if it is one. */
static struct plan *new_plan(struct source *s, const struct weft_jfr_class *c)
{
	struct plan *p = plan_new(&s->model, c);

	if (p && s->second && source_type_of(s, weft_jfr_class_name(c)) == &sample_type_event)
		plan_as_sample(p);
	return p;
}

static const struct plan *source_plan_of(struct source *s, const struct weft_jfr_class *c)
{
	uint64_t *at = map_put(s->plans, &c, sizeof(void *), NULL);

	if (at && !*at)
		*at = (uintptr_t)new_plan(s, c);
	s->model.failed |= !at || !*at;
	return at ? (const struct plan *)(uintptr_t)*at : NULL;
}

/* ---- the passes */

/* Samples are most of a file, and the first pass need not decode them. */
static int source_wanted(const struct weft_jfr_class *c, void *arg)
{
	const char *name = weft_jfr_class_name(c);
	struct source *s = arg;
	const struct plan *p;

	if (s->second) {
		p = source_plan_of(s, c);
		return p && (p->role == ROLE_SAMPLE || p->take == facts_take_setting ||
			     (p->kinds & s->kinds));
	}
	return !sample_type_find(name) && (facts_taker(name) || join_is_contextual(c));
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
	return context_index_add(&s->contexts, thread, e->start_ns, e->start_ns + e->duration_ns,
				 items, count);
}

static void source_take_fact(struct source *s, const struct plan *p,
			     const struct weft_jfr_event_view *e)
{
	p->take(&(struct fact_event){&s->facts, &s->decoder, s->reader, e});
}

/* Gives every sample type that a chunk declares a row, for its settings. */
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
	int rc;

	if (e->chunk == s->chunk)
		return 0;
	s->chunk = e->chunk;
	rc = note_types(s);
	return rc ? rc : decoder_enter(&s->decoder, e->chunk);
}

static int start_pass(struct source *s, int second)
{
	weft_jfr_reader_free(s->reader);
	map_free_values(s->plans, free);
	s->plans = map_new();
	s->second = second;
	s->chunk = UINT64_MAX;
	errno = 0;
	s->reader = weft_jfr_open(s->path);
	if (!s->plans)
		return -ENOMEM;
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
	if (p->role == ROLE_CONTEXT)
		return source_take_context(s, p, e);
	if (p->role == ROLE_FACT)
		source_take_fact(s, p, e);
	return 0;
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
	context_index_seal(&s->contexts);
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

/* Is there another type in the file that would count the same time again? */
static int is_doubled(const struct source *s, const struct sample_type *type)
{
	const struct fact_type *other =
		type->yields_to ? facts_type_named(&s->facts, type->yields_to) : NULL;

	return other && other->events;
}

/* Periods are those that were told last; a type's first sample may tell one yet. */
static void settle_periods(struct source *s)
{
	struct fact_type *wall = facts_type_named(&s->facts, WALL_CLOCK_SAMPLE);
	const struct fact_type *cpu = facts_type_named(&s->facts, RECORDING_EXECUTION_SAMPLE);

	/* async-profiler started for wall-clock samples only tells their interval as CPU's. */
	if (wall && !wall->now_ns && cpu && !cpu->events)
		wall->now_ns = cpu->now_ns;
	for (uint32_t i = 0; i < s->facts.type_count; i++)
		s->facts.types[i].period_ns = s->facts.types[i].now_ns;
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

int source_open(struct source **out, const char *path, const char *which)
{
	struct source *s;
	int rc = -ENOMEM;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->facts.model = &s->model;
	s->path = strdup(path);
	if (which && !sample_type_choice(which)) {
		s->other = strdup(which);
		if (!s->other)
			goto err;
	}
	if (!s->path || model_init(&s->model))
		goto err;
	s->decoder =
		(struct decoder){.model = &s->model, .detail = DECODE_LINES, .chunk = UINT64_MAX};
	rc = source_first_pass(s);
	if (!rc)
		rc = model_error(&s->model);
	if (!rc && s->other && !facts_type_named(&s->facts, s->other))
		rc = *s->facts.damage ? -ENODATA : -EINVAL;
	if (rc)
		goto err;
	settle_periods(s);
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
	map_free_values(s->plans, free);
	decoder_free(&s->decoder);
	context_index_free(&s->contexts);
	free(s->effects);
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

static int is_met(const struct fact_type *t)
{
	return t->counted && t->events;
}

int source_is_sampled(const struct source *s)
{
	for (uint32_t i = 0; i < s->facts.type_count; i++)
		if (is_met(&s->facts.types[i]) && s->facts.types[i].lasts)
			return 0;
	return 1;
}

int source_has_states(const struct source *s)
{
	int has = 0;

	for (uint32_t i = 0; i < s->facts.type_count; i++) {
		if (!is_met(&s->facts.types[i]))
			continue;
		if (!type_of_fact(s, &s->facts.types[i])->has_states)
			return 0;
		has = 1;
	}
	return has;
}

int source_has_sites(const struct source *s)
{
	for (uint32_t i = 0; i < s->facts.type_count; i++)
		if (is_met(&s->facts.types[i]) && s->facts.types[i].lasts &&
		    type_of_fact(s, &s->facts.types[i]) != &sample_type_event)
			return 1;
	return 0;
}

/* ---- samples */

static uint64_t source_weight_of(const struct source *s, const struct plan *p, struct fact_type *t,
				 const struct weft_jfr_event_view *e)
{
	int64_t times = decode_number(at(e, p->times), 1);
	int64_t ticks = decode_number(at(e, p->ticks), 0);

	if (!t || !p->sample || sample_type_is_interval(p->sample))
		return e->duration_ns > 0 ? (uint64_t)e->duration_ns : 0;
	if (ticks > 0 && (p->times < 0 || !t->now_ns)) {
		uint64_t ns = (uint64_t)weft_jfr_ticks_ns(s->reader, ticks);

		if (p->times < 0 && !t->now_ns)
			t->period_ns = t->now_ns = ns;
		return ns;
	}
	if (times < 1 || (t->now_ns && (uint64_t)times > UINT64_MAX / t->now_ns))
		times = 1;
	return t->now_ns * (uint64_t)times;
}

/* By its thread's account, too, where the file has one. */
static uint64_t source_weigh(struct source *s, const struct plan *p, struct fact_type *t,
			     const struct weft_jfr_event_view *e, const struct sample *sample)
{
	uint64_t ns = s->counts ? 0 : source_weight_of(s, p, t, e);
	const char *state = names_text(&s->model.names, sample->state);

	if (!s->facts.time_count || !t || !p->sample || !p->sample->has_states || !sample->thread ||
	    !sample->state)
		return ns;
	return (uint64_t)llround(
		(double)ns * times_factor(&s->times, &s->facts, sample->thread, state, t->now_ns));
}

static uint64_t source_times_of(const struct plan *p, const struct weft_jfr_event_view *e)
{
	int64_t times = p->sample && p->sample->has_states ? decode_number(at(e, p->times), 1) : 1;

	return times > 1 ? (uint64_t)times : 1;
}

/* Of samples of CPU time: by how much their signals are fewer than their events. */
static int source_find_effects(struct source *s)
{
	const struct facts *f = &s->facts;

	if (s->effects || !account_has_effects(f))
		return 0;
	s->effects = calloc(f->clock_count, sizeof(*s->effects));
	for (uint32_t i = 0; s->effects && i < f->clock_count; i++)
		s->effects[i] = account_effect(f, f->clocks[i].process);
	return s->effects ? 0 : -ENOMEM;
}

static double effect_of(const struct source *s, const struct sample *sample)
{
	uint32_t process = model_thread_at(&s->model, sample->thread)->process;
	const struct fact_clock *c = NULL;

	if (s->effects && (sample->kinds & SAMPLE_ON_CPU) && sample->thread)
		c = facts_clock_of(&s->facts, process);
	return c ? s->effects[c - s->facts.clocks] : 1;
}

static struct draws source_draws(const struct source *s, const struct sample *sample)
{
	double effect = effect_of(s, sample);
	double weight = (double)(sample->weight_ns ? sample->weight_ns : sample->times);

	return (struct draws){1 / effect, weight, weight * weight * effect};
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
	file = key_base_name(file);
	if (*file && stack->frames[0].line)
		return names_id_format(names, "%s %s:%d", function, file,
				       (int)stack->frames[0].line);
	return stack->frames[0].offset ? names_id_format(names, "%s+0x%x", function,
							 (unsigned int)stack->frames[0].offset)
				       : stack->frames[0].function;
}

/* The last moment of an event: it is in the context in which it was committed. */
static int64_t sample_last_ns(const struct sample *sample)
{
	return sample->time_ns + (sample->duration_ns > 0 ? sample->duration_ns - 1 : 0);
}

/* After its own fields: what holds at its end, or at least held when it began. */
static void sample_add_context(const struct source *s, const struct plan *p, struct sample *sample)
{
	/* Runs and waits of coroutines have all of it in their own fields. */
	int is_whole =
		p->sample && p->sample != &sample_type_event && sample_type_is_interval(p->sample);

	if (!sample->thread_key || is_whole)
		return;
	if (sample_last_ns(sample) > sample->time_ns)
		context_index_ask(&s->contexts, sample->thread_key, sample_last_ns(sample),
				  &sample->context);
	if (sample->context.count == sample->own)
		context_index_ask(&s->contexts, sample->thread_key, sample->time_ns,
				  &sample->context);
}

static unsigned int source_kinds_of(const struct plan *p, const struct fact_type *t)
{
	return p->kinds | (t && t->counted ? SAMPLE_COUNTED : 0u);
}

static void source_make_sample(struct source *s, const struct plan *p, struct fact_type *t,
			       const struct weft_jfr_event_view *e, struct sample *out)
{
	struct context_item own[PLAN_FIELDS];
	uint32_t count = context_items(s, p, e, own);
	uint32_t stack;
	int is_context;

	out->time_ns = e->start_ns;
	out->duration_ns = e->duration_ns;
	out->type = p->name;
	out->thread_key = decode_thread_key(at(e, p->thread));
	is_context = out->thread_key && out->time_ns != INT64_MIN && count;
	out->kinds = source_kinds_of(p, t) & ~(is_context ? 0u : (unsigned int)SAMPLE_CONTEXT);
	out->times = source_times_of(p, e);
	out->state = decode_state(&s->decoder, at(e, p->state));
	out->thread = decode_thread(&s->decoder, at(e, p->thread));
	out->weight_ns = source_weigh(s, p, t, e, out);
	out->draws = source_draws(s, out);
	stack = decode_stack(&s->decoder, at(e, p->stack));
	out->stack = p->sample && p->sample != &sample_type_event ? stack
								  : model_below(&s->model, stack);
	out->site = site_of(s, p, e, out->stack);
	out->context.count = out->context.cut = 0;
	for (uint32_t i = 0; i < count; i++)
		context_add(&out->context, own[i]);
	out->own = out->context.count;
	sample_add_context(s, p, out);
}

static int second_event(struct source *s, const struct weft_jfr_event_view *e,
			struct sample *sample)
{
	struct fact_type *t = NULL;
	const struct plan *p;
	int rc = enter_chunk(s, e);

	p = rc ? NULL : source_plan_of(s, e->type);
	if (!p)
		return rc ? rc : -ENOMEM;
	if (p->take == facts_take_setting)
		source_take_fact(s, p, e);
	if (p->role == ROLE_SAMPLE) {
		t = facts_type(&s->facts, p->name);
		if (!t)
			return -ENOMEM;
	}
	if (!(source_kinds_of(p, t) & s->kinds))
		return 0;
	source_make_sample(s, p, t, e, sample);
	return (sample->kinds & s->kinds) != 0;
}

uint32_t source_contexts(const struct source *s, const struct sample *sample, uint32_t *out,
			 uint32_t room)
{
	int64_t end_ns = sample_last_ns(sample);
	uint32_t count = 0;

	if (sample->thread_key)
		count = context_index_holding(&s->contexts, sample->thread_key, end_ns, out, room);
	if (sample->thread_key && !count && end_ns > sample->time_ns)
		count = context_index_holding(&s->contexts, sample->thread_key, sample->time_ns,
					      out, room);
	return count;
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

int source_read(struct source *s, unsigned int kinds,
		int (*each)(const struct sample *sample, void *arg), void *arg)
{
	struct weft_jfr_event_view e;
	struct sample sample;
	int rc = start_pass(s, 1);

	s->kinds = kinds;
	if (!rc)
		rc = source_find_effects(s);
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
