/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel offers: CPU timers and their real rate, clocks, perf events, memory. */
#include "cli/doctor/doctor.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define TIMER_ASKED_NS 1000000   /* 1 kHz: above every usual HZ */
#define TIMER_PROBE_NS 150000000 /* CPU time spent on it */
#define DEFAULT_RATE_HZ 199

static void probe_kernel(struct finding *out)
{
	struct utsname name;
	int known;

	if (uname(&name)) {
		finding_refused(out, FINDING_MISSING, "uname", errno);
		return;
	}
	known = !strcmp(name.machine, "x86_64") || !strcmp(name.machine, "aarch64");
	finding_set(out, known ? FINDING_OK : FINDING_MISSING, "%s %s on %s", name.sysname,
		    name.release, name.machine);
	if (!known)
		finding_choose(out, "weft records x86_64 and aarch64 programs only");
}

/* ---- CPU timers */

static volatile sig_atomic_t ticks, overruns;

static void on_tick(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	ticks++;
	overruns += info->si_overrun;
}

static int64_t burn_cpu(int64_t ns)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int64_t spent;

	do
		spent = (int64_t)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
	while (spent < ns);
	return spent;
}

/* Runs the probe timer; CPU time spent in ns, or -errno. */
static int64_t run_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct itimerspec period = {{0, TIMER_ASKED_NS}, {0, TIMER_ASKED_NS}};
	int64_t spent;
	timer_t timer;

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer))
		return -errno;
	if (timer_settime(timer, 0, &period, NULL))
		spent = -errno;
	else
		spent = burn_cpu(TIMER_PROBE_NS);
	timer_delete(timer);
	return spent;
}

static void judge_rate(struct finding *out, int64_t spent)
{
	int64_t hz = (ticks * INT64_C(1000000000) + spent / 2) / spent;
	int64_t periods = ((ticks + overruns) * INT64_C(1000000000) + spent / 2) / spent;

	finding_number(out, hz);
	finding_set(out, hz >= DEFAULT_RATE_HZ ? FINDING_OK : FINDING_LIMITED,
		    "%lld signals and %lld periods a second of CPU, 1000 asked (measured)",
		    (long long)hz, (long long)periods);
	if (!ticks) {
		out->state = FINDING_MISSING;
		finding_choose(out, "no signal came: the cpu engine cannot work here");
		return;
	}
	finding_choose(out,
		       "engine cpu, a timer per thread: never wakes a sleeping call. %d Hz by "
		       "default; by this clock alone, above %lld Hz one sample stands for several "
		       "periods",
		       DEFAULT_RATE_HZ, (long long)hz);
}

static void probe_timer(struct finding *out)
{
	struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction before;
	sigset_t only, old;
	int64_t spent;

	sigemptyset(&action.sa_mask);
	sigemptyset(&only);
	sigaddset(&only, SIGPROF);
	ticks = overruns = 0;
	if (sigaction(SIGPROF, &action, &before)) {
		finding_refused(out, FINDING_MISSING, "sigaction(SIGPROF)", errno);
		return;
	}
	sigprocmask(SIG_UNBLOCK, &only, &old);
	spent = run_timer();
	/* a tick may still be pending, and the default action would end us */
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGPROF, SIG_IGN);
	sigaction(SIGPROF, &before, NULL);
	if (spent <= 0)
		finding_refused(out, FINDING_MISSING, "timer_create", (int)-spent);
	else
		judge_rate(out, spent);
}

