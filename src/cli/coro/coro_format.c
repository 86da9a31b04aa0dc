/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_format.h"

#include <string.h>

const char *const coro_format_names[] = {
#define NAME(NAME, HELP, EXTENSION) #NAME,
	CORO_FORMATS(NAME)
#undef NAME
		NULL,
	"postgres",
	"postgresql",
	"mysql",
	"mariadb",
	NULL,
};

int coro_format_is_whole(const struct coro_format *format)
{
	return !strcmp(format->name, "sql");
}

int coro_format_refuse_server(const char *option, const char *name)
{
	return cli_usage("%s %s: a server's own client loads SQL: weft coro export --to sql -o - "
			 "INPUT | %s",
			 option, name,
			 name[0] == 'p' ? "psql -v ON_ERROR_STOP=1 DATABASE" : "mariadb DATABASE");
}

static int coro_format_find_one(const struct cli_args *args, const char *otherwise,
				const struct coro_format **format)
{
	const char *to = cli_text(args, "to"), *output = cli_text(args, "output");

	*format = to ? coro_format_find(to) : output ? coro_format_of_path(output) : NULL;
	if (to && !*format)
		return coro_format_refuse_server("--to", to);
	if (!*format && otherwise)
		*format = coro_format_find(otherwise);
	return *format ? CLI_DONE : cli_usage("missing --to FORMAT");
}

int coro_format_read(const struct cli_args *args, const char *otherwise,
		     const struct coro_format **format, struct coro_sink_options *out)
{
	int status = coro_format_find_one(args, otherwise, format);

	if (status || !*format)
		return status;
	if (cli_given(args, "table") && !coro_format_is_whole(*format))
		return cli_usage("--table: %s has no table to be named", (*format)->name);
	out->table = cli_text(args, "table");
	out->replace = out->empty_table = cli_flag(args, "replace");
	return CLI_DONE;
}
