/* SPDX-License-Identifier: Apache-2.0 */
/* Help from the tables: `weft --help` and `weft VERB --help`. */
#include "cli/frame/cli.h"

#include "cli/frame/term.h"

#include <stdio.h>
#include <string.h>

#define HELP_COLUMN 28

static void list_verbs(FILE *out, const char *group)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (!(cli_commands[i]->flags & CLI_COMMAND_HIDDEN) &&
		    (!group || cli_in_group(cli_commands[i], group)))
			fprintf(out, "  %-12s  %s\n", cli_commands[i]->name,
				cli_commands[i]->summary);
}

void cli_help(FILE *out, const char *group)
{
	if (group) {
		fprintf(out,
			"Usage: weft %s VERB [OPTION]... [OPERAND]...\n"
			"       weft %s VERB --help\n\n"
			"Verbs:\n",
			group, group);
		list_verbs(out, group);
		return;
	}
	fputs("weft - a profiler that knows which request every sample worked for\n\n"
	      "Usage: weft VERB [OPTION]... [OPERAND]...\n"
	      "       weft VERB --help | --help | --version\n\n"
	      "Verbs:\n",
	      out);
	list_verbs(out, NULL);
	fputs("\nExamples:\n"
	      "  weft record -- ./server         record a program\n"
	      "  weft report --by tag:route      which route burnt the CPU\n"
	      "  weft record -e wall -- ./shop   which requests waited, and where\n"
	      "  weft record -p 4711             a program that runs (weft ps lists them)\n"
	      "  weft doctor                     what this machine allows\n",
	      out);
}

static void print_option(FILE *out, const struct cli_option *option)
{
	char left[64], choices[CLI_CHOICES_BYTES], right[512];

	snprintf(left, sizeof(left), "%c%c%s --%s%s%s%s", option->letter ? '-' : ' ',
		 option->letter ? option->letter : ' ', option->letter ? "," : " ", option->name,
		 !option->argument          ? ""
		 : option->flags & CLI_BARE ? "[="
					    : " ",
		 option->argument ? option->argument : "", option->flags & CLI_BARE ? "]" : "");
	if (strlen(left) > HELP_COLUMN - 6)
		fprintf(out, "  %s\n  %*s", left, HELP_COLUMN - 4, "");
	else
		fprintf(out, "  %-*s", HELP_COLUMN - 4, left);
	snprintf(right, sizeof(right), "%s%s%s%s%s%s", option->help, option->choices ? ": " : "",
		 cli_choices_text(option, choices), option->fallback ? " [" : "",
		 option->fallback ? option->fallback : "", option->fallback ? "]" : "");
	term_wrapped(out, right, HELP_COLUMN - 2);
}

void cli_help_verb(FILE *out, const struct cli_command *command)
{
	const struct cli_option *option;

	fprintf(out, "weft %s - %s\n\nUsage: weft %s [OPTION]...%s%s\n\n", command->name,
		command->summary, command->name, command->operands ? " " : "",
		command->operands ? command->operands : "");
	if (command->description) {
		term_wrapped(out, command->description, 0);
		fputc('\n', out);
	}
	fputs("Options:\n", out);
	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (!(option->flags & CLI_HIDDEN))
			print_option(out, option);
	if (!command->examples)
		return;
	fputs("\nExamples:\n", out);
	for (const struct cli_example *e = command->examples; e->line; e++)
		fprintf(out, "  %s\n      %s\n", e->line, e->help);
}
