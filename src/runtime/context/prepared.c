/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft/prepared.h. Attaching and detaching are written out for the usual case: all formats of the
 * thread show what its slot says, and nothing else is being written. The stores are those of any
 * other write (context.c, publish.c): seq odd, label_set, the ids, the thread's pointers, seq even.
 * In any other case they are a scope and an update like any other.
 *
 * `busy` is held: a context write in a handler marks itself as deferred, and is published at the
 * end, out of the attached context. If the process dies in between, each format shows one context
 * or the other.
 *
 * Where the pointers lie is found once per thread, and again when a format or the thread's own set
 * has changed (struct weft_attachments).
 */
#include "runtime/context/prepared.h"

#include <string.h>

#include "runtime/context/context.h"
#include "runtime/context/labels.h"
#include "runtime/core/copies.h"
#include "runtime/core/decimal.h"
#include "runtime/core/label_store.h"
#include "runtime/core/own.h"
#include "runtime/otel/otel.h"

#include <weft/abi/otel_thread_context.h>

#define FRAME ((uint64_t)(uintptr_t)__builtin_frame_address(0))
#define INLINED inline __attribute__((always_inline))
#define IDS_WORDS 3 /* of the v1 record: span, root span, checksum */

/* ---- preparing */

/* Labels that are taken; a later one of the same key takes the place of an earlier one. */
struct chosen {
	struct {
		struct text key, value;
	} labels[WEFT_CUSTOM_LABELS_MOST];
	uint32_t count;
	uint64_t bytes, value_bytes;
};

static uint32_t chosen_find(const struct chosen *c, struct text key)
{
	uint32_t n = 0;

	while (n < c->count && (c->labels[n].key.length != key.length ||
				memcmp(c->labels[n].key.bytes, key.bytes, key.length) != 0))
		n++;
	return n;
}

static void chosen_remove(struct chosen *c, uint32_t n)
{
	c->count--;
	for (; n < c->count; n++)
		c->labels[n] = c->labels[n + 1];
}

static enum weft_label_result choose_label(struct chosen *c, const struct weft_label *l)
{
	struct text key =
		labels_cut(l->key, l->key ? l->key_bytes : 0, WEFT_CUSTOM_LABELS_KEY_BYTES);
	struct text value =
		labels_cut(l->value, l->value ? l->value_bytes : 0, WEFT_CUSTOM_LABELS_VALUE_BYTES);
	uint32_t n;

	if (!key.length)
		return WEFT_LABEL_INVALID;
	if (weft_label_is_reserved(key.bytes, key.length))
		return WEFT_LABEL_RESERVED;
	n = chosen_find(c, key);
	if (!value.bytes) {
		if (n == c->count)
			return WEFT_LABEL_ABSENT;
		chosen_remove(c, n);
		return WEFT_LABEL_REMOVED;
	}
	if (n + WEFT_CUSTOM_LABELS_RESERVED >= weft_labels_max)
		return WEFT_LABEL_NO_ROOM;
	c->labels[n].key = key;
	c->labels[n].value = value;
	if (n < c->count)
		return key.is_cut | value.is_cut ? WEFT_LABEL_TRUNCATED : WEFT_LABEL_UPDATED;
	c->count++;
	return key.is_cut | value.is_cut ? WEFT_LABEL_TRUNCATED : WEFT_LABEL_SET;
}

static void choose_labels(struct chosen *c, struct weft_label *labels, size_t count)
{
	c->count = 0;
	c->bytes = c->value_bytes = 0;
	for (size_t i = 0; i < count; i++)
		labels[i].result = choose_label(c, &labels[i]);
	for (uint32_t n = 0; n < c->count; n++) {
		c->bytes += c->labels[n].key.length + c->labels[n].value.length;
		c->value_bytes += c->labels[n].value.length + 2;
	}
}

static unsigned char *put_text(struct weft_custom_labels_string *string, unsigned char *to,
			       const void *bytes, uint32_t length)
{
	string->buf = to;
	string->bytes = length;
	memcpy(to, bytes, length);
	return to + length;
}

