/* SPDX-License-Identifier: Apache-2.0 */
/* The inline writes of weft/context.h and the flip of labels, each as a function, to be read in
 * machine code. */
#include <weft/context.h>

#include "runtime/core/label_store.h"

void stores_set(uint64_t span_id, uint64_t root_span_id);
void stores_trace(uint64_t span_id, uint64_t root_span_id, const uint8_t *trace_id, uint32_t flags);
void stores_tag(uint32_t id);
void stores_flip(struct weft_slot *slot, struct weft_label_store *store,
		 struct weft_custom_labels_set *hidden, uint64_t *cell);

void stores_set(uint64_t span_id, uint64_t root_span_id)
{
	weft_context_set(span_id, root_span_id);
}

void stores_trace(uint64_t span_id, uint64_t root_span_id, const uint8_t *trace_id, uint32_t flags)
{
	weft_context_set_trace(span_id, root_span_id, trace_id, flags);
}

void stores_tag(uint32_t id)
{
	weft_tag_set(3, id);
}

void stores_flip(struct weft_slot *slot, struct weft_label_store *store,
		 struct weft_custom_labels_set *hidden, uint64_t *cell)
{
	weft_store_flip(slot, store, hidden, cell);
	weft_formats_end(slot);
}
