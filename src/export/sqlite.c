/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite: table coro_trace_events in a new file, filled in one transaction under another name and
 * then renamed. SQLite's integers end at 2^63 - 1: a tid, seq or ts above that is stored as text,
 * "0x" and 16 digits, which SQLite leaves as it is and sorts behind all integers, in order.
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#ifndef WEFT_HAVE_SQLITE
static int sqlite_absent(struct export_job *x)
{
	snprintf(x->why, sizeof(x->why), "this weft was built without libsqlite3");
	return -ENOSYS;
}

const struct exporter_ops exporter_sqlite = {.open = sqlite_absent};
#else

#include <sqlite3.h>

struct sqlite {
	sqlite3 *db;
	sqlite3_stmt *insert;
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

static int sqlite_failed(struct export_job *x, int code)
{
	const struct sqlite *s = x->state;

	snprintf(x->why, sizeof(x->why), "%s",
		 s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(code));
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

static int sqlite_run(struct export_job *x, const char *statements)
{
	const struct sqlite *s = x->state;
	int code = sqlite3_exec(s->db, statements, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : sqlite_failed(x, code);
}

static int sqlite_begin(struct export_job *x)
{
	const char *name = output_temporary(x->output);
	struct sqlite *s = x->state;
	int code, rc;

	if (!name) {
		snprintf(x->why, sizeof(x->why), "a database needs a file: give -o FILE");
		return -EINVAL;
	}
	code = sqlite3_open_v2(name, &s->db, SQLITE_OPEN_READWRITE, NULL);
	if (code != SQLITE_OK)
		return sqlite_failed(x, code);
	rc = sqlite_run(x, begin);
	if (rc)
		return rc;
	code = sqlite3_prepare_v2(s->db, insert, -1, &s->insert, NULL);
	return code == SQLITE_OK ? 0 : sqlite_failed(x, code);
}

static int sqlite_bind_number(sqlite3_stmt *s, int column, uint64_t value)
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
	code |= sqlite_bind_number(s, 2, e->tid);
	code |= sqlite3_bind_text(s, 3, addr, -1, SQLITE_TRANSIENT);
	code |= sqlite_bind_number(s, 4, e->seq);
	code |= sqlite3_bind_int(s, 5, e->is_active != 0);
	code |= sqlite_bind_number(s, 6, e->ts);
	return code == SQLITE_OK ? SQLITE_OK : SQLITE_NOMEM;
}

static int sqlite_event(struct export_job *x, const struct coro_event *event)
{
	const struct sqlite *s = x->state;
	int code = sqlite_bind(s->insert, event);

	if (code == SQLITE_OK)
		code = sqlite3_step(s->insert);
	if (code != SQLITE_DONE)
		return sqlite_failed(x, code);
	sqlite3_reset(s->insert);
	return 0;
}

/* What sqlite3_close() would still say is about a file that is complete, or given up. */
static void sqlite_free(struct export_job *x)
{
	struct sqlite *s = x->state;

	sqlite3_finalize(s->insert);
	sqlite3_close(s->db);
	*s = (struct sqlite){0};
}

static int sqlite_end(struct export_job *x)
{
	struct sqlite *s = x->state;
	int rc;

	sqlite3_finalize(s->insert);
	s->insert = NULL;
	rc = sqlite_run(x, indexes);
	if (!rc)
		sqlite_free(x);
	return rc;
}

const struct exporter_ops exporter_sqlite = {
	.state_bytes = sizeof(struct sqlite),
	.begin = sqlite_begin,
	.event = sqlite_event,
	.end = sqlite_end,
	.free = sqlite_free,
};
#endif