/* Labels 0 and 1; without ids both are absent. */
static unsigned char *put_reserved(struct weft_custom_labels_label *label, unsigned char *to,
				   const char *key, uint32_t key_bytes, uint64_t id, int is_there)
{
	char digits[DECIMAL_BYTES];
	uint32_t bytes = decimal_write((unsigned char *)digits, id);

	to = put_text(&label->key, to, key, key_bytes);
	to = put_text(&label->value, to, digits, bytes);
	if (!is_there)
		label->key.buf = NULL;
	return to;
}

/* Returns the end of its strings. */
static unsigned char *put_set(struct weft_prepared *p, const struct chosen *c)
{
	struct weft_custom_labels_label *label = weft_store_label(&p->set, 0);
	uint32_t count = WEFT_CUSTOM_LABELS_RESERVED + c->count;
	unsigned char *to = (unsigned char *)(label + count);
	int has_ids = (p->ids[0] | p->ids[1]) != 0;

	p->set = (struct weft_custom_labels_set){label, count, count};
	to = put_reserved(&label[0], to, WEFT_CUSTOM_LABELS_SPAN_KEY,
			  sizeof(WEFT_CUSTOM_LABELS_SPAN_KEY) - 1, p->ids[0], has_ids);
	to = put_reserved(&label[1], to, WEFT_CUSTOM_LABELS_ROOT_KEY,
			  sizeof(WEFT_CUSTOM_LABELS_ROOT_KEY) - 1, p->ids[1], has_ids);
	for (uint32_t n = 0; n < c->count; n++) {
		struct weft_custom_labels_label *l = &label[WEFT_CUSTOM_LABELS_RESERVED + n];

		to = put_text(&l->key, to, c->labels[n].key.bytes, c->labels[n].key.length);
		to = put_text(&l->value, to, c->labels[n].value.bytes, c->labels[n].value.length);
	}
	return to;
}

static void prepared_put_ids(struct weft_prepared *p, const struct weft_context *context)
{
	uint64_t sum = weft_context_v1_checksum(context->span_id, context->root_span_id);

	p->ids[0] = context->span_id;
	p->ids[1] = context->root_span_id;
	p->ids[2] = context->span_id | context->root_span_id ? sum : 0;
	p->trace[0] = sum;
	memcpy(&p->trace[1], context->trace_id, sizeof(context->trace_id));
	p->trace[3] = context->trace_flags | p->generation[0] << 32;
}

/* Another library's key map is read again for keys that it did not have: what is prepared never
 * changes, so it cannot get them later, as a thread's own record does. */
static void prepared_meet_keys(const struct weft_custom_labels_set *set)
{
	for (uint64_t n = WEFT_CUSTOM_LABELS_RESERVED; n < set->count; n++)
		weft_otel_key((const char *)set->storage[n].key.buf, set->storage[n].key.bytes);
	weft_publish_deferred();
}

/* What a piece has to hold: two ids of up to twenty digits; a record as long as its values. */
static uint64_t prepared_bytes(const struct chosen *c)
{
	uint64_t labels = WEFT_CUSTOM_LABELS_RESERVED + c->count, record = 18 + c->value_bytes;
	uint64_t reserved = sizeof(WEFT_CUSTOM_LABELS_SPAN_KEY) +
			    sizeof(WEFT_CUSTOM_LABELS_ROOT_KEY) + 2 * DECIMAL_BYTES;

	if (record > WEFT_OTEL_ATTRIBUTES_BYTES)
		record = WEFT_OTEL_ATTRIBUTES_BYTES;
	return sizeof(struct weft_prepared) + labels * sizeof(struct weft_custom_labels_label) +
	       reserved + c->bytes + 8 + WEFT_OTEL_ATTRIBUTES_AT + record;
}

WEFT_API struct weft_prepared *weft_context_prepare(const struct weft_context *context,
						    struct weft_label *labels, size_t count)
{
	static const struct weft_context nothing;
	const struct weft_prepared_v1 *master = weft_prepared_master();
	const struct weft_context *from = context ? context : &nothing;
	struct weft_otel_record *record;
	struct weft_prepared *p;
	struct chosen chosen;

