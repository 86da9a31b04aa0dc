/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own-urgent [PART]: a program that uses SIGURG itself, while its threads use CPU time: data out of
 * band, descriptors that tell by it (F_SETSIG), signals with values, threads that wait for it. It
 * prints what it sees, which is the same each time. (own_signals.c has masks, actions and pending
 * signals of one thread.)
 *
 * Signals of one number are not counted while one is pending, so each is sent when the one before
 * has been seen; PATIENCE_S later it is lost.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 100
#define BURNERS 2
#define PATIENCE_S 30

/* ---- CPU time meanwhile */

static volatile int is_over;

__attribute__((noinline)) static void burn_a_little(void)
{
	volatile uint64_t sum = 1;

	for (int i = 0; i < 2000; i++)
		sum = sum * 31 + (uint64_t)i;
}

static void *burn_beside(void *arg)
{
	while (!is_over)
		burn_a_little();
	return arg;
}

/* ---- what comes */

/* Of the newest; the count is stored last. */
static volatile sig_atomic_t seen, seen_code, seen_fd, seen_value, seen_pid, seen_tid, seen_band;

static pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static void note(int signo, siginfo_t *info, void *context)
{
	int error = errno;

	(void)context;
	seen_code = info->si_code;
	seen_pid = info->si_pid;
	seen_value = info->si_value.sival_int;
	seen_tid = own_tid();
	if (info->si_code == POLL_IN || info->si_code == POLL_OUT || info->si_code == POLL_HUP) {
		seen_fd = info->si_fd;
		seen_band = (int)info->si_band;
	}
	__atomic_fetch_add(&seen, signo == SIGURG, __ATOMIC_RELEASE);
	errno = error;
}

static int has_come(int count)
{
	return __atomic_load_n(&seen, __ATOMIC_ACQUIRE) >= count;
}

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Computes until so many have come; 0: they do not. */
static int await(int count)
{
	time_t began_s = now_s();

	while (!has_come(count)) {
		burn_a_little();
		if (now_s() - began_s > PATIENCE_S)
			return 0;
	}
	return 1;
}

static void catch_it(int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = note;
	action.sa_flags = SA_SIGINFO | flags;
	sigaction(SIGURG, &action, NULL);
	seen = 0;
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	pthread_sigmask(how, &set, NULL);
}

static void tell(const char *what, int sent, int right)
{
	printf("%s: sent %d, seen %d, right %d\n", what, sent, (int)seen, right);
}

/* ---- data out of band */

static void fail(const char *what)
{
	perror(what);
	exit(3);
}

static void connect_pair(int pair[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	pair[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || pair[1] < 0 ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &bytes) ||
	    connect(pair[1], (struct sockaddr *)&address, sizeof(address)))
		fail("tcp");
	pair[0] = accept(listener, NULL, NULL);
	if (pair[0] < 0)
		fail("accept");
	close(listener);
}

static void own(int fd, int by_thread)
{
	struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = own_tid()};

	if (by_thread ? fcntl(fd, F_SETOWN_EX, &owner) : fcntl(fd, F_SETOWN, getpid()))
		fail("owner");
}

/* The kernel's own signal, one for each urgent byte. */
static void send_urgent(const char *what, int by_thread)
{
	int pair[2], sent = 0, right = 0;

	connect_pair(pair);
	catch_it(SA_RESTART);
	own(pair[0], by_thread);
	while (sent < ROUNDS) {
		char byte = (char)('a' + sent % 26), got = 0;

		if (send(pair[1], &byte, 1, MSG_OOB) != 1)
			fail("send");
		if (!await(++sent))
			break;
		right += recv(pair[0], &got, 1, MSG_OOB) == 1 && got == byte &&
			 seen_code == SI_KERNEL;
	}
	close(pair[0]);
	close(pair[1]);
	tell(what, sent, right);
}

static void out_of_band(void)
{
	send_urgent("to the process", 0);
	send_urgent("to the thread", 1);
}

/* ---- descriptors that tell by it */

static void make_tell(int fd, int by_thread)
{
	own(fd, by_thread);
	if (fcntl(fd, F_SETSIG, SIGURG) || fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK))
		fail("O_ASYNC");
}

/* Writes into one of them after the other; each tells its own number. */
static void write_to_each(const char *what, int (*pairs)[2], int count)
{
	int sent = 0, right = 0;

	while (sent < ROUNDS) {
		int *pair = pairs[sent % count];
		char byte = 'x';

		if (write(pair[1], &byte, 1) != 1)
			fail("write");
		if (!await(++sent))
			break;
		right += seen_code == POLL_IN && seen_fd == pair[0] && (seen_band & POLLIN) &&
			 read(pair[0], &byte, 1) == 1;
	}
	tell(what, sent, right);
}

