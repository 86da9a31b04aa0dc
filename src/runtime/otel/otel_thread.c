/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of OpenTelemetry's thread context in the slot, and the thread's pointer to it, which
 * readers find by its symbol (otel_variable.h).
 *
 * The record does not move; `valid` is 0 while it changes. The pointer is stored once, after the
 * first whole record, and becomes NULL before the slot is released. The record holds first the
 * local root span (18 bytes, for which room is always kept), then the labels in their order. A
 * write that changes only ids leaves the labels as they are.
 *
 * A pointer that leads to none of weft's slots is another library's: the whole thread is left alone
 * from then on (OTEL_FOREIGN). If readers find another object's variable, or if another object
 * defines the symbol at all, no thread is touched.
 */
#include "runtime/otel/otel_private.h"

#include <string.h>

#include "base/tlsdesc.h"
#include "runtime/core/label_store.h"
#include "runtime/otel/otel_variable.h"

#define INLINED inline __attribute__((always_inline)) /* in each write of ids */

#define ROOT_BYTES 18 /* index, length, 16 hexadecimal digits */
#define LABELS_CACHED (sizeof(((struct weft_slot_otel *)0)->keys) / sizeof(uint16_t))

static const struct weft_otel_variable_v1 *variable; /* NULL: not there yet */
int64_t weft_otel_distance;    /* of the pointer from the thread pointer; 0: it differs */
static int64_t guest_distance; /* of a guest's variable; 0 = none */
static int32_t root = -1;      /* index of its key; -1: the root span is not published */
static uint32_t publisher;     /* enum weft_publisher */

enum weft_publisher weft_otel_thread_publisher(void)
{
	return load_relaxed(&publisher);
}

static const struct weft_otel_variable_v1 *variable_now(void)
{
	return variable ? variable : weft_otel_variable_linked();
}

int64_t weft_otel_thread_distance(void)
{
	const struct weft_otel_variable_v1 *v = variable_now();

	return v ? weft_tlsdesc_distance(v->own_place(), v->own_descriptor(), weft_thread_pointer())
		 : 0;
}

int weft_otel_thread_is_ours(const void *place)
{
	const struct weft_otel_variable_v1 *v = variable_now();

	return (v && place == v->own_place()) ||
	       (guest_distance && place == weft_thread_pointer() + guest_distance);
}

/* Another object's variable is left alone, without one of ours beside it. */
static enum weft_publisher find_own_variable(void)
{
	if (weft_otel_foreign_symbol())
		return WEFT_PUBLISHER_ANOTHER;
	variable = weft_otel_variable_open();
	if (!variable)
		return WEFT_PUBLISHER_FAILED;
	weft_otel_distance = weft_tlsdesc_distance(variable->place(), variable->descriptor(),
						   weft_thread_pointer());
	return weft_otel_thread_is_ours(variable->place()) ? WEFT_PUBLISHER_WEFT
							   : WEFT_PUBLISHER_ANOTHER;
}

void weft_otel_thread_begin(int32_t root_index)
{
	weft_otel_thread_set_root(root_index);
	store_release(&publisher, find_own_variable());
}

void weft_otel_thread_set_root(int32_t root_index)
{
	store_relaxed(&root, root_index);
}

void weft_otel_thread_stop(void)
{
	store_release(&publisher, WEFT_PUBLISHER_NONE);
}

void weft_otel_thread_join(int64_t its_distance)
{
	guest_distance = its_distance;
}

/* Once there is a variable. */
static struct weft_otel_record **place_mine(void)
{
	if (LIKELY(weft_otel_distance != 0))
		return (void *)(weft_thread_pointer() + weft_otel_distance);
	return variable->place();
}

/* The store in use, looked up once per write: its record, and what is known of that. */
struct view {
	struct weft_slot *slot;
	struct weft_label_store *store;
	struct weft_otel_record *record;
	struct weft_slot_otel *notes;
};

static INLINED struct view otel_thread_view_of(struct weft_slot *slot)
{
	struct weft_label_store *store = weft_store_now(slot);

	if (LIKELY(!store->record))
		return (struct view){slot, store, (void *)slot->otel_record, &slot->otel};
	return (struct view){slot, store, (void *)(uintptr_t)store->record,
			     (void *)(uintptr_t)store->notes};
}

/* ---- the record */

