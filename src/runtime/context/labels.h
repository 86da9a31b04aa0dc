/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The label store of a thread or a coroutine, and how it is changed. Layout of what readers outside
 * see: weft/abi/custom_labels_v1.h; where it lies: struct weft_slot.
 *
 *   store  set A and its strings (the founding block)     set B and its strings
 *          where scopes are; what they have saved of labels, oldest first, up to the store's end
 *
 * Invariants: one of A and B is visible (ext.label_set); every label of it points to strings that
 * nobody changes; the hidden one may be changed at will. A write makes the hidden set equal to the
 * visible one (only labels that changed last time differ), changes it, and flips.
 *
 * A removed label leaves a hole (key NULL) for the next new one. Labels 0 and 1 are up to date only
 * while they have readers outside; else they are absent.
 */
#ifndef WEFT_RUNTIME_LABELS_H
#define WEFT_RUNTIME_LABELS_H

#include <weft/abi/custom_labels_v1.h>
#include <weft/labels.h>

#include "runtime/core/runtime.h"

/* The visible set, weft's or the program's, for a handler of the thread; NULL: no labels. */
const struct weft_custom_labels_set *weft_labels_visible(const struct weft_slot *slot);

/* The generation that stands before a set of weft's or of libcustomlabels-weft.so. */
static inline uint64_t weft_labels_generation(const struct weft_custom_labels_set *set)
{
	return load_relaxed((const uint64_t *)(const void *)set - 1);
}

/*
 * Identifies the labels of a set, together with the generation. Both sets of a store have the same
 * place: a write of ids alone flips between them and keeps the generation. (The spare store has no
 * labels.)
 */
static inline uint64_t weft_labels_place(const struct weft_slot *slot,
					 const struct weft_custom_labels_set *set)
{
	uint64_t at = (uint64_t)(uintptr_t)set, block;

	if (LIKELY(at - (uint64_t)(uintptr_t)slot->labels < sizeof(slot->labels)))
		return (uint64_t)(uintptr_t)slot->labels;
	block = weft_block_of(at);
	return block ? block : at;
}

/* A label's key or value, as a caller passes it. */
struct text {
	const char *bytes;
	uint32_t length;
	int is_cut;
};

/* Cuts between characters; text that is not UTF-8 is cut where the room ends. */
static inline struct text labels_cut(const char *bytes, size_t length, uint32_t room)
{
	struct text t = {bytes, (uint32_t)length, 0};
	uint32_t at = room;

	if (LIKELY(length <= room))
		return t;
	while (at > 0 && at + 3 > room && ((unsigned char)bytes[at] & 0xC0) == 0x80)
		at--;
	t.length = (unsigned char)bytes[at] >= 0xC0 ? at : room;
	t.is_cut = 1;
	return t;
}

/* For scopes (context.c). In handlers, too, which change no labels. */
/* 1: labels are to be restored: weft_labels_scope_restore() does that and the ids, in one write. */
int weft_labels_scope_leave(struct weft_slot *slot, const struct weft_scope *scope);
void weft_labels_scope_restore(struct weft_slot *slot, const struct weft_scope *scope);

/* Into a slot that has no owner yet: a forked child inherits its labels. */
void weft_labels_copy(struct weft_slot *to, const struct weft_slot *from);
void weft_labels_forget(struct weft_slot *slot); /* no labels, and the thread's own store */

/*
 * label_bytes.c: a label set encoded for a record of a session, a sample or a coroutine's switch.
 * Called by the thread whose set it is, and by its handlers.
 */

/* Labels 0 and 1, whose values are the ids. */
static inline int weft_label_is_reserved(const void *key, uint64_t bytes)
{
	return (bytes == sizeof(WEFT_CUSTOM_LABELS_SPAN_KEY) - 1 &&
		!__builtin_memcmp(key, WEFT_CUSTOM_LABELS_SPAN_KEY, bytes)) ||
	       (bytes == sizeof(WEFT_CUSTOM_LABELS_ROOT_KEY) - 1 &&
		!__builtin_memcmp(key, WEFT_CUSTOM_LABELS_ROOT_KEY, bytes));
}

/* The encoded size of all labels in whole words, but at most @most (a multiple of 8). */
uint32_t weft_label_room(const struct weft_custom_labels_set *set, uint32_t most);

/* Encodes as many labels as fit in @room (a multiple of 8), in order, and zeros to the end of the
 * last word. Returns the size without these; *left_out grows by the labels that do not fit. */
uint32_t weft_label_bytes_put(const struct weft_custom_labels_set *set, uint8_t *to, uint32_t room,
			      uint32_t *left_out);

#endif
