/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin sets of a thread's labels (labels.h). What scopes save of them: label_scopes.c.
 *
 * Writer: the owning thread, one write at a time (publish.c ensures it). All stores here go to the
 * hidden set or to the owner's words, so that no reader of the visible set sees them. If a write is
 * abandoned anywhere, the next one starts again from the visible set.
 */
#include "runtime/core/label_store.h"

#include <string.h>

#include "runtime/core/decimal.h"

uint32_t weft_labels_max = WEFT_CUSTOM_LABELS_DEFAULT;
uint32_t weft_labels_twin; /* set in the constructor */

static unsigned char *key_place(const struct weft_custom_labels_set *set, uint32_t n)
{
	return (unsigned char *)(uintptr_t)set + WEFT_CUSTOM_LABELS_KEY_AT(n, set->capacity);
}

static unsigned char *value_place(const struct weft_custom_labels_set *set, uint32_t n)
{
	return (unsigned char *)(uintptr_t)set + WEFT_CUSTOM_LABELS_VALUE_AT(n, set->capacity);
}

static void label_store_make_set(struct weft_custom_labels_set *set, uint32_t max)
{
	set->storage = weft_store_label(set, 0);
	set->count = WEFT_CUSTOM_LABELS_RESERVED;
	set->capacity = max;
	for (uint32_t i = 0; i < max; i++) {
		struct weft_custom_labels_label *label = weft_store_label(set, i);

		label->key.bytes = label->value.bytes = 0;
		label->key.buf = NULL;
		label->value.buf = value_place(set, i);
	}
	memcpy(key_place(set, 0), WEFT_CUSTOM_LABELS_SPAN_KEY,
	       sizeof(WEFT_CUSTOM_LABELS_SPAN_KEY) - 1);
	memcpy(key_place(set, 1), WEFT_CUSTOM_LABELS_ROOT_KEY,
	       sizeof(WEFT_CUSTOM_LABELS_ROOT_KEY) - 1);
	*((uint64_t *)(void *)set - 1) = 0;
}

/* Room for what scopes save, and for the places of scopes. */
static void lay_out_scopes(struct weft_label_store *store, void *at, uint32_t room)
{
	uint32_t places = room < 2 * WEFT_SCOPE_PLACES_BYTES ? 0 : WEFT_SCOPE_PLACES_BYTES;

	memset(at, 0, places);
	store->saved_at = (uint64_t)(uintptr_t)at + places;
	store->saved_room = room - places;
	KEEP_ORDER();
	store->places = places ? (uint64_t)(uintptr_t)at : 0;
}

void weft_store_lay_out(struct weft_label_store *store, const struct weft_store_place *place)
{
	label_store_make_set(place->a, place->max);
	label_store_make_set(place->b, place->max);
	store->max = place->max;
	lay_out_scopes(store, place->saved_at, place->saved_room);
	KEEP_ORDER();
	store->sets[1] = (uint64_t)(uintptr_t)place->b;
	store->sets[0] = (uint64_t)(uintptr_t)place->a;
}