static uint64_t hex_of(uint32_t value)
{
	uint64_t x = value, letters;

	x = (x & 0xFFFF) << 32 | x >> 16;
	x = (x & UINT64_C(0x000000FF000000FF)) << 16 | (x >> 8 & UINT64_C(0x000000FF000000FF));
	x = (x & UINT64_C(0x000F000F000F000F)) << 8 | (x >> 4 & UINT64_C(0x000F000F000F000F));
	letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
	return x + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10);
}

/* Labels after it move; there is always room. */
static INLINED void write_root(const struct view *v, uint64_t id, int32_t index)
{
	struct weft_otel_record *r = v->record;
	uint64_t digits[2] = {hex_of((uint32_t)(id >> 32)), hex_of((uint32_t)id)};
	uint32_t had = v->notes->root_span_id ? ROOT_BYTES : 0, has = id ? ROOT_BYTES : 0;

	if (had != has) {
		memmove(r->attributes + has, r->attributes + had, v->notes->label_bytes);
		r->attributes_bytes = (uint16_t)(has + v->notes->label_bytes);
	}
	if (has) {
		r->attributes[0] = (uint8_t)index;
		r->attributes[1] = sizeof(digits);
		memcpy(r->attributes + 2, digits, sizeof(digits));
	}
	v->notes->root_span_id = id;
}

/* The index of a label's key, which is usually the one found last time. */
static int otel_thread_key_of(const struct view *v, uint64_t label, const char *key, uint64_t bytes)
{
	uint16_t *cached = &v->notes->keys[label % LABELS_CACHED];
	int index = *cached - 1;

	if (index >= 0 && weft_otel_key_is_usable((uint32_t)index) &&
	    otel_key_is(weft_otel_key_at((uint32_t)index), key, bytes))
		return index;
	index = weft_otel_key(key, bytes);
	*cached = (uint16_t)(index + 1);
	return index;
}

static const struct weft_custom_labels_set *otel_thread_own_set(const struct weft_slot *slot)
{
	const struct weft_custom_labels_set *set =
		(const void *)(uintptr_t)load_relaxed(&slot->ext.label_set);

	/* the program's own set may change at any time */
	return set && weft_labels_is_own(slot, set) ? set : NULL;
}

/* What a record may have of a label's value, behind two bytes, in so much room? */
static int fits_record(const struct weft_custom_labels_string *value, uint32_t room)
{
	return value->bytes <= WEFT_OTEL_ATTRIBUTE_VALUE_BYTES && value->bytes + 2 <= room &&
	       weft_otel_is_utf8(value->buf, value->bytes);
}

/* Its size. */
static uint32_t record_put_value(uint8_t *to, int index,
				 const struct weft_custom_labels_string *value)
{
	to[0] = (uint8_t)index;
	to[1] = (uint8_t)value->bytes;
	memcpy(to + 2, value->buf, value->bytes);
	return (uint32_t)value->bytes + 2;
}

/* Writes one label to @to; returns its size, 0: it is left out. */
static uint32_t write_label(const struct view *v, const struct weft_custom_labels_set *set,
			    uint64_t n, uint8_t *to, uint32_t room)
{
	const struct weft_custom_labels_label *l = &set->storage[n];
	int index = -1;

	if (fits_record(&l->value, room))
		index = otel_thread_key_of(v, n, (const char *)l->key.buf, l->key.bytes);
	return index < 0 ? 0 : record_put_value(to, index, &l->value);
}

/* Counts a label when it begins to be left out, not at each write. */
static void count_left_out(const struct view *v, const struct weft_custom_labels_set *set,
			   uint32_t left_out)
{
	uint32_t more = left_out & ~v->notes->left_out;

	for (; more; more &= more - 1) {
		const struct weft_custom_labels_label *l = &set->storage[__builtin_ctz(more)];

		weft_slot_count(v->slot, WEFT_COUNTER_OTEL_LEFT_OUT, 1);
		if (weft_otel_key_has_no_room((const char *)l->key.buf, l->key.bytes))
			weft_slot_count(v->slot, WEFT_COUNTER_OTEL_KEYS_FULL, 1);
	}
	v->notes->left_out = left_out;
}

