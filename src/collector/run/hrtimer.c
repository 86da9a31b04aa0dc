/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/run/hrtimer.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static int hrtimer_open_event(uint64_t config, uint64_t period_ns, int is_disabled)
{
	struct perf_event_attr attr = {
		.size = PERF_ATTR_SIZE_VER0,
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.sample_period = period_ns,
		.disabled = is_disabled ? 1 : 0,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int hrtimer_refused(void)
{
	int fd = hrtimer_open_event(PERF_COUNT_SW_CPU_CLOCK, 1000000000, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

int hrtimer_prepare(void)
{
	return hrtimer_open_event(PERF_COUNT_SW_DUMMY, 0, 1);
}