	if (master)
		return master->prepare(context, labels, count);
	weft_fork_check();
	choose_labels(&chosen, labels, count);
	/* (before weft begins, the size of a block is not known) */
	p = weft_labels_twin ? weft_prepared_alloc(prepared_bytes(&chosen)) : NULL;
	if (!p)
		return NULL;
	prepared_put_ids(p, from);
	record = (void *)(((uintptr_t)put_set(p, &chosen) + 7) & ~(uintptr_t)7);
	p->record = 0;
	if (load_relaxed(&weft_publish_state) & WEFT_SHOWS_OTEL) {
		prepared_meet_keys(&p->set);
		if (weft_otel_prepare(record, from, &p->set))
			p->record = (uint64_t)(uintptr_t)record;
	}
	p->lacks = ~((uint32_t)WEFT_ATTACH_LIVES | WEFT_SHOWS_LABELS |
		     (p->record ? WEFT_SHOWS_OTEL : 0u));
	return p;
}

WEFT_API void weft_context_free(struct weft_prepared *prepared)
{
	const struct weft_prepared_v1 *master = weft_prepared_master();

	if (!prepared)
		return;
	if (master) {
		master->free(prepared);
		return;
	}
	weft_fork_check();
	store_relaxed(&prepared->lacks, UINT32_MAX);
	weft_prepared_free(prepared);
}

/* ---- what the thread shows */

/* So that the compiler does not keep addresses of the slot's words, which cost nothing, in
 * registers that are scarce. */
#define FORGET_ADDRESSES(p) __asm__("" : "+r"(p))

static INLINED const struct weft_prepared *attached_at(const struct weft_attachments *now,
						       uint32_t n)
{
	return (const struct weft_prepared *)(uintptr_t)now->at[n].prepared;
}

static INLINED uint64_t prepared_set_of(const struct weft_prepared *p)
{
	return (uint64_t)(uintptr_t)&p->set;
}

static INLINED uint64_t *word_at(uint64_t address)
{
	return (uint64_t *)(uintptr_t)address;
}

/* (The spare store holds no labels. A set that is laid out is never visible half written.) */
static int is_own_set(const struct weft_label_store *store, uint64_t set)
{
	return set && (set == store->sets[0] || set == store->sets[1]) &&
	       store->max > WEFT_CUSTOM_LABELS_RESERVED && store->places;
}

static uint64_t find_pointer_cell(struct weft_slot *slot, uint32_t formats, uint64_t set)
{
	uint64_t *none = &weft_attachments(slot)->read_by_none[0];
	uint64_t *cell = (uint64_t *)(void *)weft_meet_cell(&weft_label_owner(slot)->meet);

	if (formats & WEFT_SHOWS_LABELS)
		return (uint64_t)(uintptr_t)cell;
	if (cell && load_relaxed(cell))
		return 0;
	*none = set;
	return (uint64_t)(uintptr_t)none;
}

static uint64_t find_pointer_place(struct weft_slot *slot, uint32_t formats, uint64_t record)
{
	uint64_t *none = &weft_attachments(slot)->read_by_none[1];

	if (formats & WEFT_SHOWS_OTEL)
		return weft_otel_distance
			       ? (uint64_t)(uintptr_t)(weft_thread_pointer() + weft_otel_distance)
			       : 0;
	if (weft_label_owner(slot)->shows_otel)
		return 0;
	*none = record;
	return (uint64_t)(uintptr_t)none;
}

/* Do the thread's pointers lead where the slot says? */
static INLINED int pointers_agree(const struct weft_attachments *now, uint64_t set, uint64_t record)
{
	return load_relaxed(word_at(now->cell)) == set &&
	       load_relaxed(word_at(now->place)) == record;
}

/* What all attachments of a thread find the same, until its own set or a format changes. */
static INLINED int places_are_known(const struct weft_attachments *now, uint64_t key, uint64_t set)
{
	return now->key == key && now->shown == set && pointers_agree(now, set, now->record);
}

static void find_places(struct weft_slot *slot, uint64_t key, uint64_t set)
{
	struct weft_attachments *now = weft_attachments(slot);
	const struct weft_label_store *store = weft_store_now(slot);

	if (key & WEFT_ATTACH_NEVER || !is_own_set(store, set))
		return;
	now->key = 0;
	now->shown = set;
	now->record = store->record ? store->record : (uint64_t)(uintptr_t)slot->otel_record;
	now->cell = find_pointer_cell(slot, (uint32_t)key, set);
	now->place = find_pointer_place(slot, (uint32_t)key, now->record);
	if (now->cell && now->place)
		now->key = key;
}

