/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a coroutine put in order of time. An engine that reads a station slot by slot writes
 * them out of order, but those of one sweep follow each other in the trace: within a window of
 * them they are sorted before they go on.
 */
#ifndef WEFT_CORO_ORDER_H
#define WEFT_CORO_ORDER_H

#include "coro/engine/trace.h"

#define ORDER_WINDOW (2 * WEFT_CTP_SLOTS)

struct order {
	int (*next)(void *arg, const struct coro_event *event); /* 0 or -errno */
	void *arg;
	size_t count;
	struct coro_event held[ORDER_WINDOW];
};

int order_event(struct order *o, const struct coro_event *event); /* 0, or what next() returned */
int order_flush(struct order *o);

#endif
