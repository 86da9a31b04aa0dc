/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PostgreSQL by libpq: database and table are made when missing, the rows go by COPY, all in one
 * transaction: another sees all of a trace or nothing. NUMERIC(20,0) holds every u64.
 *
 * An index has the table's name in its own, for in PostgreSQL a schema's indexes share one space
 * of names; whether a table has an index is told by its columns, not by a name.
 * Host, user, port and password that are not given are libpq's matter (PGHOST, ~/.pgpass ...).
 */
#include "coro/engine/library.h"
#include "coro/export/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#ifndef WEFT_HAVE_LIBPQ
SINK_ABSENT(postgres, "libpq");
#else

#include <libpq-fe.h>

#include "base/buf.h"

#define COPY_BYTES (256 * 1024)
/* PostgreSQL's names end at 63 bytes, and the longest index has 14 more than its table. */
#define TABLE_MAX 45

/* clang-format off */
#define CALLS(X) \
	X(PQclear) \
	X(PQconnectdbParams) \
	X(PQconnectionNeedsPassword) \
	X(PQerrorMessage) \
	X(PQescapeIdentifier) \
	X(PQexec) \
	X(PQexecParams) \
	X(PQfinish) \
	X(PQfreemem) \
	X(PQgetResult) \
	X(PQhost) \
	X(PQntuples) \
	X(PQputCopyData) \
	X(PQputCopyEnd) \
	X(PQresultErrorMessage) \
	X(PQresultStatus) \
	X(PQsetNoticeReceiver) \
	X(PQstatus) \
	X(PQuser)
/* clang-format on */

static struct {
	LIBRARY_FIELDS(CALLS)
} pq;
static const char *const calls[] = {LIBRARY_NAMES(CALLS)};

struct coro_sink {
	const struct coro_sink_options *options; /* while it opens */
	PGconn *db;
	char *table, *plain; /* as SQL has it, and as it is */
	struct buf rows;
	char *asked; /* the password, of a person */
	char why[512];
};

/* Messages of libpq end in a newline, and may have several lines. */
static int postgres_failed(struct coro_sink *sink, const char *message)
{
	size_t n;

	snprintf(sink->why, sizeof(sink->why), "%s", message);
	for (n = strlen(sink->why); n && sink->why[n - 1] == '\n'; n--)
		sink->why[n - 1] = '\0';
	for (char *c = sink->why; *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	return -EIO;
}

static PGconn *postgres_try_connect(const struct coro_sink *sink, const char *database)
{
	const struct coro_sink_options *o = sink->options;
	char port[16] = "";
	const char *names[] = {"host",     "port", "user", "dbname", "sslmode", "application_name",
			       "password", NULL};
	/* an empty value is as if it was not given */
	const char *values[] = {o->server,  port,   o->user,     database,
				o->sslmode, "weft", sink->asked, NULL};

	if (o->port)
		snprintf(port, sizeof(port), "%u", o->port);
	return pq.PQconnectdbParams(names, values, 0);
}

static void postgres_forget(char *password)
{
	if (password)
		explicit_bzero(password, strlen(password));
	free(password);
}

/* A connection, good or not; a person is asked for a password once, when the server wants one. */
static PGconn *postgres_connect_to(struct coro_sink *sink, const char *database)
{
	const struct coro_sink_options *o = sink->options;
	PGconn *db = postgres_try_connect(sink, database);

	if (pq.PQstatus(db) == CONNECTION_OK || !pq.PQconnectionNeedsPassword(db) || sink->asked ||
	    !o->ask_password)
		return db;
	sink->asked = o->ask_password(pq.PQuser(db), pq.PQhost(db));
	if (!sink->asked)
		return db;
	pq.PQfinish(db);
	return postgres_try_connect(sink, database);
}

static int run(struct coro_sink *sink, PGconn *db, const char *statement)
{
	PGresult *result = pq.PQexec(db, statement);
	ExecStatusType status = pq.PQresultStatus(result);
	int rc = 0;

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_IN)
		rc = postgres_failed(sink, pq.PQerrorMessage(db));
	pq.PQclear(result);
	return rc;
}

/* Of a query with one parameter: how many rows, or -1. */
static int rows_of(PGconn *db, const char *query, const char *parameter)
{
	PGresult *result = pq.PQexecParams(db, query, 1, NULL, &parameter, NULL, NULL, 0);
	int rows = pq.PQresultStatus(result) == PGRES_TUPLES_OK ? pq.PQntuples(result) : -1;

	pq.PQclear(result);
	return rows;
}

static const char has_database[] = "SELECT 1 FROM pg_catalog.pg_database WHERE datname = $1";

