/* SPDX-License-Identifier: Apache-2.0 */
/* Options by their table: kinds, fallbacks, lists, operands, and what is refused. */
#include "cli/frame/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const keys[] = {"function", "span", "tag:", NULL};

static const struct cli_option options[] = {
	{.name = "output", .letter = 'o', .kind = CLI_FILE, .argument = "FILE", .help = "h"},
	{.name = "json", .letter = 'j', .kind = CLI_FLAG, .help = "h"},
	{.name = "top", .kind = CLI_COUNT, .argument = "N", .help = "h", .fallback = "20"},
	{.name = "ring", .kind = CLI_BYTES, .argument = "SIZE", .help = "h"},
	{.name = "duration", .kind = CLI_TIME, .argument = "TIME", .help = "h"},
	{.name = "rate", .letter = 'F', .kind = CLI_RATE, .argument = "HZ", .help = "h"},
	{.name = "by",
	 .kind = CLI_CHOICE,
	 .flags = CLI_LIST,
	 .help = "h",
	 .fallback = "function",
	 .choices = keys},
	{.name = "where", .kind = CLI_TEXT, .flags = CLI_MANY, .help = "h"},
	{.name = NULL},
};

static const struct cli_command plain = {
	.name = "plain", .operands = "[FILE]", .operands_max = 1, .options = options};
static const struct cli_command tail = {.name = "tail",
					.operands = "CMD",
					.operands_min = 1,
					.operands_max = -1,
					.options = options,
					.flags = CLI_COMMAND_TAIL};

/* Splits at blanks; the words live until the next call, as the arguments point to them. */
static int parse(struct cli_args **out, const struct cli_command *command, const char *line)
{
	static char copy[256];
	static char *argv[32];
	int argc = 0;

	strcpy(copy, line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return cli_parse(out, command, argc, argv);
}

static void refuses(const struct cli_command *command, const char *line)
{
	struct cli_args *args = NULL;
	int status = parse(&args, command, line);

	if (status != CLI_USAGE || args)
		fail_msg("'%s': %d, expected %d", line, status, CLI_USAGE);
}

static struct cli_args *accepts(const struct cli_command *command, const char *line)
{
	struct cli_args *args = NULL;
	int status = parse(&args, command, line);

	if (status)
		fail_msg("'%s': %d, expected 0", line, status);
	return args;
}

static void values_by_kind(void **state)
{
	struct cli_args *args =
		accepts(&plain, "plain -o a.jfr --json --top=5 --ring 256K --duration 5ms -F1k in");

	(void)state;
	assert_string_equal(cli_text(args, "output"), "a.jfr");
	assert_true(cli_flag(args, "json"));
	assert_int_equal(cli_number(args, "top"), 5);
	assert_int_equal(cli_number(args, "ring"), 262144);
	assert_int_equal(cli_number(args, "duration"), 5000000);
	assert_int_equal(cli_number(args, "rate"), 1000000);
	assert_int_equal(cli_operand_count(args), 1);
	assert_string_equal(cli_operand(args, 0), "in");
	assert_null(cli_operand(args, 1));
	cli_args_free(args);
}

static void fallbacks_are_not_given(void **state)
{
	struct cli_args *args = accepts(&plain, "plain");

	(void)state;
	assert_false(cli_given(args, "top"));
	assert_int_equal(cli_number(args, "top"), 20);
	assert_int_equal(cli_count(args, "by"), 1);
	assert_string_equal(cli_text(args, "by"), "function");
	assert_null(cli_text(args, "output"));
	assert_int_equal(cli_number(args, "ring"), 0);
	assert_false(cli_flag(args, "json"));
	cli_args_free(args);
}

static void last_one_counts(void **state)
{
	struct cli_args *args = accepts(&plain, "plain --top 1 --top 2");

	(void)state;
	assert_true(cli_given(args, "top"));
	assert_int_equal(cli_number(args, "top"), 2);
	cli_args_free(args);
}

static void lists_add_up(void **state)
{
	struct cli_args *args = accepts(
		&plain, "plain --by span,tag:route --by function --where a=1,2 --where b=3");

	(void)state;
	assert_int_equal(cli_count(args, "by"), 3);
	assert_string_equal(cli_text_at(args, "by", 0), "span");
	assert_string_equal(cli_text_at(args, "by", 1), "tag:route");
	assert_string_equal(cli_text_at(args, "by", 2), "function");
	assert_int_equal(cli_count(args, "where"), 2);
	assert_string_equal(cli_text_at(args, "where", 0), "a=1,2");
	assert_null(cli_text_at(args, "where", 2));
	cli_args_free(args);
}

static void tail_leaves_its_options_alone(void **state)
{
	struct cli_args *args = accepts(&tail, "tail -j prog --json -x");

	(void)state;
	assert_int_equal(cli_count(args, "json"), 1);
	assert_int_equal(cli_operand_count(args), 3);
	assert_string_equal(cli_operands(args)[1], "--json");
	assert_null(cli_operands(args)[3]);
	cli_args_free(args);
	args = accepts(&tail, "tail -- -j");
	assert_false(cli_flag(args, "json"));
	assert_string_equal(cli_operand(args, 0), "-j");
	cli_args_free(args);
}

static void bad_lines(void **state)
{
	static const char *const lines[] = {
		"plain --jsn",
		"plain -x",
		"plain --json=1",
		"plain --top",
		"plain --top x",
		"plain --top -1",
		"plain --ring 1X",
		"plain --duration soon",
		"plain -F 0",
		"plain --by sapn",
		"plain --by tag:",
		"plain --by span,",
		"plain a b",
		"plain --output=",
		"plain --top 99999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		refuses(&plain, lines[i]);
	refuses(&tail, "tail");
	refuses(&tail, "tail --json --");
}

static void help_is_always_there(void **state)
{
	struct cli_args *args = NULL;

	(void)state;
	assert_int_equal(parse(&args, &plain, "plain --help"), -1);
	assert_int_equal(parse(&args, &tail, "tail -h"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_by_kind),
		cmocka_unit_test(fallbacks_are_not_given),
		cmocka_unit_test(last_one_counts),
		cmocka_unit_test(lists_add_up),
		cmocka_unit_test(tail_leaves_its_options_alone),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(help_is_always_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
