/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which formats are on, who may write them now, and the write itself (context.h).
 *
 * One flip: seq odd; the v1 record, if it changes too; ext.label_set and the thread's
 * custom_labels_current_set; the OpenTelemetry record; seq even. While only formats are being
 * written, formats_seq equals seq: a handler of the thread then finds its context whole.
 */
#include "runtime/context/context.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/context/labels.h"
#include "runtime/context/prepared.h"
#include "runtime/core/copies.h"
#include "runtime/core/label_store.h"
#include "runtime/core/sys.h"
#include "runtime/otel/otel.h"

#define FORMATS_ALL (WEFT_FORMAT_V1 | WEFT_FORMAT_LABELS | WEFT_FORMAT_OTEL)
#define NEAR_BYTES (UINT64_C(8) << 20)
#define SIGNAL_FRAME_BYTES 600              /* the smallest that a kernel pushes */
#define DOUBT_NS UINT64_C(1000000000)       /* longer than almost any handler runs */
#define LONG_DOUBT_NS UINT64_C(60000000000) /* .. or a debugger stops it */
#define FRAME ((uint64_t)(uintptr_t)__builtin_frame_address(0))

static uint32_t formats = WEFT_FORMAT_V1 | WEFT_FORMAT_LABELS;
uint32_t weft_publish_state;
uint64_t weft_attach_key = WEFT_ATTACH_NEVER;
static uint32_t select_lock;

static int publish_is_on(enum weft_format format)
{
	return (load_relaxed(&formats) & format) != 0;
}

/* Does somebody outside read labels 0 and 1? */
static int labels_are_read(void)
{
	return (load_relaxed(&weft_publish_state) & WEFT_SHOWS_LABELS) != 0;
}

void weft_publish_show(struct weft_slot *slot)
{
	uint64_t set = publish_is_on(WEFT_FORMAT_LABELS) ? load_relaxed(&slot->ext.label_set) : 0;
	struct weft_meet *m = &weft_label_owner(slot)->meet;

	if (UNLIKELY(weft_meet_store(m, (struct weft_custom_labels_set *)(uintptr_t)set) == 2))
		weft_slot_count(slot, WEFT_COUNTER_LABELS_FOREIGN, 1);
}

/* The pointer is NULL: the visible set's ids may be old. A flip shows new ones. */
int weft_publish_is_hidden(const struct weft_slot *slot)
{
	const struct weft_label_owner *own = (const void *)slot->label_state.owner;
	struct weft_custom_labels_set **cell = weft_meet_cell(&own->meet);

	return cell && !load_relaxed(cell);
}

void weft_publish_keep(struct weft_slot *slot)
{
	if (LIKELY(!weft_publish_is_hidden(slot)))
		weft_publish_show(slot);
}

const struct weft_custom_labels_set *weft_labels_visible(const struct weft_slot *slot)
{
	const struct weft_label_owner *own = (const void *)slot->label_state.owner;
	const struct weft_custom_labels_set *foreign = weft_meet_foreign(&own->meet);

	return foreign ? foreign : (const void *)(uintptr_t)load_relaxed(&slot->ext.label_set);
}

/* ---- whose turn it is */

/*
 * Was the write in progress left by a longjmp? The stack grows down: a write that was interrupted
 * has a higher address than the handler, on the same stack. Not every thread's stack bounds are
 * known: a handler that seems to be above may then be on an alternate stack, and must not take over
 * a write that goes on below it.
 */
static int is_abandoned(const struct weft_slot *slot, struct weft_label_owner *own, uint64_t frame)
{
	int is_higher = frame + SIGNAL_FRAME_BYTES > own->busy && frame < own->busy + NEAR_BYTES;
	int is_known = slot->thread.stack_high != 0;
	uint64_t now_ns;

	if (is_higher && weft_stack_has_both(slot, frame, own->busy))
		return 1;
	now_ns = clock_own_ns();
	if (!own->busy_since_ns)
		own->busy_since_ns = now_ns;
	return now_ns - own->busy_since_ns > (is_higher && !is_known ? DOUBT_NS : LONG_DOUBT_NS);
}

int weft_write_enter(struct weft_slot *slot, uint64_t frame, int is_label)
{
	struct weft_label_owner *own = weft_label_owner(slot);

	if (UNLIKELY(load_relaxed(&own->busy) != 0)) {
		if (!is_label && !is_abandoned(slot, own, frame))
			return 0;
		weft_slot_count(slot, WEFT_COUNTER_PUBLISH_HEALED, 1);
	}
	own->busy_since_ns = 0;
	KEEP_ORDER();
	store_release(&own->busy, frame);
	KEEP_ORDER();
	return 1;
}

