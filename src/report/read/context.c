/* SPDX-License-Identifier: Apache-2.0 */
/* See context.h. Intervals are numbered as they are added; each has its items in one array. */
#include "report/read/context.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

void context_index_free(struct context_index *x)
{
	join_free(&x->join);
	free(x->first_item);
	free(x->items);
}

int context_index_add(struct context_index *x, uint64_t thread, int64_t start_ns, int64_t end_ns,
		      const struct context_item *items, uint32_t count)
{
	uint32_t number = x->join.count, *first;
	struct context_item *pool;

	if (count > UINT32_MAX - x->item_count)
		return -ENOMEM;
	first = array_grown(x->first_item, number + (size_t)2, &x->first_room, sizeof(*first));
	if (first)
		x->first_item = first;
	pool = array_grown(x->items, x->item_count + (size_t)count, &x->item_room, sizeof(*pool));
	if (pool)
		x->items = pool;
	if (!first || !pool ||
	    join_add(&x->join, &(struct join_interval){.thread = thread,
						       .start_ns = start_ns,
						       .last_ns = join_last_ns(start_ns, end_ns),
						       .order = number,
						       .payload = number}))
		return -ENOMEM;
	first[number] = x->item_count;
	for (uint32_t i = 0; i < count; i++)
		x->items[x->item_count++] = items[i];
	first[number + 1] = x->item_count;
	return 0;
}

void context_index_seal(struct context_index *x)
{
	join_seal(&x->join);
}

uint32_t context_index_holding(const struct context_index *x, uint64_t thread, int64_t time_ns,
			       uint32_t *out, uint32_t room)
{
	const struct join_interval *v = join_innermost(&x->join, thread, time_ns);
	uint32_t count = 0;

	for (; v && count < room; v = join_outer(&x->join, v, time_ns))
		out[count++] = v->payload;
	return count;
}

/* For each event type that added values the end of the outermost interval that did. */
struct taken {
	uint32_t count;
	struct {
		uint32_t type;
		int64_t last_ns;
	} of[CONTEXT_ITEMS];
};

/* May this interval add its values? Not if one of its type did that does not end before it. */
static int may_lend(struct taken *t, uint32_t type, int64_t last_ns)
{
	for (uint32_t i = 0; i < t->count; i++) {
		if (t->of[i].type != type)
			continue;
		if (last_ns <= t->of[i].last_ns)
			return 0;
		t->of[i].last_ns = last_ns;
		return 1;
	}
	if (t->count < CONTEXT_ITEMS) {
		t->of[t->count].type = type;
		t->of[t->count++].last_ns = last_ns;
	}
	return 1;
}

void context_index_ask(const struct context_index *x, uint64_t thread, int64_t time_ns,
		       struct context *out)
{
	const struct join_interval *v = join_innermost(&x->join, thread, time_ns);
	struct taken taken = {.count = 0};

	for (; v; v = join_outer(&x->join, v, time_ns)) {
		uint32_t from = x->first_item[v->payload], to = x->first_item[v->payload + 1];

		if (from < to && may_lend(&taken, x->items[from].type, v->last_ns))
			for (uint32_t k = from; k < to; k++)
				context_add(out, x->items[k]);
	}
}
