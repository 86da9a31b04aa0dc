/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From groups of samples to a Profile message. All its parts are arrays of one block each,
 * owned by struct message; the message only points into them.
 */
#include "export/pprof.h"

#include "base/array.h"

#include "base/map.h"
#include "export/gzip.h"
#include "profile.pb-c.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef Perftools__Profiles__Profile Profile;
typedef Perftools__Profiles__Sample Sample;
typedef Perftools__Profiles__Label Label;
typedef Perftools__Profiles__Location Location;
typedef Perftools__Profiles__Line Line;
typedef Perftools__Profiles__Function Function;
typedef Perftools__Profiles__Mapping Mapping;
typedef Perftools__Profiles__ValueType ValueType;

#define VALUES 2 /* of a sample: count, time */

/* Distinct things in the order of first use: ids from 1. */
struct table {
	struct map *index;
	uint32_t *item; /* what each stands for, [room]; width numbers each */
	uint32_t count, room, width;
};

/* Code of one address as a reader sees it: the function there, and before it those that were
 * inlined into it, innermost first. */
struct place {
	uint32_t mapping, first_line, line_count; /* lines: in message.places' line pool */
};

struct place_line {
	uint32_t function, line;
};

struct places {
	struct map *index; /* mapping and lines -> number of the place, from 1 */
	struct place *item;
	struct place_line *lines;
	uint32_t count, line_count;
	size_t room, line_room;
};

struct message {
	const struct export *x;
	struct pprof *p;
	struct table functions, mappings, pairs; /* name and file; module; labels */
	struct places places;
	uint32_t *key; /* scratch of a place: mapping, then function and line each */
	Profile profile;
	ValueType value_type[VALUES], *value_types[VALUES], period_type;
	Sample *sample, **samples;
	Label *label, **labels;
	/* Of each stack of the model, once it is used: its places, leaf first. */
	uint64_t **stack_ids;
	uint32_t *stack_places;
	uint32_t stack_count;
	int64_t *values;
	Location *location, **location_list;
	Line *line, **lines;
	Function *function, **function_list;
	Mapping *mapping, **mapping_list;
	int has_time;
};

/* ---- tables of distinct things */

static int pprof_message_table_init(struct table *t, uint32_t width)
{
	t->width = width;
	t->index = map_new();
	return t->index ? 0 : -ENOMEM;
}

static void pprof_message_table_free(struct table *t)
{
	map_free(t->index);
	free(t->item);
}

/* 0: out of memory. */
static uint32_t table_id(struct table *t, const uint32_t *item)
{
	uint64_t *id = map_put(t->index, item, t->width * sizeof(*item), NULL);
	uint32_t *bigger;

	if (!id || *id)
		return id ? (uint32_t)*id : 0;
	if (t->count == t->room) {
		uint32_t room = t->room ? t->room * 2 : 256;

		bigger = realloc(t->item, (size_t)room * t->width * sizeof(*bigger));
		if (!bigger)
			return 0;
		t->item = bigger;
		t->room = room;
	}
	memcpy(t->item + (size_t)t->count * t->width, item, t->width * sizeof(*item));
	*id = ++t->count;
	return t->count;
}

/* Room for one more element in an array that doubles; NULL: out of memory. */
static int pprof_message_add_place(struct places *t, const uint32_t *key, uint32_t lines)
{
	struct place *item = array_grown(t->item, t->count + 1, &t->room, sizeof(*item));
	struct place_line *pool;

	if (item)
		t->item = item;
	pool = array_grown(t->lines, t->line_count + lines, &t->line_room, sizeof(*pool));
	if (pool)
		t->lines = pool;
	if (!item || !pool)
		return -ENOMEM;
	item[t->count++] = (struct place){key[0], t->line_count, lines};
	memcpy(pool + t->line_count, key + 1, lines * sizeof(*pool));
	t->line_count += lines;
	return 0;
}

