/* SPDX-License-Identifier: Apache-2.0 */
/* Wall-clock samples in the file: time on a CPU, stays, and waits for a CPU. See recording.h. */
#include "collector/write/recording_private.h"
#include "collector/write/timeline.h"

#include "base/recording.h"

#include <string.h>

#define GAP_NS 2 /* a stretch ends a nanosecond after its last sample */

struct wall_event {
	uint64_t time_ns, stack;
	const struct context_key *key;
	uint32_t samples;
	enum weft_thread_state state;
};

static int64_t recording_wall_state_of(enum weft_thread_state state)
{
	switch (state) {
	case WEFT_STATE_RUNNING:
		return WEFT_JFR_STATE_RUNNABLE;
	case WEFT_STATE_UNINTERRUPTIBLE:
		return WEFT_JFR_STATE_UNINTERRUPTIBLE;
	case WEFT_STATE_WAITING_FOR_CPU:
		return WEFT_JFR_STATE_WAITING_FOR_CPU;
	default:
		return WEFT_JFR_STATE_SLEEPING;
	}
}

static enum time_place recording_wall_place_of(enum weft_thread_state state)
{
	if (state == WEFT_STATE_RUNNING)
		return TIME_RUNNING;
	return state == WEFT_STATE_WAITING_FOR_CPU ? TIME_WAITING : TIME_BLOCKED;
}

static void put_wall(struct recording *r, struct process *p, const struct process_thread *t,
		     const struct wall_event *e)
{
	struct weft_jfr_value v[RECORDING_INLINE_WALL_FIXED_FIELDS + COLUMNS_MAX] = {
		{.number = (int64_t)e->time_ns},
		{.number = (int64_t)t->key},
		{.number = (int64_t)e->stack},
		{.number = recording_wall_state_of(e->state)},
		{.number = e->samples},
		{.number = (int64_t)(e->samples * r->o.wall_period_ns)},
	};
	size_t count = RECORDING_WALL_FIXED_FIELDS;
	struct context_texts texts;

	if (!r->wall)
		return;
	if (r->o.inline_context) {
		recording_fill_context(r, p, e->key, &texts, v + count + 1);
		count = RECORDING_INLINE_WALL_FIXED_FIELDS + r->columns;
	}
	recording_put(r, r->wall, v, count);
	r->chunk.wall += e->samples;
	if (t->timeline)
		t->timeline->time.seen_ns[recording_wall_place_of(e->state)] +=
			e->samples * r->o.wall_period_ns;
}

/* An event behind all that the thread has, and its span with it. */
static void put_in_span(struct recording *r, struct process *p, struct process_thread *t,
			const struct wall_event *e)
{
	recording_extend(r, p, t, e->key, e->time_ns, e->time_ns);
	put_wall(r, p, t, e);
	t->previous_ns = e->time_ns;
}

void recording_put_running(struct recording *r, struct process *p, struct process_thread *t,
			   const struct spread *spread, uint64_t stack,
			   const struct context_key *key)
{
	struct wall_event e = {
		.stack = stack, .key = key, .samples = 1, .state = WEFT_STATE_RUNNING};

	for (uint32_t i = 0; i < spread->count; i++) {
		e.time_ns = spread->first_ns + i * spread->step_ns;
		for (t->running_ns += r->o.period_ns; t->running_ns >= r->o.wall_period_ns;
		     t->running_ns -= r->o.wall_period_ns)
			put_wall(r, p, t, &e);
	}
}

/* Tools pass over what has no stack at all. */
static uint64_t unknown_stack(const struct recording *r)
{
	struct weft_jfr_frame frame = {.method = weft_jfr_method(r->writer, "", "[unknown]"),
				       .type = WEFT_JFR_FRAME_NATIVE};

	return weft_jfr_stack(r->writer, &frame, 1, 1);
}

static uint64_t recording_wall_stack_of(const struct recording *r, const struct timeline_item *item)
{
	return item && item->trace.count ? (uint64_t)recording_stack(r, &item->trace)
					 : unknown_stack(r);
}

static const struct context_key *recording_wall_key_of(const struct thread_stay *s)
{
	return recorded_key(&s->item->sample);
}

void recording_put_stay(struct recording *r, struct process *p, struct process_thread *t)
{
	struct thread_stay *s = t->timeline ? &t->timeline->stay : NULL;

	if (!s || !s->item || !s->samples)
		return;
	if (s->is_apart && s->item->sample.has_key)
		recording_put_span(r, p, t,
				   &(struct stretch){.key = s->item->sample.key,
						     .first_ns = s->time_ns,
						     .last_ns = s->time_ns});
	put_wall(r, p, t,
		 &(struct wall_event){
			 .time_ns = s->time_ns,
			 .stack = recording_wall_stack_of(r, s->item),
			 .key = recording_wall_key_of(s),
			 .samples = s->samples,
			 .state = (enum weft_thread_state)s->item->word.state,
		 });
	s->samples = 0;
	s->is_split = 1;
	s->is_apart = 0;
}