static int create_database(struct coro_sink *sink, PGconn *db, const char *database)
{
	char *name = pq.PQescapeIdentifier(db, database, strlen(database)), *statement;
	int rc;

	if (!name || asprintf(&statement, "CREATE DATABASE %s", name) < 0) {
		pq.PQfreemem(name);
		return -ENOMEM;
	}
	rc = run(sink, db, statement);
	/* somebody else may have been quicker */
	if (rc && rows_of(db, has_database, database) == 1)
		rc = 0;
	free(statement);
	pq.PQfreemem(name);
	return rc;
}

/*
 * The database could not be connected to. If that is because there is none it is made, by way of
 * another; else the first connection's message is the one that tells.
 */
static int make_database(struct coro_sink *sink, const char *database)
{
	PGconn *other = postgres_connect_to(sink, sink_or(sink->options->maintenance, "postgres"));
	int rc;

	if (pq.PQstatus(other) != CONNECTION_OK || rows_of(other, has_database, database) != 0)
		rc = postgres_failed(sink, pq.PQerrorMessage(sink->db));
	else
		rc = create_database(sink, other, database);
	pq.PQfinish(other);
	if (rc)
		return rc;
	pq.PQfinish(sink->db);
	sink->db = postgres_connect_to(sink, database);
	return pq.PQstatus(sink->db) == CONNECTION_OK
		       ? 0
		       : postgres_failed(sink, pq.PQerrorMessage(sink->db));
}

static void say_nothing(void *arg, const PGresult *result)
{
	(void)arg;
	(void)result;
}

static int postgres_enter(struct coro_sink *sink)
{
	const char *database = sink_or(sink->options->database, SINK_DATABASE);

	sink->db = postgres_connect_to(sink, database);
	if (pq.PQstatus(sink->db) != CONNECTION_OK) {
		int rc = make_database(sink, database);

		if (rc)
			return rc;
	}
	pq.PQsetNoticeReceiver(sink->db, say_nothing, NULL);
	return 0;
}

