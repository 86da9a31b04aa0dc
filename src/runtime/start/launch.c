/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD=libweft.so WEFT_RECORD=FILE: the first process starts a collector of its own.
 *
 * It is double-forked into a session of its own, so that no waitpid(-1) of the program reaps it and
 * no terminal signal reaches it; every inherited descriptor is closed, so that `prog | cat` does
 * not wait for it; stdin and stdout become /dev/null, and stderr does so as soon as the collector
 * has opened its file, or has said why not. The command line is
 *
 *     weft collect --socket PATH -o FILE --root PID
 *
 * and the rendezvous PATH lies in a new 0700 directory, which the collector removes; one that
 * cannot begin does so when it has told why, and if it did not, we tell that it has ended. The
 * constructor waits until a connection is accepted, for at most a second. Children find WEFT_SOCKET
 * in their environment and join; they never begin another file.
 *
 * Runs only in the constructor and at exit: it may allocate.
 */
#include "runtime/start/start.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/core/real.h"
#include "runtime/core/sys.h"
#include "runtime/sample/sample.h"

#ifndef WEFT_BINDIR
#define WEFT_BINDIR "/usr/local/bin"
#endif
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define PATH_BYTES 4096
#define SOCKET_PATH_BYTES 108
#define WAIT_AT_EXIT_NS UINT64_C(2000000000)
#define CONNECT_TRIES 100 /* of 10 ms */

extern char **environ;

static int is_root_of_recording;

static int is_command(const char *path)
{
	return !access(path, X_OK);
}

static int launch_stat(const char *path, int flags, struct stat *st)
{
	return (int)sys_call4(SYS_newfstatat, AT_FDCWD, path, st, flags);
}

/* Its owner is @owner, whom the library belongs to, we or root; of a link, whoever made it. */
static int launch_trusts(const char *path, int flags, uid_t owner, struct stat *st)
{
	return launch_stat(path, flags, st) == 0 && (st->st_uid == owner || st->st_uid == 0 ||
						     st->st_uid == (uid_t)sys_call0(SYS_geteuid));
}

/* Judged are the link that it may be, and what that leads to. */
static int directory_is_safe(const char *path, uid_t owner)
{
	struct stat st = {0};

	return launch_trusts(path, AT_SYMLINK_NOFOLLOW, owner, &st) &&
	       launch_trusts(path, 0, owner, &st) &&
	       (!(st.st_mode & S_IWOTH) || st.st_mode & S_ISVTX);
}

/* Nobody else can have put the command there: a library may lie in /tmp, or in a directory beside
 * which others have theirs. @path is as it was. */
static int is_safe_command(char *path, uid_t owner)
{
	char *slash = strrchr(path, '/');
	struct stat st = {0};
	int is_safe;

	if (!slash || !launch_trusts(path, AT_SYMLINK_NOFOLLOW, owner, &st))
		return 0;
	*slash = '\0';
	is_safe = directory_is_safe(path, owner);
	*slash = '/';
	return is_safe;
}

/* Next to the library: two directories of the build tree, and ../bin in a prefix. */
static int command_near_library(char *path, size_t room)
{
	static const char *const places[] = {"../../weft", "../cli/weft", "../bin/weft",
					     "../../bin/weft", "weft"};
	struct stat library = {0};
	Dl_info info;
	const char *slash;

	if (!dladdr((void *)(uintptr_t)weft_launch, &info) || !info.dli_fname ||
	    launch_stat(info.dli_fname, 0, &library))
		return -ENOENT;
	slash = strrchr(info.dli_fname, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		int bytes = snprintf(path, room, "%.*s/%s", (int)(slash - info.dli_fname),
				     info.dli_fname, places[i]);

		if (bytes > 0 && (size_t)bytes < room && is_command(path) &&
		    is_safe_command(path, library.st_uid))
			return 0;
	}
	return -ENOENT;
}

