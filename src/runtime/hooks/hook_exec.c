/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec hands down what the program set, not what we did: an ignored SIGPROF or priming signal stays
 * ignored, a blocked SIGPROF blocked; and the environment, as environment.c changes it. A real-time
 * priming signal is given up first: one that came during exec would kill the new program. Our
 * timers need nothing: exec deletes them.
 *
 * A wrapper may run in a vfork child, in its parent's memory: it writes only to its own stack, and
 * makes system calls only if there is something to hand down; the mask and the actions that these
 * change are the child's own.
 */
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/core/real.h"
#include "runtime/hooks/hooks.h"
#include "runtime/sample/mask.h"
#include "runtime/sample/sample.h"

extern char **environ;

struct handed_down {
	int blocks;
	int ignores[WEFT_KEPT_COUNT]; /* signals that were set to be ignored; 0 = none */
	struct sigaction ours[WEFT_KEPT_COUNT];
	int prime_signal; /* the one that was given up; 0 = none */
};

/* A vfork child that has set an action of its own hands that down. */
static int ignore(enum weft_kept which, struct sigaction *ours)
{
	int signo = weft_disposition_signal(which);
	struct sigaction ignored;

	if (!signo || !weft_disposition_is_ignored(which) || !weft_disposition_is_installed(which))
		return 0;
	memset(&ignored, 0, sizeof(ignored));
	ignored.sa_handler = SIG_IGN;
	return weft_real_sigaction(signo, &ignored, ours) ? 0 : signo;
}

/* The program about to be started is to join a recording that has just attached. */
static void meet_attached(void)
{
	if (!weft_hook_is_on(WEFT_HOOK_EXEC))
		return;
	weft_attach_before_children();
	weft_environment_refresh();
}

static void hand_down(struct handed_down *h)
{
	h->blocks = 0;
	h->prime_signal = 0;
	memset(h->ignores, 0, sizeof(h->ignores));
	/* Where system calls are filtered nothing is asked for, not even that. */
	if (!weft_hook_is_on(WEFT_HOOK_EXEC) || weft_rt_is_careful())
		return;
	if (weft_sampler_is_installed())
		h->blocks = weft_mask_is_blocked() && !weft_mask_set_real(SIG_BLOCK);
	for (int i = 0; i < WEFT_KEPT_COUNT; i++)
		h->ignores[i] = ignore((enum weft_kept)i, &h->ours[i]);
}

/* For exec of this process, not for a child that it spawns. */
static void hook_exec_hand_over(struct handed_down *h)
{
	hand_down(h);
	weft_account_process();
	if (weft_hook_is_on(WEFT_HOOK_EXEC))
		h->prime_signal = weft_prime_before_exec();
}

/* In the frame of the wrapper, whose room it uses. */
#define PASS_ENVIRONMENT(env, ...)                                                                 \
	do {                                                                                       \
		const struct weft_begun begun = {__VA_ARGS__};                                     \
		struct weft_environment_change change = {0, 0};                                    \
		if (weft_hook_is_on(WEFT_HOOK_EXEC))                                               \
			change = weft_environment_plan(env, &begun);                               \
		if (change.room)                                                                   \
			(env) = weft_environment_pass(env, &change, alloca(change.room));          \
	} while (0)

/* exec failed, or another process was started. */
static void hook_exec_restore(const struct handed_down *h)
{
	int saved = errno;

	for (int i = 0; i < WEFT_KEPT_COUNT; i++)
		if (h->ignores[i])
			weft_real_sigaction(h->ignores[i], &h->ours[i], NULL);
	if (h->blocks)
		weft_mask_set_real(SIG_UNBLOCK);
	weft_prime_after_exec(h->prime_signal);
	errno = saved;
}

/* The body of a wrapper: @begin is what comes before @call, which is libc's. */
#define HAND_DOWN(type, begin, call)                                                               \
	do {                                                                                       \
		struct handed_down h;                                                              \
		type result;                                                                       \
                                                                                                   \
		begin(&h);                                                                         \
		result = (call);                                                                   \
		hook_exec_restore(&h);                                                             \
		return result;                                                                     \
	} while (0)

#define EXEC(name, type, target, ...)                                                              \
	WEFT_API int name(type target, char *const argv[], char *const env[])                      \
	{                                                                                          \
		PASS_ENVIRONMENT(env, __VA_ARGS__);                                                \
		HAND_DOWN(int, hook_exec_hand_over, weft_real(name)(target, argv, env));           \
	}

EXEC(execve, const char *, path, .name = path)
EXEC(execvpe, const char *, file, .name = file, .searches = 1)
EXEC(fexecve, int, fd, .fd = fd)

WEFT_API int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

WEFT_API int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

static size_t count_arguments(va_list list)
{
	size_t count = 1;

	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): each caller begins it */
	while (va_arg(list, char *))
		count++;
	return count;
}

/* Makes an argv of the arguments from @first to NULL, in the wrapper's frame; @list begins, and is
 * then behind the NULL. */
#define COLLECT(argv, first, list)                                                                 \
	do {                                                                                       \
		size_t at = 0;                                                                     \
                                                                                                   \
		va_start(list, first);                                                             \
		(argv) = alloca((count_arguments(list) + 1) * sizeof(*(argv)));                    \
		va_end(list);                                                                      \
		va_start(list, first);                                                             \
		(argv)[at++] = (char *)(uintptr_t)(first);                                         \
		while (((argv)[at] = va_arg(list, char *)))                                        \
			at++;                                                                      \
	} while (0)

WEFT_API int execl(const char *path, const char *first, ...)
{
	char **argv;
	va_list list;

	COLLECT(argv, first, list);
	va_end(list);
	return execve(path, argv, environ);
}

WEFT_API int execlp(const char *file, const char *first, ...)
{
	char **argv;
	va_list list;

	COLLECT(argv, first, list);
	va_end(list);
	return execvpe(file, argv, environ);
}

WEFT_API int execle(const char *path, const char *first, ...)
{
	char **argv, **env;
	va_list list;

	COLLECT(argv, first, list);
	env = va_arg(list, char **);
	va_end(list);
	return execve(path, argv, env);
}

#define SPAWN(function, does_search)                                                               \
	WEFT_API int function(                                                                     \
		pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,           \
		const posix_spawnattr_t *attr, char *const argv[], char *const env[])              \
	{                                                                                          \
		meet_attached();                                                                   \
		PASS_ENVIRONMENT(env, .name = path, .searches = does_search);                      \
		HAND_DOWN(int, hand_down,                                                          \
			  weft_real(function)(pid, path, actions, attr, argv, env));               \
	}

SPAWN(posix_spawn, 0)
SPAWN(posix_spawnp, 1)

/* Both spawn inside libc. The program that system starts may run for long: until then this thread
 * is really blocked, and an ignored SIGPROF is ignored in all threads. */
WEFT_API int system(const char *command)
{
	meet_attached();
	HAND_DOWN(int, hand_down, weft_real(system)(command));
}

WEFT_API FILE *popen(const char *command, const char *type)
{
	meet_attached();
	HAND_DOWN(FILE *, hand_down, weft_real(popen)(command, type));
}