/* Statements with the table's name in them: %1$s as SQL, %2$s for an index's name. */
static int run_for_table(struct coro_sink *sink, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int run_for_table(struct coro_sink *sink, const char *format, ...)
{
	char *statement;
	va_list list;
	int rc;

	va_start(list, format);
	rc = vasprintf(&statement, format, list);
	va_end(list);
	if (rc < 0)
		return -ENOMEM;
	rc = run(sink, sink->db, statement);
	free(statement);
	return rc;
}

static const struct {
	const char *suffix, *columns, *query;
} indexes[] = {
#define HAS(columns)                                                                               \
	"SELECT 1 FROM pg_catalog.pg_index WHERE indrelid = $1::pg_catalog.regclass AND "          \
	"pg_catalog.pg_get_indexdef(indexrelid) LIKE '% USING btree " columns "'"
	{"probe_seq", "(probe_id, seq)", HAS("(probe\\_id, seq)")},
	{"tid_ts", "(tid, ts)", HAS("(tid, ts)")},
	{"ts", "(ts)", HAS("(ts)")},
#undef HAS
};

static const char has_name[] = "SELECT 1 FROM pg_catalog.pg_class WHERE relname = $1 AND "
			       "relnamespace = 'public'::pg_catalog.regnamespace";

/* Under its usual name, or one that the server chooses if another thing of the schema has that. */
static int make_index(struct coro_sink *sink, size_t i)
{
	char usual[64];
	int rows = rows_of(sink->db, indexes[i].query, sink->table);

	if (rows < 0)
		return postgres_failed(sink, pq.PQerrorMessage(sink->db));
	if (rows > 0)
		return 0;
	snprintf(usual, sizeof(usual), "idx_%s_%s", sink->plain, indexes[i].suffix);
	rows = rows_of(sink->db, has_name, usual);
	if (rows < 0)
		return postgres_failed(sink, pq.PQerrorMessage(sink->db));
	if (rows > 0)
		return run_for_table(sink, "CREATE INDEX ON %s %s", sink->table,
				     indexes[i].columns);
	{
		char *name = pq.PQescapeIdentifier(sink->db, usual, strlen(usual));
		int rc = name ? run_for_table(sink, "CREATE INDEX %s ON %s %s", name, sink->table,
					      indexes[i].columns)
			      : -ENOMEM;

		pq.PQfreemem(name);
		return rc;
	}
}

static int name_table(struct coro_sink *sink)
{
	const char *plain = sink_or(sink->options->table, SINK_TABLE);
	char *quoted;

	if (strlen(plain) > TABLE_MAX) {
		snprintf(sink->why, sizeof(sink->why),
			 "table %s: names of tables have at most %d bytes here", plain, TABLE_MAX);
		return -EINVAL;
	}
	quoted = pq.PQescapeIdentifier(sink->db, plain, strlen(plain));
	sink->plain = strdup(plain);
	if (!quoted || asprintf(&sink->table, "public.%s", quoted) < 0)
		sink->table = NULL;
	pq.PQfreemem(quoted);
	return sink->table && sink->plain ? 0 : -ENOMEM;
}

static const char create_table[] =
	"CREATE TABLE IF NOT EXISTS %s (id BIGSERIAL PRIMARY KEY, probe_id NUMERIC(20,0) NOT NULL, "
	"tid NUMERIC(20,0) NOT NULL, addr VARCHAR(18) NOT NULL, seq NUMERIC(20,0) NOT NULL, "
	"is_active BOOLEAN NOT NULL, ts NUMERIC(20,0) NOT NULL)";

static int postgres_prepare(struct coro_sink *sink)
{
	int rc = library_open("libpq.so.5", calls, sizeof(calls) / sizeof(*calls), &pq, sink->why,
			      sizeof(sink->why));

	if (!rc)
		rc = postgres_enter(sink);

	if (!rc)
		rc = name_table(sink);
	if (!rc)
		rc = run(sink, sink->db, "BEGIN");
	if (!rc)
		rc = run_for_table(sink, create_table, sink->table);
	if (!rc && sink->options->replace)
		rc = run_for_table(sink, "DELETE FROM %s", sink->table);
	if (!rc)
		rc = run_for_table(sink,
				   "COPY %s (probe_id, tid, addr, seq, is_active, ts) FROM STDIN",
				   sink->table);
	return rc;
}

static int postgres_open(struct coro_sink **out, const struct coro_sink_options *options)
{
	struct coro_sink *sink = calloc(1, sizeof(*sink));
	int rc;

	if (!sink)
		return -ENOMEM;
	*out = sink;
	sink->options = options;
	rc = postgres_prepare(sink);
	sink->options = NULL;
	postgres_forget(sink->asked);
	sink->asked = NULL;
	return rc;
}

static int postgres_send_rows(struct coro_sink *sink)
{
	int rc;

	if (sink->rows.failed)
		return -ENOMEM;
	if (!sink->rows.size)
		return 0;
	rc = pq.PQputCopyData(sink->db, (const char *)sink->rows.data, (int)sink->rows.size);
	buf_clear(&sink->rows);
	return rc == 1 ? 0 : postgres_failed(sink, pq.PQerrorMessage(sink->db));
}

static int postgres_put(struct coro_sink *sink, const struct coro_event *e)
{
	char line[160];
	int n = snprintf(line, sizeof(line),
			 "%" PRIu64 "\t%" PRIu64 "\t0x%016" PRIx64 "\t%" PRIu64 "\t%c\t%" PRIu64
			 "\n",
			 e->probe_id, e->tid, e->addr, e->seq, e->is_active ? 't' : 'f', e->ts);

	buf_put(&sink->rows, line, (size_t)n);
	return sink->rows.size >= COPY_BYTES || sink->rows.failed ? postgres_send_rows(sink) : 0;
}

static int end_copy(struct coro_sink *sink)
{
	PGresult *result;
	int rc = 0;

	if (pq.PQputCopyEnd(sink->db, NULL) != 1)
		return postgres_failed(sink, pq.PQerrorMessage(sink->db));
	while ((result = pq.PQgetResult(sink->db))) {
		if (pq.PQresultStatus(result) != PGRES_COMMAND_OK)
			rc = postgres_failed(sink, pq.PQresultErrorMessage(result));
		pq.PQclear(result);
	}
	return rc;
}

static int postgres_finish(struct coro_sink *sink, const struct coro_books *books)
{
	int rc = postgres_send_rows(sink);

	(void)books;
	if (!rc)
		rc = end_copy(sink);
	for (size_t i = 0; !rc && i < sizeof(indexes) / sizeof(*indexes); i++)
		rc = make_index(sink, i);
	if (!rc)
		rc = run(sink, sink->db, "COMMIT");
	return rc;
}

/* What is not committed the server forgets. */
static void postgres_close(struct coro_sink *sink)
{
	if (sink->db)
		pq.PQfinish(sink->db);
	free(sink->table);
	free(sink->plain);
	buf_free(&sink->rows);
	free(sink);
}

static const char *postgres_why(const struct coro_sink *sink)
{
	return *sink->why ? sink->why : NULL;
}

const struct coro_sink_ops coro_sink_postgres = {
	.open = postgres_open,
	.put = postgres_put,
	.finish = postgres_finish,
	.close = postgres_close,
	.why = postgres_why,
};
#endif
