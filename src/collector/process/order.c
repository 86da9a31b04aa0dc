/* SPDX-License-Identifier: Apache-2.0 */
/* Orders to a process: see order.h. */
#include "collector/process/order.h"

#include "base/clock.h"
#include "base/platform.h"
#include "collector/process/filters.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#define THREADS_AT_A_TIME 64

int order_signal_is_allowed(uint32_t signo)
{
	return signo == SIGURG || (signo >= (uint32_t)SIGRTMIN && signo <= (uint32_t)SIGRTMAX);
}

static int thread_is_runnable(const struct process *p, int32_t tid)
{
	struct thread_stat stat;

	return thread_stat_read(p->proc_fd, tid, &stat) == 0 && stat.state == 'R';
}

/* Would the thread get the signal now, in a handler and with its value? */
static int order_arrives(const struct process *p, int32_t tid, uint32_t signo)
{
	uint64_t bit = SIGNAL_BIT(signo);
	struct thread_masks masks;

	if (thread_masks_read(p->proc_fd, tid, &masks))
		return 0;
	return !(masks.blocked & bit) && (masks.caught & bit) && !masks.queue_is_full;
}

/* Below a millisecond it spins: the kernel would make the sleep longer. */
static void order_wait_ns(uint64_t ns)
{
	const struct timespec pause = {.tv_nsec = (long)(ns % 1000000000)};
	uint64_t began_ns = clock_mono_ns();

	if (ns >= 1000000)
		nanosleep(&pause, NULL);
	while (clock_mono_ns() - began_ns < ns)
		;
}

/* The state is read last, so that the signal follows as soon as it can. */
int order_runs_on(const struct process *p, int32_t tid, uint32_t signo,
		  const struct thread_run *before, uint64_t steady_ns)
{
	struct thread_run now;

	order_wait_ns(steady_ns);
	return order_arrives(p, tid, signo) && thread_run_read(p->proc_fd, tid, &now) == 0 &&
	       thread_ran_on(before, &now);
}

/* "202 0x7f... 0x80 ...": number and arguments of the call in which a thread sleeps. */
static int is_endless_futex(const char *text)
{
	char *at;
	unsigned long argument[4];

	if (strtoul(text, &at, 10) != SYS_futex || at == text)
		return 0;
	for (int i = 0; i < 4; i++)
		argument[i] = strtoul(at, &at, 16);
	argument[1] &= (unsigned long)FUTEX_CMD_MASK;
	return (argument[1] == FUTEX_WAIT || argument[1] == FUTEX_WAIT_BITSET) && !argument[3];
}

/* A futex wait with a timeout would end early; libc repeats one without, whatever it returns. */
int order_may_wake(const struct process *p, int32_t tid, uint32_t signo)
{
	char path[48], text[256];

	snprintf(path, sizeof(path), "task/%d/syscall", (int)tid);
	return order_arrives(p, tid, signo) &&
	       proc_read(p->proc_fd, path, text, sizeof(text)) > 0 && is_endless_futex(text);
}

/* Pairs: prime_let_go() in src/runtime/sample/prime.c, which has one of the two see the other. */
int order_queue(const struct process *p, int32_t tid, uint32_t signo, enum weft_order order)
{
	struct weft_session_header *h = p->base;
	uint64_t cookie = load_relaxed(&h->cookie);
	int rc = -ECANCELED;

	if (filters_look(p, tid))
		return -EPERM;

	__atomic_fetch_add(&h->prime_sending, 1, __ATOMIC_SEQ_CST);
	if (load_seq_cst(&h->prime_signal_used) == signo)
		rc = platform_thread_signal(p->pid, tid, (int)signo,
					    WEFT_SIGVAL(cookie, 0, (uint32_t)order));
	__atomic_fetch_sub(&h->prime_sending, 1, __ATOMIC_SEQ_CST);
	return rc;
}

#define NOT_THIS_ONE 2

/* 0, 1 and -errno as order_try(); NOT_THIS_ONE: it was waited for, and did not run on. */
static int try_thread(const struct process *p, int32_t tid, uint32_t signo, enum weft_order order,
		      uint64_t steady_ns)
{
	struct thread_run before;
	int rc;

	if (!order_may_wake(p, tid, signo)) {
		if (!thread_is_runnable(p, tid) || !order_arrives(p, tid, signo) ||
		    thread_run_read(p->proc_fd, tid, &before))
			return 0;
		if (!order_runs_on(p, tid, signo, &before, steady_ns))
			return NOT_THIS_ONE;
	}
	rc = order_queue(p, tid, signo, order);
	return rc == 0 ? 1 : rc == -ESRCH || rc == -ECANCELED ? 0 : rc;
}

int order_try(const struct process *p, enum weft_order order, uint64_t steady_ns,
	      struct order_search *search)
{
	const struct weft_session_header *h = p->base;
	uint32_t signo = load_relaxed(&h->prime_signal_used);
	unsigned int seen = 0, until = search->skip + THREADS_AT_A_TIME;
	const struct dirent *entry = NULL;
	DIR *list;
	int rc = 0;

	if (!order_signal_is_allowed(signo))
		return -EINVAL;
	/* Not later, for a thread that was found running is to get the signal at once; and once in
	 * a round through all threads. */
	if (!search->skip && filters_look_all(p))
		return -EPERM;
	list = proc_directory(p->proc_fd, "task");
	if (!list)
		return errno == ENOENT ? -ESRCH : -errno;
	while (rc == 0 && seen < until && (entry = readdir(list)))
		if (entry->d_name[0] != '.' && seen++ >= search->skip)
			rc = try_thread(p, atoi(entry->d_name), signo, order, steady_ns);
	search->skip = entry ? seen : 0;
	search->failed += rc == NOT_THIS_ONE;
	closedir(list);
	return rc == NOT_THIS_ONE ? 0 : rc;
}
