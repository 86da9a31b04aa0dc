/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by session.c and session_drain.c alone. */
#ifndef WEFT_COLLECTOR_SESSION_PRIVATE_H
#define WEFT_COLLECTOR_SESSION_PRIVATE_H

#include "collector/session.h"

/* What the collector remembers of a slot: positions live here, not in shared memory. */
struct slot_reader {
	uint64_t generation; /* whose books these are; 0 = nobody's yet */
	uint64_t tail, delivered, refused;
	uint64_t claimed_ns, named_ns, name_pause_ns;
	int32_t tid;
	uint32_t announced; /* a batch of it was queued */
	char name[64];
};

/* Touch the control page and each ring's first page of the next few slots, so that their
 * first use costs the target no page allocation. */
void session_touch_ahead(struct session *s);

#endif
