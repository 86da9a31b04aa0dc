/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The larger half of weft/context.h, which is not inline: the first write of a thread, whole
 * contexts, scopes.
 *
 * Writer's protocol for a whole context: seq becomes odd, the v1 record is written by its own
 * protocol, then trace id, flags and tags, then seq becomes even again. Every store is a release
 * store, which orders it after the one before: no fence, no full barrier. Readers:
 * base/context_snapshot.h.
 */
#include "runtime/context/labels.h"

#include <string.h>

#include "base/context_snapshot.h"
#include "runtime/context/context.h"
#include "runtime/core/copies.h"
#include "runtime/core/label_store.h"

#define RECORD_WORDS 8
#define EXTENSION_WORDS 5 /* seq, v1_checksum, trace id (2), flags + label generation (unused) */
#define CHECKSUM_WORD 2

_Static_assert(offsetof(struct weft_context_ext, label_set) ==
		       offsetof(struct weft_context_ext, seq) + EXTENSION_WORDS * 8,
	       "a scope saves the extension up to the labels");

/* without this reference a linker would leave the constructor in the archive */
__attribute__((used)) static const char *const begins = &weft_rt_begins;

struct weft_slot *weft_thread_claim(void)
{
	const struct weft_runtime_v1 *master = weft_copies_master();

	return master ? master->claim() : weft_context_slow();
}

/* A write by a thread without a slot, or in a child that does not own the slot that it has. */
struct weft_slot *weft_context_slow(void)
{
	struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_MAIN};
	struct weft_slot *slot = weft_slot_mine();

	if (!weft_guard_holds())
		return weft_fork_noticed();
	if (slot) {
		weft_copies_show(slot);
		return slot;
	}
	if (weft_rt_is_unbegun_child())
		weft_rt.begin_child();
	if (!weft_rt_is_ready())
		return NULL;
	slot = weft_slot_claim(&birth);
	if (!slot) {
		weft_rt_count(WEFT_COUNTER_CONTEXT_SLOTLESS, 1);
		return NULL;
	}
	weft_copies_show(slot);
	weft_key_arm();
	return slot;
}

/*
 * Makes seq odd, and different from that of a write which this one interrupts (in a handler of the
 * program) or which was abandoned by a longjmp.
 */
static uint64_t write_begin(struct weft_slot *slot)
{
	uint64_t seq = (load_relaxed(&slot->ext.seq) + 1) | 1;

	store_release(&slot->ext.seq, seq);
	return seq;
}

static void write_trace(struct weft_slot *slot, const uint8_t *id, uint32_t flags)
{
	uint64_t *to = (uint64_t *)(void *)slot->ext.trace_id;
	uint64_t words[2];

	memcpy(words, id, sizeof(words));
	store_release(&to[0], words[0]);
	store_release(&to[1], words[1]);
	store_release(&slot->ext.trace_flags, flags);
}

static void write_tags(struct weft_slot *slot, const uint32_t *tags)
{
	for (int i = 0; i < WEFT_TAGS; i++)
		if (load_relaxed(&slot->context.tags[i]) != tags[i])
			store_release(&slot->context.tags[i], tags[i]);
}

/* Compares two at a time; most writes change no tag. */
static int tags_differ(const struct weft_slot *slot, const uint32_t *tags)
{
	const uint64_t *now = (const uint64_t *)(const void *)slot->context.tags;
	uint64_t difference = 0, pair;

	for (int i = 0; i < WEFT_TAGS / 2; i++) {
		memcpy(&pair, tags + 2 * (size_t)i, sizeof(pair));
		difference |= load_relaxed(&now[i]) ^ pair;
	}
	return difference != 0;
}

static inline uint64_t write_once(struct weft_slot *slot, const struct weft_context *c,
				  uint64_t checksum)
{
	uint64_t seq = write_begin(slot);

	store_release(&slot->context.checksum, 0);
	store_release(&slot->context.span_id, c->span_id);
	store_release(&slot->context.root_span_id, c->root_span_id);
	write_trace(slot, c->trace_id, c->trace_flags);
	if (UNLIKELY(tags_differ(slot, c->tags)))
		write_tags(slot, c->tags);
	store_release(&slot->ext.v1_checksum, checksum);
	store_release(&slot->context.checksum, checksum);
	return seq;
}

/* Did a handler write meanwhile, without restoring what it found? */
static int was_disturbed(const struct weft_slot *slot, uint64_t seq, uint64_t span_id,
			 uint64_t root_span_id)
{
	return ((load_relaxed(&slot->ext.seq) ^ seq) |
		(load_relaxed(&slot->context.span_id) ^ span_id) |
		(load_relaxed(&slot->context.root_span_id) ^ root_span_id)) != 0;
}

