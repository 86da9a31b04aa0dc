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
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define INSERT_ROWS 1000 /* in a statement: far below every server's longest */
/* PostgreSQL's names end at 63 bytes, and the longest index has 14 more than its table. */
#define TABLE_MAX 49

struct sql {
	char table[2 * TABLE_MAX + 1]; /* as it stands between quotes */
	uint64_t rows;
};

static int sql_print(struct export_job *x, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int sql_print(struct export_job *x, const char *format, ...)
{
	char text[1024];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return output_write(x->output, text, (size_t)n);
}

static int sql_open(struct export_job *x)
{
	char *to = ((struct sql *)x->state)->table;

	if (strlen(x->table) > TABLE_MAX) {
		snprintf(x->why, sizeof(x->why),
			 "--table: names of tables have at most %d bytes here", TABLE_MAX);
		return -EINVAL;
	}
	for (const char *at = x->table; *at; at++) {
		if (*at == '"')
			*to++ = '"';
		*to++ = *at;
	}
	return 0;
}

static int sql_begin(struct export_job *x)
{
	const struct sql *sql = x->state;
	int rc = sql_print(x,
			   "SET NAMES 'UTF8';\n"
			   "/*!SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES') */;\n"
			   "CREATE TABLE IF NOT EXISTS \"%s\" (id SERIAL PRIMARY KEY,\n"
			   "  probe_id DECIMAL(20,0) NOT NULL, tid DECIMAL(20,0) NOT NULL,\n"
			   "  addr VARCHAR(18) NOT NULL, seq DECIMAL(20,0) NOT NULL,\n"
			   "  is_active BOOLEAN NOT NULL, ts DECIMAL(20,0) NOT NULL);\n"
			   "START TRANSACTION;\n",
			   sql->table);

	return rc || !x->empty_table ? rc : sql_print(x, "DELETE FROM \"%s\";\n", sql->table);
}

static int sql_event(struct export_job *x, const struct coro_event *e)
{
	struct sql *sql = x->state;
	int rc = 0;

	if (sql->rows % INSERT_ROWS)
		rc = sql_print(x, ",\n");
	else
		rc = sql_print(x,
			       "%sINSERT INTO \"%s\" (probe_id, tid, addr, seq, is_active, ts) "
			       "VALUES\n",
			       sql->rows ? ";\n" : "", sql->table);
	sql->rows++;
	return rc ? rc
		  : sql_print(x,
			      "(%" PRIu64 ",%" PRIu64 ",'0x%016" PRIx64 "',%" PRIu64 ",%s,%" PRIu64
			      ")",
			      e->probe_id, e->tid, e->addr, e->seq, e->is_active ? "TRUE" : "FALSE",
			      e->ts);
}

static int sql_end(struct export_job *x)
{
	static const char *const indexes[][2] = {
		{"probe_seq", "probe_id, seq"}, {"tid_ts", "tid, ts"}, {"ts", "ts"}};
	const struct sql *sql = x->state;
	int rc = sql_print(x, "%sCOMMIT;\n", sql->rows ? ";\n" : "");

	for (size_t i = 0; !rc && i < sizeof(indexes) / sizeof(*indexes); i++)
		rc = sql_print(x, "CREATE INDEX IF NOT EXISTS \"idx_%s_%s\" ON \"%s\" (%s);\n",
			       sql->table, indexes[i][0], sql->table, indexes[i][1]);
	return rc;
}

const struct exporter_ops exporter_sql = {
	.state_bytes = sizeof(struct sql),
	.open = sql_open,
	.begin = sql_begin,
	.event = sql_event,
	.end = sql_end,
};
