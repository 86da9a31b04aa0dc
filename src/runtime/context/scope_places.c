/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which scopes of a store a longjmp may have left. A scope has been left if
 *
 *   another one was entered later in its place (and neither has ended), or
 *   it lies below the caller, both on one stack whose bounds are known.
 *
 * `newest` holds the places of the newest scopes, by number. A look writes all scopes that are
 * still open into the list that is not in use, makes it the one in use, and then raises `looked`.
 * So each number up to `looked` is in the list or was left, and later ones are in `newest`; nothing
 * is known of numbers up to `lost`, because there were too many. Scopes that are not known to be
 * left, and scopes that may move, count as open.
 *
 * Entering a scope looks when `newest` is full, and checks only for reused places: that is right in
 * handlers, too, on any stack. Changing a label (which no handler does) checks for both. A handler
 * that interrupts a look does not look.
 */
#include "runtime/core/label_store.h"

struct scope {
	uint64_t number, place; /* place 0: not known */
};

struct list {
	uint64_t count;
	struct scope scopes[WEFT_SCOPES_LISTED];
};

struct places {
	uint64_t newest[WEFT_SCOPES_NEWEST];
	struct list lists[2];
};

_Static_assert(sizeof(struct places) == WEFT_SCOPE_PLACES_BYTES, "room");

static struct places *places_of(const struct weft_label_store *store)
{
	return (struct places *)(uintptr_t)store->places;
}

static struct list *scope_places_list_of(const struct weft_label_store *store)
{
	return &places_of(store)->lists[store->scopes.list];
}

static uint64_t place_of_newest(const struct weft_label_store *store, uint64_t number)
{
	return weft_scope_place_in(*weft_scope_place(store, number), number);
}

static int is_same_place(uint64_t one, uint64_t other)
{
	return other &&
	       other - one + sizeof(struct weft_scope) - 1 < 2 * sizeof(struct weft_scope) - 1;
}

static int is_replaced(const struct weft_label_store *store, struct scope s)
{
	const struct weft_label_scopes *own = &store->scopes;
	const struct list *list = scope_places_list_of(store);

	for (uint64_t n = own->number; n > own->looked && n > s.number; n--)
		if (is_same_place(s.place, place_of_newest(store, n)))
			return 1;
	for (uint64_t i = list->count; i-- > 0 && list->scopes[i].number > s.number;)
		if (list->scopes[i].number <= own->looked &&
		    is_same_place(s.place, list->scopes[i].place))
			return 1;
	return 0;
}

/* @c NULL: the caller's stack is not known. */
static int is_left(const struct weft_label_store *store, struct scope s,
		   const struct weft_label_change *c)
{
	if (!s.place)
		return 0;
	return (c && s.place < c->frame && weft_stack_has_both(c->slot, s.place, c->frame)) ||
	       is_replaced(store, s);
}

/* Returns @lost, or the number of the scope that had to be removed. */
static uint64_t scope_places_add(struct list *to, struct scope s, uint64_t lost)
{
	if (to->count == WEFT_SCOPES_LISTED) {
		lost = to->scopes[0].number;
		to->count--;
		for (uint64_t i = 0; i < to->count; i++)
			to->scopes[i] = to->scopes[i + 1];
	}
	to->scopes[to->count++] = s;
	return lost;
}

static uint64_t scope_places_fill(struct list *to, const struct weft_label_store *store,
				  const struct weft_label_change *c)
{
	const struct weft_label_scopes *own = &store->scopes;
	const struct list *from = scope_places_list_of(store);
	uint64_t first = own->looked + 1, lost = own->lost;

	to->count = 0;
	if (own->number >= first + WEFT_SCOPES_NEWEST) {
		lost = own->number - WEFT_SCOPES_NEWEST;
		first = lost + 1;
	}
	for (uint64_t i = 0; i < from->count && from->scopes[i].number <= own->looked; i++)
		if (from->scopes[i].number > lost && !is_left(store, from->scopes[i], c))
			lost = scope_places_add(to, from->scopes[i], lost);
	for (uint64_t n = first; n <= own->number; n++) {
		struct scope s = {n, place_of_newest(store, n)};

		if (n > lost && !is_left(store, s, c))
			lost = scope_places_add(to, s, lost);
	}
	return lost;
}

/* As where there is no memory for places. */
void weft_scopes_forget(struct weft_label_scopes *own)
{
	own->lost = own->number;
	KEEP_ORDER();
	own->looked = own->number;
}

void weft_scopes_scan(struct weft_label_store *store, const struct weft_label_change *c)
{
	struct weft_label_scopes *own = &store->scopes;
	uint16_t other = !own->list;

	if (!store->places) {
		weft_scopes_forget(own);
		return;
	}
	own->looking = 1;
	KEEP_ORDER();
	own->lost = scope_places_fill(&places_of(store)->lists[other], store, c);
	KEEP_ORDER();
	own->list = other;
	KEEP_ORDER();
	own->looked = own->number;
	KEEP_ORDER();
	own->looking = 0;
}

uint64_t weft_scopes_not_left(const struct weft_label_store *store, uint64_t number)
{
	const struct weft_label_scopes *own = &store->scopes;
	const struct list *list;

	if (number <= own->lost)
		return number;
	list = scope_places_list_of(store);
	for (uint64_t i = list->count; i-- > 0;)
		if (list->scopes[i].number <= number)
			return list->scopes[i].number;
	return own->lost;
}

__attribute__((noinline, cold)) void weft_scopes_compact(struct weft_label_store *store)
{
	if (!store->scopes.looking)
		weft_scopes_scan(store, NULL);
}
