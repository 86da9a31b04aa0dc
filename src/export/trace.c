/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of formats that take traces: what a struct coro_sink does. It owns the output, and the
 * timeline of formats that take slices, which get nothing before the trace has ended.
 */
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>

static struct export_job *trace_of(struct coro_sink *sink)
{
	return (struct export_job *)sink;
}

static int trace_open(struct coro_sink *sink)
{
	struct export_job *x = trace_of(sink);
	const struct exporter_ops *ops = x->format->ops;
	int rc = ops->slice ? coro_timeline_new(&x->timeline, x->longest) : 0;

	if (ops->state_bytes && !(x->state = calloc(1, ops->state_bytes)))
		return -ENOMEM;
	if (!rc && ops->open)
		rc = ops->open(x);
	if (rc || sink->is_live)
		return rc;
	rc = sink->replace ? output_open(&x->output, sink->path)
			   : output_open_new(&x->output, sink->path);
	return rc || x->timeline ? rc : ops->begin(x);
}

static int trace_put(struct coro_sink *sink, const struct coro_event *event)
{
	struct export_job *x = trace_of(sink);

	return x->timeline ? coro_timeline_event(x->timeline, event)
			   : x->format->ops->event(x, event);
}

static int trace_death(struct coro_sink *sink, const struct coro_death *death)
{
	struct export_job *x = trace_of(sink);

	return sink->takes_deaths ? x->format->ops->death(x, death) : 0;
}

static int trace_flush(struct coro_sink *sink)
{
	struct export_job *x = trace_of(sink);

	return sink->is_live ? x->format->ops->flush(x) : 0;
}

static uint64_t trace_written(const struct coro_sink *sink)
{
	const struct export_job *x = (const struct export_job *)sink;

	return x->format->ops->written(x);
}

/* Slices that ended before @next begins (NULL: all). @open: innermost last. */
static int trace_end_slices(struct export_job *x, const struct coro_slice **open, size_t *depth,
			    const struct coro_slice *next)
{
	int rc = 0;

	while (!rc && *depth) {
		const struct coro_slice *last = open[*depth - 1];

		if (next && last->thread == next->thread && last->end_ns > next->begin_ns)
			break;
		if (x->format->ops->slice_end)
			rc = x->format->ops->slice_end(x, last);
		--*depth;
	}
	return rc;
}

static int trace_draw_slices(struct export_job *x, const struct coro_thread *threads)
{
	const struct coro_slice *slices = x->timeline->nested.at, **open;
	size_t count = x->timeline->nested.count, depth = 0;
	int rc = 0;

	open = calloc(count + 1, sizeof(struct coro_slice *));
	if (!open)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < count; i++) {
		rc = trace_end_slices(x, open, &depth, &slices[i]);
		if (!rc)
			rc = x->format->ops->slice(x, &slices[i], &threads[slices[i].thread]);
		open[depth++] = &slices[i];
	}
	if (!rc)
		rc = trace_end_slices(x, open, &depth, NULL);
	free(open);
	return rc;
}

static int trace_draw_waits(struct export_job *x)
{
	const struct coro_wait *waits = x->timeline->waits;
	size_t count = x->timeline->wait_count, track = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++) {
		track += i == 0 || waits[i].life != waits[i - 1].life;
		rc = x->format->ops->wait(x, &waits[i], track);
	}
	return rc;
}

static int trace_draw(struct export_job *x, const struct coro_books *books)
{
	const struct exporter_ops *ops = x->format->ops;
	int rc = coro_timeline_finish(x->timeline, books);

	if (!rc)
		rc = ops->begin(x);
	if (!rc)
		rc = ops->lost(x, x->timeline->lost);
	for (size_t i = 0; !rc && i < x->timeline->thread_count; i++)
		rc = ops->thread(x, &x->timeline->threads[i], (uint32_t)i);
	if (!rc)
		rc = trace_draw_slices(x, x->timeline->threads);
	return rc ? rc : trace_draw_waits(x);
}

static int trace_finish(struct coro_sink *sink, const struct coro_books *books)
{
	struct export_job *x = trace_of(sink);
	struct output *output = x->output;
	int rc = x->timeline ? trace_draw(x, books) : 0;

	if (!rc && x->format->ops->end)
		rc = x->format->ops->end(x);
	if (rc || !output)
		return rc;
	x->output = NULL;
	return output_commit(output);
}

static const char *trace_why(const struct coro_sink *sink)
{
	const struct export_job *x = (const struct export_job *)sink;

	return *x->why ? x->why : NULL;
}

static void trace_close(struct coro_sink *sink)
{
	struct export_job *x = trace_of(sink);

	if (x->state && x->format->ops->free)
		x->format->ops->free(x);
	free(x->state);
	coro_timeline_free(x->timeline);
	output_abandon(x->output);
}

void export_trace(struct export_job *x, const struct exporter *format)
{
	static const struct coro_sink_ops ops = {
		.open = trace_open,
		.put = trace_put,
		.death = trace_death,
		.flush = trace_flush,
		.written = trace_written,
		.finish = trace_finish,
		.why = trace_why,
		.close = trace_close,
	};

	x->format = format;
	x->sink.ops = &ops;
	x->sink.is_live = (format->flags & EXPORT_IN_PLACE) != 0;
	x->sink.takes_deaths = format->ops->death != NULL;
}
