/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What scopes have saved of labels, and how scopes that a longjmp has left are found.
 *
 * Writer: as in label_store.c. If a write is abandoned between any two stores, what is saved is
 * whole, and the next write goes on with it. Handlers enter and leave scopes, but save nothing.
 *
 * Saved labels: entries one after the other, 8-aligned, oldest first, so that those of outer scopes
 * come before those of inner ones; an entry exists once scopes.bytes is beyond it. The end of a
 * scope restores its own entries and those of all inner scopes; of several entries of one label the
 * oldest counts.
 *
 * A scope that a longjmp has left never ends. Such scopes are looked for when there is no room, and
 * after a number of further scopes (scope_places.c). Their entries pass to the next scope outwards
 * that is still open: its end restores them, unless it has saved that label itself. If there is no
 * such scope, the entries are dropped. The innermost scopes, if left, are no longer counted.
 */
#include <string.h>

#include "runtime/core/label_store.h"

struct saved_label {
	uint32_t scope;    /* low bits of its number */
	uint8_t number;    /* 0: an entry that was dropped */
	uint8_t key_bytes; /* 0: the label did not exist */
	uint16_t value_bytes;
	unsigned char text[]; /* key, value */
};

#define LOOK_AFTER (WEFT_SCOPES_NEWEST / 2)

/* How far closing of gaps has come; in words from saved_at. */
struct closing {
	uint16_t goes_on;
	uint16_t left; /* words left of the entry that is being moved */
	uint16_t from, to;
};

_Static_assert(sizeof(struct saved_label) == 8 && sizeof(struct closing) == 8, "words");
_Static_assert(WEFT_CUSTOM_LABELS_KEY_BYTES <= UINT8_MAX &&
		       WEFT_CUSTOM_LABELS_VALUE_BYTES <= UINT16_MAX &&
		       WEFT_CUSTOM_LABELS_MOST <= 32,
	       "lengths and numbers have room");

static uint32_t entry_bytes(uint32_t key_bytes, uint32_t value_bytes)
{
	return ((uint32_t)sizeof(struct saved_label) + key_bytes + value_bytes + 7) & ~7u;
}

static uint32_t label_scopes_bytes_of(const struct saved_label *entry)
{
	return entry_bytes(entry->key_bytes, entry->value_bytes);
}

static struct saved_label *saved_at(const struct weft_label_store *store, uint32_t at)
{
	return (struct saved_label *)(uintptr_t)(store->saved_at + at);
}

static struct saved_label *label_scopes_entry_at(const struct weft_label_store *store, uint32_t at)
{
	struct saved_label *entry = saved_at(store, at);

	return at < store->scopes.bytes &&
			       label_scopes_bytes_of(entry) <= store->scopes.bytes - at &&
			       entry->number < store->max
		       ? entry
		       : NULL;
}

/* No entry belongs to a scope newer than `newest`. */
static uint64_t scope_of(const struct weft_label_store *store, const struct saved_label *entry)
{
	uint64_t newest = store->scopes.newest;

	return newest - (uint32_t)((uint32_t)newest - entry->scope);
}

/* ---- gaps */

static void store_closing(struct weft_label_store *store, struct closing now)
{
	uint64_t word;

	memcpy(&word, &now, sizeof(word));
	KEEP_ORDER();
	store_relaxed(&store->scopes.closing, word);
	KEEP_ORDER();
}

/* Moving a word twice does no harm: what lies at its destination has been moved before. */
static struct closing move_entry(struct weft_label_store *store, struct closing now)
{
	uint64_t *word = (void *)saved_at(store, 0);

	for (; now.left; now.left--) {
		store_closing(store, now);
		word[now.to++] = word[now.from++];
	}
	return now;
}

