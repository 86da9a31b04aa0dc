/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lockstep step|random SECONDS [MOST]: works for A and B until it has used that much CPU time, or
 * MOST seconds have passed, then prints what part of it B had, and how much it was: "0.2871 6.003".
 *
 * step: in step with the kernel's tick by construction, however busy the machine is. A CPU timer of
 * its own tells it of each tick that meets it; B follows for 1.2 ms, then A until the next. A
 * signal of that very tick finds A. random: B or A, three to seven, each for 1 to 3 ms of CPU time.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <weft/context.h>

#define STEP_NS UINT64_C(1200000)

enum { A, B, KINDS };

static volatile sig_atomic_t ticks;
static uint64_t used_ns[KINDS], state = 88172645463325252u;
static uint32_t names[KINDS];

static uint64_t clock_now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_ns(void)
{
	return clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
}

static double random_part(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) * 0x1p-53;
}

static void on_tick(int signo)
{
	(void)signo;
	ticks = 1;
}

static void spin(void)
{
	for (int i = 0; i < 2000; i++)
		__asm__ volatile("" : "+r"(i));
}

/* Until @length_ns have been used, or there is a tick. */
static void act(int what, uint64_t length_ns, int until_tick)
{
	uint64_t from_ns = cpu_ns(), now_ns = from_ns;

	weft_context_set((uint64_t)what + 1, 7);
	weft_tag_set(0, names[what]);
	while (now_ns - from_ns < length_ns && !(until_tick && ticks)) {
		spin();
		now_ns = cpu_ns();
	}
	used_ns[what] += now_ns - from_ns;
}

static void tell_ticks(void)
{
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct itimerspec each = {{0, 1000}, {0, 1000}};
	timer_t timer;

	if (sigaction(SIGUSR1, &action, NULL) ||
	    timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) ||
	    timer_settime(timer, 0, &each, NULL))
		abort();
}

static void step(void)
{
	act(A, UINT64_MAX, 1);
	ticks = 0;
	act(B, STEP_NS, 0);
}

static void at_random(void)
{
	act(random_part() < 0.3 ? B : A, (uint64_t)(1e6 + random_part() * 2e6), 0);
}

int main(int argc, char **argv)
{
	int is_step = argc > 1 && strcmp(argv[1], "step") == 0;
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
	double most = argc > 3 ? strtod(argv[3], NULL) : 60;
	uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC) + (uint64_t)(most * 1e9);

	weft_tag_name(0, "work");
	names[A] = weft_tag_intern("on-A");
	names[B] = weft_tag_intern("on-B");
	if (is_step)
		tell_ticks();
	while ((double)cpu_ns() < seconds * 1e9 && clock_now_ns(CLOCK_MONOTONIC) < end_ns)
		(is_step ? step : at_random)();
	printf("%.4f %.3f\n", (double)used_ns[B] / (double)(used_ns[A] + used_ns[B]),
	       (double)cpu_ns() / 1e9);
	return 0;
}
