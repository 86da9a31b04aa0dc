/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft/labels.h: arguments, results and counters. A call is one write: enter, change the hidden
 * set, finish (label_store.h). If the write is taken over while it is interrupted (publish.c), it
 * is done again from its beginning. Handlers change no labels, so that the result of the first try
 * holds, and is counted once.
 */
#include "runtime/context/labels.h"

#include <string.h>

#include "runtime/context/context.h"
#include "runtime/context/prepared.h"
#include "runtime/core/copies.h"
#include "runtime/core/decimal.h"
#include "runtime/core/label_store.h"
#include "runtime/otel/otel.h"

#define FRAME ((uint64_t)(uintptr_t)__builtin_frame_address(0))

static void labels_count_one(struct weft_slot *slot, enum weft_label_result result)
{
	static const uint8_t counters[] = {
		[0] = WEFT_COUNTER_LABELS_SET,       [1] = WEFT_COUNTER_LABELS_UPDATED,
		[2] = WEFT_COUNTER_LABELS_TRUNCATED, [3] = WEFT_COUNTER_LABELS_REMOVED,
		[5] = WEFT_COUNTER_LABELS_NO_ROOM,   [6] = WEFT_COUNTER_LABELS_RESERVED,
		[7] = WEFT_COUNTER_LABELS_INVALID,
	};
	int at = result >= 0 ? (int)result : 4 - (int)result;

	if (result != WEFT_LABEL_ABSENT && result != WEFT_LABEL_NO_SLOT)
		weft_slot_count(slot, (enum weft_counter)counters[at], 1);
}

/* A truncated label counts twice: as truncated, and as set or updated. */
static enum weft_label_result labels_counted(struct weft_slot *slot, enum weft_label_result result,
					     int is_cut)
{
	labels_count_one(slot, result);
	if (!is_cut || (result != WEFT_LABEL_SET && result != WEFT_LABEL_UPDATED))
		return result;
	labels_count_one(slot, WEFT_LABEL_TRUNCATED);
	return WEFT_LABEL_TRUNCATED;
}

static int label_has_value(const struct weft_custom_labels_set *set, int n, struct text value)
{
	const struct weft_custom_labels_label *label = weft_store_label(set, (uint32_t)n);

	return label->value.bytes == value.length &&
	       weft_bytes_equal(label->value.buf, value.bytes, value.length);
}

/* In the hidden set, which is up to date. @value.bytes NULL: remove. */
static enum weft_label_result labels_apply(struct weft_label_change *c, struct text key,
					   struct text value)
{
	int n = weft_store_find(c->hidden, key.bytes, key.length), is_new = n < 0;

	if (is_new && !value.bytes)
		return WEFT_LABEL_ABSENT;
	if (is_new)
		n = weft_store_free_place(c->hidden);
	if (n < 0 || weft_store_save(c, (uint32_t)n))
		return WEFT_LABEL_NO_ROOM;
	if (!value.bytes) {
		weft_store_remove(c, (uint32_t)n);
		return WEFT_LABEL_REMOVED;
	}
	if (is_new)
		weft_store_put_key(c, (uint32_t)n, key.bytes, key.length);
	if (is_new || !label_has_value(c->hidden, n, value))
		weft_store_put_value(c, (uint32_t)n, value.bytes, value.length);
	return is_new ? WEFT_LABEL_SET : WEFT_LABEL_UPDATED;
}

/* The format may have been turned on since this thread's last write. */
static void leave_unchanged(struct weft_slot *slot)
{
	weft_write_leave(slot);
	if (UNLIKELY(weft_publish_is_hidden(slot)) && (weft_publish_state & WEFT_SHOWS_LABELS))
		weft_publish(slot, WEFT_CHANGED_LABELS);
}

static int finish_write(struct weft_label_change *c, const struct weft_context *context)
{
	if (c->keys | c->values || context)
		return weft_write_finish(c, context, NULL);
	leave_unchanged(c->slot);
	return 0;
}

