/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file event.h
 * Typed events from C: declare a type once, then begin and commit, or emit.
 *
 *	static struct weft_event_type order_placed = {
 *		.name = "shop.OrderPlaced", .label = "Order Placed", .category = "Shop",
 *		.flags = WEFT_EVENT_STACK, .threshold = "1 ms",
 *		WEFT_EVENT_FIELDS({.name = "order", .kind = WEFT_EVENT_LONG},
 *				  {.name = "customer", .kind = WEFT_EVENT_STRING}),
 *	};
 *
 *	struct weft_event event;
 *	weft_event_begin(&event, &order_placed);
 *	...
 *	weft_event_commit(&event, WEFT_LONG(order->number), WEFT_STRING(order->customer));
 *
 * Which events of a type are recorded is decided by its settings: enabled, threshold, throttle,
 * stackTrace, select (docs/events.md). A type that is off costs a load and a branch, and so does
 * every type while nothing is recorded.
 *
 * Contextual types (WEFT_EVENT_CONTEXTUAL) carry context for whatever is committed on their thread
 * between begin and end. They nest, last in first out, and go with the coroutine that runs.
 *
 *   - select=if-context (other types, samples too): only where a contextual event is open on the
 *     thread, or a span is set (weft_context_set()).
 *   - select=if-triggered (contextual types): only if something was committed in between: an event,
 *     contextual or not, or a sample, taken inside or outside. An event that its settings leave out
 *     is not committed.
 *
 * The order is: enabled, select, threshold, throttle.
 *
 * All functions act on the calling thread. They may be called in signal handlers, except for the
 * first use of a type (weft_event_type_enrol() takes a lock: call it before) and weft_tag_intern().
 * Otherwise no allocation, no lock, no system call; errno is unchanged. What is lost is counted
 * (abi/counters.h). A struct weft_event lies on the caller's stack (or its coroutine's) from begin
 * to commit, and belongs to one thread or coroutine at a time. After a longjmp out of a contextual
 * event its thread is still in that context; weft_event_cancel() ends it.
 *
 * Source: JFR's event model (jdk.jfr.Event); docs/events.md. Link with libweft or libweft.a.
 */
#ifndef WEFT_EVENT_H
#define WEFT_EVENT_H

#include <weft/abi/events.h>
#include <weft/context.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_event_field {
	/** "order": a Java identifier; not startTime, duration, eventThread or stackTrace */
	const char *name;
	enum weft_event_kind kind;
	unsigned int content;    /**< enum weft_event_content */
	const char *label;       /**< NULL = none */
	const char *description; /**< NULL = none */
};

/** A type, in memory that stays while it is used. What is not wanted is zeros. Names of types and
 * fields are ASCII, at most 255 bytes. */
struct weft_event_type {
	const char *name;        /**< "shop.OrderPlaced": Java identifiers and dots */
	const char *label;       /**< NULL = none */
	const char *description; /**< NULL = none */
	const char *category;    /**< "Shop|Orders", outermost first; NULL = none */
	const struct weft_event_field *fields;
	uint32_t field_count;  /**< 0 .. WEFT_EVENT_FIELDS_MAX */
	uint32_t flags;        /**< enum weft_event_type_flag */
	const char *threshold; /**< default: "20 ms"; NULL = none */
	const char *throttle;  /**< default: "100/s"; NULL = none */
	const char *select;    /**< default: "if-context", "if-triggered"; NULL = all */

	/* libweft's: zeros at first */
	const struct weft_event_row *row;
	uint32_t number;
	uint32_t payload_bytes; /* of an event's values, if no field is a string; else 0 */
	uint64_t rsv[2];        /* src/runtime/event/event_type.c */
};

/** .fields and .field_count of a type, in C and at file scope. (In a function: a static array.) */
#define WEFT_EVENT_FIELDS(...)                                                                     \
	.fields = (const struct weft_event_field[]){__VA_ARGS__},                                  \
	.field_count = (uint32_t)(sizeof((const struct weft_event_field[]){__VA_ARGS__}) /         \
				  sizeof(struct weft_event_field))

