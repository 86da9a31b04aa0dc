/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own-signals NUMBER [PART]: everything that a program can do with a signal, and what it sees of
 * it, in words that are the same each time. Recorded or not, it must print the same.
 * own-signals show NUMBER TEXT: its action, mask and pending signals, as exec has left them.
 *
 * CPU time is used all the while (burn_open, and burn_masked where the signal is blocked), so
 * that a profiler has its chances to be noticed.
 */
#include "own_signals.h"
#include "own_signals_children.h"

/* ---- the parts */

static void actions(void)
{
	static const int flags[] = {0,
				    SA_RESTART,
				    SA_NODEFER,
				    (int)SA_RESETHAND,
				    SA_ONSTACK,
				    SA_SIGINFO,
				    SA_SIGINFO | SA_NODEFER,
				    SA_SIGINFO | (int)SA_RESETHAND,
				    SA_SIGINFO | SA_ONSTACK};
	struct sigaction old;
	stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};

	sigaltstack(&stack, NULL);
	print_own("at first");
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct sigaction a;

		memset(&a, 0, sizeof(a));
		a.sa_flags = flags[i];
		if (flags[i] & SA_SIGINFO)
			a.sa_sigaction = full_handler;
		else
			a.sa_handler = quiet_handler;
		a.sa_mask = i % 2 ? all() : only(SIGUSR2);
		memset(&old, 0, sizeof(old));
		sigaction(number, &a, &old);
		print_action("was", &old);
		print_own("is");
		burn_open(8);
		caught = deepest = depth = seen_code = masked_usr2 = on_alternate = from_self = 0;
		raise(number);
		printf("caught %d code %d from itself %d itself masked %d USR2 %d depth %d "
		       "alternate %d\n",
		       (int)caught, (int)seen_code, (int)from_self, (int)masked_itself,
		       (int)masked_usr2, (int)deepest, (int)on_alternate);
		print_own("afterwards");
		print_mask("mask");
	}
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
}

static void old_calls(void)
{
	printf("signal %s\n", name_of(signal(number, quiet_handler)));
	print_own("signal");
	raise(number);
	siginterrupt(number, 1);
	print_own("siginterrupt 1");
	printf("signal %s\n", name_of(signal(number, SIG_IGN)));
	print_own("signal after siginterrupt");
	siginterrupt(number, 0);
	print_own("siginterrupt 0");
	raise(number);
	printf("sigset %s\n", name_of(sigset(number, quiet_handler)));
	print_own("sigset");
	printf("sigset %s\n", name_of(sigset(number, SIG_HOLD)));
	print_mask("held");
	printf("sigset %s\n", name_of(sigset(number, SIG_HOLD)));
	raise(number);
	burn_masked(8);
	printf("caught %d\n", (int)caught);
	printf("sigset %s\n", name_of(sigset(number, quiet_handler)));
	printf("caught %d\n", (int)caught);
	sighold(number);
	raise(number);
	print_mask("sighold");
	sigrelse(number);
	print_mask("sigrelse");
	printf("caught %d\n", (int)caught);
	sigignore(number);
	print_own("sigignore");
	printf("sysv_signal %s\n", name_of(sysv_signal(number, quiet_handler)));
	print_own("sysv_signal");
	raise(number);
	print_own("once");
	printf("bad %d %d\n", sigaction(0, NULL, NULL), sigaction(65, NULL, NULL));
}

static void *show_mask(void *text)
{
	print_mask(text);
	burn_masked(15);
	return NULL;
}

static void in_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, arg);
	pthread_join(thread, NULL);
}

/* A thread whose mask its attributes say: nothing is inherited. */
static void masks_by_attributes(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
	sigset_t set = only(number), none;
	pthread_attr_t attr;
	pthread_t thread;

	sigemptyset(&none);
	pthread_attr_init(&attr);
	for (int round = 0; round < 4; round++) {
		sigprocmask(SIG_SETMASK, round & 1 ? &set : &none, NULL);
		pthread_attr_setsigmask_np(&attr, round & 2 ? &set : &none);
		pthread_create(&thread, &attr, show_mask, (char[]){"thread by attributes"});
		pthread_join(thread, NULL);
	}
	sigprocmask(SIG_SETMASK, &none, NULL);
	pthread_attr_destroy(&attr);
#endif
}

