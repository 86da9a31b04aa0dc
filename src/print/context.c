/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep: intervals sorted by their start are opened as time goes on, each at the head of its
 * thread's list; what has ended is taken out when the list is walked.
 */
#include "print/context.h"

#include "base/array.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void contexts_free(struct contexts *c)
{
	free(c->intervals);
	free(c->threads);
	*c = (struct contexts){0};
}

void contexts_clear(struct contexts *c)
{
	c->count = 0;
	c->begun = 0;
}

int contexts_add(struct contexts *c, const struct context_interval *interval)
{
	struct context_interval *bigger =
		array_grown(c->intervals, c->count + 2, &c->room, sizeof(*bigger));

	if (!bigger || c->count >= UINT32_MAX - 2)
		return -ENOMEM;
	c->intervals = bigger;
	c->intervals[++c->count] = *interval;
	c->intervals[c->count].next = 0;
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct context_interval *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

int contexts_seal(struct contexts *c)
{
	size_t room = 64;

	if (c->count)
		qsort(c->intervals + 1, c->count, sizeof(*c->intervals), by_start);
	while (room < 2 * c->count)
		room *= 2;
	free(c->threads);
	c->threads = calloc(room, sizeof(*c->threads));
	c->thread_room = c->threads ? room : 0;
	c->begun = 0;
	return c->threads ? 0 : -ENOMEM;
}

/* Where the thread's list begins: there are more places than intervals, so there is one. */
static uint32_t *context_list_of(struct contexts *c, uint64_t thread)
{
	size_t i = hash_mix(thread);

	for (;; i++) {
		uint32_t *newest = &c->threads[i & (c->thread_room - 1)].newest;

		if (!*newest && !c->threads[i & (c->thread_room - 1)].thread)
			c->threads[i & (c->thread_room - 1)].thread = thread;
		if (c->threads[i & (c->thread_room - 1)].thread == thread)
			return newest;
	}
}

static uint32_t *find_list(struct contexts *c, uint64_t thread)
{
	for (size_t i = hash_mix(thread);; i++) {
		size_t place = i & (c->thread_room - 1);

		if (c->threads[place].thread == thread)
			return &c->threads[place].newest;
		if (!c->threads[place].thread)
			return NULL;
	}
}

static int context_holds(const struct context_interval *i, int64_t time_ns)
{
	return time_ns < i->end_ns || (time_ns == i->start_ns && i->start_ns == i->end_ns);
}

static void begin_until(struct contexts *c, int64_t time_ns)
{
	while (c->begun < c->count && c->intervals[c->begun + 1].start_ns <= time_ns) {
		uint32_t index = (uint32_t)++c->begun, *newest;

		newest = context_list_of(c, c->intervals[index].thread);
		c->intervals[index].next = *newest;
		*newest = index;
	}
}

size_t contexts_at(struct contexts *c, uint64_t thread, int64_t time_ns, uint32_t *out, size_t most)
{
	size_t count = 0;
	uint32_t *at;

	if (!c->count || !thread)
		return 0;
	begin_until(c, time_ns);
	at = find_list(c, thread);
	while (at && *at && count < most) {
		struct context_interval *i = &c->intervals[*at];

		if (!context_holds(i, time_ns)) {
			*at = i->next;
			continue;
		}
		out[count++] = *at;
		at = &i->next;
	}
	for (size_t i = 0; i < count / 2; i++) {
		uint32_t swap = out[i];

		out[i] = out[count - 1 - i];
		out[count - 1 - i] = swap;
	}
	return count;
}
