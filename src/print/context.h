/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contextual events that may be open when another event of their thread ends, and how they are
 * printed. Which of them are open is the answer of jfr/join/join.h: an event is in those that began
 * no later than it ended, and ended later; one without duration holds at its start.
 */
#ifndef WEFT_PRINT_CONTEXT_H
#define WEFT_PRINT_CONTEXT_H

#include "jfr/join/join.h"

struct context_printed {
	uint64_t offset;  /* of the event */
	int is_kept;      /* its text stays: the event is of another chunk */
	const char *text; /* as printed; NULL = not yet */
	size_t text_bytes;
};

struct contexts {         /* starts as zeros */
	struct join join; /* an interval's payload is its index in printed */
	struct context_printed *printed;
	size_t room;
};

void contexts_free(struct contexts *c);
void contexts_clear(struct contexts *c);
/* 0 or -ENOMEM. The text is not copied. */
int contexts_add(struct contexts *c, uint64_t thread, int64_t start_ns, int64_t end_ns,
		 const struct context_printed *printed);
/*
 * Those open for @thread at @time_ns, the outermost first, but no more than the innermost @most.
 * Returns their number. The join is sealed.
 */
size_t contexts_at(const struct contexts *c, uint64_t thread, int64_t time_ns,
		   struct context_printed **out, size_t most);

#endif
