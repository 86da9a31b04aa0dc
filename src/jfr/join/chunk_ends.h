/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the events of each chunk of a recording end, which is when they ask for their contexts. An
 * event stands in the chunk in which it was committed, and threads commit late: contexts hold for
 * events of earlier chunks and of later ones. To join them with a chunk's contexts in memory:
 *
 *   first reading   chunk_ends_add() for each event; a context that began no later than
 *                   chunk_ends_before() its chunk reaches back: it is added to the join at once
 *   chunk_ends_seal()
 *   second reading  of each chunk: the contexts that do not reach back are added, the join is
 *                   sealed and asked, then join_forget()s what ended before chunk_ends_from() the
 *                   next chunk: no later event asks for it
 */
#ifndef WEFT_JFR_CHUNK_ENDS_H
#define WEFT_JFR_CHUNK_ENDS_H

#include <stddef.h>
#include <stdint.h>

struct chunk_end {
	int64_t first; /* of this chunk; once sealed, of this one and all behind it */
	int64_t last;  /* of this one and all before it */
};

struct chunk_ends { /* starts as zeros: no chunk */
	struct chunk_end *chunks;
	size_t count, room;
};

void chunk_ends_free(struct chunk_ends *e);
/* Chunks never go back. 0 or -ENOMEM. */
int chunk_ends_add(struct chunk_ends *e, uint64_t chunk, int64_t end_ns);
void chunk_ends_seal(struct chunk_ends *e);
/* The last end in the chunks before this one; INT64_MIN: they have no events. */
int64_t chunk_ends_before(const struct chunk_ends *e, uint64_t chunk);
/* The first end in this chunk and those behind it; INT64_MAX: they have no events. */
int64_t chunk_ends_from(const struct chunk_ends *e, uint64_t chunk);

#endif
