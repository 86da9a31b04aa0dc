/* SPDX-License-Identifier: Apache-2.0 */
/* Each event counts for the row that its type has by the metadata of its chunk. */
#include "jfr/read/summary.h"

#include "base/array.h"
#include "base/map.h"
#include "jfr/read/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum fixed_row { ROW_METADATA, ROW_CHECKPOINT }; /* by their numbers as types */

struct counter {
	struct weft_jfr_reader *reader;
	struct jfr_summary *out;
	struct map *names; /* of a row: its index + 1 */
	const struct class_set *set;
	uint32_t *row_of; /* [set->count] by class index: row + 1, 0 = no event type */
	size_t room;
};

static int add_row(struct counter *c, const char *name, uint32_t *row)
{
	struct jfr_summary *s = c->out;
	int fresh;
	uint64_t *number = map_put(c->names, name, strlen(name), &fresh);

	if (!number)
		return -ENOMEM;
	if (fresh) {
		struct jfr_row *added = array_add(&s->rows, &s->count, &c->room, sizeof(*added));

		if (!added)
			return -ENOMEM;
		*added = (struct jfr_row){.name = name};
		*number = s->count;
	}
	*row = (uint32_t)*number - 1;
	return 0;
}

/* Finds the rows of the event types that this chunk's metadata declares. */
static int take_set(struct counter *c)
{
	const struct class_set *set = c->reader->classes;

	if (!set || set == c->set)
		return set ? 0 : -EBADMSG;
	free(c->row_of);
	c->set = NULL;
	c->row_of = calloc((size_t)set->count + 1, sizeof(*c->row_of));
	if (!c->row_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < set->count; i++) {
		uint32_t row;

		if (!set->list[i]->is_event)
			continue;
		if (add_row(c, set->list[i]->name, &row) != 0)
			return -ENOMEM;
		c->row_of[i] = row + 1;
	}
	c->set = set;
	return 0;
}

static struct jfr_row *summary_row_of(struct counter *c, int64_t id)
{
	const struct weft_jfr_class *class;

	if (id == ROW_METADATA || id == ROW_CHECKPOINT)
		return &c->out->rows[id];
	class = classes_find(c->set, id);
	return class && c->row_of[class->index] ? &c->out->rows[c->row_of[class->index] - 1]
						: &c->out->undeclared;
}

/* Returns @end, or where the event begins that does not fit in its chunk. */
static const uint8_t *count_events(struct counter *c, const uint8_t *at, const uint8_t *end,
				   uint8_t fixed)
{
	while (at < end) {
		struct input in = {.at = at, .end = end, .fixed = fixed};
		uint32_t bytes = (uint32_t)input_int(&in, 4);
		struct jfr_row *row;

		if (bytes > (size_t)(end - at) || bytes <= (size_t)(in.at - at))
			break;
		in.end = at + bytes;
		row = summary_row_of(c, input_i64(&in));
		if (in.failed)
			break;
		row->count++;
		row->bytes += bytes;
		at += bytes;
	}
	return at;
}

static int count_chunk(struct counter *c)
{
	struct weft_jfr_reader *r = c->reader;
	struct jfr_summary *s = c->out;
	const uint8_t *end = r->chunk_data + r->chunk.bytes, *at;
	uint32_t row;

	if (!s->chunks) {
		int old = r->chunk.major == 1;

		s->major = r->chunk.major;
		s->minor = r->chunk.minor;
		s->start_ns = r->chunk.start_ns;
		if (add_row(c, old ? "com.oracle.jdk.Metadata" : "jdk.Metadata", &row) != 0 ||
		    add_row(c, old ? "com.oracle.jdk.CheckPoint" : "jdk.CheckPoint", &row) != 0)
			return reader_no_memory(r);
	}
	if (take_set(c) != 0)
		return reader_no_memory(r);
	at = count_events(c, r->at, end, r->fixed);
	if (at < end)
		return reader_damaged(r, at, "event is cut short");
	s->chunks++;
	s->bytes += r->chunk.bytes;
	if (__builtin_add_overflow(s->duration_ns, r->chunk.duration_ns, &s->duration_ns))
		s->duration_ns = INT64_MAX;
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct jfr_row *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

int jfr_summarize(struct weft_jfr_reader *r, struct jfr_summary *out)
{
	struct counter c = {.reader = r, .out = out, .names = map_new()};
	int rc;

	*out = (struct jfr_summary){0};
	if (!c.names)
		return reader_no_memory(r);
	while ((rc = chunk_open(r)) > 0 && (rc = count_chunk(&c)) == 0)
		;
	map_free(c.names);
	free(c.row_of);
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_count);
	return rc;
}

void jfr_summary_free(struct jfr_summary *s)
{
	free(s->rows);
	*s = (struct jfr_summary){0};
}
