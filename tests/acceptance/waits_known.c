/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits that the program itself knows all about: who waits, for what, who has it, whether in vain,
 * in a span or not, and for how long at the most. Each lock and descriptor is waited for once, so
 * that its address or number says which wait it was. A line for each, on stdout:
 *
 *	lock KIND ADDRESS HOLDER WAITER TIMEDOUT SPAN NS
 *	io OPERATION FD BYTES ERROR WAITER SPAN NS
 *
 * With "tree" it does so in three processes, one forked and one begun by exec.
 * With "free" nothing waits: locks that are free, and calls that do not wait.
 *
 * A lock is let go when the waiter sleeps, as /proc says: so it does wait. Between the waits locks
 * that are free are taken, and nothing is told of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <weft/event.h>

#define ROUNDS_MAX 64
#define FREE_LOCKS 1000
#define FREE_CALLS 100

static int32_t waiter; /* its thread id; 0 = it is not there yet */
static struct timespec past = {.tv_sec = 1};

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static int32_t tid(void)
{
	return (int32_t)syscall(SYS_gettid);
}

/* By raw calls: the file is to have no event of it. */
static int sleeps(int32_t thread)
{
	char path[64], text[512];
	const char *state;
	long fd, bytes;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	bytes = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	text[bytes > 0 ? bytes : 0] = 0;
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'S';
}

/* Until the other thread waits in the call that it came for. */
static void await_sleep(void)
{
	struct timespec moment = {.tv_nsec = 200000};
	int32_t thread;
	int seen = 0;

	while (seen < 3) {
		thread = __atomic_load_n(&waiter, __ATOMIC_ACQUIRE);
		seen = thread && sleeps(thread) ? seen + 1 : 0;
		syscall(SYS_nanosleep, &moment, NULL);
	}
}

/* ---- locks */

struct lock {
	pthread_mutex_t mutex;
	pthread_rwlock_t rwlock;
	pthread_cond_t condition;
	sem_t semaphore;
	mtx_t c11;
	int woken;
};

struct wait {
	const char *kind;
	void (*hold)(struct lock *lock);
	void (*let_go)(struct lock *lock); /* NULL: it waits in vain */
	int (*wait)(struct lock *lock);    /* 1: timed out */
	size_t offset;                     /* of what the event names */
	int has_holder, type;
};

static void hold_mutex(struct lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
}

