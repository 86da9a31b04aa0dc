/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans with a clock: weft_context_set(), and a contextual event around it like any program's. The
 * ids change in any case, the event obeys its settings.
 */
#include "runtime/event/event.h"

static struct weft_event_type timed_span = {
	.name = "weft.TimedSpan",
	.label = "Timed Span",
	.description = "A thread worked for a span, from its begin to its end",
	.category = "Weft|Context",
	.flags = WEFT_EVENT_CONTEXTUAL,
	WEFT_EVENT_FIELDS({.name = "name", .kind = WEFT_EVENT_STRING, .label = "Name"},
			  {.name = "spanId", .kind = WEFT_EVENT_ID, .label = "Span Id"},
			  {.name = "rootSpanId", .kind = WEFT_EVENT_ID, .label = "Root Span Id"}),
};

void weft_event_span_begin_own(struct weft_span *span, const char *name, uint64_t span_id,
			       uint64_t root_span_id)
{
	span->name = name;
	span->span_id = span_id;
	span->root_span_id = root_span_id;
	weft_event_begin(&span->event, &timed_span);
	span->before = weft_context_set(span_id, root_span_id);
}

/* The ids first: the event's own context is the enclosing one. */
int weft_event_span_end_own(struct weft_span *span)
{
	weft_context_set(span->before.span_id, span->before.root_span_id);
	return weft_event_commit(&span->event, WEFT_STRING(span->name), WEFT_LONG(span->span_id),
				 WEFT_LONG(span->root_span_id));
}

WEFT_API void weft_span_begin(struct weft_span *span, const char *name, uint64_t span_id,
			      uint64_t root_span_id)
{
	if (UNLIKELY(weft_event_master != NULL))
		weft_event_master->span_begin(span, name, span_id, root_span_id);
	else
		weft_event_span_begin_own(span, name, span_id, root_span_id);
}

WEFT_API int weft_span_end(struct weft_span *span)
{
	return UNLIKELY(weft_event_master != NULL) ? weft_event_master->span_end(span)
						   : weft_event_span_end_own(span);
}
