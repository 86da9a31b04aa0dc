/* SPDX-License-Identifier: Apache-2.0 */
/* Finds verbs by name and by group in the list that main() hands over, or the name that was meant.
 */
#include "cli/frame/cli.h"

#include "base/text/nearest.h"

#include <string.h>

const struct cli_command *const *cli_commands;

const struct cli_command *cli_command_find(const char *name)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (!strcmp(cli_commands[i]->name, name))
			return cli_commands[i];
	return NULL;
}

size_t cli_group_bytes(const struct cli_command *command)
{
	const char *blank = strchr(command->name, ' ');

	return blank ? (size_t)(blank - command->name) : 0;
}

int cli_in_group(const struct cli_command *command, const char *group)
{
	size_t bytes = cli_group_bytes(command);

	return bytes && strlen(group) == bytes && !strncmp(command->name, group, bytes);
}

int cli_group_is(const char *word)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (cli_in_group(cli_commands[i], word))
			return 1;
	return 0;
}

int cli_refuse_verb(const char *name)
{
	struct nearest search = {name, NULL, 0};

	for (size_t i = 0; cli_commands[i]; i++)
		if (!(cli_commands[i]->flags & CLI_COMMAND_HIDDEN))
			nearest_offer(&search, cli_commands[i]->name);
	if (search.best)
		return cli_usage("unknown verb '%s'; did you mean '%s'?", name, search.best);
	return cli_usage("unknown %s '%s'", name[0] == '-' ? "option" : "verb", name);
}
