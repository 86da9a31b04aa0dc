/* SPDX-License-Identifier: Apache-2.0 */
/* The list of verbs, in order of help. */
#include "cli/cli.h"

#include "base/nearest.h"

#include <string.h>

extern const struct cli_command cmd_annotate;
extern const struct cli_command cmd_collect;
extern const struct cli_command cmd_completion;
extern const struct cli_command cmd_convert;
extern const struct cli_command cmd_doctor;
extern const struct cli_command cmd_help;
extern const struct cli_command cmd_man;
extern const struct cli_command cmd_record;
extern const struct cli_command cmd_report;
extern const struct cli_command cmd_version;

const struct cli_command *const cli_commands[] = {
	&cmd_record,  &cmd_report,     &cmd_annotate, &cmd_convert, &cmd_doctor, &cmd_help,
	&cmd_version, &cmd_completion, &cmd_man,      &cmd_collect, NULL,
};

const char cli_version[] = WEFT_VERSION;

const struct cli_command *cli_command_find(const char *name)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (!strcmp(cli_commands[i]->name, name))
			return cli_commands[i];
	return NULL;
}

const char *cli_command_nearest(const char *name)
{
	struct nearest search = {name, NULL, 0};

	for (size_t i = 0; cli_commands[i]; i++)
		if (!(cli_commands[i]->flags & CLI_COMMAND_HIDDEN))
			nearest_offer(&search, cli_commands[i]->name);
	return search.best;
}
