/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of a Go runtime: its Ms, in the list that runtime.allm begins. A list is only ever
 * added to at its beginning, and what has ended goes; it may change while it is read, and a thread
 * may be missing then.
 *
 * Nothing that is read is believed: an M counts when its own goroutine (G.m) names it.
 */
#ifndef WEFT_READER_GO_THREADS_H
#define WEFT_READER_GO_THREADS_H

#include "reader/context/go_program.h"

struct go_thread {
	uint64_t tid; /* as the process itself has it */
	uint64_t m;
};

/* Zeroed at first. */
struct go_threads {
	struct go_thread *thread; /* by tid */
	size_t count, room;
	int is_unlike; /* there are none, for what there is is not as the version has it */
};

/* All Ms that run. 0, also with is_unlike; -errno, and there are none. */
int go_threads_read(const struct target *t, const struct go_program *p, struct go_threads *out);
void go_threads_free(struct go_threads *all);
/* NULL: it has no M. */
const struct go_thread *go_threads_find(const struct go_threads *all, int32_t tid);

/*
 * go_scan() - the words in the @bytes from @start that lead to the longest lists of Ms. Others than
 * runtime.allm may lead to an M, too, and as long as that one is the newest such a list is as long:
 * all of these, but none that is shorter. Returns how many there are in @found.
 */
int go_scan(const struct target *t, const struct go_layout *layout, uint64_t start, uint64_t bytes,
	    uint64_t *found, int room);

/* --- for go_labels.c */

/* Words at up to three addresses, by one system call: 0 or -errno. */
int go_read_words(const struct target *t, const uint64_t *address, uint64_t *word,
		  unsigned int count);

#endif
