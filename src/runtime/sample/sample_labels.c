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
 *
 * The slot's label_state remembers which labels were recorded last: address
 * and generation of the set, and its number. Numbers count up in each thread; their top byte is
 * that of header.attach_number, so that labels are recorded again for a collector that attaches
 * later.
 */
#include "runtime/sample/sample.h"

#include "runtime/context/labels.h"
#include "runtime/core/label_store.h"

#include <string.h>

#define NUMBER_BITS 24
#define NUMBER_MASK ((UINT32_C(1) << NUMBER_BITS) - 1)

static uint32_t attach_byte(void)
{
	return load_relaxed(&weft_rt.header->attach_number) & 0xFF;
}

/* The thread's labels, the same throughout one handler. */
struct sample_labels {
	const struct weft_custom_labels_set *set; /* NULL: there are none */
	uint64_t place;                           /* with the generation, identifies the labels */
	uint64_t generation;
	int is_told; /* the collector has them */
};

/* Number 0, for a set without labels, is never recorded. */
static int sample_labels_is_told(const struct weft_slot_labels *state,
				 const struct sample_labels *l)
{
	return state->recorded_set == l->place && state->recorded_generation == l->generation &&
	       (!state->recorded_number || state->recorded_number >> NUMBER_BITS == attach_byte());
}

/* For readers outside: a library loaded after the thread's claim was not known at that time. */
static void note_place(struct weft_slot *slot)
{
	const struct weft_label_owner *own = weft_label_owner(slot);

	slot->label_state.current_at = (uint64_t)(uintptr_t)weft_meet_cell(&own->meet);
}

static struct sample_labels sample_labels_look(struct weft_slot *slot)
{
	struct sample_labels l = {.set = weft_labels_visible(slot)};

	if (LIKELY(!l.set))
		return l;
	if (UNLIKELY(!weft_labels_is_own(slot, l.set)))
		note_place(slot);
	l.place = weft_labels_place(slot, l.set);
	l.generation = weft_labels_generation(l.set);
	l.is_told = sample_labels_is_told(&slot->label_state, &l);
	return l;
}

uint32_t weft_sample_labels_bytes(struct weft_slot *slot, uint32_t most)
{
	struct sample_labels l = sample_labels_look(slot);

	return LIKELY(!l.set || l.is_told) ? 0 : weft_label_room(l.set, most);
}

/* The program's pointer leads to a set of another make: its labels are left out, unless they are
 * read as another library's (sample_published.c). */
static void count_unknown(struct weft_slot *slot)
{
	const struct weft_custom_labels_set *other = weft_meet_other(&weft_label_owner(slot)->meet);

	if (UNLIKELY(other && !weft_meet_knows(other)) &&
	    !load_relaxed(&weft_rt.header->published.labels.at))
		weft_slot_count(slot, WEFT_COUNTER_LABELS_UNRECORDED, 1);
}

static uint32_t next_number(struct weft_slot_labels *state)
{
	uint32_t next = (state->numbers + 1) & NUMBER_MASK;

	state->numbers = next ? next : 1;
	return attach_byte() << NUMBER_BITS | state->numbers;
}

static void unrecorded(struct weft_slot *slot, struct weft_sample_record *sample)
{
	sample->flags |= WEFT_SAMPLE_NO_LABELS;
	weft_slot_count(slot, WEFT_COUNTER_LABELS_UNRECORDED, 1);
}

/* A set without labels to record is remembered under the number 0. */
static __attribute__((noinline)) void sample_labels_record(struct weft_slot *slot,
							   const struct sample_labels *labels,
							   struct weft_sample_record *sample,
							   uint32_t room)
{
	struct weft_slot_labels *state = &slot->label_state;
	uint8_t *to = (uint8_t *)sample + sample->record.bytes;
	uint32_t left_out = 0;
	uint32_t used = weft_label_bytes_put(labels->set, to, room, &left_out);

	if (!used && left_out) {
		unrecorded(slot, sample);
		return;
	}
	if (left_out)
		weft_slot_count(slot, WEFT_COUNTER_LABELS_UNRECORDED, 1);
	state->recorded_set = labels->place;
	state->recorded_generation = labels->generation;
	state->recorded_number = used ? next_number(state) : 0;
	sample->label_generation = state->recorded_number;
	if (!used)
		return;
	sample->labels_at = sample->record.bytes;
	sample->label_bytes = (uint16_t)used;
	sample->record.bytes += (used + 7) & ~7u;
}

void weft_sample_labels_put(struct weft_slot *slot, struct weft_sample_record *sample,
			    uint32_t room)
{
	struct sample_labels l = sample_labels_look(slot);

	sample->label_generation = 0;
	count_unknown(slot);
	if (LIKELY(!l.set))
		return;
	if (LIKELY(l.is_told))
		sample->label_generation = slot->label_state.recorded_number;
	else
		sample_labels_record(slot, &l, sample, room);
}
