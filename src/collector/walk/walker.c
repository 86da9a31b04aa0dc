/* SPDX-License-Identifier: Apache-2.0 */
/* The walker thread: see walk.h. */
#include "collector/walk/walk.h"

#include "base/clock.h"
#include "collector/process/wall_word.h"
#include "collector/walk/jit.h"
#include "collector/walk/process_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The first look at the mappings is of the moment before the target was answered. */
static void open_process(struct walker *w, struct process *p)
{
	process_look(p, p->opened_ns);
	snapshots_begin(&p->walk->snapshots, p->base, &p->layout);
	map_publish(w->walking.modules, w->walking.tables, p);
}

/* Adds to a batch that grows; NULL, and the batch is gone: out of memory. */
static struct batch *walker_append(struct batch *b, size_t *room, const void *data, size_t bytes)
{
	if (b->bytes + bytes > *room) {
		size_t want = 2 * *room + bytes;
		struct batch *bigger = realloc(b, sizeof(*b) + want);

		if (!bigger) {
			free(b);
			return NULL;
		}
		b = bigger;
		*room = want;
	}
	memcpy(b->data + b->bytes, data, bytes);
	b->bytes += bytes;
	return b;
}

/*
 * The record at @at of a batch of samples, or of looks of the wall engine, of which some have a
 * sample behind them: its length, and the sample; NULL: it has none. 0: there is no other record.
 */
static size_t raw_record(const struct batch *b, size_t at, const struct weft_sample_record **sample)
{
	const struct wall_word *word = (const void *)(b->data + at);

	*sample = (const void *)word;
	if (b->kind == BATCH_SAMPLES)
		return at + sizeof(**sample) <= b->bytes ? (*sample)->record.bytes : 0;
	if (b->kind != BATCH_WALL || at + sizeof(*word) > b->bytes)
		return 0;
	*sample = word->bytes > sizeof(*word) ? (const void *)(word + 1) : NULL;
	return word->bytes;
}

/* The batch that takes the place of @raw; NULL: out of memory. */
static struct batch *walk_samples(struct walker *w, const struct batch *raw)
{
	_Alignas(8) uint8_t space[sizeof(struct wall_word) + WALKED_BYTES_MAX];
	struct wall_word *word = raw->kind == BATCH_WALL ? (void *)space : NULL;
	struct walked_sample *walked = (void *)(space + (word ? sizeof(*word) : 0));
	struct batch *b = batch_new(word ? BATCH_WALL_WALKED : BATCH_WALKED, raw->process, 0);
	const struct weft_sample_record *sample;
	uint64_t now_ns = clock_mono_ns();
	size_t room = 0;

	if (b) {
		b->thread = raw->thread;
		b->time_ns = raw->time_ns;
	}
	for (size_t at = 0, bytes; b && (bytes = raw_record(raw, at, &sample)); at += bytes) {
		size_t made = (size_t)((uint8_t *)walked - space);

		if (sample) {
			walking_sample(&w->walking, raw->process, sample, now_ns, walked);
			made += walked->bytes;
		}
		if (word) {
			memcpy(word, raw->data + at, sizeof(*word));
			word->bytes = (uint32_t)made;
		}
		b = walker_append(b, &room, space, made);
	}
	return b;
}

/* A switch, behind what is in @b. */
static struct batch *place_switch(struct walker *w, struct batch *b, size_t *room,
				  const struct weft_switch_record *record, uint64_t now_ns,
				  struct placed *seen)
{
	_Alignas(8) uint8_t space[WALKED_SWITCH_MAX];
	struct walked_switch *placed = (void *)space;

	walking_place(&w->walking, b->process, record, now_ns, seen, placed);
	return walker_append(b, room, placed, placed->head.bytes);
}

/* An event, likewise: its head, its values, its stack and its labels. */
static struct batch *place_event(struct walker *w, struct batch *b, size_t *room,
				 const struct checked_event *from, uint64_t now_ns)
{
	const struct weft_event_record *record = (const void *)from->record;
	_Alignas(8) uint8_t space[WALKED_STACK_MAX];
	struct walked_event event;
	const uint8_t *labels =
		walking_event(&w->walking, b->process, from, now_ns, &event, (void *)space);

	b = walker_append(b, room, &event, sizeof(event));
	if (b)
		b = walker_append(b, room, record + 1, event.values_bytes);
	if (b)
		b = walker_append(b, room, space, event.stack_bytes);
	if (b && labels)
		b = walker_append(b, room, labels,
				  (event.context.label_bytes + (size_t)7) & ~(size_t)7);
	return b;
}

