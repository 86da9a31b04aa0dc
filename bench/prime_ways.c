/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prime-ways COUNT: to be run under `weft record` with WEFT_HOOKS=-threads, so that its threads
 * begin without a slot. Half of them send themselves the priming signal, half the sampling
 * signal of a timer that was armed for a thread without slot; each then sends it once more, now
 * that there is a slot. Prints medians in nanoseconds, from the send until the handler is done:
 *
 *   priming primed_already claiming sampling empty
 *
 * claiming and sampling hold one sample each; empty is a signal with an empty handler. Exit 1:
 * not recorded, or no signal primes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weft/context.h>

#include "../tests/own_session.h"
#include "harness.h"

#define COUNT_MAX 1000

struct way {
	int signo;
	uint64_t value;
	double first[COUNT_MAX], second[COUNT_MAX];
	size_t count;
};

static const struct weft_session_header *header;

static double send_to_itself(int signo, uint64_t value)
{
	siginfo_t info = own_signal(signo, value);
	uint64_t start = bench_now_ns();

	syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signo, &info);
	return (double)(bench_now_ns() - start);
}

/* Those that something else primed first are left out. */
static void *go(void *arg)
{
	struct way *w = arg;
	double first;

	if (weft_thread_slot)
		return NULL;
	first = send_to_itself(w->signo, w->value);
	if (!weft_thread_slot)
		return NULL;
	w->first[w->count] = first;
	w->second[w->count] = send_to_itself(w->signo, w->value);
	w->count++;
	return NULL;
}

static void run(struct way *w)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, go, w) || pthread_join(thread, NULL))
		exit(1);
}

static void ignore(int signo)
{
	(void)signo;
}

static double empty_signal(void)
{
	static double ns[COUNT_MAX];

	signal(SIGUSR1, ignore);
	for (int i = 0; i < COUNT_MAX; i++)
		ns[i] = send_to_itself(SIGUSR1, 0);
	return bench_median(ns, COUNT_MAX);
}

int main(int argc, char **argv)
{
	static struct way priming, claiming;
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;

	header = own_session();
	if (!header || !header->prime_signal_used)
		return 1;
	priming.signo = (int)header->prime_signal_used;
	priming.value = WEFT_SIGVAL(header->cookie, 0, WEFT_ORDER_PRIME);
	claiming.signo = SIGPROF;
	claiming.value = WEFT_SIGVAL(header->cookie, WEFT_SIGVAL_ADOPTED, 0);
	for (size_t i = 0; i < count && i < COUNT_MAX; i++) {
		run(&priming);
		run(&claiming);
	}
	if (!priming.count || !claiming.count)
		return 1;
	printf("%.0f %.0f %.0f %.0f %.0f\n", bench_median(priming.first, priming.count),
	       bench_median(priming.second, priming.count),
	       bench_median(claiming.first, claiming.count),
	       bench_median(claiming.second, claiming.count), empty_signal());
	return 0;
}
