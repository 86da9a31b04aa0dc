/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a coroutine is resumed, the thread's context is saved in the coroutine's words, and the
 * coroutine's context goes into the thread's slot; suspending does the reverse (coro.h). In a
 * process with two copies of the runtime the master does all of it.
 *
 * If the process dies in between, each format shows one context or the other: a switch is one write
 * of a whole context (context.c, publish.c).
 */
#include "runtime/coro/coro.h"

#include <string.h>

#include "runtime/core/copies.h"
#include "runtime/core/label_store.h"

static uint32_t era = 1; /* another one in each forked child */

/* ---- which one runs here */

static struct weft_coro *coro_at(uint64_t address)
{
	return (struct weft_coro *)(uintptr_t)address;
}

static int runs_here(const struct weft_slot *slot, const struct weft_coro *coro)
{
	struct weft_coro *c = coro_at(slot->events.coroutine_at);

	while (c && c != coro)
		c = coro_at(weft_coro_words(c)->outer);
	return c != NULL;
}

/* 1: not if the thread that ran it has ended, or is not in this process. */
static int runs_elsewhere(const struct coro_words *w)
{
	const struct weft_slot *there = (const void *)(uintptr_t)w->slot;

	return w->era == era && load_relaxed(&there->thread.generation) == w->slot_generation &&
	       load_relaxed(&there->events.coroutine_at) != 0;
}

/* The bounds are 0 while they change, so that a handler does not take them for its stack's. */
static void show_running(struct weft_slot *slot, const struct weft_coro *coro)
{
	store_release(&slot->events.coroutine_stack_high, 0);
	store_release(&slot->events.coroutine, coro ? coro->id : 0);
	store_release(&slot->events.coroutine_stack_low,
		      coro ? (uint64_t)(uintptr_t)coro->stack_low : 0);
	store_release(&slot->events.coroutine_stack_high,
		      coro ? (uint64_t)(uintptr_t)coro->stack_high : 0);
	store_release(&slot->events.coroutine_at, (uint64_t)(uintptr_t)coro);
}

/* While contexts are exchanged: no sample may have one coroutine's id and another's span. */
static void show_nobody(struct weft_slot *slot)
{
	store_release(&slot->events.coroutine, 0);
}

static void count_unordered(struct weft_slot *slot)
{
	if (slot)
		weft_slot_count(slot, WEFT_COUNTER_CORO_UNORDERED, 1);
}

/* ---- the switch */

static struct weft_label_store *store_at(uint64_t address)
{
	return (struct weft_label_store *)(uintptr_t)address;
}

static void save(const struct weft_slot *slot, struct coro_context *c)
{
	const struct weft_label_store *store = weft_store_now(slot);

	weft_context_save(slot, &c->words);
	c->store = (uint64_t)(uintptr_t)store;
	if (store == weft_store_own(slot)) {
		c->store = CORO_STORE_THREAD;
	} else if (weft_store_is_spare(slot, store)) {
		c->store = CORO_STORE_SPARE;
		c->scopes_saved = store->scopes.saved;
		c->scopes_number = store->scopes.number;
	}
}

static struct weft_label_store *spare_for(struct weft_slot *slot, const struct coro_context *c)
{
	struct weft_label_store *store = weft_store_spare(slot);

	store->scopes.saved = c->scopes_saved;
	store->scopes.number = c->scopes_number;
	weft_scopes_forget(&store->scopes);
	return store;
}

static struct weft_label_store *store_of(struct weft_slot *slot, const struct coro_context *c)
{
	if (c->store == CORO_STORE_THREAD)
		return weft_store_own(slot);
	return c->store == CORO_STORE_SPARE ? spare_for(slot, c) : store_at(c->store);
}

static void coro_carry_exchange(struct weft_slot *slot, struct coro_words *w)
{
	struct coro_context now;

	save(slot, &now);
	now.events = w->context.events;
	weft_event_state_swap(slot, &now.events);
	weft_store_switch(slot, store_of(slot, &w->context), &w->context.words);
	w->context = now;
}

static void clear_coro_context(struct coro_words *w)
{
	memset(&w->context, 0, sizeof(w->context));
	w->context.store = w->block ? w->block : CORO_STORE_SPARE;
	w->phase = CORO_SUSPENDED;
}

/* ---- a context as it is recorded */

static void look_at_words(const struct coro_context *c, struct weft_switch_context *seen)
{
	struct {
		struct weft_context_v1 context;
		struct weft_context_ext ext;
	} words = {.ext = {.seq = 0}}; /* a slot, as far as a snapshot reads it */

	memcpy(&words.context, c->words.record, sizeof(c->words.record));
	memcpy(&words.ext, c->words.extension, sizeof(c->words.extension));
	words.ext.seq = 0;
	seen->found =
		weft_context_snapshot((const struct weft_slot *)(const void *)&words, &seen->ids);
	seen->labels = NULL;
	if (c->store > CORO_STORE_SPARE)
		seen->labels = (const void *)(uintptr_t)store_at(c->store)->shown;
}