/* The batch that takes the place of @raw, of the records of an events ring. */
static struct batch *place_all(struct walker *w, const struct batch *raw)
{
	struct placed seen[PLACED_ROOM] = {{0}};
	uint64_t now_ns = clock_mono_ns();
	size_t at = 0, room = raw->bytes;
	struct batch *b = batch_new(BATCH_PLACED, raw->process, room);

	if (b) {
		b->thread = raw->thread;
		b->bytes = 0;
	}
	while (b && at + sizeof(struct checked_event) < raw->bytes) {
		const struct checked_event *from = (const void *)(raw->data + at);

		if (from->record->type == WEFT_RECORD_SWITCH)
			b = place_switch(w, b, &room, (const void *)from->record, now_ns, seen);
		else
			b = place_event(w, b, &room, from, now_ns);
		at += sizeof(*from) + from->record->bytes;
	}
	return b;
}

/* Takes @b over. */
static void hand_on(struct walker *w, struct batch *b)
{
	struct batch *made = b;

	if (b->kind == BATCH_SAMPLES || b->kind == BATCH_WALL || b->kind == BATCH_EVENTS) {
		made = batch_trim(b->kind == BATCH_EVENTS ? place_all(w, b) : walk_samples(w, b));
		if (!made)
			w->error = -ENOMEM;
		free(b);
		queue_wait(w->out);
	}
	queue_push(w->out, made);
}

/* Takes @b over. */
static void held_put(struct held *h, struct batch *b)
{
	b->next = NULL;
	if (!h->first)
		h->last = &h->first;
	*h->last = b;
	h->last = &b->next;
	h->bytes += sizeof(*b) + b->bytes;
}

/* The next batch of @process, of any if it is NULL. NULL: none is left. */
static struct batch *held_take(struct held *h, const struct process *process)
{
	struct batch **at = &h->first, *b;

	while (*at && process && (*at)->process != process)
		at = &(*at)->next;
	b = *at;
	if (!b)
		return NULL;
	*at = b->next;
	if (h->last == &b->next)
		h->last = at;
	h->bytes -= sizeof(*b) + b->bytes;
	return b;
}

/* Walks what waits, of @p or of all processes (NULL), with the names that are there by now. */
static void release_held(struct walker *w, const struct process *p)
{
	struct batch *b;

	while ((b = held_take(&w->held, p))) {
		jit_finish(b->process->walk->jit, &w->walking.jit_budget, clock_mono_ns());
		hand_on(w, b);
	}
}

/* Of samples that are walked later: mappings are looked at now, while the code is there. */
static void walker_notice(struct walker *w, const struct batch *b)
{
	const struct weft_sample_record *sample;
	uint64_t now_ns = clock_mono_ns();

	for (size_t at = 0, bytes; (bytes = raw_record(b, at, &sample)); at += bytes)
		if (sample)
			walking_notice(&w->walking, b->process, sample, now_ns);
}

static int walker_must_wait(struct walker *w, struct process *p)
{
	uint64_t now_ns = clock_mono_ns();

	return jit_is_late(p->walk->jit, &w->walking.jit_budget, now_ns) ||
	       process_look_is_owed(p, now_ns);
}

/* Takes over @b: samples, events or a thread's end. What waits of that process stays before it. */
static void hold_or_hand_on(struct walker *w, struct batch *b)
{
	if (!walker_must_wait(w, b->process)) {
		release_held(w, b->process);
		hand_on(w, b);
		return;
	}
	walker_notice(w, b);
	held_put(&w->held, b);
	if (w->held_max && w->held.bytes > w->held_max)
		release_held(w, NULL);
}

static void walker_take(struct walker *w, struct batch *b)
{
	switch (b->kind) {
	case BATCH_SAMPLES:
	case BATCH_WALL:
	case BATCH_EVENTS:
	case BATCH_THREAD_END:
	case BATCH_THREAD_GONE:
		hold_or_hand_on(w, b);
		return;
	case BATCH_OPEN:
		open_process(w, b->process);
		break;
	case BATCH_COUNTS:
		process_look_libraries(b->process);
		break;
	case BATCH_CLOSE:
		process_look_libraries(b->process);
		release_held(w, b->process);
		break;
	case BATCH_ROLL:
	case BATCH_FINISH:
		release_held(w, NULL);
		break;
	default:
		break;
	}
	queue_push(w->out, b);
}

void *walker_run(void *arg)
{
	struct walker *w = arg;
	int more = 1;

	while (more) {
		struct batch *b = queue_pop(w->in);

		more = b->kind != BATCH_FINISH;
		walker_take(w, b);
	}
	return NULL;
}
