/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which contextual events are open when another event of their thread ends.
 *
 * An interval is a contextual event: a thread (by the key of its pool), a start and an end. It
 * holds at a moment t if start <= t < end; one without duration holds at its start. Intervals
 * may nest and cross; those open come out in the order in which they began, the longer first.
 *
 * Protocol: contexts_clear, contexts_add for every interval that may hold, contexts_seal, then
 * contexts_at with moments that never decrease.
 */
#ifndef WEFT_PRINT_CONTEXT_H
#define WEFT_PRINT_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

struct context_interval {
	uint64_t thread;
	int64_t start_ns, end_ns;
	uint64_t offset;  /* of the event; in the order of the file */
	int is_kept;      /* its text stays: the event is of another chunk */
	const char *text; /* as printed; NULL = not yet */
	size_t text_bytes;
	uint32_t next; /* open one of the same thread that began before; 0 = none */
};

struct contexts {
	struct context_interval *intervals; /* from 1 */
	size_t count, room;
	size_t begun; /* how many have begun at the moment asked last */
	struct {
		uint64_t thread;
		uint32_t newest; /* open interval; 0 = none */
	} * threads;             /* open addressing */
	size_t thread_room;
};

void contexts_free(struct contexts *c);
void contexts_clear(struct contexts *c);
/* 0 or -ENOMEM. @text is not copied. */
int contexts_add(struct contexts *c, const struct context_interval *interval);
int contexts_seal(struct contexts *c); /* 0 or -ENOMEM */
/*
 * The indices of the intervals open for @thread at @time_ns, the outermost first, but of no more
 * than the innermost @most. Returns their number.
 */
size_t contexts_at(struct contexts *c, uint64_t thread, int64_t time_ns, uint32_t *out,
		   size_t most);

#endif
