/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines without a stack of their own, on several threads, for those who look at what is
 * recorded of them: each is resumed and suspended by whichever thread has taken it from a queue.
 *
 *	coroutines [threads=N] [coroutines=N] [rounds=N] [burn=US] [pause=US] [wake=0|1]
 *
 * Header-only: with libweft linked or preloaded its switches are recorded. With -DLINKED it sets
 * contexts too: coroutine n works for span 1000 + n, with the label route=/n of its own.
 * Prints what it did: "runs N waits N first N last N".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef LINKED
#include <weft/labels.h>
#endif
#include <weft/coro.h>

#define MOST 4096

struct task {
	struct weft_coro coro;
	unsigned int number, left;
};

static struct task tasks[MOST];
static struct task *queue[MOST];
static size_t first, waiting; /* of the queue, a ring */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long threads = 2, coroutines = 8, rounds = 50, burn_us = 0, pause_us = 0, wakes = 1;
static unsigned long alive, runs;

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void put(struct task *t)
{
	queue[(first + waiting++) % MOST] = t;
}

/* The one that has waited longest; NULL: none is there now. */
static struct task *take(void)
{
	struct task *t = NULL;

	pthread_mutex_lock(&lock);
	if (waiting) {
		t = queue[first++ % MOST];
		waiting--;
	}
	pthread_mutex_unlock(&lock);
	return t;
}

/* Two places that can be told apart, each with a name of its own. */
static __attribute__((noinline)) void wait_for_data(void)
{
	__asm__ volatile("");
}

static __attribute__((noinline)) void wait_for_turn(void)
{
	__asm__ volatile("" : : : "memory");
}

static __attribute__((noinline)) void work(void)
{
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + burn_us * 1000;

	while (burn_us && clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		__asm__ volatile("");
}

static void set_context(const struct task *t)
{
#ifdef LINKED
	char route[16];

	snprintf(route, sizeof(route), "/%u", t->number);
	weft_context_set(1000 + t->number, 1000 + t->number);
	weft_label_set("route", route);
#else
	(void)t;
#endif
}

/* Once; returns 1 while there is more to do. */
static int run(struct task *t)
{
	int is_first = t->left == rounds;

	weft_coro_resume(&t->coro, NULL);
	if (is_first)
		set_context(t);
	work();
	if (--t->left == 0) {
		weft_coro_destroy(&t->coro);
		return 0;
	}
	weft_coro_suspend(&t->coro, t->left % 2 ? (void *)wait_for_data : (void *)wait_for_turn);
	return 1;
}

static void finish(struct task *t, int has_more)
{
	struct timespec pause = {.tv_nsec = (long)pause_us * 1000};

	if (has_more && pause_us)
		nanosleep(&pause, NULL);
	if (has_more && wakes)
		weft_coro_wake(&t->coro);
	pthread_mutex_lock(&lock);
	runs++;
	if (has_more)
		put(t);
	else
		alive--;
	pthread_mutex_unlock(&lock);
}

static void *schedule(void *arg)
{
	struct task *t;
	unsigned long more = 1;

	while (more) {
		t = take();
		if (t)
			finish(t, run(t));
		pthread_mutex_lock(&lock);
		more = alive;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static int read_argument(const char *text)
{
	static const struct {
		const char *name;
		unsigned long *value;
	} known[] = {
		{"threads=", &threads}, {"coroutines=", &coroutines}, {"rounds=", &rounds},
		{"burn=", &burn_us},    {"pause=", &pause_us},        {"wake=", &wakes},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t bytes = strlen(known[i].name);

		if (strncmp(text, known[i].name, bytes) == 0) {
			*known[i].value = strtoul(text + bytes, NULL, 10);
			return 0;
		}
	}
	return -1;
}

int main(int argc, char **argv)
{
	pthread_t thread[64];

	for (int i = 1; i < argc; i++) {
		if (read_argument(argv[i])) {
			fprintf(stderr, "coroutines: %s: what is that?\n", argv[i]);
			return 2;
		}
	}
	if (threads > 64 || coroutines > MOST || !rounds || !threads)
		return 2;
	alive = coroutines;
	for (unsigned int i = 0; i < coroutines; i++) {
		struct weft_coro_options options = {.size = sizeof(options), .id = 5000 + i};

		tasks[i].number = i;
		tasks[i].left = (unsigned int)rounds;
		weft_coro_create(&tasks[i].coro, &options);
		put(&tasks[i]);
	}
	for (unsigned long i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, schedule, NULL))
			return 1;
	for (unsigned long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("runs %lu waits %lu first %lu last %lu\n", runs, runs, coroutines, coroutines);
	return 0;
}
