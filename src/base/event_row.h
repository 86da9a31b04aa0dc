/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type's settings as stored in a session's row (weft/abi/events.h). Used by the writers of rows:
 * in the target the thread that registers a type, afterwards the collector.
 */
#ifndef WEFT_BASE_EVENT_ROW_H
#define WEFT_BASE_EVENT_ROW_H

#include <weft/abi/events.h>

#include "base/atomic.h"
#include "base/event_settings.h"

/* A time in ticks of a clock of @hz, rounded up; UINT64_MAX if it does not fit. */
static inline uint64_t event_row_ticks(uint64_t ns, uint64_t hz)
{
	uint64_t seconds = ns / 1000000000u, rest = ns % 1000000000u, whole;

	if (hz == 0 || hz > UINT64_MAX / 1000000000u || seconds >= UINT64_MAX / hz - 1)
		return ns ? UINT64_MAX : 0;
	whole = rest * hz;
	return seconds * hz + whole / 1000000000u + (whole % 1000000000u != 0);
}

/* @s: settled; @flags: the type's enum weft_event_type_flag; @is_on: 0 while nothing is
 * recorded. */
static inline uint32_t event_row_flags(const struct event_settings *s, uint32_t flags, int is_on)
{
	uint32_t row = 0;

	if (is_on && s->enabled)
		row |= WEFT_EVENT_ON;
	if ((flags & WEFT_EVENT_STACK) && s->stack_trace)
		row |= WEFT_EVENT_WITH_STACK;
	if (s->select == SELECT_IF_CONTEXT && !(flags & WEFT_EVENT_CONTEXTUAL))
		row |= WEFT_EVENT_IF_CONTEXT;
	if (s->select == SELECT_IF_TRIGGERED && (flags & WEFT_EVENT_CONTEXTUAL))
		row |= WEFT_EVENT_IF_TRIGGERED;
	if (s->throttle_window_ns)
		row |= WEFT_EVENT_THROTTLED;
	return row;
}

/* Stores the flags last. @hz: of the session's TSC; 0 = none. */
static inline void event_row_fill(struct weft_event_row *row, const struct event_settings *s,
				  uint32_t flags, uint64_t hz, int is_on)
{
	store_relaxed(&row->threshold_ns, s->threshold_ns);
	store_relaxed(&row->threshold_tsc, event_row_ticks(s->threshold_ns, hz));
	store_relaxed(&row->throttle_count, s->throttle_count);
	store_relaxed(&row->throttle_window, s->throttle_window_ns);
	store_release(&row->flags, event_row_flags(s, flags, is_on));
}

/* A type's settings before any are set: @text holds the definition's, or is NULL. A default that
 * cannot be parsed is ignored. */
struct event_row_defaults {
	uint32_t flags;
	const char *threshold, *throttle, *select;
};

static inline size_t event_row_length(const char *text)
{
	size_t bytes = 0;

	while (text[bytes])
		bytes++;
	return bytes;
}

static inline void event_row_put(struct event_settings *s, enum event_setting setting,
				 const char *value)
{
	if (value && *value)
		(void)weft_setting_put(s, setting, value, event_row_length(value));
}

static inline void event_row_begin(struct event_settings *s, const struct event_row_defaults *d)
{
	static const struct event_settings none;

	*s = none;
	s->enabled = !(d->flags & WEFT_EVENT_OFF);
	s->stack_trace = (d->flags & WEFT_EVENT_STACK) != 0;
	event_row_put(s, SETTING_THRESHOLD, d->threshold);
	event_row_put(s, SETTING_THROTTLE, d->throttle);
	event_row_put(s, SETTING_SELECT, d->select);
}

#endif
