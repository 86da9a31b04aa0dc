/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a slot's two stores of labels lie (label_store.h): the thread's own, and the spare one,
 * whose sets hold labels 0 and 1 only, with a record of OpenTelemetry's for these.
 */
#include "runtime/core/label_store.h"

#include <weft/abi/otel_thread_context.h>

/* Set B lies in gaps of set A: sets of two labels are mostly unused bytes. */
#define SPARE_TWIN 296
#define SPARE_RECORD_BYTES 48

/* slot->coro_labels */
struct spare {
	struct weft_label_store store;
	struct weft_slot_otel notes;
	uint8_t record[SPARE_RECORD_BYTES]; /* of struct weft_otel_record */
	uint64_t generation[1];             /* of the set behind it */
	uint8_t sets[SPARE_TWIN + WEFT_CUSTOM_LABELS_VALUE_AT(1, 2) + 24];
};

_Static_assert(sizeof(struct spare) <= sizeof(((struct weft_slot *)0)->coro_labels),
	       "the spare store has its place in the slot");
_Static_assert(offsetof(struct spare, sets) % 8 == 0 && SPARE_TWIN % 8 == 0, "words");
_Static_assert(offsetof(struct weft_otel_record, attributes) + 18 <= SPARE_RECORD_BYTES,
	       "a record with the root span");
/* Set A's: head 0 .. 88, key 0 88 .. 95, value 0 216 .. 236, key 1 472 .. 484, value 1 600 .. 620
 */
_Static_assert(WEFT_CUSTOM_LABELS_KEY_AT(0, 2) == 88 && WEFT_CUSTOM_LABELS_VALUE_AT(0, 2) == 216 &&
		       WEFT_CUSTOM_LABELS_KEY_AT(1, 2) == 472 &&
		       WEFT_CUSTOM_LABELS_VALUE_AT(1, 2) == 600,
	       "no byte of set B lies in one that set A uses");

static struct spare *spare_of(const struct weft_slot *slot)
{
	return (struct spare *)(uintptr_t)slot->coro_labels;
}

int weft_store_is_spare(const struct weft_slot *slot, const struct weft_label_store *store)
{
	return store == &spare_of(slot)->store;
}

static void make_own(struct weft_slot *slot, struct weft_label_store *store)
{
	const struct weft_store_place place = {
		.a = slot->labels,
		.b = slot->labels + weft_labels_twin,
		.max = weft_labels_max,
		.saved_at = slot->labels + weft_labels_bytes(),
		.saved_room = (uint32_t)sizeof(slot->labels) - weft_labels_bytes(),
	};

	weft_store_lay_out(store, &place);
}

static void make_spare(struct weft_slot *slot)
{
	struct spare *s = spare_of(slot);
	const struct weft_store_place place = {
		.a = s->sets,
		.b = s->sets + SPARE_TWIN,
		.max = WEFT_CUSTOM_LABELS_RESERVED,
		.saved_at = s->sets,
	};

	__builtin_memset(&s->notes, 0, sizeof(s->notes));
	__builtin_memset(s->record, 0, sizeof(s->record));
	s->store.record = (uint64_t)(uintptr_t)s->record;
	s->store.notes = (uint64_t)(uintptr_t)&s->notes;
	weft_store_lay_out(&s->store, &place);
}

__attribute__((noinline, cold)) void weft_store_make(struct weft_slot *slot,
						     struct weft_label_store *store)
{
	if (weft_store_is_spare(slot, store))
		make_spare(slot);
	else
		make_own(slot, store);
}

struct weft_label_store *weft_store_spare(struct weft_slot *slot)
{
	struct weft_label_store *store = &spare_of(slot)->store;

	if (UNLIKELY(!store->sets[0]))
		weft_store_make(slot, store);
	return store;
}
