/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool [THREADS [REQUESTS]]: a thread pool whose requests change threads. Each is done in steps,
 * which any worker takes from one queue; two tenants, one of which costs three times the other's.
 *
 *   cc pool.c -lweft -pthread && weft record ./a.out && weft report --by label:tenant
 *
 * A request's context and labels are prepared once; a worker attaches them for each step. At the
 * end, a line for each tenant: "NAME CPU-NS", by the workers' own clocks.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <weft/prepared.h>

#define THREADS_MAX 64
#define OPEN 16  /* requests at a time */
#define STEPS 12 /* of each request */

struct request {
	struct weft_prepared *prepared;
	int tenant, steps_left;
	struct request *next;
};

static const char *const names[2] = {"acme", "beta"};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct request requests[OPEN], *first, **last = &first;
static uint64_t to_come = 4000, number, cpu_ns[2];

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static __attribute__((noinline)) void work(unsigned int steps)
{
	volatile unsigned int x = 1;

	while (steps--)
		x = x * 1664525 + 1013904223;
}

/* With the lock held. */
static void append(struct request *r)
{
	r->next = NULL;
	*last = r;
	last = &r->next;
}

static struct request *take_first(void)
{
	struct request *r = first;

	if (r) {
		first = r->next;
		if (!first)
			last = &first;
	}
	return r;
}

/* A request comes in: what it is about is known for all of its steps. */
static void begin(struct request *r)
{
	struct weft_context context = {.span_id = ++number};
	struct weft_label labels[] = {
		{.key = "tenant", .key_bytes = 6, .value_bytes = 4},
		{.key = "route", .key_bytes = 5, .value = "/pool", .value_bytes = 5},
	};

	r->tenant = (int)(number % 2);
	r->steps_left = STEPS;
	context.root_span_id = 0xACE + (uint64_t)r->tenant;
	labels[0].value = names[r->tenant];
	r->prepared = weft_context_prepare(&context, labels, 2);
	to_come--;
}

/* One step, on whichever thread. Returns what it cost. */
static uint64_t take_step(struct request *r)
{
	uint64_t from = own_cpu_ns();
	struct weft_attached before;

	weft_context_attach(&before, r->prepared);
	work(20000 * (r->tenant ? 1u : 3u));
	weft_context_detach(&before);
	return own_cpu_ns() - from;
}

/* With the lock held: the next step is anybody's, or another request takes the place. */
static void end_step(struct request *r, uint64_t ns)
{
	cpu_ns[r->tenant] += ns;
	if (!--r->steps_left) {
		weft_context_free(r->prepared);
		if (!to_come)
			return;
		begin(r);
	}
	append(r);
}

static void *serve(void *arg)
{
	struct request *r;
	uint64_t ns;

	pthread_mutex_lock(&lock);
	while ((r = take_first())) {
		pthread_mutex_unlock(&lock);
		ns = take_step(r);
		pthread_mutex_lock(&lock);
		end_step(r, ns);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 4, begun = 0;
	pthread_t threads[THREADS_MAX];

	to_come = argc > 2 ? strtoull(argv[2], NULL, 10) : to_come;
	for (int i = 0; i < OPEN && to_come; i++) {
		begin(&requests[i]);
		append(&requests[i]);
	}
	while (begun < count && begun < THREADS_MAX &&
	       !pthread_create(&threads[begun], NULL, serve, NULL))
		begun++;
	if (!begun)
		return 1;
	for (int i = 0; i < begun; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		printf("%s %llu\n", names[i], (unsigned long long)cpu_ns[i]);
	return 0;
}
