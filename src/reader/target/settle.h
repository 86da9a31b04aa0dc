/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what a thread of another process may be changing, with a proof that it did not change
 * meanwhile: the first of these that can be had.
 *
 *	stopped  the thread is: nothing is to be proved
 *	seq      what weft itself publishes: the slot's ext.seq is even, and the same afterwards
 *	still    the thread did not run meanwhile (still.h)
 *	equal    where the kernel gives no such proof: SETTLE_EQUAL readings of equal bytes
 *
 * After SETTLE_TRIES attempts it is torn. How long one takes is up to what is read.
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
	/* Counts of how readings ended. */
	uint64_t by_seq, by_still, by_equal, unproved, torn;
};

/* One reading of everything, from the beginning. @digest: of all that was read. 0, -EAGAIN: it
 * is being changed; -errno. */
typedef int (*settle_read)(void *arg, uint64_t *digest);

/*
 * settle() - @seq_at: address of a word that is odd while what is read changes, and different
 * afterwards; 0 = there is none. What @read returned in a proved reading; -EAGAIN: torn.
 */
int settle(struct settle *s, int32_t tid, uint64_t seq_at, settle_read read, void *arg);
void settle_close(struct settle *s);

/* What a pointer leads to, copied by @copy into @room with a digest of it: 0 or -errno. */
struct settle_pointer {
	uint64_t variable; /* the address of the pointer */
	/* The address of a word as settle()'s that covers what is at @address; 0 = there is none.
	 * NULL: there never is. */
	uint64_t (*seq_of)(void *arg, uint64_t address);
	void *arg;
	int (*copy)(const struct target *t, uint64_t address, void *room, uint64_t *digest);
	void *room;
};

/* As settle(); -ENODATA: the pointer is NULL at first. Later it may be: @copy gets 0. */
int settle_pointer(struct settle *s, int32_t tid, const struct settle_pointer *p);

#endif
