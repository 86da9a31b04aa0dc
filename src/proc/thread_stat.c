/* SPDX-License-Identifier: Apache-2.0 */
/* One thread in /proc: see thread_stat.h. */
#include "proc/thread_stat.h"

#include "proc/process_file.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STAT_BYTES 1024
#define STAT_CPU 39
#define CALL_ARGUMENTS 6
#define STATUS_BYTES 4096
#define PROCESS_CLOCK(pid) ((clockid_t)((~(uint32_t)(pid) << 3) | 2u))
#define TICK_NS (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK))
#define THREAD_RAN_NS UINT64_C(1000000)

/* A number up to a space, a newline or the end, and what follows it; NULL: there is none. */
static const char *thread_take_number(const char *at, int base, uint64_t *out)
{
	char *end;

	while (*at == ' ' || *at == '\t')
		at++;
	if (!isxdigit((unsigned char)*at))
		return NULL;
	errno = 0;
	*out = strtoull(at, &end, base);
	if (end == at || errno || (*end && !isspace((unsigned char)*end)))
		return NULL;
	return end;
}

int thread_parse_schedstat(const char *text, struct thread_sched *out)
{
	struct thread_sched runs = {.has_times = 1};
	const char *at = thread_take_number(text, 10, &runs.cpu_ns);

	at = at ? thread_take_number(at, 10, &runs.delay_ns) : NULL;
	at = at ? thread_take_number(at, 10, &runs.count) : NULL;
	if (!at)
		return -EPROTO;
	*out = runs;
	return 0;
}

int thread_parse_status(const char *text, struct thread_sched *out)
{
	const char *state = proc_line(text, "State");
	const char *own = proc_line(text, "voluntary_ctxt_switches");
	const char *other = proc_line(text, "nonvoluntary_ctxt_switches");
	uint64_t a = 0, b = 0;

	if (!state || !own || !other || !thread_take_number(own, 10, &a) ||
	    !thread_take_number(other, 10, &b))
		return -EPROTO;
	*out = (struct thread_sched){.count = a + b,
				     .is_running = state[strspn(state, "\t")] == 'R'};
	return 0;
}

int thread_parse_syscall(const char *text, struct thread_call *out)
{
	struct thread_call call = {0, 0};
	uint64_t argument;
	const char *at = text;

	if (strncmp(text, "running", 7) == 0)
		return -EAGAIN;
	if (strncmp(text, "-1 ", 3) == 0) {
		at += 2;
	} else {
		at = thread_take_number(at, 10, &argument);
		for (int i = 0; at && i < CALL_ARGUMENTS; i++)
			at = thread_take_number(at, 16, &argument);
	}
	at = at ? thread_take_number(at, 16, &call.sp) : NULL;
	at = at ? thread_take_number(at, 16, &call.pc) : NULL;
	if (!at)
		return -EPROTO;
	*out = call;
	return 0;
}

static uint64_t thread_stat_field(const char *text, int field)
{
	uint64_t value = 0;
	const char *at = proc_stat_field(text, field);

	return at && thread_take_number(at, 10, &value) ? value : 0;
}

/* The command in field 2 may hold anything: fields are counted from its last bracket. */
int thread_parse_stat(const char *text, struct thread_stat *out)
{
	const char *open = strchr(text, '('), *at = strrchr(text, ')');
	struct thread_stat stat = {.cpu = -1};
	const char *cpu = proc_stat_field(text, STAT_CPU);
	uint64_t number;
	size_t bytes;

	if (!open || !at || at < open || at[1] != ' ' || !isalpha((unsigned char)at[2]))
		return -EPROTO;
	bytes = (size_t)(at - open - 1);
	memcpy(stat.name, open + 1, bytes < sizeof(stat.name) ? bytes : sizeof(stat.name) - 1);
	stat.state = at[2];
	stat.cpu_ticks =
		thread_stat_field(text, STAT_UTIME) + thread_stat_field(text, STAT_UTIME + 1);
	stat.start = thread_stat_field(text, STAT_START_TIME);
	at = proc_stat_field(text, STAT_STACK_START);
	if (!at || !thread_take_number(at, 10, &stat.stack_start))
		return -EPROTO;
	if (cpu && thread_take_number(cpu, 10, &number) && number <= INT_MAX)
		stat.cpu = (int)number;
	*out = stat;
	return 0;
}

