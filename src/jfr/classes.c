/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the metadata tree in one pass without building it: each element says by its name
 * what it adds to the class or field around it. Types are linked by id afterwards.
 */
#include "jfr/classes.h"

#include "jfr/encode.h"
#include "jfr/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST_ELEMENT 32
#define DEEPEST_STRUCT 32
#define MEMORY_PER_BYTE 64 /* the file's bytes become at most that much memory */
#define MEMORY_BASE ((size_t)1 << 20)

struct parser {
	struct input in;
	struct class_set *set;
	const char **strings;
	size_t string_count;
	struct weft_jfr_class *class; /* around the element, or NULL */
	struct class_field *field;
	int no_memory;
};

/* The attributes that mean something, of one element. */
struct attributes {
	const char *name, *id, *class, *super, *value;
	uint8_t simple, pooled, array;
};

static void *grab(struct parser *p, size_t bytes)
{
	void *out = arena_zalloc(&p->set->memory, bytes);

	if (!out) {
		p->no_memory = 1;
		input_fail(&p->in);
	}
	return out;
}

static void read_strings(struct parser *p)
{
	p->string_count = input_count(&p->in);
	p->strings = grab(p, (p->string_count + 1) * sizeof(*p->strings));
	for (size_t i = 0; i < p->string_count && !p->in.failed; i++) {
		uint8_t encoding = input_u8(&p->in);
		struct weft_jfr_string s = {0};

		if (encoding != STRING_NULL)
			s = text_read(&p->in, encoding, &p->set->memory);
		p->strings[i] = arena_text(&p->set->memory, s.data, s.bytes);
		if (!p->strings[i])
			input_fail(&p->in);
	}
}

static const char *string_at(struct parser *p)
{
	uint32_t index = (uint32_t)input_i32(&p->in);

	if (index < p->string_count && !p->in.failed)
		return p->strings[index];
	input_fail(&p->in);
	return "";
}

static void note_attribute(struct attributes *a, const char *key, const char *value)
{
	if (strcmp(key, "name") == 0)
		a->name = value;
	else if (strcmp(key, "id") == 0)
		a->id = value;
	else if (strcmp(key, "class") == 0)
		a->class = value;
	else if (strcmp(key, "superType") == 0)
		a->super = value;
	else if (strcmp(key, "value") == 0 || strcmp(key, "value-0") == 0)
		a->value = value;
	else if (strcmp(key, "simpleType") == 0)
		a->simple = strcmp(value, "true") == 0;
	else if (strcmp(key, "constantPool") == 0)
		a->pooled = strcmp(value, "true") == 0;
	else if (strcmp(key, "dimension") == 0)
		a->array = strcmp(value, "0") != 0;
}

static struct weft_jfr_class *add_class(struct parser *p, const struct attributes *a)
{
	struct weft_jfr_class *c = grab(p, sizeof(*c));

	if (!c || !a->name || !a->id) {
		input_fail(&p->in);
		return NULL;
	}
	c->name = a->name;
	c->id = strtoll(a->id, NULL, 10);
	c->super = a->super;
	c->simple = a->simple;
	c->index = p->set->count++;
	if (p->set->last)
		p->set->last->next = c;
	else
		p->set->first = c;
	p->set->last = c;
	return c;
}

static struct class_field *add_field(struct parser *p, const struct attributes *a)
{
	struct class_field *f = grab(p, sizeof(*f));

	if (!f || !a->name || !a->class) {
		input_fail(&p->in);
		return NULL;
	}
	f->name = a->name;
	f->type_id = strtoll(a->class, NULL, 10);
	f->pooled = a->pooled;
	f->array = a->array;
	/* newest first until linked */
	f->next = p->class->fields;
	p->class->fields = f;
	p->class->field_count++;
	return f;
}

