/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread of a test knows of its own waits, by the kernel's clocks. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What it has had for a CPU, and waited for one: the sum cannot be blocked. @schedstat: of
 * /proc/thread-self/schedstat. */
static inline uint64_t not_blocked(int schedstat)
{
	char text[128] = "", *at;
	uint64_t ns;

	if (pread(schedstat, text, sizeof(text) - 1, 0) <= 0)
		exit(3);
	ns = strtoull(text, &at, 10);
	return ns + strtoull(at, NULL, 10);
}
