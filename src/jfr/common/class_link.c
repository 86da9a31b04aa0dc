/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links the types of a set, once the tree is read: ids of types in fields, annotations and
 * settings become pointers, and lists that were made newest first become arrays in order.
 */
#include "jfr/common/classes.h"

#include <stdlib.h>
#include <string.h>

#define DEEPEST_STRUCT 32

static int build_table(struct class_set *set)
{
	size_t room = 64;

	while (room < (size_t)set->count * 2)
		room *= 2;
	set->table = calloc(room, sizeof(*set->table));
	if (!set->table)
		return 0;
	set->table_room = room;
	for (struct weft_jfr_class *c = set->first; c; c = c->next) {
		uint64_t i = ((uint64_t)c->id * UINT64_C(0x9E3779B97F4A7C15)) >> 32;

		while (set->table[i & (room - 1)] && set->table[i & (room - 1)]->id != c->id)
			i++;
		if (!set->table[i & (room - 1)])
			set->table[i & (room - 1)] = c;
	}
	return 1;
}

static enum class_shape shape_of(const struct weft_jfr_class *c)
{
	static const char *const names[] = {
		[CLASS_BOOLEAN] = "boolean",
		[CLASS_BYTE] = "byte",
		[CLASS_CHAR] = "char",
		[CLASS_SHORT] = "short",
		[CLASS_INT] = "int",
		[CLASS_LONG] = "long",
		[CLASS_FLOAT] = "float",
		[CLASS_DOUBLE] = "double",
		[CLASS_STRING] = "java.lang.String",
	};

	if (c->simple && c->field_count == 1)
		return CLASS_SIMPLE;
	for (int i = CLASS_BOOLEAN; i <= CLASS_STRING && !c->field_count; i++)
		if (strcmp(names[i], c->name) == 0)
			return (enum class_shape)i;
	return CLASS_STRUCT;
}

static int link_members(struct class_set *set, const struct class_note *n,
			struct weft_jfr_annotation_view *out)
{
	size_t i = n->member_count;
	const char **names = arena_alloc(&set->memory, (2 * i + 1) * sizeof(*names));

	if (!names)
		return 0;
	out->member = names;
	out->value = names + i;
	out->count = i;
	for (const struct class_member *m = n->members; m; m = m->next) {
		names[--i] = m->name;
		names[n->member_count + i] = m->value;
	}
	return 1;
}

static int link_notes(struct class_set *set, struct class_notes *notes)
{
	size_t i = notes->count;
	struct weft_jfr_annotation_view *array =
		arena_zalloc(&set->memory, (i + 1) * sizeof(*array));

	if (!array)
		return 0;
	for (const struct class_note *n = notes->newest; n; n = n->next) {
		array[--i].type = classes_find(set, n->id);
		array[i].name = array[i].type ? array[i].type->name : NULL;
		if (!link_members(set, n, &array[i]))
			return 0;
	}
	notes->array = array;
	return 1;
}

static int link_settings(struct class_set *set, struct weft_jfr_class *c)
{
	size_t i = c->setting_count;
	struct weft_jfr_setting_view *array = arena_alloc(&set->memory, (i + 1) * sizeof(*array));

	if (!array)
		return 0;
	for (const struct class_setting *s = c->newest_setting; s; s = s->next)
		array[--i] = (struct weft_jfr_setting_view){
			.name = s->name,
			.type = classes_find(set, s->type_id),
			.default_value = s->default_value,
		};
	c->settings = array;
	return 1;
}

static int link_fields(struct class_set *set, struct weft_jfr_class *c)
{
	struct class_field *array =
		arena_zalloc(&set->memory, (c->field_count + 1) * sizeof(*array));
	size_t i = c->field_count;

	if (!array)
		return 0;
	for (struct class_field *f = c->fields; f; f = f->next) {
		array[--i] = *f;
		array[i].type = classes_find(set, f->type_id);
		if (!array[i].type)
			c->shape = CLASS_BROKEN;
		if (!link_notes(set, &array[i].notes))
			return 0;
	}
	c->fields = array;
	return link_notes(set, &c->notes) && link_settings(set, c);
}

static int list_classes(struct class_set *set)
{
	set->list = arena_alloc(&set->memory, (set->count + 1) * sizeof(*set->list));
	if (!set->list)
		return 0;
	for (struct weft_jfr_class *c = set->first; c; c = c->next)
		set->list[c->index] = c;
	return 1;
}

static int class_link_is_ticks(const struct weft_jfr_class *c, size_t i, const char *name)
{
	return i < c->field_count && strcmp(c->fields[i].name, name) == 0 && c->fields[i].type &&
	       c->fields[i].type->shape == CLASS_LONG && !c->fields[i].array &&
	       !c->fields[i].pooled;
}

static int class_link_is_event(const char *super)
{
	size_t n = super ? strlen(super) : 0;

	return n >= 6 && strcmp(super + n - 6, ".Event") == 0;
}

/* A class that contains itself, or is nested too deeply, is broken. visit: 1 = being visited. */
static void check_nesting(struct weft_jfr_class *c, int depth)
{
	if (c->visit == 2 || c->shape == CLASS_BROKEN)
		return;
	c->visit = 1;
	for (size_t i = 0; i < c->field_count && c->shape != CLASS_BROKEN; i++) {
		struct weft_jfr_class *in = (struct weft_jfr_class *)c->fields[i].type;

		if (c->fields[i].pooled)
			continue;
		if (in->visit == 1 || depth > DEEPEST_STRUCT) {
			c->shape = CLASS_BROKEN;
			break;
		}
		check_nesting(in, depth + 1);
		if (in->shape == CLASS_BROKEN)
			c->shape = CLASS_BROKEN;
	}
	c->visit = 2;
}

int classes_link(struct class_set *set)
{
	if (!build_table(set) || !list_classes(set))
		return 0;
	for (struct weft_jfr_class *c = set->first; c; c = c->next) {
		c->shape = shape_of(c);
		if (c->shape == CLASS_STRING && !set->string)
			set->string = c;
	}
	for (struct weft_jfr_class *c = set->first; c; c = c->next)
		if (!link_fields(set, c))
			return 0;
	for (struct weft_jfr_class *c = set->first; c; c = c->next) {
		check_nesting(c, 0);
		c->is_event = (uint8_t)class_link_is_event(c->super);
		c->timed = (uint8_t)class_link_is_ticks(c, 0, "startTime");
		c->lasts = c->timed && class_link_is_ticks(c, 1, "duration");
	}
	return 1;
}
