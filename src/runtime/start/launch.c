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
 * and the rendezvous PATH lies in a new 0700 directory, which the collector removes. The
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
#define WAIT_AT_EXIT_NS UINT64_C(2000000000)
#define CONNECT_TRIES 100 /* of 10 ms */

extern char **environ;

static int is_root_of_recording;

static int is_command(const char *path)
{
	return !access(path, X_OK);
}

/* Next to the library: two directories of the build tree, and ../bin in a prefix. */
static int command_near_library(char *path, size_t room)
{
	static const char *const places[] = {"../../weft", "../cli/weft", "../bin/weft",
					     "../../bin/weft", "weft"};
	Dl_info info;
	const char *slash;

	if (!dladdr((void *)(uintptr_t)weft_launch, &info) || !info.dli_fname)
		return -ENOENT;
	slash = strrchr(info.dli_fname, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		int bytes = snprintf(path, room, "%.*s/%s", (int)(slash - info.dli_fname),
				     info.dli_fname, places[i]);

		if (bytes > 0 && (size_t)bytes < room && is_command(path))
			return 0;
	}
	return -ENOENT;
}

static int find_command(char *path, size_t room)
{
	const char *named = secure_getenv("WEFT_COMMAND");

	if (named && *named) {
		snprintf(path, room, "%s", named);
		return is_command(path) ? 0 : -ENOENT;
	}
	if (!command_near_library(path, room))
		return 0;
	snprintf(path, room, "%s/weft", WEFT_BINDIR);
	return is_command(path) ? 0 : -ENOENT;
}

/* A 0700 directory of our own: WEFT_DIR, $XDG_RUNTIME_DIR/weft, or /tmp. */
static int make_rendezvous(char *path, size_t room)
{
	const char *base = secure_getenv("WEFT_DIR");
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int is_given = base && *base, bytes;
	char folder[80];

	if (!is_given)
		base = runtime && *runtime && !access(runtime, W_OK) ? runtime : "/tmp";
	bytes = snprintf(folder, sizeof(folder), "%s/%sXXXXXX", base, is_given ? "" : "weft-");
	if (bytes < 0 || (size_t)bytes >= sizeof(folder))
		return -ENAMETOOLONG;
	if (!mkdtemp(folder))
		return -errno;
	bytes = snprintf(path, room, "%s/socket", folder);
	return bytes > 0 && (size_t)bytes < room ? 0 : -ENAMETOOLONG;
}

static void close_all_but_stderr(void)
{
	sys_call1(SYS_close, 0);
	sys_call1(SYS_close, 1);
	if (sys_call3(SYS_close_range, 3, ~0u, 0))
		for (int fd = 3; fd < 65536; fd++)
			sys_call1(SYS_close, fd);
	if (open("/dev/null", O_RDWR) == 0)
		dup2(0, 1);
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

static int wait_for_socket(const char *path, pid_t collector)
{
	struct timespec pause = {.tv_nsec = 10000000};

	for (int i = 0; i < CONNECT_TRIES; i++) {
		if (!access(path, F_OK))
			return 0;
		if (sys_call2(SYS_kill, collector, 0) == -ESRCH)
			return -ESRCH;
		nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

static void forget_rendezvous(char *path)
{
	unlink(path);
	*strrchr(path, '/') = 0;
	rmdir(path);
}

static int absolute_file(const char *file, char *path, size_t room)
{
	static char here[PATH_BYTES];
	int bytes;

	if (file[0] == '/')
		bytes = snprintf(path, room, "%s", file);
	else if (getcwd(here, sizeof(here)))
		bytes = snprintf(path, room, "%s/%s", here, file);
	else
		return -errno;
	return bytes > 0 && (size_t)bytes < room ? 0 : -ENAMETOOLONG;
}

int weft_launch(const char *file)
{
	static char command[PATH_BYTES], output[PATH_BYTES], socket_path[108];
	pid_t collector;
	int failed = find_command(command, sizeof(command));

	if (!failed)
		failed = absolute_file(file, output, sizeof(output));
	if (!failed)
		failed = make_rendezvous(socket_path, sizeof(socket_path));
	if (failed)
		return failed;
	collector = spawn_collector(command, socket_path, output);
	if (collector > 0)
		prctl(PR_SET_PTRACER, (unsigned long)collector, 0, 0, 0);
	failed = collector > 0 ? wait_for_socket(socket_path, collector) : -EAGAIN;
	if (failed) {
		forget_rendezvous(socket_path);
		/* each child would fail in the same way, and report it again */
		unsetenv("WEFT_RECORD");
		return failed;
	}
	is_root_of_recording = 1;
	setenv("WEFT_SOCKET", socket_path, 1);
	return weft_join_set_path(socket_path);
}

static void wait_for_word(uint32_t *word)
{
	uint64_t until_ns = clock_monotonic_ns() + WAIT_AT_EXIT_NS, now_ns;
	struct timespec left;

	while (!load_acquire(word) && (now_ns = clock_monotonic_ns()) < until_ns) {
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
