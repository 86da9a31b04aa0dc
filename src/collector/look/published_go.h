/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of goroutines, for published.c, by whose rules they are read: of a thread that stands
 * still. Which M is which thread's is listed anew when a thread is in no list, at most so often
 * that it costs a hundredth of the time.
 */
#ifndef WEFT_COLLECTOR_PUBLISHED_GO_H
#define WEFT_COLLECTOR_PUBLISHED_GO_H

#include "reader/context/go_labels.h"

/* Zeroed at first. */
struct published_go {
	struct go_program program;
	struct go_threads threads;
	uint64_t due_ns; /* when they may be listed again */
};

void published_go_free(struct published_go *go);

/* Is there a Go runtime, and can it be read? */
void published_go_find(struct published_go *go, struct target *t);
static inline int published_go_is_there(const struct published_go *go)
{
	return go->program.state == GO_READABLE;
}

/* Of thread @tid, as the process itself has it. 0 and @out; -ENODATA: nothing; -errno. */
int published_go_read(struct published_go *go, const struct target *t, int32_t tid,
		      struct custom_labels_copy *room, struct live_context *out);

#endif
