/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin HOW COMMAND: says "ready" and uses CPU time until SIGTERM; at SIGUSR2 it leaves off, and
 * sleeps. Each SIGUSR1 has it begin the shell command as a child; it waits for that and says
 * "done", or "failed". HOW:
 *   vfork   vfork, execl
 *   fork    fork, some CPU time, execve with the environment that it began with
 *   quick   likewise, but by _Fork, which runs no handlers of pthread_atfork
 *   spawn   posix_spawn, likewise
 *   system  system
 *   popen   popen
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char shell[] = "/bin/sh", dash_c[] = "-c";

pid_t _Fork(void) __attribute__((weak)); /* glibc has it since 2.34 */

static volatile unsigned long sink;
static volatile sig_atomic_t is_quiet;
static char *first_env[1024];

__attribute__((noreturn)) static void *burn(void *arg)
{
	const struct timespec pause = {.tv_sec = 100};

	(void)arg;
	for (;;) {
		sink += sink * 3 + 1;
		if (is_quiet)
			nanosleep(&pause, NULL);
	}
}

static void burn_a_while(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 20;

	while (clock() < end)
		sink += sink * 3 + 1;
}

static void keep_environment(char **env)
{
	size_t i = 0;

	for (; env[i] && i < sizeof(first_env) / sizeof(first_env[0]) - 1; i++)
		first_env[i] = strdup(env[i]);
}

static void unblock(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static pid_t begin(const char *how, char *command)
{
	char *argv[] = {shell, dash_c, command, NULL};
	pid_t child = -1;

	if (!strcmp(how, "vfork")) {
		child = vfork();
		if (child == 0) {
			execl(shell, shell, "-c", command, (char *)NULL);
			_exit(127);
		}
	} else if (!strcmp(how, "fork") || !strcmp(how, "quick")) {
		child = how[0] == 'q' && _Fork ? _Fork() : fork();
		if (child == 0) {
			unblock();
			burn_a_while();
			execve(shell, argv, first_env);
			_exit(127);
		}
	} else if (posix_spawn(&child, shell, NULL, NULL, argv, first_env)) {
		child = -1;
	}
	return child;
}

static void carry_out(const char *how, char *command)
{
	char line[4096];
	int status = 0;
	FILE *f;

	if (!strcmp(how, "system")) {
		status = system(command);
	} else if (!strcmp(how, "popen")) {
		f = popen(command, "r");
		while (f && fgets(line, sizeof(line), f))
			fputs(line, stdout);
		status = f ? pclose(f) : -1;
	} else if (waitpid(begin(how, command), &status, 0) < 0) {
		status = -1;
	}
	puts(status ? "failed" : "done");
	fflush(stdout);
}

int main(int argc, char **argv, char **env)
{
	pthread_t thread;
	sigset_t asked;

	if (argc != 3)
		return 2;
	keep_environment(env);
	sigemptyset(&asked);
	sigaddset(&asked, SIGUSR1);
	sigaddset(&asked, SIGUSR2);
	sigaddset(&asked, SIGTERM);
	sigprocmask(SIG_BLOCK, &asked, NULL);
	if (pthread_create(&thread, NULL, burn, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		int number = sigwaitinfo(&asked, NULL);

		if (number == SIGTERM)
			return 0;
		if (number == SIGUSR2)
			is_quiet = 1;
		if (number == SIGUSR1)
			carry_out(argv[1], argv[2]);
	}
}