static void masks(void)
{
	sigset_t set = only(number), filled = all(), old, none;

	sigemptyset(&none);
	for (int round = 0; round < 2; round++) {
		sigset_t *which = round ? &filled : &set;

		sigprocmask(SIG_BLOCK, which, &old);
		print_set("old", &old);
		print_mask("blocked");
		burn_masked(20);
		in_thread(show_mask, (char[]){"thread"});
		sigprocmask(SIG_BLOCK, which, &old);
		print_set("old", &old);
		sigprocmask(SIG_UNBLOCK, &set, &old);
		print_set("old", &old);
		print_mask("it alone open");
		sigprocmask(SIG_SETMASK, which, &old);
		print_set("old", &old);
		burn_masked(20);
		sigprocmask(SIG_SETMASK, &none, &old);
		print_set("old", &old);
		in_thread(show_mask, (char[]){"thread"});
		pthread_sigmask(SIG_SETMASK, which, NULL);
		set_action(quiet_handler, 0);
		raise(number);
		burn_masked(20);
		print_pending("pending");
		pthread_sigmask(SIG_SETMASK, &none, &old);
		print_set("old", &old);
		print_pending("pending");
		printf("caught %d\n", (int)caught);
		clear();
	}
	masks_by_attributes();
	printf("bad %d\n", sigprocmask(77, &set, NULL));
}

static void *send_to(void *target)
{
	nap(20);
	pthread_kill(*(pthread_t *)target, number);
	return NULL;
}

static void *wait_for_it(void *arg)
{
	sigset_t filled = all();
	int got = 0;

	pthread_sigmask(SIG_BLOCK, &filled, NULL);
	if (sigwait(arg ? arg : &filled, &got))
		got = -1;
	printf("sigwait %s\n", got == number ? "IT" : "another");
	return NULL;
}

static void pending(void)
{
	sigset_t set = only(number), filled = all();
	struct timespec none = {0}, tenth = {.tv_nsec = 30000000};
	union sigval value = {.sival_int = 4711};
	siginfo_t info;
	pthread_t thread, own = pthread_self();
	int got;

	sigprocmask(SIG_BLOCK, &filled, NULL);
	for (int has_handler = 0; has_handler < 2; has_handler++) {
		if (has_handler)
			set_action(quiet_handler, 0);
		burn_masked(20);
		print_pending("nothing");
		printf("timed %d %d\n", sigtimedwait(&set, &info, &none), errno == EAGAIN);
		raise(number);
		raise(number);
		burn_masked(10);
		print_pending("raised");
		got = sigwaitinfo(&set, &info);
		printf("waited %d code %d from itself %d\n", got == number, info.si_code,
		       info.si_pid == getpid());
		print_pending("taken");
		kill(getpid(), number);
		print_pending("killed");
		got = sigtimedwait(&filled, &info, &tenth);
		printf("waited %d code %d\n", got == number, info.si_code);
		sigqueue(getpid(), number, value);
		got = 0;
		sigwait(&set, &got);
		printf("waited %d\n", got == number);
		sigqueue(getpid(), number, value);
		got = sigwaitinfo(&set, &info);
		printf("waited %d code %d value %d\n", got == number, info.si_code,
		       info.si_value.sival_int);
		burn_masked(10);
		printf("timed %d %d\n", sigtimedwait(&set, &info, &tenth), errno == EAGAIN);
		pthread_create(&thread, NULL, send_to, &own);
		got = sigwaitinfo(&filled, &info);
		printf("waited %d code %d\n", got == number, info.si_code);
		pthread_join(thread, NULL);
		/* to the process: whoever waits takes it */
		pthread_create(&thread, NULL, wait_for_it, &set);
		nap(20);
		burn_masked(10);
		kill(getpid(), number);
		pthread_join(thread, NULL);
		print_pending("nothing");
		pthread_create(&thread, NULL, wait_for_it, NULL);
		nap(20);
		pthread_kill(thread, number);
		pthread_join(thread, NULL);
		raise(number);
		set_action(SIG_IGN, 0);
		print_pending("ignored while pending");
		set_action(SIG_DFL, 0);
	}
}

static volatile int opened;

static void *be_open(void *arg)
{
	sigset_t set = only(number);

	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	__atomic_store_n(&opened, 1, __ATOMIC_RELEASE);
	while (!caught)
		burn_open(1);
	return arg;
}

/* Blocked first, handled later: signals to the process go where it is open. */
static void elsewhere(void)
{
	sigset_t filled = all();
	pthread_t thread;

	sigprocmask(SIG_SETMASK, &filled, NULL);
	burn_masked(10);
	set_action(quiet_handler, SA_RESTART);
	pthread_create(&thread, NULL, be_open, NULL);
	while (!__atomic_load_n(&opened, __ATOMIC_ACQUIRE))
		nap(1);
	kill(getpid(), number);
	pthread_join(thread, NULL);
	printf("caught %d\n", (int)caught);
	print_pending("pending");
	print_mask("mask");
}

