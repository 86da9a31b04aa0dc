/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported symbol by which two copies of the runtime in one process find each other.
 * Part of the binary interface between different versions of weft: fields are appended,
 * never changed; a copy that does not know the version leaves the other alone.
 */
#ifndef WEFT_RUNTIME_COPIES_H
#define WEFT_RUNTIME_COPIES_H

#include <stdint.h>

#define WEFT_RUNTIME_V1_VERSION 1

struct weft_slot;

struct weft_runtime_v1 {
	uint32_t size;
	uint32_t version;
	int (*is_ready)(void); /* 1: begun, and not itself a guest */
	/* The other's TLS pointer, from the thread pointer; fills in the fork guard. 0 or -1. */
	int (*join)(int64_t tls_offset, const uint32_t **guard);
	struct weft_slot *(*claim)(void); /* stores all copies' TLS pointers */
	uint32_t (*tag_intern)(const char *string);
	int (*tag_name)(unsigned int n, const char *name);
};

extern const struct weft_runtime_v1 weft_runtime_v1;

#endif
