/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file otel_thread_context.h
 * OpenTelemetry thread context (OTEP 4947): the record that a thread's pointer
 * otel_thread_ctx_v1 (thread-local, 8 bytes, in .dynsym) leads to; NULL = none. Packed bytes,
 * host endian, 2-aligned.
 *
 * Writer: the owning thread. valid = 0, change, valid = 1, by release stores; attributes are
 * {u8 index in the process's key map; u8 bytes; bytes of UTF-8}, no padding.
 * Reader: stops the thread, or reads twice and compares. A record counts only with valid == 1; of
 * attributes with equal indices the last counts; reading ends where the rest of attributes_bytes
 * cannot hold a whole attribute.
 * If the writer dies in between, valid stays 0.
 */
#ifndef WEFT_ABI_OTEL_THREAD_CONTEXT_H
#define WEFT_ABI_OTEL_THREAD_CONTEXT_H

#include "context_v1.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_OTEL_THREAD_SYMBOL "otel_thread_ctx_v1"
#define WEFT_OTEL_RECORD_BYTES 640
#define WEFT_OTEL_ATTRIBUTES_AT 28
#define WEFT_OTEL_ATTRIBUTES_BYTES (WEFT_OTEL_RECORD_BYTES - WEFT_OTEL_ATTRIBUTES_AT)
#define WEFT_OTEL_ATTRIBUTE_VALUE_BYTES 255

struct weft_otel_record {
	uint8_t trace_id[16];      /* 0x00 W3C byte order; this and span_id zeros = no ids */
	uint8_t span_id[8];        /* 0x10 most significant byte first */
	uint8_t valid;             /* 0x18 1 = valid; anything else: not */
	uint8_t trace_flags;       /* 0x19 W3C flags; 0 while there are no ids */
	uint16_t attributes_bytes; /* 0x1A bytes of `attributes` in use */
	uint8_t attributes[WEFT_OTEL_ATTRIBUTES_BYTES];
};

WEFT_ABI_ASSERT(sizeof(struct weft_otel_record) == WEFT_OTEL_RECORD_BYTES, "otel record");
WEFT_ABI_ASSERT(offsetof(struct weft_otel_record, span_id) == 16, "otel span");
WEFT_ABI_ASSERT(offsetof(struct weft_otel_record, valid) == 24, "otel valid");
WEFT_ABI_ASSERT(offsetof(struct weft_otel_record, trace_flags) == 25, "otel flags");
WEFT_ABI_ASSERT(offsetof(struct weft_otel_record, attributes_bytes) == 26, "otel size");
WEFT_ABI_ASSERT(offsetof(struct weft_otel_record, attributes) == 28, "otel attributes");

#ifdef __cplusplus
}
#endif
#endif