int weft_write_is_open(const struct weft_slot *slot)
{
	const struct weft_label_owner *own = (const void *)slot->label_state.owner;

	return load_relaxed(&own->busy) != 0;
}

/* A handler's mark that the interrupted write came too late to see is seen here. */
void weft_write_leave(struct weft_slot *slot)
{
	struct weft_label_owner *own = weft_label_owner(slot);

	KEEP_ORDER();
	store_release(&own->busy, 0);
	KEEP_ORDER();
	if (UNLIKELY(load_relaxed(&own->deferred) != 0))
		weft_publish(slot, load_relaxed(&own->deferred));
}

/* ---- the write */

/* If not, this is a handler, and the v1 write that it interrupted publishes afterwards. */
static int v1_is_whole(const struct weft_slot *slot)
{
	const struct weft_context_v1 *v1 = &slot->context;

	return load_relaxed(&v1->checksum) ||
	       !(load_relaxed(&v1->span_id) | load_relaxed(&v1->root_span_id));
}

/*
 * The ids that all formats are to show, both of one write. If this handler interrupted a v1 write:
 * the ids shown so far, because the interrupted write publishes afterwards.
 */
static struct weft_label_ids ids_to_show(const struct weft_label_change *c)
{
	const struct weft_slot *slot = c->slot;
	struct weft_label_ids ids;

	do {
		store_release(&c->own->deferred, 0);
		KEEP_ORDER();
		ids.span_id = load_relaxed(&slot->context.span_id);
		ids.root_span_id = load_relaxed(&slot->context.root_span_id);
		KEEP_ORDER();
	} while (UNLIKELY(load_relaxed(&c->own->deferred) != 0));
	if (LIKELY(v1_is_whole(slot)))
		return ids;
	return c->store->ids[c->shown && c->shown != weft_store_set(c->store, 0)];
}

static void ids_into_set(struct weft_label_change *c, const struct weft_context *context,
			 const struct weft_scope *scope)
{
	struct weft_label_ids ids = {0, 0};

	store_release(&c->own->deferred, 0);
	KEEP_ORDER();
	if (labels_are_read()) {
		if (context)
			ids = (struct weft_label_ids){context->span_id, context->root_span_id};
		else if (scope)
			ids = (struct weft_label_ids){scope->record[0], scope->record[1]};
		else
			ids = ids_to_show(c);
	}
	weft_store_put_ids(c, ids);
}

void weft_write_otel(struct weft_slot *slot, unsigned int changed)
{
	struct weft_label_owner *own = weft_label_owner(slot);

	if (publish_is_on(WEFT_FORMAT_OTEL)) {
		if (UNLIKELY(!v1_is_whole(slot)))
			return;
		own->shows_otel = 1;
		weft_otel_sync(slot, changed);
	} else if (UNLIKELY(own->shows_otel)) {
		weft_otel_withdraw(slot);
		own->shows_otel = 0;
	}
}

static unsigned int what_changed(const struct weft_label_change *c, int has_ids)
{
	return (c->keys | c->values ? WEFT_CHANGED_LABELS : 0u) | (has_ids ? WEFT_CHANGED_IDS : 0u);
}

int weft_write_finish(struct weft_label_change *c, const struct weft_context *context,
		      const struct weft_scope *scope)
{
	struct weft_slot *slot = c->slot;
	unsigned int changed = what_changed(c, context || scope);

	weft_meet_resolve(&c->own->meet);
	ids_into_set(c, context, scope);
	KEEP_ORDER();
	if (UNLIKELY(load_relaxed(&c->own->busy) != c->frame))
		return -1;
	if (context)
		weft_context_put(slot, context);
	else if (scope)
		weft_context_put_back(slot, scope);
	else
		weft_formats_begin(slot);
	weft_store_commit(c);
	weft_publish_show(slot);
	if (context || scope)
		store_release(&slot->ext.formats_seq, load_relaxed(&slot->ext.seq));
	weft_write_otel(slot, changed);
	weft_formats_end(slot);
	weft_write_leave(slot);
	return 0;
}

static void show_formats(struct weft_slot *slot, unsigned int changed)
{
	weft_publish_show(slot);
	weft_write_otel(slot, changed);
	weft_formats_end(slot);
	store_release(&weft_attachments(slot)->depth, 0); /* model: UNNAME */
	weft_write_leave(slot);
}

