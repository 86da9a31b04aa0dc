/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks that clocks.c tries. Those of perf count cpu-clock (an hrtimer that runs while the
 * thread is on a CPU) and see user mode alone, as an unprivileged user may; those of POSIX are
 * looked at by the kernel at its tick.
 *
 *   random     an event opened by the thread itself; first gap uniform on [0, period), later ones
 *              on [0.75, 1.25) of it, set by ioctl in the handler; SIGURG by F_SETSIG
 *   mapped     the same, the descriptor closed at once and the event kept by a mapping: the
 *              handler opens another
 *   once       as random, but the first handler sets the period for good
 *   late       the same in the second: the random first period stands for one gap too long
 *   whole      the same, first gap a whole period
 *   sigtrap    as random, delivered by sigtrap (SIGTRAP, synchronous)
 *   inherited  one sigtrap event of the process, inherited by its threads
 *   outside    as whole, opened by another process, which the thread waits for
 *   ticks      a CPU timer of 1 us: a signal at every tick, each worth one tick
 *   both       random for user mode, and of the ticks those that met a system call
 *   expiry     a CPU timer of one period, each signal worth 1 + overrun periods (weft 0.1.0)
 */
#include "clocks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define TID_OWNER 0 /* F_OWNER_TID */
#define OUTSIDE_MAX 4096

static __thread struct own_clock *own_clock_here;
static __thread uint64_t fired;
static uint64_t tick_ns;
static int to_outside = -1, from_outside = -1;

static void fail(int error)
{
	tally->error = error;
	_exit(1);
}

static int event_open(pid_t tid, uint64_t first_ns, int is_sigtrap, int is_inherited)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = first_ns < 10000 ? 10000 : first_ns,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = !is_inherited,
		.wakeup_events = 1,
		.sigtrap = (unsigned int)is_sigtrap & 1,
		.remove_on_exec = (unsigned int)is_sigtrap & 1,
		.inherit = (unsigned int)is_inherited & 1,
		.inherit_thread = (unsigned int)is_inherited & 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void deliver_to(int fd, pid_t tid)
{
	struct {
		int type;
		pid_t tid;
	} owner = {TID_OWNER, tid};

	if (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, SIGURG) ||
	    fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK))
		fail(errno);
}

static uint64_t later_gap(void)
{
	return (uint64_t)((double)period_ns * (0.75 + random_part() / 2));
}

static void set_gap(int fd, uint64_t ns)
{
	ioctl(fd, PERF_EVENT_IOC_PERIOD, &ns);
}

/* Whether the signal met the kernel: the pc stands right behind a system call's instruction. */
static int met_a_call(const void *context)
{
	const ucontext_t *uc = context;
#if defined(__x86_64__)
	const uint8_t *pc = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];

	return pc[-2] == 0x0f && pc[-1] == 0x05;
#else
	return *(const uint32_t *)(uc->uc_mcontext.pc - 4) == 0xd4000001;
#endif
}

static void count(uint64_t weight_ns)
{
	tally_add(&tally->seen_ns[doing], weight_ns);
	tally_add(&tally->signals[doing], 1);
}

static void on_event(int signo, siginfo_t *info, void *context)
{
	int saved = errno;
	uint64_t from = now_ns(CLOCK_MONOTONIC);
	struct own_clock *own = own_clock_here;

	(void)signo, (void)info, (void)context;
	count(period_ns);
	if (own && own->fd >= 0 && clock_used->later == GAPS_RANDOM)
		set_gap(own->fd, later_gap());
	else if (own && own->fd >= 0 && clock_used->later != GAPS_FIXED &&
		 fired++ == (clock_used->later == GAPS_LATE))
		set_gap(own->fd, period_ns);
	tally_add(&tally->handler_ns, now_ns(CLOCK_MONOTONIC) - from);
	tally_add(&tally->handlers, 1);
	errno = saved;
}

static void on_tick(int signo, siginfo_t *info, void *context)
{
	(void)signo, (void)info;
	if (clock_used->later != GAPS_RANDOM || met_a_call(context))
		count(tick_ns);
}

static void on_expiry(int signo, siginfo_t *info, void *context)
{
	(void)signo, (void)context;
	count(period_ns * (1 + (uint64_t)info->si_overrun));
}

static void handle(int signo, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigaction(signo, &action, NULL);
}

/* ---- events of perf */

static uint64_t first_gap(void)
{
	return (uint64_t)((double)period_ns * random_part());
}

/* Under 10 us the kernel would make it 10 us: that point lies before the work. */
static uint64_t first_gap_of_event(void)
{
	uint64_t ns = first_gap();

	return ns < 10000 ? ns + later_gap() : ns;
}

static void begin_event(struct own_clock *own, uint64_t first_ns, int is_sigtrap)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	own->fd = event_open(0, first_ns, is_sigtrap, 0);
	if (own->fd < 0)
		fail(errno);
	own_clock_here = own;
	if (!is_sigtrap)
		deliver_to(own->fd, tid);
	ioctl(own->fd, PERF_EVENT_IOC_ENABLE, 0);
}

static void end_event(struct own_clock *own)
{
	own_clock_here = NULL;
	close(own->fd);
}

static void begin_random(struct own_clock *own)
{
	begin_event(own, first_gap_of_event(), 0);
}

static void begin_sigtrap(struct own_clock *own)
{
	begin_event(own, first_gap_of_event(), 1);
}

static void begin_whole(struct own_clock *own)
{
	begin_event(own, period_ns, 0);
}

/* As random, but the descriptor is closed at once and a mapping keeps the event; the handler has
 * nothing to set the next period by and opens another. */