static __attribute__((noinline)) void write_labels(struct weft_slot *slot)
{
	const struct view view = otel_thread_view_of(slot), *v = &view;
	struct weft_otel_record *r = v->record;
	uint32_t at = v->notes->root_span_id ? ROOT_BYTES : 0, first = at, left_out = 0;
	uint32_t end =
		WEFT_OTEL_ATTRIBUTES_BYTES - (!first && load_relaxed(&root) >= 0 ? ROOT_BYTES : 0);
	const struct weft_custom_labels_set *set = otel_thread_own_set(v->slot);
	uint64_t count = set ? set->count : 0;

	for (uint64_t n = WEFT_CUSTOM_LABELS_RESERVED; n < count; n++) {
		uint32_t bytes;

		if (!set->storage[n].key.buf)
			continue;
		bytes = write_label(v, set, n, r->attributes + at, end - at);
		if (!bytes)
			left_out |= 1u << n % 32;
		at += bytes;
	}
	v->notes->label_bytes = (uint16_t)(at - first);
	r->attributes_bytes = (uint16_t)at;
	v->notes->generation = v->store->generation;
	count_left_out(v, set, left_out);
}

struct shown_ids {
	uint64_t trace[2], span; /* as a record has them */
	uint8_t trace_flags;
};

/* The trace id is shown only with the ids that it was written with; both ids, or none. */
static INLINED struct shown_ids otel_thread_ids_of(const struct weft_slot *slot)
{
	const uint64_t *trace = (const uint64_t *)(const void *)slot->ext.trace_id;
	uint64_t span = load_relaxed(&slot->context.span_id),
		 checksum = load_relaxed(&slot->context.checksum);
	uint64_t high = load_relaxed(&trace[0]), low = load_relaxed(&trace[1]);

	if (!checksum || load_relaxed(&slot->ext.v1_checksum) != checksum || !span || !(high | low))
		return (struct shown_ids){{0, 0}, 0, 0};
	return (struct shown_ids){{high, low},
				  __builtin_bswap64(span),
				  (uint8_t)load_relaxed(&slot->ext.trace_flags)};
}

static INLINED void otel_thread_write_ids(const struct view *v)
{
	struct weft_otel_record *r = v->record;
	struct shown_ids ids = otel_thread_ids_of(v->slot);
	uint64_t *to = (uint64_t *)(void *)r;

	store_release(&to[0], ids.trace[0]);
	store_release(&to[1], ids.trace[1]);
	store_release(&to[2], ids.span);
	store_release(&r->trace_flags, ids.trace_flags);
}

static uint64_t otel_thread_root_of(const struct weft_slot *slot)
{
	return load_relaxed(&root) >= 0 ? load_relaxed(&slot->context.root_span_id) : 0;
}

/* Of the store of a coroutine that is switched back to: usually its record is still up to date. */
static int record_says_so(const struct view *v)
{
	const struct weft_otel_record *r = v->record;
	const uint64_t *has = (const uint64_t *)(const void *)r;
	struct shown_ids ids = otel_thread_ids_of(v->slot);

	return r->valid == 1 && v->notes->generation == v->store->generation &&
	       v->notes->root_span_id == otel_thread_root_of(v->slot) && has[0] == ids.trace[0] &&
	       has[1] == ids.trace[1] && has[2] == ids.span && r->trace_flags == ids.trace_flags;
}

static INLINED void write_record(const struct view *v, unsigned int changed)
{
	struct weft_otel_record *r = v->record;
	uint64_t root_id = otel_thread_root_of(v->slot);

	if (UNLIKELY(r->valid != 1)) { /* the first record, or one abandoned halfway */
		v->notes->root_span_id = v->notes->label_bytes = 0;
		changed = WEFT_CHANGED_ALL;
	}
	store_release(&r->valid, 0);
	otel_thread_write_ids(v);
	if (root_id != v->notes->root_span_id)
		write_root(v, root_id, load_relaxed(&root));
	if (changed & WEFT_CHANGED_LABELS)
		write_labels(v->slot);
	store_release(&r->valid, 1);
}

/* The sampling decision came late: one byte, with the record whole before and after. 0: the record
 * has other ids. */
static int write_flags(const struct view *v)
{
	const uint64_t *has = (const uint64_t *)(const void *)v->record;
	struct shown_ids ids = otel_thread_ids_of(v->slot);

	if (v->record->valid != 1 || has[0] != ids.trace[0] || has[1] != ids.trace[1] ||
	    has[2] != ids.span)
		return 0;
	store_release(&v->record->trace_flags, ids.trace_flags);
	return 1;
}

/* ---- one value */

