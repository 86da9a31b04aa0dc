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
 */
#ifndef WEFT_RUNTIME_CONTEXT_ROOM_H
#define WEFT_RUNTIME_CONTEXT_ROOM_H

#endif
