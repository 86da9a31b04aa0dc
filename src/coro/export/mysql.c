/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MySQL and MariaDB by libmariadb: database and table are made when missing, the rows go by
 * INSERTs of many rows, all in one transaction: another sees all of a trace or nothing.
 * DECIMAL(20,0) holds every u64.
 *
 * Server, user and port that are not given come from the [client] group of ~/.my.cnf, the
 * password from there or from MYSQL_PWD, or a person is asked.
 */
#include "coro/engine/library.h"
#include "coro/export/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#ifndef WEFT_HAVE_MARIADB
SINK_ABSENT(mysql, "libmariadb");
#else

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>

#include "base/buf.h"

#define INSERT_BYTES (256 * 1024) /* below every server's max_allowed_packet */

/* clang-format off */
#define CALLS(X) \
	X(mysql_close) \
	X(mysql_errno) \
	X(mysql_error) \
	X(mysql_get_ssl_cipher) \
	X(mysql_init) \
	X(mysql_optionsv) \
	X(mysql_real_connect) \
	X(mysql_real_query)
/* clang-format on */

static struct {
	LIBRARY_FIELDS(CALLS)
} my;
static const char *const calls[] = {LIBRARY_NAMES(CALLS)};

struct coro_sink {
	MYSQL *db;
	char *table; /* as SQL has it */
	struct buf rows;
	size_t head; /* bytes of rows that begin the statement */
	char why[512];
};

static int mysql_failed(struct coro_sink *sink)
{
	unsigned int code = my.mysql_errno(sink->db);

	snprintf(sink->why, sizeof(sink->why), "%s", my.mysql_error(sink->db));
	if (code == CR_OUT_OF_MEMORY)
		return -ENOMEM;
	return code == ER_RECORD_FILE_FULL || code == ER_DISK_FULL ? -ENOSPC : -EIO;
}

static int run_bytes(struct coro_sink *sink, const char *statement, size_t bytes)
{
	return my.mysql_real_query(sink->db, statement, (unsigned long)bytes) ? mysql_failed(sink)
									      : 0;
}