_Static_assert(offsetof(struct weft_context_ext, trace_flags) ==
			       offsetof(struct weft_context_ext, v1_checksum) + 24 &&
		       offsetof(struct weft_context_ext, label_generation) ==
			       offsetof(struct weft_context_ext, v1_checksum) + 28 &&
		       offsetof(struct weft_context_v1, root_span_id) ==
			       offsetof(struct weft_context_v1, span_id) + 8,
	       "words that are written in pairs lie side by side");

/* ---- the write */

/* Two words that lie side by side, by release stores; by one where stores are never reordered, as
 * stores are what attaching costs most. */
static INLINED void copy_two(uint64_t *to, const uint64_t *from)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	typedef uint64_t two __attribute__((vector_size(16)));
	two words;

	KEEP_ORDER();
	__builtin_memcpy(&words, from, sizeof(words));
	__builtin_memcpy(to, &words, sizeof(words));
	KEEP_ORDER();
#else
	store_release(&to[0], load_relaxed(&from[0]));
	store_release(&to[1], load_relaxed(&from[1]));
#endif
}

/* What is to be seen from now on. */
struct view {
	uint64_t set, record, checksum;
	const uint64_t *ids, *trace;
	uint32_t guard;
};

/* Cache line by cache line. */
static INLINED void put_words(struct weft_slot *slot, const struct view *v)
{
	copy_two(&slot->ext.v1_checksum, &v->trace[0]);
	copy_two(&slot->ext.v1_checksum + 2, &v->trace[2]); /* flags, the set's generation */
	store_release(&slot->context.checksum, 0);
	copy_two(&slot->context.span_id, v->ids);
	store_release(&slot->context.checksum, v->checksum);
}

/* Did a handler write meanwhile? It has marked that, unless no format is on but v1. */
static INLINED int attach_was_disturbed(struct weft_slot *slot, const struct view *v, uint64_t seq)
{
	if (LIKELY(v->guard & WEFT_GUARD_PUBLISHES))
		return load_relaxed(&weft_label_owner(slot)->deferred) != 0;
	return ((load_relaxed(&slot->ext.seq) ^ seq) |
		(load_relaxed(&slot->context.span_id) ^ v->ids[0]) |
		(load_relaxed(&slot->context.root_span_id) ^ v->ids[1])) != 0;
}

static INLINED void show(struct weft_slot *slot, const struct weft_attachments *now,
			 const struct view *v)
{
	uint64_t seq = load_relaxed(&slot->ext.seq) + 1; /* (a handler's is not taken back) */

	store_release(&slot->ext.seq, seq);
	store_release(&slot->ext.label_set, v->set);
	put_words(slot, v);
	store_release(word_at(now->cell), v->set);
	store_release(word_at(now->place), v->record);
	FORGET_ADDRESSES(slot);
	if (UNLIKELY(attach_was_disturbed(slot, v, seq)))
		put_words(slot, v);
	store_release(&slot->ext.seq, (load_relaxed(&slot->ext.seq) | 1) + 1);
}

/* ---- attaching */

/* Ids lie behind their checksum, a pair like each in the slot. (No write is interrupted, and tags
 * stay: detach_slowly().) */
static INLINED void prepared_save_words(struct weft_scope *scope, struct weft_slot *slot)
{
	scope->slot = slot;
	scope->record[0] = load_relaxed(&slot->context.checksum);
	copy_two(&scope->record[1], &slot->context.span_id);
	copy_two(&scope->extension[1], &slot->ext.v1_checksum);
	copy_two(&scope->extension[3], &slot->ext.v1_checksum + 2);
}

/* weft_scopes_enter(), for a scope that may move. Most of its stores would change nothing. */
static INLINED void scope_begins(struct weft_label_store *store, struct weft_scope *scope,
				 uint64_t number)
{
	struct weft_label_scopes *own = &store->scopes;
	uint64_t word = weft_scope_place_word(number, 0), *place;

	own->number = number;
	KEEP_ORDER();
	scope->done = 0;
	scope->labels_saved = 0;
	scope->labels_number = number;
	if (UNLIKELY(own->saved != 0)) {
		scope->labels_saved = own->saved;
		own->saved = 0;
	}
	place = weft_scope_place(store, number);
	if (UNLIKELY(*place != word))
		*place = word;
}