/* Leaves seq odd, and returns it. */
static uint64_t context_write_all(struct weft_slot *slot, const struct weft_context *c,
				  uint64_t checksum)
{
	uint64_t seq = 0;

	for (int tries = 0; tries < 3; tries++) {
		seq = write_once(slot, c, checksum);
		if (LIKELY(!was_disturbed(slot, seq, c->span_id, c->root_span_id)))
			break;
	}
	return seq;
}

static void context_publish(struct weft_slot *slot)
{
	if (UNLIKELY(*weft_fork_guard & WEFT_GUARD_PUBLISHES))
		weft_publish(slot, WEFT_CHANGED_IDS);
}

static void write_and_publish(struct weft_slot *slot, const struct weft_context *c)
{
	uint64_t seq =
		context_write_all(slot, c, weft_context_v1_checksum(c->span_id, c->root_span_id));

	store_release(&slot->ext.seq, seq + 1);
	context_publish(slot);
}

void weft_context_put(struct weft_slot *slot, const struct weft_context *c)
{
	context_write_all(slot, c, weft_context_v1_checksum(c->span_id, c->root_span_id));
}

WEFT_API void weft_context_write(const struct weft_context *context)
{
	struct weft_slot *slot = weft_thread_own_slot();

	if (slot)
		write_and_publish(slot, context);
}

/* A handler that wrote meanwhile has left its own ids, or restored a half-written pair. */
static void context_write_ids(struct weft_slot *slot, uint64_t span_id, uint64_t root_span_id)
{
	for (int tries = 0; tries < 3; tries++) {
		store_release(&slot->context.checksum, 0);
		store_release(&slot->context.span_id, span_id);
		store_release(&slot->context.root_span_id, root_span_id);
		store_release(&slot->context.checksum,
			      weft_context_v1_checksum(span_id, root_span_id));
		if (LIKELY(((load_relaxed(&slot->context.span_id) ^ span_id) |
			    (load_relaxed(&slot->context.root_span_id) ^ root_span_id)) == 0))
			break;
	}
}

WEFT_API struct weft_ids weft_context_set_all(uint64_t span_id, uint64_t root_span_id)
{
	struct weft_slot *slot = weft_thread_own_slot();
	struct weft_ids old = {0, 0};

	if (!slot)
		return old;
	old.span_id = load_relaxed(&slot->context.span_id);
	old.root_span_id = load_relaxed(&slot->context.root_span_id);
	context_write_ids(slot, span_id, root_span_id);
	context_publish(slot);
	return old;
}

WEFT_API void weft_context_set_trace_all(uint64_t span_id, uint64_t root_span_id,
					 const uint8_t *trace_id, uint32_t trace_flags)
{
	struct weft_slot *slot = weft_thread_own_slot();
	struct weft_context c = {
		.span_id = span_id, .root_span_id = root_span_id, .trace_flags = trace_flags};

	if (!slot)
		return;
	if (LIKELY(weft_context_store_trace(slot, span_id, root_span_id, trace_id, trace_flags))) {
		context_publish(slot);
		return;
	}
	memcpy(c.trace_id, trace_id, sizeof(c.trace_id));
	memcpy(c.tags, slot->context.tags, sizeof(c.tags));
	write_and_publish(slot, &c);
}

/* One word, which goes with the ids that the thread has: a reader sees it before or after. */
WEFT_API void weft_context_set_trace_flags(uint32_t trace_flags)
{
	struct weft_slot *slot = weft_thread_own_slot();

	if (!slot)
		return;
	store_release(&slot->ext.trace_flags, trace_flags);
	if (load_relaxed(weft_fork_guard) & WEFT_GUARD_PUBLISHES)
		weft_publish(slot, WEFT_CHANGED_FLAGS);
}

WEFT_API void weft_context_clear(void)
{
	static const struct weft_context nothing;
	struct weft_slot *slot = weft_thread_own_slot();

	if (!slot)
		return;
	store_release(&slot->ext.seq, context_write_all(slot, &nothing, 0) + 1);
	context_publish(slot);
}

WEFT_API int weft_context_read(struct weft_context *context)
{
	struct weft_slot *slot = weft_thread_own_slot();
	struct weft_context_snapshot now;
	enum weft_sample_context found;

	memset(context, 0, sizeof(*context));
	if (!slot)
		return WEFT_CONTEXT_SLOTLESS;
	found = weft_context_snapshot(slot, &now);
	context->span_id = now.span_id;
	context->root_span_id = now.root_span_id;
	memcpy(context->trace_id, now.trace_id, sizeof(context->trace_id));
	context->trace_flags = now.trace_flags;
	memcpy(context->tags, now.tags, sizeof(context->tags));
	return (int)found;
}

