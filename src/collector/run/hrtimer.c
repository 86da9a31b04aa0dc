/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/run/hrtimer.h"

#include "proc/proc_text.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

static int has_filter(void)
{
	char text[4096];

	return proc_read_of(getpid(), "status", text, sizeof(text)) > 0 &&
	       proc_line_number(text, "Seccomp", 10) != 0;
}

int hrtimer_kills(void)
{
	const struct rlimit none = {0, 0};
	int status = 0;
	pid_t child, ended;

	if (!has_filter())
		return 0;
	child = fork();
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &none);
		hrtimer_open_event(PERF_COUNT_SW_DUMMY, 0, 1);
		_exit(0);
	}
	if (child < 0)
		return 1;
	do
		ended = waitpid(child, &status, 0);
	while (ended < 0 && errno == EINTR);
	/* Where children leave no status (an ignored SIGCHLD) it is not known. */
	return ended != child || WIFSIGNALED(status);
}

int hrtimer_refused(void)
{
	int fd;

	if (hrtimer_kills())
		return EACCES;
	fd = hrtimer_open_event(PERF_COUNT_SW_CPU_CLOCK, 1000000000, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

int hrtimer_prepare(void)
{
	return hrtimer_open_event(PERF_COUNT_SW_DUMMY, 0, 1);
}
