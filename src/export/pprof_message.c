/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From groups of samples to a Profile message. What the message points to is memory of struct
 * message, freed at once. Things that samples refer to are numbered from 1 in the order of first
 * use: a map gives the number of what tells them apart.
 */
#include "export/pprof.h"

#include "base/map.h"
#include "jfr/common/arena.h"
#include "profile.pb-c.h"
#include "report/read/types.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef Perftools__Profiles__Profile Profile;
typedef Perftools__Profiles__Sample Sample;
typedef Perftools__Profiles__Label Label;
typedef Perftools__Profiles__Location Location;
typedef Perftools__Profiles__Line Line;
typedef Perftools__Profiles__Function Function;
typedef Perftools__Profiles__Mapping Mapping;
typedef Perftools__Profiles__ValueType ValueType;

#define VALUES 2              /* of a sample: count, time */
#define GZIP_WINDOW (15 + 16) /* zlib: 32 KiB, and a gzip header */

/* What tells a thing apart: a map's key. */
struct numbers {
	const uint32_t *number;
	size_t count;
};

struct message {
	struct pprof *p;
	const struct model *model;
	const struct facts *facts;
	struct map *functions; /* name and file */
	struct map *mappings;  /* module */
	struct map *pairs;     /* label: key and value */
	/* Code of one address as a reader sees it: the mapping, then function and line each of
	 * those that were inlined, innermost first, and of what they were inlined into. */
	struct map *places;
	struct arena memory;
	Profile profile;
	ValueType value_type[VALUES], *value_types[VALUES], period_type;
	/* Of each stack of the model, once it is used: its places, leaf first. */
	uint64_t **stack_ids;
	uint32_t *stack_places;
	uint32_t scratch[1 + 2 * STACK_FRAMES_MAX]; /* of a place */
	int has_time;
};

/* Zeros, freed with the message; NULL: out of memory. */
static void *message_alloc(struct message *w, size_t count, size_t each)
{
	return arena_zalloc(&w->memory, count * each);
}

/* Messages of a kind, empty, as the message that has them wants them; NULL: out of memory. */
static void *message_list(struct message *w, const ProtobufCMessageDescriptor *kind, size_t count)
{
	void **list = message_alloc(w, count, sizeof(*list));
	char *items = message_alloc(w, count, kind->sizeof_message);

	if (!list || !items)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		list[i] = items + i * kind->sizeof_message;
		kind->message_init(list[i]);
	}
	return list;
}

/* The number of a thing, a new one if it is new; 0: out of memory. */
static uint32_t message_number(struct map *things, const uint32_t *number, size_t count)
{
	uint64_t *id = map_put(things, number, count * sizeof(*number), NULL);

	if (id && !*id)
		*id = map_count(things);
	return id ? (uint32_t)*id : 0;
}

/* All things of a map that is complete, in the order of their numbers; NULL: out of memory. */
static const struct numbers *message_things(struct message *w, const struct map *things)
{
	struct numbers *list = message_alloc(w, map_count(things), sizeof(*list));
	size_t cursor = 0, bytes;
	const void *key;
	uint64_t *id;

	while (list && map_next(things, &cursor, &key, &bytes, &id))
		list[*id - 1] = (struct numbers){key, bytes / sizeof(uint32_t)};
	return list;
}

