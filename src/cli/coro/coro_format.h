/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs that write traces have in common: the format that was asked for, and its table. */
#ifndef WEFT_CLI_CORO_FORMAT_H
#define WEFT_CLI_CORO_FORMAT_H

#include "cli/frame/cli.h"
#include "export/export.h"

extern const char *const coro_format_names[]; /* choices of an option: CLI_CHOICE, CLI_MORE */

/* clang-format off */
#define CORO_OPTION_TABLE \
	{"table", 0, CLI_TEXT, 0, "NAME", .fallback = "coro_trace_events", \
	 .help = "The table that SQL text fills, made when there is none; rows are added to it"}
/* clang-format on */

/* Of --to, --output, --table and --replace: the format, else the one of the name @otherwise (NULL:
 * one must be given), and what it is told of a table. CLI_DONE, or an exit status with the message
 * printed. */
int coro_format_read(const struct cli_args *args, const char *otherwise, struct export_job *x);
/* Prints that there is no format for a server @name, and what to write instead. CLI_USAGE. */
int coro_format_refuse_server(const char *option, const char *name);

#endif
