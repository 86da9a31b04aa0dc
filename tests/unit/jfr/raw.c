/* SPDX-License-Identifier: Apache-2.0 */
/* Straight from the format's description; asserts instead of returning errors. */
#include "raw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t be(const uint8_t *p, int bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

uint64_t raw_int(const uint8_t **at, const uint8_t *end)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < 8; i++) {
		assert_true(*at < end);
		v |= (uint64_t)(**at & 0x7F) << (7 * i);
		if (*(*at)++ < 0x80)
			return v;
	}
	assert_true(*at < end);
	return v | (uint64_t) * (*at)++ << 56;
}

void raw_load(struct raw_file *f, const char *path)
{
	FILE *in = fopen(path, "rb");
	long size;
	size_t at = 0;

	memset(f, 0, sizeof(*f));
	assert_non_null(in);
	assert_int_equal(fseek(in, 0, SEEK_END), 0);
	size = ftell(in);
	rewind(in);
	f->bytes = (size_t)size;
	f->data = malloc(f->bytes + 1);
	assert_non_null(f->data);
	assert_int_equal(fread(f->data, 1, f->bytes, in), f->bytes);
	fclose(in);
	while (at < f->bytes) {
		struct raw_chunk *c = &f->chunks[f->chunk_count++];
		const uint8_t *p = f->data + at;

		assert_true(f->chunk_count <= RAW_MOST_CHUNKS);
		assert_true(f->bytes - at >= 68);
		assert_memory_equal(p, "FLR\0\0\2\0\1", 8);
		c->data = p;
		c->bytes = be(p + 8, 8);
		c->checkpoint = be(p + 16, 8);
		c->metadata = be(p + 24, 8);
		c->start_ns = (int64_t)be(p + 32, 8);
		c->duration_ns = (int64_t)be(p + 40, 8);
		c->start_ticks = (int64_t)be(p + 48, 8);
		c->ticks_per_second = (int64_t)be(p + 56, 8);
		c->state = p[64];
		c->flags = (uint16_t)be(p + 66, 2);
		assert_true(c->bytes >= 68 && c->bytes <= f->bytes - at);
		assert_true(c->metadata >= 68 && c->metadata < c->bytes);
		assert_true(c->checkpoint >= 68 && c->checkpoint < c->bytes);
		at += c->bytes;
	}
}

void raw_free(struct raw_file *f)
{
	free(f->data);
	memset(f, 0, sizeof(*f));
}

/* ---------------------------------------------------------------- metadata */

struct walk {
	const uint8_t *at, *end;
	char (*strings)[512];
	uint64_t string_count;
	struct raw_metadata *m;
};

static const char *text(struct walk *w)
{
	uint64_t i = raw_int(&w->at, w->end);

	assert_true(i < w->string_count);
	return w->strings[i];
}

static void read_string(struct walk *w, char *out)
{
	uint8_t encoding = *w->at++;
	uint64_t n;

	out[0] = 0;
	if (encoding == 1)
		return;
	assert_int_equal(encoding, 3);
	n = raw_int(&w->at, w->end);
	assert_true(n < 512 && n <= (uint64_t)(w->end - w->at));
	memcpy(out, w->at, n);
	out[n] = 0;
	w->at += n;
}

static void element(struct walk *w, struct raw_class *class, struct raw_field *field)
{
	char name[64], value[12][2][512];
	uint64_t attributes, children;
	int n = 0;
	const char *id = "", *type = "", *own = "", *super = "";
	int simple = 0, pooled = 0, array = 0;

	snprintf(name, sizeof(name), "%s", text(w));
	attributes = raw_int(&w->at, w->end);
	assert_true(attributes <= 12);
	for (; attributes; attributes--, n++) {
		snprintf(value[n][0], 512, "%s", text(w));
		snprintf(value[n][1], 512, "%s", text(w));
		if (strcmp(value[n][0], "id") == 0)
			id = value[n][1];
		if (strcmp(value[n][0], "class") == 0)
			type = value[n][1];
		if (strcmp(value[n][0], "name") == 0)
			own = value[n][1];
		if (strcmp(value[n][0], "superType") == 0)
			super = value[n][1];
		simple |= strcmp(value[n][0], "simpleType") == 0;
		pooled |= strcmp(value[n][0], "constantPool") == 0;
		array |= strcmp(value[n][0], "dimension") == 0;
	}
	if (strcmp(name, "class") == 0) {
		assert_true(w->m->class_count < RAW_MOST_CLASSES);
		class = &w->m->classes[w->m->class_count++];
		snprintf(class->name, sizeof(class->name), "%.63s", own);
		snprintf(class->super, sizeof(class->super), "%.63s", super);
		class->id = atoll(id);
		class->simple = simple;
	} else if (strcmp(name, "field") == 0) {
		assert_non_null(class);
		assert_true(class->field_count < RAW_MOST_FIELDS);
		field = &class->fields[class->field_count++];
		snprintf(field->name, sizeof(field->name), "%.63s", own);
		field->class = atoll(type);
		field->pooled = pooled;
		field->array = array;
	} else if (strcmp(name, "annotation") == 0) {
		int *list = field ? field->annotations : class->annotations;
		int *count = field ? &field->annotation_count : &class->annotation_count;

		assert_true(*count < 8);
		list[(*count)++] = atoi(type);
	}
	for (children = raw_int(&w->at, w->end); children; children--)
		element(w, class, field);
}