int weft_write_show(struct weft_label_change *c, unsigned int changed)
{
	ids_into_set(c, NULL, NULL);
	KEEP_ORDER();
	if (UNLIKELY(load_relaxed(&c->own->busy) != c->frame))
		return -1;
	weft_formats_begin(c->slot);
	weft_store_commit(c);
	show_formats(c->slot, changed);
	return 0;
}

/* The labels are unchanged: only what depends on the ids. */
static void publish_ids(struct weft_slot *slot, uint64_t frame, unsigned int changed)
{
	struct weft_label_change c;

	if (labels_are_read()) {
		weft_publish_keep(slot);
		weft_store_begin(&c, slot);
		c.frame = frame;
		weft_store_sync(&c, 0);
		(void)weft_write_show(&c, changed); /* whoever takes over publishes */
		return;
	}
	store_release(&weft_label_owner(slot)->deferred, 0);
	KEEP_ORDER();
	weft_formats_begin(slot);
	show_formats(slot, changed);
}

__attribute__((noinline)) void weft_publish(struct weft_slot *slot, unsigned int changed)
{
	const struct weft_runtime_v1 *master = weft_copies_master();

	if (UNLIKELY(master != NULL)) {
		master->publish(slot, changed);
		return;
	}
	if (LIKELY(changed == WEFT_CHANGED_IDS) && LIKELY(weft_publish_quickly(slot, FRAME)))
		return;
	if (UNLIKELY(weft_attachments(slot)->depth != 0)) {
		if (!v1_is_whole(slot) && !weft_write_is_open(slot))
			return; /* the write that this handler interrupted publishes afterwards */
		weft_attachments_adopt(slot, 0);
	}
	if (!weft_write_enter(slot, FRAME, 0)) {
		struct weft_label_owner *own = weft_label_owner(slot);

		store_release(&own->deferred, load_relaxed(&own->deferred) | changed);
		weft_slot_count(slot, WEFT_COUNTER_PUBLISH_DEFERRED, 1);
		return;
	}
	publish_ids(slot, FRAME, changed);
}

/* Pointers first: what they lead to will belong to the slot's next owner. */
void weft_publish_withdraw(struct weft_slot *slot)
{
	weft_meet_store(&weft_label_owner(slot)->meet, NULL);
	if (weft_label_owner(slot)->shows_otel)
		weft_otel_withdraw(slot);
	weft_label_owner(slot)->shows_otel = 0;
	/* (a coroutine's store lives on) */
	weft_store_now(slot)->shown = weft_attachments(slot)->depth
					      ? weft_attachments(slot)->shown
					      : load_relaxed(&slot->ext.label_set);
}

void weft_publish_deferred(void)
{
	if (publish_is_on(WEFT_FORMAT_OTEL))
		weft_otel_look_again();
}

/* ---- for the whole process */

void weft_publish_header(void)
{
	struct weft_session_header *h = weft_rt.header;

	if (!weft_rt_is_ready())
		return;
	store_release(&h->formats, load_relaxed(&formats));
	store_release(&h->labels_max, weft_labels_max);
	store_release(&h->mapped_at, (uint64_t)(uintptr_t)weft_rt.base);
	weft_otel_publish_header();
}

/* The guard's bit stays set: threads withdraw a format turned off at their next write. */
static void update_state(void)
{
	int reads = publish_is_on(WEFT_FORMAT_LABELS) && load_acquire(&weft_meet_library) != NULL;

	store_release(&weft_publish_state,
		      (reads ? WEFT_SHOWS_LABELS : 0u) |
			      (publish_is_on(WEFT_FORMAT_OTEL) ? WEFT_SHOWS_OTEL : 0u));
	store_release(&weft_attach_key, ((load_relaxed(&weft_attach_key) >> 32) + 1) << 32 |
						WEFT_ATTACH_LIVES |
						load_relaxed(&weft_publish_state));
	if (load_relaxed(&weft_publish_state))
		weft_guard_publishes(1);
}

/* Publishes the calling thread's context in formats that have just been turned on. */
static void publish_mine(void)
{
	struct weft_slot *slot = weft_slot_mine();

	if (!slot || !weft_guard_holds())
		return;
	weft_meet_resolve(&weft_label_owner(slot)->meet);
	weft_publish(slot, WEFT_CHANGED_ALL);
}

/* A thread that has written nothing yet has no set. */
void weft_publish_joined(void)
{
	struct weft_slot *slot = weft_slot_mine();

	if (!weft_rt_is_ready())
		return;
	update_state();
	if (slot && (slot->ext.label_set || slot->context.span_id | slot->context.root_span_id))
		publish_mine();
}

