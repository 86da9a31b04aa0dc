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
 * If select or throttle are in force the recording is read twice before it is copied. The first
 * reading finds the times of each chunk's events, and the contextual events that began before
 * their chunk. The second decides in order of time: an event waits in memory as long as a later
 * chunk may have one that ended earlier. A decision is a bit. So memory is that of one chunk's
 * events and those that wait, of contexts that cross chunks, and of a bit for each event.
 */
#ifndef WEFT_JFR_FILTER_H
#define WEFT_JFR_FILTER_H

#include <weft/jfr.h>

#include <stddef.h>

struct event_settings;
struct filter;

/*
 * @lines: of weft_jfr_settings_lines(), used until filter_free(). @wrong_select is called for types
 * whose value of select cannot be, which is `all` then. NULL: no memory.
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
