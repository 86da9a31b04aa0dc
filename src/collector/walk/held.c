/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that wait: see held.h. */
#include "collector/walk/held.h"

void held_put(struct held *h, struct batch *b)
{
	b->next = NULL;
	if (h->last)
		h->last->next = b;
	else
		h->first = b;
	h->last = b;
	h->bytes += sizeof(*b) + b->bytes;
}

struct batch *held_take(struct held *h, const struct process *process)
{
	struct batch *before = NULL, *b = h->first;

	while (b && process && b->process != process) {
		before = b;
		b = b->next;
	}
	if (!b)
		return NULL;
	if (before)
		before->next = b->next;
	else
		h->first = b->next;
	if (h->last == b)
		h->last = before;
	h->bytes -= sizeof(*b) + b->bytes;
	return b;
}