/* Of frames[0 .. count), all but the last inlined into the next; 0: out of memory. */
static uint32_t place_id(struct message *w, const struct frame *frames, uint32_t count)
{
	uint32_t *key = w->key, module = frames[count - 1].module;
	uint64_t *id;

	key[0] = module ? table_id(&w->mappings, &module) : 0;
	if (module && !key[0])
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t function[2] = {frames[i].function, frames[i].file};

		key[1 + 2 * i] = table_id(&w->functions, function);
		key[2 + 2 * i] = frames[i].line > 0 ? (uint32_t)frames[i].line : 0;
		if (!key[1 + 2 * i])
			return 0;
	}
	id = map_put(w->places.index, key, (1 + 2 * (size_t)count) * sizeof(*key), NULL);
	if (!id)
		return 0;
	if (!*id && pprof_message_add_place(&w->places, key, count))
		return 0;
	if (!*id)
		*id = w->places.count;
	return (uint32_t)*id;
}

/* ---- samples */

static int is_module(const struct model *m, uint32_t name)
{
	for (uint32_t id = 1; id < m->stack_count; id++)
		for (uint32_t i = 0; i < m->stacks[id].count; i++)
			if (m->stacks[id].frames[i].module == name)
				return 1;
	return 0;
}

/* Readers take the first mapping for the program's own: that of the first process. */
static int map_program(struct message *w)
{
	const struct model *m = source_model(w->x->source);
	const struct facts *f = source_facts(w->x->source);
	const char *command =
		f->process_count ? names_text(&m->names, f->processes[0].command_line) : "";
	char path[256];
	uint32_t name;

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(command, " "), command);
	name = names_find(&m->names, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	if (!name || !is_module(m, name))
		return 0;
	return table_id(&w->mappings, &name) ? 0 : -ENOMEM;
}

/* How many frames from @from on are one place: inlined ones, and what they are inlined into. */
static uint32_t pprof_message_place_frames(const struct stack *stack, uint32_t from)
{
	uint32_t end = from;

	while (end + 1 < stack->count && stack->frames[end].inlined)
		end++;
	return end + 1 - from;
}

/* Location ids of a stack, leaf first; samples of one stack share them. NULL: no memory. */
static uint64_t *stack_locations(struct message *w, uint32_t id, const struct stack *stack)
{
	uint64_t *ids = w->stack_ids[id];
	uint32_t count = 0;

	if (ids)
		return ids;
	ids = calloc((size_t)stack->count + 1, sizeof(*ids));
	w->stack_ids[id] = ids;
	for (uint32_t i = 0, n; ids && i < stack->count; i += n) {
		n = pprof_message_place_frames(stack, i);
		ids[count] = place_id(w, stack->frames + i, n);
		if (!ids[count++])
			return NULL;
	}
	w->stack_places[id] = count;
	return ids;
}

static uint32_t longest_stack(const struct model *m)
{
	uint32_t most = 0;

	for (uint32_t id = 1; id < m->stack_count; id++)
		if (m->stacks[id].count > most)
			most = m->stacks[id].count;
	return most;
}

/* Every distinct label is one message, to which the samples point. */
static int pprof_message_make_labels(struct message *w)
{
	const struct table *t = &w->pairs;

	for (uint32_t i = 0; i < w->p->label_count; i++)
		if (!table_id(&w->pairs, &w->p->labels[i].key))
			return -ENOMEM;
	w->label = calloc((size_t)t->count + 1, sizeof(*w->label));
	w->labels = calloc((size_t)w->p->label_count + 1, sizeof(*w->labels));
	if (!w->label || !w->labels)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		perftools__profiles__label__init(&w->label[i]);
		w->label[i].key = t->item[2 * i];
		w->label[i].str = t->item[2 * i + 1];
	}
	for (uint32_t i = 0; i < w->p->label_count; i++)
		w->labels[i] = &w->label[table_id(&w->pairs, &w->p->labels[i].key) - 1];
	return 0;
}

static int pprof_message_make_sample(struct message *w, Sample *s, const struct pprof_group *g,
				     int64_t *values)
{
	const struct stack *stack = model_stack_at(source_model(w->x->source), g->stack);

	perftools__profiles__sample__init(s);
	s->value = values;
	s->n_value = w->has_time ? VALUES : 1;
	s->value[0] = (int64_t)g->samples;
	s->value[1] = g->ns > INT64_MAX ? INT64_MAX : (int64_t)g->ns;
	s->label = w->labels + g->labels;
	s->n_label = g->label_count;
	s->location_id = stack_locations(w, g->stack, stack);
	s->n_location_id = w->stack_places[g->stack];
	return s->location_id ? 0 : -ENOMEM;
}

