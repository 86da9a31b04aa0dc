/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_server.h"

#include "cli/frame/password.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static const char *const names[] = {
	"host",    "port", "socket", "user", "database", "table", "maintenance-database",
	"sslmode", NULL};

int coro_server_is(const struct coro_format *format)
{
	return !format->extension;
}

const char *coro_server_name(const struct coro_format *format,
			     const struct coro_sink_options *options)
{
	return options->server ? options->server : format->name;
}

const char *coro_server_socket(const char *path)
{
	static char whole[2 * PATH_MAX];
	char here[PATH_MAX];

	if (path[0] == '/' || path[0] == '@' || !getcwd(here, sizeof(here)))
		return path;
	snprintf(whole, sizeof(whole), "%s/%s", here, path);
	return whole;
}

static int refuse_all(const struct cli_args *args, const struct coro_format *format)
{
	for (size_t i = 0; names[i]; i++)
		if (cli_given(args, names[i]))
			return cli_usage("--%s: %s is no server", names[i], format->name);
	return CLI_DONE;
}

int coro_server_read(const struct cli_args *args, const struct coro_format *format,
		     struct coro_sink_options *out)
{
	if (!coro_server_is(format))
		return refuse_all(args, format);
	if (cli_given(args, "output"))
		return cli_usage("--output: %s goes to a server", format->name);
	if (cli_given(args, "host") && cli_given(args, "socket"))
		return cli_usage("--socket: not with --host");
	if (cli_number(args, "port") > 65535)
		return cli_usage("--port: at most 65535");
	out->path = NULL;
	out->server = cli_given(args, "socket") ? coro_server_socket(cli_text(args, "socket"))
						: cli_text(args, "host");
	out->port = (uint32_t)cli_number(args, "port");
	out->user = cli_text(args, "user");
	out->database = cli_text(args, "database");
	out->table = cli_text(args, "table");
	out->maintenance = cli_text(args, "maintenance-database");
	out->sslmode = cli_text(args, "sslmode");
	out->ask_password = password_ask;
	return CLI_DONE;
}
