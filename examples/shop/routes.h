/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shop can do: one handler per route, of very different cost. A handler writes
 * the body of its answer and returns the number of bytes; it knows nothing of profiling.
 */
#ifndef SHOP_ROUTES_H
#define SHOP_ROUTES_H

#include <stddef.h>

#define REPLY_BYTES 16384

struct route {
	const char *path;
	/* @number: from the query (cart, product, word ...); any value. */
	size_t (*handle)(unsigned int number, char *reply, size_t room);
};

extern const struct route routes[];
extern const unsigned int route_count;

/** Builds the catalogue. Call once, before the first request. */
void routes_prepare(void);

#endif
