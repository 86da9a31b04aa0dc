/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many times, and their percentiles: exact up to 1024 of them, then within 1 part in 128 (64
 * KiB for any number). Those of a station's log2 histogram may be added: then all are known to
 * their power of two alone.
 */
#ifndef WEFT_CORO_TIMES_H
#define WEFT_CORO_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include <weft/abi/ctp.h>

struct coro_times {
	uint64_t count, sum_ns, max_ns; /* sum: at most 2^64 - 1 */
	uint64_t *values;               /* each one; or how many per bucket */
	size_t room;
	uint8_t keeps; /* enum coro_times_keeps */
	uint8_t is_sorted;
};

enum coro_times_keeps {
	CORO_TIMES_EACH,
	CORO_TIMES_FINE,   /* a log-linear histogram */
	CORO_TIMES_POWERS, /* a station's kind of histogram */
};

int coro_times_add(struct coro_times *t, uint64_t ns); /* 0 or -ENOMEM */
int coro_times_add_histogram(struct coro_times *t, const uint32_t histogram[WEFT_CTP_BUCKETS],
			     uint64_t sum_ns, uint64_t max_ns);
/* The smallest that is at least as long as @share (0 .. 1) of all; 0 = there are none. */
uint64_t coro_times_at(struct coro_times *t, double share);
void coro_times_free(struct coro_times *t);

#endif
