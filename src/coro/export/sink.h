/* SPDX-License-Identifier: Apache-2.0 */
/* What sinks (coro/engine/trace.h) have in common. Each is one file that ends in its table of
 * calls. */
#ifndef WEFT_CORO_SINK_H
#define WEFT_CORO_SINK_H

#include "base/output.h"
#include "coro/engine/trace.h"

#include <inttypes.h>
#include <stdio.h>

#define SINK_TABLE "coro_trace_events" /* the default table */
#define SINK_DATABASE "coro_tracer"    /* and the database */

/* Opens the output that the options name. 0 or -errno. */
static inline int sink_output(struct output **out, const struct coro_sink_options *options)
{
	return options->replace ? output_open(out, options->path)
				: output_open_new(out, options->path);
}

/* "or", where the options left it open. */
static inline const char *sink_or(const char *given, const char *otherwise)
{
	return given && *given ? given : otherwise;
}

/* For formats whose library this weft was built without. */
#define SINK_ABSENT(format, library)                                                               \
	static int absent_open(struct coro_sink **out, const struct coro_sink_options *options)    \
	{                                                                                          \
		static int nothing;                                                                \
		(void)options;                                                                     \
		*out = (struct coro_sink *)&nothing;                                               \
		return -ENOSYS;                                                                    \
	}                                                                                          \
	static int absent_put(struct coro_sink *sink, const struct coro_event *event)              \
	{                                                                                          \
		(void)sink;                                                                        \
		(void)event;                                                                       \
		return -ENOSYS;                                                                    \
	}                                                                                          \
	static int absent_finish(struct coro_sink *sink, const struct coro_books *books)           \
	{                                                                                          \
		(void)sink;                                                                        \
		(void)books;                                                                       \
		return -ENOSYS;                                                                    \
	}                                                                                          \
	static void absent_close(struct coro_sink *sink)                                           \
	{                                                                                          \
		(void)sink;                                                                        \
	}                                                                                          \
	static const char *absent_why(const struct coro_sink *sink)                                \
	{                                                                                          \
		(void)sink;                                                                        \
		return "this weft was built without " library;                                     \
	}                                                                                          \
	const struct coro_sink_ops coro_sink_##format = {                                          \
		.open = absent_open,                                                               \
		.put = absent_put,                                                                 \
		.finish = absent_finish,                                                           \
		.close = absent_close,                                                             \
		.why = absent_why,                                                                 \
	}

#define SINK_DECLARE(NAME, HELP, EXTENSION) extern const struct coro_sink_ops coro_sink_##NAME;
CORO_FORMATS(SINK_DECLARE)

#endif