static int make_samples(struct message *w)
{
	size_t count = w->p->group_count;

	w->stack_count = source_model(w->x->source)->stack_count;
	w->stack_ids = calloc((size_t)w->stack_count + 1, sizeof(*w->stack_ids));
	w->stack_places = calloc((size_t)w->stack_count + 1, sizeof(*w->stack_places));
	w->key = calloc(1 + 2 * (size_t)longest_stack(source_model(w->x->source)), sizeof(*w->key));
	w->sample = calloc(count + 1, sizeof(*w->sample));
	w->samples = calloc(count + 1, sizeof(*w->samples));
	w->values = calloc(count + 1, VALUES * sizeof(*w->values));
	if (!w->stack_ids || !w->stack_places || !w->key || !w->sample || !w->samples ||
	    !w->values || pprof_message_make_labels(w))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		w->samples[i] = &w->sample[i];
		if (pprof_message_make_sample(w, &w->sample[i], &w->p->group[i],
					      w->values + i * VALUES))
			return -ENOMEM;
	}
	w->profile.sample = w->samples;
	w->profile.n_sample = count;
	return 0;
}

/* ---- what samples refer to */

static uint32_t pprof_message_string_of(struct message *w, uint32_t name, const char *otherwise)
{
	const char *text = names_text(&source_model(w->x->source)->names, name);

	return names_id(&w->p->strings, *text ? text : otherwise);
}

static int make_functions(struct message *w)
{
	const struct table *t = &w->functions;

	w->function = calloc((size_t)t->count + 1, sizeof(*w->function));
	w->function_list = calloc((size_t)t->count + 1, sizeof(*w->function_list));
	if (!w->function || !w->function_list)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		Function *f = &w->function[i];

		perftools__profiles__function__init(f);
		f->id = i + 1;
		/* A system name that differs tells readers that the name is demangled. */
		f->name = pprof_message_string_of(w, t->item[2 * i], KEY_UNKNOWN_FUNCTION);
		f->filename = pprof_message_string_of(w, t->item[2 * i + 1], "");
		w->function_list[i] = f;
	}
	w->profile.function = w->function_list;
	w->profile.n_function = t->count;
	return 0;
}

/* The file of a module; the first where several had its name. NULL: not told. */
static const struct fact_module *pprof_message_file_of(const struct message *w, uint32_t module)
{
	const struct facts *f = source_facts(w->x->source);

	for (uint32_t i = 0; i < f->module_count; i++)
		if (f->modules[i].name == module && f->modules[i].path)
			return &f->modules[i];
	return NULL;
}

static int make_mappings(struct message *w)
{
	const struct table *t = &w->mappings;

	w->mapping = calloc((size_t)t->count + 1, sizeof(*w->mapping));
	w->mapping_list = calloc((size_t)t->count + 1, sizeof(*w->mapping_list));
	if (!w->mapping || !w->mapping_list)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct fact_module *file = pprof_message_file_of(w, t->item[i]);
		Mapping *m = &w->mapping[i];

		perftools__profiles__mapping__init(m);
		m->id = i + 1;
		m->filename = pprof_message_string_of(w, file ? file->path : t->item[i], "");
		m->build_id = pprof_message_string_of(w, file ? file->build_id : 0, "");
		/* or readers would look for the file and its symbols */
		m->has_functions = m->has_filenames = 1;
		m->has_line_numbers = m->has_inline_frames = 1;
		w->mapping_list[i] = m;
	}
	w->profile.mapping = w->mapping_list;
	w->profile.n_mapping = t->count;
	return 0;
}

static void pprof_message_make_lines(struct message *w)
{
	for (uint32_t i = 0; i < w->places.line_count; i++) {
		perftools__profiles__line__init(&w->line[i]);
		w->line[i].function_id = w->places.lines[i].function;
		w->line[i].line = w->places.lines[i].line;
		w->lines[i] = &w->line[i];
	}
}

