/* SPDX-License-Identifier: Apache-2.0 */
/* weft man (hidden): the man page weft(1) from the tables, in the man(7) macros. */
#include "cli/frame/cli.h"

#include <stdio.h>
#include <string.h>

/* Escapes a text for troff: no line begins with a request, and hyphens stay hyphens. */
static void cmd_man_put_text(const char *text)
{
	int at_start = 1;

	for (; *text; text++) {
		if (at_start && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else
			putchar(*text);
		at_start = *text == '\n';
	}
}

static void cmd_man_put_line(const char *macro, const char *text)
{
	printf(".%s ", macro);
	cmd_man_put_text(text);
	putchar('\n');
}

/* Paragraphs split by empty lines. */
static void put_paragraphs(const char *text)
{
	const char *end;

	while ((end = strstr(text, "\n\n"))) {
		char paragraph[2048];

		snprintf(paragraph, sizeof(paragraph), "%.*s", (int)(end - text), text);
		cmd_man_put_text(paragraph);
		fputs("\n.PP\n", stdout);
		text = end + 2;
	}
	cmd_man_put_text(text);
	putchar('\n');
}

static void put_option(const struct cli_option *option)
{
	char choices[CLI_CHOICES_BYTES];

	fputs(".TP\n", stdout);
	if (option->letter)
		printf("\\fB\\-%c\\fR, ", option->letter);
	fputs("\\fB\\-\\-", stdout);
	cmd_man_put_text(option->name);
	fputs("\\fR", stdout);
	if (option->argument && option->flags & CLI_BARE)
		printf("[=\\fI%s\\fR]", option->argument);
	else if (option->argument)
		printf(" \\fI%s\\fR", option->argument);
	putchar('\n');
	cmd_man_put_text(option->help);
	fputs(option->choices ? ": " : "", stdout);
	cmd_man_put_text(cli_choices_text(option, choices));
	if (option->fallback) {
		fputs(" (default ", stdout);
		cmd_man_put_text(option->fallback);
		putchar(')');
	}
	fputs(".\n", stdout);
}

static void put_examples(const struct cli_example *examples)
{
	for (; examples && examples->line; examples++) {
		cmd_man_put_line("TP\n.B", examples->line);
		cmd_man_put_text(examples->help);
		putchar('\n');
	}
}

static void put_command(const struct cli_command *command)
{
	const struct cli_option *option;

	fputs(".SS \"", stdout);
	printf("weft %s", command->name);
	if (command->options)
		fputs(" [OPTION]...", stdout);
	if (command->operands) {
		putchar(' ');
		cmd_man_put_text(command->operands);
	}
	fputs("\"\n", stdout);
	cmd_man_put_text(command->summary);
	fputs(".\n", stdout);
	if (command->description) {
		fputs(".PP\n", stdout);
		put_paragraphs(command->description);
	}
	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (!(option->flags & CLI_HIDDEN) && strcmp(option->name, "help"))
			put_option(option);
	put_examples(command->examples);
}

static void put_verbs(void)
{
	fputs(".SH VERBS\nEvery verb has a\n.B \\-\\-help\nof its own.\n", stdout);
	for (size_t i = 0; cli_commands[i]; i++)
		if (!(cli_commands[i]->flags & CLI_COMMAND_HIDDEN))
			put_command(cli_commands[i]);
}

static int run(const struct cli_args *args)
{
	(void)args;
	printf(".\\\" Made from the tables of the command: edit those.\n"
	       ".TH WEFT 1 \"\" \"weft %s\" \"User Commands\"\n"
	       ".SH NAME\nweft \\- a profiler that knows which request every sample worked for\n"
	       ".SH SYNOPSIS\n.B weft\n.I VERB\n[\\fIOPTION\\fR]... [\\fIOPERAND\\fR]...\n"
	       ".SH DESCRIPTION\n",
	       cli_version);
	put_paragraphs(cli_description);
	put_verbs();
	fputs(".SH ENVIRONMENT\n", stdout);
	put_examples(cli_environment);
	fputs(".SH EXIT STATUS\n", stdout);
	put_examples(cli_statuses);
	return CLI_DONE;
}

const struct cli_command cmd_man = {
	.name = "man",
	.summary = "Print the man page",
	.run = run,
	.flags = CLI_COMMAND_HIDDEN,
};
