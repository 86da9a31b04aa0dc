/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/order.h"

#include <string.h>

static int give_first(struct order *o)
{
	int rc = o->next(o->arg, &o->held[0]);

	memmove(&o->held[0], &o->held[1], --o->count * sizeof(o->held[0]));
	return rc;
}

int order_flush(struct order *o)
{
	int rc = 0;

	while (!rc && o->count)
		rc = give_first(o);
	return rc;
}

static int is_another(const struct coro_event *a, const struct coro_event *b)
{
	return a->probe_id != b->probe_id || a->pid != b->pid || a->station != b->station ||
	       a->generation != b->generation;
}

int order_event(struct order *o, const struct coro_event *event)
{
	size_t at;
	int rc = 0;

	if (o->count && is_another(&o->held[0], event))
		rc = order_flush(o);
	else if (o->count == ORDER_WINDOW)
		rc = give_first(o);
	if (rc)
		return rc;
	for (at = o->count; at && o->held[at - 1].ts > event->ts; at--)
		o->held[at] = o->held[at - 1];
	o->held[at] = *event;
	o->count++;
	return 0;
}