static void set_formats(unsigned int wanted)
{
	unsigned int now = load_relaxed(&formats);

	if (wanted & ~now & WEFT_FORMAT_OTEL && weft_otel_begin())
		wanted &= ~(unsigned int)WEFT_FORMAT_OTEL;
	store_release(&formats, wanted);
	if (now & ~wanted & WEFT_FORMAT_OTEL)
		weft_otel_stop();
	weft_publish_header();
	update_state();
}

WEFT_API int weft_publish_select(unsigned int wanted)
{
	const struct weft_runtime_v1 *master = weft_copies_master();

	if (wanted & ~(unsigned int)FORMATS_ALL)
		return -EINVAL;
	if (master)
		return master->publish_select(wanted);
	weft_fork_check();
	if (load_acquire(&weft_rt.state) == WEFT_RT_NONE)
		return -ENOTCONN;
	while (__atomic_exchange_n(&select_lock, 1, __ATOMIC_ACQUIRE))
		sys_call0(SYS_sched_yield);
	set_formats(wanted);
	store_release(&select_lock, 0);
	publish_mine();
	return (int)load_relaxed(&formats);
}

WEFT_API unsigned int weft_publish_selected(void)
{
	const struct weft_runtime_v1 *master = weft_copies_master();

	return master ? master->publish_selected() : load_relaxed(&formats);
}

WEFT_API int weft_label_key(const char *key)
{
	const struct weft_runtime_v1 *master = weft_copies_master();
	size_t bytes;
	int index;

	if (master)
		return master->label_key(key);
	if (!key || !*key || !publish_is_on(WEFT_FORMAT_OTEL))
		return -1;
	weft_fork_check();
	bytes = strnlen(key, WEFT_CUSTOM_LABELS_KEY_BYTES);
	index = weft_otel_key(key, bytes);
	weft_publish_deferred();
	/* another library's map may have been read again */
	return index >= 0 ? index : weft_otel_key(key, bytes);
}

/* ---- beginning, and forked children */

static unsigned int format_named(const char *name, size_t bytes)
{
	static const char *const names[] = {"v1", "labels", "otel"};

	for (unsigned int i = 0; i < 3; i++)
		if (strlen(names[i]) == bytes && !memcmp(names[i], name, bytes))
			return 1u << i;
	return 0;
}

/* Separated by commas or blanks. Without any known word all stays, but "none" or "" is all off. */
static unsigned int formats_in(const char *text)
{
	unsigned int found = 0;
	int says_none = !*text;

	while (*text) {
		size_t bytes = strcspn(text, ", ");

		found |= format_named(text, bytes);
		says_none |= bytes == 4 && !memcmp(text, "none", 4);
		text += bytes + (text[bytes] != '\0');
	}
	return found || says_none ? found : load_relaxed(&formats);
}

static uint32_t labels_in(const char *text)
{
	uint32_t value = 0;

	for (; text && *text >= '0' && *text <= '9'; text++)
		if (value < 1000)
			value = value * 10 + (uint32_t)(*text - '0');
	if (!value || *text)
		return WEFT_CUSTOM_LABELS_DEFAULT;
	if (value < WEFT_CUSTOM_LABELS_LEAST)
		return WEFT_CUSTOM_LABELS_LEAST;
	return value < WEFT_CUSTOM_LABELS_MOST ? value : WEFT_CUSTOM_LABELS_MOST;
}

/* Set B starts a cache line of its own, with its generation before it. */
static uint32_t twin_place(void)
{
	return ((uint32_t)WEFT_CUSTOM_LABELS_BLOCK_BYTES(weft_labels_max) + 8 + 63) & ~63u;
}

void weft_publish_open(void)
{
	const char *wanted = secure_getenv("WEFT_PUBLISH");
	unsigned int at_first = wanted ? formats_in(wanted) : load_relaxed(&formats);

	weft_labels_max = labels_in(secure_getenv("WEFT_LABELS_MAX"));
	weft_labels_twin = twin_place();
	formats &= ~(uint32_t)WEFT_FORMAT_OTEL;
	set_formats(at_first);
}

void weft_publish_after_fork(void)
{
	struct weft_slot *mine = weft_slot_mine();

	store_release(&select_lock, 0);
	/* also if the format is off: resource attributes may have been set */
	weft_otel_after_fork();
	if (mine)
		weft_meet_store(&weft_label_owner(mine)->meet, NULL);
	if (mine && load_relaxed(weft_fork_guard) & WEFT_GUARD_PUBLISHES)
		weft_publish(mine, WEFT_CHANGED_ALL);
}
