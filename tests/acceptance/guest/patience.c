/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patience ROUNDS [BURNERS [nudge]]: does anything wake a sleeping call that nobody should
 * have woken?
 *
 * A thread for each kind of timed wait does nothing but wait, ROUNDS times, for what never
 * comes, and burns some CPU time between two waits; BURNERS more threads only burn. A wait
 * that fails with EINTR, or comes back before its time, is counted. Output: a line for each
 * kind, "kind waits eintr early"; exit 1 when any was cut short. With nudge a thread more sends
 * the others signals that they handle, as a profiler might: then calls must be seen cut short.
 *
 * Each thread says in a write to no descriptor where its work begins and ends, and by what
 * name: strace then knows the thread and its main part, in which it makes the same calls with
 * the same arguments in every run.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 20
#define BURNERS_MAX 8
#define WAIT_NS (WAIT_MS * 1000000L)
#define SECOND_NS 1000000000L

static _Atomic int over;
static unsigned long rounds;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

static struct timespec later(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += WAIT_NS;
	t.tv_sec += t.tv_nsec / SECOND_NS;
	t.tv_nsec %= SECOND_NS;
	return t;
}

/* Functions that return their error give it to errno, too. */
static int said(int error)
{
	errno = error;
	return error ? -1 : 0;
}

static int make_pair(int *pair)
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
}

static int set_timeout(int fd, int option)
{
	struct timeval t = {.tv_usec = WAIT_MS * 1000};

	return setsockopt(fd, SOL_SOCKET, option, &t, sizeof(t));
}

/* ---- the waits: prepare makes what they need once, wait is done again and again */

struct wait {
	int fd[2];
	int id;
	sem_t sem;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	struct sockaddr_un address;
	char buffer[4096];
};

static int prepare_pair(struct wait *w)
{
	return make_pair(w->fd);
}

static int wait_nanosleep(struct wait *w)
{
	(void)w;
	return nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
}

static int wait_clock_nanosleep(struct wait *w)
{
	(void)w;
	return said(
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = WAIT_NS}, NULL));
}

