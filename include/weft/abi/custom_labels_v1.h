/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file custom_labels_v1.h
 * Custom Labels ABI, version 1: what a thread's pointer custom_labels_current_set leads to,
 * and the block of fixed size in which weft keeps it. 64-bit, host endian.
 * Source: custom-labels-v1.md of the Custom Labels project (Polar Signals).
 *
 *   custom_labels_abi_version    u32 in .dynsym, value 1
 *   custom_labels_current_set    thread-local pointer in .dynsym -> set; NULL = no labels
 *
 * Readers look for both in the main executable, and in a libcustomlabels*.so that is loaded at
 * start and has a TLS descriptor for the second. Weft's is libcustomlabels-weft.so.
 *
 * The block (its offsets for WEFT_CUSTOM_LABELS_DEFAULT labels, 4184 bytes)
 *
 *      0  set       storage, count, capacity
 *     24  labels    10 of 32 bytes
 *    344  strings   label N: key of 128 bytes at 344 + 384 N, value of 256 bytes behind it
 *
 * A second set of the same shape may lie anywhere behind the block; labels point to strings in
 * either. Label 0 is `span-id`, label 1 `root-span-id`, in unsigned decimal; both absent while
 * the thread has no context.
 *
 * Writer: the owning thread. It builds the set that the pointer does not lead to, from strings
 * that no label of the visible set points to, and then stores the pointer: nothing that can be
 * seen is ever changed. So at each instruction a stopped thread shows the old set or the new.
 * Reader: stops the thread, or (weft's own sets alone) reads the slot's ext.seq before and after:
 * even and equal means whole. A key of NULL: skip the label. Of equal keys the first counts.
 * If the writer dies between any two stores the visible set stays whole.
 */
#ifndef WEFT_ABI_CUSTOM_LABELS_V1_H
#define WEFT_ABI_CUSTOM_LABELS_V1_H

#include "context_v1.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_CUSTOM_LABELS_VERSION 1
#define WEFT_CUSTOM_LABELS_DEFAULT 10 /* labels per thread, without WEFT_LABELS_MAX */
#define WEFT_CUSTOM_LABELS_LEAST 3
#define WEFT_CUSTOM_LABELS_MOST 32
#define WEFT_CUSTOM_LABELS_RESERVED 2 /* label 0: span, 1: root span */
#define WEFT_CUSTOM_LABELS_KEY_BYTES 128
#define WEFT_CUSTOM_LABELS_VALUE_BYTES 256
#define WEFT_CUSTOM_LABELS_SPAN_KEY "span-id"
#define WEFT_CUSTOM_LABELS_ROOT_KEY "root-span-id"

struct weft_custom_labels_string {
	uint64_t bytes;           /* 0x00 */
	const unsigned char *buf; /* 0x08 of a key: NULL = no label; of a value: never NULL */
};

struct weft_custom_labels_label {
	struct weft_custom_labels_string key;   /* 0x00 */
	struct weft_custom_labels_string value; /* 0x10 */
};

struct weft_custom_labels_set {
	struct weft_custom_labels_label *storage; /* 0x00 */
	uint64_t count;                           /* 0x08 labels in storage, absent ones too */
	uint64_t capacity;                        /* 0x10 readers pass it over */
};

/** Offsets from the start of a block that has room for @max labels; @n: 0 .. @max - 1. */
#define WEFT_CUSTOM_LABELS_LABEL_AT(n) (24 + 32 * (uint64_t)(n))
#define WEFT_CUSTOM_LABELS_KEY_AT(n, max)                                                          \
	(WEFT_CUSTOM_LABELS_LABEL_AT(max) +                                                        \
	 (WEFT_CUSTOM_LABELS_KEY_BYTES + WEFT_CUSTOM_LABELS_VALUE_BYTES) * (uint64_t)(n))
#define WEFT_CUSTOM_LABELS_VALUE_AT(n, max)                                                        \
	(WEFT_CUSTOM_LABELS_KEY_AT(n, max) + WEFT_CUSTOM_LABELS_KEY_BYTES)
#define WEFT_CUSTOM_LABELS_BLOCK_BYTES(max) WEFT_CUSTOM_LABELS_KEY_AT(max, max)

WEFT_ABI_ASSERT(sizeof(struct weft_custom_labels_string) == 16, "custom labels string");
WEFT_ABI_ASSERT(sizeof(struct weft_custom_labels_label) == 32, "custom labels label");
WEFT_ABI_ASSERT(sizeof(struct weft_custom_labels_set) == 24, "custom labels set");
WEFT_ABI_ASSERT(offsetof(struct weft_custom_labels_label, value) == 16, "custom labels value");
WEFT_ABI_ASSERT(offsetof(struct weft_custom_labels_set, count) == 8, "custom labels count");
WEFT_ABI_ASSERT(WEFT_CUSTOM_LABELS_KEY_AT(0, 10) == 344, "custom labels strings");
WEFT_ABI_ASSERT(WEFT_CUSTOM_LABELS_VALUE_AT(9, 10) == 344 + 9 * 384 + 128, "custom labels value 9");
WEFT_ABI_ASSERT(WEFT_CUSTOM_LABELS_BLOCK_BYTES(10) == 4184, "custom labels block");

#ifdef __cplusplus
}
#endif
#endif
