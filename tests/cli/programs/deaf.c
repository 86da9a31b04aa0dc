/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that SIGPROF does not reach, past libc, by raw system calls.
 *
 * deaf block MS: two threads, worker-1 and worker-2, block SIGPROF; each uses MS of CPU time.
 * deaf handler MS: the process replaces the handler of SIGPROF; one thread uses MS.
 * deaf hear MS: neither; two threads use MS each.
 * deaf urgent MS: the same, but they block SIGURG.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int blocks; /* which signal */
static long wanted_ms;
static volatile unsigned long sink;

static long used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *work(void *name)
{
	uint64_t mask = blocks ? UINT64_C(1) << (blocks - 1) : 0;

	prctl(PR_SET_NAME, name);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
	while (used_ms() < wanted_ms)
		for (int i = 0; i < 20000; i++)
			sink += (unsigned long)i * sink;
	return NULL;
}

static int replace_handler(void)
{
	struct {
		void *handler;
		unsigned long flags, restorer, mask;
	} ignore = {.handler = (void *)SIG_IGN}; /* the kernel's struct sigaction */

	return (int)syscall(SYS_rt_sigaction, SIGPROF, &ignore, NULL, 8);
}

int main(int argc, char **argv)
{
	static char name[2][16] = {"worker-1", "worker-2"};
	pthread_t thread[2];
	int count = 2;

	if (argc != 3)
		return 2;
	wanted_ms = atol(argv[2]);
	if (strcmp(argv[1], "block") == 0)
		blocks = SIGPROF;
	if (strcmp(argv[1], "urgent") == 0)
		blocks = SIGURG;
	if (strcmp(argv[1], "handler") == 0) {
		count = 1;
		if (replace_handler())
			return 1;
	}
	for (int i = 0; i < count; i++)
		pthread_create(&thread[i], NULL, work, name[i]);
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	puts("done");
	return 0;
}