static int find_command(char *path, size_t room)
{
	const char *named = secure_getenv("WEFT_COMMAND");

	if (named && *named)
		snprintf(path, room, "%s", named);
	else if (command_near_library(path, room))
		snprintf(path, room, "%s/weft", WEFT_BINDIR);
	return is_command(path) ? 0 : -errno;
}

/* A 0700 directory of our own: in WEFT_DIR, $XDG_RUNTIME_DIR, or /tmp; @path is that name, until
 * there is one. */
static int make_rendezvous(char *path, size_t room)
{
	const char *base = secure_getenv("WEFT_DIR");
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int is_given = base && *base, bytes;
	char folder[80];

	if (!is_given)
		base = runtime && *runtime && !access(runtime, W_OK) ? runtime : "/tmp";
	snprintf(path, room, "%s%s", is_given ? "WEFT_DIR=" : "", base);
	bytes = snprintf(folder, sizeof(folder), "%s/%sXXXXXX", base, is_given ? "" : "weft-");
	if (bytes < 0 || (size_t)bytes >= sizeof(folder))
		return -ENAMETOOLONG;
	if (!mkdtemp(folder))
		return -errno;
	bytes = snprintf(path, room, "%s/socket", folder);
	return bytes > 0 && (size_t)bytes < room ? 0 : -ENAMETOOLONG;
}

/* Where the program has no stderr there is /dev/null, or what the collector opens would be its. */
static void close_all_but_stderr(void)
{
	sys_call1(SYS_close, 0);
	sys_call1(SYS_close, 1);
	if (sys_call3(SYS_close_range, 3, ~0u, 0))
		for (int fd = 3; fd < 65536; fd++)
			sys_call1(SYS_close, fd);
	if (open("/dev/null", O_RDWR) == 0)
		dup2(0, 1);
	if (sys_call3(SYS_fcntl, STDERR_FILENO, F_GETFD, 0) < 0)
		dup2(0, STDERR_FILENO);
}

/* 1: what was made for the collector was there still; it is not any more. */
static int forget_rendezvous(const char *socket_path)
{
	char directory[SOCKET_PATH_BYTES];
	const char *slash = strrchr(socket_path, '/');

	snprintf(directory, sizeof(directory), "%.*s", (int)(slash - socket_path), socket_path);
	unlink(socket_path);
	return !rmdir(directory) || errno != ENOENT;
}

/* In the grandchild: becomes the collector, without our preload. */
static void exec_collector(const char *command, const char *socket_path, const char *file,
			   pid_t target)
{
	uint64_t none = 0;
	char pid[16];
	const char *const words[] = {"weft", "collect", "--socket", socket_path, "-o",
				     file,   "--root",  pid,        NULL};

	snprintf(pid, sizeof(pid), "%d", (int)target);
	setsid();
	close_all_but_stderr();
	unsetenv("LD_PRELOAD");
	unsetenv("WEFT_RECORD");
	sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	weft_real(execve)(command, (char **)(uintptr_t)words, environ);
	weft_tell(command, -errno);
	forget_rendezvous(socket_path);
	_exit(127);
}

/* The middle child sends the grandchild's pid through a pipe and ends. */
static pid_t spawn_collector(const char *command, const char *socket_path, const char *file)
{
	pid_t target = getpid(), collector = 0, middle;
	int ends[2], status;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	middle = fork();
	if (middle == 0) {
		collector = fork();
		if (collector == 0)
			exec_collector(command, socket_path, file, target);
		_exit(write(ends[1], &collector, sizeof(collector)) != sizeof(collector));
	}
	close(ends[1]);
	if (middle < 0 || read(ends[0], &collector, sizeof(collector)) != sizeof(collector))
		collector = -1;
	close(ends[0]);
	while (middle > 0 && waitpid(middle, &status, 0) < 0 && errno == EINTR)
		;
	return collector;
}

