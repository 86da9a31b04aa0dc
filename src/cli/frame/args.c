/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options by getopt_long(3) from a verb's table. Every value is checked here and kept as text and
 * as number. Fallbacks are added behind them, marked as not given.
 */
#include "cli/frame/cli.h"

#include "base/array.h"
#include "base/quantity.h"
#include "base/text/nearest.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_BASE 256 /* option i is LONG_BASE + i to getopt; smaller ones are letters */

static const struct cli_option help_option = {
	.name = "help", .letter = 'h', .kind = CLI_FLAG, .help = "Show this help"};

struct value {
	const struct cli_option *option;
	char *text; /* owned; NULL for flags */
	uint64_t number;
	int given;
};

struct cli_args {
	const struct cli_command *command;
	struct value *values;
	size_t value_count, value_room;
	char **operands;
	int operand_count;
};

const struct cli_option *cli_option_at(const struct cli_command *command, size_t index)
{
	size_t count = 0;

	while (command->options && command->options[count].name)
		count++;
	if (index < count)
		return &command->options[index];
	return index == count ? &help_option : NULL;
}

/* ---- values */

/* Is it one of the choices that any text may follow? */
static int takes_name(const char *choice)
{
	return choice[strlen(choice) - 1] == ':';
}

static int is_one_of(const char *const *choices, const char *text)
{
	for (const char *const *choice = choices; *choice; choice++) {
		if (!strcmp(*choice, text))
			return !takes_name(*choice);
		if (takes_name(*choice) && !strncmp(*choice, text, strlen(*choice)))
			return 1;
	}
	return 0;
}

static int is_choice(const struct cli_option *option, const char *text)
{
	const char *const *end = option->choices;

	while (*end)
		end++;
	return is_one_of(option->choices, text) ||
	       (option->flags & CLI_MORE && is_one_of(end + 1, text));
}

const char *cli_choices_text(const struct cli_option *option, char out[CLI_CHOICES_BYTES])
{
	size_t used = 0;

	out[0] = '\0';
	for (const char *const *choice = option->choices;
	     choice && *choice && used < CLI_CHOICES_BYTES; choice++)
		used += (size_t)snprintf(out + used, CLI_CHOICES_BYTES - used, "%s%s%s",
					 used ? ", " : "", *choice,
					 takes_name(*choice) ? "NAME" : "");
	return out;
}

static int refuse_choice(const struct cli_option *option, const char *text)
{
	struct nearest search = {text, NULL, 0};
	char known[CLI_CHOICES_BYTES];

	for (const char *const *choice = option->choices; *choice; choice++)
		nearest_offer(&search, *choice);
	if (search.best && !strcmp(search.best, text))
		return cli_usage("--%s: '%s' needs a name behind it", option->name, text);
	if (search.best)
		return cli_usage("--%s: unknown value '%s'; did you mean '%s'?", option->name, text,
				 search.best);
	return cli_usage("--%s: unknown value '%s'; known: %s", option->name, text,
			 cli_choices_text(option, known));
}

static const char *const kind_samples[] = {
	[CLI_COUNT] = "a number, like 20",
	[CLI_BYTES] = "a size, like 256K or 16M",
	[CLI_TIME] = "a time, like 10s, 5ms or 1m",
	[CLI_RATE] = "a rate above 0, like 199 or 1kHz",
};

static int args_read_number(enum cli_kind kind, const char *text, uint64_t *out)
{
	int err;

	switch (kind) {
	case CLI_COUNT:
		return quantity_count(text, out);
	case CLI_BYTES:
		return quantity_bytes(text, out);
	case CLI_TIME:
		return quantity_time_ns(text, out);
	case CLI_RATE:
		err = quantity_rate_mhz(text, out);
		return !err && !*out ? -EINVAL : err;
	default:
		return 0;
	}
}

static int check_value(struct value *value)
{
	const struct cli_option *option = value->option;
	int err;

	if (option->kind == CLI_CHOICE)
		return is_choice(option, value->text) ? 0 : refuse_choice(option, value->text);
	if (option->kind == CLI_FILE && !*value->text)
		return cli_usage("--%s: empty file name", option->name);
	err = args_read_number(option->kind, value->text, &value->number);
	if (err == -ERANGE)
		return cli_usage("--%s: '%s' is too large", option->name, value->text);
	if (err)
		return cli_usage("--%s: '%s' is not %s", option->name, value->text,
				 kind_samples[option->kind]);
	return 0;
}