static int run(struct coro_sink *sink, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int run(struct coro_sink *sink, const char *format, ...)
{
	char *statement;
	va_list list;
	int rc;

	va_start(list, format);
	rc = vasprintf(&statement, format, list);
	va_end(list);
	if (rc < 0)
		return -ENOMEM;
	rc = run_bytes(sink, statement, (size_t)rc);
	free(statement);
	return rc;
}

/* A name as SQL has it: `a``b`. NULL: out of memory. */
static char *quote(const char *name)
{
	char *quoted = malloc(2 * strlen(name) + 3), *to = quoted;

	if (!quoted)
		return NULL;
	*to++ = '`';
	for (; *name; name++) {
		if (*name == '`')
			*to++ = '`';
		*to++ = *name;
	}
	*to++ = '`';
	*to = '\0';
	return quoted;
}

/* libpq's words for it, as far as the library has them. Newer ones want TLS unless told. */
static int set_tls(struct coro_sink *sink, const char *mode)
{
	my_bool on = 1, off = 0;

	if (!mode || !*mode)
		return 0;
	if (!strcmp(mode, "disable") || !strcmp(mode, "prefer")) {
		my.mysql_optionsv(sink->db, MYSQL_OPT_SSL_ENFORCE,
				  !strcmp(mode, "prefer") ? &on : &off);
		my.mysql_optionsv(sink->db, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &off);
		return 0;
	}
	if (strcmp(mode, "require") != 0 && strcmp(mode, "verify-full") != 0) {
		snprintf(sink->why, sizeof(sink->why),
			 "sslmode %s: give disable, prefer, require or verify-full", mode);
		return -EINVAL;
	}
	my.mysql_optionsv(sink->db, MYSQL_OPT_SSL_ENFORCE, &on);
	if (!strcmp(mode, "verify-full"))
		my.mysql_optionsv(sink->db, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
	return 0;
}

/* A server that has no TLS is talked to in the clear, whatever was set. */
static int check_tls(struct coro_sink *sink, const char *mode)
{
	int is_needed = mode && (!strcmp(mode, "require") || !strcmp(mode, "verify-full"));

	if (!is_needed || my.mysql_get_ssl_cipher(sink->db))
		return 0;
	snprintf(sink->why, sizeof(sink->why), "sslmode %s: the server has no TLS", mode);
	return -EPROTO;
}

static int mysql_try_connect(struct coro_sink *sink, const struct coro_sink_options *o,
			     const char *password)
{
	int is_socket = o->server && o->server[0] == '/', rc;

	if (sink->db)
		my.mysql_close(sink->db);
	sink->db = my.mysql_init(NULL);
	if (!sink->db)
		return -ENOMEM;
	rc = set_tls(sink, o->sslmode);
	if (rc)
		return rc;
	my.mysql_optionsv(sink->db, MYSQL_READ_DEFAULT_GROUP, "client");
	my.mysql_optionsv(sink->db, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	if (my.mysql_real_connect(sink->db, is_socket ? "localhost" : sink_or(o->server, NULL),
				  sink_or(o->user, NULL), password, NULL, o->port,
				  is_socket ? o->server : NULL, 0))
		return check_tls(sink, o->sslmode);
	return mysql_failed(sink);
}

static int mysql_is_refused(const struct coro_sink *sink)
{
	unsigned int code = sink->db ? my.mysql_errno(sink->db) : 0;

	return code == ER_ACCESS_DENIED_ERROR || code == ER_ACCESS_DENIED_NO_PASSWORD_ERROR;
}

static int mysql_connect_to(struct coro_sink *sink, const struct coro_sink_options *o)
{
	const char *given = secure_getenv("MYSQL_PWD");
	int rc = mysql_try_connect(sink, o, given);
	char *asked;

	if (!rc || given || !o->ask_password || !mysql_is_refused(sink))
		return rc;
	asked = o->ask_password(o->user, o->server);
	if (!asked)
		return rc;
	rc = mysql_try_connect(sink, o, asked);
	explicit_bzero(asked, strlen(asked));
	free(asked);
	return rc;
}

static const char create_table[] =
	"CREATE TABLE IF NOT EXISTS %s (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, "
	"probe_id DECIMAL(20,0) NOT NULL, tid DECIMAL(20,0) NOT NULL, addr VARCHAR(18) NOT NULL, "
	"seq DECIMAL(20,0) NOT NULL, is_active BOOLEAN NOT NULL, ts DECIMAL(20,0) NOT NULL, "
	"KEY idx_probe_seq (probe_id, seq), KEY idx_tid_ts (tid, ts), KEY idx_ts (ts)) "
	"ENGINE=InnoDB";

/* A database that is there is not made: its user may have no right to make one. */
static int enter_database(struct coro_sink *sink, const char *name)
{
	char *quoted = quote(name);
	int rc = quoted ? run(sink, "USE %s", quoted) : -ENOMEM;

	if (rc == -EIO && my.mysql_errno(sink->db) == ER_BAD_DB_ERROR) {
		rc = run(sink, "CREATE DATABASE IF NOT EXISTS %s CHARACTER SET utf8mb4", quoted);
		if (!rc)
			rc = run(sink, "USE %s", quoted);
	}
	free(quoted);
	return rc;
}

static int begin_rows(struct coro_sink *sink)
{
	static const char into[] = "INSERT INTO ", columns[] = " (probe_id, tid, addr, seq, "
							       "is_active, ts) VALUES ";

	buf_put(&sink->rows, into, sizeof(into) - 1);
	buf_put(&sink->rows, sink->table, strlen(sink->table));
	buf_put(&sink->rows, columns, sizeof(columns) - 1);
	sink->head = sink->rows.size;
	return sink->rows.failed ? -ENOMEM : 0;
}

static int mysql_prepare(struct coro_sink *sink, const struct coro_sink_options *o)
{
	int rc = library_open("libmariadb.so.3", calls, sizeof(calls) / sizeof(*calls), &my,
			      sink->why, sizeof(sink->why));

	if (!rc)
		rc = mysql_connect_to(sink, o);

	if (!rc)
		rc = enter_database(sink, sink_or(o->database, SINK_DATABASE));
	sink->table = quote(sink_or(o->table, SINK_TABLE));
	if (!sink->table)
		rc = -ENOMEM;
	if (!rc)
		rc = run(sink, create_table, sink->table);
	if (!rc)
		rc = run(sink, "START TRANSACTION");
	if (!rc && o->replace)
		rc = run(sink, "DELETE FROM %s", sink->table);
	return rc ? rc : begin_rows(sink);
}

static int mysql_sink_open(struct coro_sink **out, const struct coro_sink_options *options)
{
	struct coro_sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return -ENOMEM;
	*out = sink;
	return mysql_prepare(sink, options);
}

static int mysql_send_rows(struct coro_sink *sink)
{
	int rc;

	if (sink->rows.failed)
		return -ENOMEM;
	if (sink->rows.size == sink->head)
		return 0;
	rc = run_bytes(sink, (const char *)sink->rows.data, sink->rows.size);
	sink->rows.size = sink->head;
	return rc;
}

static int mysql_put(struct coro_sink *sink, const struct coro_event *e)
{
	char row[160];
	int n = snprintf(row, sizeof(row),
			 "%s(%" PRIu64 ",%" PRIu64 ",'0x%016" PRIx64 "',%" PRIu64 ",%d,%" PRIu64
			 ")",
			 sink->rows.size == sink->head ? "" : ",", e->probe_id, e->tid, e->addr,
			 e->seq, e->is_active != 0, e->ts);

	buf_put(&sink->rows, row, (size_t)n);
	return sink->rows.size >= INSERT_BYTES || sink->rows.failed ? mysql_send_rows(sink) : 0;
}

static int mysql_finish(struct coro_sink *sink, const struct coro_books *books)
{
	int rc = mysql_send_rows(sink);

	(void)books;
	return rc ? rc : run(sink, "COMMIT");
}

/* What is not committed the server forgets. */
static void mysql_sink_close(struct coro_sink *sink)
{
	if (sink->db)
		my.mysql_close(sink->db);
	free(sink->table);
	buf_free(&sink->rows);
	free(sink);
}

static const char *mysql_why(const struct coro_sink *sink)
{
	return *sink->why ? sink->why : NULL;
}

const struct coro_sink_ops coro_sink_mysql = {
	.open = mysql_sink_open,
	.put = mysql_put,
	.finish = mysql_finish,
	.close = mysql_sink_close,
	.why = mysql_why,
};
#endif
