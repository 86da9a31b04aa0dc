/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes of all kinds, read-write locks, C11's: free, held, by whom, with which limits. */
#include "calls.h"

#include <threads.h>
#include <unistd.h>

static const struct kind {
	const char *name;
	int type, robust, protocol, shared;
} kinds[] = {
	{"normal", PTHREAD_MUTEX_NORMAL, 0, PTHREAD_PRIO_NONE, 0},
	{"default", PTHREAD_MUTEX_DEFAULT, 0, PTHREAD_PRIO_NONE, 0},
	{"recursive", PTHREAD_MUTEX_RECURSIVE, 0, PTHREAD_PRIO_NONE, 0},
	{"errorcheck", PTHREAD_MUTEX_ERRORCHECK, 0, PTHREAD_PRIO_NONE, 0},
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
	{"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, 0, PTHREAD_PRIO_NONE, 0},
#endif
	{"shared", PTHREAD_MUTEX_NORMAL, 0, PTHREAD_PRIO_NONE, 1},
	{"robust", PTHREAD_MUTEX_NORMAL, 1, PTHREAD_PRIO_NONE, 0},
	{"robust errorcheck", PTHREAD_MUTEX_ERRORCHECK, 1, PTHREAD_PRIO_NONE, 0},
	{"robust recursive shared", PTHREAD_MUTEX_RECURSIVE, 1, PTHREAD_PRIO_NONE, 1},
	{"inherit", PTHREAD_MUTEX_NORMAL, 0, PTHREAD_PRIO_INHERIT, 0},
	{"inherit errorcheck", PTHREAD_MUTEX_ERRORCHECK, 0, PTHREAD_PRIO_INHERIT, 0},
	{"inherit robust", PTHREAD_MUTEX_NORMAL, 1, PTHREAD_PRIO_INHERIT, 0},
	{"protect", PTHREAD_MUTEX_NORMAL, 0, PTHREAD_PRIO_PROTECT, 0},
	{"protect errorcheck", PTHREAD_MUTEX_ERRORCHECK, 0, PTHREAD_PRIO_PROTECT, 0},
};

static pthread_mutex_t mutex;
static const struct kind *kind;

static int make(void)
{
	pthread_mutexattr_t attr;
	int failed = pthread_mutexattr_init(&attr);

	failed |= pthread_mutexattr_settype(&attr, kind->type);
	if (kind->robust)
		failed |= pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (kind->protocol != PTHREAD_PRIO_NONE)
		failed |= pthread_mutexattr_setprotocol(&attr, kind->protocol);
	if (kind->shared)
		failed |= pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	failed |= pthread_mutex_init(&mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return failed;
}

/* What a free one, or one's own, says to limits that are wrong. */
static void try_limits(const char *state)
{
	struct timespec past = {.tv_sec = 1}, bad = {.tv_nsec = -1};
	char what[64];

	snprintf(what, sizeof(what), "%s, %s", kind->name, state);
#define UNLOCKING(expression)                                                                      \
	do {                                                                                       \
		int result_;                                                                       \
		CALL(what, result_ = (expression));                                                \
		if (!result_)                                                                      \
			CALL(what, pthread_mutex_unlock(&mutex));                                  \
	} while (0)
	UNLOCKING(pthread_mutex_timedlock(&mutex, &past));
	IF_LIMITS_ARE_CHECKED(UNLOCKING(pthread_mutex_timedlock(&mutex, &bad)));
	bad.tv_nsec = 1000000000;
	IF_LIMITS_ARE_CHECKED(UNLOCKING(pthread_mutex_timedlock(&mutex, &bad)));
#ifdef __GLIBC__
	UNLOCKING(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past));
	UNLOCKING(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &bad));
	UNLOCKING(pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &past));
	UNLOCKING(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &past));
	UNLOCKING(pthread_mutex_clocklock(&mutex, 4711, &past));
#endif
#undef UNLOCKING
}

static void *held_by_other(void *argument)
{
	struct timespec soon = calls_after(CLOCK_REALTIME, 3);

	CALL(kind->name, pthread_mutex_trylock(&mutex));
	CALL(kind->name, pthread_mutex_timedlock(&mutex, &soon));
	try_limits("held by another");
	return argument;
}

static void *die_with_it(void *argument)
{
	CALL(kind->name, pthread_mutex_lock(&mutex));
	return argument;
}

static void robust(void)
{
	struct timespec soon = calls_after(CLOCK_REALTIME, 1000);

	calls_elsewhere(die_with_it, NULL);
	CALL("its owner is dead", pthread_mutex_lock(&mutex));
	CALL("its owner is dead", pthread_mutex_consistent(&mutex));
	CALL("its owner is dead", pthread_mutex_unlock(&mutex));
	calls_elsewhere(die_with_it, NULL);
	CALL("its owner is dead", pthread_mutex_timedlock(&mutex, &soon));
	CALL("and stays inconsistent", pthread_mutex_unlock(&mutex));
	CALL("not recoverable", pthread_mutex_lock(&mutex));
	CALL("not recoverable", pthread_mutex_timedlock(&mutex, &soon));
}

