/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_format.h"

const char *const coro_format_names[] = {
#define NAME(NAME, KIND, FLAGS, EXTENSION, HELP) EXPORT_IF_TRACES(KIND, #NAME, )
	EXPORT_FORMATS(NAME)
#undef NAME
		NULL,
	"postgres",
	"postgresql",
	"mysql",
	"mariadb",
	NULL,
};

int coro_format_refuse_server(const char *option, const char *name)
{
	return cli_usage("%s %s: a server's own client loads SQL: weft coro export --to sql -o - "
			 "INPUT | %s",
			 option, name,
			 name[0] == 'p' ? "psql -v ON_ERROR_STOP=1 DATABASE" : "mariadb DATABASE");
}

static int coro_format_find_one(const struct cli_args *args, const char *otherwise,
				const struct exporter **format)
{
	const char *to = cli_text(args, "to"), *output = cli_text(args, "output");

	*format = to ? exporter_find(to) : output ? exporter_of_path(output, EXPORT_TRACES) : NULL;
	if (to && !*format)
		return coro_format_refuse_server("--to", to);
	if (!*format && otherwise)
		*format = exporter_find(otherwise);
	return *format ? CLI_DONE : cli_usage("missing --to FORMAT");
}

int coro_format_read(const struct cli_args *args, const char *otherwise, struct export_job *x)
{
	const struct exporter *format;
	int status = coro_format_find_one(args, otherwise, &format);

	if (!format)
		return status;
	if (cli_given(args, "table") && !(format->flags & EXPORT_FOR_SERVER))
		return cli_usage("--table: %s has no table to be named", format->name);
	export_trace(x, format);
	x->table = cli_text(args, "table");
	x->sink.replace = x->empty_table = cli_flag(args, "replace");
	return CLI_DONE;
}