#ifdef __GLIBC__
int __sigpause(int signo_or_mask, int is_signo);
int __xpg_sigpause(int signo);
#endif

static void print_wait(const char *name, int rc)
{
	printf("%s %d EINTR %d caught %d\n", name, rc, rc < 0 && errno == EINTR, (int)caught);
}

static void newer_and_older_waits(int fd, const sigset_t *none)
{
#ifdef __GLIBC__
	raise(number);
	print_wait("__xpg_sigpause", __xpg_sigpause(number));
	raise(number);
	print_wait("__sigpause", __sigpause(number, 1));
	if (number <= 32) {
		raise(number);
		print_wait("__sigpause of a mask", __sigpause(0, 0));
	}
	print_wait("__xpg_sigpause of none", __xpg_sigpause(0));
#if __GLIBC_PREREQ(2, 35)
	struct timespec soon = {.tv_nsec = 5000000};
	struct epoll_event event;

	raise(number);
	print_wait("epoll_pwait2", epoll_pwait2(fd, &event, 1, &soon, none));
#endif
#endif
	(void)fd;
	(void)none;
	(void)print_wait;
}

static void waits(void)
{
	sigset_t set = only(number), none, filled = all(), but = all();
	struct timespec soon = {.tv_nsec = 5000000};
	struct epoll_event event;
	int fd = epoll_create1(0), rc;

	sigemptyset(&none);
	sigdelset(&but, number);
	sigprocmask(SIG_SETMASK, &set, NULL);
	for (int has_handler = 0; has_handler < 2; has_handler++) {
		set_action(has_handler ? quiet_handler : SIG_DFL, SA_RESTART);
		burn_masked(8);
		printf("ppoll %d\n", ppoll(NULL, 0, &soon, &filled));
		printf("pselect %d\n", pselect(0, NULL, NULL, NULL, &soon, &filled));
		printf("epoll_pwait %d\n", epoll_pwait(fd, &event, 1, 5, &filled));
		if (!has_handler)
			continue;
		raise(number);
		print_pending("pending");
		printf("ppoll %d\n", ppoll(NULL, 0, &soon, &filled));
		printf("caught %d\n", (int)caught);
		rc = ppoll(NULL, 0, &soon, &none);
		printf("ppoll %d EINTR %d caught %d\n", rc, rc < 0 && errno == EINTR, (int)caught);
		raise(number);
		rc = pselect(0, NULL, NULL, NULL, &soon, &but);
		printf("pselect %d EINTR %d caught %d\n", rc, rc < 0 && errno == EINTR,
		       (int)caught);
		raise(number);
		rc = epoll_pwait(fd, &event, 1, 5, &none);
		printf("epoll_pwait %d EINTR %d caught %d\n", rc, rc < 0 && errno == EINTR,
		       (int)caught);
		raise(number);
		rc = sigsuspend(&but);
		printf("sigsuspend %d EINTR %d caught %d\n", rc, rc < 0 && errno == EINTR,
		       (int)caught);
		newer_and_older_waits(fd, &none);
		print_mask("mask");
	}
	close(fd);
}

static int read_one(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
		printf("signalfd: none %d\n", errno == EAGAIN);
		return 0;
	}
	printf("signalfd: IT %d code %d value %d from itself %d\n",
	       info.ssi_signo == (uint32_t)number, info.ssi_code,
	       info.ssi_code == SI_QUEUE ? info.ssi_int : 0, info.ssi_pid == (uint32_t)getpid());
	return 1;
}

static void descriptors(void)
{
	sigset_t set = only(number), filled = all();
	union sigval value = {.sival_int = 815};

	for (int round = 0; round < 2; round++) {
		sigset_t *which = round ? &filled : &set;
		struct pollfd poll_fd = {.events = POLLIN};
		int fd;

		if (round)
			sigprocmask(SIG_BLOCK, which, NULL);
		fd = poll_fd.fd = signalfd(-1, which, SFD_NONBLOCK | SFD_CLOEXEC);
		if (!round)
			sigprocmask(SIG_BLOCK, which, NULL);
		burn_masked(30);
		printf("poll %d\n", poll(&poll_fd, 1, 0));
		read_one(fd);
		raise(number);
		burn_masked(10);
		printf("poll %d\n", poll(&poll_fd, 1, 1000));
		read_one(fd);
		kill(getpid(), number);
		printf("poll %d\n", poll(&poll_fd, 1, 1000));
		read_one(fd);
		sigqueue(getpid(), number, value);
		printf("poll %d\n", poll(&poll_fd, 1, 1000));
		read_one(fd);
		burn_masked(30);
		read_one(fd);
		print_pending("pending");
		close(fd);
		clear();
	}
}

