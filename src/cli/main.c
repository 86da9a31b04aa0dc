/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft VERB ...: finds the verb (one word, or two: "coro run"), parses its options by its table,
 * runs it. What went to stdout is checked at the end: an output that was not written is a
 * failure.
 */
#include "cli/commands.h"
#include "cli/coro/coro_tracer.h"
#include "cli/frame/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
	status = command->run(args);
	cli_args_free(args);
	return status;
}

static int refuse_verb(const char *name)
{
	return cli_refuse_verb(name, name[0] == '-' ? "option" : "verb");
}

/* weft GROUP [VERB] ... */
static int run_of_group(const char *group, int argc, char **argv)
{
	char name[64];
	const struct cli_command *command;

	if (argc < 2) {
		cli_help_group(stderr, group);
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		cli_help_group(stdout, group);
		return CLI_DONE;
	}
	snprintf(name, sizeof(name), "%s %s", group, argv[1]);
	command = cli_command_find(name);
	return command ? run_verb(command, argc - 1, argv + 1) : refuse_verb(name);
}

static int run(int argc, char **argv)
{
	const struct cli_command *command;

	if (argc < 2) {
		cli_help(stderr);
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		cli_help(stdout);
		return CLI_DONE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("weft %s\n", cli_version);
		return CLI_DONE;
	}
	if (cli_group_is(argv[1]))
		return run_of_group(argv[1], argc - 1, argv + 1);
	command = cli_command_find(argv[1]);
	return command ? run_verb(command, argc - 1, argv + 1) : refuse_verb(argv[1]);
}

int main(int argc, char **argv)
{
	int status;

	cli_commands = weft_commands;
	status = coro_tracer_is_name(argv[0]) ? coro_tracer_main(argc, argv) : run(argc, argv);

	errno = 0;
	if ((fflush(stdout) || ferror(stdout)) && status == CLI_DONE)
		return cli_error("standard output: %s", strerror(errno ? errno : EIO));
	return status;
}
