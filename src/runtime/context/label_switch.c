/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which store a thread shows (label_store.h): its own, that of a coroutine's block, or the spare
 * one in its slot, which coroutines without labels show. The sets of the spare store have room for
 * labels 0 and 1 only, and it has a record of OpenTelemetry's for these.
 *
 * A switch is one write of a whole context. First what is to be shown is prepared, where nobody
 * sees it (labels 0 and 1, if the context was another when the store was last shown); then, while
 * seq is odd, v1 and the pointers are written. Usually only pointers are.
 */
#include "runtime/context/context.h"
#include "runtime/context/prepared.h"
#include "runtime/core/label_store.h"

#include "runtime/otel/otel_private.h"

#define FRAME ((uint64_t)(uintptr_t)__builtin_frame_address(0))

/* Do labels 0 and 1 of a set that was visible still have these ids? */
static int set_has_ids(const struct weft_label_store *store, uint64_t set,
		       struct weft_label_ids ids)
{
	uint32_t which = set != store->sets[0];
	const struct weft_label_ids *now = &store->ids[which];

	if (!set)
		return !(ids.span_id | ids.root_span_id);
	return !(store->ids_unknown & 1u << which) && now->span_id == ids.span_id &&
	       now->root_span_id == ids.root_span_id;
}

/* The set to be shown, with these ids in it. */
static struct weft_custom_labels_set *prepare_set(struct weft_label_change *c, uint64_t set,
						  struct weft_label_ids ids)
{
	struct weft_label_store *to = c->store;

	if (UNLIKELY(!to->sets[0]))
		weft_store_make(c->slot, to);
	weft_store_begin_at(c, to, set);
	weft_store_sync(c, 0);
	weft_store_put_ids(c, ids);
	weft_store_set_generation(c);
	return c->hidden;
}

static void label_switch_show(struct weft_label_change *c, uint64_t set)
{
	struct weft_slot *slot = c->slot;

	store_release(&slot->ext.label_store,
		      (uint64_t)(uintptr_t)c->store - (uint64_t)(uintptr_t)slot->label_state.store);
	store_release(&slot->ext.label_generation, (uint32_t)c->store->generation);
	store_release(&slot->ext.label_set, set);
	if (c->hidden)
		weft_store_committed(c);
	weft_publish_show(slot);
	store_release(&slot->ext.formats_seq, load_relaxed(&slot->ext.seq));
}

/* A handler's write after this is postponed to the end of the switch. */
static struct weft_label_ids label_switch_ids_of(const struct weft_slot *slot,
						 const struct weft_context_words *context)
{
	if (context)
		return (struct weft_label_ids){context->record[0], context->record[1]};
	return (struct weft_label_ids){load_relaxed(&slot->context.span_id),
				       load_relaxed(&slot->context.root_span_id)};
}

__attribute__((noinline)) void weft_store_switch(struct weft_slot *slot,
						 struct weft_label_store *to,
						 const struct weft_context_words *context)
{
	struct weft_label_change c = {.slot = slot, .own = weft_label_owner(slot), .store = to};
	struct weft_label_ids ids;
	struct weft_label_store *from = weft_store_now(slot);
	uint32_t state = load_relaxed(&weft_publish_state);
	uint64_t set;

	if (UNLIKELY(weft_attachments(slot)->depth != 0))
		weft_attachments_adopt(slot, 1);
	weft_write_enter(slot, FRAME, 1);
	from->shown = load_relaxed(&slot->ext.label_set);
	set = to->shown;
	store_release(&c.own->deferred, 0);
	KEEP_ORDER();
	ids = label_switch_ids_of(slot, context);
	if (UNLIKELY(state & WEFT_SHOWS_LABELS)) {
		weft_meet_resolve(&c.own->meet);
		if (!set_has_ids(to, set, ids))
			set = (uint64_t)(uintptr_t)prepare_set(&c, set, ids);
	}
	if (context)
		weft_context_load(slot, context);
	else
		weft_formats_begin(slot);
	label_switch_show(&c, set);
	if (UNLIKELY(state & WEFT_SHOWS_OTEL) | c.own->shows_otel)
		weft_write_otel(slot, WEFT_CHANGED_STORE);
	weft_formats_end(slot);
	weft_write_leave(slot);
}
