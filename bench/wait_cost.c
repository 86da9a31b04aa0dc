/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait-cost ROUNDS ITERATIONS: to be run under `weft record --waits`. Locks that are free, taken
 * and given back, and a call that does not wait; each by the function that a program gets, and by
 * libc's own of that name, in the same rounds. Prints nanoseconds in the order of wait_cost.h, then
 * whether the two differ: 0, nothing stands before libc.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "harness.h"
#include "wait_cost.h"

typedef int lock_fn(void *);
typedef ssize_t receive_fn(int, void *, size_t, int);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static int socket_fd;

struct pair {
	void *lock;
	lock_fn *take, *give;
};

static void take_and_give(uint64_t iterations, void *arg)
{
	const struct pair *p = arg;
	lock_fn *volatile take = p->take, *volatile give = p->give;

	for (uint64_t i = 0; i < iterations; i++)
		if (take(p->lock) | give(p->lock))
			abort();
}

/* Nothing has come, and it does not wait for it. */
static void receive_nothing(uint64_t iterations, void *arg)
{
	receive_fn *receive = *(receive_fn **)arg;
	char byte;

	for (uint64_t i = 0; i < iterations / 16; i++)
		if (receive(socket_fd, &byte, 1, MSG_DONTWAIT) >= 0)
			abort();
}

static void *function_of(void *where, const char *name)
{
	void *function = dlsym(where, name);

	if (!function)
		abort();
	return function;
}

static struct pair pair_of(void *where, void *lock, const char *take, const char *give)
{
	struct pair p = {.lock = lock};

	*(void **)(void *)&p.take = function_of(where, take);
	*(void **)(void *)&p.give = function_of(where, give);
	return p;
}

int main(int argc, char **argv)
{
	static const struct {
		void *lock;
		const char *take, *give;
	} locks[] = {{&mutex, "pthread_mutex_lock", "pthread_mutex_unlock"},
		     {&rwlock, "pthread_rwlock_rdlock", "pthread_rwlock_unlock"},
		     {&rwlock, "pthread_rwlock_wrlock", "pthread_rwlock_unlock"},
		     {&semaphore, "sem_wait", "sem_post"}};
	void *from[] = {RTLD_DEFAULT, dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD)};
	struct bench_case cases[WAIT_CASE_COUNT];
	struct pair pairs[WAIT_CALL];
	void *receive[2];
	int ends[2];

	if (argc < 3 || !from[1] || sem_init(&semaphore, 0, 1) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	socket_fd = ends[0];
	for (int i = 0; i < WAIT_CALL; i++) {
		pairs[i] = pair_of(from[i % 2], locks[i / 2].lock, locks[i / 2].take,
				   locks[i / 2].give);
		cases[i] = (struct bench_case){.run = take_and_give, .arg = &pairs[i]};
	}
	for (int i = 0; i < 2; i++) {
		receive[i] = function_of(from[i], "recv");
		cases[WAIT_CALL + i] =
			(struct bench_case){.run = receive_nothing, .arg = &receive[i]};
	}
	bench_interleave(cases, WAIT_CASE_COUNT, (unsigned int)atoi(argv[1]),
			 (uint64_t)atol(argv[2]));
	for (int i = 0; i < WAIT_CASE_COUNT; i++)
		printf("%.2f ", i < WAIT_CALL ? cases[i].ns : cases[i].ns * 16);
	printf("%d\n", receive[0] != receive[1]);
	return 0;
}