static int wait_clock_nanosleep_until(struct wait *w)
{
	struct timespec until = later(CLOCK_MONOTONIC);

	(void)w;
	return said(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
}

static int wait_usleep(struct wait *w)
{
	(void)w;
	return usleep(WAIT_MS * 1000);
}

/* In whole seconds: only a few of them. What is left of the second is its answer. */
static int wait_sleep(struct wait *w)
{
	(void)w;
	return sleep(1) ? said(EINTR) : 0;
}

static int wait_poll(struct wait *w)
{
	struct pollfd p = {.fd = w->fd[0], .events = POLLIN};

	return poll(&p, 1, WAIT_MS);
}

static int wait_ppoll(struct wait *w)
{
	struct pollfd p = {.fd = w->fd[0], .events = POLLIN};

	return ppoll(&p, 1, &(struct timespec){.tv_nsec = WAIT_NS}, NULL);
}

static int prepare_epoll(struct wait *w)
{
	struct epoll_event e = {.events = EPOLLIN};
	int epoll;

	if (make_pair(w->fd) || (epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
		return -1;
	w->id = epoll;
	return epoll_ctl(epoll, EPOLL_CTL_ADD, w->fd[0], &e);
}

static int wait_epoll(struct wait *w)
{
	struct epoll_event e;

	return epoll_wait(w->id, &e, 1, WAIT_MS);
}

static int wait_select(struct wait *w)
{
	struct timeval t = {.tv_usec = WAIT_MS * 1000};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(w->fd[0], &set);
	return select(w->fd[0] + 1, &set, NULL, NULL, &t);
}

static int wait_pselect(struct wait *w)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(w->fd[0], &set);
	return pselect(w->fd[0] + 1, &set, NULL, NULL, &(struct timespec){.tv_nsec = WAIT_NS},
		       NULL);
}

static int prepare_recv(struct wait *w)
{
	return make_pair(w->fd) || set_timeout(w->fd[0], SO_RCVTIMEO);
}

static int wait_recv(struct wait *w)
{
	return (int)recv(w->fd[0], w->buffer, 1, 0);
}

/* The other end takes nothing: full at once. */
static int prepare_send(struct wait *w)
{
	if (make_pair(w->fd) || set_timeout(w->fd[0], SO_SNDTIMEO))
		return -1;
	while (send(w->fd[0], w->buffer, sizeof(w->buffer), MSG_DONTWAIT) > 0)
		;
	return errno == EAGAIN ? 0 : -1;
}

static int wait_send(struct wait *w)
{
	return (int)send(w->fd[0], w->buffer, sizeof(w->buffer), 0);
}

static int prepare_accept(struct wait *w)
{
	w->address.sun_family = AF_UNIX; /* the kernel chooses a name */
	w->fd[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return w->fd[0] < 0 ||
	       bind(w->fd[0], (struct sockaddr *)&w->address, sizeof(sa_family_t)) ||
	       listen(w->fd[0], 1) || set_timeout(w->fd[0], SO_RCVTIMEO);
}

static int wait_accept(struct wait *w)
{
	return accept(w->fd[0], NULL, NULL);
}

static int prepare_locks(struct wait *w)
{
	return sem_init(&w->sem, 0, 0) || pthread_mutex_init(&w->mutex, NULL) ||
	       pthread_cond_init(&w->cond, NULL);
}

static void enter_lock(struct wait *w)
{
	pthread_mutex_lock(&w->mutex);
}

static int wait_sem(struct wait *w)
{
	struct timespec until = later(CLOCK_REALTIME);

	return sem_timedwait(&w->sem, &until);
}

static int wait_cond(struct wait *w)
{
	struct timespec until = later(CLOCK_REALTIME);

	return said(pthread_cond_timedwait(&w->cond, &w->mutex, &until));
}

/* Its own: locked already. */
static int wait_mutex(struct wait *w)
{
	struct timespec until = later(CLOCK_REALTIME);

	return said(pthread_mutex_timedlock(&w->mutex, &until));
}

static int wait_futex(struct wait *w)
{
	return (int)syscall(SYS_futex, &w->id, FUTEX_WAIT_PRIVATE, 0,
			    &(struct timespec){.tv_nsec = WAIT_NS}, NULL, 0);
}

static int prepare_semop(struct wait *w)
{
	w->id = semget(IPC_PRIVATE, 1, 0600);
	return w->id < 0;
}

static int wait_semop(struct wait *w)
{
	struct sembuf down = {.sem_op = -1};

	return semtimedop(w->id, &down, 1, &(struct timespec){.tv_nsec = WAIT_NS});
}

static void drop_semop(struct wait *w)
{
	semctl(w->id, 0, IPC_RMID);
}

static int prepare_sigwait(struct wait *w)
{
	sigset_t set;

	(void)w;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int wait_sigwait(struct wait *w)
{
	sigset_t set;

	(void)w;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &(struct timespec){.tv_nsec = WAIT_NS});
}

/*
 * These know no time: a thread beside them gives them what they wait for. Never early, then;
 * but a signal would show as EINTR.
 */
static void *feed_queue(void *arg)
{
	struct wait *w = arg;
	struct {
		long type;
		char text[1];
	} message = {.type = 1};

	for (unsigned long i = 0; i < rounds; i++) {
		nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
		msgsnd(w->id, &message, sizeof(message.text), 0);
	}
	return NULL;
}

static int start(void *(*run)(void *), struct wait *w)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, run, w) || pthread_detach(thread);
}

static int prepare_msgrcv(struct wait *w)
{
	w->id = msgget(IPC_PRIVATE, 0600);
	return w->id < 0 || start(feed_queue, w);
}

static int wait_msgrcv(struct wait *w)
{
	struct {
		long type;
		char text[1];
	} message;

	return msgrcv(w->id, &message, sizeof(message.text), 0, 0) < 0 ? -1 : 0;
}

static void drop_msgrcv(struct wait *w)
{
	msgctl(w->id, IPC_RMID, NULL);
}

static void *feed_pipe(void *arg)
{
	struct wait *w = arg;

	for (unsigned long i = 0; i < rounds; i++) {
		nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
		if (write(w->fd[1], "", 1) != 1)
			break;
	}
	return NULL;
}

static int prepare_read(struct wait *w)
{
	return pipe(w->fd) || start(feed_pipe, w);
}

static int wait_read(struct wait *w)
{
	return read(w->fd[0], w->buffer, 1) == 1 ? 0 : -1;
}

/* ---- a thread for each kind */

struct kind {
	const char *name;
	int (*prepare)(struct wait *w);
	void (*enter)(struct wait *w); /* on the waiting thread */
	int (*wait)(struct wait *w);
	void (*drop)(struct wait *w);
	/* What the kernel promises is in ticks of 1/HZ (100 at least) of the timeout, or by a
	 * clock that is set right; 0 = to the nanosecond; -1 = how long is another's matter. */
	int64_t grain_ns;
	int few;
	_Atomic int done;
	unsigned long waits, eintr, early, failed;
	int64_t shortest_ns;
	pthread_t thread;
	struct wait what;
};

#define TICK_NS (10 * 1000000)

static struct kind kinds[] = {
	{.name = "nanosleep", .wait = wait_nanosleep},
	{.name = "clock_nanosleep", .wait = wait_clock_nanosleep},
	{.name = "clock_nanosleep-until", .wait = wait_clock_nanosleep_until},
	{.name = "usleep", .wait = wait_usleep},
	{.name = "sleep", .wait = wait_sleep, .few = 1},
	{.name = "poll", .prepare = prepare_pair, .wait = wait_poll},
	{.name = "ppoll", .prepare = prepare_pair, .wait = wait_ppoll},
	{.name = "epoll_wait", .prepare = prepare_epoll, .wait = wait_epoll},
	{.name = "select", .prepare = prepare_pair, .wait = wait_select},
	{.name = "pselect", .prepare = prepare_pair, .wait = wait_pselect},
	{.name = "recv", .prepare = prepare_recv, .wait = wait_recv, .grain_ns = TICK_NS},
	{.name = "send", .prepare = prepare_send, .wait = wait_send, .grain_ns = TICK_NS},
	{.name = "accept", .prepare = prepare_accept, .wait = wait_accept, .grain_ns = TICK_NS},
	{.name = "sem_timedwait", .prepare = prepare_locks, .wait = wait_sem, .grain_ns = TICK_NS},
	{.name = "pthread_cond_timedwait",
	 .prepare = prepare_locks,
	 .enter = enter_lock,
	 .wait = wait_cond,
	 .grain_ns = TICK_NS},
	{.name = "pthread_mutex_timedlock",
	 .prepare = prepare_locks,
	 .enter = enter_lock,
	 .wait = wait_mutex,
	 .grain_ns = TICK_NS},
	{.name = "futex", .wait = wait_futex},
	{.name = "semtimedop",
	 .prepare = prepare_semop,
	 .wait = wait_semop,
	 .drop = drop_semop,
	 .grain_ns = TICK_NS},
	{.name = "sigtimedwait", .prepare = prepare_sigwait, .wait = wait_sigwait},
	/* Descriptors before threads: one that begins has an event's for a moment, and the numbers
	 * of what others open meanwhile are chance. */
	{.name = "read", .prepare = prepare_read, .wait = wait_read, .grain_ns = -1},
	{.name = "msgrcv",
	 .prepare = prepare_msgrcv,
	 .wait = wait_msgrcv,
	 .drop = drop_msgrcv,
	 .grain_ns = -1},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static uint64_t burn(unsigned int turns)
{
	volatile uint64_t sum = 1;

	for (unsigned int i = 0; i < turns; i++)
		sum = sum * 31 + i;
	return sum;
}

static void mark(const char *what, const char *name)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %s", what, name);
	syscall(SYS_write, -1, text, strlen(text)); /* fails; seen by strace */
}

static void judge(struct kind *k, int rc, int error, int64_t took_ns)
{
	int64_t wanted_ns = k->few ? SECOND_NS : WAIT_NS;

	k->waits++;
	if (rc < 0 && error == EINTR)
		k->eintr++;
	else if (rc < 0 && error != EAGAIN && error != ETIMEDOUT)
		k->failed++;
	if (k->grain_ns >= 0 && (took_ns < wanted_ns - k->grain_ns || rc > 0))
		k->early++;
	if (!k->shortest_ns || took_ns < k->shortest_ns)
		k->shortest_ns = took_ns;
}

static void *wait_on(void *arg)
{
	struct kind *k = arg;
	unsigned long times = k->few ? 1 + rounds / 50 : rounds;

	if (k->enter)
		k->enter(&k->what);
	mark("begin", k->name);
	for (unsigned long i = 0; i < times && !k->failed; i++) {
		int64_t began;
		int rc;

		burn(100000 + (unsigned int)(i % 7) * 50000);
		began = now_ns();
		rc = k->wait(&k->what);
		judge(k, rc, errno, now_ns() - began);
	}
	mark("end", k->name);
	k->done = 1;
	return NULL;
}

static void *burn_on(void *arg)
{
	mark("begin", arg);
	while (!over)
		burn(100000);
	mark("end", arg);
	return NULL;
}

static int tell(void)
{
	int bad = 0;

	for (size_t i = 0; i < KINDS; i++) {
		const struct kind *k = &kinds[i];

		printf("%s waits=%lu eintr=%lu early=%lu failed=%lu\n", k->name, k->waits, k->eintr,
		       k->early, k->failed);
		if (k->early)
			fprintf(stderr, "%s: came back after %ld ns\n", k->name,
				(long)k->shortest_ns);
		bad |= k->eintr || k->early || k->failed;
	}
	return bad;
}

/* All by one thread: descriptors then have the same numbers in every run. */
static void prepare(void)
{
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i].prepare && kinds[i].prepare(&kinds[i].what))
			kinds[i].failed++;
}