static volatile int reading;
static pid_t reader;

/* Is the thread in read(2), asleep? */
static int is_in_read(pid_t tid)
{
	char path[64], line[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)tid);
	f = fopen(path, "r");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	return line[0] >= '0' && line[0] <= '9' && atoi(line) == SYS_read;
}

static void *interrupt(void *target)
{
	while (!reading || !is_in_read(reader))
		nap(1);
	pthread_kill(*(pthread_t *)target, number);
	while (!caught)
		nap(1);
	nap(20);
	if (write(reading, "x", 1) != 1)
		abort();
	return NULL;
}

static void interruptions(void)
{
	static const int flags[] = {0, SA_RESTART};
	pthread_t own = pthread_self(), thread;
	int ends[2];
	char byte;

	for (int i = 0; i < 2; i++) {
		ssize_t n;

		if (pipe(ends))
			exit(3);
		set_action(quiet_handler, flags[i]);
		reading = 0;
		caught = 0;
		reader = (pid_t)syscall(SYS_gettid);
		pthread_create(&thread, NULL, interrupt, &own);
		burn_open(10);
		reading = ends[1];
		n = read(ends[0], &byte, 1);
		printf("flags %x: read %d EINTR %d caught %d\n", (unsigned int)flags[i], (int)n,
		       n < 0 && errno == EINTR, (int)caught);
		pthread_join(thread, NULL);
		close(ends[0]);
		close(ends[1]);
	}
}

static sigjmp_buf before;

static void jump_out(int signo)
{
	caught += signo == number;
	siglongjmp(before, 1);
}

static volatile int jumps;

static void jumping(void)
{
	sigset_t filled = all(), none;

	sigemptyset(&none);
	set_action(jump_out, 0);
	for (jumps = 0; jumps < 20;) {
		if (sigsetjmp(before, 1) == 0)
			raise(number);
		jumps++;
	}
	printf("jumped %d\n", (int)caught);
	print_mask("mask");
	burn_open(10);
	if (sigsetjmp(before, 1) == 0) {
		sigprocmask(SIG_SETMASK, &filled, NULL);
		burn_masked(10);
		siglongjmp(before, 1);
	}
	print_mask("block all, jump back");
	set_action(quiet_handler, 0);
	raise(number);
	printf("caught %d\n", (int)caught);
	/* a wait that a handler leaves by a jump */
	sigdelset(&filled, number);
	sigprocmask(SIG_BLOCK, &filled, NULL);
	set_action(jump_out, 0);
	if (sigsetjmp(before, 1) == 0) {
		sigset_t set = only(number);

		sigprocmask(SIG_BLOCK, &set, NULL);
		raise(number);
		sigsuspend(&none);
	}
	print_mask("out of sigsuspend");
	burn_masked(10);
	sigprocmask(SIG_SETMASK, &none, NULL);
	print_mask("open");
}

static void timers(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL};
	struct itimerspec every = {{0, 2000000}, {0, 2000000}};
	struct itimerval prof = {{0, 4000}, {0, 4000}}, off = {{0, 0}, {0, 0}}, left;
	struct sigaction a;
	timer_t timer;

	memset(&a, 0, sizeof(a));
	a.sa_sigaction = full_handler;
	a.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(number, &a, NULL);
	event.sigev_signo = number;
	event.sigev_value.sival_int = 99;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		exit(3);
	timer_settime(timer, 0, &every, NULL);
	while (caught < 5)
		burn_open(1);
	printf("timer: code %d value %d\n", (int)seen_code, (int)queued_value);
	timer_delete(timer);
	if (number != SIGPROF)
		return;
	caught = 0;
	setitimer(ITIMER_PROF, &prof, NULL);
	while (caught < 5)
		burn_open(1);
	getitimer(ITIMER_PROF, &left);
	printf("itimer: code %d every %ld\n", (int)seen_code, (long)left.it_interval.tv_usec);
	setitimer(ITIMER_PROF, &off, NULL);
}