#define PAIRS 4

static void descriptors(int by_thread)
{
	int pipes[PAIRS][2], sockets[PAIRS][2];

	catch_it(SA_RESTART);
	for (int i = 0; i < PAIRS; i++) {
		if (pipe(pipes[i]) || socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets[i]))
			fail("pairs");
		make_tell(pipes[i][0], by_thread);
		make_tell(sockets[i][0], by_thread);
	}
	write_to_each(by_thread ? "pipes, to the thread" : "pipes, to the process", pipes, PAIRS);
	seen = 0;
	write_to_each(by_thread ? "sockets, to the thread" : "sockets, to the process", sockets,
		      PAIRS);
	/* none of those closed is taken for one of these */
	for (int i = 0; i < PAIRS; i++) {
		fcntl(pipes[i][0], F_SETFL, 0);
		fcntl(sockets[i][0], F_SETFL, 0);
		for (int end = 0; end < 2; end++) {
			close(pipes[i][end]);
			close(sockets[i][end]);
		}
	}
	printf("afterwards: seen %d\n", (int)seen);
}

static void telling_descriptors(void)
{
	descriptors(0);
	descriptors(1);
}

/* ---- sent by the program */

static int send_value(int way, pid_t tid, int value)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = SIGURG;
	info.si_code = SI_QUEUE;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = value;
	switch (way) {
	case 0:
		return kill(getpid(), SIGURG);
	case 1:
		return (int)syscall(SYS_tgkill, getpid(), tid, SIGURG);
	case 2:
		return sigqueue(getpid(), SIGURG, info.si_value);
	default:
		return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, SIGURG, &info);
	}
}

static const struct {
	const char *name;
	int code, has_value, is_of_thread;
} ways[] = {
	{"kill", SI_USER, 0, 0},
	{"tgkill", SI_TKILL, 0, 1},
	{"sigqueue", SI_QUEUE, 1, 0},
	{"tgsigqueue", SI_QUEUE, 1, 1},
};
#define WAYS ((int)(sizeof(ways) / sizeof(ways[0])))

static void to_itself(void)
{
	for (int way = 0; way < WAYS; way++) {
		int sent = 0, right = 0;

		catch_it(SA_RESTART);
		while (sent < ROUNDS) {
			if (send_value(way, own_tid(), sent + 1000))
				fail(ways[way].name);
			if (!await(++sent))
				break;
			right += seen_code == ways[way].code && seen_pid == getpid() &&
				 (!ways[way].has_value || seen_value == sent + 999) &&
				 (!ways[way].is_of_thread || seen_tid == own_tid());
			burn_a_little();
		}
		tell(ways[way].name, sent, right);
	}
}

/* To a thread that computes, at any instant of it: @target. */
struct sender {
	pid_t target;
	int way, sent, right;
};

static void *send_to_computing(void *arg)
{
	struct sender *s = arg;

	block(SIG_BLOCK);
	while (s->sent < ROUNDS) {
		struct timespec nap = {.tv_nsec = 1000 * (1 + s->sent * 37 % 1000)};

		nanosleep(&nap, NULL);
		if (send_value(s->way, s->target, s->sent + 1))
			break;
		if (!await(++s->sent))
			break;
		s->right += seen_code == ways[s->way].code && seen_pid == getpid() &&
			    (!ways[s->way].has_value || seen_value == s->sent) &&
			    (!ways[s->way].is_of_thread || seen_tid == s->target);
	}
	return NULL;
}

/* The kernel drops a signal to a thread that has one of the number pending: a profiler's, too. */
static void to_computing(int of_thread)
{
	for (int way = 0; way < WAYS; way++) {
		struct sender s = {.target = own_tid(), .way = way};
		pthread_t thread;

		if (ways[way].is_of_thread != of_thread)
			continue;
		catch_it(SA_RESTART);
		if (pthread_create(&thread, NULL, send_to_computing, &s))
			fail("thread");
		while (pthread_tryjoin_np(thread, NULL))
			burn_a_little();
		tell(ways[way].name, s.sent, s.right);
	}
}

static void to_another(void)
{
	to_computing(0);
}

static void to_a_thread(void)
{
	to_computing(1);
}

/* ---- who waits for it */

struct waiter {
	pthread_t thread;
	volatile pid_t tid;
	int by_descriptor, way, taken, right;
	int told[2]; /* a byte for each that was taken */
};