static void add_annotation(struct parser *p, const struct attributes *a)
{
	struct class_annotation **list = p->field ? &p->field->annotations : &p->class->annotations;
	struct class_annotation *n = grab(p, sizeof(*n));

	if (!n || !a->class) {
		input_fail(&p->in);
		return;
	}
	n->id = strtoll(a->class, NULL, 10);
	n->value = a->value;
	n->next = *list;
	*list = n;
}

static void read_element(struct parser *p, int depth);

static void read_children(struct parser *p, int depth)
{
	for (size_t count = input_count(&p->in); count && !p->in.failed; count--)
		read_element(p, depth + 1);
}

/* What a setting carries (annotations of its own) belongs to no field and no class. */
static void read_setting(struct parser *p, int depth)
{
	struct weft_jfr_class *outer = p->class;

	p->class = NULL;
	read_children(p, depth);
	p->class = outer;
}

static void read_element(struct parser *p, int depth)
{
	const char *name = string_at(p);
	struct attributes a = {0};

	if (depth > DEEPEST_ELEMENT)
		input_fail(&p->in);
	for (size_t count = input_count(&p->in); count && !p->in.failed; count--) {
		const char *key = string_at(p);

		note_attribute(&a, key, string_at(p));
	}
	if (p->in.failed)
		return;
	if (strcmp(name, "class") == 0 && !p->class) {
		p->class = add_class(p, &a);
		read_children(p, depth);
		p->class = NULL;
	} else if (strcmp(name, "field") == 0 && p->class && !p->field) {
		p->field = add_field(p, &a);
		read_children(p, depth);
		p->field = NULL;
	} else if (strcmp(name, "setting") == 0) {
		read_setting(p, depth);
	} else {
		if (strcmp(name, "annotation") == 0 && p->class)
			add_annotation(p, &a);
		read_children(p, depth);
	}
}

/* ---------------------------------------------------------------- linking */

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

static void link_annotations(const struct class_set *set, struct class_annotation *a)
{
	for (; a; a = a->next) {
		const struct weft_jfr_class *type = classes_find(set, a->id);

		a->name = type ? type->name : NULL;
	}
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
		link_annotations(set, array[i].annotations);
	}
	c->fields = array;
	link_annotations(set, c->annotations);
	return 1;
}

static int is_ticks(const struct weft_jfr_class *c, size_t i, const char *name)
{
	return i < c->field_count && strcmp(c->fields[i].name, name) == 0 && c->fields[i].type &&
	       c->fields[i].type->shape == CLASS_LONG && !c->fields[i].array &&
	       !c->fields[i].pooled;
}

static int is_event(const char *super)
{
	size_t n = super ? strlen(super) : 0;

	return n >= 6 && strcmp(super + n - 6, ".Event") == 0;
}

/* Struct in struct ends somewhere, or the class is broken. visit: 1 = being looked at. */
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

static int link_set(struct class_set *set)
{
	if (!build_table(set))
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
		c->is_event = (uint8_t)is_event(c->super);
		c->timed = (uint8_t)is_ticks(c, 0, "startTime");
		c->lasts = c->timed && is_ticks(c, 1, "duration");
	}
	return 1;
}

struct class_set *classes_read(struct input in)
{
	struct class_set *set = calloc(1, sizeof(*set));
	struct parser p = {.in = in, .set = set};

	if (!set)
		return NULL;
	set->bytes = in.at;
	set->byte_count = input_left(&in);
	set->fixed = in.fixed;
	set->memory.limit = MEMORY_BASE + MEMORY_PER_BYTE * set->byte_count;
	read_strings(&p);
	read_element(&p, 0);
	if (p.in.failed)
		errno = p.no_memory ? ENOMEM : EBADMSG;
	else if (link_set(set))
		return set;
	else
		errno = ENOMEM;
	classes_free(set);
	return NULL;
}

void classes_free(struct class_set *set)
{
	while (set) {
		struct class_set *older = set->older;

		arena_free(&set->memory);
		free(set->table);
		free(set);
		set = older;
	}
}
