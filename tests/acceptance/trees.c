/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trees KIND: processes made in every way there is. Each uses CPU time in a function of its
 * own, burn_in_child_N, and then appends a line to the file TREES_LOG:
 *
 *   pid  comm  burn_in_child_N  milliseconds of CPU time since the process began, or exec'ed
 *
 * so that a recording can be held against what the processes say of themselves. The pid is as
 * the process sees itself. TREES_MS is the time that each uses (200).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
extern pid_t _Fork(void) __attribute__((weak)); /* from glibc 2.34 on */

static const char *self;
static int64_t began_us; /* CPU time that was used before exec */
static long wanted_ms = 200;

static int64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

#define BURN(number)                                                                               \
	__attribute__((noinline)) static void burn_in_child_##number(int64_t until)                \
	{                                                                                          \
		volatile uint64_t sum = (number);                                                  \
		while (cpu_us() < until)                                                           \
			for (int i = 0; i < 50000; i++)                                            \
				sum = sum * 31 + (uint64_t)i;                                      \
	}
BURN(0)
BURN(1)
BURN(2)
BURN(3)
BURN(4)
BURN(5)

static void (*const burners[])(int64_t) = {burn_in_child_0, burn_in_child_1, burn_in_child_2,
					   burn_in_child_3, burn_in_child_4, burn_in_child_5};

static void tell(int number, int64_t since_us)
{
	const char *path = getenv("TREES_LOG");
	char comm[17] = "", line[128];
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1, bytes;

	prctl(PR_GET_NAME, comm);
	bytes = snprintf(line, sizeof(line), "%d\t%s\tburn_in_child_%d\t%ld\n", (int)getpid(), comm,
			 number, (long)((cpu_us() - since_us) / 1000));
	if (fd < 0 || write(fd, line, (size_t)bytes) != bytes)
		_exit(99);
	close(fd);
}

/* @since_us: what the CPU clock said when the process began: 0, but after exec. */
static void burn(int number, int64_t since_us)
{
	burners[number](cpu_us() + wanted_ms * 1000);
	tell(number, since_us);
}

static int wait_for(pid_t pid)
{
	int status = -1;

	if (pid < 0)
		return 1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status != 0;
}

static int do_leaf(char **words)
{
	burn(atoi(words[0]), began_us);
	return 0;
}

/* Two generations. */
static int do_fork(char **words)
{
	pid_t pid;
	int status;

	(void)words;
	burn(0, began_us);
	pid = fork();
	if (pid)
		return wait_for(pid);
	burn(1, 0);
	pid = fork();
	status = pid ? wait_for(pid) : 0;
	if (pid == 0)
		burn(2, 0);
	exit(status);
}

static int do__Fork(char **words)
{
	pid_t pid;

	(void)words;
	burn(0, began_us);
	pid = _Fork ? _Fork() : fork();
	if (pid == 0) {
		burn(1, 0);
		_exit(0);
	}
	return wait_for(pid);
}

static int be_cloned(void *number)
{
	burn(*(int *)number, 0);
	return 0;
}

static int do_clone(char **words)
{
	static char stack[256 * 1024] __attribute__((aligned(64)));
	int one = 1;
	pid_t pid;

	(void)words;
	burn(0, began_us);
	pid = clone(be_cloned, stack + sizeof(stack), SIGCHLD, &one);
	return wait_for(pid);
}

/* A master, and a worker that gives up its privileges. */
static int do_worker(char **words)
{
	pid_t pid;

	burn(0, began_us);
	pid = fork();
	if (pid)
		return wait_for(pid);
	if (!words[0] || setuid((uid_t)atol(words[0])))
		_exit(3);
	burn(1, 0);
	_exit(0);
}

static int do_vfork(char **words)
{
	pid_t pid;

	(void)words;
	burn(0, began_us);
	pid = vfork();
	if (pid == 0) {
		execl(self, "leaf", "leaf", "1", (char *)NULL);
		_exit(127);
	}
	burn(2, cpu_us()); /* on, in the parent */
	return wait_for(pid);
}

static int do_spawn(char **words)
{
	char *argv[] = {(char[]){"leaf"}, (char[]){"leaf"}, (char[]){"1"}, NULL};
	pid_t pid;

	(void)words;
	burn(0, began_us);
	if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
		return 1;
	return wait_for(pid);
}

static int do_system(char **words)
{
	char command[4096];

	(void)words;
	burn(0, began_us);
	snprintf(command, sizeof(command), "'%s' leaf 1; '%s' leaf 2", self, self);
	return system(command); /* NOLINT(cert-env33-c) */
}

static int do_popen(char **words)
{
	char command[4096];
	FILE *pipe;

	(void)words;
	burn(0, began_us);
	snprintf(command, sizeof(command), "'%s' leaf 1; echo over", self);
	pipe = popen(command, "r"); /* NOLINT(cert-env33-c) */
	if (!pipe || !fgets(command, sizeof(command), pipe) || strcmp(command, "over\n") != 0)
		return 1;
	return pclose(pipe);
}

static int do_daemon(char **words)
{
	(void)words;
	burn(0, began_us);
	if (daemon(0, 0)) /* the parent ends here */
		return 1;
	burn(1, 0);
	return 0;
}

static void close_all(void)
{
	for (int fd = 0; fd < 4096; fd++)
		close(fd);
}

/* As the old ones do it: two forks, a session of its own, no descriptor left; then a worker
 * that outlives it. */
static int do_old_daemon(char **words)
{
	pid_t pid;

	(void)words;
	burn(0, began_us);
	pid = fork();
	if (pid)
		return wait_for(pid);
	setsid();
	if (fork())
		_exit(0);
	close_all();
	if (chdir("/"))
		_exit(1);
	burn(1, 0);
	if (fork())
		_exit(0);
	usleep(300000);
	burn(2, 0);
	_exit(0);
}

/* Becomes the programs that the words name, one after the other. */
static int do_chain(char **words)
{
	int number = 0;

	while (words[number])
		number++;
	burn(number, began_us);
	if (!words[0])
		return 0;
	execv(words[0],
	      (char *[]){words[0], (char[]){"chain"}, words[1], words[1] ? words[2] : NULL,
			 words[1] && words[2] ? words[3] : NULL, NULL});
	return 127;
}

static const struct {
	const char *name;
	int (*run)(char **words);
} kinds[] = {
	{"leaf", do_leaf},     {"fork", do_fork},
	{"_Fork", do__Fork},   {"clone", do_clone},
	{"vfork", do_vfork},   {"spawn", do_spawn},
	{"system", do_system}, {"popen", do_popen},
	{"daemon", do_daemon}, {"old-daemon", do_old_daemon},
	{"chain", do_chain},   {"worker", do_worker},
};

int main(int argc, char **argv)
{
	static char path[4096];
	ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);

	began_us = cpu_us();
	self = getenv("TREES_SELF") ? getenv("TREES_SELF") : path;
	if (getenv("TREES_MS"))
		wanted_ms = atol(getenv("TREES_MS"));
	for (size_t i = 0; bytes > 0 && argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			return kinds[i].run(argv + 2);
	return 2;
}