static void coro_carry_write(struct weft_coro *coro, const struct weft_slot *slot,
			     const struct weft_switch_context *seen)
{
	if (!coro->station)
		return;
	weft_coro_write_event(coro, seen);
	weft_coro_write_station(coro, slot, seen);
}

static void begin_words(struct weft_coro *coro)
{
	struct coro_words *w = weft_coro_words(coro);

	memset(w, 0, sizeof(*w));
	clear_coro_context(w);
}

static struct weft_label_store *take_block(struct weft_slot *slot)
{
	struct weft_label_store *store = weft_block_alloc();

	weft_slot_count(slot, store ? WEFT_COUNTER_CORO_BLOCKS : WEFT_COUNTER_CORO_NO_BLOCK, 1);
	return store;
}

/* The coroutine begins with its creator's labels. */
static void inherit(struct coro_words *w, struct weft_slot *slot)
{
	uint64_t set = load_relaxed(&slot->ext.label_set);
	const struct weft_custom_labels_set *from = (const void *)(uintptr_t)set;
	struct weft_label_change c = {.slot = slot};
	struct weft_label_store *store;

	if (!set || from->count <= WEFT_CUSTOM_LABELS_RESERVED)
		return;
	store = take_block(slot);
	if (!store)
		return;
	weft_store_begin_at(&c, store, 0);
	weft_store_copy_labels(&c, from);
	weft_store_set_generation(&c);
	weft_store_committed(&c);
	store->shown = (uint64_t)(uintptr_t)c.hidden;
	w->block = w->context.store = (uint64_t)(uintptr_t)store;
}

void weft_coro_own_block(struct weft_slot *slot)
{
	struct weft_label_store *spare = weft_store_now(slot), *store;
	struct coro_words *w = weft_coro_words(coro_at(slot->events.coroutine_at));

	if (!weft_store_is_spare(slot, spare))
		return;
	store = take_block(slot);
	if (!store)
		return;
	store->scopes = spare->scopes;
	w->block = (uint64_t)(uintptr_t)store;
	weft_store_switch(slot, store, NULL);
}

static void create(struct weft_coro *coro, uint64_t now_ns)
{
	const struct weft_runtime_v1 *master = weft_copies_master();
	struct weft_slot *slot;

	(void)now_ns;
	if (UNLIKELY(master != NULL)) {
		master->coro->create(coro, now_ns);
		return;
	}
	begin_words(coro);
	slot = weft_slot_mine();
	if (!slot || coro->flags & WEFT_CORO_DETACHED || !weft_guard_holds())
		return;
	weft_context_save(slot, &weft_coro_words(coro)->context.words);
	inherit(weft_coro_words(coro), slot);
}

static void coro_carry_resume(struct weft_coro *coro, uint64_t now_ns)
{
	const struct weft_runtime_v1 *master = weft_copies_master();
	struct coro_words *w = weft_coro_words(coro);
	struct weft_switch_context seen;
	struct weft_slot *slot;

	if (UNLIKELY(master != NULL)) {
		master->coro->resume(coro, now_ns);
		return;
	}
	slot = weft_thread_own_slot();
	if (UNLIKELY(w->phase != CORO_SUSPENDED)) {
		if (w->phase == CORO_RUNS &&
		    ((slot && runs_here(slot, coro)) || runs_elsewhere(w))) {
			count_unordered(slot);
			return;
		}
		if (w->phase == CORO_UNKNOWN || w->phase == CORO_GONE)
			begin_words(coro);
		else
			clear_coro_context(w);
	}
	if (UNLIKELY(!slot)) {
		weft_switch_wait(NULL, coro, now_ns, NULL);
		w->phase = CORO_SLOTLESS;
		return;
	}
	show_nobody(slot);
	coro_carry_exchange(slot, w);
	w->outer = slot->events.coroutine_at;
	w->slot = (uint64_t)(uintptr_t)slot;
	w->slot_generation = slot->thread.generation;
	w->era = era;
	w->phase = CORO_RUNS;
	show_running(slot, coro);
	weft_switch_wait(slot, coro, now_ns, NULL);
	if (coro->station) {
		weft_switch_read_context(slot, &seen);
		weft_coro_write_event(coro, &seen);
	}
}

