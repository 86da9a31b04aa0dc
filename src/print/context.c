/* SPDX-License-Identifier: Apache-2.0 */
/* An interval of the join leads to how it is printed: see context.h. */
#include "print/context.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct context_printed *context_of(const struct contexts *c, uint32_t interval)
{
	return &c->printed[c->join.intervals[interval].payload];
}

static void context_free_text(struct context_printed *i)
{
	if (i->state == CONTEXT_KEPT)
		free((void *)(uintptr_t)i->text);
}

void contexts_free(struct contexts *c)
{
	for (uint32_t i = 0; i < c->join.count; i++)
		context_free_text(context_of(c, i));
	join_free(&c->join);
	free(c->printed);
	free(c->left);
	chunk_ends_free(&c->ends);
	*c = (struct contexts){0};
}

int contexts_add(struct contexts *c, uint64_t thread, int64_t start_ns, int64_t end_ns,
		 uint64_t offset)
{
	uint32_t index = c->join.count;
	struct context_printed *grown =
		array_grown(c->printed, index + (size_t)1, &c->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	c->printed = grown;
	grown[index] = (struct context_printed){.offset = offset};
	return join_add(&c->join, &(struct join_interval){.thread = thread,
							  .start_ns = start_ns,
							  .last_ns = join_last_ns(start_ns, end_ns),
							  .order = offset,
							  .payload = index});
}

int contexts_keep(struct contexts *c, struct context_printed *i)
{
	char *text;

	i->state = CONTEXT_LEFT_OUT;
	if (i->is_huge || c->kept + 1 > CONTEXTS_MOST || c->kept_bytes >= CONTEXTS_BYTES)
		return 0;
	text = malloc(i->text_bytes + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, i->text, i->text_bytes);
	i->text = text;
	i->state = CONTEXT_KEPT;
	c->kept++;
	c->kept_bytes += i->text_bytes;
	return 1;
}

int contexts_leave(struct contexts *c)
{
	uint64_t *grown = array_grown(c->left, c->left_count + 1, &c->left_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	c->left = grown;
	grown[c->left_count++] = c->printed[--c->join.count].offset;
	return 0;
}

int contexts_enter(struct contexts *c, uint64_t chunk)
{
	int64_t from_ns = chunk_ends_from(&c->ends, chunk);
	struct context_printed *left = calloc(c->join.count + (size_t)1, sizeof(*left));

	if (!left)
		return -ENOMEM;
	join_seal(&c->join);
	for (uint32_t i = 0; i < c->join.count; i++) {
		struct join_interval *v = &c->join.intervals[i];
		struct context_printed *printed = context_of(c, i);

		if (printed->state == CONTEXT_KEPT && v->last_ns >= from_ns)
			continue;
		if (printed->state == CONTEXT_KEPT) {
			c->kept--;
			c->kept_bytes -= printed->text_bytes;
		}
		context_free_text(printed);
		v->last_ns = INT64_MIN; /* before all that is asked for */
	}
	join_forget(&c->join, from_ns);
	for (uint32_t i = 0; i < c->join.count; i++) {
		left[i] = *context_of(c, i);
		c->join.intervals[i].payload = i;
	}
	free(c->printed);
	c->printed = left;
	c->room = c->join.count + (size_t)1;
	return 0;
}

size_t contexts_at(const struct contexts *c, uint64_t thread, int64_t time_ns,
		   struct context_printed **out, size_t most)
{
	const struct join_interval *v = thread ? join_innermost(&c->join, thread, time_ns) : NULL;
	size_t count = 0;

	for (; v && count < most; v = join_outer(&c->join, v, time_ns))
		out[count++] = &c->printed[v->payload];
	for (size_t i = 0; i < count / 2; i++) {
		struct context_printed *swap = out[i];

		out[i] = out[count - 1 - i];
		out[count - 1 - i] = swap;
	}
	return count;
}
