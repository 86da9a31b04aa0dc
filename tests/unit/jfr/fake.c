/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes are padded to four bytes, texts rotate through the encodings: all of it is legal. */
#include "fake.h"

#include "jfr/common/encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MOST_TEXTS 256

void fake_int(const struct fake *f, struct buf *b, uint64_t value, unsigned int width)
{
	if (f->fixed)
		buf_put_be(b, value, width);
	else
		buf_put_leb128(b, value);
}

void fake_text(const struct fake *f, struct buf *b, int encoding, const char *text)
{
	size_t n = strlen(text);

	buf_put_u8(b, (uint8_t)encoding);
	if (encoding < 3)
		return;
	fake_int(f, b, n, 4);
	for (size_t i = 0; i < n; i++) {
		if (encoding == 4)
			fake_int(f, b, (uint8_t)text[i], 2);
		else
			buf_put_u8(b, (uint8_t)text[i]);
	}
}

static void put_size(const struct fake *f, struct buf *b, size_t body)
{
	uint32_t n = (uint32_t)body + 4;

	if (f->fixed) {
		buf_put_be(b, n, 4);
		return;
	}
	for (int i = 0; i < 4; i++)
		buf_put_u8(b, (uint8_t)((n >> (7 * i) & 0x7F) | (i < 3 ? 0x80 : 0)));
}

void fake_event(struct fake *f, int64_t type, const struct buf *payload)
{
	struct buf body = {0};

	fake_int(f, &body, (uint64_t)type, 8);
	buf_put(&body, payload->data, payload->size);
	put_size(f, &f->file, body.size);
	buf_put(&f->file, body.data, body.size);
	buf_free(&body);
}

void fake_chunk(struct fake *f, int fixed)
{
	static const uint8_t header[68] = "FLR\0\0\2\0\1";

	f->chunk = f->file.size;
	f->fixed = fixed;
	f->metadata = f->checkpoint = 0;
	buf_put(&f->file, header, sizeof(header));
}

struct texts {
	const char *text[MOST_TEXTS];
	char number[MOST_TEXTS][24];
	int count, numbers;
};

static void put_index(const struct fake *f, struct buf *b, struct texts *t, const char *text)
{
	int i = 0;

	while (i < t->count && strcmp(t->text[i], text) != 0)
		i++;
	assert_true(i < MOST_TEXTS);
	if (i == t->count)
		t->text[t->count++] = text;
	fake_int(f, b, (uint64_t)i, 4);
}

static void put_pair(const struct fake *f, struct buf *b, struct texts *t, const char *key,
		     const char *value)
{
	put_index(f, b, t, key);
	put_index(f, b, t, value);
}

static void put_number(const struct fake *f, struct buf *b, struct texts *t, const char *key,
		       int64_t value)
{
	char *text = t->number[t->numbers++];

	assert_true(t->numbers <= MOST_TEXTS);
	snprintf(text, 24, "%lld", (long long)value);
	put_pair(f, b, t, key, text);
}

static void put_field(const struct fake *f, struct buf *b, struct texts *t,
		      const struct fake_field *g)
{
	put_index(f, b, t, "field");
	fake_int(f, b, 2u + !!g->pooled + !!g->array, 4);
	put_pair(f, b, t, "name", g->name);
	put_number(f, b, t, "class", g->class);
	if (g->pooled)
		put_pair(f, b, t, "constantPool", "true");
	if (g->array)
		put_pair(f, b, t, "dimension", "1");
	fake_int(f, b, 0, 4);
}

static void put_setting(const struct fake *f, struct buf *b, struct texts *t,
			const struct fake_setting *s)
{
	put_index(f, b, t, "setting");
	fake_int(f, b, 2u + !!s->default_value, 4);
	put_pair(f, b, t, "name", s->name);
	put_number(f, b, t, "class", s->class);
	if (s->default_value)
		put_pair(f, b, t, "defaultValue", s->default_value);
	fake_int(f, b, 0, 4);
}

