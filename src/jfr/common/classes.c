/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the metadata tree in one pass without building it: each element says by its name
 * what it adds to the class or field around it. class_link.c links types by id afterwards.
 */
#include "jfr/common/classes.h"

#include "jfr/common/encode.h"
#include "jfr/common/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST_ELEMENT 32
#define MEMORY_PER_BYTE 64 /* memory that a byte of the file may take, at most */
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

/* The attributes of one element that are used. */
struct attributes {
	const char *name, *id, *class, *super, *default_value, *gmt_offset, *summer;
	uint8_t simple, pooled, array;
	struct class_member *members; /* newest first: of an annotation */
	size_t member_count;
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

static void classes_read_strings(struct parser *p)
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

static const char *classes_string_at(struct parser *p)
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
	else if (strcmp(key, "defaultValue") == 0)
		a->default_value = value;
	else if (strcmp(key, "gmtOffset") == 0)
		a->gmt_offset = value;
	else if (strcmp(key, "dst") == 0)
		a->summer = value;
	else if (strcmp(key, "simpleType") == 0)
		a->simple = strcmp(value, "true") == 0;
	else if (strcmp(key, "constantPool") == 0)
		a->pooled = strcmp(value, "true") == 0;
	else if (strcmp(key, "dimension") == 0)
		a->array = strcmp(value, "0") != 0;
}

/* "value-0" is an element of the array "value": no name of Java has a dash. */
static const char *member_name(struct parser *p, const char *key)
{
	size_t bytes = strlen(key), digits = 0;
	char *copy;

	while (digits < bytes && key[bytes - 1 - digits] >= '0' && key[bytes - 1 - digits] <= '9')
		digits++;
	if (!digits || digits == bytes || key[bytes - 1 - digits] != '-')
		return key;
	bytes -= digits + 1;
	if (bytes == 5 && memcmp(key, "value", 5) == 0)
		return "value";
	copy = arena_text(&p->set->memory, key, bytes);
	if (!copy) {
		p->no_memory = 1;
		input_fail(&p->in);
	}
	return copy;
}

static void note_member(struct parser *p, struct attributes *a, const char *key, const char *value)
{
	struct class_member *m;

	if (strcmp(key, "class") == 0)
		return;
	m = grab(p, sizeof(*m));
	if (!m)
		return;
	m->name = member_name(p, key);
	m->value = value;
	m->next = a->members;
	a->members = m;
	a->member_count++;
}

static struct weft_jfr_class *classes_add_class(struct parser *p, const struct attributes *a)
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

static struct class_field *classes_add_field(struct parser *p, const struct attributes *a)
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

static void classes_add_annotation(struct parser *p, const struct attributes *a)
{
	struct class_notes *notes = p->field ? &p->field->notes : &p->class->notes;
	struct class_note *n = grab(p, sizeof(*n));

	if (!n || !a->class) {
		input_fail(&p->in);
		return;
	}
	n->id = strtoll(a->class, NULL, 10);
	n->members = a->members;
	n->member_count = a->member_count;
	n->next = notes->newest;
	notes->newest = n;
	notes->count++;
}

static void read_element(struct parser *p, int depth);

static void read_children(struct parser *p, int depth)
{
	for (size_t count = input_count(&p->in); count && !p->in.failed; count--)
		read_element(p, depth + 1);
}

static void classes_add_setting(struct parser *p, const struct attributes *a)
{
	struct class_setting *s = grab(p, sizeof(*s));

	if (!s || !a->name || !a->class) {
		input_fail(&p->in);
		return;
	}
	s->name = a->name;
	s->type_id = strtoll(a->class, NULL, 10);
	s->default_value = a->default_value;
	s->next = p->class->newest_setting;
	p->class->newest_setting = s;
	p->class->setting_count++;
}

/* Annotations of a setting belong to no field and no class. */
static void read_setting(struct parser *p, const struct attributes *a, int depth)
{
	struct weft_jfr_class *outer = p->class;

	if (outer && !p->field)
		classes_add_setting(p, a);
	p->class = NULL;
	read_children(p, depth);
	p->class = outer;
}

/* Offsets are milliseconds, of less than a day. */
static void note_region(struct parser *p, const struct attributes *a)
{
	long long ms = a->gmt_offset ? strtoll(a->gmt_offset, NULL, 10) : 0;
	long long summer_ms = a->summer ? strtoll(a->summer, NULL, 10) : 0;

	if (ms > -86400000 && ms < 86400000 && summer_ms > -86400000 && summer_ms < 86400000)
		p->set->gmt_offset_s = (int32_t)((ms + summer_ms) / 1000);
}

static void read_element(struct parser *p, int depth)
{
	const char *name = classes_string_at(p);
	struct attributes a = {0};
	int is_annotation = strcmp(name, "annotation") == 0;

	if (depth > DEEPEST_ELEMENT)
		input_fail(&p->in);
	for (size_t count = input_count(&p->in); count && !p->in.failed; count--) {
		const char *key = classes_string_at(p), *value = classes_string_at(p);

		note_attribute(&a, key, value);
		if (is_annotation)
			note_member(p, &a, key, value);
	}
	if (p->in.failed)
		return;
	if (strcmp(name, "class") == 0 && !p->class) {
		p->class = classes_add_class(p, &a);
		read_children(p, depth);
		p->class = NULL;
	} else if (strcmp(name, "field") == 0 && p->class && !p->field) {
		p->field = classes_add_field(p, &a);
		read_children(p, depth);
		p->field = NULL;
	} else if (strcmp(name, "setting") == 0) {
		read_setting(p, &a, depth);
	} else {
		if (is_annotation && p->class)
			classes_add_annotation(p, &a);
		if (strcmp(name, "region") == 0)
			note_region(p, &a);
		read_children(p, depth);
	}
}

/* A copy, for a file that grows is not always mapped in the same place. */
static const uint8_t *classes_copy_bytes(struct parser *p)
{
	uint8_t *copy = grab(p, p->set->byte_count + 1);

	if (copy)
		memcpy(copy, p->in.at, p->set->byte_count);
	return copy;
}

struct class_set *classes_read(struct input in)
{
	struct class_set *set = calloc(1, sizeof(*set));
	struct parser p = {.in = in, .set = set};

	if (!set)
		return NULL;
	set->byte_count = input_left(&in);
	set->fixed = in.fixed;
	set->memory.limit = MEMORY_BASE + MEMORY_PER_BYTE * set->byte_count;
	set->bytes = classes_copy_bytes(&p);
	classes_read_strings(&p);
	read_element(&p, 0);
	if (p.in.failed)
		errno = p.no_memory ? ENOMEM : EBADMSG;
	else if (classes_link(set))
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