static int record_is_usual(const struct view *v)
{
	return weft_otel_thread_publisher() == WEFT_PUBLISHER_WEFT &&
	       load_relaxed(place_mine()) == v->record && v->record->valid == 1 &&
	       !v->notes->left_out && v->notes->generation == v->store->generation;
}

/* Where the attribute of label @n begins, and whether it is that label's. */
static int find_attribute(const struct view *v, const struct weft_custom_labels_set *set,
			  uint32_t n, uint32_t *at)
{
	const struct weft_otel_record *r = v->record;

	*at = v->notes->root_span_id ? ROOT_BYTES : 0;
	for (uint32_t i = WEFT_CUSTOM_LABELS_RESERVED; i < n; i++)
		if (set->storage[i].key.buf)
			*at += (uint32_t)set->storage[i].value.bytes + 2;
	return *at + 2 <= r->attributes_bytes &&
	       r->attributes[*at] + 1 == v->notes->keys[n % LABELS_CACHED] &&
	       r->attributes[*at + 1] == set->storage[n].value.bytes;
}

int weft_otel_edit_find(struct weft_slot *slot, const struct weft_custom_labels_set *shown,
			uint32_t n, const char *value, uint32_t bytes, struct weft_otel_edit *edit)
{
	const struct view v = otel_thread_view_of(slot);
	uint32_t room = WEFT_OTEL_ATTRIBUTES_BYTES - (v.notes->root_span_id ? 0 : ROOT_BYTES);

	if (!record_is_usual(&v) || !find_attribute(&v, shown, n, &edit->at))
		return 0;
	edit->record = v.record;
	edit->notes = v.notes;
	edit->old = v.record->attributes[edit->at + 1];
	edit->bytes = bytes;
	edit->value = value;
	return bytes <= WEFT_OTEL_ATTRIBUTE_VALUE_BYTES &&
	       v.record->attributes_bytes - edit->old + bytes <= room &&
	       weft_otel_is_utf8(value, bytes);
}

