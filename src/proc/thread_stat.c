/* SPDX-License-Identifier: Apache-2.0 */
/* One thread in /proc: see thread_stat.h. */
#include "proc/thread_stat.h"

#include "proc/process_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STAT_BYTES 1024
#define STATUS_BYTES 4096
#define PROCESS_CLOCK(pid) ((clockid_t)((~(uint32_t)(pid) << 3) | 2u))
#define TICK_NS (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK))
#define THREAD_RAN_NS UINT64_C(1000000)

static void thread_stat_copy_name(const char *text, const char *end, struct thread_stat *out)
{
	const char *at = strchr(text, '(');
	size_t bytes = at && at < end ? (size_t)(end - at - 1) : 0;

	if (bytes > sizeof(out->name) - 1)
		bytes = sizeof(out->name) - 1;
	if (bytes)
		memcpy(out->name, at + 1, bytes);
	out->name[bytes] = 0;
}

int thread_stat_read(int proc_fd, int32_t tid, struct thread_stat *out)
{
	char text[STAT_BYTES];
	int rc = (int)proc_read_task(proc_fd, tid, "stat", text, sizeof(text));
	const char *state = rc < 0 ? NULL : proc_stat_field(text, STAT_STATE);
	const char *times = rc < 0 ? NULL : proc_stat_field(text, STAT_UTIME);
	const char *start = rc < 0 ? NULL : proc_stat_field(text, STAT_START_TIME);
	char *rest;

	if (rc < 0)
		return rc;
	if (!state || !times || !start)
		return -EPROTO;
	memset(out, 0, sizeof(*out));
	thread_stat_copy_name(text, state - 2, out);
	out->state = *state;
	out->cpu_ticks = strtoull(times, &rest, 10);
	out->cpu_ticks += strtoull(rest, NULL, 10);
	out->start = strtoull(start, NULL, 10);
	return 0;
}

static uint64_t thread_stat_number_of(const char *text, const char *name, int base)
{
	const char *at = proc_line(text, name);

	return at ? strtoull(at, NULL, base) : 0;
}

/* "0/96365": queued, of all that its user's processes together may have queued. */
static int signal_queue_is_full(const char *at)
{
	char *slash;
	unsigned long queued = at ? strtoul(at, &slash, 10) : 0;

	return at && *slash == '/' && queued >= strtoul(slash + 1, NULL, 10);
}

int thread_masks_read(int proc_fd, int32_t tid, struct thread_masks *out)
{
	char text[STATUS_BYTES];
	int rc = (int)proc_read_task(proc_fd, tid, "status", text, sizeof(text));

	if (rc < 0)
		return rc;
	if (!proc_line(text, "SigBlk"))
		return -EPROTO;
	*out = (struct thread_masks){
		.blocked = thread_stat_number_of(text, "SigBlk", 16),
		.caught = thread_stat_number_of(text, "SigCgt", 16),
		.queue_is_full = signal_queue_is_full(proc_line(text, "SigQ")),
		.waits = thread_stat_number_of(text, "voluntary_ctxt_switches", 10)};
	out->switches = out->waits + thread_stat_number_of(text, "nonvoluntary_ctxt_switches", 10);
	out->inside_tid = pid_innermost(text, tid, &out->levels);
	return 0;
}

int thread_schedstat_read(int proc_fd, int32_t tid, uint64_t *cpu_ns, uint64_t *arrivals)
{
	char text[128], *at;
	int rc = (int)proc_read_task(proc_fd, tid, "schedstat", text, sizeof(text));

	if (rc < 0)
		return rc;
	*cpu_ns = strtoull(text, &at, 10);
	strtoull(at, &at, 10); /* the time in queues */
	*arrivals = strtoull(at, NULL, 10);
	return 0;
}

int thread_cpu_read(int proc_fd, int32_t tid, uint64_t *cpu_ns)
{
	struct thread_stat stat;
	uint64_t arrivals;
	int rc = thread_schedstat_read(proc_fd, tid, cpu_ns, &arrivals);

	if (rc != -ENOENT)
		return rc;
	rc = thread_stat_read(proc_fd, tid, &stat);
	if (rc == 0)
		*cpu_ns = stat.cpu_ticks * TICK_NS;
	return rc;
}

int process_cpu_read(pid_t pid, uint64_t *cpu_ns)
{
	struct timespec t;

	if (clock_gettime(PROCESS_CLOCK(pid), &t))
		return -errno;
	*cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return 0;
}

/* CPU time is read first, so that it is never more than was used when the rest was read. */
int thread_run_read(int proc_fd, int32_t tid, struct thread_run *out)
{
	struct thread_masks masks;
	struct thread_stat stat;
	int rc;

	*out = (struct thread_run){.state = 0};
	thread_schedstat_read(proc_fd, tid, &out->cpu_ns, &out->arrivals);
	rc = thread_masks_read(proc_fd, tid, &masks);
	if (rc == 0)
		rc = thread_stat_read(proc_fd, tid, &stat);
	if (rc)
		return rc;
	if (!out->arrivals)
		out->cpu_ns = stat.cpu_ticks * TICK_NS;
	out->waits = masks.waits;
	out->switches = masks.switches;
	out->state = stat.state;
	return 0;
}

int thread_ran_on(const struct thread_run *before, const struct thread_run *now)
{
	if (now->state != 'R' || now->waits != before->waits)
		return 0;
	if (now->cpu_ns - before->cpu_ns >= THREAD_RAN_NS)
		return 1;
	return before->arrivals > before->switches && now->arrivals == before->arrivals &&
	       now->switches == before->switches;
}
