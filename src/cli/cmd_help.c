/* SPDX-License-Identifier: Apache-2.0 */
/* weft help [VERB], where a verb may have two words. */
#include "cli/frame/cli.h"

#include <stdio.h>

static int run(const struct cli_args *args)
{
	const char *name = cli_operand(args, 0), *second = cli_operand(args, 1);
	char both[64];
	const struct cli_command *command;

	if (!name || (!second && cli_group_is(name))) {
		cli_help(stdout, name);
		return CLI_DONE;
	}
	if (second) {
		snprintf(both, sizeof(both), "%s %s", name, second);
		name = both;
	}
	command = cli_command_find(name);
	if (!command)
		return cli_refuse_verb(name);
	cli_help_verb(stdout, command);
	return CLI_DONE;
}

static const struct cli_example examples[] = {
	{"weft help doctor", "the same as weft doctor --help"},
	{NULL, NULL},
};

const struct cli_command cmd_help = {
	.name = "help",
	.summary = "Show what weft can do, or how to use a verb",
	.operands = "[VERB]",
	.operands_max = 2,
	.examples = examples,
	.run = run,
};
