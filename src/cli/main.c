/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft VERB ...: finds the verb (one word, or two: "coro run"), parses its options by its table,
 * runs it. What went to stdout is checked at the end: an output that was not written is a
 * failure.
 */
#include "cli/commands.h"
#include "cli/coro/coro_tracer.h"
#include "cli/frame/cli.h"
#include "cli/frame/leave.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define THREAD_STACK_BYTES (2 * 1024 * 1024)

/* RLIMIT_STACK is meant for the program that is run; threads of ours would have no more than that.
 */
static void give_threads_room(void)
{
	pthread_attr_t attr;
	size_t bytes;

	if (pthread_getattr_default_np(&attr))
		return;
	if (!pthread_attr_getstacksize(&attr, &bytes) && bytes < THREAD_STACK_BYTES &&
	    !pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES))
		pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

static int run_verb(const struct cli_command *command, int argc, char **argv)
{
	struct cli_args *args;
	int status;

	cli_set_verb(command->name);
	status = cli_parse(&args, command, argc, argv);
	if (status == -1) {
		cli_help_verb(stdout, command);
		return CLI_DONE;
	}
	if (status)
		return status;
	if (command->flags & CLI_COMMAND_TAIL) /* CMD runs, whoever reads what we have to say */
		leave_not_by(SIGPIPE);
	status = command->run(args);
	cli_args_free(args);
	return status;
}

/* weft VERB ..., weft GROUP VERB ... */
static int run_command(int argc, char **argv)
{
	const char *group = argc > 1 && cli_group_is(argv[1]) ? argv[1] : NULL, *name;
	const struct cli_command *command;
	char both[64];

	argc -= group ? 2 : 1;
	argv += group ? 2 : 1;
	name = argc > 0 ? argv[0] : NULL;
	if (!name) {
		cli_help(stderr, group);
		return CLI_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		cli_help(stdout, group);
		return CLI_DONE;
	}
	if (!group && (!strcmp(name, "--version") || !strcmp(name, "-V"))) {
		printf("weft %s\n", cli_version);
		return CLI_DONE;
	}
	if (group) {
		snprintf(both, sizeof(both), "%s %s", group, name);
		name = both;
	}
	command = cli_command_find(name);
	return command ? run_verb(command, argc, argv) : cli_refuse_verb(name);
}

int main(int argc, char **argv)
{
	int status;

	cli_commands = weft_commands;
	give_threads_room();
	leave_not_by(SIGXFSZ);
	status = coro_tracer_is_name(argv[0]) ? coro_tracer_main(argc, argv)
					      : run_command(argc, argv);

	errno = 0;
	if ((fflush(stdout) || ferror(stdout)) && status == CLI_DONE)
		return cli_error("standard output: %s", strerror(errno ? errno : EIO));
	return status;
}