static void labels_begin(struct weft_label_change *c, struct weft_slot *slot, uint64_t frame)
{
	if (UNLIKELY(weft_attachments(slot)->depth != 0))
		weft_attachments_adopt(slot, 1);
	weft_write_enter(slot, frame, 1);
	c->frame = frame;
	weft_publish_keep(slot);
	weft_store_begin(c, slot);
}

/* The label exists and no scope has to save it: only its value is written. */
static int update_value(struct weft_label_change *c, int n, struct text value)
{
	if (label_has_value(c->shown, n, value)) {
		leave_unchanged(c->slot);
		return 0;
	}
	weft_store_sync(c, 1u << n);
	weft_store_put_value(c, (uint32_t)n, value.bytes, value.length);
	if (weft_write_finish(c, NULL, NULL))
		return -1;
	c->store->last = (uint32_t)n;
	return 0;
}

static enum weft_label_result change_one(struct weft_slot *slot, struct text key, struct text value,
					 uint64_t frame)
{
	struct weft_label_change c;
	enum weft_label_result result;
	int again, n;

	do {
		labels_begin(&c, slot, frame);
		n = weft_store_find(c.shown, key.bytes, key.length);
		if (LIKELY(n >= 0 && value.bytes && !c.store->scopes.number)) {
			again = update_value(&c, n, value);
			result = WEFT_LABEL_UPDATED;
			continue;
		}
		weft_store_sync(&c, 0);
		result = labels_apply(&c, key, value);
		again = finish_write(&c, NULL);
	} while (UNLIKELY(again));
	return labels_counted(slot, result, key.is_cut | value.is_cut);
}

/* The hidden set differs from the visible one at most in the label that was changed last. */
static inline int differs_in_this_alone(const struct weft_label_store *store, uint32_t bit)
{
	return !store->differ_keys && !(store->differ_values & ~bit);
}

/* What readers outside are to be shown of a flip. */
struct quick_show {
	uint64_t *cell; /* NULL: they read no labels */
	int has_record; /* OpenTelemetry's, with this .. */
	struct weft_otel_edit edit;
};

/* No more than the flip itself is needed, and another value in OpenTelemetry's record. */
static inline int shows_simply(const struct weft_slot *slot, const struct weft_label_store *store,
			       uint32_t which, uint64_t shown, struct quick_show *show)
{
	const struct weft_label_owner *own = (const void *)slot->label_state.owner;
	const struct weft_label_ids *ids = &store->ids[which];
	uint32_t state = load_relaxed(&weft_publish_state);

	show->cell = NULL;
	show->has_record = (state & WEFT_SHOWS_OTEL) != 0;
	if (UNLIKELY(store->ids_unknown || own->shows_otel != (uint32_t)show->has_record))
		return 0;
	if (LIKELY(!(state & WEFT_SHOWS_LABELS)))
		return !(ids->span_id | ids->root_span_id);
	show->cell = (uint64_t *)(void *)weft_meet_cell(&own->meet);
	return show->cell && *show->cell == shown && ids->span_id == slot->context.span_id &&
	       ids->root_span_id == slot->context.root_span_id;
}

enum quick { QUICK_NOT, QUICK_SAME, QUICK_DONE };

/* With `busy` held. */
static inline __attribute__((always_inline)) enum quick
write_quickly(struct weft_slot *slot, struct weft_label_store *store, struct text key,
	      struct text value, uint64_t frame)
{
	uint64_t shown = load_relaxed(&slot->ext.label_set);
	uint32_t which = shown == store->sets[0], n = store->last;
	struct quick_show show;
	struct weft_custom_labels_set *hidden = weft_store_set(store, (int)which);
	const struct weft_custom_labels_label *now =
		weft_store_label((const struct weft_custom_labels_set *)(uintptr_t)shown, n);

