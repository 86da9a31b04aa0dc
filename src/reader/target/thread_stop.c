/* SPDX-License-Identifier: Apache-2.0 */
/* One thread stopped by PTRACE_SEIZE and PTRACE_INTERRUPT: see thread_stop.h. */
#include "reader/target/thread_stop.h"
#include "proc/process_file.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

/* A thread that runs stops when it gets a CPU; one that sleeps on a disk may take for ever. */
#define QUICK_LOOKS 50
#define LOOKS_MAX 10000
#define DISK_LOOKS_MAX 1000
#define OWED_LOOKS_MAX 1000
#define LOOK_NS 1000000

static char thread_stop_state_of(int32_t tid)
{
	char text[512];
	const char *at;

	proc_read_of(tid, "stat", text, sizeof(text));
	at = proc_stat_field(text, STAT_STATE);
	return at ? *at : 'X';
}

/* A stop that we did not ask for is a signal on its way to the thread. */
static int signal_of(int status)
{
	return status >> 16 == 0 ? WSTOPSIG(status) : 0;
}

/* ---- threads that are owed: traced by us until they can be detached */

#define OWED_MAX 256 /* more are detached by the kernel when we end */

static _Thread_local int32_t owed[OWED_MAX];
static _Thread_local size_t owed_count;

static void thread_stop_owe(int32_t tid)
{
	if (owed_count < OWED_MAX)
		owed[owed_count++] = tid;
}

/* 1: it is detached, or gone; 0: not yet. */
static int thread_stop_detach_owed(int32_t tid)
{
	int status;
	pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

	if (got == tid && WIFSTOPPED(status))
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes a number there */
		return ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal_of(status)) == 0;
	return got == tid || (got < 0 && errno != EINTR);
}

size_t thread_stop_owed(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < owed_count; i++)
		if (!thread_stop_detach_owed(owed[i]))
			owed[kept++] = owed[i];
	owed_count = kept;
	return kept;
}

/*
 * An exec holds a lock that PTRACE_SEIZE takes, until all its process's other threads are gone,
 * also those that are dead and traced by us: nobody would ever go on. So none is seized while one
 * is owed. One that is owed for long is not waited for again.
 */
static int owes_nothing(void)
{
	const struct timespec pause = {0, LOOK_NS};
	static _Thread_local int is_long;

	for (int i = 0; thread_stop_owed(); i++) {
		is_long |= i == OWED_LOOKS_MAX;
		if (is_long)
			return 0;
		nanosleep(&pause, NULL);
	}
	is_long = 0;
	return 1;
}

/* ---- the stop */

/* 1: it stands; 0: not yet; -ESRCH. */
static int thread_stop_look(int32_t tid, int *signal)
{
	int status;
	pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

	if ((got == tid && !WIFSTOPPED(status)) || (got < 0 && errno != EINTR))
		return -ESRCH;
	if (got != tid)
		return 0;
	*signal = signal_of(status);
	return 1;
}

static int await_stop(int32_t tid, int *signal)
{
	const struct timespec pause = {0, LOOK_NS};
	int on_disk = 0;

	for (int i = 0; i < LOOKS_MAX && on_disk < DISK_LOOKS_MAX; i++) {
		int rc = thread_stop_look(tid, signal);

		if (rc)
			return rc < 0 ? rc : 0;
		if (i < QUICK_LOOKS)
			continue;
		nanosleep(&pause, NULL);
		thread_stop_owed(); /* it may be in an exec that waits for one of those */
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL); /* an exec may have lost the first */
		on_disk = thread_stop_state_of(tid) == 'D' ? on_disk + 1 : 0;
	}
	thread_stop_owe(tid);
	return -EBUSY;
}

int thread_stop(int32_t tid, struct stopped_thread *out)
{
	int rc;

	if (!owes_nothing())
		return -EBUSY;
	/* It would be traced and not stopped: only our own end would detach it. */
	if (thread_stop_state_of(tid) == 'D')
		return -EBUSY;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
		rc = -errno;
		return strchr("XZ", thread_stop_state_of(tid)) ? -ESRCH : rc;
	}
	out->tid = tid;
	out->signal = 0;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0) {
		thread_stop_owe(tid);
		return -ESRCH;
	}
	return await_stop(tid, &out->signal);
}

void thread_let_go(const struct stopped_thread *s)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): ptrace takes a number there */
	if (ptrace(PTRACE_DETACH, s->tid, NULL, (void *)(intptr_t)s->signal) < 0)
		thread_stop_owe(s->tid);
}
