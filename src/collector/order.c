/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders to a process that is attached to: the priming signal, queued with a value to a thread
 * that runs. A thread that sleeps would be woken, and its call might return early: it is never
 * sent one. One that runs may go to sleep before the signal is there, and most that are seen to
 * run for some microseconds will: so it must have run on for a while first. Threads whose mask
 * or sigwait would swallow the signal are passed over.
 *
 * Nothing that the session says chooses the signal: what default action ends a program, or
 * stops it, is not sent, whatever stands there.
 */
#include "collector/attach.h"

#include "base/platform.h"
#include "collector/clock.h"
#include "collector/thread_stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int order_signal_is_allowed(uint32_t signo)
{
	return signo == SIGURG || (signo >= (uint32_t)SIGRTMIN && signo <= (uint32_t)SIGRTMAX);
}

static int runs(const struct process *p, int32_t tid)
{
	struct thread_stat stat;

	return thread_stat_read(p->proc_fd, tid, &stat) == 0 && stat.state == 'R';
}

/* Not blocked, and a handler is there. */
static int takes(const struct process *p, int32_t tid, uint32_t signo, uint64_t *waits)
{
	uint64_t bit = UINT64_C(1) << (signo - 1);
	struct thread_masks masks;

	if (thread_masks_read(p->proc_fd, tid, &masks))
		return 0;
	*waits = masks.waits;
	return !(masks.blocked & bit) && (masks.caught & bit);
}

/* Short ones are not left to the kernel, which makes them longer. */
static void let_pass(uint64_t ns)
{
	const struct timespec pause = {.tv_nsec = (long)(ns % 1000000000)};
	uint64_t began_ns = clock_mono_ns();

	if (ns >= 1000000)
		nanosleep(&pause, NULL);
	while (clock_mono_ns() - began_ns < ns)
		;
}

/* The state is looked at again last: what lies between is as short as it can be. */
int order_runs_on(const struct process *p, int32_t tid, uint32_t signo, uint64_t waits,
		  uint64_t steady_ns)
{
	uint64_t now = 0;

	let_pass(steady_ns);
	return takes(p, tid, signo, &now) && now == waits && runs(p, tid);
}

/* Pairs: let_go() in src/runtime/prime_signal.c, which has one of the two see the other. */
int order_queue(const struct process *p, int32_t tid, uint32_t signo, enum weft_order order)
{
	struct weft_session_header *h = p->base;
	uint64_t cookie = __atomic_load_n(&h->cookie, __ATOMIC_RELAXED);
	int rc = -ECANCELED;

	__atomic_fetch_add(&h->prime_sending, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&h->prime_signal_used, __ATOMIC_SEQ_CST) == signo)
		rc = platform_thread_signal(p->pid, tid, (int)signo,
					    WEFT_SIGVAL(cookie, 0, (uint32_t)order));
	__atomic_fetch_sub(&h->prime_sending, 1, __ATOMIC_SEQ_CST);
	return rc;
}

#define NOT_THIS_ONE 2

/* 0, 1 and -errno as order_try(); NOT_THIS_ONE: it has been waited for. */
static int try_thread(const struct session *s, int32_t tid, uint32_t signo, enum weft_order order,
		      uint64_t steady_ns)
{
	uint64_t waits;
	int rc;

	if (!runs(s->process, tid) || !takes(s->process, tid, signo, &waits))
		return 0;
	if (!order_runs_on(s->process, tid, signo, waits, steady_ns))
		return NOT_THIS_ONE;
	rc = order_queue(s->process, tid, signo, order);
	return rc == 0 ? 1 : rc == -ESRCH || rc == -ECANCELED ? 0 : rc;
}

static int try_each(const struct session *s, DIR *list, uint32_t signo, enum weft_order order,
		    struct order_search *search)
{
	unsigned int seen = 0, until = search->skip + search->threads_max;
	const struct dirent *entry = NULL;
	int rc = 0;

	while (rc == 0 && seen < until && (entry = readdir(list)))
		if (entry->d_name[0] != '.' && seen++ >= search->skip)
			rc = try_thread(s, atoi(entry->d_name), signo, order, search->steady_ns);
	search->skip = entry ? seen : 0;
	search->failed += rc == NOT_THIS_ONE;
	return rc == NOT_THIS_ONE ? 0 : rc;
}

int order_try(const struct session *s, enum weft_order order, struct order_search *search)
{
	const struct weft_session_header *h = s->base;
	uint32_t signo = __atomic_load_n(&h->prime_signal_used, __ATOMIC_RELAXED);
	int fd, rc;
	DIR *list;

	if (!order_signal_is_allowed(signo))
		return -EINVAL;
	fd = openat(s->process->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		rc = errno == ENOENT ? -ESRCH : -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	rc = try_each(s, list, signo, order, search);
	closedir(list);
	return rc;
}
