/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread works for: ids, tags and labels, written by the thread itself in every format
 * that a reader may ask for, as one change (publish.c). Public headers: weft/context.h,
 * weft/labels.h, weft/publish.h.
 *
 * Runs on the thread whose context it is, its signal handlers included. Whoever reads, from
 * inside or outside and at any instruction, sees the old context or the new one, or sees by a
 * sequence number that it is being written.
 *
 *   context.c       whole contexts, scopes, first write
 *   tags.c          interned values and tag names
 *   labels.c        what a caller may ask
 *   label_scopes.c  what scopes save of labels
 *   scope_places.c  scopes that a longjmp left
 *   label_switch.c  which set of labels is shown
 *   label_bytes.c   labels as records have them
 *   publish.c       one write, all formats
 *   publish_quick.c the usual write, written out
 *   prepared.c      contexts that are attached by pointer; prepared.h
 *   prepared_memory.c  where they lie
 *
 * The slot's v1 record with its extension, and its label store (labels.h), are what is true of a
 * thread. The other formats are made from these:
 *
 *   context.c  changes v1 -----------+
 *   labels.c   changes the store ----+--> weft_publish() --> labels 0 and 1, flip the set,
 *                                                            store custom_labels_current_set
 *                                                        --> otel_thread.c: the record
 *
 * Writer: the owning thread. A context write in a handler may interrupt a write of labels or of a
 * format: `busy` in the slot's label_state holds the frame address of the write in progress. A
 * handler that finds it set leaves a mark (PUBLISH_DEFERRED) and returns; the interrupted write
 * checks for marks before it ends. A write abandoned by a longjmp is recognised as in ring.c, by
 * its place on the stack or after a minute, and taken over (PUBLISH_HEALED); a label write, which
 * is never in a handler, takes over at once. If the thread dies in between, each format still shows
 * a whole state: an older one, or none.
 *
 * Nothing here makes a system call or allocates, except where a comment says so.
 */
#ifndef WEFT_RUNTIME_CONTEXT_ROOM_H
#define WEFT_RUNTIME_CONTEXT_ROOM_H

#include <weft/publish.h>

#include "runtime/core/runtime.h"

/* What a write has to show besides the label set itself; set by whoever selects formats. */
#define WEFT_SHOWS_LABELS 1u /* custom_labels_current_set, and so labels 0 and 1 */
#define WEFT_SHOWS_OTEL 2u
extern uint32_t weft_publish_state __attribute__((visibility("hidden")));

/* The same for attachments (prepared.c): another one whenever places of pointers may have changed.
 * Its low half is what a prepared context must be ready for. */
#define WEFT_ATTACH_NEVER (UINT64_C(1) << 30) /* weft has not begun, or another copy has */
#define WEFT_ATTACH_LIVES (UINT64_C(1) << 31) /* it is not freed */
extern uint64_t weft_attach_key __attribute__((visibility("hidden")));

/* If the v1 format is off, ids are kept but not recorded. */
static inline int weft_publish_shows_v1(void)
{
	return (load_relaxed(&weft_rt.header->formats) & WEFT_FORMAT_V1) != 0;
}

/* In the constructor, once there is a session: WEFT_PUBLISH, WEFT_LABELS_MAX. System calls. */
void weft_publish_open(void);
void weft_publish_header(void); /* into a session's header */
void weft_publish_joined(void); /* libcustomlabels-weft.so has been loaded later */

/* Makes all formats that are on show what v1 and the label store hold. */
void weft_publish(struct weft_slot *slot, unsigned int changed);

/*
 * Makes the thread's custom_labels_current_set lead to its visible set (format off: NULL), unless a
 * set of the program's own is there.
 */
void weft_publish_show(struct weft_slot *slot);

/* Before the hidden set is changed (customlabels_meet.h): the same, but NULL stays. */
void weft_publish_keep(struct weft_slot *slot);
int weft_publish_is_hidden(const struct weft_slot *slot); /* custom_labels_current_set is NULL */

/* Is a write of labels or formats in progress (or abandoned)? */
int weft_write_is_open(const struct weft_slot *slot);

/* Before the thread's slot is released: every pointer that leads to it becomes NULL. */
void weft_publish_withdraw(struct weft_slot *slot);

/* Called where system calls are allowed (a thread's claim and end, weft_label_key()): does what
 * label writes have postponed: another library's keys are looked at again. */
void weft_publish_deferred(void);

/* In a forked child, which does not share what its parent publishes. System calls. */
void weft_publish_after_fork(void);

#endif
