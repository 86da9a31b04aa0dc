/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late-start LIBRARY
 *
 * A target with 100 threads that run loads the runtime by dlopen, and its recording begins.
 * Each of them must have a slot: none of its samples is lost for want of one. Who has had a CPU
 * while it was looked at gets it by the priming signal, the others, which may be in a call still,
 * in the handler of their first sample. One more thread sleeps all the while, and no signal may
 * reach it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target_session.h"

#define VARIABLE "WEFT_LATE_TARGET"
#define RUNNING 100
#define SAMPLES_EACH 2

/* ---- the target */

static int goes_on = 1, running;

static void *run(void *arg)
{
	volatile uint64_t sink = 0;

	(void)arg;
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19); /* of this thread alone */
	__atomic_fetch_add(&running, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&goes_on, __ATOMIC_RELAXED))
		sink++;
	return NULL;
}

static void *sleep_well(void *arg)
{
	int *end = arg;
	struct pollfd p = {.fd = *end, .events = POLLIN};

	return poll(&p, 1, -1) == 1 ? NULL : arg;
}

/* Until the session says that it is over. */
static int be_target(const char *library)
{
	pthread_t threads[RUNNING], sleeper;
	void *disturbed = NULL;
	int ends[2];
	char end;

	if (pipe(ends) || pthread_create(&sleeper, NULL, sleep_well, &ends[0]))
		return 1;
	for (int i = 0; i < RUNNING; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) < RUNNING)
		usleep(1000);
	if (!dlopen(library, RTLD_NOW | RTLD_GLOBAL)) {
		fprintf(stderr, "late-start: %s\n", dlerror());
		return 1;
	}
	if (read(STDIN_FILENO, &end, 1) < 0)
		return 1;
	__atomic_store_n(&goes_on, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < RUNNING; i++)
		pthread_join(threads[i], NULL);
	if (write(ends[1], "x", 1) != 1 || pthread_join(sleeper, &disturbed))
		return 1;
	return disturbed ? 3 : 0;
}

/* ---- the collector */

struct taken {
	uint64_t of_slot[TARGET_SLOTS], slotless, refused;
};

static void take(void *arg, uint32_t slot, const struct weft_sample_record *sample)
{
	struct taken *t = arg;

	t->of_slot[slot]++;
	t->slotless += sample->context == WEFT_CONTEXT_SLOTLESS;
}

static int sampled_threads(const struct taken *t)
{
	int count = 0;

	for (int i = 0; i < TARGET_SLOTS; i++)
		count += t->of_slot[i] >= SAMPLES_EACH;
	return count;
}

static int failures, number;

static void is(const char *what, uint64_t value, uint64_t expected)
{
	int good = value == expected;

	printf("%s %d - %s: %llu, expected %llu\n", good ? "ok" : "not ok", ++number, what,
	       (unsigned long long)value, (unsigned long long)expected);
	failures += !good;
}

static void judge(struct target_session *t, const struct taken *taken)
{
	uint64_t by_handler = target_session_counter(t, WEFT_COUNTER_PRIMED_HANDLER);
	uint64_t by_signal = target_session_counter(t, WEFT_COUNTER_PRIMED_SIGNAL);

	is("no slot for a sample", target_session_counter(t, WEFT_COUNTER_LOST_NO_SLOT), 0);
	is("primed by the signal, or by the handler", by_signal + by_handler, RUNNING);
	is("samples of a thread that had no slot are counted",
	   target_session_counter(t, WEFT_COUNTER_CTX_NO_SLOT), taken->slotless);
	is("... one each at most: a first tick may stand for less than a sample",
	   taken->slotless <= by_handler, 1);
	is("priming signals sent", target_session_counter(t, WEFT_COUNTER_PRIMING_SENT), by_signal);
	is("threads without a timer", target_session_counter(t, WEFT_COUNTER_THREADS_NO_TIMER), 0);
	is("records that could not be read", taken->refused, 0);
}

static int run_test(char **argv)
{
	static struct target_session t;
	static struct taken taken;
	int ends[2], status = -1;

	if (pipe(ends) || dup2(ends[0], STDIN_FILENO) < 0 || target_session_open(&t))
		return 1;
	t.shared->timer_budget = 2 * RUNNING;
	t.shared->period_ns = 1000000;
	t.shared->prime_signal = SIGURG;
	if (target_session_start(&t, argv, VARIABLE, argv[1]))
		return 1;
	while (sampled_threads(&taken) < RUNNING && waitpid(t.pid, &status, WNOHANG) == 0) {
		taken.refused += (uint64_t)target_session_drain(&t, take, &taken);
		usleep(5000);
	}
	is("threads sampled", (uint64_t)sampled_threads(&taken), RUNNING);
	judge(&t, &taken);
	if (write(ends[1], "x", 1) == 1 && status == -1)
		waitpid(t.pid, &status, 0);
	is("status of the target (3: its sleeper was woken)",
	   (uint64_t)(WIFEXITED(status) ? WEXITSTATUS(status) : 255), 0);
	target_session_close(&t);
	printf("1..%d\n", number);
	return failures != 0;
}

int main(int argc, char **argv)
{
	const char *library = getenv(VARIABLE);

	if (library)
		return be_target(library);
	return argc == 2 ? run_test(argv) : 2;
}
