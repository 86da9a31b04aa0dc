/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file otel_process_context.h
 * OpenTelemetry process context (OTEP 4719): one mapping per process whose name in
 * /proc/PID/maps is one of `[anon_shmem:OTEL_CTX]`, `[anon:OTEL_CTX]`, `/memfd:OTEL_CTX`
 * (the last one followed by " (deleted)"). It begins with this header; the payload, a protobuf
 * message ProcessContext, lies anywhere in the publisher's memory.
 *
 * Writer: one at a time in the process. published_ns = 0, fence, payload and its size, fence,
 * published_ns = a value later than any before. Then it names the mapping once more
 * (PR_SET_VMA_ANON_NAME): readers that watch for this call learn of the change.
 * Reader: checks signature and version, and that published_ns is not 0; reads the payload; checks
 * that published_ns has not changed.
 * A child of fork does not have the mapping (MADV_DONTFORK).
 * A writer that dies in between takes the process along, and the mapping with it.
 */
#ifndef WEFT_ABI_OTEL_PROCESS_CONTEXT_H
#define WEFT_ABI_OTEL_PROCESS_CONTEXT_H

#include "context_v1.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_OTEL_PROCESS_SIGNATURE "OTEL_CTX" /* 8 bytes, no NUL */
#define WEFT_OTEL_PROCESS_VERSION 2
#define WEFT_OTEL_PROCESS_PAYLOAD_MAX 65536
#define WEFT_OTEL_PROCESS_KEYS_MAX 256 /* keys in the key map: their indices are u8 */
#define WEFT_OTEL_SCHEMA_KEY "threadlocal.schema_version"
#define WEFT_OTEL_SCHEMA_DEV "tlsdesc_v1_dev" /* what writers and readers of 2026 use */
#define WEFT_OTEL_SCHEMA_V1 "tls_v1"
#define WEFT_OTEL_KEY_MAP_KEY "threadlocal.attribute_key_map"
#define WEFT_OTEL_ROOT_KEY "datadog.local_root_span_id" /* value: 16 lower-case hex digits */

struct weft_otel_process_header {
	char signature[8];      /* 0x00 */
	uint32_t version;       /* 0x08 */
	uint32_t payload_bytes; /* 0x0C 1 .. 65536 */
	uint64_t published_ns;  /* 0x10 CLOCK_BOOTTIME; 0 = being changed */
	uint64_t payload;       /* 0x18 address in the publisher */
};

WEFT_ABI_ASSERT(sizeof(struct weft_otel_process_header) == 32, "otel process header");
WEFT_ABI_ASSERT(offsetof(struct weft_otel_process_header, payload_bytes) == 12, "otel bytes");
WEFT_ABI_ASSERT(offsetof(struct weft_otel_process_header, published_ns) == 16, "otel time");
WEFT_ABI_ASSERT(offsetof(struct weft_otel_process_header, payload) == 24, "otel payload");

#ifdef __cplusplus
}
#endif
#endif
