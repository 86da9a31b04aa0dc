/* SPDX-License-Identifier: Apache-2.0 */
/* weft completion SHELL (hidden): what bash, zsh or fish needs to complete a command line. */
#include "cli/frame/cli.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef void visit_option(const struct cli_command *command, const struct cli_option *option);

static void each_option(const struct cli_command *command, visit_option *visit)
{
	const struct cli_option *option;

	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (!(option->flags & CLI_HIDDEN))
			visit(command, option);
}

static void each_command(void (*visit)(const struct cli_command *command))
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (!(cli_commands[i]->flags & CLI_COMMAND_HIDDEN))
			visit(cli_commands[i]);
}

/* Is it the first of the verbs that begin with this word? */
static int is_first_of_its_word(size_t index)
{
	size_t bytes = cli_group_bytes(cli_commands[index]);

	for (size_t i = 0; bytes && i < index; i++)
		if (cli_group_bytes(cli_commands[i]) == bytes &&
		    !strncmp(cli_commands[i]->name, cli_commands[index]->name, bytes))
			return 0;
	return !(cli_commands[index]->flags & CLI_COMMAND_HIDDEN);
}

static void each_first_word(void (*visit)(const struct cli_command *command))
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (is_first_of_its_word(i))
			visit(cli_commands[i]);
}

/* Calls @visit for one verb of each group. */
static void each_group(void (*visit)(const struct cli_command *command))
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (cli_group_bytes(cli_commands[i]) && is_first_of_its_word(i))
			visit(cli_commands[i]);
}

static int first_word_bytes(const struct cli_command *command)
{
	return (int)strcspn(command->name, " ");
}

static const char *second_word(const struct cli_command *command)
{
	return command->name + cli_group_bytes(command) + 1;
}

static int same_group(const struct cli_command *a, const struct cli_command *b)
{
	size_t bytes = cli_group_bytes(a);

	return bytes == cli_group_bytes(b) && !strncmp(a->name, b->name, bytes) &&
	       !(b->flags & CLI_COMMAND_HIDDEN);
}

static void cmd_completion_put_choices(const struct cli_option *option)
{
	for (const char *const *choice = option->choices; *choice; choice++)
		printf("%s%s", choice == option->choices ? "" : " ", *choice);
}

/* In single quotes; a quote within is written as shells want it. */
static void put_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	}
	putchar('\'');
}

/* ---- bash */

static void bash_first_word(const struct cli_command *command)
{
	printf(" %.*s", first_word_bytes(command), command->name);
}

static void bash_group(const struct cli_command *group)
{
	printf("\t%.*s) second='", (int)cli_group_bytes(group), group->name);
	for (size_t i = 0; cli_commands[i]; i++)
		if (same_group(group, cli_commands[i]))
			printf(" %s", second_word(cli_commands[i]));
	puts("' ;;");
}

static void bash_option(const struct cli_command *command, const struct cli_option *option)
{
	(void)command;
	printf(" --%s", option->name);
}

static void bash_options(const struct cli_command *command)
{
	printf("\t'%s') options='", command->name);
	each_option(command, bash_option);
	puts("' ;;");
}

static void bash_value(const struct cli_command *command, const struct cli_option *option)
{
	if (option->kind == CLI_FLAG || option->flags & CLI_BARE)
		return;
	printf("\t'%s':--%s", command->name, option->name);
	if (option->letter)
		printf(" | '%s':-%c", command->name, option->letter);
	fputs(") ", stdout);
	if (option->choices) {
		fputs("_weft_offer -W '", stdout);
		cmd_completion_put_choices(option);
		puts("'; return ;;");
	} else if (option->kind == CLI_FILE) {
		puts("_weft_offer -f; return ;;");
	} else {
		puts("return ;;");
	}
}

static void bash_values(const struct cli_command *command)
{
	each_option(command, bash_value);
}

static void bash_tail(const struct cli_command *command)
{
	if (command->flags & CLI_COMMAND_TAIL)
		printf("\t'%s') _weft_offer -c; return ;;\n", command->name);
}

static const char bash_helper[] = /* one name a line, which may hold blanks */
	"_weft_offer()\n{\n"
	"\tmapfile -t COMPREPLY < <(compgen \"$@\" -- \"$word\")\n"
	"}\n";