static int take(const struct waiter *w, int fd, int *code, int *value)
{
	struct signalfd_siginfo told;
	siginfo_t info;
	sigset_t set;
	int signo;

	if (w->by_descriptor) {
		if (read(fd, &told, sizeof(told)) != (ssize_t)sizeof(told))
			return 0;
		*code = told.ssi_code;
		*value = told.ssi_int;
		return told.ssi_signo == SIGURG;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	do
		signo = sigwaitinfo(&set, &info);
	while (signo < 0 && errno == EINTR);
	*code = info.si_code;
	*value = info.si_value.sival_int;
	return signo == SIGURG;
}

/* Blocks it, so no clock of weft's runs for it; it computes between two of them. */
static void *wait_for_it(void *arg)
{
	struct waiter *w = arg;
	sigset_t set;
	int fd, code = 0, value = 0;

	block(SIG_BLOCK);
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	__atomic_store_n(&w->tid, own_tid(), __ATOMIC_RELEASE);
	while (w->taken < ROUNDS && take(w, fd, &code, &value)) {
		/* of sigwaitinfo glibc makes SI_USER of SI_TKILL */
		w->right += (code == ways[w->way].code || (code == SI_USER && !w->by_descriptor)) &&
			    (!ways[w->way].has_value || value == w->taken);
		w->taken++;
		for (int i = 0; i < 20; i++)
			burn_a_little();
		if (write(w->told[1], "", 1) != 1)
			break;
	}
	close(fd);
	return NULL;
}

/* All others block it, too, where it goes to the process. */
static void wait_by(int by_descriptor, int way)
{
	struct waiter w = {.by_descriptor = by_descriptor, .way = way};
	struct pollfd poll_fd = {.events = POLLIN};
	char byte;

	seen = 0;
	if (pipe(w.told) || pthread_create(&w.thread, NULL, wait_for_it, &w))
		fail("waiter");
	poll_fd.fd = w.told[0];
	while (!__atomic_load_n(&w.tid, __ATOMIC_ACQUIRE))
		burn_a_little();
	for (int sent = 0; sent < ROUNDS; sent++) {
		if (send_value(way, w.tid, sent))
			fail(ways[way].name);
		if (poll(&poll_fd, 1, PATIENCE_S * 1000) != 1 || read(w.told[0], &byte, 1) != 1)
			break;
	}
	if (w.taken == ROUNDS)
		pthread_join(w.thread, NULL);
	printf("%s %s: taken %d, right %d, handled %d\n",
	       by_descriptor ? "signalfd" : "sigwaitinfo", ways[way].name, w.taken, w.right,
	       (int)seen);
	close(w.told[0]);
	close(w.told[1]);
}

/* The main thread is open for what is sent to the waiter alone: it is sampled by its clock. */
static void waiting(void)
{
	catch_it(SA_RESTART);
	for (int by_descriptor = 0; by_descriptor < 2; by_descriptor++)
		for (int way = 0; way < WAYS; way++)
			if (ways[way].is_of_thread)
				wait_by(by_descriptor, way);
}

/* To the process: everybody blocks it. */
static void all_waiting(void)
{
	block(SIG_BLOCK);
	catch_it(SA_RESTART);
	for (int by_descriptor = 0; by_descriptor < 2; by_descriptor++)
		for (int way = 0; way < WAYS; way++)
			if (!ways[way].is_of_thread)
				wait_by(by_descriptor, way);
	block(SIG_UNBLOCK);
	printf("open again: handled %d\n", (int)seen);
}

static const struct part {
	const char *name;
	void (*run)(void);
	int is_alone; /* other threads would take what it waits for */
} parts[] = {
	{"out-of-band", out_of_band, 0}, {"telling-descriptors", telling_descriptors, 0},
	{"to-itself", to_itself, 0},     {"to-another", to_another, 0},
	{"to-a-thread", to_a_thread, 0}, {"waiting", waiting, 0},
	{"all-waiting", all_waiting, 1},
};

/* With threads beside it that compute: open for it, so the process's signals may go there. */
static void run_part(const struct part *part)
{
	pthread_t burner[BURNERS];

	printf("== %s\n", part->name);
	is_over = 0;
	for (int i = 0; i < BURNERS && !part->is_alone; i++)
		if (pthread_create(&burner[i], NULL, burn_beside, NULL))
			fail("thread");
	part->run();
	is_over = 1;
	for (int i = 0; i < BURNERS && !part->is_alone; i++)
		pthread_join(burner[i], NULL);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (argc < 2 || strstr(parts[i].name, argv[1]))
			run_part(&parts[i]);
	return fflush(stdout) != 0;
}
