/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file context_v1.h
 * The 64-byte thread context record, version 1: one per thread, host endian.
 *
 * Byte map
 *   off  size field         meaning
 *   0x00   8  span_id       the span the thread works for; 0 = none
 *   0x08   8  root_span_id  the local root span; 0 = none
 *   0x10   8  checksum      weft_context_v1_checksum(); 0 = being written, or never set
 *   0x18  40  tags[10]      ids of interned strings; 0 = unset
 *   0x40
 *
 * Writer (the owning thread alone, in this order):
 *   1. checksum := 0
 *   2. span_id, root_span_id := new values
 *   3. checksum := weft_context_v1_checksum(span_id, root_span_id)
 * Each store is a release store: that orders it after the one before, for the compiler
 * (all that a signal handler on the same thread needs) and for other cores.
 * No store here is a full barrier. A tag is one store of its own.
 *
 * Reader in a signal handler of the same thread:
 *   1. load checksum; 0: no context, or a write was interrupted
 *   2. load the ids; the context is valid only if their checksum equals the loaded one.
 * Reader on another core: the same with an acquire load in step 1, and afterwards
 *   3. acquire fence; load checksum again; if it has changed, begin anew (three tries at most).
 *
 * Validity: multiplication by an odd number is a bijection of 64-bit values, and so is the
 * swap of halves. A record that mixes the old span with the new root (or the other way
 * round) therefore never has a matching checksum, with one exception: a sum of 0 is stored as ~0,
 * so that pairs of ids with these two sums look alike.
 *
 * Only the owning thread stores here; anybody may load.
 */
#ifndef WEFT_ABI_CONTEXT_V1_H
#define WEFT_ABI_CONTEXT_V1_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_CONTEXT_V1_TAGS 10
#define WEFT_CONTEXT_V1_MULTIPLIER UINT64_C(0x9E3779B97F4A7C15)

struct weft_context_v1 {
	uint64_t span_id;
	uint64_t root_span_id;
	uint64_t checksum;
	uint32_t tags[WEFT_CONTEXT_V1_TAGS];
};

#ifdef __cplusplus
#define WEFT_ABI_ASSERT(condition, text) static_assert(condition, text)
#else
#define WEFT_ABI_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#define WEFT_ABI_OFFSET(type, field, offset)                                                       \
	WEFT_ABI_ASSERT(offsetof(struct type, field) == (offset), #type "." #field)

WEFT_ABI_ASSERT(sizeof(struct weft_context_v1) == 64, "context v1 is 64 bytes");
WEFT_ABI_ASSERT(offsetof(struct weft_context_v1, span_id) == 0x00, "context v1 span");
WEFT_ABI_ASSERT(offsetof(struct weft_context_v1, root_span_id) == 0x08, "context v1 root");
WEFT_ABI_ASSERT(offsetof(struct weft_context_v1, checksum) == 0x10, "context v1 checksum");
WEFT_ABI_ASSERT(offsetof(struct weft_context_v1, tags) == 0x18, "context v1 tags");

/**
 * weft_context_v1_checksum() - checksum of a pair of ids (Knuth's multiplicative hash).
 * @span_id:      any value
 * @root_span_id: any value
 *
 * Returns a value that is never 0. Pure; safe everywhere. Test vectors:
 * tests/vectors/context_v1_checksum.txt.
 */
static inline uint64_t weft_context_v1_checksum(uint64_t span_id, uint64_t root_span_id)
{
	uint64_t swapped = (root_span_id << 32) | (root_span_id >> 32);
	uint64_t sum =
		(span_id * WEFT_CONTEXT_V1_MULTIPLIER) ^ (swapped * WEFT_CONTEXT_V1_MULTIPLIER);

	return sum ? sum : ~UINT64_C(0);
}

#ifdef __cplusplus
}
#endif
#endif
