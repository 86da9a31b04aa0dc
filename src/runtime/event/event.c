/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events from begin to commit: their times, contexts, and filters (event.h).
 *
 * State of an event: begun, then ended, then over (type NULL). A contextual one counts as one of
 * the thread's open contexts from begin to end; with select=if-triggered, and if nothing was
 * committed in between, it is over at its end, and no clock is read for it.
 *
 * Throttle: row->used holds the window (low 32 bits of its number) and how many events were
 * admitted in it. One compare-and-swap admits an event, so that a window never admits more than its
 * limit. Windows are [n * W, (n + 1) * W) of CLOCK_MONOTONIC, to which TSC times are converted by
 * the session's anchor; an event's time is its end. An event that ended a little before the newest
 * window began counts in that window.
 */
#include "runtime/event/event.h"

#include <errno.h>

#include "runtime/core/copies.h"
#include "runtime/event/event_clock.h"

enum state {
	ENDED = 1 << 0,
	IN_TSC = 1 << 1,
	OPEN = 1 << 2,     /* is one of the thread's open contexts */
	UNKNOWING = 1 << 3 /* began on a thread without slot: commits were not counted */
};

#define WINDOWS_BACK                                                                               \
	(INT32_C(1) << 20) /* further back is not an earlier window, but another count */

const struct weft_event_v1 *weft_event_master;

static inline uint32_t row_flags(const struct weft_event_row *row)
{
	return __atomic_load_n(&row->flags, __ATOMIC_RELAXED);
}

static inline const struct weft_event_row *event_row_of(const struct weft_event_type *type)
{
	return __atomic_load_n(&type->row, __ATOMIC_RELAXED);
}

static inline int event_is_recorded(void)
{
	return weft_rt_is_ready() && weft_rt_run_state() == WEFT_RUN_RECORDING;
}

/* ---- contexts */

static inline void open_context(struct weft_event *event, struct weft_slot *slot)
{
	if (UNLIKELY(!slot)) {
		event->state |= UNKNOWING;
		return;
	}
	weft_event_add(&slot->events.open_contexts, 1);
	event->commits = weft_event_commits(slot);
	event->state |= OPEN;
}

static inline void close_context(struct weft_event *event, struct weft_slot *slot)
{
	if (!(event->state & OPEN))
		return;
	event->state &= ~(uint32_t)OPEN;
	if (LIKELY(slot && __atomic_load_n(&slot->events.open_contexts, __ATOMIC_RELAXED)))
		weft_event_add(&slot->events.open_contexts, UINT64_MAX);
}

static inline int is_triggered(const struct weft_event *event, const struct weft_slot *slot)
{
	return slot && !(event->state & UNKNOWING) && weft_event_commits(slot) != event->commits;
}

/* ---- filters */

static inline int leave_out(struct weft_slot *slot, enum weft_counter counter)
{
	weft_event_count(slot, counter);
	return 0;
}

