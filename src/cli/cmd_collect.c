/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft collect: the collector that LD_PRELOAD=libweft.so WEFT_RECORD=FILE starts by itself.
 * Not for people. It has no terminal and no parent that waits for it; it ignores what would
 * end it before its program has ended, and prints nothing but why it could not begin: the
 * program's stderr, which it has until then, must not be held open.
 */
#include "cli/cli.h"
#include "collector/collector.h"
#include "collector/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct cli_option options[] = {
	{"socket", 0, CLI_FILE, 0, "PATH", "Listen there", NULL, NULL},
	{"output", 'o', CLI_FILE, 0, "FILE", "Write the recording to FILE", NULL, NULL},
	{"root", 0, CLI_COUNT, 0, "PID", "The program that began us", NULL, NULL},
	{"frequency", 'F', CLI_RATE, 0, "HZ", "Samples for each second of CPU time", "199", NULL},
	{"interval", 'i', CLI_TIME, 0, "TIME", "CPU time between two samples", NULL, NULL},
	{"stack", 0, CLI_CHOICE, CLI_MORE, "HOW", "How stacks are taken", "auto",
	 collector_stack_modes},
	{"inline-context", 0, CLI_FLAG, 0, NULL, "Ids and tags in each sample", NULL, NULL},
	{"no-children", 0, CLI_FLAG, 0, NULL, "Record the program alone", NULL, NULL},
	{0},
};

static char *command_line_of(pid_t pid)
{
	char path[32];
	size_t bytes = 0;
	char *text;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	text = process_read_file(AT_FDCWD, path, &bytes);
	for (size_t i = 0; text && i + 1 < bytes; i++)
		if (text[i] == 0)
			text[i] = ' ';
	return text;
}

/* Until the program has said that it exits, or has ended without a word. */
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

static void let_go_of_stderr(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDERR_FILENO) < 0)
		close(STDERR_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

static int run(const struct cli_args *args)
{
	pid_t root = (pid_t)cli_number(args, "root");
	char *command_line = command_line_of(root);
	struct collector_options o = {
		.path = cli_text(args, "output"),
		.socket = cli_text(args, "socket"),
		.command_line = command_line ? command_line : "",
		.version = cli_version,
		.root = root,
		.stack_mode = (enum weft_stack_mode)collector_stack_mode(cli_text(args, "stack")),
		.inline_context = cli_flag(args, "inline-context"),
		.no_children = cli_flag(args, "no-children"),
		.period_ns = cli_number(args, "interval"),
	};
	struct collector_result result;
	struct program_life own;
	sigset_t none;
	struct collector *c;
	const char *what;
	int rc;

	if (!o.path || !o.socket || !root)
		return cli_usage("--socket, --output and --root are needed");
	if (!o.period_ns)
		o.period_ns = UINT64_C(1000000000000) / cli_number(args, "frequency");
	sigemptyset(&none);
	program_prepare(&own, &none);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	rc = collector_open(&c, &o, &what);
	free(command_line);
	if (rc)
		return cli_error("%s: %s", what, strerror(-rc));
	let_go_of_stderr();
	wait_for_root(c, root);
	rc = collector_finish(c, &result);
	collector_free(c);
	return rc ? cli_error("%s: %s", o.path, strerror(-rc)) : CLI_DONE;
}

const struct cli_command cmd_collect = {
	.name = "collect",
	.summary = "The collector behind WEFT_RECORD",
	.options = options,
	.run = run,
	.flags = CLI_COMMAND_HIDDEN,
};