/** One field's value. A value of another kind than its field's gives nonsense, never harm. */
struct weft_event_value {
	__extension__ union {
		int64_t number; /**< boolean .. long, ids, tids, ids of pooled strings */
		double real;    /**< float, double */
		const char *text;
	};
	size_t bytes; /**< of text; SIZE_MAX: it ends with NUL */
};

#define WEFT_LONG(value)                                                                           \
	{                                                                                          \
		{.number = (int64_t)(value)}, 0                                                    \
	}
#define WEFT_DOUBLE(value)                                                                         \
	{                                                                                          \
		{.real = (value)}, 0                                                               \
	}
/** A string that ends with NUL; NULL = null. Longer than WEFT_EVENT_STRING_MAX: cut. */
#define WEFT_STRING(value)                                                                         \
	{                                                                                          \
		{.text = (value)}, SIZE_MAX                                                        \
	}
#define WEFT_STRING_OF(value, length)                                                              \
	{                                                                                          \
		{.text = (value)}, (length)                                                        \
	}

/** An event from begin to commit. Opaque. */
struct weft_event {
	struct weft_event_type *type; /* NULL: nothing is to be done any more */
	uint64_t begin, end;
	uint64_t commits; /* of the thread, as the event began */
	uint32_t state;   /* src/runtime/event/event.c */
	uint32_t rsv;
	uint64_t rsv2[2];
};

/**
 * weft_event_type_enrol() - registers a type, as its first use does. Returns the row of its
 * settings, never NULL: if the type is refused (malformed, one too many, or another one of its name
 * has other fields; counter event_types_refused), a row that is off for ever. Takes a lock of the
 * process, so not in signal handlers. Equal definitions with one name are one type. A caller that
 * cannot get the lock within a second gets a row that is off, and the next use tries again.
 */
WEFT_API const struct weft_event_row *weft_event_type_enrol(struct weft_event_type *type);

/** Is the type on? A load and a branch. */
static inline int weft_event_is_on(struct weft_event_type *type)
{
	const struct weft_event_row *row = __atomic_load_n(&type->row, __ATOMIC_ACQUIRE);

	if (__builtin_expect(row == NULL, 0))
		row = weft_event_type_enrol(type);
	return (__atomic_load_n(&row->flags, __ATOMIC_RELAXED) & WEFT_EVENT_ON) != 0;
}

/** Out of line: weft_event_begin() of a type that is on. */
WEFT_API void weft_event_begin_on(struct weft_event *event, struct weft_event_type *type);

/** weft_event_begin() - the event begins now; a contextual one carries context from here on. */
static inline void weft_event_begin(struct weft_event *event, struct weft_event_type *type)
{
	if (__builtin_expect(weft_event_is_on(type), 0))
		weft_event_begin_on(event, type);
	else
		event->type = NULL;
}

/** Out of line: weft_event_end() of an event that has begun. */
WEFT_API void weft_event_end_on(struct weft_event *event);

/** weft_event_end() - it ends now, unless it has ended already. commit calls it if need be. */
static inline void weft_event_end(struct weft_event *event)
{
	if (__builtin_expect(event->type != NULL, 0))
		weft_event_end_on(event);
}

/** Out of line: weft_event_should_commit() of an event that has begun. */
WEFT_API int weft_event_should_commit_on(struct weft_event *event);

/**
 * weft_event_should_commit() - to be asked before values are computed that cost much. Ends the
 * event if need be. 0: it is over, and counted by the setting that left it out (not counted if its
 * type is off, or nothing is recorded); 1: commit it (its throttle may still leave it out).
 */
static inline int weft_event_should_commit(struct weft_event *event)
{
	return __builtin_expect(event->type != NULL, 0) && weft_event_should_commit_on(event);
}

/** Out of line: the event with its values, after weft_event_should_commit(). 1: in the ring. */
WEFT_API int weft_event_put(struct weft_event *event, const struct weft_event_value *values,
			    size_t count);