/* The place of frames[0 .. count), each inlined into the next; 0: out of memory. */
static uint32_t place_id(struct message *w, const struct frame *frames, uint32_t count)
{
	uint32_t *to = w->scratch, module = frames[count - 1].module;

	to[0] = module ? message_number(w->mappings, &module, 1) : 0;
	if (module && !to[0])
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t function[2] = {frames[i].function, frames[i].file};

		to[1 + 2 * i] = message_number(w->functions, function, 2);
		to[2 + 2 * i] = frames[i].line > 0 ? (uint32_t)frames[i].line : 0;
		if (!to[1 + 2 * i])
			return 0;
	}
	return message_number(w->places, to, 1 + 2 * (size_t)count);
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
	const struct facts *f = w->facts;
	const char *command = f->process_count ? facts_name(f, f->processes[0].command_line) : "";
	char path[256];
	uint32_t name;

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(command, " "), command);
	name = names_find(&w->model->names, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	if (!name || !is_module(w->model, name))
		return 0;
	return message_number(w->mappings, &name, 1) ? 0 : -ENOMEM;
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
	ids = message_alloc(w, stack->count, sizeof(*ids));
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

/* The labels of all groups, group by group; equal ones are one message. */
static Label **message_labels(struct message *w, const struct numbers *groups)
{
	size_t count = map_count(w->p->groups), total = 0;
	const struct numbers *pairs;
	Label **labels, **distinct;

	for (size_t i = 0; i < count; i++)
		for (size_t n = 0; n + 2 < groups[i].count; n += 2, total++)
			if (!message_number(w->pairs, groups[i].number + n, 2))
				return NULL;
	labels = message_alloc(w, total, sizeof(*labels));
	pairs = message_things(w, w->pairs);
	distinct = message_list(w, &perftools__profiles__label__descriptor, map_count(w->pairs));
	if (!labels || !pairs || !distinct)
		return NULL;
	for (size_t i = 0; i < map_count(w->pairs); i++) {
		distinct[i]->key = pairs[i].number[0];
		distinct[i]->str = pairs[i].number[1];
	}
	total = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t n = 0; n + 2 < groups[i].count; n += 2)
			labels[total++] =
				distinct[message_number(w->pairs, groups[i].number + n, 2) - 1];
	return labels;
}

static int message_sample(struct message *w, Sample *s, uint32_t stack, const struct pprof_sum *sum)
{
	s->n_value = w->has_time ? VALUES : 1;
	s->value[0] = (int64_t)sum->samples;
	s->value[1] = sum->ns > INT64_MAX ? INT64_MAX : (int64_t)sum->ns;
	s->location_id = stack_locations(w, stack, model_stack_at(w->model, stack));
	s->n_location_id = w->stack_places[stack];
	return s->location_id ? 0 : -ENOMEM;
}

static int make_samples(struct message *w)
{
	const struct numbers *groups = message_things(w, w->p->groups);
	size_t count = map_count(w->p->groups);
	Sample **samples = message_list(w, &perftools__profiles__sample__descriptor, count);
	int64_t *values = message_alloc(w, count, VALUES * sizeof(*values));
	Label **labels = groups ? message_labels(w, groups) : NULL;

	w->stack_ids = message_alloc(w, w->model->stack_count, sizeof(*w->stack_ids));
	w->stack_places = message_alloc(w, w->model->stack_count, sizeof(*w->stack_places));
	if (!samples || !values || !labels || !w->stack_ids || !w->stack_places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		samples[i]->value = values + i * VALUES;
		samples[i]->label = labels;
		samples[i]->n_label = groups[i].count / 2 - 1;
		labels += samples[i]->n_label;
		if (message_sample(w, samples[i], groups[i].number[groups[i].count - 2],
				   &w->p->sums[i]))
			return -ENOMEM;
	}
	w->profile.sample = samples;
	w->profile.n_sample = count;
	return 0;
}

/* ---- what samples refer to */

static uint32_t pprof_message_string_of(struct message *w, uint32_t name, const char *otherwise)
{
	const char *text = names_text(&w->model->names, name);

	return names_id(&w->p->strings, *text ? text : otherwise);
}

static int make_functions(struct message *w)
{
	const struct numbers *things = message_things(w, w->functions);
	size_t count = map_count(w->functions);
	Function **list = message_list(w, &perftools__profiles__function__descriptor, count);

	if (!things || !list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		list[i]->id = i + 1;
		/* A system name that differs tells readers that the name is demangled. */
		list[i]->name =
			pprof_message_string_of(w, things[i].number[0], KEY_UNKNOWN_FUNCTION);
		list[i]->filename = pprof_message_string_of(w, things[i].number[1], "");
	}
	w->profile.function = list;
	w->profile.n_function = count;
	return 0;
}

/* The file of a module; the first where several had its name. NULL: not told. */
static const struct fact_module *pprof_message_file_of(const struct message *w, uint32_t module)
{
	for (uint32_t i = 0; i < w->facts->module_count; i++)
		if (w->facts->modules[i].name == module && w->facts->modules[i].path)
			return &w->facts->modules[i];
	return NULL;
}