/* Not the newest of the chain: the next newer one has its context, and gets the one it saved. */
static void leave_middle(struct weft_slot *slot, struct weft_coro *coro)
{
	struct weft_coro *above = coro_at(slot->events.coroutine_at);
	struct coro_words *w = weft_coro_words(coro), *a;
	struct coro_context own;

	while (coro_at(weft_coro_words(above)->outer) != coro)
		above = coro_at(weft_coro_words(above)->outer);
	a = weft_coro_words(above);
	own = a->context;
	a->context = w->context;
	a->outer = w->outer;
	w->context = own;
}

/* It does not run on this thread. If fork removed the thread that ran it, its context is lost. */
static void suspend_elsewhere(struct weft_slot *slot, struct weft_coro *coro, uint64_t now_ns,
			      int is_last)
{
	struct coro_words *w = weft_coro_words(coro);

	if (w->phase == CORO_SLOTLESS) {
		weft_switch_run(NULL, coro, now_ns, is_last, NULL);
		w->phase = CORO_SUSPENDED;
		return;
	}
	if (w->phase == CORO_RUNS && !runs_elsewhere(w)) {
		clear_coro_context(w);
		return;
	}
	count_unordered(slot);
}

static void suspend_running(struct weft_slot *slot, struct weft_coro *coro, uint64_t now_ns,
			    int is_last)
{
	struct coro_words *w = weft_coro_words(coro);
	int is_newest = coro_at(slot->events.coroutine_at) == coro;
	struct weft_switch_context seen;

	if (LIKELY(is_newest)) {
		weft_switch_run(slot, coro, now_ns, is_last, NULL);
		if (coro->station)
			weft_switch_read_context(slot, &seen);
	} else {
		leave_middle(slot, coro);
		look_at_words(&w->context, &seen);
		weft_switch_run(slot, coro, now_ns, is_last, &seen);
	}
	coro_carry_write(coro, slot, &seen);
	if (LIKELY(is_newest)) {
		show_nobody(slot);
		coro_carry_exchange(slot, w);
		show_running(slot, coro_at(w->outer));
	}
	w->outer = 0;
	w->slot = 0;
	w->phase = CORO_SUSPENDED;
}

static void suspend(struct weft_coro *coro, uint64_t now_ns)
{
	const struct weft_runtime_v1 *master = weft_copies_master();
	struct weft_slot *slot;

	if (UNLIKELY(master != NULL)) {
		master->coro->suspend(coro, now_ns);
		return;
	}
	slot = weft_thread_own_slot();
	if (LIKELY(slot && runs_here(slot, coro)))
		suspend_running(slot, coro, now_ns, 0);
	else
		suspend_elsewhere(slot, coro, now_ns, 0);
}

static __attribute__((noinline)) void coro_carry_write_gone(struct weft_slot *slot,
							    struct weft_coro *coro, uint64_t now_ns)
{
	struct weft_switch_context seen;

	look_at_words(&weft_coro_words(coro)->context, &seen);
	weft_switch_wait(slot, coro, now_ns, &seen);
}

static void coro_carry_destroy(struct weft_coro *coro, uint64_t now_ns)
{
	const struct weft_runtime_v1 *master = weft_copies_master();
	struct coro_words *w = weft_coro_words(coro);
	struct weft_slot *slot;

	if (UNLIKELY(master != NULL)) {
		master->coro->destroy(coro, now_ns);
		return;
	}
	slot = weft_thread_own_slot();
	if (w->phase == CORO_SUSPENDED && !(coro->flags & WEFT_CORO_ENDS) && weft_switch_is_on())
		coro_carry_write_gone(slot, coro, now_ns);
	if (w->phase == CORO_RUNS) {
		if (slot && runs_here(slot, coro))
			suspend_running(slot, coro, now_ns, 1);
		else
			suspend_elsewhere(slot, coro, now_ns, 1);
	}
	/* (labels that another thread still shows are never freed) */
	if (w->block && w->phase != CORO_RUNS)
		weft_block_free(store_at(w->block));
	w->block = 0;
	w->phase = CORO_GONE;
}

const struct weft_coro_carry_v1 weft_coro_carry_own = {
	.size = sizeof(weft_coro_carry_own),
	.version = WEFT_CORO_CARRY_VERSION,
	.create = create,
	.resume = coro_carry_resume,
	.suspend = suspend,
	.destroy = coro_carry_destroy,
};

extern const struct weft_coro_carry_v1 weft_coro_carry_v1
	__attribute__((alias("weft_coro_carry_own"), visibility("default")));

/* ---- fork */

void weft_coro_copy(struct weft_slot *to, const struct weft_slot *from)
{
	to->events.coroutine = from->events.coroutine;
	to->events.coroutine_stack_low = from->events.coroutine_stack_low;
	to->events.coroutine_stack_high = from->events.coroutine_stack_high;
	to->events.coroutine_at = from->events.coroutine_at;
	weft_event_state_copy(to, from);
}

void weft_coro_after_fork(void)
{
	era++;
}
