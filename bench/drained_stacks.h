/* SPDX-License-Identifier: Apache-2.0 */
/* Samples for the bench of the drain: stacks as they are, of functions that call each other. */
#ifndef BENCH_DRAINED_STACKS_H
#define BENCH_DRAINED_STACKS_H

#include <stdint.h>

#include <weft/abi/session.h>

#define DRAINED_COPY_BYTES 8192
#define DRAINED_RECORD_MAX 16384

struct drained_kind {
	const char *name;
	uint8_t stack;     /* enum weft_sample_stack */
	unsigned int deep; /* frames */
};

/*
 * drained_record() - a sample of this kind at @out, which has room for DRAINED_RECORD_MAX, but
 * for generation, time and map. Each @seed goes another way through the functions. Returns its
 * bytes; 0: no stack so deep, or so long, could be made.
 */
uint32_t drained_record(const struct drained_kind *kind, uint64_t seed,
			struct weft_sample_record *out);

#endif
