/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft's own companions: the library, its hooks (tried by preloading it into this command),
 * directories, environment.
 */
#include "cli/doctor.h"

#include "cli/cli.h"
#include "cli/locate.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

extern char **environ;

static void probe_library(struct finding *out)
{
	char path[PATH_MAX];
	int err = locate_library(path, sizeof(path));
	const char *chosen = getenv("WEFT_LIB");

	if (err) {
		finding_refused(out, FINDING_MISSING, chosen ? chosen : "libweft.so", -err);
		finding_choose(out, "looked beside the command, in the build tree and under its "
				    "prefix; WEFT_LIB names another place");
		return;
	}
	finding_set(out, FINDING_OK, "%s", path);
	if (chosen)
		finding_choose(out, "by WEFT_LIB");
}

/* ---- hooks */

static void *nothing(void *argument)
{
	return argument;
}

/* Is the function that a program would call by this name libweft's? */
static int is_hooked(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);
	Dl_info info;

	return function && dladdr(function, &info) && info.dli_fname &&
	       strstr(info.dli_fname, "libweft") != NULL;
}

int doctor_list_hooks(void)
{
	static const char *const names[] = {
		"pthread_create", "thrd_create",     "pthread_exit", "sigaction",    "signal",
		"sigprocmask",    "pthread_sigmask", "sigsuspend",   "ppoll",        "pselect",
		"epoll_pwait",    "sigwait",         "sigwaitinfo",  "sigtimedwait", "execve",
		"execvpe",        "posix_spawn",     "fork",         "vfork",        "_exit",
	};
	pthread_t thread;

	if (!is_hooked("weft_runtime_v1"))
		return cli_error("libweft.so: not loaded by LD_PRELOAD");
	/* a program must live on with the hooks in its way */
	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
		return cli_error("libweft.so: a thread cannot be started under it");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_hooked(names[i]))
			printf("%s ", names[i]);
	return CLI_DONE;
}

static void become_preloaded(const char *self, const char *library, int output)
{
	char *const argv[] = {(char *)(uintptr_t) "weft", (char *)(uintptr_t) "doctor",
			      (char *)(uintptr_t) "--list-hooks", NULL};

	/* a recording that we happen to be in is not ours to fill */
	unsetenv("WEFT_SOCKET");
	unsetenv("WEFT_RECORD");
	if (setenv("LD_PRELOAD", library, 1) || dup2(output, STDOUT_FILENO) < 0)
		_exit(126);
	dup2(output, STDERR_FILENO);
	execv(self, argv);
	_exit(127);
}

static void read_all(int fd, char *text, size_t room)
{
	size_t used = 0;
	ssize_t n;

	while (used + 1 < room && (n = read(fd, text + used, room - used - 1)) != 0) {
		if (n < 0 && errno != EINTR)
			break;
		used += n > 0 ? (size_t)n : 0;
	}
	text[used] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

/* Runs this command with the library preloaded; its exit status or -errno. */
static int run_preloaded(const char *library, char *text, size_t room)
{
	char self[PATH_MAX];
	int ends[2], status, err = locate_self(self, sizeof(self));
	pid_t child;

	if (err)
		return err;
	if (pipe(ends))
		return -errno;
	fflush(stdout);
	child = fork();
	if (child == 0)
		become_preloaded(self, library, ends[1]);
	close(ends[1]);
	if (child > 0)
		read_all(ends[0], text, room);
	close(ends[0]);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void probe_preload(struct finding *out)
{
	char library[PATH_MAX], text[256] = "";
	int status;

	if (locate_library(library, sizeof(library))) {
		finding_set(out, FINDING_MISSING, "no libweft.so to preload");
		return;
	}
	status = run_preloaded(library, text, sizeof(text));
	if (status < 0)
		finding_refused(out, FINDING_MISSING, "running under it", -status);
	else if (status)
		finding_set(out, FINDING_MISSING, "a program under it ended with %d: %s", status,
			    text);
	else
		finding_set(out, strstr(text, "pthread_create") ? FINDING_OK : FINDING_LIMITED,
			    "%s", *text ? text : "none");
	finding_choose(out,
		       "libweft.so stands before these functions in a recorded program; "
		       "WEFT_HOOKS=%s switches groups off",
		       getenv("WEFT_HOOKS") ? getenv("WEFT_HOOKS") : "");
}

static void probe_libc(struct finding *out)
{
#ifdef __GLIBC__
	finding_set(out, FINDING_INFO, "glibc %s", gnu_get_libc_version());
#else
	finding_set(out, FINDING_INFO, "no glibc");
#endif
	finding_choose(out, "this command's; libweft.so asks for no symbol version, so that a "
			    "program may have another");
}

/* ---- directories */

static int cache_directory(char *path, size_t room)
{
	const char *chosen = getenv("WEFT_CACHE");
	const char *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	int n = -1;

	if (chosen && *chosen)
		n = snprintf(path, room, "%s", chosen);
	else if (xdg && *xdg == '/')
		n = snprintf(path, room, "%s/weft", xdg);
	else if (home && *home == '/')
		n = snprintf(path, room, "%s/.cache/weft", home);
	if (n < 0)
		return -ENOENT;
	return (size_t)n < room ? 0 : -ENAMETOOLONG;
}

/* Cut a path back to what exists of it; what is behind could be made there. */
static void existing_part(char *path)
{
	char *slash;

	while (access(path, F_OK) && (slash = strrchr(path, '/')) && slash != path)
		*slash = '\0';
}

static void probe_cache(struct finding *out)
{
	char path[PATH_MAX], existing[PATH_MAX];
	struct stat st;
	int err = cache_directory(path, sizeof(path));

	finding_choose(out, "unwind tables may be kept there by build-id; WEFT_CACHE names "
			    "another place");
	if (err) {
		finding_set(out, FINDING_LIMITED, "no HOME, XDG_CACHE_HOME or WEFT_CACHE");
		return;
	}
	strcpy(existing, path);
	existing_part(existing);
	if (access(existing, W_OK | X_OK) || stat(existing, &st))
		finding_set(out, FINDING_LIMITED, "%s: %s", existing, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		finding_set(out, FINDING_LIMITED, "%s: %s", existing, strerror(ENOTDIR));
	else
		finding_set(out, FINDING_OK, "%s%s", path,
			    strcmp(path, existing) ? " (can be made)" : "");
}

static void probe_environment(struct finding *out)
{
	size_t used = 0;

	finding_set(out, FINDING_INFO, "nothing set");
	for (char **entry = environ; *entry; entry++) {
		int n;

		if (strncmp(*entry, "WEFT_", 5) && strncmp(*entry, "LD_PRELOAD=", 11) &&
		    strncmp(*entry, "LD_AUDIT=", 9))
			continue;
		n = snprintf(out->value + used, sizeof(out->value) - used, "%s%s", used ? " " : "",
			     *entry);
		used += n > 0 ? (size_t)n : 0;
		if (used >= sizeof(out->value))
			break;
	}
}

const struct probe doctor_weft[] = {
	{"library", "libweft.so", NULL, 1, probe_library},
	{"hooks", "hooks", NULL, 1, probe_preload},
	{"libc", "C library", NULL, 0, probe_libc},
	{"rendezvous", "rendezvous", NULL, 1, doctor_rendezvous},
	{"cache", "cache directory", NULL, 0, probe_cache},
	{"environment", "environment", NULL, 0, probe_environment},
	{NULL, NULL, NULL, 0, NULL},
};
