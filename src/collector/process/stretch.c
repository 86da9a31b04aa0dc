/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of one context, and the spreading of weights: see stretch.h. */
#include "collector/process/stretch.h"

#include <string.h>

/* A stretch ends a nanosecond after its last sample, so the next sample keeps clear of it. */
#define GAP_NS 2

int context_of_sample(const struct weft_sample_record *sample, uint32_t labels,
		      struct context_key *out)
{
	static const struct context_key nothing;
	struct context_key key = {.coroutine = sample->coroutine, .labels = labels};

	if (sample->context == WEFT_CONTEXT_IDS || sample->context == WEFT_CONTEXT_TRACE) {
		key.span_id = sample->span_id;
		key.root_span_id = sample->root_span_id;
		memcpy(key.tags, sample->tags, sizeof(key.tags));
	}
	if (sample->context == WEFT_CONTEXT_TRACE)
		memcpy(key.trace_id, sample->trace_id, sizeof(key.trace_id));
	if (memcmp(&key, &nothing, sizeof(key)) == 0)
		return 0;
	*out = key;
	return 1;
}

int stretch_end(struct stretch *s, struct stretch *ended)
{
	if (!s->open)
		return 0;
	*ended = *s;
	s->open = 0;
	return 1;
}

int stretch_continues(const struct stretch *s, const struct context_key *key)
{
	return s->open && memcmp(&s->key, key, sizeof(*key)) == 0;
}

int stretch_add(struct stretch *s, const struct context_key *key, uint64_t first_ns,
		uint64_t last_ns, struct stretch *ended)
{
	int rc;

	if (key && stretch_continues(s, key)) {
		if (last_ns > s->last_ns)
			s->last_ns = last_ns;
		return 0;
	}
	rc = stretch_end(s, ended);
	if (key) {
		s->key = *key;
		s->first_ns = first_ns;
		s->last_ns = last_ns;
		s->open = 1;
	}
	return rc;
}

struct spread spread_weight(uint64_t time_ns, uint32_t weight, uint64_t period_ns,
			    uint64_t previous_ns)
{
	struct spread out = {.first_ns = time_ns, .count = weight ? weight : 1};
	uint64_t room, steps;

	if (out.count > SPREAD_MAX)
		out.count = SPREAD_MAX;
	steps = out.count - 1;
	if (steps == 0)
		return out;
	room = time_ns > previous_ns + GAP_NS ? time_ns - previous_ns - GAP_NS : 0;
	out.step_ns = room / steps < period_ns ? room / steps : period_ns;
	out.first_ns = time_ns - steps * out.step_ns;
	return out;
}
