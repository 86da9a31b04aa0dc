/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a thread in the order of time: see timeline.h. */
#include "collector/write/timeline.h"

#include <errno.h>
#include <stdlib.h>

#define SWEEP_NS UINT64_C(20000000)
#define GAP_NS 2 /* a stretch ends a nanosecond after its last sample */

static void timeline_list(struct timelines *all, struct timeline *l)
{
	if (l->listed)
		return;
	l->listed = 1;
	l->next = all->first;
	all->first = l;
}

static struct timeline *timeline_of(struct process *p, struct process_thread *t)
{
	struct timeline *l = t->timeline;

	if (l)
		return l;
	l = t->timeline = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->process = p;
	l->thread = t;
	return l;
}

/* Behind all that are not newer: most often at the end. */
static void timeline_insert(struct timeline *l, struct timeline_item *item)
{
	struct timeline_item **at = &l->first;

	if (l->last && l->last->time_ns <= item->time_ns)
		at = &l->last->next;
	else if (l->hint && l->hint->time_ns <= item->time_ns)
		at = &l->hint->next;
	while (*at && (*at)->time_ns <= item->time_ns)
		at = &(*at)->next;
	item->next = *at;
	*at = item;
	if (!item->next)
		l->last = item;
	l->hint = item;
}

int timeline_put(struct timelines *all, struct process *p, struct process_thread *t,
		 struct timeline_item *item)
{
	struct timeline *l = item ? timeline_of(p, t) : NULL;

	if (!l) {
		timeline_drop(item);
		return -ENOMEM;
	}
	if (item->kind == ITEM_WORD) {
		if (item->time_ns < l->told_ns)
			item->time_ns = l->told_ns;
		l->told_ns = item->time_ns;
	}
	timeline_insert(l, item);
	all->bytes += item->bytes;
	timeline_list(all, l);
	if (item->time_ns > all->now_ns)
		all->now_ns = item->time_ns;
	return 0;
}

static void timeline_remember(struct timeline_item **as, struct timeline_item *item)
{
	timeline_keep(item);
	timeline_drop(*as);
	*as = item;
}

/* Waits for a CPU that were told before the first sample: they get its context. */
static void write_early(struct timelines *all, struct timeline *l)
{
	struct wall_word word = l->early;

	l->early.samples = 0;
	recording_delay(all->recording, l->process, l->thread, &word, NULL);
	l->stay.is_newest = 0;
}

static void write_delay(struct timelines *all, struct timeline *l, struct timeline_item *item)
{
	const struct wall_word *word = &item->word;
	uint32_t before = l->early.samples;

	if (l->newest || item->has_sample) {
		recording_delay(all->recording, l->process, l->thread, word,
				item->has_sample ? &item->sample : NULL);
		l->stay.is_newest = 0;
		return;
	}
	l->early = *word;
	l->early.samples += before;
}

static void timeline_write_sample(struct timelines *all, struct timeline *l,
				  struct timeline_item *item)
{
	struct process_thread *t = l->thread;
	int is_own = item->kind == ITEM_SAMPLE;
	struct recorded_sample sample = item->sample;

	if (sample.time_ns <= t->previous_ns + GAP_NS)
		sample.time_ns = t->previous_ns + GAP_NS;
	if (is_own)
		recording_sample(all->recording, l->process, t, &sample, &item->trace);
	else
		recording_stay_begin(all->recording, l->process, t, item, sample.time_ns);
	l->stay.is_newest = !is_own;
	timeline_remember(&l->newest, item);
	if (is_own)
		timeline_remember(&l->own, item);
	if (l->early.samples)
		write_early(all, l);
}

static void timeline_write_item(struct timelines *all, struct timeline *l,
				struct timeline_item *item)
{
	if (item->kind == ITEM_EVENT) {
		recording_event(all->recording, l->process, l->thread, &item->event, &item->trace);
		l->stay.is_newest = 0;
		return;
	}
	switch (item->word.kind) {
	case WALL_MORE:
	case WALL_END:
		recording_stay_more(all->recording, l->process, l->thread, &item->word);
		break;
	case WALL_DELAY:
		write_delay(all, l, item);
		break;
	case WALL_ACCOUNT:
		recording_time(all->recording, l->process, l->thread, &item->word);
		break;
	default:
		timeline_write_sample(all, l, item);
		break;
	}
}

static void write_until(struct timelines *all, struct timeline *l, uint64_t until_ns)
{
	struct timeline_item *item;

	while ((item = l->first) && item->time_ns <= until_ns) {
		l->first = item->next;
		all->bytes -= item->bytes;
		if (!l->first)
			l->last = NULL;
		if (l->hint == item)
			l->hint = NULL;
		timeline_write_item(all, l, item);
		timeline_drop(item);
	}
}

/* The last that is heard of the thread. */
static void timeline_finish(struct timelines *all, struct timeline *l)
{
	write_until(all, l, UINT64_MAX);
	if (l->early.samples) /* never seen: without a stack */
		write_early(all, l);
	recording_time_end(all->recording, l->process, l->thread);
	recording_thread_end(all->recording, l->process, l->thread);
	timeline_drop(l->newest);
	timeline_drop(l->own);
	timeline_drop(l->stay.item);
	l->thread->timeline = NULL;
	free(l);
}

void timeline_end(struct timelines *all, struct process *p, struct process_thread *t,
		  uint64_t now_ns)
{
	struct timeline *l = timeline_of(p, t);

	if (!l) {
		recording_thread_end(all->recording, p, t);
		process_thread_drop(p, t);
		return;
	}
	if (!l->ended_ns) /* it is told from inside and from outside */
		l->ended_ns = now_ns ? now_ns : 1;
	timeline_list(all, l);
}

static int timelines_are_full(const struct timelines *all)
{
	return all->limit && all->bytes > all->limit;
}

static int timeline_is_over(const struct timelines *all, const struct timeline *l)
{
	return l->ended_ns && !l->first && all->now_ns > l->ended_ns + WALL_LINGER_NS;
}

static void timeline_sweep(struct timelines *all)
{
	uint64_t until_ns = all->now_ns > TIMELINE_WAIT_NS ? all->now_ns - TIMELINE_WAIT_NS : 0;
	struct timeline **at = &all->first, *l;

	if (timelines_are_full(all))
		until_ns = UINT64_MAX;
	while ((l = *at)) {
		write_until(all, l, until_ns);
		if (l->first || (l->ended_ns && !timeline_is_over(all, l))) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		l->listed = 0;
		if (l->ended_ns) {
			struct process *p = l->process;
			struct process_thread *t = l->thread;

			uint64_t ended_ns = l->ended_ns;

			timeline_finish(all, l);
			recording_thread_gone(all->recording, t, ended_ns);
			recording_account_thread(all->recording, p, t);
			process_thread_drop(p, t);
		}
	}
	all->swept_ns = all->now_ns;
}

void timelines_advance(struct timelines *all, uint64_t now_ns, int at_once)
{
	if (now_ns > all->now_ns)
		all->now_ns = now_ns;
	if (at_once || timelines_are_full(all) || all->now_ns - all->swept_ns >= SWEEP_NS)
		timeline_sweep(all);
}

void timelines_close(struct timelines *all, struct process *p)
{
	struct timeline **at = &all->first, *l;
	struct process_thread *t;
	size_t cursor = 0;

	while ((l = *at)) {
		if (l->process == p)
			*at = l->next;
		else
			at = &l->next;
	}
	while ((t = process_thread_next(p, &cursor)))
		if (t->timeline)
			timeline_finish(all, t->timeline);
}
