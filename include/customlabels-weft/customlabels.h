/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file customlabels.h
 * The C interface of the Custom Labels library (Polar Signals), as libcustomlabels-weft.so
 * provides it: a program written for that library is compiled with this header and linked with
 * -lcustomlabels-weft. Layout of what readers see: weft/abi/custom_labels_v1.h.
 *
 * A set is changed by one thread at a time, and freed when it is no thread's current one. Whoever
 * stops a thread at any instruction of a change sees all labels from before it or all from after
 * it; run_with() is one change. Keys and values are bytes, and are copied. Memory is malloc's: not
 * for signal handlers.
 *
 * Functions of `int` return 0, or an errno value if they have changed nothing: ENOMEM; EINVAL for a
 * set or a key that is NULL.
 *
 * In a process that weft is in, the current set may be weft's own: it holds the labels of
 * weft/labels.h and span-id, root-span-id. Any set of weft's stands for the calling thread's one.
 * It is read and changed by the same functions, within weft's limits: EPERM for the two reserved
 * keys, ENOSPC when all labels are in use, ENAMETOOLONG for a key over 128 bytes; a value over
 * 256 is cut. Freeing it does nothing. Its clone is a set of the program's, without the two.
 * While a set of the program's own is current, weft leaves it alone and records its labels.
 */
#ifndef CUSTOMLABELS_H
#define CUSTOMLABELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
	size_t len;
	const unsigned char *buf;
} custom_labels_string_t;

typedef struct {
	custom_labels_string_t key;
	custom_labels_string_t value;
} custom_labels_label_t;

struct weft_custom_labels_set;
typedef struct weft_custom_labels_set custom_labels_labelset_t;

/** 1 */
extern const uint32_t custom_labels_abi_version;

/** The calling thread's current set; NULL: no labels. Store custom_labels_new()'s sets alone. */
extern __thread custom_labels_labelset_t *custom_labels_current_set;

/** custom_labels_new() - an empty set with room for @capacity labels; it grows. NULL: ENOMEM. */
custom_labels_labelset_t *custom_labels_new(size_t capacity);

/** custom_labels_free() - if it is the calling thread's current set, that becomes NULL. NULL is
 * fine. */
void custom_labels_free(custom_labels_labelset_t *ls);

/** custom_labels_clone() - a copy, which the caller frees. NULL gives an empty set. */
custom_labels_labelset_t *custom_labels_clone(const custom_labels_labelset_t *ls);

/** custom_labels_clone_with_capacity() - and with room for @capacity labels at least. */
custom_labels_labelset_t *custom_labels_clone_with_capacity(const custom_labels_labelset_t *ls,
							    size_t capacity);

/** custom_labels_current() - the calling thread's current set, or NULL. */
custom_labels_labelset_t *custom_labels_current(void);

/** custom_labels_replace() - makes @ls current (NULL: none); returns the one from before. */
custom_labels_labelset_t *custom_labels_replace(custom_labels_labelset_t *ls);

/** custom_labels_get() - a label, to be read until the set is changed; NULL: not there. */
const custom_labels_label_t *custom_labels_get(custom_labels_labelset_t *ls,
					       custom_labels_string_t key);

/**
 * custom_labels_set() - set a label.
 * @old_value: NULL, or filled in with a copy of the value before, whose buf the caller frees;
 *             buf is NULL if there was none, or if the call fails.
 */
int custom_labels_set(custom_labels_labelset_t *ls, custom_labels_string_t key,
		      custom_labels_string_t value, custom_labels_string_t *old_value);

/** custom_labels_delete() - removes a label, if it is there. */
void custom_labels_delete(custom_labels_labelset_t *ls, custom_labels_string_t key);

/**
 * custom_labels_run_with() - sets @n labels, calls @f with @data, and restores the labels.
 * @out: NULL, or where to store what @f returned.
 * An error is from before @f is called, when nothing was set; or from afterwards, if @f has changed
 * the set so that there is no memory to restore a label. @labels must still be valid then.
 */
int custom_labels_run_with(custom_labels_labelset_t *ls, custom_labels_label_t *labels, int n,
			   void *(*f)(void *), void *data, void **out);

/** custom_labels_count() - labels in the set. */
size_t custom_labels_count(custom_labels_labelset_t *ls);

/** custom_labels_debug_string() - "{key: value, ...}", without NUL; the caller frees out->buf. */
int custom_labels_debug_string(const custom_labels_labelset_t *ls, custom_labels_string_t *out);

/** The same as those without `careful`: all are. */
void custom_labels_careful_delete(custom_labels_labelset_t *ls, custom_labels_string_t key);
int custom_labels_careful_set(custom_labels_labelset_t *ls, custom_labels_string_t key,
			      custom_labels_string_t value, custom_labels_string_t *old_value);
int custom_labels_careful_run_with(custom_labels_labelset_t *ls, custom_labels_label_t *labels,
				   int n, void *(*f)(void *), void *data, void **out);

#ifdef __cplusplus
}
#endif
#endif