	if (now->key.bytes != key.length || !differs_in_this_alone(store, 1u << n) ||
	    !weft_bytes_equal(now->key.buf, key.bytes, key.length) ||
	    !shows_simply(slot, store, which, shown, &show))
		return QUICK_NOT;
	if (now->value.bytes == value.length &&
	    weft_bytes_equal(now->value.buf, value.bytes, value.length))
		return QUICK_SAME;
	if (show.has_record && !weft_otel_edit_find(slot, (const void *)(uintptr_t)shown, n,
						    value.bytes, value.length, &show.edit))
		return QUICK_NOT;
	store->differ_values = 1u << n;
	/* Pairs: as in weft_store_begin_at(). */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	weft_store_fill_value(hidden, n, value.bytes, value.length);
	KEEP_ORDER();
	if (UNLIKELY(weft_label_owner(slot)->busy != frame))
		return QUICK_NOT;
	weft_store_flip(slot, store, hidden, show.cell);
	if (show.has_record)
		weft_otel_edit_write(&show.edit, store->generation);
	weft_formats_end(slot);
	return QUICK_DONE;
}

/*
 * change_one() for the most frequent case: another value for the label that was also changed last.
 * 0: another case, and nothing has happened.
 */
static inline __attribute__((always_inline)) int
update_quickly(struct weft_slot *slot, struct text key, struct text value, uint64_t frame)
{
	struct weft_label_owner *own = weft_label_owner(slot);
	struct weft_label_store *store = weft_store_now(slot);
	enum quick result;

	/* (a guest keeps no sets) */
	if (UNLIKELY(!store->last || !weft_labels_twin || !key.bytes || !value.bytes || own->busy ||
		     store->scopes.number))
		return 0;
	own->busy_since_ns = 0;
	KEEP_ORDER();
	store_relaxed(&own->busy, frame);
	KEEP_ORDER();
	result = write_quickly(slot, store, key, value, frame);
	KEEP_ORDER();
	store_relaxed(&own->busy, 0);
	KEEP_ORDER();
	if (UNLIKELY(own->deferred))
		weft_publish(slot, own->deferred);
	return result != QUICK_NOT;
}

static int is_usable(struct text key, enum weft_label_result *result)
{
	if (LIKELY(key.length && !weft_label_is_reserved(key.bytes, key.length)))
		return 1;
	*result = key.length ? WEFT_LABEL_RESERVED : WEFT_LABEL_INVALID;
	return 0;
}

/* A coroutine without a block gets one first. */
static inline void labels_make_room(struct weft_slot *slot)
{
	if (UNLIKELY(slot->events.coroutine_at != 0))
		weft_rt.own_block(slot);
}

static __attribute__((noinline)) enum weft_label_result
labels_set_bytes(struct weft_slot *slot, const char *key, size_t key_bytes, const char *value,
		 size_t value_bytes)
{
	struct text k = labels_cut(key, key ? key_bytes : 0, WEFT_CUSTOM_LABELS_KEY_BYTES);
	struct text v = labels_cut(value, value ? value_bytes : 0, WEFT_CUSTOM_LABELS_VALUE_BYTES);
	enum weft_label_result result = WEFT_LABEL_NO_SLOT;
	const struct weft_runtime_v1 *master = weft_copies_master();

	if (master)
		return master->label_set(key, key_bytes, value, value_bytes);
	if (!slot)
		return result;
	if (!is_usable(k, &result))
		return labels_counted(slot, result, 0);
	if (v.bytes)
		labels_make_room(slot);
	return change_one(slot, k, v, FRAME);
}

/* (The quick path does not check for reserved keys: the key equals that of a label set before.) */
WEFT_API __attribute__((noinline)) enum weft_label_result
weft_label_set_bytes(const char *key, size_t key_bytes, const char *value, size_t value_bytes)
{
	struct weft_slot *slot = weft_thread_own_slot();

	if (LIKELY(slot && key_bytes <= WEFT_CUSTOM_LABELS_KEY_BYTES &&
		   value_bytes <= WEFT_CUSTOM_LABELS_VALUE_BYTES) &&
	    update_quickly(slot, (struct text){key, (uint32_t)key_bytes, 0},
			   (struct text){value, (uint32_t)value_bytes, 0}, FRAME)) {
		weft_slot_count(slot, WEFT_COUNTER_LABELS_UPDATED, 1);
		return WEFT_LABEL_UPDATED;
	}
	return labels_set_bytes(slot, key, key_bytes, value, value_bytes);
}