static int make_locations(struct message *w)
{
	const struct places *t = &w->places;

	w->location = calloc((size_t)t->count + 1, sizeof(*w->location));
	w->location_list = calloc((size_t)t->count + 1, sizeof(*w->location_list));
	w->line = calloc((size_t)t->line_count + 1, sizeof(*w->line));
	w->lines = calloc((size_t)t->line_count + 1, sizeof(*w->lines));
	if (!w->location || !w->location_list || !w->line || !w->lines)
		return -ENOMEM;
	pprof_message_make_lines(w);
	for (uint32_t i = 0; i < t->count; i++) {
		Location *l = &w->location[i];

		perftools__profiles__location__init(l);
		l->id = i + 1;
		l->mapping_id = t->item[i].mapping;
		l->line = w->lines + t->item[i].first_line;
		l->n_line = t->item[i].line_count;
		w->location_list[i] = l;
	}
	w->profile.location = w->location_list;
	w->profile.n_location = t->count;
	return 0;
}

/* ---- the whole */

static void pprof_message_set_type(struct message *w, ValueType *v, const char *type,
				   const char *unit)
{
	perftools__profiles__value_type__init(v);
	v->type = names_id(&w->p->strings, type);
	v->unit = names_id(&w->p->strings, unit);
}

/* Time is "cpu" unless all that was counted was wall-clock samples. */
static const char *set_period(struct message *w)
{
	const struct facts *f = source_facts(w->x->source);
	const struct model *m = source_model(w->x->source);
	const char *time = "wall";
	uint64_t period_ns = 0;

	for (uint32_t i = 0; i < f->type_count; i++) {
		const struct fact_type *t = &f->types[i];

		if (!t->counted || !t->events)
			continue;
		if (source_type_is_cpu(names_text(&m->names, t->name)))
			time = "cpu";
		if (!period_ns)
			period_ns = t->period_ns;
	}
	w->has_time = period_ns != 0;
	w->profile.period = (int64_t)period_ns;
	return time;
}

static void make_head(struct message *w)
{
	const struct facts *f = source_facts(w->x->source);
	const char *time = set_period(w);

	w->profile.time_nanos = f->start_ns;
	w->profile.duration_nanos = f->end_ns > f->start_ns ? f->end_ns - f->start_ns : 0;
	pprof_message_set_type(w, &w->value_type[0], "samples", "count");
	pprof_message_set_type(w, &w->value_type[1], time, "nanoseconds");
	for (int i = 0; i < VALUES; i++)
		w->value_types[i] = &w->value_type[i];
	w->profile.sample_type = w->value_types;
	w->profile.n_sample_type = w->has_time ? VALUES : 1;
	w->profile.default_sample_type = w->value_type[w->has_time].type;
	if (w->has_time) {
		pprof_message_set_type(w, &w->period_type, time, "nanoseconds");
		w->profile.period_type = &w->period_type;
	}
}

static int make_all(struct message *w)
{
	w->places.index = map_new();
	if (pprof_message_table_init(&w->functions, 2) ||
	    pprof_message_table_init(&w->mappings, 1) || pprof_message_table_init(&w->pairs, 2) ||
	    !w->places.index)
		return -ENOMEM;
	make_head(w);
	if (map_program(w) || make_samples(w) || make_functions(w) || make_mappings(w) ||
	    make_locations(w))
		return -ENOMEM;
	/* Last: everything above adds strings. */
	w->profile.string_table = w->p->strings.text;
	w->profile.n_string_table = w->p->strings.count;
	return w->p->strings.failed ? -ENOMEM : 0;
}

static void pprof_message_free_all(struct message *w)
{
	pprof_message_table_free(&w->functions);
	pprof_message_table_free(&w->mappings);
	map_free(w->places.index);
	free(w->places.item);
	free(w->places.lines);
	pprof_message_table_free(&w->pairs);
	for (uint32_t i = 0; w->stack_ids && i < w->stack_count; i++)
		free(w->stack_ids[i]);
	free(w->stack_ids);
	free(w->stack_places);
	free(w->key);
	free(w->sample);
	free(w->samples);
	free(w->values);
	free(w->label);
	free(w->labels);
	free(w->location);
	free(w->location_list);
	free(w->line);
	free(w->lines);
	free(w->function);
	free(w->function_list);
	free(w->mapping);
	free(w->mapping_list);
}

int pprof_end(struct export *x)
{
	struct message w = {.x = x, .p = x->state};
	int rc;

	perftools__profiles__profile__init(&w.profile);
	rc = make_all(&w);
	if (!rc)
		rc = gzip_message(x->output, &w.profile.base);
	pprof_message_free_all(&w);
	return rc;
}
