/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CPU time a thread uses, asked so that it makes no difference to the asker.
 *
 * A thread that reads its CPU clock (CLOCK_THREAD_CPUTIME_ID; the same goes for getrusage
 * of the process) makes the scheduler bring its books up to date. If its slice of a busy CPU is
 * used up by then, which else is found at a tick only, it loses the CPU at once: its stretches
 * begin at ticks and end between them, no tick meets it, and those who have the CPU next are met in
 * its stead. Such a thread was met by a fifth of the ticks that were due to it, and the same
 * without those readings by all (docs/accuracy.md). Each act is measured, so that would be a
 * property of all programs here, and of few others.
 *
 * So perf's task-clock, which counts and never samples: kept by perf alone, at each switch.
 *
 * Where perf is refused: the time that passed less what the thread waited for a CPU in it, of
 * schedstat, which is told as it stands. What it was kept away in another way is in neither: a
 * quota (then what it ran, of schedstat as well, which is of the last tick or switch), and a thread
 * that waits for what another of its process holds while that has no CPU, as in the kernel those do
 * who map memory by the thousand at once: there it tells too much.
 */
#include "truth.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNDISTURBED_NS 50000
#define TRIES 1000
#define STALE_NS 20000000 /* ran_ns is of the last tick or switch, at both ends */

static __thread int counter = -1, schedstat = -1;

static int open_counter(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .exclude_kernel = 1, /* of samples; so it is open to all */
				       .exclude_hv = 1};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void used_open(void)
{
	counter = open_counter();
	if (counter < 0)
		schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void used_close(void)
{
	close_one(&counter);
	close_one(&schedstat);
}

static int read_schedstat(struct used *at)
{
	char text[96], *end;
	ssize_t bytes = pread(schedstat, text, sizeof(text) - 1, 0);

	if (bytes <= 0)
		return 0;
	text[bytes] = 0;
	at->ran_ns = strtoull(text, &end, 10);
	at->delay_ns = strtoull(end, NULL, 10);
	return at->ran_ns > 0;
}

/* All of one moment. */
void used_begin(struct used *at)
{
	uint64_t from, counted;

	if (counter >= 0 && read(counter, &counted, sizeof(counted)) == sizeof(counted)) {
		*at = (struct used){.now_ns = counted, .is_exact = 1};
		return;
	}
	for (int i = 0; i < TRIES; i++) {
		from = now_ns(CLOCK_MONOTONIC);
		if (!read_schedstat(at))
			break;
		at->is_exact = 0;
		at->now_ns = now_ns(CLOCK_MONOTONIC);
		if (at->now_ns - from < UNDISTURBED_NS)
			return;
	}
	*at = (struct used){.now_ns = now_ns(CLOCK_THREAD_CPUTIME_ID), .is_exact = 1};
}

uint64_t used_since(const struct used *began)
{
	struct used now;
	uint64_t used, ran;

	used_begin(&now);
	if (began->is_exact && now.is_exact)
		return now.now_ns - began->now_ns;
	ran = now.ran_ns - began->ran_ns;
	if (now.is_exact)
		return ran;
	used = now.now_ns - began->now_ns - (now.delay_ns - began->delay_ns);
	return used > ran + STALE_NS ? ran : used;
}
