/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exporters: a recording's samples in another program's format. A format is one file with
 * one ops struct and a row in EXPORT_FORMATS, from which help and messages come.
 *
 * Runs on the command's one thread; the output appears whole or not at all.
 *
 *   export.c        the table of formats, run
 *   collapsed.c     collapsed stacks
 *   pprof.c         pprof: gathered
 *   pprof_message.c pprof: its message
 *   gzip.c          a message, packed
 *
 * And formats of coroutine traces (coro/engine/trace.h): likewise.
 *
 *   formats.c  the table
 *   sink.h     what sinks share
 *   jsonl.c    JSON lines
 *   csv.c      CSV
 *   chrome.c   Chrome's trace events
 *   perfetto.c Perfetto
 *   sqlite.c   SQLite
 *   sql.c      SQL text
 */
#ifndef WEFT_EXPORT_EXPORT_H
#define WEFT_EXPORT_EXPORT_H

#include "base/output.h"
#include "report/read/key.h"
#include "report/read/source.h"
#include "report/read/where.h"

struct export_job {
	struct source *source;
	struct output *output;
	const struct key *by; /* bound; what leads every stack, or what labels there are */
	size_t by_count;
	const struct where *wheres; /* bound; samples of which one does not hold are left out */
	size_t where_count;
	int lines;        /* frames are lines of source, for formats that can have either */
	int no_inlines;   /* inlined functions count as those that they are inlined into */
	uint64_t samples; /* handed to the format so far */
	void *state;      /* the format's own */
};

struct export_ops {
	int has_lines; /* it always takes lines of source */
	/* Prepares state. 0 or -errno; end() is called after it, come what may. */
	int (*begin)(struct export_job *job);
	/* One sample, in file order. 0 or -errno. */
	int (*sample)(struct export_job *job, const struct sample *s);
	/* After the last sample: writes what is not written yet. 0 or -errno. */
	int (*finish)(struct export_job *job);
	/* Frees state, complete or not. */
	void (*end)(struct export_job *job);
};

/* X(NAME, binary: not for a terminal, help): a row for each file with export_NAME in it. */
/* clang-format off */
#define EXPORT_FORMATS(X) \
	X(collapsed, 0, "lines \"root;...;leaf samples\", for flame graphs") \
	X(pprof,     1, "gzip'ed profile.proto, for go tool pprof")
/* clang-format on */

struct export_format {
	const char *name, *help;
	int binary;
	const struct export_ops *ops;
};

const struct export_format *export_format_find(const char *name); /* or NULL */

/* Reads the source once and writes all of it. 0 or -errno; the output is not committed. */
int export_run(const struct export_format *format, struct export_job *job);

#endif
