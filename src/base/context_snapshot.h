/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consistent snapshots of a slot's context: one for a signal handler on the owning thread, one for
 * any other core. Both only load, and try at most three times.
 *
 * The rules of validity are those of abi/context_v1.h, and three more:
 *
 *   - checksum 0 with ids of 0 is "none"; with other ids it is "being written";
 *   - the trace id belongs to the v1 record whose checksum ext.v1_checksum repeats; if they differ
 *     (a writer that knows only the 64 bytes came later) it is left out;
 *   - seq is odd while more than the v1 record is being written, and changes with every tag; an odd
 *     seq that formats_seq repeats tells a handler that the context is whole.
 *
 * Writer: src/runtime/context/context.c and the inline functions of weft/context.h, on the owning
 * thread only, by release stores. Its handlers need compiler order only; the remote reader pairs
 * with those stores by its acquire loads and its acquire fence.
 */
#ifndef WEFT_BASE_CONTEXT_SNAPSHOT_H
#define WEFT_BASE_CONTEXT_SNAPSHOT_H

#include <string.h>

#include <weft/abi/session.h>

#include "base/atomic.h"

#define WEFT_SNAPSHOT_TRIES 3

/* The same order as in struct weft_sample_record from span_id on. */
struct weft_context_snapshot {
	uint64_t span_id;
	uint64_t root_span_id;
	uint64_t trace_id[2]; /* its 16 bytes */
	uint32_t trace_flags;
	uint32_t label_generation;
	uint32_t tags[WEFT_CONTEXT_V1_TAGS];
};
_Static_assert(sizeof(struct weft_context_snapshot) ==
		       offsetof(struct weft_sample_record, map_number) -
			       offsetof(struct weft_sample_record, span_id),
	       "snapshot has the shape of the sample's context");

#define WEFT_LOAD(field) load_fenced(&(field))
#define WEFT_FENCE_ACQUIRE() FENCE_ACQUIRE()

static inline int weft_snapshot_trace(const struct weft_slot *slot, uint64_t checksum,
				      struct weft_context_snapshot *out)
{
	const uint64_t *id = (const uint64_t *)(const void *)slot->ext.trace_id;

	if (WEFT_LOAD(slot->ext.v1_checksum) != checksum)
		return 0;
	out->trace_id[0] = WEFT_LOAD(id[0]);
	out->trace_id[1] = WEFT_LOAD(id[1]);
	out->trace_flags = WEFT_LOAD(slot->ext.trace_flags);
	return (out->trace_id[0] | out->trace_id[1]) != 0;
}

/* Two tags at a time: they are half of a snapshot's cost. */
static inline void weft_snapshot_tags(const struct weft_slot *slot,
				      struct weft_context_snapshot *out)
{
	const uint64_t *from = (const uint64_t *)(const void *)slot->context.tags;

	for (int i = 0; i < WEFT_CONTEXT_V1_TAGS / 2; i++) {
		uint64_t pair = WEFT_LOAD(from[i]);

		memcpy(&out->tags[2 * i], &pair, sizeof(pair));
	}
}

/* What the fields hold, given the checksum that was loaded first. */
static inline enum weft_sample_context weft_snapshot_fields(const struct weft_slot *slot,
							    uint64_t checksum,
							    struct weft_context_snapshot *out)
{
	out->span_id = WEFT_LOAD(slot->context.span_id);
	out->root_span_id = WEFT_LOAD(slot->context.root_span_id);
	weft_snapshot_tags(slot, out);
	out->label_generation = WEFT_LOAD(slot->ext.label_generation);
	if (checksum == 0)
		return out->span_id | out->root_span_id ? WEFT_CONTEXT_BUSY : WEFT_CONTEXT_NONE;
	if (weft_context_v1_checksum(out->span_id, out->root_span_id) != checksum)
		return WEFT_CONTEXT_BAD;
	if ((out->span_id | out->root_span_id) == 0)
		return WEFT_CONTEXT_NONE;
	return weft_snapshot_trace(slot, checksum, out) ? WEFT_CONTEXT_TRACE : WEFT_CONTEXT_IDS;
}

static inline enum weft_sample_context weft_snapshot_end(enum weft_sample_context found,
							 struct weft_context_snapshot *out)
{
	if (found == WEFT_CONTEXT_BUSY || found == WEFT_CONTEXT_BAD) {
		memset(out, 0, sizeof(*out));
	} else if (found != WEFT_CONTEXT_TRACE) {
		out->trace_id[0] = out->trace_id[1] = 0;
		out->trace_flags = 0;
	}
	return found;
}

/*
 * weft_context_snapshot() - for a handler on the thread that owns @slot. The writer cannot run
 * meanwhile, so one reading is enough. Zero fields with BUSY and BAD; with NONE only the tags can
 * be set.
 */
static inline enum weft_sample_context weft_context_snapshot(const struct weft_slot *slot,
							     struct weft_context_snapshot *out)
{
	uint64_t seq = WEFT_LOAD(slot->ext.seq);
	enum weft_sample_context found;

	memset(out, 0, sizeof(*out));
	if ((seq & 1) && WEFT_LOAD(slot->ext.formats_seq) != seq)
		return WEFT_CONTEXT_BUSY;
	found = weft_snapshot_fields(slot, WEFT_LOAD(slot->context.checksum), out);
	return weft_snapshot_end(found, out);
}

/* weft_context_snapshot_remote() - the same from any other core, at any time. */
static inline enum weft_sample_context
weft_context_snapshot_remote(const struct weft_slot *slot, struct weft_context_snapshot *out)
{
	enum weft_sample_context found = WEFT_CONTEXT_BUSY;

	for (int i = 0; i < WEFT_SNAPSHOT_TRIES; i++) {
		uint64_t seq = load_acquire(&slot->ext.seq);
		uint64_t checksum = load_acquire(&slot->context.checksum);

		found = weft_snapshot_fields(slot, checksum, out);
		WEFT_FENCE_ACQUIRE();
		if ((seq & 1) || WEFT_LOAD(slot->ext.seq) != seq ||
		    WEFT_LOAD(slot->context.checksum) != checksum)
			found = WEFT_CONTEXT_BUSY;
		else if (found != WEFT_CONTEXT_BUSY && found != WEFT_CONTEXT_BAD)
			break;
	}
	return weft_snapshot_end(found, out);
}

#endif