static void put_bash(void)
{
	puts("# bash completion of weft: made from the tables of the command");
	fputs(bash_helper, stdout);
	/* bash splits "--by=s" into three words */
	puts("_weft()\n{\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} options= second=\n"
	     "\tlocal words=1 first=$verb\n"
	     "\tif [[ $verb == help ]]; then first=${COMP_WORDS[2]} words=2; fi\n"
	     "\tlocal at=$((COMP_CWORD - 1))\n"
	     "\tif [[ $word == = ]]; then word=; elif [[ ${COMP_WORDS[at]} == = ]]; "
	     "then ((at--)); fi\n"
	     "\tlocal before=${COMP_WORDS[at]}\n"
	     "\tif ((COMP_CWORD == 1)); then");
	fputs("\t\t_weft_offer -W '", stdout);
	each_first_word(bash_first_word);
	puts(" --help --version'\n\t\treturn\n\tfi\n"
	     "\tcase $first in");
	each_group(bash_group);
	puts("\tesac\n"
	     "\tif [[ $second ]] && ((COMP_CWORD == words + 1)); then\n"
	     "\t\t_weft_offer -W \"$second --help\"\n\t\treturn\n\tfi\n"
	     "\tif [[ $second && $verb != help ]]; then "
	     "verb+=\" ${COMP_WORDS[2]}\" words=2; fi\n"
	     "\tcase $verb:$before in");
	each_command(bash_values);
	puts("\tesac\n\tcase $verb in");
	each_command(bash_options);
	fputs("\tesac\n\tif [[ $verb == help ]]; then options+='", stdout);
	each_first_word(bash_first_word);
	puts("'; fi\n"
	     "\tif [[ $word == -* || $verb == help ]]; then\n"
	     "\t\t_weft_offer -W \"$options\"\n\t\treturn\n\tfi\n"
	     "\t[[ $COMP_CWORD == $((words + 1)) || $before == -- ]] && case $verb in");
	each_command(bash_tail);
	puts("\tesac\n"
	     "\t_weft_offer -f\n}\n"
	     "complete -o filenames -F _weft weft");
}

/* ---- zsh */

static void zsh_line(const char *name, int bytes, const char *summary)
{
	char line[256];

	snprintf(line, sizeof(line), "%.*s:%s", bytes, name, summary);
	fputs("\t\t", stdout);
	put_quoted(line);
	putchar('\n');
}

static void zsh_verb(const struct cli_command *command)
{
	zsh_line(command->name, first_word_bytes(command),
		 cli_group_bytes(command) ? "A group of verbs" : command->summary);
}

/* In $words both words of a verb are joined into one. */
static void zsh_group(const struct cli_command *group)
{
	int bytes = (int)cli_group_bytes(group);

	printf("\tif [[ $words[1] == %.*s ]]; then\n\t\tverbs=(\n", bytes, group->name);
	for (size_t i = 0; cli_commands[i]; i++)
		if (same_group(group, cli_commands[i]))
			zsh_line(second_word(cli_commands[i]), INT_MAX, cli_commands[i]->summary);
	puts("\t\t)\n"
	     "\t\tif ((CURRENT == 2)); then\n"
	     "\t\t\t_describe verb verbs\n\t\t\treturn\n\t\tfi\n"
	     "\t\twords[2]=\"$words[1] $words[2]\"\n"
	     "\t\tshift words\n\t\t((CURRENT--))\n"
	     "\tfi");
}

/* Square brackets and colons mean something in a specification of _arguments. */
static void zsh_put_help(const char *text)
{
	for (; *text; text++) {
		if (strchr("[]:\\", *text))
			putchar('\\');
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	}
}

static void zsh_spec(const struct cli_option *option, const char *name)
{
	printf(" '%s%s%s[", option->flags & (CLI_MANY | CLI_LIST) ? "*" : "", name,
	       option->kind == CLI_FLAG || name[1] != '-' ? ""
	       : option->flags & CLI_BARE                 ? "=-"
							  : "=");
	zsh_put_help(option->help);
	putchar(']');
	if (option->kind != CLI_FLAG) {
		printf("%s:%s:", option->flags & CLI_BARE ? ":" : "",
		       option->argument ? option->argument : "value");
		if (option->choices) {
			putchar('(');
			for (const char *const *choice = option->choices; *choice; choice++) {
				fputs(choice == option->choices ? "" : " ", stdout);
				zsh_put_help(*choice);
			}
			putchar(')');
		} else if (option->kind == CLI_FILE) {
			fputs("_files", stdout);
		}
	}
	fputs("' \\\n\t\t\t", stdout);
}

