/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels in a sample record: told by the first sample after they changed, and by a number in
 * those that follow (abi/session.h). In a handler on the owning thread: what it interrupted, be it
 * a write of labels or of a context, leaves the visible set whole at every instruction. So a
 * sample has its labels also where its ids are being written (WEFT_CONTEXT_BUSY): those from
 * before a batch, or those from after it.
 *
 * bytes() before there is a record, to know how much room it needs; put() when its stack is in.
 * Nothing is kept in between: the stack is walked meanwhile, and the handler's own is small.
 */
#ifndef WEFT_RUNTIME_SAMPLE_LABELS_H
#define WEFT_RUNTIME_SAMPLE_LABELS_H

#include <weft/abi/session.h>

#include "runtime/context/labels.h"

/* Bytes that the sample needs behind its stack, at most @most (a multiple of 8); 0: none. */
uint32_t weft_sample_labels_bytes(struct weft_slot *slot, uint32_t most);

/* Fills in label_generation, and with @room bytes behind the record's end the labels. */
void weft_sample_labels_put(struct weft_slot *slot, struct weft_sample_record *sample,
			    uint32_t room);

#endif
