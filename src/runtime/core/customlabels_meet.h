/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft's side of custom_labels.h: where a thread's custom_labels_current_set lies, and who may
 * store there. A pointer that is NULL or leads to one of weft's sets is weft's to change; any other
 * belongs to the program.
 */
#ifndef WEFT_RUNTIME_CUSTOMLABELS_MEET_H
#define WEFT_RUNTIME_CUSTOMLABELS_MEET_H

#include "runtime/core/custom_labels.h"
#include "runtime/core/own.h"

/* A thread's; all zeros at first. Writer: the owning thread. */
struct weft_meet {
	uint64_t foreign; /* the program's own set that is there instead of ours; 0 = none */
	uint64_t cell;    /* address of the pointer where it has no fixed distance; 0 = not known */
};

#pragma GCC visibility push(hidden)
/* NULL: the library is not in the process. Stored with release once it may be used. */
extern const struct weft_custom_labels_v1 *weft_meet_library;

/* In the constructor, once there is a session: looks the library up. 1: found; the library and this
 * copy, which passes it @own, know each other now. */
int weft_meet_open(const struct weft_runtime_v1 *own);
/* Who publishes custom labels, into the header; again for a forked child's session. */
void weft_meet_publish_header(void);
void weft_meet_join(const struct weft_custom_labels_v1 *library, const struct weft_runtime_v1 *own);
/* For weft_runtime_v1. */
int weft_meet_is_weft(const struct weft_custom_labels_set *set);
struct weft_custom_labels_set *weft_meet_visible(void);

/* Not in handlers: the first access to a TLS variable may allocate. */
void weft_meet_resolve(struct weft_meet *m);

/*
 * Makes the calling thread's pointer lead to @set, unless a set of the program's own is there. Also
 * called before the hidden set is changed: the program may have restored an old pointer that makes
 * that set the visible one. 0: done (or no library); 1: the program's set stays, as before; 2: it
 * stays, and was not there before.
 */
int weft_meet_store(struct weft_meet *m, struct weft_custom_labels_set *set);
#pragma GCC visibility pop

static inline struct weft_custom_labels_set **weft_meet_cell(const struct weft_meet *m)
{
	const struct weft_custom_labels_v1 *library = load_acquire(&weft_meet_library);

	if (!library)
		return NULL;
	if (__builtin_expect(library->distance != 0, 1))
		return (struct weft_custom_labels_set **)(void *)(weft_thread_pointer() +
								  library->distance);
	return (struct weft_custom_labels_set **)(uintptr_t)m->cell;
}

/* What stands in the calling thread's pointer if it is none of weft's sets; NULL: nothing. */
static inline const struct weft_custom_labels_set *weft_meet_other(const struct weft_meet *m)
{
	struct weft_custom_labels_set **cell = weft_meet_cell(m);
	const struct weft_custom_labels_set *now = cell ? load_relaxed(cell) : NULL;

	return now && !weft_meet_is_weft(now) ? now : NULL;
}

/* Has the library made @set, so that there is a generation before it? */
static inline int weft_meet_knows(const struct weft_custom_labels_set *set)
{
	const struct weft_custom_labels_v1 *library = load_acquire(&weft_meet_library);

	return library && library->size >= sizeof(*library) && library->is_set(set);
}

/* A set of the program's own, of a known make, that stands there; NULL: none. */
static inline const struct weft_custom_labels_set *weft_meet_foreign(const struct weft_meet *m)
{
	const struct weft_custom_labels_set *other = weft_meet_other(m);

	return __builtin_expect(other && weft_meet_knows(other), 0) ? other : NULL;
}

#endif