int thread_stat_read(int proc_fd, int32_t tid, struct thread_stat *out)
{
	char text[STAT_BYTES];
	int rc = (int)proc_read_task(proc_fd, tid, "stat", text, sizeof(text));

	return rc < 0 ? rc : thread_parse_stat(text, out);
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
	*out = (struct thread_masks){.blocked = proc_line_number(text, "SigBlk", 16),
				     .caught = proc_line_number(text, "SigCgt", 16),
				     .queue_is_full = signal_queue_is_full(proc_line(text, "SigQ")),
				     .waits =
					     proc_line_number(text, "voluntary_ctxt_switches", 10)};
	out->switches = out->waits + proc_line_number(text, "nonvoluntary_ctxt_switches", 10);
	out->inside_tid = pid_innermost(text, tid, &out->levels);
	return 0;
}

static uint32_t filters_in(const char *text)
{
	uint64_t number = proc_line_number(text, "Seccomp_filters", 10);

	return number ? (uint32_t)number : proc_line_number(text, "Seccomp", 10) != 0;
}

/* The last of the four ids. */
static uid_t files_user_in(const char *text)
{
	const char *line = proc_line(text, "Uid");
	unsigned long user;

	return line && sscanf(line, "%*u %*u %*u %lu", &user) == 1 ? (uid_t)user : (uid_t)-1;
}

static void thread_parse_status_once(const char *text, struct thread_status *out)
{
	*out = (struct thread_status){
		.filters = filters_in(text),
		.threads = (uint32_t)proc_line_number(text, "Threads", 10),
		.files_user = files_user_in(text),
	};
}

/* Lines stand behind that of the groups, which may be longer than all others together. */
static int thread_status_read_long(int proc_fd, int32_t tid, struct thread_status *out)
{
	char path[48], *text;
	size_t bytes;

	snprintf(path, sizeof(path), "task/%d/status", (int)tid);
	text = proc_read_all(proc_fd, path, &bytes);
	if (!text)
		return errno > 0 ? -errno : -EIO;
	thread_parse_status_once(text, out);
	free(text);
	return 0;
}

int thread_status_read(int proc_fd, int32_t tid, struct thread_status *out)
{
	char text[STATUS_BYTES];
	int rc = (int)proc_read_task(proc_fd, tid, "status", text, sizeof(text));

	if (rc < 0)
		return rc;
	if (!proc_line(text, "State"))
		return -EPROTO;
	if (rc == STATUS_BYTES - 1 && !proc_line(text, "Seccomp"))
		return thread_status_read_long(proc_fd, tid, out);
	thread_parse_status_once(text, out);
	return 0;
}

int thread_filters_read(int proc_fd, int32_t tid, uint32_t *count)
{
	struct thread_status status = {.filters = 0};
	int rc = thread_status_read(proc_fd, tid, &status);

	if (rc == 0)
		*count = status.filters;
	return rc;
}

int thread_schedstat_read(int proc_fd, int32_t tid, struct thread_sched *out)
{
	char text[128];
	int rc = (int)proc_read_task(proc_fd, tid, "schedstat", text, sizeof(text));

	return rc < 0 ? rc : thread_parse_schedstat(text, out);
}

int thread_cpu_read(int proc_fd, int32_t tid, uint64_t *cpu_ns)
{
	struct thread_sched runs;
	struct thread_stat stat;
	int rc = thread_schedstat_read(proc_fd, tid, &runs);

	if (rc == 0)
		*cpu_ns = runs.cpu_ns;
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
	struct thread_sched runs = {.count = 0};
	struct thread_masks masks;
	struct thread_stat stat;
	int rc;

	thread_schedstat_read(proc_fd, tid, &runs);
	rc = thread_masks_read(proc_fd, tid, &masks);
	if (rc == 0)
		rc = thread_stat_read(proc_fd, tid, &stat);
	if (rc)
		return rc;
	*out = (struct thread_run){
		.state = stat.state,
		.waits = masks.waits,
		.switches = masks.switches,
		.cpu_ns = runs.count ? runs.cpu_ns : stat.cpu_ticks * TICK_NS,
		.arrivals = runs.count,
	};
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
