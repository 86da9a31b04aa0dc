/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual case of weft_publish(): only ids have changed, both sets of labels differ in nothing
 * else, the thread's pointers lead where they did, and no handler interferes. The protocol is that
 * of publish.c, store for store; any other case is left to it before anything that others see has
 * changed.
 */
#include "runtime/context/context.h"
#include "runtime/core/decimal.h"
#include "runtime/core/label_store.h"
#include "runtime/otel/otel.h"

/* The two sets, and the address of the pointer to the visible one; cell NULL: no readers. */
struct twins {
	struct weft_label_store *store;
	struct weft_custom_labels_set *shown, *hidden, **cell;
	uint32_t which; /* the index of the hidden one */
};

/* Does the thread's pointer lead to the visible set? Then nobody sees the other. */
static inline int find_twins(struct weft_slot *slot, const struct weft_label_owner *own,
			     const struct weft_label_store *store, struct twins *t)
{
	struct weft_custom_labels_set *a = weft_store_set(store, 0), *b = weft_store_set(store, 1);

	t->shown = (struct weft_custom_labels_set *)(uintptr_t)load_relaxed(&slot->ext.label_set);
	t->which = t->shown == a;
	t->hidden = t->which ? b : a;
	t->cell = weft_meet_cell(&own->meet);
	return t->cell && t->shown && load_relaxed(t->cell) == t->shown &&
	       (t->shown == a || t->shown == b);
}

static inline int labels_are_usual(struct weft_slot *slot, const struct weft_label_owner *own,
				   uint32_t state, struct twins *t)
{
	const struct weft_label_store *store = t->store;

	if (LIKELY(state & WEFT_SHOWS_LABELS))
		return find_twins(slot, own, store, t) &&
		       !(store->differ_keys | store->differ_values | store->ids_unknown);
	t->cell = weft_meet_cell(&own->meet);
	return !t->cell || !load_relaxed(t->cell);
}

static inline int is_usual(struct weft_slot *slot, const struct weft_label_owner *own,
			   uint32_t state, struct twins *t)
{
	return !(load_relaxed(&own->busy) | own->busy_since_ns | load_relaxed(&own->deferred)) &&
	       own->shows_otel == (state & WEFT_SHOWS_OTEL ? 1u : 0u) &&
	       labels_are_usual(slot, own, state, t);
}

/* Both ids of one write, present before and now; else labels appear or vanish, keys and all. */
static inline int ids_are_usual(const struct weft_slot *slot, const struct weft_label_owner *own,
				const struct twins *t, uint32_t state, struct weft_label_ids *ids)
{
	uint64_t checksum = load_relaxed(&slot->context.checksum);

	ids->span_id = load_relaxed(&slot->context.span_id);
	ids->root_span_id = load_relaxed(&slot->context.root_span_id);
	KEEP_ORDER();
	if (load_relaxed(&own->deferred) || !checksum)
		return 0;
	return !(state & WEFT_SHOWS_LABELS) ||
	       ((ids->span_id | ids->root_span_id) &&
		(t->store->ids[t->which].span_id | t->store->ids[t->which].root_span_id));
}

static inline void publish_quick_put_id(struct weft_custom_labels_set *set, uint32_t n, uint64_t id)
{
	struct weft_custom_labels_string *value = &weft_store_label(set, n)->value;

	value->bytes = decimal_write((unsigned char *)(uintptr_t)value->buf, id);
}

static inline void put_ids(const struct twins *t, struct weft_label_ids ids)
{
	struct weft_label_store *own = t->store;
	struct weft_label_ids *now = &own->ids[t->which];

	__atomic_thread_fence(__ATOMIC_RELEASE); /* as in weft_store_begin_at() */
	own->ids_unknown = 1u << t->which;
	KEEP_ORDER();
	if (now->span_id != ids.span_id)
		publish_quick_put_id(t->hidden, 0, ids.span_id);
	if (now->root_span_id != ids.root_span_id)
		publish_quick_put_id(t->hidden, 1, ids.root_span_id);
	*now = ids;
	KEEP_ORDER();
	own->ids_unknown = 0;
}

static inline void publish_quick_flip(struct weft_slot *slot, const struct twins *t)
{
	*((uint64_t *)(void *)t->hidden - 1) = t->store->generation;
	store_release(&slot->ext.label_set, (uint64_t)(uintptr_t)t->hidden);
	store_release(t->cell, t->hidden);
}

int weft_publish_quickly(struct weft_slot *slot, uint64_t frame)
{
	struct weft_label_owner *own = weft_label_owner(slot);
	uint32_t state = load_relaxed(&weft_publish_state);
	struct weft_label_ids ids;
	struct twins t = {.store = weft_store_now(slot)};

	if (UNLIKELY(!is_usual(slot, own, state, &t)))
		return 0;
	store_release(&own->busy, frame);
	KEEP_ORDER();
	if (UNLIKELY(!ids_are_usual(slot, own, &t, state, &ids))) {
		store_release(&own->busy, 0);
		return 0;
	}
	if (state & WEFT_SHOWS_LABELS)
		put_ids(&t, ids);
	KEEP_ORDER();
	if (UNLIKELY(load_relaxed(&own->busy) != frame))
		return 1; /* whoever took over has published since */
	weft_formats_begin(slot);
	if (state & WEFT_SHOWS_LABELS)
		publish_quick_flip(slot, &t);
	if (state & WEFT_SHOWS_OTEL)
		weft_otel_sync(slot, WEFT_CHANGED_IDS);
	weft_formats_end(slot);
	weft_write_leave(slot);
	return 1;
}
