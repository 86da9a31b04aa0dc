/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft collect: the collector that LD_PRELOAD=libweft.so WEFT_RECORD=FILE starts by itself.
 * Not for people. It has no terminal and no parent that waits for it; it ignores what would
 * end it before its program has ended, and prints nothing but why it could not begin, with warnings
 * of WEFT_SETTINGS before, or one line at the end of what went wrong: the program's stderr must not
 * be held open in between, and nothing here waits for who reads it. With WEFT_QUIET set it prints
 * nothing there.
 */
#include "base/output.h"
#include "cli/frame/cli.h"
#include "cli/frame/engines.h"
#include "cli/frame/leave.h"
#include "cli/frame/settings_args.h"
#include "collector/run/collector.h"
#include "collector/run/program.h"
#include "proc/proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct cli_option options[] = {
	{"socket", 0, CLI_FILE, 0, "PATH", .help = "Listen there"},
	{"output", 'o', CLI_FILE, 0, "FILE", .help = "Write the recording to FILE"},
	{"root", 0, CLI_COUNT, 0, "PID", .help = "The program that began us"},
	ENGINE_OPTIONS,
	{"stack", 0, CLI_CHOICE, CLI_MORE, "HOW", .help = "How stacks are taken",
	 .fallback = "auto", .choices = collector_stack_modes},
	{"inline-context", 0, CLI_FLAG, .help = "Ids and tags in each sample"},
	{"no-children", 0, CLI_FLAG, .help = "Record the program alone"},
	{0},
};

/* Waits until the program has said that it exits, or has ended without saying so. */
static void wait_for_root(const struct collector *c, pid_t root)
{
	struct pollfd fd[] = {
		{.fd = collector_root_fd(c), .events = POLLIN},
		{.fd = (int)syscall(SYS_pidfd_open, root, 0), .events = POLLIN},
	};

	if (fd[1].fd < 0)
		return;
	while (poll(fd, 2, -1) < 0 && errno == EINTR)
		continue;
	close(fd[1].fd);
}

