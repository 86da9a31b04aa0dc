/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs that write traces to a database server have in common: options and their values. */
#ifndef WEFT_CLI_CORO_SERVER_H
#define WEFT_CLI_CORO_SERVER_H

#include "cli/frame/cli.h"
#include "coro/engine/trace.h"

/* clang-format off */
#define CORO_SERVER_OPTIONS \
	{.name = "host", \
	 .kind = CLI_TEXT, \
	 .argument = "HOST", \
	 .help = "The server; else what its own library takes"}, \
	{.name = "port", .kind = CLI_COUNT, .argument = "N", .help = "Its port"}, \
	{.name = "socket", \
	 .kind = CLI_FILE, \
	 .argument = "PATH", \
	 .help = "Its socket: a directory of PostgreSQL, a file of MySQL and MariaDB"}, \
	{.name = "user", .kind = CLI_TEXT, .argument = "NAME", .help = "The server's user"}, \
	{.name = "database", \
	 .kind = CLI_TEXT, \
	 .argument = "NAME", \
	 .fallback = "coro_tracer", \
	 .help = "The database, made when there is none"}, \
	{.name = "table", \
	 .kind = CLI_TEXT, \
	 .argument = "NAME", \
	 .fallback = "coro_trace_events", \
	 .help = "The table, made when there is none; rows are added to it"}, \
	{.name = "maintenance-database", \
	 .kind = CLI_TEXT, \
	 .argument = "NAME", \
	 .fallback = "postgres", \
	 .help = "PostgreSQL: the database from which another is made"}, \
	{.name = "sslmode", \
	 .kind = CLI_TEXT, \
	 .argument = "MODE", \
	 .help = "As libpq has it; of MySQL and MariaDB disable, prefer, require, verify-full"}
/* clang-format on */

int coro_server_is(const struct coro_format *format);
/* What a message about it begins with. */
const char *coro_server_name(const struct coro_format *format,
			     const struct coro_sink_options *options);
/* A socket as the libraries tell it from a host: by its first byte. Until the next call. */
const char *coro_server_socket(const char *path);
/* The options above and --output, into @out; of a format that goes to a file none may be given. 0,
 * or an exit status with the message printed. */
int coro_server_read(const struct cli_args *args, const struct coro_format *format,
		     struct coro_sink_options *out);

#endif
