/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts in the file: ids as text, columns of tags, spans. A column is there before any event
 * that has a value for it. */
#include "collector/write/recording_private.h"

#include "base/recording.h"
#include "base/text/hex.h"

#include <errno.h>
#include <stdio.h>

struct weft_jfr_string recording_hex(char *room, const void *bytes, size_t count)
{
	hex_put(room, bytes, count);
	return (struct weft_jfr_string){room, 2 * count};
}

struct weft_jfr_string recording_hex_id(char room[16], uint64_t id)
{
	uint64_t big = __builtin_bswap64(id);

	return id ? recording_hex(room, &big, sizeof(big)) : (struct weft_jfr_string){0};
}

static const uint8_t no_trace[16];

static void fill_coroutine(const struct recording *r, uint64_t coroutine,
			   struct context_texts *texts, struct weft_jfr_value *v)
{
	size_t column = r->tags.coroutine;

	if (!coroutine || !column || column > r->columns)
		return;
	snprintf(texts->coroutine, sizeof(texts->coroutine), "%llu", (unsigned long long)coroutine);
	v[column - 1].string = text_value(texts->coroutine);
}

/* Fills the fields from @v on: trace, span, root span, then the columns. */
void recording_fill_context(struct recording *r, struct process *p, const struct context_key *key,
			    struct context_texts *texts, struct weft_jfr_value *v)
{
	memset(v, 0, (3 + r->columns) * sizeof(*v));
	if (!key)
		return;
	if (memcmp(key->trace_id, no_trace, sizeof(no_trace)) != 0)
		v[0].string = recording_hex(texts->trace, key->trace_id, sizeof(key->trace_id));
	v[1].string = recording_hex_id(texts->span, key->span_id);
	v[2].string = recording_hex_id(texts->root, key->root_span_id);
	for (unsigned int i = 0; i < WEFT_CONTEXT_V1_TAGS; i++) {
		const char *value =
			key->tags[i] ? dictionary_string(p->work->dictionary, key->tags[i]) : NULL;
		int column = p->work->column[i] - 1;

		if (value && column >= 0 && (size_t)column < r->columns)
			v[3 + column].string = text_value(value);
	}
	fill_coroutine(r, key->coroutine, texts, v + 3);
	if (key->labels)
		recording_fill_labels(r, key->labels, v + 3);
}

/* Adds columns for tag names that are new. A new column needs a new chunk, in which the type is
 * declared anew; so there are at most TAG_COLUMNS_MAX of these chunks. */
static void learn_columns(struct recording *r, struct process *p, const struct context_key *key)
{
	for (unsigned int i = 0; i < WEFT_CONTEXT_V1_TAGS; i++) {
		const char *name;
		int column;

		if (!key->tags[i] || p->work->column[i])
			continue;
		name = dictionary_tag_name(p->work->dictionary, i);
		column = name ? tag_columns_find(&r->tags, name) : -ENOENT;
		if (column >= 0)
			p->work->column[i] = (uint8_t)(column + 1);
	}
}

static int knows_all(const struct process *p, const struct context_key *key)
{
	for (unsigned int i = 0; i < WEFT_CONTEXT_V1_TAGS; i++)
		if (key->tags[i] &&
		    (!p->work->column[i] || !dictionary_string(p->work->dictionary, key->tags[i])))
			return 0;
	return 1;
}

static void learn_context(struct recording *r, struct process *p, const struct context_key *key)
{
	if (key->coroutine)
		coroutine_column_find(&r->tags);
	if (key->labels)
		recording_learn_labels(r, p, key->labels);
	if (knows_all(p, key))
		return;
	if (process_read_dictionary(p))
		p->work->own.log_invalid++;
	learn_columns(r, p, key);
}

void recording_put_span(struct recording *r, struct process *p, const struct process_thread *t,
			const struct stretch *s)
{
	struct weft_jfr_value v[RECORDING_SPAN_FIXED_FIELDS + COLUMNS_MAX];
	struct context_texts texts;

	if (!r->type[TYPE_SPAN])
		return;
	v[0] = (struct weft_jfr_value){.number = (int64_t)s->first_ns};
	v[1] = (struct weft_jfr_value){.number = (int64_t)(s->last_ns - s->first_ns + 1)};
	v[2] = (struct weft_jfr_value){.number = (int64_t)t->key};
	recording_fill_context(r, p, &s->key, &texts, v + 3);
	recording_put(r, r->type[TYPE_SPAN], v, RECORDING_SPAN_FIXED_FIELDS + r->columns);
}

void recording_meet_context(struct recording *r, struct process *p, const struct context_key *key)
{
	if (key)
		learn_context(r, p, key);
	if (r->tags.count == r->columns)
		return;
	if (key)
		label_sets_mark(r->labels, key->labels);
	r->roll(r, recording_now(r));
}

void recording_extend(struct recording *r, struct process *p, struct process_thread *t,
		      const struct context_key *key, uint64_t first_ns, uint64_t last_ns)
{
	struct stretch ended;

	if (stretch_add(&t->stretch, key, first_ns, last_ns, &ended))
		recording_put_span(r, p, t, &ended);
}