void weft_otel_edit_write(const struct weft_otel_edit *e, uint64_t generation)
{
	struct weft_otel_record *r = e->record;
	uint8_t *to = r->attributes + e->at;
	uint32_t behind = r->attributes_bytes - e->at - 2 - e->old;

	store_release(&e->record->valid, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (e->bytes != e->old) {
		memmove(to + 2 + e->bytes, to + 2 + e->old, behind);
		to[1] = (uint8_t)e->bytes;
		r->attributes_bytes = (uint16_t)(e->at + 2 + e->bytes + behind);
		e->notes->label_bytes = (uint16_t)(e->notes->label_bytes + e->bytes - e->old);
	}
	weft_bytes_copy(to + 2, e->value, e->bytes);
	e->notes->generation = generation;
	store_release(&r->valid, 1);
}

/* ---- a record that does not change (context/prepared.h) */

static uint32_t prepare_label(const struct weft_custom_labels_label *l, uint8_t *to, uint32_t room)
{
	int index = -1;

	if (fits_record(&l->value, room))
		index = weft_otel_key((const char *)l->key.buf, l->key.bytes);
	return index < 0 ? 0 : record_put_value(to, index, &l->value);
}

static void count_unprepared(const struct weft_custom_labels_label *l)
{
	if (!weft_rt_is_ready())
		return;
	weft_rt_count(WEFT_COUNTER_OTEL_LEFT_OUT, 1);
	if (weft_otel_key_has_no_room((const char *)l->key.buf, l->key.bytes))
		weft_rt_count(WEFT_COUNTER_OTEL_KEYS_FULL, 1);
}

/* Both ids, or none; the local root span before the labels, as in a thread's own record. */
static uint32_t prepare_ids(struct weft_otel_record *r, const struct weft_context *c)
{
	uint64_t words[3], digits[2];

	memcpy(words, c->trace_id, sizeof(c->trace_id));
	words[2] = __builtin_bswap64(c->span_id);
	memset(r, 0, WEFT_OTEL_ATTRIBUTES_AT);
	if (c->span_id && words[0] | words[1]) {
		memcpy(r, words, sizeof(words));
		r->trace_flags = (uint8_t)c->trace_flags;
	}
	if (!c->root_span_id || load_relaxed(&root) < 0)
		return 0;
	digits[0] = hex_of((uint32_t)(c->root_span_id >> 32));
	digits[1] = hex_of((uint32_t)c->root_span_id);
	r->attributes[0] = (uint8_t)load_relaxed(&root);
	r->attributes[1] = sizeof(digits);
	memcpy(r->attributes + 2, digits, sizeof(digits));
	return ROOT_BYTES;
}

uint32_t weft_otel_prepare(struct weft_otel_record *r, const struct weft_context *context,
			   const struct weft_custom_labels_set *set)
{
	uint32_t at;

	if (weft_otel_thread_publisher() != WEFT_PUBLISHER_WEFT)
		return 0;
	at = prepare_ids(r, context);
	for (uint64_t n = WEFT_CUSTOM_LABELS_RESERVED; n < set->count; n++) {
		uint32_t bytes = prepare_label(&set->storage[n], r->attributes + at,
					       WEFT_OTEL_ATTRIBUTES_BYTES - at);

		if (!bytes)
			count_unprepared(&set->storage[n]);
		at += bytes;
	}
	r->attributes_bytes = (uint16_t)at;
	r->valid = 1;
	return WEFT_OTEL_ATTRIBUTES_AT + at;
}

/* ---- the pointer */

/* In this session, or a forked child's slot before it had one; or in a coroutine's block. */
static int is_slot(const void *at)
{
	const uint8_t *private_slot = (const uint8_t *)weft_slot_private(), *p = at;

	return (p >= weft_rt.base && p < weft_rt.base + weft_rt.total_bytes) ||
	       (p >= private_slot && p < private_slot + sizeof(struct weft_slot)) ||
	       weft_block_of((uint64_t)(uintptr_t)at);
}

static void leave_alone(const struct view *v)
{
	store_release(&v->record->valid, 0);
	v->slot->otel.is_foreign = 1;
	weft_slot_count(v->slot, WEFT_COUNTER_OTEL_FOREIGN, 1);
}

/* The pointer leads elsewhere: either this slot has a new owner, or another library stored it. */
static void attach(const struct view *v, struct weft_otel_record **place, int is_ready)
{
	struct weft_otel_record *seen = load_relaxed(place);

	if (v->slot->otel.is_foreign)
		return;
	if (seen && !is_slot(seen)) {
		leave_alone(v);
		return;
	}
	if (!is_ready)
		write_record(v, WEFT_CHANGED_ALL);
	store_release(place, v->record);
}

static __attribute__((noinline)) void
sync_pointer(struct weft_slot *slot, struct weft_otel_record **place, unsigned int changed)
{
	const struct view v = otel_thread_view_of(slot);
	int is_ready = changed & WEFT_CHANGED_STORE && record_says_so(&v);

	if (load_relaxed(place) != v.record)
		attach(&v, place, is_ready);
	else if (!is_ready)
		write_record(&v, WEFT_CHANGED_ALL);
}

void weft_otel_sync(struct weft_slot *slot, unsigned int changed)
{
	const struct view v = otel_thread_view_of(slot);
	struct weft_otel_record **place;

	if (UNLIKELY(weft_otel_thread_publisher() != WEFT_PUBLISHER_WEFT))
		return;
	place = place_mine();
	if (UNLIKELY(changed & WEFT_CHANGED_STORE || load_relaxed(place) != v.record))
		sync_pointer(slot, place, changed);
	else if (LIKELY(changed != WEFT_CHANGED_FLAGS) || !write_flags(&v))
		write_record(&v, changed);
}

/* The parent's record is not the child's, whose thread has only the private slot yet. */
void weft_otel_thread_after_fork(void)
{
	struct weft_slot *mine = weft_slot_private();
	struct weft_otel_record **place;

	memset(&mine->otel, 0, sizeof(mine->otel));
	((struct weft_otel_record *)(void *)mine->otel_record)->valid = 0;
	memset(otel_thread_view_of(mine).notes, 0, sizeof(mine->otel));
	otel_thread_view_of(mine).record->valid = 0;
	if (weft_otel_thread_publisher() != WEFT_PUBLISHER_WEFT)
		return;
	place = place_mine();
	if (is_slot(load_relaxed(place)))
		store_release(place, NULL);
	if (weft_slot_mine())
		weft_otel_sync(weft_slot_mine(), WEFT_CHANGED_ALL);
}

void weft_otel_withdraw(struct weft_slot *slot)
{
	struct weft_otel_record **place = variable ? place_mine() : NULL;

	/* (during a switch it may still lead to the previous store's record) */
	if (place && !slot->otel.is_foreign && is_slot(load_relaxed(place)))
		store_release(place, NULL);
	store_release(&otel_thread_view_of(slot).record->valid, 0);
}
