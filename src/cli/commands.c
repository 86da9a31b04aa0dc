/* SPDX-License-Identifier: Apache-2.0 */
/* The list of verbs, in order of help: handed to the frame by main(). */
#include "cli/commands.h"

extern const struct cli_command cmd_annotate;
extern const struct cli_command cmd_check;
extern const struct cli_command cmd_collect;
extern const struct cli_command cmd_completion;
extern const struct cli_command cmd_convert;
extern const struct cli_command cmd_coro_export;
extern const struct cli_command cmd_coro_conform;
extern const struct cli_command cmd_coro_dump;
extern const struct cli_command cmd_coro_run;
extern const struct cli_command cmd_coro_ps;
extern const struct cli_command cmd_coro_report;
extern const struct cli_command cmd_coro_top;
extern const struct cli_command cmd_diff;
extern const struct cli_command cmd_doctor;
extern const struct cli_command cmd_help;
extern const struct cli_command cmd_inspect;
extern const struct cli_command cmd_man;
extern const struct cli_command cmd_print;
extern const struct cli_command cmd_metadata;
extern const struct cli_command cmd_merge;
extern const struct cli_command cmd_ps;
extern const struct cli_command cmd_record;
extern const struct cli_command cmd_report;
extern const struct cli_command cmd_set;
extern const struct cli_command cmd_summary;
extern const struct cli_command cmd_version;
extern const struct cli_command cmd_view;

/* clang-format off */
const struct cli_command *const weft_commands[] = {
	&cmd_record,
	&cmd_set,
	&cmd_ps,
	&cmd_inspect,
	&cmd_summary,
	&cmd_metadata,
	&cmd_print,
	&cmd_report,
	&cmd_view,
	&cmd_diff,
	&cmd_annotate,
	&cmd_merge,
	&cmd_convert,
	&cmd_check,
	&cmd_doctor,
	&cmd_coro_run,
	&cmd_coro_ps,
	&cmd_coro_top,
	&cmd_coro_report,
	&cmd_coro_export,
	&cmd_coro_dump,
	&cmd_coro_conform,
	&cmd_help,
	&cmd_version,
	&cmd_completion,
	&cmd_man,
	&cmd_collect,
	NULL,
};
/* clang-format on */
