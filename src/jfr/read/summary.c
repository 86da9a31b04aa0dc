/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts by number of type, in an array for the small numbers that there mostly are; at the end
 * of a chunk its metadata says which names these are.
 */
#include "jfr/read/summary.h"

#include "base/array.h"
#include "base/map.h"
#include "jfr/read/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DENSE 4096 /* type ids below are counted in an array */
#define METADATA 0
#define CHECKPOINT 1

struct tally {
	uint64_t count, bytes;
};

struct counter {
	struct weft_jfr_reader *reader;
	struct jfr_summary *out;
	struct map *names; /* of a row: its index + 1 */
	const struct class_set *set;
	uint32_t *row_of;     /* [set->count] by class index: row + 1, 0 = no event type */
	struct tally *sparse; /* [set->count] of ids that are not dense */
	struct tally dense[DENSE];
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
		struct jfr_row *grown =
			array_grown(s->rows, s->count + 1, &c->room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->rows = grown;
		s->rows[s->count++] = (struct jfr_row){.name = name};
		*number = s->count;
	}
	*row = (uint32_t)*number - 1;
	return 0;
}

/* Rows of the event types that this chunk's metadata declares. */
static int take_set(struct counter *c)
{
	const struct class_set *set = c->reader->classes;

	if (!set || set == c->set)
		return set ? 0 : -EBADMSG;
	free(c->row_of);
	free(c->sparse);
	c->set = NULL;
	c->row_of = calloc((size_t)set->count + 1, sizeof(*c->row_of));
	c->sparse = calloc((size_t)set->count + 1, sizeof(*c->sparse));
	if (!c->row_of || !c->sparse)
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

static struct tally *summary_tally_of(struct counter *c, int64_t id)
{
	const struct weft_jfr_class *class;

	if (id >= 0 && id < DENSE)
		return &c->dense[id];
	class = classes_find(c->set, id);
	return class ? &c->sparse[class->index] : &c->sparse[c->set->count];
}

/* What @end is not reached by stays for who says what is wrong there. */
static const uint8_t *count_events(struct counter *c, const uint8_t *at, const uint8_t *end,
				   uint8_t fixed)
{
	while (at < end) {
		struct input in = {.at = at, .end = end, .fixed = fixed};
		uint32_t bytes = (uint32_t)input_int(&in, 4);
		struct tally *t;

		if (bytes > (size_t)(end - at) || bytes <= (size_t)(in.at - at))
			break;
		in.end = at + bytes;
		t = summary_tally_of(c, input_i64(&in));
		if (in.failed)
			break;
		t->count++;
		t->bytes += bytes;
		at += bytes;
	}
	return at;
}

static void move(struct jfr_row *to, struct tally *from)
{
	to->count += from->count;
	to->bytes += from->bytes;
	*from = (struct tally){0};
}

static int is_dense(int64_t id)
{
	return id > CHECKPOINT && id < DENSE;
}

static void end_chunk(struct counter *c)
{
	struct jfr_summary *s = c->out;

	for (uint32_t i = 0; i < c->set->count; i++) {
		struct jfr_row *to = c->row_of[i] ? &s->rows[c->row_of[i] - 1] : &s->undeclared;
		int64_t id = c->set->list[i]->id;

		move(to, is_dense(id) ? &c->dense[id] : &c->sparse[i]);
	}
	move(&s->rows[METADATA], &c->dense[METADATA]);
	move(&s->rows[CHECKPOINT], &c->dense[CHECKPOINT]);
	move(&s->undeclared, &c->sparse[c->set->count]);
	for (size_t i = 0; i < DENSE; i++)
		if (c->dense[i].count)
			move(&s->undeclared, &c->dense[i]);
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
	end_chunk(c);
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
	struct counter *c = calloc(1, sizeof(*c));
	int rc;

	*out = (struct jfr_summary){0};
	if (!c || !(c->names = map_new())) {
		free(c);
		return reader_no_memory(r);
	}
	c->reader = r;
	c->out = out;
	while ((rc = chunk_open(r)) > 0 && (rc = count_chunk(c)) == 0)
		;
	map_free(c->names);
	free(c->row_of);
	free(c->sparse);
	free(c);
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_count);
	return rc;
}

void jfr_summary_free(struct jfr_summary *s)
{
	free(s->rows);
	*s = (struct jfr_summary){0};
}