/* Nobody may be there to reap it, as where the program is PID 1 of a container. */
static int collector_has_ended(pid_t collector)
{
	char path[32], stat[128];
	const char *state;

	if (sys_call2(SYS_kill, collector, 0) == -ESRCH)
		return 1;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)collector);
	if (sys_read_file(path, stat, sizeof(stat)) <= 0)
		return 0;
	state = strrchr(stat, ')');
	return state && state[1] && state[2] == 'Z';
}

static int wait_for_socket(const char *path, pid_t collector)
{
	struct timespec pause = {.tv_nsec = 10000000};

	for (int i = 0; i < CONNECT_TRIES; i++) {
		if (!access(path, F_OK))
			return 0;
		if (collector_has_ended(collector))
			return -ESRCH;
		nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

/* "-" stays, for the collector to refuse. */
static int absolute_file(const char *file, char *path, size_t room)
{
	static WEFT_LARGE char here[PATH_BYTES];
	int bytes;

	if (file[0] == '/' || strcmp(file, "-") == 0)
		bytes = snprintf(path, room, "%s", file);
	else if (getcwd(here, sizeof(here)))
		bytes = snprintf(path, room, "%s/%s", here, file);
	else
		return -errno;
	return bytes > 0 && (size_t)bytes < room ? 0 : -ENAMETOOLONG;
}

/* Each child would fail in the same way, and tell it again. */
static int give_up(const char *what, int error)
{
	unsetenv("WEFT_RECORD");
	if (what)
		weft_tell(what, error);
	return error;
}

int weft_launch(const char *file)
{
	static WEFT_LARGE char command[PATH_BYTES], output[PATH_BYTES];
	static char socket_path[SOCKET_PATH_BYTES];
	pid_t collector;
	int failed = find_command(command, sizeof(command));

	if (failed)
		return give_up(command, failed);
	failed = absolute_file(file, output, sizeof(output));
	if (failed)
		return give_up(file, failed);
	failed = make_rendezvous(socket_path, sizeof(socket_path));
	if (failed)
		return give_up(socket_path, failed);
	collector = spawn_collector(command, socket_path, output);
	if (collector > 0)
		prctl(PR_SET_PTRACER, (unsigned long)collector, 0, 0, 0);
	failed = collector > 0 ? wait_for_socket(socket_path, collector) : -EAGAIN;
	if (failed == -ESRCH)
		return give_up(forget_rendezvous(socket_path) ? "the collector ended at once"
							      : NULL,
			       failed);
	if (failed) {
		forget_rendezvous(socket_path);
		return give_up("the collector does not begin", failed);
	}
	is_root_of_recording = 1;
	setenv("WEFT_SOCKET", socket_path, 1);
	return weft_join_set_path(socket_path);
}

static void wait_for_word(uint32_t *word)
{
	uint64_t until_ns = clock_own_ns() + WAIT_AT_EXIT_NS, now_ns;
	struct timespec left;

	while (!load_acquire(word) && (now_ns = clock_own_ns()) < until_ns) {
		left.tv_sec = (time_t)((until_ns - now_ns) / 1000000000);
		left.tv_nsec = (long)((until_ns - now_ns) % 1000000000);
		sys_call4(SYS_futex, word, FUTEX_WAIT, 0, &left);
	}
}

void weft_launch_wait_for_file(void)
{
	struct weft_session_header *h = weft_rt.header;

	store_release(&h->target_state, WEFT_TARGET_EXITING);
	sys_call3(SYS_futex, &h->target_state, FUTEX_WAKE, INT32_MAX);
	/* Where system calls are filtered it could only spin. */
	if (is_root_of_recording && weft_rt.has_collector && !weft_rt_is_careful())
		wait_for_word(&h->collector_done);
}

void weft_launch_last_words(void)
{
	if (is_root_of_recording && weft_rt_has_session() && weft_rt.pid == 1 && sys_getpid() == 1)
		weft_launch_wait_for_file();
}