static INLINED void remember(struct weft_attachments *now, uint32_t depth,
			     const struct weft_prepared *p, uint64_t number)
{
	struct weft_attachment *here = &now->at[depth];

	FORGET_ADDRESSES(here);
	if (UNLIKELY(here->number != number))
		here->number = number;
	/* (whoever finds it in the place of another one knows that the other one was detached) */
	store_release(&here->prepared, (uint64_t)(uintptr_t)p);
	store_release(&now->depth, depth + 1); /* model: NAME */
	KEEP_ORDER();
}

/* `busy` is held from here on; 0: another write holds it, or has left something to do. */
static INLINED int prepared_enter(struct weft_slot *slot, uint64_t frame)
{
	struct weft_label_owner *own = weft_label_owner(slot);

	if (UNLIKELY((load_relaxed(&own->busy) | own->busy_since_ns |
		      load_relaxed(&own->deferred)) != 0))
		return 0;
	store_relaxed(&own->busy, frame);
	KEEP_ORDER();
	return 1;
}

static INLINED void prepared_leave(struct weft_slot *slot)
{
	KEEP_ORDER();
	store_relaxed(&weft_label_owner(slot)->busy, 0);
	KEEP_ORDER();
}

static INLINED void publish_marked(struct weft_slot *slot)
{
	uint32_t changed = load_relaxed(&weft_label_owner(slot)->deferred);

	if (UNLIKELY(changed != 0))
		weft_publish(slot, changed);
}

/* Is the innermost one of @depth what readers see, and can there be another one in it? */
static INLINED int is_attached(const struct weft_attachments *now, uint32_t depth, uint64_t key,
			       uint64_t set)
{
	const struct weft_prepared *outer = attached_at(now, depth - 1);

	return depth < WEFT_ATTACHED_MOST && now->key == key && set == prepared_set_of(outer) &&
	       pointers_agree(now, set, outer->record);
}

/* `busy` is held. 0: not the usual case, and nothing has changed. */
static INLINED int attach_quickly(struct weft_slot *slot, struct weft_attached *before,
				  const struct weft_prepared *p, uint32_t guard)
{
	struct weft_attachments *now = weft_attachments(slot);
	struct weft_label_store *store = weft_store_now(slot);
	uint64_t set = load_relaxed(&slot->ext.label_set), key = load_acquire(&weft_attach_key);
	uint64_t number = store->scopes.number + 1;
	uint32_t depth = now->depth;

	if (UNLIKELY((uint32_t)key & load_relaxed(&p->lacks) || load_relaxed(&slot->ext.seq) & 1 ||
		     number - store->scopes.looked >= WEFT_SCOPES_NEWEST))
		return 0;
	if (UNLIKELY(depth != 0)) {
		if (!is_attached(now, depth, key, set))
			return 0;
	} else if (UNLIKELY(!places_are_known(now, key, set))) {
		return 0;
	}
	scope_begins(store, &before->scope, number);
	FORGET_ADDRESSES(slot);
	prepared_save_words(&before->scope, slot);
	remember(now, depth, p, number);
	FORGET_ADDRESSES(slot);
	show(slot, now,
	     &(struct view){prepared_set_of(p), p->record, p->ids[2], p->ids, p->trace, guard});
	return 1;
}

static void copy_tags(uint32_t *to, const struct weft_slot *slot)
{
	for (int i = 0; i < WEFT_TAGS; i++)
		to[i] = load_relaxed(&slot->context.tags[i]);
}

/* The last of a record's three first words becomes the first one; @by 1: back. */
static void turn_ids(uint64_t *record, int by)
{
	uint64_t was[IDS_WORDS];

	memcpy(was, record, sizeof(was));
	for (int i = 0; i < IDS_WORDS; i++)
		record[i] = was[(i + by) % IDS_WORDS];
}

/* 1: places were not known, and now they are. */
static int places_are_found(struct weft_slot *slot)
{
	struct weft_attachments *now = weft_attachments(slot);
	uint64_t key = load_acquire(&weft_attach_key), set = load_relaxed(&slot->ext.label_set);
	int is_found = 0;

	if (!prepared_enter(slot, FRAME))
		return 0;
	if (!now->depth && !places_are_known(now, key, set)) {
		find_places(slot, key, set);
		is_found = places_are_known(now, key, set);
	}
	prepared_leave(slot);
	publish_marked(slot);
	return is_found;
}