/* @text NULL: a flag. */
static int add_value(struct cli_args *args, const struct cli_option *option, const char *text,
		     size_t length, int given)
{
	char *copy = text ? strndup(text, length) : NULL;
	struct value *values = array_grown(args->values, args->value_count + 1, &args->value_room,
					   sizeof(*values));

	if (values)
		args->values = values;
	if (!values || (text && !copy)) {
		free(copy);
		return cli_error("options: %s", strerror(ENOMEM));
	}
	values += args->value_count++;
	*values = (struct value){.option = option, .text = copy, .given = given};
	return copy ? check_value(values) : 0;
}

static int add_argument(struct cli_args *args, const struct cli_option *option, const char *text,
			int given)
{
	const char *ends = option->flags & CLI_LIST ? "," : "";

	for (;;) {
		size_t length = text ? strcspn(text, ends) : 0;
		int err = add_value(args, option, text, length, given);

		if (err || !text || !text[length])
			return err;
		text += length + 1;
	}
}

static int add_all_choices(struct cli_args *args, const struct cli_option *option)
{
	int err = 0;

	for (const char *const *choice = option->choices; !err && *choice; choice++)
		err = add_value(args, option, *choice, strlen(*choice), 1);
	return err;
}

/* ---- parsing */

static const struct cli_option *option_of(const struct cli_command *command, int value)
{
	const struct cli_option *option;

	if (value >= LONG_BASE)
		return cli_option_at(command, (size_t)(value - LONG_BASE));
	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (option->letter && option->letter == value)
			return option;
	return NULL;
}

static int refuse_long(const struct cli_command *command, const char *typed)
{
	const struct cli_option *option;
	struct nearest search = {NULL, NULL, 0};
	char name[NEAREST_NAME_MAX + 1];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(typed + 2, "="), typed + 2);
	search.typed = name;
	for (size_t i = 0; (option = cli_option_at(command, i)); i++)
		if (!(option->flags & CLI_HIDDEN))
			nearest_offer(&search, option->name);
	if (search.best)
		return cli_usage("unknown option '--%s'; did you mean '--%s'?", name, search.best);
	return cli_usage("unknown option '--%s'", name);
}

static int args_refuse(const struct cli_command *command, int found, char **argv)
{
	const struct cli_option *option = option_of(command, optopt);

	if (found == ':')
		return cli_usage("option '--%s' needs %s", option->name,
				 option->argument ? option->argument : "a value");
	if (optopt >= LONG_BASE)
		return cli_usage("option '--%s' takes no value", option->name);
	if (optopt)
		return cli_usage("unknown option '-%c'", optopt);
	return refuse_long(command, argv[optind - 1]);
}