static void open_mapped(struct own_clock *own, uint64_t ns)
{
	int fd = event_open(0, ns, 0, 0);

	if (fd < 0)
		fail(errno);
	own->mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (own->mapped == MAP_FAILED)
		fail(errno);
	deliver_to(fd, (pid_t)syscall(SYS_gettid));
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	close(fd);
}

static void begin_mapped(struct own_clock *own)
{
	own_clock_here = own;
	open_mapped(own, first_gap_of_event());
}

static void end_mapped(struct own_clock *own)
{
	own_clock_here = NULL;
	munmap(own->mapped, 4096);
}

static void on_mapped(int signo, siginfo_t *info, void *context)
{
	int saved = errno;
	uint64_t from = now_ns(CLOCK_MONOTONIC);
	struct own_clock *own = own_clock_here;

	(void)signo, (void)info, (void)context;
	count(period_ns);
	if (own) {
		munmap(own->mapped, 4096);
		open_mapped(own, later_gap());
	}
	tally_add(&tally->handler_ns, now_ns(CLOCK_MONOTONIC) - from);
	tally_add(&tally->handlers, 1);
	errno = saved;
}

static void handle_mapped(void)
{
	handle(SIGURG, on_mapped);
}

static void handle_urg(void)
{
	handle(SIGURG, on_event);
}

static void handle_trap(void)
{
	handle(SIGTRAP, on_event);
}

static void open_inherited(void)
{
	handle(SIGTRAP, on_event);
	if (event_open(0, period_ns, 1, 1) < 0)
		fail(errno);
}

/* ---- opened by another process: a thread sends its id, negative as it ends */

static void serve_outside(int from, int to)
{
	static int fds[OUTSIDE_MAX];
	pid_t tid;

	while (read(from, &tid, sizeof(tid)) == sizeof(tid)) {
		int *fd = &fds[(tid < 0 ? -tid : tid) % OUTSIDE_MAX];

		if (tid < 0) {
			close(*fd);
		} else {
			*fd = event_open(tid, period_ns, 0, 0);
			if (*fd < 0)
				fail(errno);
			deliver_to(*fd, tid);
			ioctl(*fd, PERF_EVENT_IOC_ENABLE, 0);
		}
		if (write(to, &tid, sizeof(tid)) != sizeof(tid))
			break;
	}
	_exit(0);
}

static void start_outside(void)
{
	int there[2], back[2];

	handle_urg();
	if (pipe(there) || pipe(back))
		fail(errno);
	if (!fork()) {
		close(there[1]);
		close(back[0]);
		serve_outside(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	to_outside = there[1];
	from_outside = back[0];
}

/* Of two threads that ask at once each may take the other's answer: both are served by then but
 * for the length of one pass. */
static void ask_outside(pid_t tid)
{
	if (write(to_outside, &tid, sizeof(tid)) != sizeof(tid) ||
	    read(from_outside, &tid, sizeof(tid)) != sizeof(tid))
		fail(EPIPE);
}

static void begin_outside(struct own_clock *own)
{
	(void)own;
	ask_outside((pid_t)syscall(SYS_gettid));
}

static void end_outside(struct own_clock *own)
{
	(void)own;
	ask_outside(-(pid_t)syscall(SYS_gettid));
}

/* ---- timers of POSIX */

static void begin_timer(struct own_clock *own, uint64_t first_ns, uint64_t every_ns)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct itimerspec spec = {.it_value = {.tv_nsec = (long)first_ns},
				  .it_interval = {.tv_nsec = (long)every_ns}};

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &own->timer) ||
	    timer_settime(own->timer, 0, &spec, NULL))
		fail(errno);
}

static void begin_ticks(struct own_clock *own)
{
	begin_timer(own, 1000, 1000);
}

static void begin_both(struct own_clock *own)
{
	begin_ticks(own);
	begin_random(own);
}

static void begin_expiry(struct own_clock *own)
{
	begin_timer(own, 1 + first_gap(), period_ns);
}

static void end_timer(struct own_clock *own)
{
	timer_delete(own->timer);
}

static void end_both(struct own_clock *own)
{
	end_event(own);
	end_timer(own);
}

static void handle_ticks(void)
{
	struct timespec tick;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	tick_ns = (uint64_t)tick.tv_nsec;
	handle(SIGPROF, on_tick);
}

static void handle_both(void)
{
	handle_ticks();
	handle_urg();
}

static void handle_expiry(void)
{
	handle(SIGPROF, on_expiry);
}

const struct clock clocks[] = {
	{"random", GAPS_RANDOM, SIGURG, handle_urg, begin_random, end_event},
	{"once", GAPS_ONCE, SIGURG, handle_urg, begin_random, end_event},
	{"mapped", GAPS_RANDOM, SIGURG, handle_mapped, begin_mapped, end_mapped},
	{"late", GAPS_LATE, SIGURG, handle_urg, begin_random, end_event},
	{"whole", GAPS_FIXED, SIGURG, handle_urg, begin_whole, end_event},
	{"sigtrap", GAPS_RANDOM, SIGTRAP, handle_trap, begin_sigtrap, end_event},
	{"inherited", GAPS_FIXED, SIGTRAP, open_inherited, NULL, NULL},
	{"outside", GAPS_FIXED, SIGURG, start_outside, begin_outside, end_outside},
	{"ticks", GAPS_FIXED, SIGPROF, handle_ticks, begin_ticks, end_timer},
	{"both", GAPS_RANDOM, SIGURG, handle_both, begin_both, end_both},
	{"expiry", GAPS_FIXED, SIGPROF, handle_expiry, begin_expiry, end_timer},
	{NULL, GAPS_FIXED, 0, NULL, NULL, NULL},
};
