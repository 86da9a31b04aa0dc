/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events of a recording its settings would have kept, had they been in force when it was
 * made. As a live recording decides, an event at its end, in this order:
 *
 *	enabled    false: it is out. A contextual type that is out is no context either.
 *	select     if-context: some contextual event of the thread is open at the event's end.
 *		   if-triggered: since it began, another event of the thread was kept; one that
 *		   is contextual counts when it began no earlier, for they nest.
 *	threshold  of events that last: not shorter than that
 *	throttle   of one type, in time: so many in each window
 *
 * stackTrace=false takes the stack from an event. period cannot be had afterwards.
 *
 * Contextual are types and fields with @jdk.jfr.Contextual, and weft.Span. An event's thread is its
 * field eventThread, or sampledThread. What a recording of weft's says of weft itself triggers
 * nothing. Begin and end count as within. Of events that end at one moment the contextual ones come
 * last, of these the one that began last first.
 *
 * Where select or throttle are in force this takes two readings before the one that copies: the
 * first tells, for each chunk, from when on later chunks have anything, and which contextual events
 * reach back before their own chunk; the second decides, in order of time, with the events in
 * memory whose turn may not have come. What is decided is a bit for each event. So memory is that
 * of one chunk's events (and of those which chunks tell late), contexts across chunks, and a bit
 * for each event.
 */
#ifndef WEFT_JFR_FILTER_H
#define WEFT_JFR_FILTER_H

#include <weft/jfr.h>

#include <stddef.h>

struct event_settings;
struct filter;

/*
 * Is told once of each type whose value for select cannot be: it is `all` then. @lines: as of
 * weft_jfr_settings_lines(); stays. NULL: no memory.
 */
struct filter *filter_new(const char *lines, void (*wrong_select)(const char *event, void *arg),
			  void *arg);
void filter_free(struct filter *f);

/* The readings of one recording that come before it is copied. 0, or -ENOMEM, or -errno of open. */
int filter_prepare(struct filter *f, const char *path);

/*
 * Is the event wanted? To be asked of every event that weft_jfr_next_here() gives, in order, after
 * filter_prepare(). 1 or 0; -ENOMEM.
 */
int filter_wants(struct filter *f, const struct weft_jfr_reader *r,
		 const struct weft_jfr_event_view *view, int *without_stack);

/* What is in force for a type of the open chunk; NULL: no memory. */
const struct event_settings *filter_settings(struct filter *f, const struct weft_jfr_reader *r,
					     const struct weft_jfr_class *class);

#endif
