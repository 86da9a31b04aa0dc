/* SPDX-License-Identifier: Apache-2.0 */
/* Event types by --events and --categories: see select_args.h. */
#include "cli/frame/select_args.h"

#include <errno.h>
#include <string.h>

static int read_globs(const struct cli_args *args, const char *option, int is_category,
		      struct print_select *select)
{
	for (size_t i = 0; i < cli_count(args, option); i++)
		if (select_add(select, cli_text_at(args, option, i), is_category))
			return cli_error("--%s: %s", option, strerror(ENOMEM));
	return CLI_DONE;
}

int select_args_read(const struct cli_args *args, struct print_select *select)
{
	int status = read_globs(args, "events", 0, select);

	return status ? status : read_globs(args, "categories", 1, select);
}
