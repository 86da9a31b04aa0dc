/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execs while somebody is about to send a signal: chains of programs, in each of which a thread
 * that no hook sees, begun by a raw clone, burns CPU time and then calls exec.
 *
 *   exec-storm CHAINS LENGTH    status 1, and a line for each, when one of the chains was killed
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 65536
#define BURN_NS UINT64_C(30000000)
#define BURN_MORE_NS UINT64_C(80000000)

extern char **environ;

static _Alignas(16) char stack[STACK_BYTES];
static char left[16];
static uint64_t burn_ns;

static uint64_t used_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void exec_next(void)
{
	char self[] = "/proc/self/exe", name[] = "exec-storm", link[] = "link";
	char *words[] = {name, link, left, NULL};

	execve(self, words, environ);
	_exit(9);
}

static int burn_and_exec(void *unused)
{
	(void)unused;
	while (used_ns() < burn_ns)
		;
	exec_next();
	return 0;
}

static int be_link(int number)
{
	const int flags = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_FS | CLONE_FILES;
	unsigned int seed = (unsigned int)getpid() * 31u + (unsigned int)number;

	if (number <= 0)
		return 0;
	snprintf(left, sizeof(left), "%d", number - 1);
	burn_ns = BURN_NS + (unsigned int)rand_r(&seed) % BURN_MORE_NS;
	if (clone(burn_and_exec, stack + sizeof(stack), flags, NULL) < 0)
		return 8;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int killed = 0, status;

	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "link") == 0)
		return be_link(atoi(argv[2]));
	for (int i = 0; i < atoi(argv[1]); i++) {
		if (fork() == 0) {
			snprintf(left, sizeof(left), "%s", argv[2]);
			exec_next();
		}
	}
	while (wait(&status) > 0) {
		if (!status)
			continue;
		printf("a chain ended with %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		killed = 1;
	}
	return killed;
}
