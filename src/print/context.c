/* SPDX-License-Identifier: Apache-2.0 */
/* See context.h. */
#include "print/context.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

void contexts_free(struct contexts *c)
{
	join_free(&c->join);
	free(c->printed);
	*c = (struct contexts){0};
}

void contexts_clear(struct contexts *c)
{
	join_clear(&c->join);
}

int contexts_add(struct contexts *c, uint64_t thread, int64_t start_ns, int64_t end_ns,
		 const struct context_printed *printed)
{
	uint32_t index = c->join.count;
	struct context_printed *grown =
		array_grown(c->printed, index + (size_t)1, &c->room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	c->printed = grown;
	grown[index] = *printed;
	return join_add(&c->join, &(struct join_interval){.thread = thread,
							  .start_ns = start_ns,
							  .last_ns = join_last_ns(start_ns, end_ns),
							  .order = printed->offset,
							  .payload = index});
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
