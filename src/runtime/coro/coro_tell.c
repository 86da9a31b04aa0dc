/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context in a coroutine's events and in its station (weft/abi/ctp.h): 28 bytes with each
 * event, unless the program's own payload is there; and station->context, when the coroutine
 * suspends with another context than the last time.
 *
 * Writer of the station: the thread that suspends it, by the seqlock of struct weft_ctp_context.
 */
#include "runtime/coro/coro.h"

#include <string.h>

#include "runtime/context/labels.h"

static struct weft_ctp_context_prefix prefix_of(const struct weft_context_snapshot *now)
{
	struct weft_ctp_context_prefix p = {.valid = 1, .trace_flags = (uint8_t)now->trace_flags};
	uint64_t span = __builtin_bswap64(now->span_id);

	memcpy(p.trace_id, now->trace_id, sizeof(p.trace_id));
	memcpy(p.span_id, &span, sizeof(p.span_id));
	return p;
}

static int coro_tell_has_context(enum weft_sample_context found)
{
	return found == WEFT_CONTEXT_IDS || found == WEFT_CONTEXT_TRACE;
}

void weft_coro_write_event(struct weft_coro *coro, const struct weft_switch_context *seen)
{
	struct weft_ctp_context_prefix prefix;

	if (coro->holds == WEFT_CTP_HOLDS_PAYLOAD)
		return;
	if (!coro_tell_has_context(seen->found)) {
		coro->holds = WEFT_CTP_HOLDS_UNKNOWN;
		return;
	}
	prefix = prefix_of(&seen->ids);
	_Static_assert(sizeof(prefix) <= sizeof(coro->bytes), "an event has room for it");
	memcpy(coro->bytes, &prefix, sizeof(prefix));
	coro->holds = WEFT_CTP_HOLDS_CONTEXT;
}

/* @labels: the set to be written; NULL: none. */
static struct coro_told told_of_context(const struct weft_context_snapshot *now,
					const struct weft_slot *slot,
					const struct weft_custom_labels_set *labels)
{
	struct coro_told told = {now->span_id,
				 now->root_span_id,
				 {now->trace_id[0], now->trace_id[1]},
				 now->trace_flags,
				 0};

	if (labels)
		told.labels = weft_labels_place(slot, labels) ^
			      weft_labels_generation(labels) * UINT64_C(0x9E3779B97F4A7C15);
	return told;
}

/* A value that is too long for a length of one byte is left out. */
static void coro_tell_put_label(struct weft_ctp_context *to,
				const struct weft_custom_labels_label *l)
{
	uint64_t key = l->key.bytes, value = l->value.buf ? l->value.bytes : 0;
	uint8_t *at = to->labels + to->label_bytes;

	if (key > 255 || value > 255 || 2 + key + value > sizeof(to->labels) - to->label_bytes) {
		to->left_out++;
		return;
	}
	at[0] = (uint8_t)key;
	at[1] = (uint8_t)value;
	memcpy(at + 2, l->key.buf, key);
	memcpy(at + 2 + key, value ? l->value.buf : l->key.buf, value);
	to->label_bytes = (uint16_t)(to->label_bytes + 2 + key + value);
}

static void coro_tell_put_labels(struct weft_ctp_context *to,
				 const struct weft_custom_labels_set *set)
{
	uint64_t count = set->storage ? set->count : 0;

	for (uint64_t i = 0; i < count && i < WEFT_SAMPLE_LABELS_MAX; i++) {
		const struct weft_custom_labels_label *l = &set->storage[i];

		if (l->key.buf && l->key.bytes && !weft_label_is_reserved(l->key.buf, l->key.bytes))
			coro_tell_put_label(to, l);
	}
}

static void coro_tell_store_words(void *to, const void *from, size_t bytes)
{
	uint32_t *out = to, word;
	const uint8_t *in = from;

	for (size_t i = 0; i < bytes / 4; i++) {
		memcpy(&word, in + 4 * i, 4);
		store_relaxed(&out[i], word);
	}
}

static void write_station(struct weft_ctp_context *to, const struct weft_ctp_context *from)
{
	uint32_t seq = to->seq | 1;
	size_t behind = offsetof(struct weft_ctp_context, root_span_id);

	store_relaxed(&to->seq, seq);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	coro_tell_store_words(&to->prefix, &from->prefix, sizeof(to->prefix));
	coro_tell_store_words(&to->root_span_id, &from->root_span_id, sizeof(*to) - behind);
	store_release(&to->seq, seq + 1);
}

void weft_coro_write_station(struct weft_coro *coro, const struct weft_slot *slot,
			     const struct weft_switch_context *seen)
{
	struct coro_told *told = &weft_coro_words(coro)->told;
	struct coro_told now = told_of_context(&seen->ids, slot, seen->labels);
	struct weft_ctp_context context;

	if (!memcmp(&now, told, sizeof(now)))
		return;
	memset(&context, 0, sizeof(context));
	context.prefix = prefix_of(&seen->ids);
	context.root_span_id = seen->ids.root_span_id;
	if (seen->labels)
		coro_tell_put_labels(&context, seen->labels);
	write_station(&coro->station->context, &context);
	*told = now;
}