static void save_words(uint64_t *to, const void *from, int words)
{
	const uint64_t *word = from;

#pragma GCC unroll 8
	for (int i = 0; i < words; i++)
		to[i] = load_relaxed(&word[i]);
}

static inline __attribute__((always_inline)) void
scope_enter(struct weft_scope *scope, const struct weft_context *context, uint64_t at)
{
	struct weft_slot *slot = weft_thread_own_slot();

	scope->slot = slot;
	scope->done = 0;
	if (!slot)
		return;
	save_words(scope->record, &slot->context, RECORD_WORDS);
	save_words(scope->extension, &slot->ext, EXTENSION_WORDS);
	weft_scopes_enter(weft_store_now(slot), scope, at);
	if (context)
		write_and_publish(slot, context);
}

WEFT_API void weft_scope_enter(struct weft_scope *scope, const struct weft_context *context)
{
	scope_enter(scope, context, 0);
}

WEFT_API void weft_scope_enter_here(struct weft_scope *scope, const struct weft_context *context)
{
	scope_enter(scope, context, (uint64_t)(uintptr_t)scope);
}

static inline uint64_t restore_once(struct weft_slot *slot, const uint64_t *record,
				    const uint64_t *extension)
{
	uint64_t *v1 = (uint64_t *)(void *)&slot->context;
	uint64_t *ext = (uint64_t *)(void *)&slot->ext;
	uint64_t seq = write_begin(slot);

	store_release(&v1[CHECKSUM_WORD], 0);
	for (int i = 0; i < RECORD_WORDS; i++)
		if (i != CHECKSUM_WORD && load_relaxed(&v1[i]) != record[i])
			store_release(&v1[i], record[i]);
	for (int i = 1; i < EXTENSION_WORDS - 1; i++)
		store_release(&ext[i], extension[i]);
	store_release(&slot->ext.trace_flags, (uint32_t)extension[EXTENSION_WORDS - 1]);
	store_release(&v1[CHECKSUM_WORD], record[CHECKSUM_WORD]);
	return seq;
}

/*
 * Leaves seq odd, and returns it. Done again if a handler wrote meanwhile without restoring what it
 * found.
 */
static uint64_t context_restore(struct weft_slot *slot, const uint64_t *record,
				const uint64_t *extension)
{
	uint64_t seq = 0;

	for (int tries = 0; tries < 3; tries++) {
		seq = restore_once(slot, record, extension);
		if (LIKELY(!was_disturbed(slot, seq, record[0], record[1])))
			break;
	}
	return seq;
}

void weft_context_put_back(struct weft_slot *slot, const struct weft_scope *scope)
{
	context_restore(slot, scope->record, scope->extension);
}

void weft_context_save(const struct weft_slot *slot, struct weft_context_words *to)
{
	save_words(to->record, &slot->context, RECORD_WORDS);
	save_words(to->extension, &slot->ext, EXTENSION_WORDS);
}

void weft_context_load(struct weft_slot *slot, const struct weft_context_words *from)
{
	context_restore(slot, from->record, from->extension);
}

/* A scope that was entered in the middle of a write, which will go on, restores that very seq. */
static void restore_scope(struct weft_slot *slot, const struct weft_scope *scope)
{
	int seq_exact = slot == scope->slot && (scope->extension[0] & 1);
	uint64_t seq = context_restore(slot, scope->record, scope->extension);

	store_release(&slot->ext.seq, seq_exact ? scope->extension[0] : seq + 1);
	context_publish(slot);
}

WEFT_API void weft_scope_leave(struct weft_scope *scope)
{
	struct weft_slot *slot;

	if (scope->done)
		return;
	scope->done = 1;
	slot = scope->slot ? weft_thread_own_slot() : NULL;
	if (!slot)
		return;
	if (UNLIKELY(weft_labels_scope_leave(slot, scope)))
		weft_labels_scope_restore(slot, scope);
	else
		restore_scope(slot, scope);
}

/* Is the owner in the middle of a write? Then a copy would never be consistent. */
int weft_context_is_busy(const struct weft_slot *slot)
{
	struct weft_context_snapshot now;

	return weft_context_snapshot(slot, &now) == WEFT_CONTEXT_BUSY || weft_write_is_open(slot);
}

/* Into a slot that has no owner yet: a forked child inherits its context. */
void weft_context_copy(struct weft_slot *to, const struct weft_slot *from)
{
	struct weft_context_words words;

	weft_context_save(from, &words);
	store_release(&to->ext.seq, context_restore(to, words.record, words.extension) + 1);
}

/* ---- inline functions of weft/context.h, for languages that cannot compile them */

WEFT_API struct weft_ids weft_context_get_all(void)
{
	return weft_context_get();
}

WEFT_API uint32_t weft_tag_set_all(unsigned int n, uint32_t id)
{
	return weft_tag_set(n, id);
}