WEFT_API enum weft_label_result weft_label_set(const char *key, const char *value)
{
	return weft_label_set_bytes(key, key ? strlen(key) : 0, value, value ? strlen(value) : 0);
}

WEFT_API enum weft_label_result weft_label_remove(const char *key)
{
	return weft_label_set_bytes(key, key ? strlen(key) : 0, NULL, 0);
}

struct dropped {
	size_t labels, refused;
};

static struct dropped drop_all_but(struct weft_label_change *c, uint32_t kept)
{
	uint32_t end = (uint32_t)c->hidden->count;
	struct dropped dropped = {0, 0};

	for (uint32_t i = WEFT_CUSTOM_LABELS_RESERVED; i < end; i++) {
		if (kept & 1u << i || !weft_store_label(c->hidden, i)->key.buf)
			continue;
		if (weft_store_save(c, i)) {
			dropped.refused++;
			continue;
		}
		weft_store_remove(c, i);
		dropped.labels++;
	}
	return dropped;
}

static void count_dropped(struct weft_slot *slot, struct dropped dropped)
{
	weft_slot_count(slot, WEFT_COUNTER_LABELS_REMOVED, dropped.labels);
	weft_slot_count(slot, WEFT_COUNTER_LABELS_NO_ROOM, dropped.refused);
}

WEFT_API __attribute__((noinline)) size_t weft_labels_clear(void)
{
	struct weft_slot *slot = weft_thread_own_slot();
	struct weft_label_change c;
	struct dropped dropped;
	const struct weft_runtime_v1 *master = weft_copies_master();

	if (master)
		return master->labels_clear();
	if (!slot)
		return 0;
	do {
		labels_begin(&c, slot, FRAME);
		weft_store_sync(&c, 0);
		dropped = drop_all_but(&c, 0);
	} while (UNLIKELY(finish_write(&c, NULL)));
	count_dropped(slot, dropped);
	return dropped.labels;
}

static struct text labels_key_of(const struct weft_label *l)
{
	return labels_cut(l->key, l->key ? l->key_bytes : 0, WEFT_CUSTOM_LABELS_KEY_BYTES);
}

static struct text value_of(const struct weft_label *l)
{
	return labels_cut(l->value, l->value ? l->value_bytes : 0, WEFT_CUSTOM_LABELS_VALUE_BYTES);
}

static uint32_t named_in(const struct weft_label_change *c, const struct weft_label *labels,
			 size_t count)
{
	uint32_t named = 0;

	for (size_t i = 0; i < count; i++) {
		struct text key = labels_key_of(&labels[i]);
		int n = key.length ? weft_store_find(c->hidden, key.bytes, key.length) : -1;

		named |= n >= 0 ? 1u << n : 0;
	}
	return named;
}

static void apply_batch(struct weft_label_change *c, struct weft_label *labels, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct text key = labels_key_of(&labels[i]);

		if (is_usable(key, &labels[i].result))
			labels[i].result = labels_apply(c, key, value_of(&labels[i]));
	}
}

/* The first negative result, else 0. */
static enum weft_label_result count_batch(struct weft_slot *slot, struct weft_label *labels,
					  size_t count, struct dropped dropped)
{
	enum weft_label_result first_bad = WEFT_LABEL_SET;

	for (size_t i = 0; i < count; i++) {
		struct weft_label *l = &labels[i];

		l->result = labels_counted(slot, l->result,
					   labels_key_of(l).is_cut | value_of(l).is_cut);
		if ((int)l->result < 0 && (int)first_bad >= 0)
			first_bad = l->result;
	}
	count_dropped(slot, dropped);
	return dropped.refused && !first_bad ? WEFT_LABEL_NO_ROOM : first_bad;
}