/* Goes on from where an earlier call was abandoned, if one was. */
static void close_gaps(struct weft_label_store *store)
{
	const struct saved_label *entry;
	struct closing now;

	memcpy(&now, &store->scopes.closing, sizeof(now));
	now.goes_on = 1;
	now = move_entry(store, now);
	store_closing(store, now);
	while ((entry = label_scopes_entry_at(store, now.from * 8u))) {
		uint16_t words = (uint16_t)(label_scopes_bytes_of(entry) / 8);

		if (entry->number && now.to != now.from) {
			now.left = words;
			now = move_entry(store, now);
		} else {
			now.to = (uint16_t)(now.to + (entry->number ? words : 0));
			now.from = (uint16_t)(now.from + words);
		}
		store_closing(store, now);
	}
	store->scopes.bytes = now.to * 8u;
	store_closing(store, (struct closing){0, 0, 0, 0});
}

/* ---- scopes that a longjmp has left */

/* State of passing entries on to scopes that are still open. */
struct merge {
	uint64_t scope, heir; /* scope of the last entries; the scope that has them now */
	uint64_t newest;      /* the newest scope that has any */
	uint32_t kept;        /* labels that the heir has saved */
};

static void merge_go_to(const struct weft_label_store *store, struct merge *m, uint64_t scope)
{
	uint64_t heir = scope == m->scope ? m->heir : weft_scopes_not_left(store, scope);

	if (heir != m->heir)
		m->kept = 0;
	m->heir = heir;
	m->scope = scope;
}

static void give_to_heir(struct merge *m, struct saved_label *entry)
{
	uint32_t bit = 1u << entry->number;

	if (!m->heir || m->kept & bit) {
		entry->number = 0;
		return;
	}
	m->kept |= bit;
	m->newest = m->heir;
	store_relaxed(&entry->scope, (uint32_t)m->heir);
}

/* In the order of entries, so that those of outer scopes come first. */
static struct merge label_scopes_merge(struct weft_label_store *store)
{
	struct merge m = {0, 0, 0, 0};
	struct saved_label *entry;

	for (uint32_t at = 0; (entry = label_scopes_entry_at(store, at));
	     at += label_scopes_bytes_of(entry)) {
		if (!entry->number)
			continue;
		merge_go_to(store, &m, scope_of(store, entry));
		give_to_heir(&m, entry);
		KEEP_ORDER();
	}
	merge_go_to(store, &m, store->scopes.number);
	return m;
}

static __attribute__((noinline, cold)) void find_left_scopes(const struct weft_label_change *c)
{
	struct weft_label_scopes *own = &c->store->scopes;
	struct merge m;

	weft_scopes_scan(c->store, c);
	if (own->closing)
		close_gaps(c->store);
	m = label_scopes_merge(c->store);
	close_gaps(c->store);
	own->newest = m.newest;
	KEEP_ORDER();
	if (m.heir == own->number)
		return;
	weft_scopes_go_back(own, m.heir);
	KEEP_ORDER();
	own->saved = m.kept;
}

/* ---- saving, putting back */

static int is_to_be_saved(const struct weft_label_store *store, uint32_t n)
{
	return store->scopes.number && !(store->scopes.saved & 1u << n);
}

static int is_time_to_look(const struct weft_label_scopes *own)
{
	return own->closing || own->number - own->looked >= LOOK_AFTER;
}

/* Of a label of the hidden set, which is up to date: its state before this change. */
static void label_scopes_head(const struct weft_label_change *c, uint32_t n, uint64_t number,
			      struct saved_label *head)
{
	const struct weft_custom_labels_label *label = weft_store_label(c->hidden, n);

	head->scope = (uint32_t)number;
	head->number = (uint8_t)n;
	head->key_bytes = label->key.buf ? (uint8_t)label->key.bytes : 0;
	head->value_bytes = head->key_bytes ? (uint16_t)label->value.bytes : 0;
}

static int label_scopes_has_room(const struct weft_label_store *store,
				 const struct saved_label *head)
{
	return store->scopes.bytes + label_scopes_bytes_of(head) <= store->saved_room;
}

static void label_scopes_append(struct weft_label_change *c, const struct saved_label *head,
				uint64_t number)
{
	const struct weft_custom_labels_label *label = weft_store_label(c->hidden, head->number);
	struct weft_label_scopes *own = &c->store->scopes;
	struct saved_label *entry = saved_at(c->store, own->bytes);

	*entry = *head;
	weft_bytes_copy(entry->text, label->key.buf, head->key_bytes);
	weft_bytes_copy(entry->text + head->key_bytes, label->value.buf, head->value_bytes);
	own->newest = number;
	KEEP_ORDER();
	own->bytes += label_scopes_bytes_of(head);
	KEEP_ORDER();
}

