/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the output: which one a source's type becomes, and which fields are not copied as is. */
#include "base/hash.h"
#include "jfr/merge/copy_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_FREE_ID UINT64_C(100000)
#define SHAPE_STEPS 8
#define FIRST_FREE_WORD 16 /* below are the numbers that converters know */

/* What a source's map of types leads to. */
enum place { PLACE_OF_NAME, PLACE_OF_ID };

static struct copy_type *pointer(const uint64_t *value)
{
	return (struct copy_type *)(uintptr_t)*value;
}

static enum copy_keys copy_types_keys_of(const struct weft_jfr_class *class)
{
	if (!class)
		return KEYS_FRESH;
	if (strcmp(class->name, "java.lang.Thread") == 0)
		return KEYS_STABLE;
	if (class->shape == CLASS_SIMPLE && strcmp(class->name, "jdk.types.Symbol") != 0 &&
	    !class->fields[0].pooled && !class->fields[0].array)
		return KEYS_KEPT;
	return KEYS_FRESH;
}

static int copy_types_take_id(struct copy *c, uint64_t id)
{
	int fresh = 0;

	if (!map_put(c->ids, &id, sizeof(id), &fresh))
		c->failed = -ENOMEM;
	return fresh;
}

/* 0 and 1 are metadata and checkpoints; converters read numbers as 31 bits. */
static uint64_t free_id(struct copy *c, int64_t wanted)
{
	if (wanted > 1 && wanted <= INT32_MAX && copy_types_take_id(c, (uint64_t)wanted))
		return (uint64_t)wanted;
	while (!copy_types_take_id(c, ++c->next_id))
		if (c->failed)
			return 0;
	return c->next_id;
}

static struct copy_type *new_type(struct copy *c, int64_t wanted_id,
				  const struct weft_jfr_class *class)
{
	struct copy_type *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->keys = copy_types_keys_of(class);
	t->next_key = t->keys == KEYS_KEPT ? FIRST_FREE_WORD : 0;
	if (c->next_id < FIRST_FREE_ID)
		c->next_id = FIRST_FREE_ID;
	t->id = free_id(c, wanted_id);
	t->taken = t->keys == KEYS_FRESH ? NULL : map_new();
	if (!t->id || (t->keys != KEYS_FRESH && !t->taken)) {
		free(t);
		return NULL;
	}
	t->next = c->types;
	c->types = t;
	return t;
}

/* How many types like this the source had before: a JVM may load one name twice. */
static uint64_t count_name(struct copy_source *s, const char *name, uint64_t shape)
{
	uint64_t *count =
		map_put_text(s->types, (uint64_t[3]){PLACE_OF_NAME, shape}, 3, name, NULL);

	return count ? (*count)++ : UINT64_MAX;
}

/* What a number of a source stands for. */
struct declared {
	int64_t id;
	uint64_t shape;
	const char *name; /* "": it is not declared */
	const struct weft_jfr_class *class;
};

static struct copy_type *find_by_name(struct copy_source *s, const struct declared *d)
{
	uint64_t ordinal = count_name(s, d->name, d->shape), *place = NULL;
	/* what is not declared has nothing in common with that of others */
	uint64_t owner = d->class ? 0 : (uintptr_t)s;

	if (ordinal != UINT64_MAX)
		place = map_put_text(s->copy->by_name, (uint64_t[3]){ordinal, d->shape, owner}, 3,
				     d->name, NULL);
	if (place && !*place)
		*place = (uintptr_t)new_type(s->copy, d->id, d->class);
	return place ? pointer(place) : NULL;
}

static struct copy_type *copy_types_type_of(struct copy_source *s, const struct declared *d)
{
	const uint64_t key[3] = {PLACE_OF_ID, d->shape, (uint64_t)d->id};
	uint64_t *place = map_put_text(s->types, key, 3, d->name, NULL);
	struct copy_type *type = NULL;

	if (place && *place)
		return pointer(place);
	if (place)
		type = find_by_name(s, d);
	/* what was put since may have moved it */
	if (type)
		place = map_put_text(s->types, key, 3, d->name, NULL);
	if (!type || !place) {
		s->copy->failed = -ENOMEM;
		return NULL;
	}
	*place = (uintptr_t)type;
	return type;
}

struct copy_type *copy_type_undeclared(struct copy_source *s, int64_t id)
{
	return copy_types_type_of(s, &(struct declared){.id = id, .name = ""});
}

/* ---- shapes */

static uint64_t hash_text(uint64_t seed, const char *text)
{
	return text ? hash_bytes(text, strlen(text), seed) : hash_mix(seed);
}

static uint64_t own_shape(const struct weft_jfr_class *class)
{
	uint64_t shape = hash_text(hash_text(class->simple, class->name), class->super);

	for (size_t i = 0; i < class->field_count; i++) {
		const struct class_field *f = &class->fields[i];

		shape = hash_text(shape ^ (uint64_t)(f->pooled << 1 | f->array), f->name);
	}
	return shape;
}

