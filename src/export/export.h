/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exporters: the samples of a recording, or a trace of coroutines, in another program's format. A
 * format is one file with one struct exporter_ops and a row in EXPORT_FORMATS, from which help,
 * completion and messages come.
 *
 * Runs on the command's one thread, or on the writer's thread of coro/engine. An output appears
 * whole or not at all, but for formats that write in place.
 *
 *   export.c        the table of formats
 *   samples.c       a recording through a format
 *   trace.c         a trace through a format
 *   collapsed.c     collapsed stacks
 *   pprof.c         pprof: gathered
 *   pprof_message.c pprof: its message
 *   jsonl.c         JSON lines
 *   csv.c           CSV
 *   sqlite.c        SQLite
 *   sql.c           SQL text
 *   chrome.c        Chrome's trace events
 *   perfetto.c      Perfetto
 */
#ifndef WEFT_EXPORT_EXPORT_H
#define WEFT_EXPORT_EXPORT_H

#include "base/output.h"
#include "coro/engine/trace.h"
#include "coro/look/timeline.h"
#include "report/read/key.h"
#include "report/read/source.h"
#include "report/read/where.h"

enum export_kind {
	EXPORT_SAMPLES = 1 << 0, /* has sample() */
	EXPORT_TRACES = 1 << 1,  /* has event(), or slice() and what goes with it */
};

enum export_flags {
	EXPORT_BINARY = 1 << 0,     /* not for a terminal */
	EXPORT_LINES = 1 << 1,      /* its frames always have their lines of source */
	EXPORT_IN_PLACE = 1 << 2,   /* writes to the file itself, in whole lines: open() opens it */
	EXPORT_READ_AGAIN = 1 << 3, /* weft coro report reads it */
	/* A server loads it: all of a trace or nothing, into a table that can be named. */
	EXPORT_FOR_SERVER = 1 << 4,
};

/*
 * X(NAME, what it writes, flags, extension of its files, help): a row for each exporter_NAME.
 * What it writes is SAMPLES of a recording, or TRACES of coroutines. Choices and help list the
 * formats in this order.
 */
/* clang-format off */
#define EXPORT_FORMATS(X) \
	X(collapsed, SAMPLES, 0, NULL, "lines \"root;...;leaf samples\", for flame graphs") \
	X(pprof, SAMPLES, EXPORT_BINARY | EXPORT_LINES, NULL, \
	  "gzip'ed profile.proto, for go tool pprof") \
	X(jsonl, TRACES, EXPORT_IN_PLACE | EXPORT_READ_AGAIN, "jsonl", "one line of JSON per event") \
	X(csv, TRACES, 0, "csv", "comma-separated values, with a header") \
	X(sqlite, TRACES, 0, "sqlite", "an SQLite database with the table coro_trace_events") \
	X(sql, TRACES, EXPORT_FOR_SERVER, "sql", "SQL text, which psql and mariadb load") \
	X(chrome, TRACES, 0, "json", \
	  "Chrome's JSON, a timeline for chrome://tracing and ui.perfetto.dev") \
	X(perfetto, TRACES, EXPORT_BINARY, "pftrace", \
	  "a timeline for ui.perfetto.dev and trace_processor")

/* In a row: the text behind @KIND if the format writes samples, or if it writes traces. */
#define EXPORT_IF_SAMPLES(KIND, ...) EXPORT_IF_SAMPLES_##KIND(__VA_ARGS__)
#define EXPORT_IF_SAMPLES_SAMPLES(...) __VA_ARGS__
#define EXPORT_IF_SAMPLES_TRACES(...)
#define EXPORT_IF_TRACES(KIND, ...) EXPORT_IF_TRACES_##KIND(__VA_ARGS__)
#define EXPORT_IF_TRACES_SAMPLES(...)
#define EXPORT_IF_TRACES_TRACES(...) __VA_ARGS__
/* clang-format on */

struct exporter {
	const char *name, *extension; /* NULL: files of many formats have it */
	enum export_kind kind;
	unsigned int flags;
	const struct exporter_ops *ops;
};

const struct exporter *exporter_find(const char *name); /* or NULL */
/* The first that writes @kind, by extension; or NULL. */
const struct exporter *exporter_of_path(const char *path, enum export_kind kind);

/* One output in one format. */
struct export_job {
	struct coro_sink sink; /* a trace: where it goes, and how; first */
	const struct exporter *format;
	struct output *output; /* open from begin() to end() */
	void *state;           /* the format's own, from before open() until behind free() */
	char why[256];         /* of an error in other words than its number's; "" = none */
	/* A trace. */
	const char *table; /* SQL: of this name */
	int empty_table;   /* rows that it has already go, in the same transaction */
	uint32_t longest;  /* waits that get a track of their own; 0 = the default */
	struct coro_timeline *timeline;
	/* A recording. */
	struct source *source;
	struct key *by; /* bound; what leads every stack, or what labels there are */
	size_t by_count;
	struct where *wheres; /* bound; samples of which one does not hold are left out */
	size_t where_count;
	int lines;        /* frames are lines of source, for formats that can have either */
	int no_inlines;   /* inlined functions count as those that they are inlined into */
	uint64_t samples; /* handed to the format so far */
};

/*
 * Each returns 0 or -errno; NULL: nothing is to be done. Calls come in the order in which they
 * stand here: one of begin(), samples or events or a timeline, one of end(). An error ends them;
 * free() comes last, come what may.
 */
struct exporter_ops {
	size_t state_bytes; /* of x->state, which are zeros at first */
	/* Of a trace, before there is an output: to refuse, or to open one in place. */
	int (*open)(struct export_job *x);
	int (*begin)(struct export_job *x);
	/* A recording's, in file order. */
	int (*sample)(struct export_job *x, const struct sample *s);
	/* A trace's, as they come, and deaths behind a coroutine's last event. */
	int (*event)(struct export_job *x, const struct coro_event *e);
	int (*death)(struct export_job *x, const struct coro_death *death);
	/* A whole trace (coro/look/timeline.h), for formats with slice(): how many events are
	 * missing; each thread; each slice, and where one ends in which others lie; each wait, with
	 * the number of its coroutine's track, from 1. */
	int (*lost)(struct export_job *x, uint64_t events);
	int (*thread)(struct export_job *x, const struct coro_thread *thread, uint32_t index);
	int (*slice)(struct export_job *x, const struct coro_slice *s,
		     const struct coro_thread *thread);
	int (*slice_end)(struct export_job *x, const struct coro_slice *s);
	int (*wait)(struct export_job *x, const struct coro_wait *w, size_t track);
	/* What is not written yet; the output is complete behind it. */
	int (*end)(struct export_job *x);
	void (*free)(struct export_job *x);
	/* Formats that write in place, at any time: hands on what came; how many events are in the
	 * file for certain. */
	int (*flush)(struct export_job *x);
	uint64_t (*written)(const struct export_job *x);
};

/* Reads the source once and writes all of it to @path, whole or not at all. 0 or -errno. */
int export_samples(struct export_job *x, const char *path);

/* Makes @x->sink write a trace in @format; what else it is to do is set by the caller. */
void export_trace(struct export_job *x, const struct exporter *format);

/* Two digits for each byte, and a NUL. How many digits. */
int export_hex(char *to, const uint8_t *bytes, size_t count);

#endif
