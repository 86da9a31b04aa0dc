/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what a thread of another process may be changing meanwhile: read it, and have it proved
 * that it did not change. By the first of these that is to be had:
 *
 *	stopped  the thread is: nothing is to be proved
 *	seq      what weft itself publishes: the slot's ext.seq is even, and the same afterwards
 *	still    the thread did not run meanwhile (still.h)
 *	equal    where the kernel gives no such proof: so many readings of equal bytes
 *
 * After so many attempts it is torn. Each attempt is bounded by what the reading is.
 */
#ifndef WEFT_READER_SETTLE_H
#define WEFT_READER_SETTLE_H

#include "reader/target/still.h"
#include "reader/target/target.h"

#define SETTLE_TRIES 5
#define SETTLE_EQUAL 16

struct settle {
	const struct target *target;
	struct still still;
	int is_stopped;
	int never_still; /* do without that proof */
	/* How readings ended, for whoever wants to know. */
	uint64_t by_seq, by_still, by_equal, unproved, torn;
};

/* One reading of everything, from the beginning. @digest: of all that was read. 0, -EAGAIN: it
 * is being changed; -errno. */
typedef int (*settle_read)(void *arg, uint64_t *digest);

/*
 * settle() - @seq_at: address of a word that is odd while what is read changes, and different
 * afterwards; 0 = there is none. What @read said in a reading that is proved; -EAGAIN: torn.
 */
int settle(struct settle *s, int32_t tid, uint64_t seq_at, settle_read read, void *arg);
void settle_close(struct settle *s);

#endif