static __attribute__((noinline)) int is_admitted(const struct weft_event_row *row, uint64_t now_ns)
{
	uint64_t *used = (uint64_t *)(uintptr_t)&row->used;
	uint64_t most = __atomic_load_n(&row->throttle_count, __ATOMIC_RELAXED);
	uint64_t window_ns = __atomic_load_n(&row->throttle_window, __ATOMIC_RELAXED);
	uint64_t before = __atomic_load_n(used, __ATOMIC_RELAXED), after;
	uint32_t window;

	if (!window_ns)
		return 1;
	most = most < UINT32_MAX ? most : UINT32_MAX;
	window = (uint32_t)(now_ns / window_ns);
	do {
		int32_t ahead = (int32_t)(window - (uint32_t)(before >> 32));
		int is_new = ahead > 0 || ahead < -WINDOWS_BACK;

		after = is_new ? (uint64_t)window << 32 | 1 : before + 1;
		if ((is_new ? 0 : (uint32_t)before) >= most)
			return 0;
	} while (!__atomic_compare_exchange_n(used, &before, after, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return 1;
}

/* The filters enabled, select (except of contextual types) and threshold. */
static inline int passes(const struct weft_event_type *type, uint32_t flags, struct weft_slot *slot,
			 uint64_t duration, uint64_t threshold)
{
	if (UNLIKELY(!(flags & WEFT_EVENT_ON)))
		return 0;
	if (UNLIKELY(flags & WEFT_EVENT_IF_CONTEXT) && !(type->flags & WEFT_EVENT_CONTEXTUAL) &&
	    (!slot || !weft_event_has_context(slot)))
		return leave_out(slot, WEFT_COUNTER_EVENTS_UNSELECTED);
	if (UNLIKELY(duration < threshold) && !(type->flags & WEFT_EVENT_INSTANT))
		return leave_out(slot, WEFT_COUNTER_EVENTS_SHORT);
	return 1;
}

static inline uint64_t threshold_of(const struct weft_event_row *row, int in_tsc)
{
	return __atomic_load_n(in_tsc ? &row->threshold_tsc : &row->threshold_ns, __ATOMIC_RELAXED);
}

static inline int is_if_triggered(const struct weft_event_type *type, uint32_t flags)
{
	return (flags & WEFT_EVENT_IF_TRIGGERED) && (type->flags & WEFT_EVENT_CONTEXTUAL);
}

/* The throttle, the last filter; then the ring. */
static __attribute__((noinline)) int commit_throttled(struct weft_slot *slot,
						      const struct weft_event_row *row,
						      const struct weft_event_put *put,
						      uint64_t now_ns)
{
	/* A careful program's child keeps its parent's rows, whose throttle is not its own. */
	if (UNLIKELY(weft_rt_is_unbegun_child()))
		return 0;
	if (!is_admitted(row, now_ns))
		return leave_out(slot, WEFT_COUNTER_EVENTS_THROTTLED);
	return weft_event_write(slot, put);
}

static inline int commit(struct weft_slot *slot, const struct weft_event_row *row,
			 const struct weft_event_put *put)
{
	if (UNLIKELY(row_flags(row) & WEFT_EVENT_THROTTLED))
		return commit_throttled(slot, row, put,
					event_in_ns(put->end, put->flags & WEFT_EVENT_IN_TSC));
	return weft_event_write(slot, put);
}

/* ---- from begin to commit */

static inline void event_begin(struct weft_event *event, struct weft_event_type *type)
{
	struct weft_slot *slot = weft_thread_own_slot();

	event->type = NULL;
	if (UNLIKELY(!event_is_recorded()))
		return;
	event->type = type;
	event->state = event_clock_is_tsc() ? IN_TSC : 0;
	event->begin = event_now(event->state & IN_TSC);
	if (type->flags & WEFT_EVENT_CONTEXTUAL)
		open_context(event, slot);
}

/* The clock may have changed since the begin. */
static inline uint64_t end_time(struct weft_event *event)
{
	int in_tsc = event_clock_is_tsc();
	uint64_t now = event_now(in_tsc);

	if (UNLIKELY(in_tsc != !!(event->state & IN_TSC))) {
		event->begin = event_convert(event->begin, in_tsc);
		event->state ^= IN_TSC;
	}
	return now < event->begin ? event->begin : now;
}

static inline void event_end(struct weft_event *event)
{
	struct weft_slot *slot;

	if (event->state & ENDED)
		return;
	slot = weft_thread_own_slot();
	close_context(event, slot);
	if (UNLIKELY(!event_is_recorded())) {
		event->type = NULL;
		return;
	}
	if (is_if_triggered(event->type, row_flags(event_row_of(event->type))) &&
	    !is_triggered(event, slot)) {
		weft_event_count(slot, WEFT_COUNTER_EVENTS_UNTRIGGERED);
		event->type = NULL;
		return;
	}
	event->end = end_time(event);
	event->state |= ENDED;
}

static inline int should_commit(struct weft_event *event)
{
	const struct weft_event_row *row;
	int in_tsc, is_kept;

	event_end(event);
	if (!event->type)
		return 0;
	row = event_row_of(event->type);
	in_tsc = (event->state & IN_TSC) != 0;
	is_kept = passes(event->type, row_flags(row), weft_thread_own_slot(),
			 event->end - event->begin, threshold_of(row, in_tsc));
	if (!is_kept)
		event->type = NULL;
	return is_kept;
}

static void cancel(struct weft_event *event)
{
	if (!event->type)
		return;
	close_context(event, weft_thread_own_slot());
	event->type = NULL;
}

static int event_event_put(struct weft_event *event, const struct weft_event_value *values,
			   size_t count, const struct weft_event_caller *caller)
{
	struct weft_event_put put = {.values = values, .count = count, .caller = caller};
	const struct weft_event_row *row;
	int in_tsc = (event->state & IN_TSC) != 0;

	if (UNLIKELY(!event->type) || UNLIKELY(!(event->state & ENDED) && !should_commit(event)))
		return 0;
	put.type = event->type;
	put.begin = event->begin;
	put.end = event->end;
	put.flags = in_tsc ? WEFT_EVENT_IN_TSC : 0;
	row = event_row_of(event->type);
	event->type = NULL;
	if (UNLIKELY(!event_is_recorded()))
		return 0;
	return commit(weft_thread_own_slot(), row, &put);
}

/* ---- at once */

static int put_now(struct weft_event_type *type, const struct weft_event_value *values,
		   size_t count, const struct weft_event_caller *caller)
{
	struct weft_event_put put = {
		.type = type, .values = values, .count = count, .caller = caller};
	const struct weft_event_row *row = event_row_of(type);
	struct weft_slot *slot = weft_thread_own_slot();
	uint32_t flags = row_flags(row);
	int in_tsc;

	if (UNLIKELY(!event_is_recorded()))
		return 0;
	if (UNLIKELY(is_if_triggered(type, flags)) && (flags & WEFT_EVENT_ON))
		return leave_out(slot, WEFT_COUNTER_EVENTS_UNTRIGGERED);
	in_tsc = event_clock_is_tsc();
	if (!passes(type, flags, slot, 0, threshold_of(row, in_tsc)))
		return 0;
	put.begin = put.end = event_now(in_tsc);
	put.flags = in_tsc ? WEFT_EVENT_IN_TSC : 0;
	return commit(slot, row, &put);
}

static int put_at(struct weft_event_type *type, uint64_t begin_ns, uint64_t end_ns,
		  const struct weft_event_value *values, size_t count,
		  const struct weft_event_caller *caller)
{
	struct weft_event_put put = {.type = type,
				     .begin = begin_ns + weft_time_shift(),
				     .end = (end_ns < begin_ns ? begin_ns : end_ns) +
					    weft_time_shift(),
				     .values = values,
				     .count = count,
				     .caller = caller};
	const struct weft_event_row *row = event_row_of(type);
	struct weft_slot *slot = weft_thread_own_slot();

	if (UNLIKELY(!event_is_recorded()) ||
	    !passes(type, row_flags(row), slot, put.end - put.begin, threshold_of(row, 0)))
		return 0;
	return row_flags(row) & WEFT_EVENT_THROTTLED
		       ? commit_throttled(slot, row, &put, clock_monotonic_ns())
		       : weft_event_write(slot, &put);
}

const struct weft_event_v1 weft_event_own = {
	.size = sizeof(weft_event_own),
	.enrol = weft_event_enrol_own,
	.begin = event_begin,
	.end = event_end,
	.should_commit = should_commit,
	.put = event_event_put,
	.cancel = cancel,
	.put_now = put_now,
	.put_at = put_at,
	.span_begin = weft_event_span_begin_own,
	.span_end = weft_event_span_end_own,
};

/* ---- as others call it */

WEFT_API void weft_event_begin_on(struct weft_event *event, struct weft_event_type *type)
{
	if (UNLIKELY(weft_event_master != NULL))
		weft_event_master->begin(event, type);
	else
		event_begin(event, type);
}

WEFT_API void weft_event_end_on(struct weft_event *event)
{
	if (UNLIKELY(weft_event_master != NULL))
		weft_event_master->end(event);
	else
		event_end(event);
}

WEFT_API int weft_event_should_commit_on(struct weft_event *event)
{
	return UNLIKELY(weft_event_master != NULL) ? weft_event_master->should_commit(event)
						   : should_commit(event);
}

WEFT_API void weft_event_cancel(struct weft_event *event)
{
	if (UNLIKELY(weft_event_master != NULL))
		weft_event_master->cancel(event);
	else
		cancel(event);
}

int weft_event_put_from(struct weft_event *event, const struct weft_event_value *values,
			size_t count, const struct weft_event_caller *caller)
{
	return UNLIKELY(weft_event_master != NULL)
		       ? weft_event_master->put(event, values, count, caller)
		       : event_event_put(event, values, count, caller);
}

int weft_event_put_now_from(struct weft_event_type *type, const struct weft_event_value *values,
			    size_t count, const struct weft_event_caller *caller)
{
	return UNLIKELY(weft_event_master != NULL)
		       ? weft_event_master->put_now(type, values, count, caller)
		       : put_now(type, values, count, caller);
}

int weft_event_put_at_from(struct weft_event_type *type, uint64_t begin_ns, uint64_t end_ns,
			   const struct weft_event_value *values, size_t count,
			   const struct weft_event_caller *caller)
{
	return UNLIKELY(weft_event_master != NULL)
		       ? weft_event_master->put_at(type, begin_ns, end_ns, values, count, caller)
		       : put_at(type, begin_ns, end_ns, values, count, caller);
}