static void recording_wall_end_stay(struct recording *r, struct process *p,
				    struct process_thread *t)
{
	struct thread_stay *s = &t->timeline->stay;

	recording_put_stay(r, p, t);
	timeline_drop(s->item);
	s->item = NULL;
}

void recording_stay_begin(struct recording *r, struct process *p, struct process_thread *t,
			  struct timeline_item *item, uint64_t time_ns)
{
	struct thread_stay *s = &t->timeline->stay;

	recording_wall_end_stay(r, p, t);
	recording_meet_context(r, p, recorded_key(&item->sample));
	recording_extend(r, p, t, recorded_key(&item->sample), time_ns, time_ns);
	timeline_keep(item);
	s->item = item;
	s->time_ns = s->end_ns = time_ns;
	s->samples = item->word.samples ? item->word.samples : 1;
	s->is_split = s->is_apart = 0;
	t->previous_ns = time_ns;
}

/* A stay goes on after an event was written of it. The next event needs a time of its own: when the
 * thread has been seen elsewhere since, just after the part that is known to be of this stay. */
static void begin_part(const struct process_thread *t, struct thread_stay *s, uint64_t from_ns)
{
	s->is_apart = !s->is_newest;
	if (s->is_apart)
		s->time_ns = s->end_ns + 1; /* behind the span that holds the part before */
	else
		s->time_ns = from_ns > t->previous_ns + GAP_NS ? from_ns : t->previous_ns + GAP_NS;
}

void recording_stay_more(struct recording *r, struct process *p, struct process_thread *t,
			 const struct wall_word *word)
{
	struct thread_stay *s = &t->timeline->stay;
	uint64_t to_ns = word->to_ns;

	if (!s->item)
		return;
	if (word->samples && !s->samples && s->is_split)
		begin_part(t, s, word->from_ns);
	s->samples += word->samples;
	if (s->is_newest && word->samples && word->kind == WALL_MORE) {
		to_ns = to_ns > s->time_ns ? to_ns : s->time_ns;
		recording_extend(r, p, t, recording_wall_key_of(s), s->time_ns, to_ns);
		s->end_ns = to_ns;
		t->previous_ns = to_ns > t->previous_ns ? to_ns : t->previous_ns;
	} else if (s->is_newest && word->samples) {
		recording_extend(r, p, t, recording_wall_key_of(s), s->time_ns, s->time_ns);
	}
	if (word->kind == WALL_END)
		recording_wall_end_stay(r, p, t);
}

/* The sample whose context a wait for a CPU gets: @seen, the newest, or for a guess a sample that
 * the thread's own handler took since. */
static const struct recorded_sample *
evidence(const struct timeline *l, const struct wall_word *word, const struct recorded_sample *seen)
{
	if (word->is_guess && l->own && l->own->sample.time_ns > word->from_ns)
		return &l->own->sample;
	return seen ? seen : l->newest ? &l->newest->sample : NULL;
}

static int recording_wall_is_in(const struct timeline_item *item, const struct context_key *key)
{
	const struct context_key *its = recorded_key(&item->sample);

	if (item->kind == ITEM_EVENT || (item->kind == ITEM_WORD && item->word.kind != WALL_SAMPLE))
		return 0;
	return its && key ? memcmp(its, key, sizeof(*its)) == 0 : its == key;
}

/* The nearest sample of the thread in that context: the one before, else one that waits for its
 * turn; NULL = none is known. */
static const struct timeline_item *nearest_in(const struct timeline *l,
					      const struct context_key *key)
{
	if (l->newest && recording_wall_is_in(l->newest, key))
		return l->newest;
	for (const struct timeline_item *item = l->first; item; item = item->next)
		if (recording_wall_is_in(item, key))
			return item;
	return l->own && recording_wall_is_in(l->own, key) ? l->own : NULL;
}

void recording_delay(struct recording *r, struct process *p, struct process_thread *t,
		     const struct wall_word *word, const struct recorded_sample *seen)
{
	const struct recorded_sample *from = evidence(t->timeline, word, seen);
	struct wall_event e = {.key = from ? recorded_key(from) : NULL,
			       .samples = word->samples,
			       .state = WEFT_STATE_WAITING_FOR_CPU};

	if (!word->samples)
		return;
	e.time_ns = word->to_ns > t->previous_ns + GAP_NS ? word->to_ns : t->previous_ns + GAP_NS;
	recording_meet_context(r, p, e.key);
	e.stack = recording_wall_stack_of(r, nearest_in(t->timeline, e.key));
	put_in_span(r, p, t, &e);
}

void recording_put_unseen(struct recording *r, struct process *p, struct process_thread *t,
			  enum weft_thread_state state, uint64_t samples)
{
	struct wall_event e = {.time_ns = t->previous_ns + GAP_NS,
			       .stack = unknown_stack(r),
			       .samples = samples < UINT32_MAX ? (uint32_t)samples : UINT32_MAX,
			       .state = state};

	put_in_span(r, p, t, &e);
}