static void zsh_option(const struct cli_command *command, const struct cli_option *option)
{
	char name[64];

	(void)command;
	snprintf(name, sizeof(name), "--%s", option->name);
	zsh_spec(option, name);
	if (!option->letter)
		return;
	snprintf(name, sizeof(name), "-%c", option->letter);
	zsh_spec(option, name);
}

static void zsh_case(const struct cli_command *command)
{
	printf("\t'%s')\n\t\t_arguments", command->name);
	each_option(command, zsh_option);
	puts(command->operands ? " '*:file:_files' ;;" : " ;;");
}

static void put_zsh(void)
{
	puts("#compdef weft\n"
	     "# zsh completion of weft: made from the tables of the command\n"
	     "_weft()\n{\n"
	     "\tlocal -a verbs\n"
	     "\tverbs=(");
	each_first_word(zsh_verb);
	puts("\t)\n"
	     "\tif ((CURRENT == 2)); then\n"
	     "\t\t_describe verb verbs\n\t\treturn\n\tfi\n"
	     "\tshift words\n\t((CURRENT--))");
	each_group(zsh_group);
	puts("\tcase $words[1] in");
	each_command(zsh_case);
	puts("\tesac\n}\n"
	     "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _weft \"$@\"; "
	     "else compdef _weft weft; fi");
}

/* ---- fish */

/* Begins a rule that holds once the words of the verb were typed. */
static void fish_seen(const struct cli_command *command)
{
	printf("complete -c weft -n '__fish_seen_subcommand_from %.*s", first_word_bytes(command),
	       command->name);
	if (cli_group_bytes(command))
		printf("; and __fish_seen_subcommand_from %s", second_word(command));
	putchar('\'');
}

static void fish_option(const struct cli_command *command, const struct cli_option *option)
{
	fish_seen(command);
	printf(" -l %s", option->name);
	if (option->letter)
		printf(" -s %c", option->letter);
	if (option->kind == CLI_FILE)
		fputs(" -r -F", stdout);
	else if (option->kind != CLI_FLAG && !(option->flags & CLI_BARE))
		fputs(" -x", stdout);
	if (option->choices) {
		fputs(" -a '", stdout);
		cmd_completion_put_choices(option);
		putchar('\'');
	}
	fputs(" -d ", stdout);
	put_quoted(option->help);
	putchar('\n');
}

static void fish_group(const struct cli_command *group)
{
	printf("complete -c weft -n __fish_use_subcommand -f -a %.*s -d 'A group of verbs'\n",
	       (int)cli_group_bytes(group), group->name);
}

static void fish_command(const struct cli_command *command)
{
	int bytes = (int)cli_group_bytes(command);

	if (bytes)
		printf("complete -c weft -n '__fish_seen_subcommand_from %.*s' -f -a %s -d ", bytes,
		       command->name, second_word(command));
	else
		printf("complete -c weft -n __fish_use_subcommand -f -a %s -d ", command->name);
	put_quoted(command->summary);
	putchar('\n');
	each_option(command, fish_option);
}

static void put_fish(void)
{
	puts("# fish completion of weft: made from the tables of the command");
	each_group(fish_group);
	each_command(fish_command);
}

static const struct {
	const char *name;
	void (*put)(void);
} shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};

static int run(const struct cli_args *args)
{
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (!strcmp(shells[i].name, cli_operand(args, 0))) {
			shells[i].put();
			return CLI_DONE;
		}
	return cli_usage("unknown shell '%s'; known: bash, zsh, fish", cli_operand(args, 0));
}

const struct cli_command cmd_completion = {
	.name = "completion",
	.summary = "Print the completion of bash, zsh or fish",
	.operands = "bash|zsh|fish",
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
	.flags = CLI_COMMAND_HIDDEN,
};