WEFT_API __attribute__((noinline)) enum weft_label_result
weft_context_update(const struct weft_context *context, struct weft_label *labels, size_t count,
		    unsigned int flags)
{
	struct weft_slot *slot = weft_thread_own_slot();
	struct weft_label_change c;
	struct dropped dropped = {0, 0};
	const struct weft_runtime_v1 *master = weft_copies_master();

	if (master)
		return master->context_update(context, labels, count, flags);
	for (size_t i = 0; !slot && i < count; i++)
		labels[i].result = WEFT_LABEL_NO_SLOT;
	if (!slot)
		return WEFT_LABEL_NO_SLOT;
	if (count)
		labels_make_room(slot);
	do {
		labels_begin(&c, slot, FRAME);
		weft_store_sync(&c, 0);
		if (flags & WEFT_UPDATE_REPLACE)
			dropped = drop_all_but(&c, named_in(&c, labels, count));
		apply_batch(&c, labels, count);
	} while (UNLIKELY(finish_write(&c, context)));
	return count_batch(slot, labels, count, dropped);
}

/* ---- reading, by the thread itself */

static uint32_t labels_id_text(const struct weft_slot *slot, int is_root, char *to)
{
	uint64_t span = load_relaxed(&slot->context.span_id);
	uint64_t root = load_relaxed(&slot->context.root_span_id);

	return span | root ? decimal_write((unsigned char *)to, is_root ? root : span) : 0;
}

static const struct weft_custom_labels_set *labels_own_set(const struct weft_slot *slot)
{
	return (const void *)(uintptr_t)load_relaxed(&slot->ext.label_set);
}

WEFT_API ssize_t weft_label_get_bytes(const char *key, size_t key_bytes, char *value, size_t room)
{
	struct weft_slot *slot = weft_thread_own_slot();
	struct text k = labels_cut(key, key ? key_bytes : 0, WEFT_CUSTOM_LABELS_KEY_BYTES);
	const struct weft_custom_labels_label *label;
	const void *from;
	char id[DECIMAL_BYTES];
	uint32_t bytes;
	int n;

	if (!slot || !k.length)
		return -1;
	if (weft_label_is_reserved(k.bytes, k.length)) {
		from = id;
		bytes = labels_id_text(slot, key[0] == 'r', id);
		if (!bytes)
			return -1;
	} else {
		n = weft_store_find(labels_own_set(slot), k.bytes, k.length);
		if (n < 0)
			return -1;
		label = weft_store_label(labels_own_set(slot), (uint32_t)n);
		from = label->value.buf;
		bytes = (uint32_t)label->value.bytes;
	}
	if (value)
		weft_bytes_copy(value, from, (uint32_t)(bytes < room ? bytes : room));
	return bytes;
}

WEFT_API ssize_t weft_label_get(const char *key, char *value, size_t room)
{
	return weft_label_get_bytes(key, key ? strlen(key) : 0, value, room);
}

WEFT_API int weft_labels_each(int (*f)(void *arg, const char *key, size_t key_bytes,
				       const char *value, size_t value_bytes),
			      void *arg)
{
	struct weft_slot *slot = weft_thread_own_slot();
	const struct weft_custom_labels_set *set = slot ? labels_own_set(slot) : NULL;
	char id[DECIMAL_BYTES];
	uint32_t bytes;
	int result = 0;

	for (int root = 0; slot && root < 2 && !result; root++) {
		bytes = labels_id_text(slot, root, id);
		if (bytes)
			result = f(arg,
				   root ? WEFT_CUSTOM_LABELS_ROOT_KEY : WEFT_CUSTOM_LABELS_SPAN_KEY,
				   root ? sizeof(WEFT_CUSTOM_LABELS_ROOT_KEY) - 1
					: sizeof(WEFT_CUSTOM_LABELS_SPAN_KEY) - 1,
				   id, bytes);
	}
	for (uint32_t i = WEFT_CUSTOM_LABELS_RESERVED; set && i < set->count && !result; i++) {
		const struct weft_custom_labels_label *l = weft_store_label(set, i);

		if (l->key.buf)
			result = f(arg, (const char *)l->key.buf, l->key.bytes,
				   (const char *)l->value.buf, l->value.bytes);
	}
	return result;
}