static void put_note(const struct fake *f, struct buf *b, struct texts *t,
		     const struct fake_note *n)
{
	unsigned int members = 0;

	while (n->members[members].name)
		members++;
	put_index(f, b, t, "annotation");
	fake_int(f, b, 1u + members, 4);
	put_number(f, b, t, "class", n->class);
	for (unsigned int i = 0; i < members; i++)
		put_pair(f, b, t, n->members[i].name, n->members[i].value);
	fake_int(f, b, 0, 4);
}

static unsigned int children(const struct fake_class *c)
{
	unsigned int count = 0;

	for (size_t i = 0; i < 8 && c->fields[i].name; i++)
		count++;
	for (const struct fake_setting *s = c->settings; s && s->name; s++)
		count++;
	for (const struct fake_note *n = c->notes; n && n->class; n++)
		count++;
	return count;
}

static void put_class(const struct fake *f, struct buf *b, struct texts *t,
		      const struct fake_class *c)
{
	put_index(f, b, t, "class");
	fake_int(f, b, 2u + !!c->super + !!c->simple, 4);
	put_pair(f, b, t, "name", c->name);
	put_number(f, b, t, "id", c->id);
	if (c->super)
		put_pair(f, b, t, "superType", c->super);
	if (c->simple)
		put_pair(f, b, t, "simpleType", "true");
	fake_int(f, b, children(c), 4);
	for (const struct fake_setting *s = c->settings; s && s->name; s++)
		put_setting(f, b, t, s);
	for (size_t i = 0; i < 8 && c->fields[i].name; i++)
		put_field(f, b, t, &c->fields[i]);
	for (const struct fake_note *n = c->notes; n && n->class; n++)
		put_note(f, b, t, n);
}

void fake_metadata(struct fake *f, const struct fake_class *classes)
{
	static struct texts t;
	struct buf tree = {0}, payload = {0};
	unsigned int count = 0;

	memset(&t, 0, sizeof(t));
	while (classes[count].name)
		count++;
	put_index(f, &tree, &t, "root");
	fake_int(f, &tree, 0, 4);
	fake_int(f, &tree, 1, 4);
	put_index(f, &tree, &t, "metadata");
	fake_int(f, &tree, 0, 4);
	fake_int(f, &tree, count, 4);
	for (unsigned int i = 0; i < count; i++)
		put_class(f, &tree, &t, &classes[i]);
	for (int i = 0; i < 3; i++)
		fake_int(f, &payload, 1, 8); /* start, duration, id */
	fake_int(f, &payload, (uint64_t)t.count, 4);
	for (int i = 0; i < t.count; i++)
		fake_text(f, &payload, 3 + i % 3, t.text[i]);
	buf_put(&payload, tree.data, tree.size);
	f->metadata = f->file.size - f->chunk;
	fake_event(f, 0, &payload);
	buf_free(&tree);
	buf_free(&payload);
}

void fake_checkpoint(struct fake *f, unsigned int pools, const struct buf *entries)
{
	struct buf payload = {0};
	size_t here = f->file.size - f->chunk;

	fake_int(f, &payload, 1, 8);
	fake_int(f, &payload, 0, 8);
	fake_int(f, &payload, f->checkpoint ? f->checkpoint - here : 0, 8);
	buf_put_u8(&payload, 0);
	fake_int(f, &payload, pools, 4);
	buf_put(&payload, entries->data, entries->size);
	f->checkpoint = here;
	fake_event(f, 1, &payload);
	buf_free(&payload);
}

static void set_be(struct fake *f, size_t at, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		f->file.data[f->chunk + at + (size_t)i] = (uint8_t)(value >> (56 - 8 * i));
}

void fake_end(struct fake *f)
{
	set_be(f, 8, f->file.size - f->chunk);
	set_be(f, 16, f->checkpoint);
	set_be(f, 24, f->metadata);
	set_be(f, 32, 1000000000); /* start, epoch ns */
	set_be(f, 40, 500);
	set_be(f, 48, 7000); /* start, ticks */
	set_be(f, 56, 1000000);
	f->file.data[f->chunk + 67] = f->fixed ? 0 : 1;
}

void fake_save(const struct fake *f, const char *path)
{
	FILE *out = fopen(path, "wb");

	assert_non_null(out);
	assert_int_equal(fwrite(f->file.data, 1, f->file.size, out), f->file.size);
	assert_int_equal(fclose(out), 0);
}
