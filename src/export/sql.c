/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQL text that the clients of PostgreSQL and MariaDB load as it is: the table is made when it is
 * missing, and all rows come in one transaction, so that of a text that was cut short nothing
 * stays. DECIMAL(20,0) holds every u64. SERIAL is each server's own counting column.
 *
 * Names are quoted as the standard has it. MariaDB takes that in the mode ANSI_QUOTES, which a
 * comment of its own sets: to PostgreSQL it is a comment like any other. Indexes come behind the
 * rows, for MariaDB ends a transaction at any statement that changes a table's shape.
 */
#include "export/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define INSERT_ROWS 1000 /* in a statement: far below every server's longest */
/* PostgreSQL's names end at 63 bytes, and the longest index has 14 more than its table. */
#define TABLE_MAX 49

struct coro_sink {
	struct output *output;
	char table[2 * TABLE_MAX + 1]; /* as it stands between quotes */
	uint64_t rows;
	char why[128];
};

static int sql_print(struct coro_sink *sink, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int sql_print(struct coro_sink *sink, const char *format, ...)
{
	char text[1024];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return output_write(sink->output, text, (size_t)n);
}

static int sql_name_table(struct coro_sink *sink, const char *name)
{
	char *to = sink->table;

	if (strlen(name) > TABLE_MAX) {
		snprintf(sink->why, sizeof(sink->why),
			 "--table: names of tables have at most %d bytes here", TABLE_MAX);
		return -EINVAL;
	}
	for (; *name; name++) {
		if (*name == '"')
			*to++ = '"';
		*to++ = *name;
	}
	return 0;
}

static int sql_begin(struct coro_sink *sink)
{
	return sql_print(sink,
			 "SET NAMES 'UTF8';\n"
			 "/*!SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES') */;\n"
			 "CREATE TABLE IF NOT EXISTS \"%s\" (id SERIAL PRIMARY KEY,\n"
			 "  probe_id DECIMAL(20,0) NOT NULL, tid DECIMAL(20,0) NOT NULL,\n"
			 "  addr VARCHAR(18) NOT NULL, seq DECIMAL(20,0) NOT NULL,\n"
			 "  is_active BOOLEAN NOT NULL, ts DECIMAL(20,0) NOT NULL);\n"
			 "START TRANSACTION;\n",
			 sink->table);
}

static int sql_open(struct coro_sink **out, const struct coro_sink_options *options)
{
	struct coro_sink *sink = calloc(1, sizeof(*sink));
	int rc;

	if (!sink)
		return -ENOMEM;
	*out = sink;
	rc = sql_name_table(sink, options->table);
	if (!rc)
		rc = sink_output(&sink->output, options);
	if (!rc)
		rc = sql_begin(sink);
	if (!rc && options->empty_table)
		rc = sql_print(sink, "DELETE FROM \"%s\";\n", sink->table);
	return rc;
}

static int sql_put(struct coro_sink *sink, const struct coro_event *e)
{
	int rc = 0;

	if (sink->rows % INSERT_ROWS)
		rc = sql_print(sink, ",\n");
	else
		rc = sql_print(sink,
			       "%sINSERT INTO \"%s\" (probe_id, tid, addr, seq, is_active, ts) "
			       "VALUES\n",
			       sink->rows ? ";\n" : "", sink->table);
	sink->rows++;
	return rc ? rc
		  : sql_print(sink,
			      "(%" PRIu64 ",%" PRIu64 ",'0x%016" PRIx64 "',%" PRIu64 ",%s,%" PRIu64
			      ")",
			      e->probe_id, e->tid, e->addr, e->seq, e->is_active ? "TRUE" : "FALSE",
			      e->ts);
}

static int sql_finish(struct coro_sink *sink, const struct coro_books *books)
{
	static const char *const indexes[][2] = {
		{"probe_seq", "probe_id, seq"}, {"tid_ts", "tid, ts"}, {"ts", "ts"}};
	struct output *output = sink->output;
	int rc = sql_print(sink, "%sCOMMIT;\n", sink->rows ? ";\n" : "");

	(void)books;
	for (size_t i = 0; !rc && i < sizeof(indexes) / sizeof(*indexes); i++)
		rc = sql_print(sink, "CREATE INDEX IF NOT EXISTS \"idx_%s_%s\" ON \"%s\" (%s);\n",
			       sink->table, indexes[i][0], sink->table, indexes[i][1]);
	if (rc)
		return rc;
	sink->output = NULL;
	return output_commit(output);
}

static void sql_close(struct coro_sink *sink)
{
	output_abandon(sink->output);
	free(sink);
}

static const char *sql_why(const struct coro_sink *sink)
{
	return *sink->why ? sink->why : NULL;
}

const struct coro_sink_ops coro_sink_sql = {
	.open = sql_open,
	.put = sql_put,
	.finish = sql_finish,
	.close = sql_close,
	.why = sql_why,
};
