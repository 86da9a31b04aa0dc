/* SPDX-License-Identifier: Apache-2.0 */
/* The TSC beside CLOCK_MONOTONIC: see tsc.h. */
#include "proc/tsc.h"

#include "base/clock.h"
#include "proc/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define TRIES 8

#if defined(__x86_64__)
/* Of a few tries the shortest: in it nothing came between the two clocks. */
int tsc_anchor_take(struct tsc_anchor *out)
{
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = __builtin_ia32_rdtsc();
		uint64_t now_ns = clock_mono_ns();
		uint64_t after = __builtin_ia32_rdtsc();

		if (after - before >= shortest)
			continue;
		shortest = after - before;
		*out = (struct tsc_anchor){before + shortest / 2, now_ns};
	}
	return 0;
}
#else
int tsc_anchor_take(struct tsc_anchor *out)
{
	(void)out;
	return -ENOTSUP;
}
#endif

int tsc_is_the_clock(void)
{
	char name[16];
	struct tsc_anchor anchor;

	if (tsc_anchor_take(&anchor))
		return 0;
	proc_read(AT_FDCWD, CLOCKSOURCE, name, sizeof(name));
	return strcmp(name, "tsc\n") == 0;
}