/* As a scope, and an update in it. */
static void attach_as_scope(struct weft_attached *before, const struct weft_prepared *p)
{
	struct weft_label batch[WEFT_CUSTOM_LABELS_MOST];
	struct weft_context context = {0};
	size_t count = 0;

	weft_scope_enter(&before->scope, NULL);
	if (!before->scope.slot)
		return;
	turn_ids(before->scope.record, 2);
	/* (what was freed must not be attached) */
	if (!p || load_relaxed(&p->lacks) & (uint32_t)WEFT_ATTACH_LIVES)
		return;
	for (uint64_t i = WEFT_CUSTOM_LABELS_RESERVED; i < p->set.count; i++) {
		const struct weft_custom_labels_label *l = &p->set.storage[i];

		batch[count++] = (struct weft_label){(const char *)l->key.buf, l->key.bytes,
						     (const char *)l->value.buf, l->value.bytes,
						     WEFT_LABEL_SET};
	}
	context.span_id = p->ids[0];
	context.root_span_id = p->ids[1];
	memcpy(context.trace_id, &p->trace[1], sizeof(context.trace_id));
	context.trace_flags = (uint32_t)p->trace[3];
	copy_tags(context.tags, before->scope.slot);
	weft_context_update(&context, batch, count, WEFT_UPDATE_REPLACE);
}

static __attribute__((noinline)) void attach_slowly(struct weft_attached *before,
						    const struct weft_prepared *p)
{
	const struct weft_prepared_v1 *master = weft_prepared_master();
	struct weft_slot *slot = weft_thread_own_slot();

	if (master)
		master->attach(before, p);
	else if (slot && p && places_are_found(slot))
		weft_context_attach(before, p);
	else
		attach_as_scope(before, p);
}

/* (Calls are the last thing that it does: so it has no registers to save.) */
WEFT_API void weft_context_attach(struct weft_attached *before,
				  const struct weft_prepared *prepared)
{
	struct weft_slot *slot = weft_slot_mine();
	uint32_t guard = LIKELY(slot != NULL) ? *weft_fork_guard : 0;

	if (LIKELY(guard != 0) && LIKELY(prepared != NULL) && prepared_enter(slot, FRAME)) {
		if (LIKELY(attach_quickly(slot, before, prepared, guard))) {
			prepared_leave(slot);
			publish_marked(slot);
			return;
		}
		prepared_leave(slot);
	}
	attach_slowly(before, prepared);
}

/* ---- detaching */

/* Likewise. Nothing has been written since, and it is the innermost. */
static INLINED int detach_quickly(struct weft_slot *slot, struct weft_scope *scope, uint32_t guard)
{
	struct weft_attachments *now = weft_attachments(slot);
	struct weft_label_store *store = weft_store_now(slot);
	uint64_t set = load_relaxed(&slot->ext.label_set);
	uint32_t outer = now->depth - 1;
	const struct weft_prepared *p;
	struct view v;

	if (UNLIKELY(outer >= WEFT_ATTACHED_MOST || now->key != load_acquire(&weft_attach_key) ||
		     load_relaxed(&slot->ext.seq) & 1))
		return 0;
	p = attached_at(now, outer);
	if (UNLIKELY(now->at[outer].number != scope->labels_number ||
		     store->scopes.newest >= scope->labels_number || set != prepared_set_of(p) ||
		     !pointers_agree(now, set, p->record)))
		return 0;
	v = (struct view){now->shown,        now->record,          scope->record[0],
			  &scope->record[1], &scope->extension[1], guard};
	if (UNLIKELY(outer != 0)) {
		p = attached_at(now, outer - 1);
		v.set = prepared_set_of(p);
		v.record = p->record;
	}
	FORGET_ADDRESSES(slot);
	show(slot, now, &v);
	KEEP_ORDER();
	store_release(&now->depth, outer); /* model: UNNAME */
	weft_scopes_go_back(&store->scopes, scope->labels_number - 1);
	KEEP_ORDER();
	if (UNLIKELY(store->scopes.saved != scope->labels_saved))
		store->scopes.saved = scope->labels_saved;
	scope->done = 1;
	return 1;
}

