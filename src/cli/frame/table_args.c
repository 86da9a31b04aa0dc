/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/table_args.h"

#include "cli/frame/term.h"

struct table_style table_style_of(const struct cli_args *args, uint64_t top)
{
	int columns = term_is(stdout) ? term_columns(stdout) : 0;

	return (struct table_style){
		.top = cli_given(args, "top") ? cli_number(args, "top") : top,
		.columns = cli_given(args, "width") ? (int)cli_number(args, "width") : columns,
		.bold = term_colour(stdout, TERM_BOLD),
		.dim = term_colour(stdout, TERM_DIM),
		.plain = term_colour(stdout, TERM_PLAIN),
	};
}
