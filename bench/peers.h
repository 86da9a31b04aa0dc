/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who runs a program for a comparison: nobody, weft, and other profilers where they are
 * there. One row each in a table; a bench runs a command "as" each of them.
 */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "harness.h"

enum peer_id {
	PEER_NONE,
	PEER_NONE_AGAIN,
	PEER_WEFT,
	PEER_WEFT_DEFAULT, /* at its own rate, 199 Hz, and so the next */
	PEER_WEFT_TICKS,
	PEER_PERF,
	PEER_ASYNC,
	PEER_SAMPLY,
	PEER_COUNT
};

static inline bool peer_is_weft(enum peer_id who)
{
	return who == PEER_WEFT || who == PEER_WEFT_DEFAULT || who == PEER_WEFT_TICKS;
}

struct peer {
	const char *name;
	bool works; /* tried once with a program that ends at once */
};

/** Finds out who is there; says who is not by bench_note(). */
void peers_find(const struct bench_options *o, struct peer peers[PEER_COUNT]);

/** Runs @program with @argument (or NULL) as @who. 0, or -errno; -ECHILD: it failed. */
int peers_run(const struct bench_options *o, enum peer_id who, const char *program,
	      const char *argument, struct bench_run *out);

#endif