/** weft_event_cancel() - it will not be committed; the context of a contextual one ends. */
WEFT_API void weft_event_cancel(struct weft_event *event);

/** Out of line: see weft_event_emit(). */
WEFT_API int weft_event_put_now(struct weft_event_type *type, const struct weft_event_value *values,
				size_t count);

/** Out of line: see weft_event_emit_at(). */
WEFT_API int weft_event_put_at(struct weft_event_type *type, uint64_t begin_ns, uint64_t end_ns,
			       const struct weft_event_value *values, size_t count);

/**
 * weft_event_values(...) - a pointer to the values and their number, as the functions take them. If
 * there are too few, the others are 0 and null; those that are too many are left out.
 */
#define WEFT_EVENT_VALUES_(...)                                                                    \
	(const struct weft_event_value[])                                                          \
	{                                                                                          \
		{{0}, 0}, ##__VA_ARGS__                                                            \
	}
#define weft_event_values(...)                                                                     \
	WEFT_EVENT_VALUES_(__VA_ARGS__) + 1,                                                       \
		sizeof(WEFT_EVENT_VALUES_(__VA_ARGS__)) / sizeof(struct weft_event_value) - 1

/**
 * weft_event_commit(event, values ...) - the event is over (and ends, if it has not ended); values
 * are computed unless weft_event_should_commit() says 0. 1: it is in the ring; 0: left out or lost,
 * and counted (unless its type is off, or nothing is recorded).
 */
#define weft_event_commit(event, ...)                                                              \
	__extension__({                                                                            \
		struct weft_event *weft_event_ = (event);                                          \
		int weft_kept_ = weft_event_should_commit(weft_event_) &&                          \
				 weft_event_put(weft_event_, weft_event_values(__VA_ARGS__));      \
		weft_kept_;                                                                        \
	})

/**
 * weft_event_emit(type, values ...) - an event without duration, now. Returns as
 * weft_event_commit(). Without WEFT_EVENT_INSTANT it is below any threshold; a contextual one is
 * left out by select=if-triggered, for nothing can happen in it.
 */
#define weft_event_emit(type, ...)                                                                 \
	__extension__({                                                                            \
		struct weft_event_type *weft_type_ = (type);                                       \
		int weft_kept_ = weft_event_is_on(weft_type_) &&                                   \
				 weft_event_put_now(weft_type_, weft_event_values(__VA_ARGS__));   \
		weft_kept_;                                                                        \
	})

/**
 * weft_event_emit_at(type, begin_ns, end_ns, values ...) - an event whose times are known:
 * CLOCK_MONOTONIC, end_ns not before begin_ns. What was committed on the thread meanwhile is not
 * known, so a contextual one is kept whatever select=if-triggered says. Returns as
 * weft_event_commit().
 */
#define weft_event_emit_at(type, begin_ns, end_ns, ...)                                            \
	__extension__({                                                                            \
		struct weft_event_type *weft_type_ = (type);                                       \
		int weft_kept_ = weft_event_is_on(weft_type_) &&                                   \
				 weft_event_put_at(weft_type_, (begin_ns), (end_ns),               \
						   weft_event_values(__VA_ARGS__));                \
		weft_kept_;                                                                        \
	})

/* ---- timed spans */

/** A span with a clock. Opaque; on the caller's stack. */
struct weft_span {
	struct weft_event event;
	const char *name;
	uint64_t span_id, root_span_id;
	struct weft_ids before;
	uint64_t rsv;
};

/**
 * weft_span_begin() - the thread works for this span from now on: weft_context_set(), and a
 * contextual event weft.TimedSpan with its own threshold, throttle and select.
 * @name: read by weft_span_end(), so it must stay until then; NULL = none.
 * weft_span_end() restores the ids from before, and commits the event: 1, it is in the ring; 0, as
 * weft_event_commit(). What both cost: docs/events.md.
 */
WEFT_API void weft_span_begin(struct weft_span *span, const char *name, uint64_t span_id,
			      uint64_t root_span_id);
WEFT_API int weft_span_end(struct weft_span *span);

#ifdef __cplusplus
}
#endif
#endif
