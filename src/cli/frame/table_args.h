/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs that print a table have in common: how wide, how many rows, colours. */
#ifndef WEFT_CLI_TABLE_ARGS_H
#define WEFT_CLI_TABLE_ARGS_H

#include "cli/frame/cli.h"
#include "report/show/table.h"

/* clang-format off */
#define TABLE_OPTION_WIDTH \
	{.name = "width", .kind = CLI_COUNT, .argument = "COLUMNS", \
	 .help = "Cut the last column there; 0 never does [the terminal's]"}
/* clang-format on */

/* From the options top (@top when it is not given) and width, and what standard output is. */
struct table_style table_style_of(const struct cli_args *args, uint64_t top);

#endif
