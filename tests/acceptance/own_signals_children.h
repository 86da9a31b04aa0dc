/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of own_signals.c: what of its signals a program hands down to those that it begins. */
#ifndef ACCEPTANCE_OWN_SIGNALS_CHILDREN_H
#define ACCEPTANCE_OWN_SIGNALS_CHILDREN_H

#include "own_signals.h"

static void run_self(const char *text)
{
	fflush(stdout);
	execl(self, self, "show", number_text, text, (char *)NULL);
	_exit(127);
}

static void wait_for(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	if (status)
		printf("child: %x\n", (unsigned int)status);
}

/* NOLINTBEGIN(cert-env33-c): what system and popen do is what is looked at */
static void by_the_shell(const char *text)
{
	char command[4096], line[256];
	FILE *pipe;

	snprintf(command, sizeof(command), "exec '%s' show %d '%s, system'", self, number, text);
	if (system(command))
		printf("system failed\n");
	snprintf(command, sizeof(command), "exec '%s' show %d '%s, popen'", self, number, text);
	pipe = popen(command, "r");
	while (pipe && fgets(line, sizeof(line), pipe))
		fputs(line, stdout);
	if (!pipe || pclose(pipe))
		printf("popen failed\n");
}
/* NOLINTEND(cert-env33-c) */

static void by_every_way(const char *text)
{
	char *words[] = {self, (char[]){"show"}, number_text, (char *)(uintptr_t)text, NULL};
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		print_mask("fork");
		print_pending("fork");
		print_own("fork");
		run_self(text);
	}
	wait_for(pid);
	pid = vfork();
	if (pid == 0) {
		execv(self, words);
		_exit(127);
	}
	wait_for(pid);
	if (posix_spawn(&pid, self, NULL, NULL, words, environ))
		printf("no spawn\n");
	wait_for(pid);
	by_the_shell(text);
	print_mask(text);
	print_pending(text);
	print_own(text);
}

static void handed_down(void)
{
	sigset_t set = only(number), filled = all(), none;

	sigemptyset(&none);
	fflush(stdout);
	by_every_way("as it is");
	sigprocmask(SIG_BLOCK, &set, NULL);
	by_every_way("it alone blocked");
	sigprocmask(SIG_SETMASK, &filled, NULL);
	by_every_way("all blocked");
	set_action(quiet_handler, 0);
	raise(number);
	by_every_way("pending");
	clear();
	set_action(SIG_IGN, 0);
	by_every_way("ignored");
	sigprocmask(SIG_SETMASK, &filled, NULL);
	by_every_way("ignored and blocked");
	burn_masked(20);
}

static void try_in_vfork(const char *text, void (*change)(void))
{
	char *words[] = {self, (char[]){"show"}, number_text, (char *)(uintptr_t)text, NULL};
	pid_t pid;

	fflush(stdout);
	pid = vfork();
	if (pid == 0) {
		change();
		execv(self, words);
		_exit(127);
	}
	wait_for(pid);
	print_mask(text);
	print_own(text);
	burn_masked(10);
}

static void block_it(void)
{
	sigset_t set = only(number);

	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void block_usr1(void)
{
	sigset_t set = only(SIGUSR1);

	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void open_it(void)
{
	sigset_t set = only(number);

	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void open_all(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 1; i < 65; i++)
		signal(i, SIG_DFL);
}

/* A child that shares memory with its parent, but neither mask nor actions. */
static void vforks(void)
{
	try_in_vfork("vfork blocks it", block_it);
	block_it();
	try_in_vfork("vfork blocks another", block_usr1);
	try_in_vfork("vfork opens it", open_it);
	try_in_vfork("vfork opens all", open_all);
	set_action(quiet_handler, SA_RESTART);
	try_in_vfork("vfork resets all", open_all);
	raise(number);
	print_pending("pending");
	open_it();
	printf("caught %d\n", (int)caught);
}

/* What is pending stays so over exec: to the thread, and to the process. */
static void pending_over_exec(void)
{
	for (int way = 0; way < 4; way++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			if (way & 2)
				set_action(quiet_handler, 0);
			block_it();
			burn_masked(20);
			if (way & 1)
				kill(getpid(), number);
			else
				raise(number);
			burn_masked(10);
			run_self("pending over exec");
		}
		wait_for(pid);
	}
}

#endif
