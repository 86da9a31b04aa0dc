/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One write, all formats. The truth about a thread is its slot's v1 record with the extension,
 * and its label store (labels.h). From these the other formats are made:
 *
 *   context.c  changes v1 -----------+
 *   labels.c   changes the store ----+--> weft_publish() --> labels 0 and 1, flip the set,
 *                                                            store custom_labels_current_set
 *                                                        --> otel.c: the record
 *
 * Writer: the owning thread. A context write in a handler may interrupt a write of labels or of
 * a format: `busy` in the slot's label_state holds the frame address of the write in progress.
 * Who finds it set leaves a mark (PUBLISH_DEFERRED) and goes; the interrupted write then looks at
 * the truth once more before it ends. A write abandoned by a longjmp is recognised as in ring.c,
 * by its place on the stack or after a minute, and taken over (PUBLISH_HEALED); a label write,
 * which is no handler's, takes over at once. If the thread dies in between, each format still shows
 * a whole state: an older one, or none.
 *
 * Nothing here makes a system call or takes memory, except where a comment says so.
 */
#ifndef WEFT_RUNTIME_PUBLISH_H
#define WEFT_RUNTIME_PUBLISH_H

#include <weft/publish.h>

#include "runtime/core/runtime.h"

enum weft_changed {
	WEFT_CHANGED_IDS = 1 << 0,
	WEFT_CHANGED_LABELS = 1 << 1,
	WEFT_CHANGED_ALL = 3,
	WEFT_CHANGED_STORE = 1 << 2, /* another store is shown, with what it shows (otel.h) */
};

/* What a write has to show beyond the label set itself; changed by whoever selects formats. */
#define WEFT_SHOWS_LABELS 1u /* custom_labels_current_set, and so labels 0 and 1 */
#define WEFT_SHOWS_OTEL 2u
extern uint32_t weft_publish_state __attribute__((visibility("hidden")));

/* In the constructor, once there is a session: WEFT_PUBLISH, WEFT_LABELS_MAX. System calls. */
void weft_publish_open(void);
void weft_publish_header(void); /* what a session's header says of it */
void weft_publish_joined(void); /* libcustomlabels-weft.so has come later */

/* Brings all formats that are on to what v1 and the label store say. */
void weft_publish(struct weft_slot *slot, unsigned int changed);

/*
 * The thread's custom_labels_current_set leads to its visible set (off: nowhere), unless the
 * program has one of its own there.
 */
void weft_publish_show(struct weft_slot *slot);

/* Before the hidden one is changed (customlabels_meet.h): the same, but NULL stays. */
void weft_publish_keep(struct weft_slot *slot);
int weft_publish_is_hidden(const struct weft_slot *slot); /* NULL, that is */

/* Is a write of labels or formats in progress (or abandoned)? */
int weft_write_is_open(const struct weft_slot *slot);

/* The thread's slot is about to go: every pointer that leads to it becomes NULL, then v1. */
void weft_publish_withdraw(struct weft_slot *slot);

/* Where system calls are allowed (a thread's claim and end, weft_label_key()): what label
 * writes have put off, such as telling who listens about a new key. */
void weft_publish_put_off(void);

/* In a forked child: what its parent publishes is not the child's. System calls. */
void weft_publish_after_fork(void);

/* The bit in the guard's word by which the inline writes know that there is more to do. */
void weft_guard_publishes(int on); /* guard.c */

#endif
