/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room share (otel.h has what they do for others).
 *
 * Only one thread at a time, the one that holds the bell (otel_process.c), may touch the mapping
 * and the resource attributes.
 */
#ifndef WEFT_RUNTIME_OTEL_PRIVATE_H
#define WEFT_RUNTIME_OTEL_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include <weft/abi/otel_process_context.h>
#include <weft/abi/otel_thread_context.h>

#include "base/wire/leb128.h"
#include "runtime/otel/otel.h"

#define OTEL_KEY_BYTES 128        /* no label's key is longer */
#define OTEL_TEXT_BYTES 4096      /* of a resource attribute's value */
#define OTEL_RESOURCE_BYTES 28672 /* with these, 256 keys always fit in 64 KiB */
#define OTEL_SCHEMA_ROOM 32

#pragma GCC visibility push(hidden)

/* ---- protocol buffers, by the field numbers of ProcessContext */
enum { TEXT = 1, ARRAY = 5 };          /* of AnyValue */
enum { KEY = 1, VALUE = 2 };           /* of KeyValue */
enum { RESOURCE = 1, ATTRIBUTES = 2 }; /* of ProcessContext */
enum { RESOURCE_ATTRIBUTES = 1 };      /* of Resource */
enum { ARRAY_VALUES = 1 };             /* of ArrayValue */

/* The start of a field with a length; what follows it has @bytes. */
static inline uint8_t *otel_put_start(uint8_t *to, int number, uint32_t bytes)
{
	*to++ = (uint8_t)(number << 3 | 2);
	return leb128_put(to, bytes);
}

static inline uint8_t *otel_put_bytes(uint8_t *to, int number, const void *data, uint32_t bytes)
{
	to = otel_put_start(to, number, bytes);
	__builtin_memcpy(to, data, bytes);
	return to + bytes;
}

/* The size of a field with its start. */
static inline uint32_t otel_field_bytes(uint32_t bytes)
{
	uint8_t start[1 + LEB128_BYTES];

	return (uint32_t)(otel_put_start(start, 0, bytes) - start) + bytes;
}

/* ---- otel_keys.c */
struct otel_key {
	uint32_t hash;
	uint32_t bytes; /* 0: a foreign key that no label can have */
	char text[];    /* and a NUL */
};

/* The key at @index, complete, and valid for ever; NULL: none yet. */
const struct otel_key *weft_otel_key_at(uint32_t index);
int weft_otel_keys_find(const char *key, size_t bytes);
/* The key's index, appended if need be, with *is_new = 1; -1: no room, or not UTF-8. */
int weft_otel_keys_add(const char *key, size_t bytes, int *is_new);
/* Appends even a key that no label can have, so that another library's indices stay. */
int weft_otel_keys_add_at(uint32_t index, const char *key, size_t bytes);
uint32_t weft_otel_keys_count(void);
/* Indices below it mean what the published map says. (Another library's may differ from ours.) */
extern uint32_t weft_otel_keys_usable;
static inline int weft_otel_key_is_usable(uint32_t index)
{
	return index < load_relaxed(&weft_otel_keys_usable);
}
int weft_otel_is_utf8(const void *text, size_t bytes);

static inline int otel_key_is(const struct otel_key *k, const char *key, size_t bytes)
{
	return k && k->bytes == bytes && !__builtin_memcmp(k->text, key, bytes);
}

/* ---- otel_process.c */
struct otel_options {
	char root_key[OTEL_KEY_BYTES + 1]; /* "" = none */
	char schema[OTEL_SCHEMA_ROOM];
	uint8_t root_is_set, schema_is_set; /* by the program, which overrides the environment */
};
extern struct otel_options weft_otel_chosen;
int weft_otel_options_set(const char *root_key, const char *schema); /* 0 or -EINVAL */

enum weft_publisher weft_otel_process_publisher(void);
void weft_otel_process_republish(void); /* one system call */
/* 1: not in weft's map, which is full. */
int weft_otel_key_has_no_room(const char *key, size_t bytes);
/* Where the mapping lies; 0 = there is none. */
uint64_t weft_otel_process_at(void);
/* Waits for the bell and holds it. Not in a handler or a label write. System calls. */
void weft_otel_process_lock(void);
void weft_otel_process_unlock(int has_changed);

/* ---- otel_thread.c */
/* Finds the thread's variable, or who else has it: weft_otel_thread_publisher(). System calls. */
void weft_otel_thread_begin(int32_t root_index);
void weft_otel_thread_stop(void);
void weft_otel_thread_after_fork(void);
void weft_otel_thread_set_root(int32_t root_index);
enum weft_publisher weft_otel_thread_publisher(void);
/* Distance of the variable of a guest copy from the thread pointer. */
void weft_otel_thread_join(int64_t distance);
int64_t weft_otel_thread_distance(void);
int weft_otel_thread_is_ours(const void *place); /* this copy's variable, or a guest's */

/* ---- otel_resource.c: with the bell held, except for the program's calls */
int weft_otel_resource_own(const char *key, const char *value);
int weft_otel_options_own(const char *root_key, const char *schema);
const uint8_t *weft_otel_resource_bytes(uint32_t *bytes); /* encoded, as Resource's fields */
void weft_otel_resource_begin(void);
void weft_otel_resource_after_fork(void); /* a child is another instance */

/* ---- otel_foreign.c: system calls */
/* A mapping of that name with a header, other than the one at @own; 0 = none. */
uint64_t weft_otel_foreign_find(const char *maps, uint64_t own);
/* Its keys into the key map; 0 or -errno. */
int weft_otel_foreign_keys(uint64_t mapping);
int weft_otel_foreign_parse(const uint8_t *payload, size_t bytes);
/* 1: a loaded object that is no copy of weft defines the thread's symbol. */
int weft_otel_foreign_symbol(void);

#pragma GCC visibility pop
#endif
