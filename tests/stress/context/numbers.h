/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts whose fields are functions of one another: root = f(span), trace = g(root),
 * flags = h(trace), tags = t(number), and the span tells the number. A number is
 * base + step: a round of steps begins at a multiple of 8, and each step is one update, by
 * one of the calls of weft/context.h. So a snapshot that mixes two updates cannot pass.
 *
 * With BROKEN_WRITER: the same calls from a copy of the header in which the lines that mark
 * a write as begun are missing.
 */
#ifndef TESTS_STRESS_CONTEXT_NUMBERS_H
#define TESTS_STRESS_CONTEXT_NUMBERS_H

#include <string.h>

#ifdef BROKEN_WRITER
#include "broken_context.h"
#else
#include <weft/context.h>
#endif

#include "base/context_snapshot.h"

enum step {
	STEP_WRITE = 0, /* all of it */
	STEP_SET = 1,   /* ids alone */
	STEP_TRACE = 2, /* ids, trace id, flags */
	STEP_ENTER = 3, /* a scope with all of it */
	STEP_LEAVE = 4, /* back to what STEP_TRACE left */
	STEP_TAG = 5,   /* one tag */
	STEP_CLEAR = 6,
	STEPS = 7,
};

#define ROUND 8
#define LAST_TAG (WEFT_TAGS - 1)
#define NUMBER_BITS 40
#define THREAD_SHIFT 35 /* number >> this: the thread, below 32 */
#define SPAN_FACTOR UINT64_C(0xD6E8FEB86659FD93)

static const char *const step_names[STEPS] = {"write",       "set",     "set_trace", "scope_enter",
					      "scope_leave", "tag_set", "clear"};

struct state {
	enum weft_sample_context found;
	struct weft_context_snapshot fields;
};

/* Every second round ends without STEP_CLEAR, so that contexts follow contexts too. */
static inline int is_taken(uint64_t base, enum step step)
{
	return step != STEP_CLEAR || base / ROUND % 2 == 0;
}

enum verdict {
	VERDICT_WHOLE,   /* of one update */
	VERDICT_NOTHING, /* says honestly that there is nothing */
	VERDICT_BUSY,    /* says honestly that it is being written */
	VERDICT_BAD,     /* its checksum is wrong */
	VERDICT_TORN,    /* taken for good, and of more than one update */
	VERDICTS,
};

static inline uint64_t mixed(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

static inline uint64_t span_of(uint64_t number)
{
	return number * SPAN_FACTOR;
}

/* The factor is odd, so there is one: by Newton, its correct bits double each time. */
static inline uint64_t number_of(uint64_t span)
{
	uint64_t inverse = SPAN_FACTOR;

	for (int i = 0; i < 5; i++)
		inverse *= 2 - SPAN_FACTOR * inverse;
	return span * inverse;
}

static inline uint64_t root_of(uint64_t span)
{
	return mixed(span) | 1;
}

static inline uint32_t tag_of(uint64_t number, uint64_t n)
{
	return (uint32_t)mixed(number * WEFT_TAGS + n) | 1;
}

static inline void fill_ids(struct weft_context_snapshot *s, uint64_t number)
{
	s->span_id = span_of(number);
	s->root_span_id = root_of(s->span_id);
}

static inline void fill_trace(struct weft_context_snapshot *s)
{
	s->trace_id[0] = mixed(s->root_span_id) | 1;
	s->trace_id[1] = mixed(s->trace_id[0]);
	s->trace_flags = (uint32_t)mixed(s->trace_id[1]);
}

static inline void fill_tags(struct weft_context_snapshot *s, uint64_t number)
{
	for (unsigned int i = 0; i < WEFT_TAGS; i++)
		s->tags[i] = tag_of(number, i);
}

/* What a snapshot shows once @step of the round at @base is done. */
static inline struct state state_after(uint64_t base, enum step step)
{
	struct state out = {.found = WEFT_CONTEXT_TRACE};
	enum step ids = step == STEP_LEAVE || step == STEP_TAG ? STEP_TRACE : step;

	if (step == STEP_CLEAR) {
		out.found = WEFT_CONTEXT_NONE;
		return out;
	}
	fill_ids(&out.fields, base + ids);
	fill_tags(&out.fields, step == STEP_ENTER ? base + STEP_ENTER : base);
	if (step == STEP_SET)
		out.found = WEFT_CONTEXT_IDS;
	else
		fill_trace(&out.fields);
	if (step == STEP_TAG)
		out.fields.tags[LAST_TAG] = tag_of(base + STEP_TAG, LAST_TAG);
	return out;
}

static inline struct weft_context whole_context(uint64_t number)
{
	struct weft_context_snapshot s;
	struct weft_context c;

	fill_ids(&s, number);
	fill_trace(&s);
	fill_tags(&s, number);
	c.span_id = s.span_id;
	c.root_span_id = s.root_span_id;
	c.trace_flags = s.trace_flags;
	memcpy(c.trace_id, s.trace_id, sizeof(c.trace_id));
	memcpy(c.tags, s.tags, sizeof(c.tags));
	return c;
}

static inline int is_zero(const struct weft_context_snapshot *s)
{
	static const struct weft_context_snapshot zero;

	return !memcmp(s, &zero, sizeof(zero));
}

static inline int is_state(const struct state *want, enum weft_sample_context found,
			   const struct weft_context_snapshot *s)
{
	return found == want->found && !memcmp(s, &want->fields, sizeof(*s));
}

static inline int is_whole(enum weft_sample_context found, const struct weft_context_snapshot *s)
{
	uint64_t number = number_of(s->span_id), base = number / ROUND * ROUND;
	enum step step = (enum step)(number % ROUND);
	struct state want;

	if (number >> NUMBER_BITS || step > STEP_ENTER)
		return 0;
	want = state_after(base, step);
	if (is_state(&want, found, s))
		return 1;
	want = state_after(base, STEP_TAG);
	return step == STEP_TRACE && is_state(&want, found, s);
}

static inline enum verdict judge(enum weft_sample_context found,
				 const struct weft_context_snapshot *s)
{
	if (found == WEFT_CONTEXT_BAD)
		return VERDICT_BAD;
	if (found == WEFT_CONTEXT_BUSY)
		return is_zero(s) ? VERDICT_BUSY : VERDICT_TORN;
	if (found == WEFT_CONTEXT_NONE)
		return is_zero(s) ? VERDICT_NOTHING : VERDICT_TORN;
	return is_whole(found, s) ? VERDICT_WHOLE : VERDICT_TORN;
}

/* One call, its arguments made before. */
static inline void take_step(enum step step, const struct weft_context *c, uint32_t tag,
			     struct weft_scope *scope)
{
	switch (step) {
	case STEP_WRITE:
		weft_context_write(c);
		break;
	case STEP_SET:
		weft_context_set(c->span_id, c->root_span_id);
		break;
	case STEP_TRACE:
		weft_context_set_trace(c->span_id, c->root_span_id, c->trace_id, c->trace_flags);
		break;
	case STEP_ENTER:
		weft_scope_enter(scope, c);
		break;
	case STEP_LEAVE:
		weft_scope_leave(scope);
		break;
	case STEP_TAG:
		weft_tag_set(LAST_TAG, tag);
		break;
	default:
		weft_context_clear();
		break;
	}
}

#endif
