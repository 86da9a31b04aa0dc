/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contextual events that hold for events of other chunks than their own: found in two passes
 * over the recording before it is printed, the first for the times of each chunk's events, the
 * second for the contextual ones that reach into another chunk's. They are few: those that
 * are open at a border. Kept as printed, for their chunk's pools are gone when they are shown.
 */
#ifndef WEFT_PRINT_CROSSING_H
#define WEFT_PRINT_CROSSING_H

#include "jfr/join/chunk_ends.h"
#include "print/common_time.h"
#include "print/context.h"
#include "print/form.h"

#define CROSSINGS_MOST 1000000 /* as many as the JDK's tool looks ahead */
#define CROSSINGS_BYTES ((size_t)256 << 20)
#define CONTEXT_VALUES 10000            /* of one */
#define CONTEXT_BYTES ((size_t)4 << 20) /* of one, as printed */

struct crossing {
	uint64_t chunk; /* its own */
	uint64_t thread;
	int64_t start_ns, end_ns;
	struct context_printed printed;
};

struct crossings {
	struct crossing *items;
	size_t count, room, bytes;
	uint64_t left_out; /* there were more */
	struct chunk_ends ends;
};

/*
 * @form writes the contexts. 0, or -ENOMEM or another -errno of opening; damage ends the search
 * where it ends the reading.
 */
int crossings_find(struct crossings *x, const struct form *form,
		   struct weft_jfr_reader *(*open)(const void *arg), const void *arg);
void crossings_free(struct crossings *x);
/* Adds to @c those that may hold in that chunk, and are not of it. 0 or -ENOMEM. */
int crossings_add(const struct crossings *x, uint64_t chunk, struct contexts *c);

#endif
