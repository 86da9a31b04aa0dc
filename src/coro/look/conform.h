/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges a shared file that any probe has written, by the rules of weft/abi/ctp.h. The file is best
 * at rest (its probes have ended, or do nothing): of one in use only what can never be is told.
 */
#ifndef WEFT_CORO_CONFORM_H
#define WEFT_CORO_CONFORM_H

#include "coro/engine/shm.h"

enum conform_weight {
	CONFORM_NOTE,   /* worth knowing */
	CONFORM_BROKEN, /* against the protocol */
};

#define CONFORM_NO_STATION UINT32_MAX

struct conform_finding {
	enum conform_weight weight;
	const char *rule; /* its short name: "header", "slot-order" ... */
	uint32_t station; /* CONFORM_NO_STATION: of the header */
	char text[160];
};

struct conform_sums {
	uint32_t stations, ours, s, d, empty;
	uint64_t events; /* written */
	uint32_t broken, notes;
};

/* Calls @tell for each finding. 0, or -errno: -EIO when the file was cut short. */
int coro_conform(const struct coro_shm *shm,
		 void (*tell)(void *arg, const struct conform_finding *finding), void *arg,
		 struct conform_sums *sums);

#endif
