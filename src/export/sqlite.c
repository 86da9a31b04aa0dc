/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite: table coro_trace_events in a new file, filled in one transaction under another name and
 * then renamed. SQLite's integers end at 2^63 - 1: a tid, seq or ts above that is stored as text,
 * "0x" and 16 digits, which SQLite leaves as it is and sorts behind all integers, in order.
 */
#include "export/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifndef WEFT_HAVE_SQLITE
static int absent_open(struct coro_sink **out, const struct coro_sink_options *options)
{
	static int nothing;

	(void)options;
	*out = (struct coro_sink *)&nothing;
	return -ENOSYS;
}

static void absent_close(struct coro_sink *sink)
{
	(void)sink;
}

static const char *absent_why(const struct coro_sink *sink)
{
	(void)sink;
	return "this weft was built without libsqlite3";
}

const struct coro_sink_ops coro_sink_sqlite = {
	.open = absent_open,
	.close = absent_close,
	.why = absent_why,
};
#else

#include <sqlite3.h>

struct coro_sink {
	struct output *output;
	sqlite3 *db;
	sqlite3_stmt *insert;
	char why[256];
};

/* The file is nobody's until it is renamed: no journal is needed to take it back. */
static const char begin[] =
	"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
	"BEGIN IMMEDIATE;"
	"CREATE TABLE coro_trace_events ("
	"id INTEGER PRIMARY KEY AUTOINCREMENT, probe_id TEXT NOT NULL, tid INTEGER NOT NULL, "
	"addr TEXT NOT NULL, seq INTEGER NOT NULL, "
	"is_active INTEGER NOT NULL CHECK (is_active IN (0, 1)), ts INTEGER NOT NULL);";

static const char indexes[] =
	"CREATE INDEX idx_coro_trace_events_probe_seq ON coro_trace_events (probe_id, seq);"
	"CREATE INDEX idx_coro_trace_events_tid_ts ON coro_trace_events (tid, ts);"
	"CREATE INDEX idx_coro_trace_events_ts ON coro_trace_events (ts);"
	"COMMIT;";

static const char insert[] =
	"INSERT INTO coro_trace_events (probe_id, tid, addr, seq, is_active, ts) "
	"VALUES (?, ?, ?, ?, ?, ?)";

static int sqlite_failed(struct coro_sink *sink, int code)
{
	snprintf(sink->why, sizeof(sink->why), "%s",
		 sink->db ? sqlite3_errmsg(sink->db) : sqlite3_errstr(code));
	switch (code & 0xFF) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_TOOBIG:
		return -EFBIG;
	default:
		return -EIO;
	}
}

static int run(struct coro_sink *sink, const char *statements)
{
	int code = sqlite3_exec(sink->db, statements, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : sqlite_failed(sink, code);
}

static int sqlite_prepare(struct coro_sink *sink)
{
	const char *name = output_temporary(sink->output);
	int code, rc;

	if (!name) {
		snprintf(sink->why, sizeof(sink->why), "a database needs a file: give -o FILE");
		return -EINVAL;
	}
	code = sqlite3_open_v2(name, &sink->db, SQLITE_OPEN_READWRITE, NULL);
	if (code != SQLITE_OK)
		return sqlite_failed(sink, code);
	rc = run(sink, begin);
	if (rc)
		return rc;
	code = sqlite3_prepare_v2(sink->db, insert, -1, &sink->insert, NULL);
	return code == SQLITE_OK ? 0 : sqlite_failed(sink, code);
}

static int sqlite_open(struct coro_sink **out, const struct coro_sink_options *options)
{
	struct coro_sink *sink = calloc(1, sizeof(*sink));
	int rc;

	if (!sink)
		return -ENOMEM;
	*out = sink;
	rc = sink_output(&sink->output, options);
	return rc ? rc : sqlite_prepare(sink);
}

static int bind_number(sqlite3_stmt *s, int column, uint64_t value)
{
	char text[24];

	if (value <= INT64_MAX)
		return sqlite3_bind_int64(s, column, (sqlite3_int64)value);
	snprintf(text, sizeof(text), "0x%016" PRIx64, value);
	return sqlite3_bind_text(s, column, text, -1, SQLITE_TRANSIENT);
}

static int sqlite_bind(sqlite3_stmt *s, const struct coro_event *e)
{
	char id[24], addr[24];
	int code = 0;

	snprintf(id, sizeof(id), "%" PRIu64, e->probe_id);
	snprintf(addr, sizeof(addr), "0x%016" PRIx64, e->addr);
	code |= sqlite3_bind_text(s, 1, id, -1, SQLITE_TRANSIENT);
	code |= bind_number(s, 2, e->tid);
	code |= sqlite3_bind_text(s, 3, addr, -1, SQLITE_TRANSIENT);
	code |= bind_number(s, 4, e->seq);
	code |= sqlite3_bind_int(s, 5, e->is_active != 0);
	code |= bind_number(s, 6, e->ts);
	return code == SQLITE_OK ? SQLITE_OK : SQLITE_NOMEM;
}

static int sqlite_put(struct coro_sink *sink, const struct coro_event *event)
{
	int code = sqlite_bind(sink->insert, event);

	if (code == SQLITE_OK)
		code = sqlite3_step(sink->insert);
	if (code != SQLITE_DONE)
		return sqlite_failed(sink, code);
	sqlite3_reset(sink->insert);
	return 0;
}

/* Lets go of the file. What sqlite3_close() would still say is about a file that is complete. */
static void sqlite_let_go(struct coro_sink *sink)
{
	if (!sink->db)
		return;
	sqlite3_finalize(sink->insert);
	sqlite3_close(sink->db);
	sink->insert = NULL;
	sink->db = NULL;
}

static int sqlite_finish(struct coro_sink *sink, const struct coro_books *books)
{
	struct output *output = sink->output;
	int rc;

	(void)books;
	sqlite3_finalize(sink->insert);
	sink->insert = NULL;
	rc = run(sink, indexes);
	if (rc)
		return rc;
	sqlite_let_go(sink);
	sink->output = NULL;
	return output_commit(output);
}

static void sqlite_close(struct coro_sink *sink)
{
	sqlite_let_go(sink);
	output_abandon(sink->output);
	free(sink);
}

static const char *sqlite_why(const struct coro_sink *sink)
{
	return *sink->why ? sink->why : NULL;
}

const struct coro_sink_ops coro_sink_sqlite = {
	.open = sqlite_open,
	.put = sqlite_put,
	.finish = sqlite_finish,
	.close = sqlite_close,
	.why = sqlite_why,
};
#endif
