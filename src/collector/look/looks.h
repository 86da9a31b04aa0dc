/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at running threads at random instants, beside samples that the kernel's ticks take:
 * lockstep.h says what for. Of a process without hrtimers; runs on the outside thread (outside.h),
 * and pushes batches of kind BATCH_LOOKS.
 *
 * A look is at a few of the threads that gave a sample lately, and at one of all others: each
 * stands for 1 / (the chance that it was drawn), and for the time between two looks on average
 * then. The instants are a renewal process, gaps uniform on [0.5, 1.5] of LOOKS_GAP_NS for each
 * process that is looked at, or more where looks take more than a part in LOOKS_COST of the time.
 *
 * Was it on a CPU? Read are, in this order: how often it has got on one (schedstat), its context,
 * how often it has left one (status). If it had left it less often even then, it was there
 * throughout. A look that comes late is not taken: it would come at a tick, for which the machine
 * waits most when it is busy.
 *
 * Ticks are compared from LOOKS_BEGIN_NS after a thread was found on, as are looks: what they are
 * compared with must have had the same chance, and who compares must know of the thread by then.
 * While the process rests there are no looks, and what follows is not compared until they are.
 */
#ifndef WEFT_COLLECTOR_LOOKS_H
#define WEFT_COLLECTOR_LOOKS_H

#include "base/context_snapshot.h"
#include "collector/look/threads.h"
#include "collector/process/queue.h"

#define LOOKS_GAP_NS UINT64_C(2000000)
#define LOOKS_COST 100 /* a look is paid for by so many times its time without one */
#define LOOKS_BEGIN_NS UINT64_C(300000000)

enum look_kind {
	LOOK_SEEN = 1,   /* a thread on a CPU; its labels follow, as abi/session.h has them */
	LOOK_THREAD = 2, /* ticks of this slot and generation count from time_ns on */
	LOOK_REST = 3,   /* no ticks count from time_ns on */
	LOOK_GO = 4,     /* and they do again */
};

struct look_word {
	uint32_t bytes;  /* of all, a multiple of 8 */
	uint8_t kind;    /* enum look_kind */
	uint8_t context; /* enum weft_sample_context */
	uint16_t label_bytes;
	uint32_t slot;
	uint32_t took_ns;
	uint64_t generation;
	uint64_t time_ns;
	uint64_t runs, cpu_ns; /* of threads looked at, since the last word with such */
	double weight;
	struct weft_context_snapshot snapshot;
};
_Static_assert(sizeof(struct look_word) % 8 == 0, "words follow one another");

struct looks; /* of one process */

struct looks *looks_new(struct process *p, struct queue *out); /* NULL: out of memory */
void looks_free(struct looks *l);                              /* takes NULL */

/* Updates the list of threads; @is_still: the process rests. Reports what was seen since, and
 * returns when the next look is due; UINT64_MAX: never. */
uint64_t looks_renew(struct looks *l, struct threads *t, int is_still, uint64_t now_ns);

/* The look that was due at @due_ns. Returns when the next is due. */
uint64_t looks_take(struct looks *l, uint64_t due_ns);

void looks_flush(struct looks *l); /* takes NULL */

#endif
