/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenants THREADS SECONDS: requests of two tenants, one of which costs three times the other's;
 * labels change with every request, in each of the ways that there are: one by one, as a batch,
 * in a scope. The local root span tells the tenant too. At the end, a line for each tenant:
 * "NAME CPU-NS", by the threads' own clocks. SECONDS: CPU time of each thread.
 *
 * tenants churn SECONDS: one thread changes a label as fast as it can; prints how often.
 * tenants hold SECONDS: sets labels once, and works.
 * tenants fork SECONDS: sets labels once, works a little, and has a child work, that sets none.
 * tenants wait SECONDS: sleeps so long, three quarters of it for acme, without any span.
 */
#include <weft/context.h>
#include <weft/labels.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64
#define STEPS 60000 /* of the cheaper tenant's request */

static const char *const tenant_name[2] = {"acme", "beta"};
static const uint64_t tenant_root[2] = {0xACE, 0xBE7A};
static double seconds;
static uint64_t cpu_ns[THREADS_MAX][2];

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void work(unsigned int steps)
{
	volatile unsigned int x = 1;

	while (steps--)
		x = x * 1664525 + 1013904223;
}

static struct weft_context context_of(int tenant, uint64_t request)
{
	struct weft_context c = {.span_id = request, .root_span_id = tenant_root[tenant]};

	return c;
}

/* Ids and then labels: for a few instructions the sample has the ids of the one and not the other.
 */
static void one_by_one(int tenant, uint64_t request, const char *number)
{
	struct weft_context c = context_of(tenant, request);

	weft_context_write(&c);
	weft_label_set("tenant", tenant_name[tenant]);
	weft_label_set("http.route", request % 2 ? "/checkout" : "/search");
	weft_label_set("request", number);
	work(STEPS * (tenant ? 1u : 3u));
}

static void as_batch(int tenant, uint64_t request, const char *number)
{
	struct weft_context c = context_of(tenant, request);
	struct weft_label labels[] = {
		{.key = "tenant", .key_bytes = 6, .value = tenant_name[tenant], .value_bytes = 4},
		{.key = "http.route", .key_bytes = 10, .value = "/batch", .value_bytes = 6},
		{.key = "request", .key_bytes = 7, .value = number, .value_bytes = strlen(number)},
	};

	weft_context_update(&c, labels, 3, WEFT_UPDATE_REPLACE);
	work(STEPS * (tenant ? 1u : 3u));
}

static void in_scope(int tenant, uint64_t request, const char *number)
{
	struct weft_context c = context_of(tenant, request);
	struct weft_scope scope;

	weft_scope_enter(&scope, &c);
	weft_label_set("tenant", tenant_name[tenant]);
	weft_label_set("http.route", "/scope");
	weft_label_set("request", number);
	work(STEPS * (tenant ? 1u : 3u));
	weft_scope_leave(&scope);
}

static void *serve(void *arg)
{
	static void (*const ways[])(int, uint64_t, const char *) = {one_by_one, as_batch, in_scope};
	uint64_t *spent = arg, began = own_cpu_ns(), request = (uint64_t)(uintptr_t)arg;
	char number[32];

	while ((double)(own_cpu_ns() - began) < seconds * 1e9) {
		int tenant = (int)(++request % 2);
		uint64_t from = own_cpu_ns();

		snprintf(number, sizeof(number), "%llu", (unsigned long long)request);
		ways[request / 2 % 3](tenant, request, number);
		spent[tenant] += own_cpu_ns() - from;
	}
	return NULL;
}

static int churn(void)
{
	static const char *const values[] = {"/a", "/bb", "/ccc"};
	uint64_t began = own_cpu_ns(), count = 0;

	weft_label_set("tenant", "acme");
	do {
		for (int i = 0; i < 1000; i++)
			weft_label_set("http.route", values[count++ % 3]);
	} while ((double)(own_cpu_ns() - began) < seconds * 1e9);
	printf("%llu\n", (unsigned long long)count);
	return 0;
}

static void work_for(double s)
{
	uint64_t began = own_cpu_ns();

	while ((double)(own_cpu_ns() - began) < s * 1e9)
		work(STEPS);
}

static int hold(void)
{
	weft_label_set("tenant", "acme");
	work_for(seconds);
	return 0;
}

/* The parent's samples have told its labels before: the child's must tell them anew. */
static int have_child_work(void)
{
	int status = 0;
	pid_t child;

	weft_label_set("tenant", "acme");
	work_for(seconds / 5);
	child = fork();
	if (child) {
		waitpid(child, &status, 0);
		return status != 0;
	}
	work_for(seconds);
	return 0;
}

static void sleep_for(double s)
{
	struct timespec t = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};

	while (nanosleep(&t, &t))
		;
}

static int wait_for_both(void)
{
	for (int tenant = 0; tenant < 2; tenant++) {
		weft_label_set("tenant", tenant_name[tenant]);
		sleep_for(seconds * (tenant ? 0.25 : 0.75));
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];
	uint64_t sum[2] = {0, 0};
	int count;

	if (argc != 3)
		return 2;
	seconds = strtod(argv[2], NULL);
	if (strcmp(argv[1], "churn") == 0)
		return churn();
	if (strcmp(argv[1], "hold") == 0)
		return hold();
	if (strcmp(argv[1], "fork") == 0)
		return have_child_work();
	if (strcmp(argv[1], "wait") == 0)
		return wait_for_both();
	count = atoi(argv[1]);
	for (int i = 0; i < count && i < THREADS_MAX; i++)
		if (pthread_create(&thread[i], NULL, serve, cpu_ns[i]))
			return 1;
	for (int i = 0; i < count && i < THREADS_MAX; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < count && i < THREADS_MAX; i++)
		for (int k = 0; k < 2; k++)
			sum[k] += cpu_ns[i][k];
	for (int k = 0; k < 2; k++)
		printf("%s %llu\n", tenant_name[k], (unsigned long long)sum[k]);
	return 0;
}