/* ---- scopes, children */

/* Below an attached context labels of the thread's own come back, though nothing has saved them. */
static inline int attached_in(const struct weft_slot *slot, const struct weft_scope *scope)
{
	const struct weft_attachments *now = weft_attachments(slot);

	return now->depth && now->at[now->depth - 1].number >= scope->labels_number;
}

/*
 * A scope with a higher number than the innermost ended with one around it: its labels have been
 * restored. (A forked child has what its parent's scopes saved in a slot of its own.)
 */
int weft_labels_scope_leave(struct weft_slot *slot, const struct weft_scope *scope)
{
	struct weft_label_scopes *own = &weft_store_now(slot)->scopes;

	if (LIKELY(own->number >= scope->labels_number)) {
		if (UNLIKELY(own->newest >= scope->labels_number || attached_in(slot, scope)))
			return 1;
		weft_scopes_leave(own, scope);
	}
	return 0;
}

__attribute__((noinline)) void weft_labels_scope_restore(struct weft_slot *slot,
							 const struct weft_scope *scope)
{
	struct weft_label_change c;
	struct weft_saved_end end;
	const struct weft_runtime_v1 *master = weft_copies_master();

	if (master) {
		master->scope_restore(slot, scope);
		return;
	}
	do {
		labels_begin(&c, slot, FRAME);
		weft_store_sync(&c, 0);
		end = weft_store_put_back(&c, scope->labels_number);
	} while (UNLIKELY(weft_write_finish(&c, NULL, scope)));
	c.store->scopes.bytes = end.bytes;
	c.store->scopes.newest = end.newest;
	KEEP_ORDER();
	weft_scopes_leave(&c.store->scopes, scope);
}

/* The visible set of the thread's own store, now or when a coroutine's store replaced it. */
static const struct weft_custom_labels_set *set_of_thread(const struct weft_slot *slot)
{
	const struct weft_label_store *own = weft_store_own(slot);

	return weft_store_now(slot) == own ? labels_own_set(slot)
					   : (const void *)(uintptr_t)own->shown;
}

static void copy_own(struct weft_slot *to, const struct weft_slot *from)
{
	struct weft_label_store *own = weft_store_own(to);
	const struct weft_custom_labels_set *set = set_of_thread(from);
	struct weft_label_change c;

	if (!weft_store_own(from)->sets[0]) {
		own->scopes = weft_store_own(from)->scopes;
		return;
	}
	weft_store_make(to, own);
	weft_store_copy_saved(own, weft_store_own(from));
	if (!set)
		return;
	weft_store_begin(&c, to);
	weft_store_copy_labels(&c, set);
	weft_store_commit(&c);
}

/* While a coroutine runs: the sets of its block do not move in a fork. */
static void copy_store(struct weft_slot *to, const struct weft_slot *from)
{
	struct weft_label_store *own = weft_store_own(to), *now = weft_store_now(from);

	own->shown = to->ext.label_set;
	if (weft_store_is_spare(from, now)) {
		weft_store_spare(to)->scopes = now->scopes;
		now = weft_store_spare(to);
		to->ext.label_set = 0;
	} else {
		to->ext.label_set = from->ext.label_set;
	}
	to->ext.label_store = (uint64_t)(uintptr_t)now - (uint64_t)(uintptr_t)own;
}

void weft_labels_forget(struct weft_slot *slot)
{
	weft_label_state_clear(slot);
	memset(slot->coro_labels, 0, sizeof(slot->coro_labels));
	slot->ext.label_set = slot->ext.label_store = 0;
}

void weft_labels_copy(struct weft_slot *to, const struct weft_slot *from)
{
	uint64_t current_at = to->label_state.current_at;

	if (weft_attachments(from)->depth) /* (the calling thread's own slot) */
		weft_attachments_adopt((struct weft_slot *)(uintptr_t)from, 1);
	weft_labels_forget(to);
	to->label_state.current_at = current_at;
	copy_own(to, from);
	if (UNLIKELY(from->ext.label_store != 0))
		copy_store(to, from);
}