static void free_mutex(struct lock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

static int wait_mutex(struct lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
	pthread_mutex_unlock(&lock->mutex);
	return 0;
}

static int wait_mutex_in_vain(struct lock *lock)
{
	return pthread_mutex_timedlock(&lock->mutex, &past) != 0;
}

static void hold_c11(struct lock *lock)
{
	mtx_lock(&lock->c11);
}

static void free_c11(struct lock *lock)
{
	mtx_unlock(&lock->c11);
}

static int wait_c11(struct lock *lock)
{
	mtx_lock(&lock->c11);
	mtx_unlock(&lock->c11);
	return 0;
}

static void hold_read(struct lock *lock)
{
	pthread_rwlock_rdlock(&lock->rwlock);
}

static void hold_write(struct lock *lock)
{
	pthread_rwlock_wrlock(&lock->rwlock);
}

static void free_rwlock(struct lock *lock)
{
	pthread_rwlock_unlock(&lock->rwlock);
}

static int wait_read(struct lock *lock)
{
	pthread_rwlock_rdlock(&lock->rwlock);
	pthread_rwlock_unlock(&lock->rwlock);
	return 0;
}

static int wait_write(struct lock *lock)
{
	pthread_rwlock_wrlock(&lock->rwlock);
	pthread_rwlock_unlock(&lock->rwlock);
	return 0;
}

static int wait_write_in_vain(struct lock *lock)
{
	return pthread_rwlock_timedwrlock(&lock->rwlock, &past) != 0;
}

static void nothing(struct lock *lock)
{
	(void)lock;
}

static void post(struct lock *lock)
{
	sem_post(&lock->semaphore);
}

static int wait_semaphore(struct lock *lock)
{
	return sem_wait(&lock->semaphore);
}

static int wait_semaphore_in_vain(struct lock *lock)
{
	return sem_timedwait(&lock->semaphore, &past) != 0;
}

static void wake(struct lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
	lock->woken = 1;
	pthread_cond_signal(&lock->condition);
	pthread_mutex_unlock(&lock->mutex);
}

static int wait_condition(struct lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
	while (!lock->woken)
		pthread_cond_wait(&lock->condition, &lock->mutex);
	pthread_mutex_unlock(&lock->mutex);
	return 0;
}

static int wait_condition_in_vain(struct lock *lock)
{
	int result;

	pthread_mutex_lock(&lock->mutex);
	result = pthread_cond_timedwait(&lock->condition, &lock->mutex, &past);
	pthread_mutex_unlock(&lock->mutex);
	return result != 0;
}

#define AT(member) offsetof(struct lock, member)
#define INHERIT 100
#define ROBUST 101
static const struct wait waits[] = {
	{"mutex", hold_mutex, free_mutex, wait_mutex, AT(mutex), 1, PTHREAD_MUTEX_NORMAL},
	{"mutex", hold_mutex, free_mutex, wait_mutex, AT(mutex), 1, PTHREAD_MUTEX_RECURSIVE},
	{"mutex", hold_mutex, free_mutex, wait_mutex, AT(mutex), 1, PTHREAD_MUTEX_ERRORCHECK},
	{"mutex", hold_mutex, free_mutex, wait_mutex, AT(mutex), 1, INHERIT},
	{"mutex", hold_mutex, free_mutex, wait_mutex, AT(mutex), 1, ROBUST},
	{"mutex", hold_mutex, NULL, wait_mutex_in_vain, AT(mutex), 1, 0},
	{"mutex", hold_c11, free_c11, wait_c11, AT(c11), 1, 0},
	{"rwlock-read", hold_write, free_rwlock, wait_read, AT(rwlock), 1, 0},
	{"rwlock-write", hold_write, free_rwlock, wait_write, AT(rwlock), 1, 0},
	{"rwlock-write", hold_read, free_rwlock, wait_write, AT(rwlock), 0, 0},
	{"rwlock-write", hold_write, NULL, wait_write_in_vain, AT(rwlock), 1, 0},
	{"semaphore", nothing, post, wait_semaphore, AT(semaphore), 0, 0},
	{"semaphore", nothing, NULL, wait_semaphore_in_vain, AT(semaphore), 0, 0},
	{"condition", nothing, wake, wait_condition, AT(condition), 0, 0},
	{"condition", nothing, NULL, wait_condition_in_vain, AT(condition), 0, 0},
};
#define WAITS (sizeof(waits) / sizeof(waits[0]))

static struct lock locks[ROUNDS_MAX * WAITS * 2];

static void make_lock(struct lock *lock, int type)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	if (type == INHERIT)
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	else if (type == ROBUST)
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	else
		pthread_mutexattr_settype(&attr, type);
	if (pthread_mutex_init(&lock->mutex, &attr) || sem_init(&lock->semaphore, 0, 0) ||
	    pthread_rwlock_init(&lock->rwlock, NULL) || pthread_cond_init(&lock->condition, NULL) ||
	    mtx_init(&lock->c11, mtx_plain) != thrd_success)
		abort();
}

struct one {
	const struct wait *wait;
	struct lock *lock;
	int32_t holder;
	int in_span;
};

static void *wait_for(void *argument)
{
	const struct one *one = argument;
	const struct wait *w = one->wait;
	struct weft_span span;
	uint64_t begin;
	int timed_out;

	if (one->in_span)
		weft_span_begin(&span, "wait", 1 + (uint64_t)(one->lock - locks), 1);
	__atomic_store_n(&waiter, tid(), __ATOMIC_RELEASE);
	begin = now();
	timed_out = w->wait(one->lock);
	begin = now() - begin;
	if (one->in_span)
		weft_span_end(&span);
	printf("lock %s %" PRIuPTR " %d %d %d %d %" PRIu64 "\n", w->kind,
	       (uintptr_t)one->lock + w->offset, w->has_holder ? (int)one->holder : 0, (int)tid(),
	       timed_out, one->in_span, begin);
	return NULL;
}

static void one_wait(const struct wait *w, struct lock *lock, int in_span)
{
	struct one one = {w, lock, tid(), in_span};
	pthread_t thread;

	make_lock(lock, w->type);
	__atomic_store_n(&waiter, 0, __ATOMIC_RELEASE);
	w->hold(lock);
	if (pthread_create(&thread, NULL, wait_for, &one))
		abort();
	if (w->let_go) {
		await_sleep();
		w->let_go(lock);
	}
	pthread_join(thread, NULL);
}

/* Nobody waits: nothing is to be told of it. */
static void free_ones(void)
{
	struct lock lock = {.woken = 0};

	make_lock(&lock, PTHREAD_MUTEX_NORMAL);
	for (int i = 0; i < FREE_LOCKS; i++) {
		wait_mutex(&lock);
		wait_read(&lock);
		wait_write(&lock);
		wait_c11(&lock);
		sem_post(&lock.semaphore);
		wait_semaphore(&lock);
	}
}

