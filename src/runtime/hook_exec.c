/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec hands down what the program set, not what we did: an ignored SIGPROF stays ignored,
 * a blocked one blocked; and no preload that cannot be found (preload.c). Our timers are the
 * kernel's business: exec flushes them.
 *
 * A wrapper may run in a vfork child, in its parent's memory: it writes nothing but its own
 * stack, and makes system calls only where there is something to hand down; both tables
 * that these change, mask and actions, are the child's own.
 */
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "runtime/hooks.h"
#include "runtime/preload.h"
#include "runtime/real.h"
#include "runtime/sampler.h"

extern char **environ;

struct handed_down {
	int ignores, blocks;
	struct sigaction ours;
};

static void hand_down(struct handed_down *h)
{
	struct sigaction ignore;

	h->ignores = h->blocks = 0;
	if (!weft_hook_is_on(WEFT_HOOK_EXEC) || !weft_sampler_is_installed())
		return;
	h->blocks = weft_mask_is_blocked() && !weft_mask_set_real(SIG_BLOCK);
	h->ignores = weft_disposition_is_ignored();
	/* A vfork child that has set its own action hands that down. */
	if (!h->ignores || weft_real_sigaction(SIGPROF, NULL, &h->ours) ||
	    h->ours.sa_sigaction != weft_sampler_handler) {
		h->ignores = 0;
		return;
	}
	memset(&ignore, 0, sizeof(ignore));
	ignore.sa_handler = SIG_IGN;
	weft_real_sigaction(SIGPROF, &ignore, &h->ours);
}

/* In the frame of the wrapper. */
#define CUT_PRELOAD(env)                                                                           \
	do {                                                                                       \
		size_t room = weft_hook_is_on(WEFT_HOOK_EXEC) ? weft_preload_room(env) : 0;        \
		if (room)                                                                          \
			(env) = weft_preload_cut(env, alloca(room));                               \
	} while (0)

/* It failed, or it was another process that was begun. */
static void take_back(const struct handed_down *h)
{
	int saved = errno;

	if (h->ignores)
		weft_real_sigaction(SIGPROF, &h->ours, NULL);
	if (h->blocks)
		weft_mask_set_real(SIG_UNBLOCK);
	errno = saved;
}

WEFT_API int execve(const char *path, char *const argv[], char *const env[])
{
	struct handed_down h;
	int result;

	CUT_PRELOAD(env);
	hand_down(&h);
	result = weft_real(execve)(path, argv, env);
	take_back(&h);
	return result;
}

WEFT_API int execvpe(const char *file, char *const argv[], char *const env[])
{
	struct handed_down h;
	int result;

	CUT_PRELOAD(env);
	hand_down(&h);
	result = weft_real(execvpe)(file, argv, env);
	take_back(&h);
	return result;
}

WEFT_API int fexecve(int fd, char *const argv[], char *const env[])
{
	struct handed_down h;
	int result;

	CUT_PRELOAD(env);
	hand_down(&h);
	result = weft_real(fexecve)(fd, argv, env);
	take_back(&h);
	return result;
}

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

/* @argv has room for first, the rest and NULL; @list is left behind the NULL. */
#define COLLECT(argv, first, list)                                                                 \
	do {                                                                                       \
		size_t at = 0;                                                                     \
		(argv)[at++] = (char *)(uintptr_t)(first);                                         \
		while (((argv)[at] = va_arg(list, char *)))                                        \
			at++;                                                                      \
	} while (0)

#define COUNT(count, first)                                                                        \
	do {                                                                                       \
		va_list counted;                                                                   \
		va_start(counted, first);                                                          \
		(count) = count_arguments(counted);                                                \
		va_end(counted);                                                                   \
	} while (0)

WEFT_API int execl(const char *path, const char *first, ...)
{
	size_t count;
	char **argv;
	va_list list;

	COUNT(count, first);
	argv = alloca((count + 1) * sizeof(*argv));
	va_start(list, first);
	COLLECT(argv, first, list);
	va_end(list);
	return execve(path, argv, environ);
}

WEFT_API int execlp(const char *file, const char *first, ...)
{
	size_t count;
	char **argv;
	va_list list;

	COUNT(count, first);
	argv = alloca((count + 1) * sizeof(*argv));
	va_start(list, first);
	COLLECT(argv, first, list);
	va_end(list);
	return execvpe(file, argv, environ);
}

WEFT_API int execle(const char *path, const char *first, ...)
{
	size_t count;
	char **argv, **env;
	va_list list;

	COUNT(count, first);
	argv = alloca((count + 1) * sizeof(*argv));
	va_start(list, first);
	COLLECT(argv, first, list);
	env = va_arg(list, char **);
	va_end(list);
	return execve(path, argv, env);
}

WEFT_API int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			 const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	struct handed_down h;
	int result;

	CUT_PRELOAD(env);
	hand_down(&h);
	result = weft_real(posix_spawn)(pid, path, actions, attr, argv, env);
	take_back(&h);
	return result;
}

WEFT_API int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	struct handed_down h;
	int result;

	CUT_PRELOAD(env);
	hand_down(&h);
	result = weft_real(posix_spawnp)(pid, file, actions, attr, argv, env);
	take_back(&h);
	return result;
}
