/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks [--seconds S] [--period US] [--clock NAME] [--work NAME] [--seed N] [--fates]: tries the
 * clocks that a sampling profiler can have against one another, on work whose shares the program
 * itself measures with the CPU clock of each thread. Without libweft: what is tried is what the
 * kernel does. Run by hand; docs/accuracy.md has its figures.
 *
 * Each pair of clock and work runs in a process of its own. A thread says in a thread-local word
 * what it does (A, B, or neither); the handler adds the weight of its signal to that. Printed are
 * B's share by the CPU clock and by the samples, and, for A and B, the seen part of what was used:
 * the share alone does not tell whether one was seen too often or the other too seldom.
 *
 *   thread-0.5ms  a thread per request (B), one after the other, beside one long thread (A)
 *   burst         2.8 ms of A, 1.2 ms of B, 1 ms of sleep
 *   loop20        every 20 ms: 2.1 ms of A, 0.9 ms of B
 *   calls         1 ms of A in user mode, about as long B in read() of /dev/zero
 */
#include "clocks.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct tally *tally;
const struct clock *clock_used;
uint64_t period_ns = 5025126;
__thread volatile int doing = NEITHER;
static double seconds = 3, spins_per_ns;
static uint64_t seed = 1;

uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* splitmix64; one state for each thread, told apart by what it is seeded with. */
double random_part(void)
{
	static uint64_t streams;
	static __thread uint64_t state;
	uint64_t z;

	if (!state)
		state = ((seed << 32) + __atomic_add_fetch(&streams, 1, __ATOMIC_RELAXED)) *
			0xD1342543DE82EF95u;
	z = state += 0x9E3779B97F4A7C15u;
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static __attribute__((noinline)) void spin(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		__asm__ volatile("" : "+r"(i));
}

static void calibrate(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID), took;

		spin(2000000);
		took = now_ns(CLOCK_THREAD_CPUTIME_ID) - from;
		best = took < best ? took : best;
	}
	spins_per_ns = 2000000.0 / (double)best;
}

/* In user mode throughout: a loop that asked a clock would be in the kernel most of the time. */
static void work(int what, double ms)
{
	uint64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID);

	doing = what;
	spin((uint64_t)(ms * 1e6 * spins_per_ns));
	doing = NEITHER;
	tally_add(&tally->used_ns[what], now_ns(CLOCK_THREAD_CPUTIME_ID) - from);
}

static void work_in_kernel(int what, int fd, char *buffer)
{
	uint64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID);

	doing = what;
	for (int i = 0; i < 200; i++)
		if (read(fd, buffer, KERNEL_BYTES) != KERNEL_BYTES)
			abort();
	doing = NEITHER;
	tally_add(&tally->used_ns[what], now_ns(CLOCK_THREAD_CPUTIME_ID) - from);
}

/* ---- work */

static volatile int is_over;

static void begin_thread(struct own_clock *own)
{
	uint64_t from = now_ns(CLOCK_MONOTONIC);

	if (clock_used->begin)
		clock_used->begin(own);
	tally_add(&tally->start_ns, now_ns(CLOCK_MONOTONIC) - from);
	tally_add(&tally->starts, 1);
}

static void end_thread(struct own_clock *own)
{
	uint64_t from = now_ns(CLOCK_MONOTONIC);

	if (clock_used->end)
		clock_used->end(own);
	tally_add(&tally->end_ns, now_ns(CLOCK_MONOTONIC) - from);
}

static void *long_thread(void *arg)
{
	struct own_clock own = {.fd = -1};

	begin_thread(&own);
	while (!is_over)
		work(A, 1);
	end_thread(&own);
	return arg;
}

static void *request(void *arg)
{
	struct own_clock own = {.fd = -1};

	begin_thread(&own);
	work(B, *(double *)arg);
	end_thread(&own);
	return NULL;
}

static void run_threads(double ms)
{
	pthread_t a, b;

	pthread_create(&a, NULL, long_thread, NULL);
	while ((double)tally->used_ns[B] < seconds * 1e9) {
		pthread_create(&b, NULL, request, &ms);
		pthread_join(b, NULL);
	}
	is_over = 1;
	pthread_join(a, NULL);
}

static void run_burst(double ms)
{
	struct own_clock own = {.fd = -1};
	struct timespec pause = {.tv_nsec = 1000000};

	(void)ms;
	begin_thread(&own);
	while ((double)(tally->used_ns[A] + tally->used_ns[B]) < seconds * 1e9) {
		work(A, 2.8);
		work(B, 1.2);
		nanosleep(&pause, NULL);
	}
	end_thread(&own);
}

