/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contextual events that may be open when another event of their thread ends, and how they are
 * printed. Which of them are open is the answer of jfr/join/join.h: an event is in those that began
 * no later than it ended, and ended later; one without duration holds at its start.
 *
 * Those that hold for events of other chunks too, by the protocol of jfr/join/chunk_ends.h, are
 * kept as printed, for their chunk's pools are gone when they are shown. They are few: those that
 * are open at a border.
 */
#ifndef WEFT_PRINT_CONTEXT_H
#define WEFT_PRINT_CONTEXT_H

#include "jfr/join/chunk_ends.h"
#include "jfr/join/join.h"

#ifndef CONTEXTS_MOST
#define CONTEXTS_MOST 1000000 /* kept at once: as many as the JDK's tool looks ahead */
#endif
#define CONTEXTS_BYTES ((size_t)256 << 20)
#define CONTEXT_VALUES 10000            /* of one */
#define CONTEXT_BYTES ((size_t)4 << 20) /* of one, as printed */

enum context_state { CONTEXT_OF_CHUNK, CONTEXT_KEPT, CONTEXT_LEFT_OUT };

struct context_printed {
	uint64_t offset;  /* of the event */
	const char *text; /* as printed; NULL = not yet */
	size_t text_bytes;
	enum context_state state;
	int is_huge; /* more than CONTEXT_BYTES: it has no text */
};

struct contexts {         /* starts as zeros */
	struct join join; /* an interval's payload is its index in printed */
	struct context_printed *printed;
	size_t room, kept, kept_bytes;
	uint64_t *left; /* offsets of those that reach back and were not kept, as they stand */
	size_t left_count, left_room, left_at;
	struct chunk_ends ends; /* no chunk: contexts hold for their own chunk's events alone */
};

void contexts_free(struct contexts *c);
/* 0 or -ENOMEM. */
int contexts_add(struct contexts *c, uint64_t thread, int64_t start_ns, int64_t end_ns,
		 uint64_t offset);
/* Keeps a copy of its text for other chunks, or leaves it out: 1, 0, -ENOMEM. */
int contexts_keep(struct contexts *c, struct context_printed *i);
/* Takes out the one added last, whose text was not kept: its own chunk adds it again. 0, -ENOMEM.
 */
int contexts_leave(struct contexts *c);
/* Before the events of a chunk: drops what holds for none of them. 0 or -ENOMEM. */
int contexts_enter(struct contexts *c, uint64_t chunk);
/*
 * Those open for @thread at @time_ns, the outermost first, but no more than the innermost @most.
 * Returns their number. The join is sealed.
 */
size_t contexts_at(const struct contexts *c, uint64_t thread, int64_t time_ns,
		   struct context_printed **out, size_t most);

#endif