static void drop(void)
{
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i].drop)
			kinds[i].drop(&kinds[i].what);
}

static int start_threads(pthread_t *burner, size_t burners)
{
	static char names[BURNERS_MAX][16];
	int failed = 0;

	for (size_t i = 0; i < burners; i++) {
		snprintf(names[i], sizeof(names[i]), "burner-%zu", i);
		failed |= pthread_create(&burner[i], NULL, burn_on, names[i]);
	}
	for (size_t i = 0; i < KINDS; i++)
		failed |= pthread_create(&kinds[i].thread, NULL, wait_on, &kinds[i]);
	return failed;
}

static void do_nothing(int number)
{
	(void)number;
}

static void *nudge_all(void *unused)
{
	struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};

	sigaction(SIGUSR1, &action, NULL);
	for (unsigned long round = 0; round < rounds; round++) {
		usleep(WAIT_MS * 1000 / 3);
		for (size_t i = 0; i < KINDS && !over; i++)
			if (!kinds[i].done)
				pthread_kill(kinds[i].thread, SIGUSR1);
	}
	return unused;
}

int main(int argc, char **argv)
{
	size_t burners = argc > 2 ? strtoul(argv[2], NULL, 10) : 2;
	pthread_t burner[BURNERS_MAX], nudger;

	rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	burners = burners > BURNERS_MAX ? BURNERS_MAX : burners;
	prepare();
	mark("begin", "main");
	if (start_threads(burner, burners))
		return 2;
	mark("end", "main"); /* whether a join must wait is chance */
	if (argc > 3 && pthread_create(&nudger, NULL, nudge_all, NULL))
		return 2;
	if (argc > 3)
		pthread_join(nudger, NULL);
	for (size_t i = 0; i < KINDS; i++)
		pthread_join(kinds[i].thread, NULL);
	over = 1;
	for (size_t i = 0; i < burners; i++)
		pthread_join(burner[i], NULL);
	drop();
	return tell();
}