/* ---- calls */

static char bytes[16];

struct call {
	const char *operation;
	int (*wait)(int fd); /* its result */
	int moves;           /* bytes that the other side sends; -1: it waits in vain */
};

static int wait_read_call(int fd)
{
	return (int)read(fd, bytes, sizeof(bytes));
}

static int wait_recv(int fd)
{
	return (int)recv(fd, bytes, sizeof(bytes), 0);
}

static int wait_poll(int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	return poll(&one, 1, -1) * 0;
}

static int wait_poll_in_vain(int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	return poll(&one, 1, 2);
}

static int wait_nothing(int fd)
{
	return (int)recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
}

static const struct call calls[] = {
	{"read", wait_read_call, 5},     {"recv", wait_recv, 7},     {"poll", wait_poll, 0},
	{"poll", wait_poll_in_vain, -1}, {"recv", wait_nothing, -1},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

struct one_call {
	const struct call *call;
	int fd, in_span;
};

static void *call_it(void *argument)
{
	const struct one_call *one = argument;
	struct weft_span span;
	uint64_t begin;
	int result, error;

	if (one->in_span)
		weft_span_begin(&span, "call", 1, 1);
	__atomic_store_n(&waiter, tid(), __ATOMIC_RELEASE);
	begin = now();
	result = one->call->wait(one->fd);
	error = result < 0 ? errno : 0;
	begin = now() - begin;
	if (one->in_span)
		weft_span_end(&span);
	printf("io %s %d %d %d %d %d %" PRIu64 "\n", one->call->operation, one->fd,
	       result > 0 ? result : 0, error, (int)tid(), one->in_span, begin);
	return NULL;
}

/* Descriptors stay open, so that each number is one wait's. */
static void one_call(const struct call *call, int in_span)
{
	struct one_call one = {.call = call, .in_span = in_span};
	pthread_t thread;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	one.fd = pair[0];
	__atomic_store_n(&waiter, 0, __ATOMIC_RELEASE);
	if (pthread_create(&thread, NULL, call_it, &one))
		abort();
	if (call->moves >= 0) {
		await_sleep();
		if (syscall(SYS_write, pair[1], bytes, call->moves ? call->moves : 1) < 0)
			abort();
	}
	pthread_join(thread, NULL);
}

/* Between two marks for strace: locks that are free, and calls that are there anyway. */
static int marked(void)
{
	ssize_t result = syscall(SYS_write, -1, "mark", 4);

	free_ones();
	for (int i = 0; i < FREE_CALLS; i++)
		result += read(-1, bytes, 1);
	result += syscall(SYS_write, -1, "mark", 4);
	return result == -2 - FREE_CALLS ? 0 : 1;
}

static int rounds_of(int rounds)
{
	struct lock *lock = locks;

	for (int round = 0; round < rounds; round++) {
		for (size_t i = 0; i < WAITS; i++)
			for (int in_span = 0; in_span < 2; in_span++)
				one_wait(&waits[i], lock++, in_span);
		for (size_t i = 0; i < CALLS; i++)
			for (int in_span = 0; in_span < 2; in_span++)
				one_call(&calls[i], in_span);
		free_ones();
	}
	return fflush(stdout) != 0;
}

/* A forked child takes part in the recording from its first tick or thread on: till then nothing is
 * on in it. */
static void await_recording(void)
{
	static struct weft_event_type known = {.name = "waits.Known", .flags = WEFT_EVENT_INSTANT};
	uint64_t until = now() + UINT64_C(20000000000);

	while (!weft_event_is_on(&known) && now() < until)
		;
}

/* By fork, then by exec; each has locks at the same addresses. */
static int tree(void)
{
	int status = 1, failed;
	pid_t child = fork();

	if (child == 0) {
		child = fork();
		if (child == 0)
			execl("/proc/self/exe", "waits-known", "1", NULL);
		await_recording();
		failed = child < 0 || rounds_of(1) || waitpid(child, &status, 0) < 0 || status;
		_exit(failed);
	}
	failed = child < 0 || rounds_of(1) || waitpid(child, &status, 0) < 0 || status;
	return failed;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 2;

	setvbuf(stdout, NULL, _IOFBF, 1 << 20); /* one write, at the end */
	if (argc > 1 && !strcmp(argv[1], "free"))
		return marked();
	if (argc > 1 && !strcmp(argv[1], "tree"))
		return tree();
	return rounds < 1 || rounds > ROUNDS_MAX ? 2 : rounds_of(rounds);
}
