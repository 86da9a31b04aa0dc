/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wall engine says of a thread to the walker and the worker: a record of BATCH_WALL.
 * 8-aligned; the batch says whose.
 */
#ifndef WEFT_COLLECTOR_WALL_WORD_H
#define WEFT_COLLECTOR_WALL_WORD_H

#include <stdint.h>

/*
 * So long after a thread's end a word of it may still come: the longest time between two looks at
 * one thread, and what a busy machine adds to it. The worker keeps the thread as long, and later
 * the engine says nothing of its whole.
 */
#define WALL_LINGER_NS UINT64_C(1500000000)

enum wall_kind {
	WALL_SAMPLE = 1, /* blocked: begins a stay; a struct weft_sample_record follows */
	WALL_MORE = 2,   /* the stay goes on: @samples more, up to to_ns */
	WALL_END = 3,    /* it has run, or is gone: the stay is over at to_ns at the latest */
	WALL_DELAY = 4,  /* waited for a CPU. A struct weft_sample_record without a stack follows if
			  * it was seen in which context; else its newest sample's stands */
	WALL_ACCOUNT = 5, /* of all its time, by the kernel; what is told of it up to then is */
};

struct wall_word {
	uint32_t bytes;          /* of all, with the sample that follows; multiple of 8 */
	uint8_t kind;            /* enum wall_kind */
	uint8_t state;           /* enum weft_thread_state */
	uint16_t is_guess;       /* WALL_DELAY: a sample of its own since from_ns knows better */
	uint32_t samples;        /* ticks of the wall clock that this adds; 1 for WALL_SAMPLE */
	uint32_t is_partial;     /* WALL_ACCOUNT: not all of it is told */
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC: the time that these ticks stand for */
	/* Of WALL_ACCOUNT: that it ran in that time, waited for a CPU, and had run before. */
	uint64_t cpu_ns, delay_ns, cpu_before_ns;
};

#endif
