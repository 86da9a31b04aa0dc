/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collapsed stacks: one line "root;...;leaf count" for each distinct one, sorted, counts in
 * samples. What flame graph programs read (Brendan Gregg's stackcollapse format). Keys of
 * --by become frames before the root: "route=/checkout;main;...".
 */
#include "export/export.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/text/visible.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Samples are counted by ids first; texts are made once per distinct line, at the end. */
struct collapsed {
	struct map *counts; /* path and ids of --by -> samples */
	uint32_t *key;      /* scratch, [1 + by_count] */
};

struct line {
	char *text;
	uint64_t count;
};

static int collapsed_begin(struct export_job *x)
{
	struct collapsed *c = x->state;

	c->counts = map_new();
	c->key = calloc(1 + x->by_count, sizeof(*c->key));
	return c->counts && c->key ? 0 : -ENOMEM;
}

static int collapsed_sample(struct export_job *x, const struct sample *s)
{
	struct model *m = source_model(x->source);
	struct collapsed *c = x->state;
	uint64_t *count;

	c->key[0] = x->lines ? s->stack : model_path(m, s->stack);
	for (size_t i = 0; i < x->by_count; i++)
		c->key[1 + i] = key_of_sample(&x->by[i], m, s);
	count = map_put(c->counts, c->key, (1 + x->by_count) * sizeof(*c->key), NULL);
	if (!count)
		return -ENOMEM;
	*count += s->times;
	return 0;
}

/* ';' and control characters would split a frame, or a line. */
static void collapsed_put_frame(struct buf *b, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		buf_put_u8(b, c == ';' ? ':' : c < ' ' || c == 0x7F ? ' ' : c);
	}
}

static void put_by(struct buf *b, const struct key *key, const struct model *m, uint32_t id)
{
	collapsed_put_frame(b, key_bare(key->text));
	buf_put_u8(b, '=');
	collapsed_put_frame(b, id ? names_text(&m->names, id) : KEY_NONE);
	buf_put_u8(b, ';');
}

/* "main a.c:12;work a.c:3": each frame with its line. */
static void collapsed_put_lines(struct buf *b, const struct model *m, const struct stack *stack)
{
	for (uint32_t i = stack->count; i-- > 0;) {
		const struct frame *f = &stack->frames[i];
		char *text =
			key_line_name(m, &(struct source_line){f->function, f->file, f->line}, 0);

		collapsed_put_frame(b, text ? text : "");
		b->failed |= !text;
		free(text);
		if (i)
			buf_put_u8(b, ';');
	}
	if (!stack->count)
		collapsed_put_frame(b, KEY_NONE);
}

static void collapsed_put_path(struct buf *b, const struct model *m, uint32_t path)
{
	char *text = key_name(&(struct key){.kind = KEY_STACK}, m, path);

	if (text)
		buf_put(b, text, strlen(text));
	b->failed |= !text;
	free(text);
}

/* A line may be looked at on a terminal: what would be no character there is a blank. */
static void blank_invisible(char *text)
{
	const char *at = text, *end = text + strlen(text);
	char piece[VISIBLE_BYTES];

	while (at < end) {
		size_t bytes = visible_next(&at, end, piece);

		if (visible_columns(piece, bytes) > 1) {
			*text++ = ' ';
			continue;
		}
		memcpy(text, piece, bytes);
		text += bytes;
	}
	*text = '\0';
}

static char *line_text(const struct export_job *x, const uint32_t *key)
{
	const struct model *m = source_model(x->source);
	struct buf b = {0};

	for (size_t i = 0; i < x->by_count; i++)
		put_by(&b, &x->by[i], m, key[1 + i]);
	if (x->lines)
		collapsed_put_lines(&b, m, model_stack_at(m, key[0]));
	else
		collapsed_put_path(&b, m, key[0]);
	buf_put_u8(&b, 0);
	if (b.failed) {
		buf_free(&b);
		return NULL;
	}
	blank_invisible((char *)b.data);
	return (char *)b.data;
}

static int collapsed_by_text(const void *left, const void *right)
{
	return strcmp(((const struct line *)left)->text, ((const struct line *)right)->text);
}

static int collapsed_make_lines(const struct export_job *x, struct line *lines)
{
	const struct collapsed *c = x->state;
	size_t cursor = 0, bytes, n = 0;
	const void *key;
	uint64_t *count;

	while (map_next(c->counts, &cursor, &key, &bytes, &count)) {
		lines[n].text = line_text(x, key);
		lines[n].count = *count;
		if (!lines[n++].text)
			return -ENOMEM;
	}
	return 0;
}

/* Lines that came out the same by cleaning up their frames are one. */
static int write_lines(struct output *o, const struct line *lines, size_t count)
{
	int rc = 0;

	for (size_t i = 0; i < count && !rc;) {
		uint64_t sum = 0;
		size_t first = i;
		char number[32];
		int bytes;

		for (; i < count && strcmp(lines[i].text, lines[first].text) == 0; i++)
			sum += lines[i].count;
		bytes = snprintf(number, sizeof(number), " %" PRIu64 "\n", sum);
		rc = output_write(o, lines[first].text, strlen(lines[first].text));
		if (!rc)
			rc = output_write(o, number, (size_t)bytes);
	}
	return rc;
}

static int collapsed_end(struct export_job *x)
{
	const struct collapsed *c = x->state;
	size_t count = map_count(c->counts);
	struct line *lines = calloc(count + 1, sizeof(*lines));
	int rc = lines ? collapsed_make_lines(x, lines) : -ENOMEM;

	if (!rc) {
		qsort(lines, count, sizeof(*lines), collapsed_by_text);
		rc = write_lines(x->output, lines, count);
	}
	for (size_t i = 0; lines && i < count; i++)
		free(lines[i].text);
	free(lines);
	return rc;
}

static void collapsed_free(struct export_job *x)
{
	struct collapsed *c = x->state;

	map_free(c->counts);
	free(c->key);
}

const struct exporter_ops exporter_collapsed = {
	.state_bytes = sizeof(struct collapsed),
	.begin = collapsed_begin,
	.sample = collapsed_sample,
	.end = collapsed_end,
	.free = collapsed_free,
};
