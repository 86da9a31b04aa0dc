/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nothing [CHILDREN]: ends at once; or starts itself CHILDREN times, one after the other,
 * by fork and exec, waits for each, and prints the nanoseconds that this took.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int run_child(char *self)
{
	char *argv[] = {self, NULL};
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execv(self, argv);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	unsigned long children = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	uint64_t start = now_ns();

	for (unsigned long i = 0; i < children; i++)
		if (run_child(argv[0]))
			return 1;
	if (children)
		printf("%" PRIu64 "\n", now_ns() - start);
	return 0;
}
