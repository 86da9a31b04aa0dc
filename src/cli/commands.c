/* SPDX-License-Identifier: Apache-2.0 */
/* The list of verbs, which main() hands to the frame. */
#include "cli/commands.h"

/* X(NAME): a row for each cmd_NAME, in order of help. */
/* clang-format off */
#define VERBS(X) \
	X(record) \
	X(set) \
	X(ps) \
	X(inspect) \
	X(summary) \
	X(metadata) \
	X(print) \
	X(report) \
	X(view) \
	X(diff) \
	X(annotate) \
	X(merge) \
	X(convert) \
	X(check) \
	X(doctor) \
	X(coro_run) \
	X(coro_ps) \
	X(coro_top) \
	X(coro_report) \
	X(coro_export) \
	X(coro_dump) \
	X(coro_conform) \
	X(help) \
	X(version) \
	X(completion) \
	X(man) \
	X(collect)
/* clang-format on */

#define DECLARE(NAME) extern const struct cli_command cmd_##NAME;
VERBS(DECLARE)

#define ADDRESS(NAME) &cmd_##NAME,
const struct cli_command *const weft_commands[] = {VERBS(ADDRESS) NULL};