static void one_kind(void)
{
	int locked;

	if (make()) {
		printf("%s: none here\n", kind->name);
		return;
	}
	CALL(kind->name, locked = pthread_mutex_lock(&mutex));
	if (!locked) {
		calls_elsewhere(held_by_other, NULL);
		if (kind->type == PTHREAD_MUTEX_RECURSIVE || kind->type == PTHREAD_MUTEX_ERRORCHECK)
			try_limits("one's own");
		if (kind->type == PTHREAD_MUTEX_RECURSIVE) {
			CALL(kind->name, pthread_mutex_lock(&mutex));
			CALL(kind->name, pthread_mutex_unlock(&mutex));
		}
		if (kind->type == PTHREAD_MUTEX_ERRORCHECK)
			CALL(kind->name, pthread_mutex_lock(&mutex));
		CALL(kind->name, pthread_mutex_unlock(&mutex));
	}
	try_limits("free");
	if (kind->robust)
		robust();
	CALL(kind->name, pthread_mutex_destroy(&mutex));
}

/* ---- read-write locks */

static pthread_rwlock_t lock;

static void try_rwlock(const char *what)
{
	struct timespec past = {.tv_sec = 1}, bad = {.tv_nsec = -1};
	struct timespec soon = calls_after(CLOCK_REALTIME, 3);

#define UNLOCKING(expression)                                                                      \
	do {                                                                                       \
		int result_;                                                                       \
		CALL(what, result_ = (expression));                                                \
		if (!result_)                                                                      \
			CALL(what, pthread_rwlock_unlock(&lock));                                  \
	} while (0)
	UNLOCKING(pthread_rwlock_timedrdlock(&lock, &soon));
	UNLOCKING(pthread_rwlock_timedrdlock(&lock, &past));
	IF_LIMITS_ARE_CHECKED(UNLOCKING(pthread_rwlock_timedrdlock(&lock, &bad)));
	UNLOCKING(pthread_rwlock_timedwrlock(&lock, &soon));
	UNLOCKING(pthread_rwlock_timedwrlock(&lock, &past));
	IF_LIMITS_ARE_CHECKED(UNLOCKING(pthread_rwlock_timedwrlock(&lock, &bad)));
#ifdef __GLIBC__
	UNLOCKING(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &past));
	UNLOCKING(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &bad));
	UNLOCKING(pthread_rwlock_clockrdlock(&lock, CLOCK_THREAD_CPUTIME_ID, &past));
	UNLOCKING(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &past));
	UNLOCKING(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &bad));
	UNLOCKING(pthread_rwlock_clockwrlock(&lock, CLOCK_THREAD_CPUTIME_ID, &past));
#endif
#undef UNLOCKING
}

static void *rwlock_other(void *argument)
{
	try_rwlock(argument);
	return NULL;
}

static void rwlocks(int prefers)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
#ifdef __GLIBC__
	printf("rwlock that prefers %d\n", prefers);
	pthread_rwlockattr_setkind_np(&attr, prefers);
#else
	(void)prefers;
#endif
	CALL("rwlock", pthread_rwlock_init(&lock, &attr));
	try_rwlock("free");
	CALL("rwlock", pthread_rwlock_rdlock(&lock));
	CALL("rwlock", pthread_rwlock_rdlock(&lock));
	calls_elsewhere(rwlock_other, (char[]){"read by another"});
	CALL("rwlock", pthread_rwlock_unlock(&lock));
	CALL("rwlock", pthread_rwlock_unlock(&lock));
	CALL("rwlock", pthread_rwlock_wrlock(&lock));
	calls_elsewhere(rwlock_other, (char[]){"written by another"});
#ifdef __GLIBC__
	CALL("written by oneself", pthread_rwlock_rdlock(&lock));
	CALL("written by oneself", pthread_rwlock_wrlock(&lock));
	try_rwlock("written by oneself");
#endif
	CALL("rwlock", pthread_rwlock_unlock(&lock));
	CALL("rwlock", pthread_rwlock_destroy(&lock));
}

/* ---- C11 */

static mtx_t c11;

static void *c11_other(void *argument)
{
	struct timespec soon = calls_after(CLOCK_REALTIME, 3), bad = {.tv_nsec = -1};

	CALL("mtx held by another", mtx_timedlock(&c11, &soon));
	IF_LIMITS_ARE_CHECKED(CALL("mtx held by another", mtx_timedlock(&c11, &bad)));
	return argument;
}

static void c11_locks(int type)
{
	struct timespec past = {.tv_sec = 1};

	CALL("mtx", mtx_init(&c11, type));
	CALL("mtx", mtx_lock(&c11));
	if (type & mtx_recursive) {
		CALL("mtx", mtx_lock(&c11));
		mtx_unlock(&c11);
	}
	if (type & mtx_timed)
		calls_elsewhere(c11_other, NULL);
	mtx_unlock(&c11);
	if (type & mtx_timed) {
		CALL("mtx", mtx_timedlock(&c11, &past));
		mtx_unlock(&c11);
	}
	mtx_destroy(&c11);
}

void calls_locks(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		kind = &kinds[i];
		one_kind();
	}
#ifdef __GLIBC__
	rwlocks(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	rwlocks(PTHREAD_RWLOCK_PREFER_READER_NP);
#else
	rwlocks(0);
#endif
	c11_locks(mtx_plain);
	c11_locks(mtx_timed);
	c11_locks(mtx_timed | mtx_recursive);
}
