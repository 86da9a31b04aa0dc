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
	struct weft_jfr_class *class; /* around the element, or NULL */
	struct class_field *field;
	int no_memory;
};

/* The attributes that are used. */
enum attribute {
	ATTRIBUTE_NAME,
	ATTRIBUTE_ID,
	ATTRIBUTE_CLASS,
	ATTRIBUTE_SUPER,
	ATTRIBUTE_DEFAULT,
	ATTRIBUTE_GMT_OFFSET,
	ATTRIBUTE_SUMMER,
	ATTRIBUTE_SIMPLE,
	ATTRIBUTE_POOLED,
	ATTRIBUTE_DIMENSION,
	ATTRIBUTE_COUNT,
};

static const char *const attribute_names[ATTRIBUTE_COUNT] = {
	"name",      "id",  "class",      "superType",    "defaultValue",
	"gmtOffset", "dst", "simpleType", "constantPool", "dimension",
};

/* Those of one element. */
struct attributes {
	const char *value[ATTRIBUTE_COUNT];
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
	struct class_set *set = p->set;

	set->string_count = input_count(&p->in);
	set->strings = grab(p, (set->string_count + 1) * sizeof(*set->strings));
	for (size_t i = 0; i < set->string_count && !p->in.failed; i++) {
		uint8_t encoding = input_u8(&p->in);
		struct weft_jfr_string s;

		if (encoding == STRING_NULL)
			continue;
		s = text_read(&p->in, encoding, &set->memory);
		set->strings[i].data = arena_text(&set->memory, s.data, s.bytes);
		set->strings[i].bytes = s.bytes;
		if (!set->strings[i].data)
			input_fail(&p->in);
	}
}

static const char *classes_string_at(struct parser *p)
{
	uint32_t index = (uint32_t)input_i32(&p->in);

	if (index >= p->set->string_count || p->in.failed)
		input_fail(&p->in);
	else if (p->set->strings[index].data)
		return p->set->strings[index].data;
	return "";
}

static void note_attribute(struct attributes *a, const char *key, const char *value)
{
	for (int i = 0; i < ATTRIBUTE_COUNT; i++)
		if (strcmp(key, attribute_names[i]) == 0)
			a->value[i] = value;
}

static int attribute_is(const struct attributes *a, enum attribute which, const char *value)
{
	return a->value[which] && strcmp(a->value[which], value) == 0;
}

static int64_t attribute_number(const struct attributes *a, enum attribute which)
{
	return a->value[which] ? strtoll(a->value[which], NULL, 10) : 0;
}

/* Memory for what an element declares; NULL: there is none, or a value is missing. */
static void *grab_for(struct parser *p, const struct attributes *a, enum attribute needed,
		      enum attribute needed_too, size_t bytes)
{
	if (!a->value[needed] || !a->value[needed_too])
		input_fail(&p->in);
	return p->in.failed ? NULL : grab(p, bytes);
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
	copy = grab(p, bytes + 1);
	return copy ? memcpy(copy, key, bytes) : NULL;
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
	struct weft_jfr_class *c = grab_for(p, a, ATTRIBUTE_NAME, ATTRIBUTE_ID, sizeof(*c));

	if (!c)
		return NULL;
	c->name = a->value[ATTRIBUTE_NAME];
	c->id = attribute_number(a, ATTRIBUTE_ID);
	c->super = a->value[ATTRIBUTE_SUPER];
	c->simple = (uint8_t)attribute_is(a, ATTRIBUTE_SIMPLE, "true");
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
	struct class_field *f = grab_for(p, a, ATTRIBUTE_NAME, ATTRIBUTE_CLASS, sizeof(*f));

	if (!f)
		return NULL;
	f->name = a->value[ATTRIBUTE_NAME];
	f->type_id = attribute_number(a, ATTRIBUTE_CLASS);
	f->pooled = (uint8_t)attribute_is(a, ATTRIBUTE_POOLED, "true");
	f->array = a->value[ATTRIBUTE_DIMENSION] && !attribute_is(a, ATTRIBUTE_DIMENSION, "0");
	/* newest first until linked */
	f->next = p->class->fields;
	p->class->fields = f;
	p->class->field_count++;
	return f;
}

static void classes_add_annotation(struct parser *p, const struct attributes *a)
{
	struct class_notes *notes = p->field ? &p->field->notes : &p->class->notes;
	struct class_note *n = grab_for(p, a, ATTRIBUTE_CLASS, ATTRIBUTE_CLASS, sizeof(*n));

	if (!n)
		return;
	n->id = attribute_number(a, ATTRIBUTE_CLASS);
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
	struct class_setting *s = grab_for(p, a, ATTRIBUTE_NAME, ATTRIBUTE_CLASS, sizeof(*s));

	if (!s)
		return;
	s->name = a->value[ATTRIBUTE_NAME];
	s->type_id = attribute_number(a, ATTRIBUTE_CLASS);
	s->default_value = a->value[ATTRIBUTE_DEFAULT];
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
	int64_t ms = attribute_number(a, ATTRIBUTE_GMT_OFFSET);
	int64_t summer_ms = attribute_number(a, ATTRIBUTE_SUMMER);

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
	set->tree = set->byte_count - input_left(&p.in);
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