static void run_loop(double ms)
{
	struct own_clock own = {.fd = -1};
	uint64_t next = now_ns(CLOCK_MONOTONIC);

	begin_thread(&own);
	while ((double)(tally->used_ns[A] + tally->used_ns[B]) < seconds * 3.5e8) {
		struct timespec until;

		next += (uint64_t)(ms * 1e6);
		until.tv_sec = (time_t)(next / 1000000000u);
		until.tv_nsec = (long)(next % 1000000000u);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		work(A, 2.1);
		work(B, 0.9);
	}
	end_thread(&own);
}

static void run_calls(double ms)
{
	struct own_clock own = {.fd = -1};
	FILE *zero = fopen("/dev/zero", "re");
	char *buffer = malloc(KERNEL_BYTES);

	begin_thread(&own);
	while (zero && buffer && (double)tally->used_ns[A] < seconds * 5e8) {
		work(A, ms);
		work_in_kernel(B, fileno(zero), buffer);
	}
	end_thread(&own);
	free(buffer);
	if (zero)
		fclose(zero);
}

static const struct {
	const char *name;
	void (*run)(double ms);
	double ms;
} works[] = {
	{"thread-0.1ms", run_threads, 0.1}, {"thread-0.3ms", run_threads, 0.3},
	{"thread-0.5ms", run_threads, 0.5}, {"thread-2ms", run_threads, 2},
	{"thread-5ms", run_threads, 5},     {"burst", run_burst, 0},
	{"loop20", run_loop, 20},           {"calls", run_calls, 1},
};

/* ---- running and printing */

static double part(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static void print_head(void)
{
	printf("%-14s %-10s %7s %7s %6s  %7s %7s  %8s %8s %8s\n", "work", "clock", "true B",
	       "seen B", "+-95%", "seen A", "seen B", "start us", "end us", "signal us");
	printf("%-14s %-10s %7s %7s %6s  %7s %7s\n", "", "", "%", "%", "", "of used", "of used");
}

static void print_result(const char *work_name, const struct clock *c)
{
	const struct tally *t = tally;
	double n = (double)(t->signals[A] + t->signals[B]);
	double seen = part(t->seen_ns[B], t->seen_ns[A] + t->seen_ns[B]);

	if (t->error) {
		printf("%-14s %-10s %s\n", work_name, c->name, strerror(t->error));
		return;
	}
	printf("%-14s %-10s %7.1f %7.1f %6.1f  %7.3f %7.3f  %8.1f %8.1f %8.1f\n", work_name,
	       c->name, 100 * part(t->used_ns[B], t->used_ns[A] + t->used_ns[B]), 100 * seen,
	       n > 0 ? 196 * sqrt(seen * (1 - seen) / n) : 0, part(t->seen_ns[A], t->used_ns[A]),
	       part(t->seen_ns[B], t->used_ns[B]), part(t->start_ns, t->starts) / 1e3,
	       part(t->end_ns, t->starts) / 1e3, part(t->handler_ns, t->handlers) / 1e3);
	fflush(stdout);
}

static void run_one(size_t w, const struct clock *c)
{
	int status;
	pid_t child;

	memset(tally, 0, sizeof(*tally));
	seed++; /* each pair has numbers of its own */
	child = fork();
	if (!child) {
		clock_used = c;
		if (c->process)
			c->process();
		works[w].run(works[w].ms);
		_exit(0);
	}
	if (waitpid(child, &status, 0) == child && status && !tally->error)
		tally->error = ECHILD;
	print_result(works[w].name, c);
}

static int is_chosen(const char *pattern, const char *name)
{
	return !pattern || strstr(name, pattern) != NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"seconds", 1, NULL, 's'}, {"period", 1, NULL, 'p'},
						{"clock", 1, NULL, 'c'},   {"work", 1, NULL, 'w'},
						{"seed", 1, NULL, 'r'},    {"fates", 0, NULL, 'f'},
						{NULL, 0, NULL, 0}};
	const char *only_clock = NULL, *only_work = NULL;
	int is_fates = 0, o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 's':
			seconds = strtod(optarg, NULL);
			break;
		case 'p':
			period_ns = (uint64_t)(strtod(optarg, NULL) * 1e3);
			break;
		case 'c':
			only_clock = optarg;
			break;
		case 'w':
			only_work = optarg;
			break;
		case 'r':
			seed = strtoull(optarg, NULL, 10);
			break;
		case 'f':
			is_fates = 1;
			break;
		default:
			return 2;
		}
	}
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (tally == MAP_FAILED)
		return 1;
	if (is_fates) {
		print_fates(only_clock);
		return 0;
	}
	calibrate();
	print_head();
	for (size_t w = 0; w < sizeof(works) / sizeof(works[0]); w++)
		for (const struct clock *c = clocks; c->name; c++)
			if (is_chosen(only_clock, c->name) && is_chosen(only_work, works[w].name))
				run_one(w, c);
	return 0;
}
