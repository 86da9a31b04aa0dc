/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do not run: see still.h. */
#include "reader/target/still.h"
#include "proc/process_file.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_PROCESSOR 39
#define STILL_MOVES 3

static int read_small(int proc_fd, int32_t tid, const char *name, char *out, size_t room)
{
	ssize_t n = proc_read_task(proc_fd, tid, name, out, room);

	return n == -ENOENT ? -ESRCH : n < 0 ? (int)n : 0;
}

static int read_arrivals(int proc_fd, int32_t tid, uint64_t *arrivals)
{
	struct thread_sched runs;
	int rc = thread_schedstat_read(proc_fd, tid, &runs);

	if (rc == -ENOENT)
		return faccessat(proc_fd, "schedstat", F_OK, 0) ? -ENOTSUP : -ESRCH;
	if (rc)
		return rc;
	*arrivals = runs.count;
	/* It has run at least once: a kernel that does not count says 0. */
	return *arrivals ? 0 : -ENOTSUP;
}

static int read_processor(int proc_fd, int32_t tid)
{
	char text[1024];
	const char *at;
	int rc = read_small(proc_fd, tid, "stat", text, sizeof(text));

	if (rc)
		return rc;
	at = proc_stat_field(text, STAT_PROCESSOR);
	return at ? atoi(at) : -ENOTSUP;
}

static int move_to(struct still *s, int cpu)
{
	cpu_set_t one;

	if (s->moved && s->cpu == cpu)
		return 0;
	if (!s->moved && sched_getaffinity(0, sizeof(s->own), &s->own))
		return -ENOTSUP;
	if (cpu >= CPU_SETSIZE)
		return -ENOTSUP;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return -ENOTSUP;
	s->moved = 1;
	s->cpu = cpu;
	return 0;
}

/* `syscall` says "running" also of a thread that waits for a CPU; of another the kernel has made
 * sure that it was off the CPU. */
static int is_asleep(int proc_fd, int32_t tid)
{
	char text[256];

	return read_small(proc_fd, tid, "syscall", text, sizeof(text)) == 0 &&
	       strncmp(text, "running", 7) != 0;
}

/* Arrivals are read first: whenever the thread runs from then on, they change. */
int still_begin(struct still *s, int proc_fd, int32_t tid)
{
	for (int i = 0; i < STILL_MOVES; i++) {
		int rc = read_arrivals(proc_fd, tid, &s->arrivals), cpu;

		if (rc || is_asleep(proc_fd, tid))
			return rc;
		cpu = read_processor(proc_fd, tid);
		if (cpu < 0)
			return cpu;
		if (s->moved && s->cpu == cpu)
			return sched_getcpu() == cpu ? 0 : -EAGAIN;
		if (s->never_move && sched_getcpu() != cpu)
			return -EAGAIN;
		rc = move_to(s, cpu);
		if (rc)
			return rc;
	}
	return -EAGAIN;
}

int still_end(const struct still *s, int proc_fd, int32_t tid)
{
	uint64_t arrivals = 0;
	int rc = read_arrivals(proc_fd, tid, &arrivals);

	return rc ? rc : arrivals == s->arrivals;
}

void still_close(struct still *s)
{
	if (s->moved)
		sched_setaffinity(0, sizeof(s->own), &s->own);
	s->moved = 0;
}
