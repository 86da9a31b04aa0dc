/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm COUNT: forks COUNT children one after the other while two threads burn CPU time.
 * Every second child burns a little and exits; the others exec this program as
 * "storm --leaf", in the middle of a signal's period. Every tenth burns long enough to be
 * sampled. Prints how many did not end well.
 *
 * storm --chain N: burns a little, then execs itself with N - 1, until 0: one process,
 * N programs, a timer armed at every exec.
 *
 * storm --threads COUNT: forks COUNT children that begin a thread at once and compute on both, when
 * no signal can be queued, thus no CPU timer be had: the thread begins the child's session while
 * its main thread's hrtimer may fire.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int over;

static uint64_t burn(unsigned int rounds)
{
	volatile uint64_t sum = 1;

	for (unsigned int i = 0; i < rounds; i++)
		sum = sum * 31 + i;
	return sum;
}

static void *burn_on(void *unused)
{
	while (!over)
		burn(100000);
	return unused;
}

static _Noreturn void be_child(char *self, unsigned long number)
{
	char *leaf[] = {self, (char[]){"--leaf"}, NULL};

	burn(number % 10 ? 50000 + (unsigned int)(number % 7) * 20000 : 8000000);
	if (number % 2)
		_exit(0);
	execv(self, leaf);
	_exit(127);
}

static void *burn_a_while(void *unused)
{
	burn(2000000);
	return unused;
}

static _Noreturn void be_child_of_two(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, burn_a_while, NULL))
		_exit(1);
	burn(5000000);
	_exit(pthread_join(thread, NULL));
}

static int run_child(char *self, unsigned long number)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0 && self)
		be_child(self, number);
	if (pid == 0)
		be_child_of_two();
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		fprintf(stderr, "child %lu: killed by signal %d\n", number, WTERMSIG(status));
	return status;
}

static unsigned long children_of_two(unsigned long count)
{
	const struct rlimit none = {0, 0};
	unsigned long failed = 0;

	if (setrlimit(RLIMIT_SIGPENDING, &none))
		return count;
	for (unsigned long i = 0; i < count; i++)
		failed += run_child(NULL, i) != 0;
	return failed;
}

static int chain(char *self, unsigned long left)
{
	char number[24];
	char *next[] = {self, (char[]){"--chain"}, number, NULL};

	burn(3000000);
	if (left == 0)
		return puts("chain: 0 failed") < 0;
	snprintf(number, sizeof(number), "%lu", left - 1);
	execv(self, next);
	return 127;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[argc - 1], NULL, 10) : 1000, failed = 0;
	pthread_t thread[2];

	if (argc > 1 && !strcmp(argv[1], "--leaf"))
		return burn(50000) == 0;
	if (argc > 2 && !strcmp(argv[1], "--chain"))
		return chain(argv[0], count);
	if (argc > 2 && !strcmp(argv[1], "--threads")) {
		failed = children_of_two(count);
		printf("%lu children, %lu failed\n", count, failed);
		return failed ? 1 : 0;
	}
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, burn_on, NULL))
			return 1;
	for (unsigned long i = 0; i < count; i++)
		failed += run_child(argv[0], i) != 0;
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("%lu children, %lu failed\n", count, failed);
	return failed ? 1 : 0;
}
