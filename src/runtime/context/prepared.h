/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepared contexts (weft/prepared.h): where they lie, and what a thread shows while one is
 * attached.
 *
 * A prepared context is one piece of memory, which does not change while it lives: ids, a label set
 * with its strings, and OpenTelemetry's record. Attaching copies the ids into the slot and makes
 * ext.label_set and the thread's pointers lead to the piece, in one write. The thread's own store
 * (label_store.h) stays as it was, but that a scope begins in it.
 *
 * Whatever else writes labels or formats first makes the thread's own set equal to what is attached
 * (weft_attachments_adopt()): the labels of before are saved for the attachment's scope, and from
 * then on it is a scope like any other, whose end restores them. Readers see no difference.
 *
 * Writer of a slot's attachments: the owning thread. A piece is used again when it was freed and no
 * slot names it (prepared_memory.c). Pieces lie in blocks (coro_blocks.c), which are never
 * unmapped: a reader from outside finds memory where one was.
 */
#ifndef WEFT_RUNTIME_PREPARED_H
#define WEFT_RUNTIME_PREPARED_H

#include <weft/abi/custom_labels_v1.h>
#include <weft/prepared.h>

#include "runtime/core/runtime.h"

struct weft_prepared {
	uint64_t ids[3];   /* span, root span, checksum: as in the v1 record */
	uint64_t trace[4]; /* as in the slot's extension: v1_checksum, trace id, flags and
			      generation */
	uint64_t record;   /* OpenTelemetry's; 0: none */
	uint32_t lacks;    /* bits of weft_attach_key: what it cannot show; that it was freed */
	uint32_t bytes;    /* of the piece, a power of two */
	uint64_t mark;     /* prepared_memory.c: .. */
	struct weft_prepared *next;
	uint64_t rsv;
	uint64_t generation[1]; /* of the set behind it; another one for each prepared context */
	struct weft_custom_labels_set set;
};

_Static_assert(offsetof(struct weft_prepared, set) ==
		       offsetof(struct weft_prepared, generation) + sizeof(uint64_t),
	       "a set's generation stands before it");
_Static_assert(sizeof(struct weft_prepared) == 128, "and its labels behind it");

/* prepared_memory.c: with a lock of the process; not in handlers. */
struct weft_prepared *weft_prepared_alloc(uint64_t bytes); /* NULL: no memory */
void weft_prepared_free(struct weft_prepared *prepared);

/* prepared.c: makes the thread's own labels what it has attached. @is_label: as for
 * weft_write_enter(). */
void weft_attachments_adopt(struct weft_slot *slot, int is_label);

extern const struct weft_prepared_v1 weft_prepared_own __attribute__((visibility("hidden")));

#endif
