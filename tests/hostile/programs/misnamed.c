/* SPDX-License-Identifier: Apache-2.0 */
/*
 * misnamed MS: a process, two threads and a label whose names are commands to a
 * terminal, or no text at all. One of the threads blocks SIGPROF by a raw call, so that it is named
 * at the end; each uses MS of CPU time. Then "ready" if MS is 0, and rest.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <weft/context.h>
#include <weft/labels.h>

/* sets the window's title; C1's CSI; from right to left; no UTF-8 */
#define NAME "\033]0;a\a\xC2\x9B\xE2\x80\xAE\xFF"

static long wanted_ms;
static volatile unsigned long spent;

static void burn(void)
{
	struct timespec t;

	do {
		for (int i = 0; i < 20000; i++)
			spent += (unsigned long)i * spent;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < wanted_ms);
}

static void *hear(void *arg)
{
	prctl(PR_SET_NAME, NAME "h");
	weft_context_set(1, 1);
	weft_label_set(NAME "key", NAME "value");
	burn();
	if (!wanted_ms)
		pause();
	return arg;
}

static void *be_deaf(void *arg)
{
	uint64_t mask = UINT64_C(1) << (SIGPROF - 1);

	prctl(PR_SET_NAME, NAME "d");
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
	burn();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	wanted_ms = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	prctl(PR_SET_NAME, NAME);
	if (pthread_create(&thread[0], NULL, hear, NULL) ||
	    pthread_create(&thread[1], NULL, be_deaf, NULL) || pthread_join(thread[1], NULL))
		return 1;
	if (!wanted_ms) {
		puts("ready");
		fflush(stdout);
	}
	return pthread_join(thread[0], NULL) ? 1 : 0;
}
