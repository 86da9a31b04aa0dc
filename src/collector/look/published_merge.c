/* SPDX-License-Identifier: Apache-2.0 */
/* A context added to a sample: see published_merge.h. */
#include "collector/look/published_merge.h"

#include "base/context_snapshot.h"
#include "collector/process/label_sets.h"
#include "reader/context/go_labels.h"

#include <string.h>

static int published_has_ids(const struct weft_sample_record *s)
{
	return s->context == WEFT_CONTEXT_IDS || s->context == WEFT_CONTEXT_TRACE;
}

static int published_is_another(const struct weft_sample_record *s, const struct live_context *c)
{
	if (!published_has_ids(s))
		return 0;
	if (c->flags & LIVE_SPAN && s->span_id && s->span_id != c->span_id)
		return 1;
	return c->flags & LIVE_TRACE && s->context == WEFT_CONTEXT_TRACE &&
	       memcmp(s->trace_id, c->trace_id, sizeof(s->trace_id)) != 0;
}

/* 1: something was added. */
static int published_add_ids(struct weft_sample_record *s, const struct live_context *c)
{
	int is_span = c->flags & LIVE_SPAN && !s->span_id;
	int is_root = c->flags & LIVE_ROOT && !s->root_span_id;
	int is_trace = c->flags & LIVE_TRACE && s->context != WEFT_CONTEXT_TRACE;

	if (is_span)
		s->span_id = c->span_id;
	if (is_root)
		s->root_span_id = c->root_span_id;
	if (is_trace) {
		memcpy(s->trace_id, c->trace_id, sizeof(s->trace_id));
		s->trace_flags = c->trace_flags;
		s->context = WEFT_CONTEXT_TRACE;
	} else if ((is_span || is_root) && s->context != WEFT_CONTEXT_TRACE) {
		s->context = WEFT_CONTEXT_IDS;
	}
	return is_span || is_root || is_trace;
}

static int published_is_named(const struct live_context *c, const struct live_attribute *a,
			      const char *name)
{
	return a->key_bytes == strlen(name) &&
	       memcmp(live_text(c, a->key_at), name, a->key_bytes) == 0;
}

/* An index that the key map does not have: a reader is to pass over it. */
static int is_of_no_key(const struct otel_payload *keys, const struct live_context *c,
			const struct live_attribute *a)
{
	const char *key = live_text(c, a->key_at);
	size_t bytes;
	uint64_t index;

	return c->abi == LIVE_OTEL && key[0] == '#' &&
	       live_number(key + 1, a->key_bytes - 1, 10, &index) == 0 && index <= UINT8_MAX &&
	       (!keys || !otel_payload_key(keys, (unsigned int)index, &bytes));
}

/* Is it told as a label, and not as one of the ids? */
static int is_label(const struct otel_payload *keys, const struct live_context *c,
		    const struct live_attribute *a)
{
	if (!a->key_bytes || is_of_no_key(keys, c, a))
		return 0;
	if (c->abi == LIVE_OTEL)
		return !(c->flags & LIVE_ROOT && published_is_named(c, a, WEFT_OTEL_ROOT_KEY));
	if (c->abi == LIVE_GO)
		return !(c->flags & LIVE_SPAN && published_is_named(c, a, GO_SPAN_KEY)) &&
		       !(c->flags & LIVE_ROOT && published_is_named(c, a, GO_ROOT_KEY));
	return !published_is_named(c, a, WEFT_CUSTOM_LABELS_SPAN_KEY) &&
	       !published_is_named(c, a, WEFT_CUSTOM_LABELS_ROOT_KEY);
}

/* A label behind @bytes of them; how many there are then. Of equal keys the first counts. */
static int published_put_label(const struct live_context *c, const struct live_attribute *a,
			       uint8_t *to, int bytes)
{
	struct weft_sample_label head = {
		(uint16_t)(a->key_bytes < WEFT_CUSTOM_LABELS_KEY_BYTES
				   ? a->key_bytes
				   : WEFT_CUSTOM_LABELS_KEY_BYTES),
		(uint16_t)(a->value_bytes < WEFT_CUSTOM_LABELS_VALUE_BYTES
				   ? a->value_bytes
				   : WEFT_CUSTOM_LABELS_VALUE_BYTES),
	};
	size_t more = sizeof(head) + head.key_bytes + head.value_bytes;

	if ((size_t)bytes + more > LABEL_BYTES_MAX)
		return -1;
	memcpy(to + bytes, &head, sizeof(head));
	memcpy(to + bytes + sizeof(head), live_text(c, a->key_at), head.key_bytes);
	memcpy(to + bytes + sizeof(head) + head.key_bytes, live_text(c, a->value_at),
	       head.value_bytes);
	return bytes + (int)more;
}

static void published_add_labels(struct published_merge *m, const struct live_context *c)
{
	size_t count = c->count < WEFT_SAMPLE_LABELS_MAX ? c->count : WEFT_SAMPLE_LABELS_MAX;

	for (size_t i = 0; i < count; i++) {
		const struct live_attribute *a = &c->attribute[i];
		int bytes = is_label(m->keys, c, a) ? published_put_label(c, a, m->labels, m->bytes)
						    : m->bytes;

		if (bytes < 0) {
			m->counts->counter[WEFT_COUNTER_LABELS_UNRECORDED]++;
			return;
		}
		m->bytes = bytes;
	}
}

int published_drops_own(enum published_from from)
{
	return from == PUBLISHED_OTEL || from == PUBLISHED_LABELS;
}

void published_drop_own(struct weft_sample_record *sample)
{
	sample->context = WEFT_CONTEXT_NONE;
	memset(&sample->span_id, 0, sizeof(struct weft_context_snapshot));
}

int published_merge(struct published_merge *m, const struct live_context *c)
{
	int before = m->bytes, is_more;

	if (published_is_another(m->sample, c)) {
		m->counts->context_disagreed++;
		return 0;
	}
	is_more = published_add_ids(m->sample, c);
	if (!m->has_own_labels)
		published_add_labels(m, c);
	return is_more || m->bytes > before;
}