void weft_store_begin_at(struct weft_label_change *c, struct weft_label_store *store,
			 uint64_t shown)
{
	struct weft_custom_labels_set *a = weft_store_set(store, 0), *b = weft_store_set(store, 1);

	c->store = store;
	c->keys = c->values = 0;
	c->shown = !shown ? NULL : shown == store->sets[0] ? a : b;
	c->hidden = c->shown == a ? b : a;
	/* A reader from outside who sees the stores that follow also sees that the set was hidden
	 * before. Pairs: the reader's fence before it reads ext.seq again (src/reader). */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

void weft_store_begin(struct weft_label_change *c, struct weft_slot *slot)
{
	struct weft_label_store *store = weft_store_now(slot);

	c->slot = slot;
	c->own = weft_label_owner(slot);
	if (UNLIKELY(!store->sets[0]))
		weft_store_make(slot, store);
	weft_store_begin_at(c, store, load_relaxed(&slot->ext.label_set));
}

static void copy_key(struct weft_label_change *c, uint32_t n)
{
	const struct weft_custom_labels_label *from = weft_store_label(c->shown, n);
	struct weft_custom_labels_label *to = weft_store_label(c->hidden, n);

	to->key.bytes = from->key.bytes;
	to->key.buf = from->key.buf ? key_place(c->hidden, n) : NULL;
	weft_bytes_copy(key_place(c->hidden, n), key_place(c->shown, n), (uint32_t)from->key.bytes);
}

static void label_store_copy_value(struct weft_label_change *c, uint32_t n)
{
	const struct weft_custom_labels_label *from = weft_store_label(c->shown, n);
	struct weft_custom_labels_label *to = weft_store_label(c->hidden, n);

	to->value.bytes = from->value.bytes;
	weft_bytes_copy(value_place(c->hidden, n), value_place(c->shown, n),
			(uint32_t)from->value.bytes);
}

/* Before the first flip: clears what an abandoned write has left. */
static void label_store_forget(struct weft_label_change *c, uint32_t keys)
{
	for (; keys; keys &= keys - 1) {
		uint32_t n = (uint32_t)__builtin_ctz(keys);
		struct weft_custom_labels_label *label = weft_store_label(c->hidden, n);

		label->key.buf = NULL;
		label->key.bytes = label->value.bytes = 0;
	}
	c->hidden->count = WEFT_CUSTOM_LABELS_RESERVED;
}

void weft_store_sync(struct weft_label_change *c, uint32_t except)
{
	uint32_t keys = c->store->differ_keys, values = c->store->differ_values & ~except;

	if (!c->shown) {
		label_store_forget(c, keys);
		return;
	}
	for (; keys; keys &= keys - 1)
		copy_key(c, (uint32_t)__builtin_ctz(keys));
	for (; values; values &= values - 1)
		label_store_copy_value(c, (uint32_t)__builtin_ctz(values));
	c->hidden->count = c->shown->count;
}

/* From now on, if this write is abandoned, the next one copies these labels again. */
static void label_store_mark_changed(struct weft_label_change *c, uint32_t keys, uint32_t values)
{
	c->keys |= keys;
	c->values |= values;
	c->store->differ_keys |= keys;
	c->store->differ_values |= values;
	KEEP_ORDER();
}

int weft_store_find(const struct weft_custom_labels_set *set, const char *key, uint32_t bytes)
{
	const struct weft_custom_labels_label *label;

	if (!set)
		return -1;
	label = weft_store_label(set, 0);
	for (uint32_t i = WEFT_CUSTOM_LABELS_RESERVED; i < set->count; i++)
		if (label[i].key.bytes == bytes && label[i].key.buf &&
		    weft_bytes_equal(label[i].key.buf, key, bytes))
			return (int)i;
	return -1;
}

int weft_store_free_place(const struct weft_custom_labels_set *set)
{
	for (uint32_t i = WEFT_CUSTOM_LABELS_RESERVED; i < set->capacity; i++)
		if (i >= set->count || !weft_store_label(set, i)->key.buf)
			return (int)i;
	return -1;
}

void weft_store_put_key(struct weft_label_change *c, uint32_t n, const char *key, uint32_t bytes)
{
	struct weft_custom_labels_label *label = weft_store_label(c->hidden, n);

	label_store_mark_changed(c, 1u << n, 1u << n);
	weft_bytes_copy(key_place(c->hidden, n), key, bytes);
	label->key.bytes = bytes;
	label->key.buf = key_place(c->hidden, n);
	if (c->hidden->count <= n)
		c->hidden->count = n + 1;
}

void weft_store_put_value(struct weft_label_change *c, uint32_t n, const char *value,
			  uint32_t bytes)
{
	struct weft_custom_labels_label *label = weft_store_label(c->hidden, n);

	label_store_mark_changed(c, 0, 1u << n);
	weft_bytes_copy(value_place(c->hidden, n), value, bytes);
	label->value.bytes = bytes;
}

void weft_store_remove(struct weft_label_change *c, uint32_t n)
{
	struct weft_custom_labels_label *label = weft_store_label(c->hidden, n);

	label_store_mark_changed(c, 1u << n, 1u << n);
	if (c->store->last == n)
		c->store->last = 0;
	label->key.buf = NULL;
	label->key.bytes = label->value.bytes = 0;
	while (c->hidden->count > WEFT_CUSTOM_LABELS_RESERVED &&
	       !weft_store_label(c->hidden, (uint32_t)c->hidden->count - 1)->key.buf)
		c->hidden->count--;
}

static void write_id(struct weft_custom_labels_set *set, uint32_t n, uint64_t id,
		     uint32_t key_bytes)
{
	struct weft_custom_labels_label *label = weft_store_label(set, n);

	label->value.bytes = decimal_write(value_place(set, n), id);
	label->key.bytes = key_bytes;
	label->key.buf = key_place(set, n);
}

/* Each set has ids of its own; those that it holds already are not written again. */
void weft_store_put_ids(struct weft_label_change *c, struct weft_label_ids ids)
{
	uint32_t which = c->hidden != weft_store_set(c->store, 0);
	struct weft_label_ids *now = &c->store->ids[which];
	uint32_t unknown = c->store->ids_unknown & 1u << which;
	int was_absent = !(now->span_id | now->root_span_id);

	if (!unknown && now->span_id == ids.span_id && now->root_span_id == ids.root_span_id)
		return;
	c->store->ids_unknown |= 1u << which;
	KEEP_ORDER();
	if (!(ids.span_id | ids.root_span_id)) {
		weft_store_label(c->hidden, 0)->key.buf = NULL;
		weft_store_label(c->hidden, 1)->key.buf = NULL;
	} else {
		if (unknown || was_absent || now->span_id != ids.span_id)
			write_id(c->hidden, 0, ids.span_id,
				 sizeof(WEFT_CUSTOM_LABELS_SPAN_KEY) - 1);
		if (unknown || was_absent || now->root_span_id != ids.root_span_id)
			write_id(c->hidden, 1, ids.root_span_id,
				 sizeof(WEFT_CUSTOM_LABELS_ROOT_KEY) - 1);
	}
	*now = ids;
	KEEP_ORDER();
	c->store->ids_unknown &= ~(1u << which);
}

static void label_store_copy_label(struct weft_label_change *c,
				   const struct weft_custom_labels_label *from, uint32_t n)
{
	if (!from->key.buf)
		return;
	weft_store_put_key(c, n, (const char *)from->key.buf, (uint32_t)from->key.bytes);
	weft_store_put_value(c, n, (const char *)from->value.buf, (uint32_t)from->value.bytes);
}

void weft_store_copy_labels(struct weft_label_change *c, const struct weft_custom_labels_set *set)
{
	for (uint32_t i = WEFT_CUSTOM_LABELS_RESERVED; i < set->count && i < c->store->max; i++)
		label_store_copy_label(c, weft_store_label(set, i), i);
}

void weft_store_set_generation(struct weft_label_change *c)
{
	c->store->generation += (c->keys | c->values) != 0;
	*((uint64_t *)(void *)c->hidden - 1) = c->store->generation;
}

void weft_store_committed(struct weft_label_change *c)
{
	KEEP_ORDER();
	c->store->differ_keys = c->keys;
	c->store->differ_values = c->values;
}

/* The stores that make the hidden set the visible one, and record what differs from then on. */
void weft_store_commit(struct weft_label_change *c)
{
	weft_store_set_generation(c);
	store_release(&c->slot->ext.label_generation, (uint32_t)c->store->generation);
	store_release(&c->slot->ext.label_set, (uint64_t)(uintptr_t)c->hidden);
	weft_store_committed(c);
}