/* Without a wait, and with a reader. */
static int can_take(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

static void let_go_of_stderr(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDERR_FILENO) < 0)
		close(STDERR_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

/* The program's stderr, with its place in the file, when it waits for the recording and has not
 * made it another; or -1. It is held open no longer than the program waits. */
static int stderr_of(pid_t root, const struct stat *at_start)
{
	int process = (int)syscall(SYS_pidfd_open, root, 0), fd;
	struct stat now;

	if (process < 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0);
	close(process);
	if (fd >= 0 && !fstat(fd, &now) && now.st_dev == at_start->st_dev &&
	    now.st_ino == at_start->st_ino)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* What went wrong after the beginning: on the program's stderr, else in a file beside. */
static void tell_late(int fd, const char *output, const char *what, int rc)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s.error", output);

	if (fd < 0 && n > 0 && (size_t)n < sizeof(path))
		fd = output_grow_file(path, OUTPUT_REPLACE);
	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
		return;
	cli_error("%s: %s", what, strerror(-rc));
	let_go_of_stderr();
}

static void tell_missed(int fd, const char *output, uint32_t count, int rc)
{
	char what[64];

	snprintf(what, sizeof(what), "%u processes could not be recorded", count);
	tell_late(fd, output, what, rc);
}

static int is_quiet(void)
{
	const char *quiet = secure_getenv("WEFT_QUIET");

	return quiet && *quiet;
}

static void cmd_collect_finish(struct collector *c, pid_t root, const char *output,
			       const struct stat *told)
{
	int fd = is_quiet() ? -1 : stderr_of(root, told), rc;
	struct collector_result result;

	collector_root_ended(c, -1);
	rc = collector_complete(c, &result);
	if (fd >= 0 && !can_take(fd)) {
		close(fd);
		fd = -1;
	}
	if (rc)
		tell_late(fd, output, output, rc);
	else if (result.refused)
		tell_missed(fd, output, result.refused, result.refused_error);
	else if (result.gone)
		tell_missed(fd, output, result.gone, -ESRCH);
	if (fd >= 0)
		close(fd);
	collector_let_go(c);
	collector_free(c);
}

/* The words name files as they do for the program: we have its directory. A script is a word. */
static int is_word_of(pid_t root, const char *path)
{
	size_t bytes = 0;
	char *words = proc_read_all_of(root, "cmdline", &bytes);
	int is = 0;

	for (size_t at = 0; words && !is && at < bytes; at += strlen(words + at) + 1)
		is = would_overwrite(words + at, path);
	free(words);
	return is;
}

static int spare_program(const char *path, pid_t root)
{
	char program[32];

	snprintf(program, sizeof(program), "/proc/%d/exe", (int)root);
	if (would_overwrite(program, path))
		return cli_error("%s: is the program itself: name another file", path);
	if (is_word_of(root, path))
		return cli_error("%s: is a file that the program is given: name another", path);
	return CLI_DONE;
}

/*
 * Refuses what would harm the program, or would never end: nobody can interrupt the wait for a
 * pipe's reader. *pipe_fd is to be held open until the recording is, so that the reader does not
 * read an end before its beginning.
 */
static int check_place(const char *path, pid_t root, int *pipe_fd)
{
	struct stat st;
	int status;

	if (output_is_standard(path))
		return cli_error("%s: standard output is the program's: name a file", path);
	if (output_is_descriptor(path))
		return cli_error("%s: descriptors are not handed on to the collector: name a file",
				 path);
	status = spare_program(path, root);
	if (status || stat(path, &st) != 0 || !S_ISFIFO(st.st_mode) || output_check(path) != 0)
		return status;
	*pipe_fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (*pipe_fd < 0 && errno == ENXIO)
		return cli_error("%s: %s", path, output_why(-ENXIO));
	return CLI_DONE;
}

/* Tells why not, on the program's stderr. */
static int cmd_collect_begin(struct collector **c, const struct collector_options *o)
{
	int pipe_fd = -1, status = check_place(o->path, o->root, &pipe_fd), rc;
	const char *what;

	if (status)
		return status;
	output_never_wait(); /* the last reader may have gone since */
	rc = collector_open(c, o, &what);
	if (pipe_fd >= 0)
		close(pipe_fd);
	if (!rc)
		return CLI_DONE;
	return cli_error("%s: %s", what, what == o->path ? output_why(rc) : strerror(-rc));
}

/* Its directory was made for us alone. That it is gone says that whoever began us need not tell why
 * there is no recording (src/runtime/start/launch.c). */
static void collect_has_told(const char *socket_path)
{
	char *path = socket_path ? strdup(socket_path) : NULL;

	if (path)
		rmdir(dirname(path));
	free(path);
}

static int collect(const struct cli_args *args)
{
	pid_t root = (pid_t)cli_number(args, "root");
	char *command_line = process_command_line_of(root);
	struct collector_options o = {
		.path = cli_text(args, "output"),
		.socket = cli_text(args, "socket"),
		.command_line = command_line ? command_line : "",
		.version = cli_version,
		.root = root,
		.stack_mode = (enum weft_stack_mode)collector_stack_mode(cli_text(args, "stack")),
		.inline_context = cli_flag(args, "inline-context"),
		.no_children = cli_flag(args, "no-children"),
	};
	struct stat told = {0};
	struct program_life own;
	sigset_t none;
	struct collector *c;
	int rc;

	if (!o.path || !o.socket || !root)
		return cli_usage("--socket, --output and --root are needed");
	rc = engines_read(args, &o);
	if (rc == 0)
		rc = settings_args_read(NULL, &o);
	if (rc)
		return rc;
	sigemptyset(&none);
	program_prepare(&own, &none);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (!can_take(STDERR_FILENO))
		let_go_of_stderr();
	rc = cmd_collect_begin(&c, &o);
	free(command_line);
	settings_args_free(&o);
	if (rc)
		return rc;
	fstat(STDERR_FILENO, &told);
	let_go_of_stderr();
	wait_for_root(c, root);
	cmd_collect_finish(c, root, o.path, &told);
	return CLI_DONE;
}

static int run(const struct cli_args *args)
{
	int status;

	if (is_quiet() || !can_take(STDERR_FILENO))
		let_go_of_stderr();
	status = collect(args);
	if (status)
		collect_has_told(cli_text(args, "socket"));
	return status;
}

const struct cli_command cmd_collect = {
	.name = "collect",
	.summary = "The collector behind WEFT_RECORD",
	.options = options,
	.run = run,
	.flags = CLI_COMMAND_HIDDEN,
};