static int make_mappings(struct message *w)
{
	const struct numbers *things = message_things(w, w->mappings);
	size_t count = map_count(w->mappings);
	Mapping **list = message_list(w, &perftools__profiles__mapping__descriptor, count);

	if (!things || !list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint32_t module = *things[i].number;
		const struct fact_module *file = pprof_message_file_of(w, module);
		Mapping *m = list[i];

		m->id = i + 1;
		m->filename = pprof_message_string_of(w, file ? file->path : module, "");
		m->build_id = pprof_message_string_of(w, file ? file->build_id : 0, "");
		/* or readers would look for the file and its symbols */
		m->has_functions = m->has_filenames = 1;
		m->has_line_numbers = m->has_inline_frames = 1;
	}
	w->profile.mapping = list;
	w->profile.n_mapping = count;
	return 0;
}

static int make_locations(struct message *w)
{
	const struct numbers *things = message_things(w, w->places);
	size_t count = map_count(w->places), line_count = 0;
	Location **list = message_list(w, &perftools__profiles__location__descriptor, count);
	Line **line;

	for (size_t i = 0; things && i < count; i++)
		line_count += things[i].count / 2;
	line = message_list(w, &perftools__profiles__line__descriptor, line_count);
	if (!things || !list || !line)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		list[i]->id = i + 1;
		list[i]->mapping_id = things[i].number[0];
		list[i]->line = line;
		list[i]->n_line = things[i].count / 2;
		for (size_t n = 1; n < things[i].count; n += 2, line++) {
			(*line)->function_id = things[i].number[n];
			(*line)->line = things[i].number[n + 1];
		}
	}
	w->profile.location = list;
	w->profile.n_location = count;
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
	const struct sample_type *type;
	const char *time = "wall";
	uint64_t period_ns = 0;

	for (uint32_t i = 0; i < w->facts->type_count; i++) {
		const struct fact_type *t = &w->facts->types[i];

		if (!t->counted || !t->events)
			continue;
		type = sample_type_find(facts_name(w->facts, t->name));
		if (type && type->clock == SAMPLE_CPU)
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
	const char *time = set_period(w);

	w->profile.time_nanos = w->facts->start_ns;
	w->profile.duration_nanos = (int64_t)facts_duration(w->facts);
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
	w->functions = map_new();
	w->mappings = map_new();
	w->pairs = map_new();
	w->places = map_new();
	if (!w->functions || !w->mappings || !w->pairs || !w->places)
		return -ENOMEM;
	make_head(w);
	if (map_program(w) || make_samples(w) || make_functions(w) || make_mappings(w) ||
	    make_locations(w))
		return -ENOMEM;
	/* last, for everything above adds strings */
	w->profile.string_table = w->p->strings.text;
	w->profile.n_string_table = w->p->strings.count;
	return w->p->strings.failed ? -ENOMEM : 0;
}

static void message_free(struct message *w)
{
	map_free(w->functions);
	map_free(w->mappings);
	map_free(w->pairs);
	map_free(w->places);
	arena_free(&w->memory);
}

static int gzip_write(struct output *o, z_stream *z)
{
	unsigned char out[16 * 1024];
	int state, rc;

	do {
		z->next_out = out;
		z->avail_out = sizeof(out);
		state = deflate(z, Z_FINISH);
		rc = output_write(o, out, sizeof(out) - z->avail_out);
	} while (!rc && state == Z_OK);
	return rc || state == Z_STREAM_END ? rc : -EIO;
}

static int gzip_message(struct output *o, const ProtobufCMessage *message)
{
	size_t bytes = protobuf_c_message_get_packed_size(message);
	unsigned char *packed = bytes <= UINT_MAX ? malloc(bytes + 1) : NULL;
	z_stream z = {.next_in = packed, .avail_in = (uInt)bytes};
	int rc = -ENOMEM;

	if (packed && deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
				   Z_DEFAULT_STRATEGY) == Z_OK) {
		protobuf_c_message_pack(message, packed);
		rc = gzip_write(o, &z);
		deflateEnd(&z);
	}
	free(packed);
	return rc;
}

int pprof_end(struct export_job *x)
{
	struct message w = {
		.p = x->state, .model = source_model(x->source), .facts = source_facts(x->source)};
	int rc;

	perftools__profiles__profile__init(&w.profile);
	rc = make_all(&w);
	if (!rc)
		rc = gzip_message(x->output, &w.profile.base);
	message_free(&w);
	return rc;
}