/* The shape with those of the fields' types in it: each call looks one step further. */
static uint64_t wider_shape(const struct weft_jfr_class *class, const uint64_t *shapes)
{
	uint64_t shape = shapes[class->index];

	for (size_t i = 0; i < class->field_count; i++) {
		const struct weft_jfr_class *type = class->fields[i].type;

		shape = hash_mix(shape * 31 + (type ? shapes[type->index] : 0));
	}
	return shape;
}

/* Types look the same when all that can be reached from them does, at least SHAPE_STEPS far. */
static uint64_t *shapes_of(const struct class_set *set)
{
	uint64_t *shapes = calloc(2 * ((size_t)set->count + 1), sizeof(*shapes));
	uint64_t *next = shapes ? shapes + set->count : NULL;

	for (uint32_t i = 0; shapes && i < set->count; i++)
		shapes[i] = own_shape(set->list[i]);
	for (int step = 0; shapes && step < SHAPE_STEPS; step++) {
		for (uint32_t i = 0; i < set->count; i++)
			next[i] = wider_shape(set->list[i], shapes);
		memcpy(shapes, next, set->count * sizeof(*shapes));
	}
	return shapes;
}

/* ---- fields */

static int copy_types_is_ticks(const struct class_field *f, const char *annotation)
{
	for (size_t i = 0; i < f->notes.count; i++) {
		const struct weft_jfr_annotation_view *a = &f->notes.array[i];

		if (a->name && strcmp(a->name, annotation) == 0)
			return a->count && strcmp(a->value[0], "TICKS") == 0;
	}
	return 0;
}

static uint8_t flags_of(const struct weft_jfr_class *class, size_t i)
{
	const struct class_field *f = &class->fields[i];

	if (strcmp(f->name, "stackTrace") == 0 && f->pooled && !f->array && class->is_event)
		return COPY_STACK;
	if (!f->type || f->type->shape != CLASS_LONG || f->pooled)
		return 0;
	if ((class->timed && i == 0) || copy_types_is_ticks(f, "jdk.jfr.Timestamp"))
		return COPY_TICKS_AT;
	if ((class->lasts && i == 1) || copy_types_is_ticks(f, "jdk.jfr.Timespan"))
		return COPY_TICKS_FOR;
	if (strcmp(f->name, "id") == 0 && strcmp(class->name, "jdk.ActiveSetting") == 0)
		return COPY_TYPE_ID;
	return 0;
}

static int note_class(struct copy_source *s, struct copy_class *to,
		      const struct weft_jfr_class *class, uint64_t shape)
{
	to->type = copy_types_type_of(s, &(struct declared){class->id, shape, class->name, class});
	to->flags = calloc(class->field_count + 1, 1);
	if (!to->type || !to->flags)
		return -ENOMEM;
	for (size_t i = 0; i < class->field_count; i++)
		to->flags[i] = flags_of(class, i);
	return 0;
}

static void free_set(struct copy_set *set)
{
	if (!set)
		return;
	for (uint32_t i = 0; set->classes && i < set->count; i++) {
		free(set->classes[i].flags);
		buf_free(&set->classes[i].values);
	}
	free(set->classes);
	buf_free(&set->metadata);
	free(set);
}

static struct copy_set *new_set(struct copy_source *s, const struct class_set *from)
{
	struct copy_set *set = calloc(1, sizeof(*set));
	uint64_t *shapes = shapes_of(from);
	int err = 0;

	if (set) {
		set->set = from;
		set->count = from->count;
		set->classes = calloc(from->count + (size_t)1, sizeof(*set->classes));
	}
	if (!set || !set->classes || !shapes)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < from->count; i++)
		err = note_class(s, &set->classes[i], from->list[i], shapes[i]);
	free(shapes);
	if (!err)
		err = copy_metadata(s, set);
	if (err) {
		free_set(set);
		errno = -err;
		return NULL;
	}
	set->metadata_id = ++s->copy->next_metadata_id;
	set->next = s->sets;
	s->sets = set;
	return set;
}

struct copy_set *copy_set_of(struct copy_source *s)
{
	for (struct copy_set *set = s->sets; set; set = set->next)
		if (set->set == s->reader->classes)
			return set;
	return new_set(s, s->reader->classes);
}

void copy_sets_free(struct copy_source *s)
{
	while (s->sets) {
		struct copy_set *next = s->sets->next;

		free_set(s->sets);
		s->sets = next;
	}
}

void copy_types_free(struct copy *c)
{
	while (c->types) {
		struct copy_type *next = c->types->next;

		if (c->types->taken)
			map_free(c->types->taken);
		free(c->types);
		c->types = next;
	}
}
