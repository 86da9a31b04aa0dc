/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file labels.h
 * String labels of the current thread: `tenant = acme`, `route = /checkout`. Recordings keep
 * them beside the span; profilers outside read them by the Custom Labels ABI and as attributes
 * of OpenTelemetry's thread context.
 *
 * All functions act on the calling thread only. NOT for signal handlers (contexts are). They
 * make no system call, take no memory and leave errno alone, but for a thread's first call,
 * which claims its slot, and a coroutine's (weft/coro.h) first label, which takes memory for its
 * block: the next of those that are there, or now and then a mapping of more. Whoever stops the
 * thread, at whatever instruction, sees the labels from before a call or from after it, whole.
 *
 * A thread holds WEFT_LABELS_MAX labels (environment; 3 .. 32, default 10), two of which are
 * weft's: 0 is `span-id` and 1 `root-span-id`, which every context write fills. Keys are cut at
 * 128 bytes and values at 256, between UTF-8 characters. Empty values are values; keys are not
 * empty. Bytes are free (an OpenTelemetry attribute takes valid UTF-8 only, up to 255 bytes).
 *
 * Layout: weft/abi/custom_labels_v1.h. Each result is counted (weft/abi/counters.h).
 */
#ifndef WEFT_LABELS_H
#define WEFT_LABELS_H

#include <sys/types.h>

#include <weft/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a call did. Negative: nothing changed. */
enum weft_label_result {
	WEFT_LABEL_SET = 0,       /**< there was no such label */
	WEFT_LABEL_UPDATED = 1,   /**< there was; it has the new value */
	WEFT_LABEL_TRUNCATED = 2, /**< set or updated, with key or value cut */
	WEFT_LABEL_REMOVED = 3,
	WEFT_LABEL_ABSENT = 4,    /**< to be removed, and was not there */
	WEFT_LABEL_NO_ROOM = -1,  /**< all labels are in use, or a scope could not save them */
	WEFT_LABEL_RESERVED = -2, /**< `span-id` and `root-span-id` are set by context writes */
	WEFT_LABEL_INVALID = -3,  /**< no key */
	WEFT_LABEL_NO_SLOT = -4,  /**< the thread can get no slot: weft keeps nothing for it */
};

/** A label of a batch. Strings are not kept. */
struct weft_label {
	const char *key;
	size_t key_bytes;
	const char *value; /**< NULL: remove */
	size_t value_bytes;
	enum weft_label_result result; /**< filled in */
};

/** weft_label_set() - set a label: strings that end with NUL. @value NULL: remove. */
WEFT_API enum weft_label_result weft_label_set(const char *key, const char *value);

/** weft_label_set_bytes() - the same by lengths. */
WEFT_API enum weft_label_result weft_label_set_bytes(const char *key, size_t key_bytes,
						     const char *value, size_t value_bytes);

/** weft_label_remove() - take a label away: REMOVED, ABSENT, or what is negative. */
WEFT_API enum weft_label_result weft_label_remove(const char *key);

/** weft_labels_clear() - all of them; the two reserved ones stay. Returns how many went. */
WEFT_API size_t weft_labels_clear(void);

/**
 * weft_label_get() - copy a label's value.
 * @value, @room: where to; cut to @room bytes, no NUL is added. May be NULL, 0.
 * Returns the value's length, or -1: no such label. Reserved keys may be read.
 */
WEFT_API ssize_t weft_label_get(const char *key, char *value, size_t room);

/** weft_label_get_bytes() - the same by length. */
WEFT_API ssize_t weft_label_get_bytes(const char *key, size_t key_bytes, char *value, size_t room);

/**
 * weft_labels_each() - call @f for every label, reserved ones first, until it returns other
 * than 0; returns that. @f must not write labels. Strings end with their length, not with NUL,
 * and are valid during the call.
 */
WEFT_API int weft_labels_each(int (*f)(void *arg, const char *key, size_t key_bytes,
				       const char *value, size_t value_bytes),
			      void *arg);

/**
 * weft_label_key() - make @key known to the process before it is used. Only of use with
 * OpenTelemetry's thread context, whose attributes go by an index in a table of the process:
 * who listens for changes of that table is told here (a system call), not in weft_label_set().
 * Returns the index, -1: not published, or the table (256) is full.
 */
WEFT_API int weft_label_key(const char *key);

enum weft_update_flag {
	WEFT_UPDATE_REPLACE = 1 << 0, /**< labels that the batch does not name go */
};

/**
 * weft_context_update() - ids, tags and labels as one: a reader sees all or nothing of it.
 * @context: as for weft_context_write(); NULL: stays as it is.
 * @labels, @count: the batch, in order; each one's result is filled in. May be NULL, 0.
 * @flags: enum weft_update_flag.
 * Returns the first negative result of a label (the others took effect), else NO_ROOM if one that
 * REPLACE was to take away is still there (a scope could not save it), else 0.
 */
WEFT_API enum weft_label_result weft_context_update(const struct weft_context *context,
						    struct weft_label *labels, size_t count,
						    unsigned int flags);

#ifdef __cplusplus
}
#endif
#endif
