/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of the command. A verb is one file cmd_<verb>.c with one const table entry, from
 * which the parser, --help, the man page and the shells' completion are made.
 *
 * To add a verb: write cmd_<verb>.c with `const struct cli_command cmd_<verb>`; add the file
 * to src/cli/meson.build and the name to the list in src/cli/commands.c; write docs/<verb>.md. See
 * cmd_doctor.c for a whole one. A name may have two words ("coro run"): the first is then a
 * group, which has no entry of its own; its page is docs/<group>.md, a section for each verb.
 *
 * Values are checked while options are parsed (kind, choices), so a verb never sees a bad
 * one. Looking up an option that its table does not have is a programming error: abort().
 */
#ifndef WEFT_CLI_H
#define WEFT_CLI_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum cli_exit { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

enum cli_kind {
	CLI_FLAG, /* takes no argument */
	CLI_TEXT,
	CLI_FILE,   /* text that the shell completes as a file name */
	CLI_COUNT,  /* 12 */
	CLI_BYTES,  /* 16M, 256K */
	CLI_TIME,   /* 10s, 5ms, 1m */
	CLI_RATE,   /* 199, 1kHz; never 0 */
	CLI_CHOICE, /* one of .choices; a choice that ends in ':' takes any text behind it */
};

enum cli_option_flag {
	CLI_MANY = 1 << 0,   /* may be given several times, all count; else the last one does */
	CLI_LIST = 1 << 1,   /* CLI_MANY, and an argument may hold several, split at commas */
	CLI_HIDDEN = 1 << 2, /* not in help, man page and completion */
	CLI_MORE = 1 << 3,   /* choices behind the NULL are accepted, but shown nowhere */
	CLI_BARE = 1 << 4,   /* a CLI_CHOICE: --name alone means all choices */
};

/* In a table: {"top", 'n', CLI_COUNT, 0, "N", .help = "Show N rows"}. */
struct cli_option {
	const char *name; /* long one, without dashes; {0} ends a table */
	char letter;      /* short one; 0 = none */
	enum cli_kind kind;
	unsigned int flags;         /* enum cli_option_flag */
	const char *argument;       /* its name in help: "FILE", "TIME" */
	const char *help;           /* one sentence, no full stop */
	const char *fallback;       /* value when not given, as typed; NULL = none */
	const char *const *choices; /* ends with NULL */
};

struct cli_example {
	const char *line; /* ready to type; NULL ends a table */
	const char *help;
};

struct cli_args;

enum cli_command_flag {
	CLI_COMMAND_HIDDEN = 1 << 0,
	CLI_COMMAND_TAIL = 1 << 1, /* the first operand ends the options: it is a command line */
};

struct cli_command {
	const char *name;     /* one word or two: "record", "coro run" */
	const char *summary;  /* one line, no full stop */
	const char *operands; /* as shown: "[FILE]", "[--] CMD [ARG]..."; NULL = none */
	int operands_min;
	int operands_max;                        /* -1 = any number */
	const char *description;                 /* plain paragraphs, split by empty lines */
	const struct cli_option *options;        /* NULL = only --help */
	const struct cli_example *examples;      /* NULL = none */
	int (*run)(const struct cli_args *args); /* returns an exit status */
	unsigned int flags;                      /* enum cli_command_flag */
};

/* What was typed. The strings live as long as the arguments. */
int cli_given(const struct cli_args *args, const char *option); /* typed, no fallback: 1 or 0 */
int cli_flag(const struct cli_args *args, const char *option);
const char *cli_text(const struct cli_args *args, const char *option); /* or NULL */
/* A count, bytes, nanoseconds or millihertz. 0 when not given and no fallback. */
uint64_t cli_number(const struct cli_args *args, const char *option);
/* The values of an option that may be given several times (the fallback counts as one). */
size_t cli_count(const struct cli_args *args, const char *option);
const char *cli_text_at(const struct cli_args *args, const char *option, size_t index);
int cli_operand_count(const struct cli_args *args);
/* NULL behind the last, so that &operands can be handed to exec: NULL-terminated. */
char **cli_operands(const struct cli_args *args);
const char *cli_operand(const struct cli_args *args, int index); /* or NULL */

/* "weft VERB: what: why" on stderr. cli_error returns CLI_FAILED, cli_usage CLI_USAGE. */
int cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_tell(const char *format, ...) __attribute__((format(printf, 1, 2))); /* no failure */
/* After a write to standard output: CLI_DONE, or the message for @rc, which is -errno. */
int cli_written(int rc);
/* Flushes it first. errno is 0 before the first write, so that it tells what went wrong. */
int cli_flushed(void);

/* The exit status of a command that could not be run, by -errno, with the message printed: 127 when
 * there is none of this name, else 126. */
#define CLI_CANNOT_RUN 126
int cli_not_run(const char *command, int rc);

/* A whole text as the number of a process or thread. 0 or -EINVAL. */
int cli_pid(const char *text, pid_t *pid);

/* For the frame itself. */
/* In order of help; ends with NULL. main() sets it before anything else (commands.h). */
extern const struct cli_command *const *cli_commands;
const struct cli_command *cli_command_find(const char *name);
int cli_refuse_verb(const char *name);
/* A group is the first word of verbs of two: bytes of that word in a name, or 0. */
size_t cli_group_bytes(const struct cli_command *command);
int cli_group_is(const char *word);
int cli_in_group(const struct cli_command *command, const char *group);
void cli_set_verb(const char *verb); /* for messages; NULL = none */

/* Parse argv[1..]. 0, or CLI_USAGE with the message printed, or -1: --help was asked for. */
int cli_parse(struct cli_args **out, const struct cli_command *command, int argc, char **argv);
void cli_args_free(struct cli_args *args);

/* Options of a command in order, then --help; NULL behind the last. */
const struct cli_option *cli_option_at(const struct cli_command *command, size_t index);

#define CLI_CHOICES_BYTES 512
/* "function, tag:NAME", "" = it has no choices. Returns @out. */
const char *cli_choices_text(const struct cli_option *option, char out[CLI_CHOICES_BYTES]);

void cli_help(FILE *out, const char *group); /* of a group, or NULL: of all verbs */
void cli_help_verb(FILE *out, const struct cli_command *command);

extern const char cli_version[];
extern const char cli_description[];               /* paragraphs for the man page */
extern const struct cli_example cli_environment[]; /* variables; ends with NULL */
extern const struct cli_example cli_statuses[];    /* exit statuses; ends with NULL */

#endif