int weft_store_save(struct weft_label_change *c, uint32_t n)
{
	struct weft_label_scopes *own = &c->store->scopes;
	struct saved_label head;

	if (!is_to_be_saved(c->store, n))
		return 0;
	label_scopes_head(c, n, own->number, &head);
	if (UNLIKELY(!label_scopes_has_room(c->store, &head) || is_time_to_look(own))) {
		find_left_scopes(c);
		if (!is_to_be_saved(c->store, n))
			return 0;
		head.scope = (uint32_t)own->number;
		if (!label_scopes_has_room(c->store, &head))
			return -1;
	}
	label_scopes_append(c, &head, own->number);
	own->saved |= 1u << n;
	return 0;
}

int weft_store_save_for(struct weft_label_change *c, uint32_t n, uint64_t number)
{
	struct saved_label head;
	int is_lost;

	label_scopes_head(c, n, number, &head);
	if (UNLIKELY(c->store->scopes.closing))
		close_gaps(c->store);
	is_lost = !label_scopes_has_room(c->store, &head);
	if (UNLIKELY(is_lost)) {
		head.key_bytes = 0;
		head.value_bytes = 0;
		if (!label_scopes_has_room(c->store, &head))
			return -1;
	}
	label_scopes_append(c, &head, number);
	return is_lost;
}

static void put_saved(struct weft_label_change *c, const struct saved_label *entry)
{
	const char *text = (const char *)entry->text;

	if (!entry->key_bytes) {
		weft_store_remove(c, entry->number);
		return;
	}
	weft_store_put_key(c, entry->number, text, entry->key_bytes);
	weft_store_put_value(c, entry->number, text + entry->key_bytes, entry->value_bytes);
}

/* @number is at most `newest`. */
static struct weft_saved_end end_of_older(const struct weft_label_store *store, uint64_t number)
{
	uint32_t newest = (uint32_t)store->scopes.newest, bytes = store->scopes.bytes, at = 0;
	uint32_t inner = newest - (uint32_t)number;
	const struct saved_label *entry = NULL, *next;

	for (; at < bytes; at += label_scopes_bytes_of(entry)) {
		next = saved_at(store, at);
		if (newest - next->scope <= inner)
			break;
		entry = next;
	}
	return (struct weft_saved_end){at, entry ? scope_of(store, entry) : 0};
}

struct weft_saved_end weft_store_put_back(struct weft_label_change *c, uint64_t number)
{
	struct weft_saved_end end;
	uint32_t done = 1; /* (0: of no label any more) */

	if (UNLIKELY(c->store->scopes.closing))
		close_gaps(c->store);
	end = end_of_older(c->store, number);
	for (uint32_t at = end.bytes; at < c->store->scopes.bytes;) {
		const struct saved_label *entry = saved_at(c->store, at);
		uint32_t bit = 1u << (entry->number & 31);

		at += label_scopes_bytes_of(entry);
		if (!(done & bit))
			put_saved(c, entry);
		done |= bit;
	}
	return end;
}

/* Scopes that were entered in @from also end in its copy. Both stores are laid out. */
void weft_store_copy_saved(struct weft_label_store *to, const struct weft_label_store *from)
{
	uint32_t bytes = from->scopes.bytes;

	to->scopes = from->scopes;
	if (bytes > to->saved_room) { /* (a smaller store: nothing is restored there) */
		to->scopes.bytes = bytes = 0;
		to->scopes.closing = 0;
	}
	memcpy((void *)(uintptr_t)to->saved_at, (const void *)(uintptr_t)from->saved_at, bytes);
	if (!to->places || !from->places)
		weft_scopes_forget(&to->scopes);
	else
		memcpy((void *)(uintptr_t)to->places, (const void *)(uintptr_t)from->places,
		       WEFT_SCOPE_PLACES_BYTES);
}