static void probe_clocksource(struct finding *out)
{
	int steady;

	finding_line(out, "clocksource",
		     "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	steady = !strcmp(out->value, "tsc") || !strcmp(out->value, "arch_sys_counter");
	finding_choose(out, steady ? "samples use clock_gettime; the counter itself is usable"
				   : "samples use clock_gettime; the CPU's counter is not used");
}

/* ---- perf events */

static int open_perf(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void probe_perf_event(struct finding *out, enum finding_state refused, uint32_t type,
			     uint64_t config)
{
	int fd = open_perf(type, config);

	if (fd < 0) {
		finding_refused(out, refused, "perf_event_open", errno);
		return;
	}
	close(fd);
	finding_set(out, refused == FINDING_INFO ? FINDING_INFO : FINDING_OK,
		    "perf_event_open works for one's own threads");
}

static void probe_perf_software(struct finding *out)
{
	uint64_t tick_ms = clock_tick_ns() / 1000000;

	probe_perf_event(out, FINDING_LIMITED, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	if (out->state == FINDING_OK)
		finding_choose(out,
			       "clock hrtimer: samples at random instants of a thread's CPU "
			       "time; system calls by ticks of %llu ms",
			       (unsigned long long)tick_ms);
	else
		finding_choose(out,
			       "clock ticks of %llu ms: right on average, but work that repeats "
			       "with them is misjudged (docs/accuracy.md). What mends it: sysctl "
			       "kernel.perf_event_paranoid=2, CAP_PERFMON in a container",
			       (unsigned long long)tick_ms);
}

static void probe_perf_hardware(struct finding *out)
{
	probe_perf_event(out, FINDING_INFO, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

static void probe_paranoid(struct finding *out)
{
	finding_line(out, "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid");
}

/* ---- memory */

static void probe_memfd(struct finding *out)
{
	int seals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
	int fd = memfd_create("weft-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0) {
		finding_refused(out, FINDING_MISSING, "memfd_create", errno);
		return;
	}
	if (ftruncate(fd, 4096) || fcntl(fd, F_ADD_SEALS, seals))
		finding_refused(out, FINDING_MISSING, "sealing a memfd", errno);
	else if (ftruncate(fd, 8192) == 0)
		finding_set(out, FINDING_MISSING, "a sealed memfd can still grow");
	else
		finding_set(out, FINDING_OK, "memory that can be sealed and handed over");
	close(fd);
	if (out->state == FINDING_MISSING)
		finding_choose(out, "the session between program and collector is a sealed memfd");
}

static void probe_pidfd(struct finding *out)
{
#ifdef SYS_pidfd_open
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd >= 0) {
		close(fd);
		finding_set(out, FINDING_OK, "pidfd_open works");
		return;
	}
#else
	errno = ENOSYS;
#endif
	finding_refused(out, FINDING_MISSING, "pidfd_open", errno);
	finding_choose(out, "the collector learns by it that a program has ended");
}

/* What a forked child finds in a page that the parent filled: 0 when wiped. */
static int page_in_child(const volatile unsigned char *page)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (!child)
		_exit(*page);
	if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		return -ECHILD;
	return WEXITSTATUS(status);
}

static void probe_wipe(struct finding *out)
{
	unsigned char *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int found;

	if (page == MAP_FAILED) {
		finding_refused(out, FINDING_MISSING, "mmap", errno);
		return;
	}
	*page = 1;
	if (madvise(page, 4096, MADV_WIPEONFORK)) {
		finding_refused(out, FINDING_LIMITED, "MADV_WIPEONFORK", errno);
	} else {
		found = page_in_child(page);
		finding_set(out, found == 0 ? FINDING_OK : FINDING_LIMITED,
			    found == 0 ? "wiped in a forked child" : "not wiped in a forked child");
	}
	munmap(page, 4096);
	finding_choose(out, "tells a child that was cloned past fork() not to write into its "
			    "parent's slot");
}

const struct probe doctor_kernel[] = {
	{"kernel", "kernel", NULL, 1, probe_kernel},
	{"cpu_timer", "CPU timers", "Hz", 1, probe_timer},
	{"clocksource", "clock source", NULL, 0, probe_clocksource},
	{"memfd", "sealed memfd", NULL, 1, probe_memfd},
	{"pidfd", "pidfd", NULL, 1, probe_pidfd},
	{"wipe_on_fork", "wipe on fork", NULL, 0, probe_wipe},
	{"perf_paranoid", "perf_event_paranoid", NULL, 0, probe_paranoid},
	{"perf_software", "perf, CPU clock", NULL, 0, probe_perf_software},
	{"perf_hardware", "perf, hardware", NULL, 0, probe_perf_hardware},
	{NULL, NULL, NULL, 0, NULL},
};
