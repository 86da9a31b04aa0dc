/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that block for ever, each in another call, below frames of many shapes; built with and
 * without frame pointers. Says "ready" once all do. Every thread has used its stack deeply before,
 * so that what its frames leave unwritten is full of old return addresses.
 */
#include <alloca.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define DEPTH 24

static volatile int sink;
static int waiting; /* threads that are about to block */
static int pipe_end, socket_end, epoll;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t empty;
static pthread_barrier_t barrier;

static void about_to(void)
{
	__atomic_add_fetch(&waiting, 1, __ATOMIC_RELEASE);
}

/* ---- calls that block */

static int in_nanosleep(void)
{
	struct timespec t = {100000, 0};

	about_to();
	return nanosleep(&t, NULL);
}

static int in_poll(void)
{
	struct pollfd p = {pipe_end, POLLIN, 0};

	about_to();
	return poll(&p, 1, -1);
}

static int in_read(void)
{
	char c;

	about_to();
	return (int)read(pipe_end, &c, 1);
}

static int in_recv(void)
{
	char c[64];

	about_to();
	return (int)recv(socket_end, c, sizeof(c), 0);
}

static int in_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pipe_end, &set);
	about_to();
	return select(pipe_end + 1, &set, NULL, NULL, NULL);
}

static int in_epoll(void)
{
	struct epoll_event e[8];

	about_to();
	return epoll_wait(epoll, e, 8, -1);
}

static int in_mutex(void)
{
	about_to();
	return pthread_mutex_lock(&held);
}

static int in_condition(void)
{
	pthread_mutex_lock(&lock);
	about_to();
	return pthread_cond_wait(&never, &lock);
}

static int in_semaphore(void)
{
	struct timespec t = {2000000000, 0};

	about_to();
	return sem_timedwait(&empty, &t);
}

static int in_barrier(void)
{
	about_to();
	return pthread_barrier_wait(&barrier);
}

static int in_sigwait(void)
{
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	about_to();
	return sigwait(&set, &got);
}

static int in_syscall(void)
{
	about_to();
	return (int)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}

static int (*const calls[])(void) = {in_nanosleep, in_poll,    in_read,    in_recv,
				     in_select,    in_epoll,   in_mutex,   in_condition,
				     in_semaphore, in_barrier, in_sigwait, in_syscall};
#define CALLS (sizeof(calls) / sizeof(*calls))

/* ---- frames above them */

static NOINLINE int plain(size_t call)
{
	int rc = calls[call]();

	return rc + sink;
}

static NOINLINE int direct(size_t call)
{
	int rc = in_nanosleep();

	return rc + (int)call + sink;
}

static NOINLINE int with_locals(size_t call)
{
	char room[4000]; /* hardly written: what was there before stays */
	int rc;

	room[call] = (char)sink;
	__asm__ volatile("" : : "r"(room) : "memory");
	rc = plain(call);
	__asm__ volatile("" : : "r"(room) : "memory");
	return rc + room[call];
}

static NOINLINE int with_alloca(size_t call)
{
	char *room = alloca(200 + call * 16);
	int rc;

	room[0] = (char)sink;
	__asm__ volatile("" : : "r"(room) : "memory");
	rc = with_locals(call);
	__asm__ volatile("" : : "r"(room) : "memory");
	return rc + room[0];
}

static NOINLINE int aligned(size_t call)
{
	_Alignas(64) char room[256];
	int rc;

	room[0] = (char)sink;
	__asm__ volatile("" : : "r"(room) : "memory");
	rc = with_alloca(call);
	__asm__ volatile("" : : "r"(room) : "memory");
	return rc + room[0];
}

static NOINLINE int recursive(size_t call, int depth)
{
	char room[96];
	int rc;

	__asm__ volatile("" : : "r"(room) : "memory");
	rc = depth ? recursive(call, depth - 1) : plain(call);
	__asm__ volatile("" : : "r"(room) : "memory");
	return rc + sink;
}

static NOINLINE int jumps_on(size_t call)
{
	return with_locals(call); /* a jump with -O2 */
}

static NOINLINE int through_jump(size_t call)
{
	int rc = jumps_on(call);

	return rc + sink;
}

static __thread size_t compared;

static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	return with_locals(compared) + sink;
}

static NOINLINE int through_qsort(size_t call)
{
	int items[2] = {2, 1};

	compared = call;
	qsort(items, 2, sizeof(*items), compare);
	return items[0];
}

static NOINLINE int through_recursion(size_t call)
{
	return recursive(call, 5) + sink;
}

static int (*const shapes[])(size_t) = {plain,  with_locals,  with_alloca,   aligned,
					direct, through_jump, through_qsort, through_recursion};
#define SHAPES (sizeof(shapes) / sizeof(*shapes))

/* Leaves return addresses all over the stack below. */
static NOINLINE int fill(int depth)
{
	volatile char room[128];

	for (size_t i = 0; i < sizeof(room); i += 8)
		room[i] = (char)depth;
	return depth ? fill(depth - 1) + room[8]
		     : (int)snprintf((char[64]){0}, 64, "%f", sink + .5);
}

static void *run(void *arg)
{
	size_t number = (size_t)arg;

	sink = fill(60) * 0;
	return (void *)(size_t)shapes[number % SHAPES](number / SHAPES % CALLS);
}

int main(void)
{
	int ends[2];

	if (pipe(ends) || pthread_mutex_lock(&held) || sem_init(&empty, 0, 0) ||
	    pthread_barrier_init(&barrier, NULL, 1000))
		return 1;
	pipe_end = ends[0];
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		return 1;
	socket_end = ends[0];
	for (size_t i = 0; i < SHAPES * CALLS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, (void *)i))
			return 1;
	}
	while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) < (int)(SHAPES * CALLS))
		usleep(1000);
	puts("ready");
	fflush(stdout);
	return plain(0) + direct(0);
}