static void *resets(void *arg)
{
	sigset_t filled = all(), none;

	sigemptyset(&none);
	for (int i = 1; i < 65; i++)
		signal(i, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &filled, NULL);
	burn_masked(60);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	for (int i = 1; i < 65; i++)
		signal(i, SIG_DFL);
	burn_open(30);
	return arg;
}

static void everything(void)
{
	in_thread(resets, NULL);
	resets(NULL);
	print_own("reset");
	print_mask("reset");
}

/* Data out of band, announced by SIGURG to the owner of the socket. */
static void out_of_band(void)
{
	int pair[2], listener = socket(AF_UNIX, SOCK_STREAM, 0);

	set_action(quiet_handler, SA_RESTART);
	if (listener < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
		printf("no sockets\n");
		return;
	}
	close(listener);
	fcntl(pair[0], F_SETOWN, getpid());
	caught = 0;
	if (number == SIGURG && send(pair[1], "!", 1, MSG_OOB) == 1)
		while (!caught)
			burn_open(1);
	printf("out of band: caught %d\n", (int)caught);
	close(pair[0]);
	close(pair[1]);
}

/* ---- a descriptor that announces itself, as weft's hrtimers do, by the same signal */

#ifndef F_SETOWN_EX
#define F_SETOWN_EX 15
#endif
#define ROUNDS 50

static int announces; /* the descriptor */
static volatile sig_atomic_t strangers;

static void announced_handler(int signo, siginfo_t *info, void *context)
{
	(void)context;
	if (signo != number || info->si_fd != announces || info->si_code != POLL_IN)
		strangers++;
	caught++;
}

static int announce(int fd)
{
	struct {
		int type, pid;
	} owner = {0, (int)syscall(SYS_gettid)};

	announces = fd;
	return fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, number) ||
	       fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
}

/* Caught while the thread works, and taken from the queue while it is blocked. */
static void *announced(void *arg)
{
	struct sigaction action = {.sa_sigaction = announced_handler,
				   .sa_flags = SA_SIGINFO | SA_RESTART};
	siginfo_t info;
	sigset_t set;
	int ends[2], taken = 0;
	char byte;

	caught = strangers = 0;
	sigaction(number, &action, NULL);
	if (pipe(ends) || announce(ends[0])) {
		printf("announced: errno %d\n", errno);
		return arg;
	}
	for (int i = 1; i <= ROUNDS && write(ends[1], "!", 1) == 1; i++) {
		while (caught < i)
			burn_open(1);
		while (read(ends[0], &byte, 1) == 1)
			;
	}
	printf("announced: caught %d, of others %d\n", (int)caught, (int)strangers);
	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < ROUNDS && write(ends[1], "!", 1) == 1; i++) {
		burn_masked(1);
		taken += sigwaitinfo(&set, &info) == number && info.si_fd == announces &&
			 info.si_code == POLL_IN;
		while (read(ends[0], &byte, 1) == 1)
			;
	}
	printf("announced: taken %d, caught %d\n", taken, (int)caught);
	print_pending("announced");
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	close(ends[0]);
	close(ends[1]);
	return arg;
}

static void announcing(void)
{
	announced(NULL);
	in_thread(announced, NULL);
}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{"actions", actions},
	{"old-calls", old_calls},
	{"masks", masks},
	{"pending", pending},
	{"elsewhere", elsewhere},
	{"waits", waits},
	{"interruptions", interruptions},
	{"jumping", jumping},
	{"timers", timers},
	{"handed-down", handed_down},
	{"vforks", vforks},
	{"pending-over-exec", pending_over_exec},
	{"everything", everything},
	{"out-of-band", out_of_band},
	{"announcing", announcing},
	{"descriptors", descriptors}, /* the last: from here on blocked is blocked */
};

static int show(char **words)
{
	number = atoi(words[0]);
	printf("%s\n", words[1]);
	print_own("  exec");
	print_mask("  exec");
	print_pending("  exec");
	return 0;
}

int main(int argc, char **argv)
{
	static char path[4096];

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0 || argc < 2)
		return 2;
	self = path;
	if (!strcmp(argv[1], "show") && argc == 4)
		return show(argv + 2);
	number = atoi(argv[1]);
	snprintf(number_text, sizeof(number_text), "%d", number);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (argc > 2 && strcmp(argv[2], parts[i].name) != 0)
			continue;
		printf("== %s\n", parts[i].name);
		clear();
		opened = 0;
		parts[i].run();
		burn_open(40);
		clear();
	}
	return fflush(stdout) != 0;
}
