/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many times, and their quantiles (base/histogram.h): exact for few, then within 1 part in 128.
 * Those of a station's log2 histogram may be added: then all are known to their power of two
 * alone.
 */
#ifndef WEFT_CORO_TIMES_H
#define WEFT_CORO_TIMES_H

#include "base/histogram.h"

#include <weft/abi/ctp.h>

struct coro_times {
	uint64_t count, sum_ns, max_ns; /* sum: at most 2^64 - 1 */
	struct histogram each;          /* empty once there are powers */
	uint64_t *powers;               /* how many in each bucket of a station's kind; or NULL */
};

int coro_times_add(struct coro_times *t, uint64_t ns); /* 0 or -ENOMEM */
int coro_times_add_histogram(struct coro_times *t, const uint32_t histogram[WEFT_CTP_BUCKETS],
			     uint64_t sum_ns, uint64_t max_ns);
/* The least time that so many of a thousand are not above; 0 = there are none. */
uint64_t coro_times_quantile(const struct coro_times *t, unsigned int permille);
void coro_times_free(struct coro_times *t);

#endif