static int parse_options(struct cli_args *args, int argc, char **argv, const char *letters,
			 const struct option *longs)
{
	int found, err;

	optind = 0; /* glibc: start anew */
	opterr = 0;
	while ((found = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct cli_option *option;

		if (found == '?' || found == ':')
			return args_refuse(args->command, found, argv);
		option = option_of(args->command, found);
		if (option == &help_option)
			return -1;
		if (option->flags & CLI_BARE && !optarg)
			err = add_all_choices(args, option);
		else
			err = add_argument(args, option, optarg, 1);
		if (err)
			return err;
	}
	args->operands = argv + optind;
	args->operand_count = argc - optind;
	return 0;
}

static void make_tables(const struct cli_command *command, char *letters, struct option *longs)
{
	const struct cli_option *option;

	if (command->flags & CLI_COMMAND_TAIL)
		*letters++ = '+';
	*letters++ = ':';
	for (size_t i = 0; (option = cli_option_at(command, i)); i++) {
		int has = option->kind == CLI_FLAG   ? no_argument
			  : option->flags & CLI_BARE ? optional_argument
						     : required_argument;

		longs[i] = (struct option){option->name, has, NULL, LONG_BASE + (int)i};
		if (!option->letter)
			continue;
		*letters++ = option->letter;
		for (int colons = 0; colons < has; colons++)
			*letters++ = ':';
	}
	*letters = '\0';
}

static int parse_with_tables(struct cli_args *args, int argc, char **argv)
{
	struct option *longs;
	char *letters;
	size_t count = 0;
	int err;

	while (cli_option_at(args->command, count))
		count++;
	letters = calloc(count + 2, 3);
	longs = calloc(count + 1, sizeof(*longs));
	if (!letters || !longs) {
		err = cli_error("options: %s", strerror(ENOMEM));
	} else {
		make_tables(args->command, letters, longs);
		err = parse_options(args, argc, argv, letters, longs);
	}
	free(letters);
	free(longs);
	return err;
}

static int add_fallbacks(struct cli_args *args)
{
	const struct cli_option *option;
	int err = 0;

	for (size_t i = 0; !err && (option = cli_option_at(args->command, i)); i++)
		if (option->fallback && !cli_given(args, option->name))
			err = add_argument(args, option, option->fallback, 0);
	return err;
}

static int check_operands(const struct cli_args *args)
{
	const struct cli_command *command = args->command;

	if (args->operand_count < command->operands_min)
		return cli_usage("missing operand: %s %s", command->name, command->operands);
	if (command->operands_max >= 0 && args->operand_count > command->operands_max)
		return cli_usage("unexpected operand '%s'", args->operands[command->operands_max]);
	return 0;
}

int cli_parse(struct cli_args **out, const struct cli_command *command, int argc, char **argv)
{
	struct cli_args *args = calloc(1, sizeof(*args));
	int err;

	if (!args)
		return cli_error("options: %s", strerror(ENOMEM));
	args->command = command;
	err = parse_with_tables(args, argc, argv);
	if (!err)
		err = add_fallbacks(args);
	if (!err)
		err = check_operands(args);
	if (err) {
		cli_args_free(args);
		return err;
	}
	*out = args;
	return 0;
}

void cli_args_free(struct cli_args *args)
{
	if (!args)
		return;
	for (size_t i = 0; i < args->value_count; i++)
		free(args->values[i].text);
	free(args->values);
	free(args);
}

/* ---- what was typed */

static void must_know(const struct cli_args *args, const char *name)
{
	const struct cli_option *option;

	for (size_t i = 0; (option = cli_option_at(args->command, i)); i++)
		if (!strcmp(option->name, name))
			return;
	fprintf(stderr, "weft %s: no option --%s in its table\n", args->command->name, name);
	abort();
}

static const struct value *args_value_at(const struct cli_args *args, const char *name,
					 size_t index)
{
	must_know(args, name);
	for (size_t i = 0; i < args->value_count; i++)
		if (!strcmp(args->values[i].option->name, name) && !index--)
			return &args->values[i];
	return NULL;
}

size_t cli_count(const struct cli_args *args, const char *option)
{
	size_t count = 0;

	while (args_value_at(args, option, count))
		count++;
	return count;
}

static const struct value *last_value(const struct cli_args *args, const char *option)
{
	size_t count = cli_count(args, option);

	return count ? args_value_at(args, option, count - 1) : NULL;
}

int cli_given(const struct cli_args *args, const char *option)
{
	const struct value *value = last_value(args, option);

	return value && value->given;
}

int cli_flag(const struct cli_args *args, const char *option)
{
	return last_value(args, option) != NULL;
}

const char *cli_text(const struct cli_args *args, const char *option)
{
	const struct value *value = last_value(args, option);

	return value ? value->text : NULL;
}

const char *cli_text_at(const struct cli_args *args, const char *option, size_t index)
{
	const struct value *value = args_value_at(args, option, index);

	return value ? value->text : NULL;
}

uint64_t cli_number(const struct cli_args *args, const char *option)
{
	const struct value *value = last_value(args, option);

	return value ? value->number : 0;
}

int cli_pid(const char *text, pid_t *pid)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (end == text || *end || errno || value <= 0 || value > INT32_MAX)
		return -EINVAL;
	*pid = (pid_t)value;
	return 0;
}

int cli_operand_count(const struct cli_args *args)
{
	return args->operand_count;
}

char **cli_operands(const struct cli_args *args)
{
	return args->operands;
}

const char *cli_operand(const struct cli_args *args, int index)
{
	return index < args->operand_count ? args->operands[index] : NULL;
}
