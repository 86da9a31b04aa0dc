/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions and semaphores: woken, timed out, interrupted, with limits that are wrong. */
#include "calls.h"

#include <semaphore.h>
#include <signal.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int ready;

static void *wake(void *argument)
{
	pthread_mutex_lock(&mutex);
	ready = 1;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
	return argument;
}

static void woken(void)
{
	struct timespec later = calls_after(CLOCK_REALTIME, 50000);
	pthread_t thread;
	int result = 0;

	pthread_mutex_lock(&mutex);
	if (pthread_create(&thread, NULL, wake, NULL))
		abort();
	while (!ready)
		result |= pthread_cond_wait(&condition, &mutex);
	printf("woken: %d\n", result);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	ready = 0;
	pthread_mutex_lock(&mutex);
	if (pthread_create(&thread, NULL, wake, NULL))
		abort();
	while (!ready)
		result |= pthread_cond_timedwait(&condition, &mutex, &later);
	printf("woken in time: %d\n", result);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

/* A wakeup that nobody sent is allowed, and not to be compared. */
static void conditions(void)
{
	struct timespec past = {.tv_sec = 1}, bad = {.tv_nsec = 1000000000};
	struct timespec soon = calls_after(CLOCK_REALTIME, 3);

	pthread_mutex_lock(&mutex);
	CALL("condition", pthread_cond_timedwait(&condition, &mutex, &soon));
	CALL("condition", pthread_cond_timedwait(&condition, &mutex, &past));
	IF_LIMITS_ARE_CHECKED(CALL("condition", pthread_cond_timedwait(&condition, &mutex, &bad)));
#ifdef __GLIBC__
	CALL("condition", pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past));
	CALL("condition", pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &bad));
	CALL("condition", pthread_cond_clockwait(&condition, &mutex, 4711, &past));
#endif
	pthread_mutex_unlock(&mutex);
}

static void c11_conditions(void)
{
	struct timespec past = {.tv_sec = 1}, soon = calls_after(CLOCK_REALTIME, 3);
	cnd_t cnd;
	mtx_t mtx;

	if (cnd_init(&cnd) != thrd_success || mtx_init(&mtx, mtx_timed) != thrd_success)
		abort();
	mtx_lock(&mtx);
	CALL("cnd", cnd_timedwait(&cnd, &mtx, &past));
	CALL("cnd", cnd_timedwait(&cnd, &mtx, &soon));
	mtx_unlock(&mtx);
	mtx_destroy(&mtx);
	cnd_destroy(&cnd);
}

/* ---- semaphores */

static void nothing(int signo)
{
	(void)signo;
}

/* Interrupted by an alarm, which comes again and again until the wait has it. */
static void interrupted(sem_t *semaphore)
{
	struct sigaction action = {.sa_handler = nothing};
	timer_t timer;
	struct itimerspec each = {.it_value = {.tv_nsec = 2000000},
				  .it_interval = {.tv_nsec = 2000000}};

	sigaction(SIGALRM, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, NULL, &timer))
		abort();
	timer_settime(timer, 0, &each, NULL);
	CALL("interrupted", sem_wait(semaphore));
	timer_delete(timer);
}

static void semaphores(void)
{
	struct timespec past = {.tv_sec = 1}, bad = {.tv_nsec = -1};
	struct timespec soon = calls_after(CLOCK_REALTIME, 3);
	sem_t semaphore;

	sem_init(&semaphore, 0, 5);
	CALL("semaphore", sem_wait(&semaphore));
	CALL("semaphore", sem_timedwait(&semaphore, &past));
	IF_LIMITS_ARE_CHECKED(CALL("semaphore", sem_timedwait(&semaphore, &bad)));
#ifdef __GLIBC__
	CALL("semaphore", sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past));
	CALL("semaphore", sem_clockwait(&semaphore, CLOCK_MONOTONIC, &bad));
	CALL("semaphore", sem_clockwait(&semaphore, 4711, &past));
#endif
	while (!sem_trywait(&semaphore))
		;
	CALL("none left", sem_timedwait(&semaphore, &past));
	CALL("none left", sem_timedwait(&semaphore, &soon));
	IF_LIMITS_ARE_CHECKED(CALL("none left", sem_timedwait(&semaphore, &bad)));
#ifdef __GLIBC__
	CALL("none left", sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past));
	CALL("none left", sem_clockwait(&semaphore, CLOCK_MONOTONIC, &bad));
	CALL("none left", sem_clockwait(&semaphore, 4711, &past));
#endif
	interrupted(&semaphore);
	sem_destroy(&semaphore);
}

void calls_conditions(void)
{
	woken();
	conditions();
	c11_conditions();
	semaphores();
}
