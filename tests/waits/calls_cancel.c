/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cancellation: every call, with a cancellation that is pending already, and those that can wait
 * for ever with one that comes while they wait. Said is whether the thread came behind the call,
 * and that its clean-up handlers ran in order, with the mutex locked as after any wait.
 */
#include "calls.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t full, empty;
static int ends[2], pair[2], poller, is_waiting;
static char byte;
static struct timespec at_once, long_time = {.tv_sec = 1000};
static struct iovec one = {&byte, 1};

static void lock_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void lock_rwlock(void)
{
	pthread_rwlock_rdlock(&lock);
	pthread_rwlock_unlock(&lock);
	pthread_rwlock_wrlock(&lock);
	pthread_rwlock_unlock(&lock);
}

static void unlock_it(void *argument)
{
	printf("  mutex: %d\n", pthread_mutex_unlock(argument));
}

static void wait_condition(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock_it, &mutex);
	pthread_cond_wait(&condition, &mutex);
	pthread_cleanup_pop(1);
}

static void wait_timed_condition(void)
{
	struct timespec later = calls_after(CLOCK_REALTIME, 100000);

	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock_it, &mutex);
	pthread_cond_timedwait(&condition, &mutex, &later);
	pthread_cleanup_pop(1);
}

static void poll_pipe(void)
{
	struct pollfd fd = {.fd = ends[0], .events = POLLIN};

	if (poll(&fd, 1, -1) < 0)
		byte = 0;
}

static void ppoll_pipe(void)
{
	struct pollfd fd = {.fd = ends[0], .events = POLLIN};

	if (ppoll(&fd, 1, NULL, NULL) < 0)
		byte = 0;
}

static void wait_epoll(void)
{
	struct epoll_event event;

	if (epoll_wait(poller, &event, 1, -1) < 0)
		byte = 0;
}

static void receive_message(void)
{
	struct msghdr header = {.msg_iov = &one, .msg_iovlen = 1};

	if (recvmsg(pair[0], &header, 0) < 0)
		byte = 0;
}

/* One for each row: the result is nothing to the test, whether it came back is. */
#define ROW(name, call)                                                                            \
	static void name(void)                                                                     \
	{                                                                                          \
		if ((call) < 0)                                                                    \
			byte = 0;                                                                  \
	}
ROW(take_semaphore, sem_wait(&full))
ROW(wait_semaphore, sem_wait(&empty))
ROW(try_time, sem_timedwait(&full, &at_once))
ROW(read_pipe, read(ends[0], &byte, 1))
ROW(read_bad, read(-1, &byte, 1))
ROW(readv_pipe, readv(ends[0], &one, 1))
ROW(write_bad, write(-1, &byte, 1))
ROW(pread_bad, pread(-1, &byte, 1, 0))
ROW(fsync_bad, fsync(-1))
ROW(receive, recv(pair[0], &byte, 1, 0))
ROW(receive_from, recvfrom(pair[0], &byte, 1, 0, NULL, NULL))
ROW(accept_bad, accept(-1, NULL, NULL))
ROW(connect_bad, connect(-1, NULL, 0))
ROW(select_for_ever, select(0, NULL, NULL, NULL, NULL))
ROW(sleep_long, nanosleep(&long_time, NULL))
ROW(sleep_clock, clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, NULL))
ROW(sleep_seconds, (int)sleep(1000))
ROW(sleep_us, usleep(100000000))
#undef ROW

static const struct point {
	const char *name;
	void (*call)(void);
	int waits; /* for ever, so that it can be cancelled while it does */
} points[] = {
	{"mutex, rwlock", lock_mutex, 0},
	{"rwlock", lock_rwlock, 0},
	{"pthread_cond_wait", wait_condition, 1},
	{"pthread_cond_timedwait", wait_timed_condition, 1},
	{"sem_wait, taken at once", take_semaphore, 0},
	{"sem_timedwait, taken at once", try_time, 0},
	{"sem_wait", wait_semaphore, 1},
	{"read", read_pipe, 1},
	{"read -1", read_bad, 0},
	{"readv", readv_pipe, 1},
	{"write -1", write_bad, 0},
	{"pread -1", pread_bad, 0},
	{"fsync -1", fsync_bad, 0},
	{"recv", receive, 1},
	{"recvfrom", receive_from, 1},
	{"recvmsg", receive_message, 1},
	{"accept -1", accept_bad, 0},
	{"connect -1", connect_bad, 0},
	{"poll", poll_pipe, 1},
	{"ppoll", ppoll_pipe, 1},
	{"select", select_for_ever, 1},
	{"epoll_wait", wait_epoll, 1},
	{"nanosleep", sleep_long, 1},
	{"clock_nanosleep", sleep_clock, 1},
	{"sleep", sleep_seconds, 1},
	{"usleep", sleep_us, 1},
};

struct life {
	const struct point *point;
	int pending; /* the cancellation comes before the call */
};

static void say(void *text)
{
	printf("  clean-up: %s\n", (const char *)text);
}

static void *live(void *argument)
{
	struct life *life = argument;

	pthread_cleanup_push(say, (char[]){"outer"});
	pthread_cleanup_push(say, (char[]){"inner"});
	if (life->pending)
		pthread_cancel(pthread_self());
	__atomic_store_n(&is_waiting, 1, __ATOMIC_RELEASE);
	life->point->call();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	printf("  came behind it\n");
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return NULL;
}

static void one_life(const struct point *point, int pending)
{
	struct life life = {point, pending};
	struct timespec moment = {.tv_nsec = 3000000};
	pthread_t thread;
	void *end;

	printf("%s, %s:\n", point->name, pending ? "cancelled before" : "cancelled in it");
	__atomic_store_n(&is_waiting, 0, __ATOMIC_RELEASE);
	if (pthread_create(&thread, NULL, live, &life))
		abort();
	if (!pending) {
		while (!__atomic_load_n(&is_waiting, __ATOMIC_ACQUIRE))
			sched_yield();
		nanosleep(&moment, NULL);
		pthread_cancel(thread);
	}
	pthread_join(thread, &end);
	printf("  %s\n", end == PTHREAD_CANCELED ? "cancelled" : "ended");
	lock_mutex();
	lock_rwlock();
}

void calls_cancel(void)
{
	sem_init(&full, 0, 100);
	sem_init(&empty, 0, 0);
	poller = epoll_create1(0);
	if (poller < 0 || pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		one_life(&points[i], 1);
		if (points[i].waits)
			one_life(&points[i], 0);
	}
}