void raw_metadata(const struct raw_chunk *c, struct raw_metadata *m)
{
	struct walk w = {.at = c->data + c->metadata, .m = m};
	uint64_t size;

	memset(m, 0, sizeof(*m));
	w.end = c->data + c->bytes;
	size = raw_int(&w.at, w.end);
	w.end = c->data + c->metadata + size;
	assert_true(w.end <= c->data + c->bytes);
	assert_int_equal(raw_int(&w.at, w.end), 0);
	raw_int(&w.at, w.end);
	raw_int(&w.at, w.end);
	m->id = raw_int(&w.at, w.end);
	m->body = w.at;
	m->body_bytes = (size_t)(w.end - w.at);
	w.string_count = raw_int(&w.at, w.end);
	assert_true(w.string_count < 100000);
	w.strings = calloc(w.string_count, sizeof(*w.strings));
	assert_non_null(w.strings);
	for (uint64_t i = 0; i < w.string_count; i++)
		read_string(&w, w.strings[i]);
	element(&w, NULL, NULL);
	assert_ptr_equal(w.at, w.end);
	free(w.strings);
}

const struct raw_class *raw_class(const struct raw_metadata *m, const char *name)
{
	for (int i = 0; i < m->class_count; i++)
		if (strcmp(m->classes[i].name, name) == 0)
			return &m->classes[i];
	return NULL;
}

const struct raw_class *raw_class_by_id(const struct raw_metadata *m, int64_t id)
{
	for (int i = 0; i < m->class_count; i++)
		if (m->classes[i].id == id)
			return &m->classes[i];
	return NULL;
}

/* ---------------------------------------------------------------- values */

static void skip_value(const struct raw_metadata *m, const struct raw_class *c, const uint8_t **at,
		       const uint8_t *end);

static void skip_bytes(const uint8_t **at, const uint8_t *end, uint64_t n)
{
	assert_true(n <= (uint64_t)(end - *at));
	*at += n;
}

static void skip_field(const struct raw_metadata *m, const struct raw_field *f, const uint8_t **at,
		       const uint8_t *end)
{
	uint64_t n = f->array ? raw_int(at, end) : 1;
	const struct raw_class *c = raw_class_by_id(m, f->class);

	assert_non_null(c);
	while (n--) {
		if (f->pooled)
			raw_int(at, end);
		else
			skip_value(m, c, at, end);
	}
}

static void skip_value(const struct raw_metadata *m, const struct raw_class *c, const uint8_t **at,
		       const uint8_t *end)
{
	uint8_t encoding;

	if (strcmp(c->name, "java.lang.String") == 0) {
		assert_true(*at < end);
		encoding = *(*at)++;
		assert_true(encoding <= 3);
		if (encoding == 2)
			raw_int(at, end);
		else if (encoding == 3)
			skip_bytes(at, end, raw_int(at, end));
	} else if (strcmp(c->name, "boolean") == 0 || strcmp(c->name, "byte") == 0) {
		skip_bytes(at, end, 1);
	} else if (strcmp(c->name, "float") == 0) {
		skip_bytes(at, end, 4);
	} else if (strcmp(c->name, "double") == 0) {
		skip_bytes(at, end, 8);
	} else if (!c->field_count) {
		raw_int(at, end);
	}
	for (int i = 0; i < c->field_count; i++)
		skip_field(m, &c->fields[i], at, end);
}

void raw_pools(const struct raw_chunk *c, const struct raw_metadata *m, raw_entry_fn *fn, void *arg)
{
	const uint8_t *at = c->data + c->checkpoint, *end = c->data + c->bytes;
	uint64_t pools;

	end = c->data + c->checkpoint + raw_int(&at, end);
	assert_ptr_equal(end, c->data + c->bytes); /* ours is the last event */
	assert_int_equal(raw_int(&at, end), 1);
	raw_int(&at, end);
	raw_int(&at, end);
	assert_int_equal(raw_int(&at, end), 0); /* and the only checkpoint */
	at++;
	for (pools = raw_int(&at, end); pools; pools--) {
		const struct raw_class *type = raw_class_by_id(m, (int64_t)raw_int(&at, end));
		uint64_t count = raw_int(&at, end);

		assert_non_null(type);
		assert_int_not_equal(count, 0);
		for (; count; count--) {
			uint64_t key = raw_int(&at, end);
			const uint8_t *value = at;

			skip_value(m, type, &at, end);
			fn(arg, type, key, value, (size_t)(at - value));
		}
	}
	assert_ptr_equal(at, end);
}

struct search {
	const char *type;
	uint64_t key;
	const uint8_t *value;
	size_t bytes;
};

static void compare(void *arg, const struct raw_class *type, uint64_t key, const uint8_t *value,
		    size_t bytes)
{
	struct search *s = arg;

	if (s->key == key && strcmp(s->type, type->name) == 0) {
		s->value = value;
		s->bytes = bytes;
	}
}

const uint8_t *raw_entry(const struct raw_chunk *c, const struct raw_metadata *m, const char *type,
			 uint64_t key, size_t *bytes)
{
	struct search s = {.type = type, .key = key};

	raw_pools(c, m, compare, &s);
	if (bytes)
		*bytes = s.bytes;
	return s.value;
}

void raw_events(const struct raw_chunk *c, const struct raw_metadata *m, raw_event_fn *fn,
		void *arg)
{
	const uint8_t *at = c->data + 68, *chunk_end = c->data + c->bytes;

	while (at < chunk_end) {
		const uint8_t *start = at, *fields, *end;
		const struct raw_class *type;
		uint64_t size = raw_int(&at, chunk_end);
		int64_t id = (int64_t)raw_int(&at, chunk_end);

		assert_true(size && size <= (uint64_t)(chunk_end - start));
		end = start + size;
		if (id > 1) {
			type = raw_class_by_id(m, id);
			assert_non_null(type);
			fields = at;
			skip_value(m, type, &at, end);
			assert_ptr_equal(at, end);
			fn(arg, type, fields, (size_t)(end - fields));
		}
		at = end;
	}
}
