/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels in a sample record: written by the first sample after they changed, and by number in those
 * that follow (abi/session.h). In a handler on the owning thread: whatever it interrupted, a write
 * of labels or of a context, the visible set is whole at every instruction. So a sample has its
 * labels even while its ids are being written (WEFT_CONTEXT_BUSY): those from before a batch, or
 * those from after it.
 *
 * weft_sample_labels_bytes() is called before there is a record, to reserve room;
 * weft_sample_labels_put() once its stack is in. Nothing is kept in between, because the stack is
 * walked meanwhile, and the handler's own is small.
 */
#ifndef WEFT_RUNTIME_SAMPLE_LABELS_H
#define WEFT_RUNTIME_SAMPLE_LABELS_H

#include <weft/abi/session.h>

#include "runtime/context/labels.h"

/* The size of labels after the sample's stack, at most @most (a multiple of 8); 0: none. */
uint32_t weft_sample_labels_bytes(struct weft_slot *slot, uint32_t most);

/* Fills in label_generation and, if there is @room, appends the labels to the record. */
void weft_sample_labels_put(struct weft_slot *slot, struct weft_sample_record *sample,
			    uint32_t room);

#endif