static __attribute__((noinline)) void detach_slowly(struct weft_attached *before)
{
	const struct weft_prepared_v1 *master = weft_prepared_master();
	struct weft_slot *slot;
	uint32_t tags[WEFT_TAGS];

	if (master) {
		master->detach(before);
		return;
	}
	slot = before->scope.slot ? weft_thread_own_slot() : NULL;
	if (slot) {
		publish_marked(slot);
		copy_tags(tags, slot);
		memcpy(&before->scope.record[IDS_WORDS], tags, sizeof(tags));
		turn_ids(before->scope.record, 1);
		before->scope.extension[0] = 0;
	}
	weft_scope_leave(&before->scope);
}

WEFT_API void weft_context_detach(struct weft_attached *before)
{
	struct weft_slot *slot = weft_slot_mine();
	uint32_t guard = LIKELY(slot != NULL) ? *weft_fork_guard : 0;

	if (UNLIKELY(before->scope.done))
		return;
	if (LIKELY(guard != 0) && LIKELY(slot == before->scope.slot) &&
	    prepared_enter(slot, FRAME)) {
		if (LIKELY(detach_quickly(slot, &before->scope, guard))) {
			prepared_leave(slot);
			publish_marked(slot);
			return;
		}
		prepared_leave(slot);
	}
	detach_slowly(before);
}

/* ---- making it the thread's own */

static void adopt_label(struct weft_label_change *c, uint32_t n,
			const struct weft_custom_labels_label *label)
{
	if (label) {
		weft_store_put_key(c, n, (const char *)label->key.buf, (uint32_t)label->key.bytes);
		weft_store_put_value(c, n, (const char *)label->value.buf,
				     (uint32_t)label->value.bytes);
	} else if (weft_store_label(c->hidden, n)->key.buf) {
		weft_store_remove(c, n);
	}
}

/* Place by place; what was there is saved for the attachment's scope. */
static void adopt(struct weft_label_change *c, const struct weft_custom_labels_set *set,
		  uint64_t number)
{
	uint64_t end = set->count > c->hidden->count ? set->count : c->hidden->count;

	for (uint32_t n = WEFT_CUSTOM_LABELS_RESERVED; n < end && n < c->store->max; n++) {
		int saved = weft_store_save_for(c, n, number);

		if (UNLIKELY(saved != 0))
			weft_slot_count(c->slot, WEFT_COUNTER_LABELS_NO_ROOM, 1);
		if (LIKELY(saved >= 0))
			adopt_label(c, n, n < set->count ? &set->storage[n] : NULL);
	}
}

/* How many the thread shows: fewer, if a handler's context write came first, or a longjmp led out
 * of attaching or detaching. */
static uint32_t shown_depth(const struct weft_slot *slot)
{
	const struct weft_attachments *now = weft_attachments(slot);
	uint64_t set = load_relaxed(&slot->ext.label_set);
	uint32_t depth = now->depth;

	while (depth && set != (uint64_t)(uintptr_t)&attached_at(now, depth - 1)->set)
		depth--;
	return depth;
}

__attribute__((noinline)) void weft_attachments_adopt(struct weft_slot *slot, int is_label)
{
	struct weft_attachments *now = weft_attachments(slot);
	struct weft_label_change c = {.slot = slot, .own = weft_label_owner(slot), .frame = FRAME};
	uint32_t depth;

	do {
		if (!weft_write_enter(slot, c.frame, is_label))
			return;
		depth = shown_depth(slot);
		if (!depth) {
			store_release(&now->depth, 0);
			weft_write_leave(slot);
			return;
		}
		weft_publish_keep(slot);
		weft_store_begin_at(&c, weft_store_now(slot), now->shown);
		weft_store_sync(&c, 0);
		for (uint32_t i = 0; i < depth; i++)
			adopt(&c, &attached_at(now, i)->set, now->at[i].number);
	} while (UNLIKELY(weft_write_show(&c, WEFT_CHANGED_ALL)));
}

const struct weft_prepared_v1 weft_prepared_own = {
	.prepare = weft_context_prepare,
	.free = weft_context_free,
	.attach = weft_context_attach,
	.detach = weft_context_detach,
};
