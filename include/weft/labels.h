/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file labels.h
 * String labels of the current thread: `tenant = acme`, `route = /checkout`. Recordings have them
 * beside the span; profilers outside read them by the Custom Labels ABI, and as attributes of
 * OpenTelemetry's thread context.
 *
 * All functions act on the calling thread only. They are NOT for signal handlers (context.h is).
 * They make no system call, allocate nothing and leave errno unchanged, with three exceptions: a
 * thread's first call claims its slot; a coroutine's (weft/coro.h) first label takes a block of
 * memory, for which more is mapped now and then; and where OpenTelemetry's format is on, a key that
 * the process has never used is told to who listens, by one system call. Whoever stops the thread,
 * at any instruction, sees all labels from before a call, or all from after it.
 *
 * A thread holds WEFT_LABELS_MAX labels (environment; 3 .. 32, default 10), two of which are
 * weft's: 0 is `span-id` and 1 `root-span-id`, which every context write fills. Keys are cut at
 * 128 bytes and values at 256, between UTF-8 characters. A value may be empty, a key may not. Any
 * bytes are allowed (only valid UTF-8 of up to 255 bytes becomes an OpenTelemetry attribute).
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

/** weft_label_set() - sets a label, by strings that end with NUL. @value NULL: removes it. */
WEFT_API enum weft_label_result weft_label_set(const char *key, const char *value);

/** weft_label_set_bytes() - the same, by strings with lengths. */
WEFT_API enum weft_label_result weft_label_set_bytes(const char *key, size_t key_bytes,
						     const char *value, size_t value_bytes);

/** weft_label_remove() - removes a label: REMOVED, ABSENT, or a negative result. */
WEFT_API enum weft_label_result weft_label_remove(const char *key);

/** weft_labels_clear() - removes all but the two reserved ones. Returns how many were removed. */
WEFT_API size_t weft_labels_clear(void);

/**
 * weft_label_get() - copies a label's value to @value, cut to @room bytes, without a NUL. Both may
 * be NULL, 0. Returns the value's length; -1: there is no such label. Reserved keys may be read.
 */
WEFT_API ssize_t weft_label_get(const char *key, char *value, size_t room);

/** weft_label_get_bytes() - the same, by a key with its length. */
WEFT_API ssize_t weft_label_get_bytes(const char *key, size_t key_bytes, char *value, size_t room);

/**
 * weft_labels_each() - calls @f for every label, reserved ones first, until one call does not
 * return 0, and returns what that did. @f must not write labels. Its strings have no NUL, and are
 * valid during the call.
 */
WEFT_API int weft_labels_each(int (*f)(void *arg, const char *key, size_t key_bytes,
				       const char *value, size_t value_bytes),
			      void *arg);

/**
 * weft_label_key() - makes @key known before it is used. Only of use with OpenTelemetry's thread
 * context, where a key is an index into a table of the process: those who wait for changes of the
 * table are woken here, by a system call, and not in the first weft_label_set() with the key.
 * Returns the index; -1: that format is off, the table (256) is full, or another library publishes
 * and does not have the key.
 */
WEFT_API int weft_label_key(const char *key);

enum weft_update_flag {
	WEFT_UPDATE_REPLACE = 1 << 0, /**< removes the labels that are not in the batch */
};

/**
 * weft_context_update() - writes ids, tags and labels as one change.
 * @context: as for weft_context_write(); NULL: unchanged.
 * @labels, @count: the batch, in order; each one's result is filled in. May be NULL, 0.
 * @flags: enum weft_update_flag.
 * Returns the first negative result of a label (the others are changed all the same); else NO_ROOM
 * if REPLACE could not remove one, because a scope could not save it; else 0.
 */
WEFT_API enum weft_label_result weft_context_update(const struct weft_context *context,
						    struct weft_label *labels, size_t count,
						    unsigned int flags);

#ifdef __cplusplus
}
#endif
#endif
