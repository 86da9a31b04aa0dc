/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs that read a recording have in common: options, their values, refusals. */
#ifndef WEFT_CLI_RECORDING_ARGS_H
#define WEFT_CLI_RECORDING_ARGS_H

#include "cli/frame/cli.h"
#include "print/select.h"
#include "report/read/where.h"
#include "report/show/table.h"

#define RECORDING_FILE "weft.jfr"

/* clang-format off */
#define RECORDING_OPTION_WHERE \
	{"where", 'w', CLI_TEXT, CLI_MANY, "KEY=VALUE", \
	 .help = "Count only samples of which this holds; * is anything; all must hold"}
#define RECORDING_OPTION_EVENT \
	{"event", 'e', CLI_TEXT, 0, "WHICH", \
	 .help = "What to count: samples of cpu, wall, all; coroutine-run, coroutine-wait; or an " \
		 "event type [cpu, else wall]"}
#define RECORDING_OPTION_NO_INLINES \
	{"no-inlines", 0, CLI_FLAG, \
	 .help = "Count inlined functions as the functions that they are inlined into"}
#define TABLE_OPTION_WIDTH \
	{"width", 0, CLI_COUNT, 0, "COLUMNS", \
	 .help = "Cut the last column there; 0 never does [the terminal's]"}
/* clang-format on */

/* All 0, or an exit status with the message printed. */
int recording_key(struct key *key, const char *option, const char *text);
int recording_wheres(const struct cli_args *args, struct where **out, size_t *count);
void recording_wheres_free(struct where *wheres, size_t count);
/* Warns of each tag, label or attribute of a resource, of bound keys and conditions, that nothing
 * in the recording has: a typing error looks like "(none)". */
void recording_warn(const char *path, const struct model *m, const struct key *by, size_t by_count,
		    const struct where *wheres, size_t where_count);
/* The first bytes of a file, which may be anything. How many there are. */
size_t recording_start(const char *path, void *start, size_t bytes);
/* The message for what source_open() or report_run() returned. An exit status. */
int recording_refuse(const struct cli_args *args, const char *path, int error);

/* Adds the globs of --events and --categories. CLI_DONE, or an exit status with the message
 * printed; @select is to be freed either way. */
int select_args_read(const struct cli_args *args, struct print_select *select);

/* By what standard output is: all rows. */
struct text_style terminal_style(void);
/* The same, with the options top (@top when it is not given) and width. */
struct text_style table_style_of(const struct cli_args *args, uint64_t top);

#endif
