/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file otel_nodejs_context.h
 * OpenTelemetry's thread context in Node.js (schema nodejs_v1_dev): the record
 * (otel_thread_context.h) hangs on the asynchronous context that runs, not on the thread. Where the
 * walk to it begins says the thread-local variable otel_thread_ctx_nodejs_v1 (in .dynsym):
 *
 *   cped_slot         0 = the gate is closed; else it leads to the AsyncContextFrame that runs
 *     frame           a JSMap; `undefined` = none. In it, at `table`
 *       table         an OrderedHashMap. After its header three small integers: elements, deleted
 *                     ones, buckets; then for each bucket the index of its first entry, then
 *                     entries of three words: key, value, index of the next one (-1 = no more)
 *         entry       whose key is the word that als_handle leads to; of the bucket that its hash
 *                     names, by the lowest bits
 *           wrapper   its value; `undefined` = none. In it, at `slot`, a plain pointer
 *             record  where that leads; 0 = none
 *
 * Words are V8's, 8 bytes, as in all builds without pointer compression and sandbox: a pointer to
 * an object has its lowest three bits 001, a small integer its lower half 0.
 *
 * Writer: the thread itself. The variable is written once, cped_slot last, and taken back with
 * cped_slot first. Frames are replaced, hardly ever changed; what a garbage collection moves stays
 * in its old place until the thread goes on. A writer may close the gate for a while.
 * Reader: while the thread stands still, all words anew each time. None is believed: tags,
 * alignment, sizes and indices are checked, and a chain is followed so far and no farther.
 * If the process dies in between, nothing stays.
 *
 * Where words lie is a property of V8's build. The header, the table and (by some writers) the slot
 * are told by attributes of the process context, else they are as in Node.js 22 .. 24:
 *
 *   threadlocal.tagged_size                   bytes of a word
 *   threadlocal.js_map_table_offset           table
 *   threadlocal.ordered_hash_map_header_size  header
 *   threadlocal.js_object_record_offset       slot
 *   threadlocal.wrapped_object_offset         slot, of older writers: it leads to an object of
 *   threadlocal.native_wrap_fields_offset     theirs, in which the pointer to the record lies here
 */
#ifndef WEFT_ABI_OTEL_NODEJS_CONTEXT_H
#define WEFT_ABI_OTEL_NODEJS_CONTEXT_H

#include <errno.h>

#include "context_v1.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_NODEJS_SYMBOL "otel_thread_ctx_nodejs_v1"

/** The variable. */
struct weft_nodejs_variable {
	uint64_t cped_slot;  /* 0x00 */
	uint64_t als_handle; /* 0x08 */
	int32_t als_hash;    /* 0x10 */
	uint8_t slot;        /* 0x14 bytes into the wrapper; 0: this writer does not tell it here */
	uint8_t rsv[3];      /* 0x15 */
	uint64_t undefined;  /* 0x18 */
};

/**
 * A layout: where the words lie, counted in words, as one word of four bytes. Slot 0: not told; it
 * is 3 in Node.js 22, and 4 since. Field 0: the slot leads to the record; else to an object in
 * which the pointer to the record is word field - 1.
 */
#define WEFT_NODEJS_LAYOUT(table, header, slot, field)                                             \
	((uint32_t)(table) | (uint32_t)(header) << 8 | (uint32_t)(slot) << 16 |                    \
	 (uint32_t)(field) << 24)
#define WEFT_NODEJS_LAYOUT_USUAL WEFT_NODEJS_LAYOUT(3, 2, 0, 0)
#define WEFT_NODEJS_LAYOUT_TABLE(layout) ((layout)&255)
#define WEFT_NODEJS_LAYOUT_HEADER(layout) ((layout) >> 8 & 255)
#define WEFT_NODEJS_LAYOUT_SLOT(layout) ((layout) >> 16 & 255)
#define WEFT_NODEJS_LAYOUT_FIELD(layout) ((layout) >> 24 & 255)

#define WEFT_NODEJS_BUCKETS_MAX 4096
#define WEFT_NODEJS_CHAIN_MAX 32

/** How a reader gets at memory: all of @bytes and 0, or what the walk then returns. */
struct weft_nodejs_walk {
	uint32_t layout;
	int (*fetch)(void *arg, void *to, uint64_t from, uint32_t bytes);
	void *arg;
};

static inline int weft_nodejs_is_object(uint64_t word)
{
	return (word & 7) == 1;
}

static inline int weft_nodejs_is_small(uint64_t word, int64_t *value)
{
	*value = (int64_t)word >> 32;
	return (word & UINT32_MAX) == 0;
}

/** Words of an object, from number @at on. */
static inline int weft_nodejs_words(const struct weft_nodejs_walk *w, uint64_t object, uint64_t at,
				    uint64_t *to, uint32_t count)
{
	return w->fetch(w->arg, to, object - 1 + 8 * at, 8 * count);
}

/** How many buckets and entries in use a table has. While it is replaced by a larger one, its
 * first number gives way to a pointer: -EAGAIN. */
static inline int weft_nodejs_sizes(const struct weft_nodejs_walk *w, uint64_t table,
				    int64_t *buckets, int64_t *used)
{
	uint64_t word[3] = {0, 0, 0};
	int64_t elements, deleted;
	int rc = weft_nodejs_words(w, table, WEFT_NODEJS_LAYOUT_HEADER(w->layout), word, 3);

	if (rc)
		return rc;
	if (weft_nodejs_is_object(word[0]))
		return -EAGAIN;
	if (!weft_nodejs_is_small(word[0], &elements) || !weft_nodejs_is_small(word[1], &deleted) ||
	    !weft_nodejs_is_small(word[2], buckets))
		return -EBADMSG;
	*used = elements + deleted;
	if (elements < 0 || deleted < 0 || *buckets < 1 || *buckets > WEFT_NODEJS_BUCKETS_MAX ||
	    *buckets & (*buckets - 1) || *used > 2 * *buckets)
		return -EBADMSG;
	return 0;
}

/** The value of @key. */
static inline int weft_nodejs_find(const struct weft_nodejs_walk *w, uint64_t table, uint64_t key,
				   int32_t hash, uint64_t *value)
{
	uint64_t first = WEFT_NODEJS_LAYOUT_HEADER(w->layout) + 3, entry[3] = {0, 0, 0};
	int64_t buckets = 0, used = 0, at;
	int rc = weft_nodejs_sizes(w, table, &buckets, &used);

	if (rc == 0)
		rc = weft_nodejs_words(w, table, first + ((uint64_t)hash & (uint64_t)(buckets - 1)),
				       &entry[2], 1);
	for (int i = 0; i < WEFT_NODEJS_CHAIN_MAX && rc == 0; i++) {
		if (!weft_nodejs_is_small(entry[2], &at) || at < -1 || at >= used)
			return -EBADMSG;
		if (at == -1)
			return -ENODATA;
		rc = weft_nodejs_words(w, table, first + (uint64_t)(buckets + 3 * at), entry, 3);
		if (rc == 0 && entry[0] == key) {
			*value = entry[1];
			return 0;
		}
	}
	return rc ? rc : -EBADMSG;
}

/** Where the wrapper's slot leads: 0 = nowhere. Where the slot is not told, only one of the two
 * words that it may be is a pointer and no object's. */
static inline int weft_nodejs_slot(const struct weft_nodejs_walk *w, uint64_t wrapper,
				   uint32_t slot, uint64_t *leads)
{
	uint64_t word[2] = {0, 0};
	int rc = weft_nodejs_words(w, wrapper, slot ? slot : 3, word, slot ? 1 : 2);

	*leads = slot || (word[0] && !(word[0] & 1)) ? word[0] : word[1];
	return rc;
}

static inline int weft_nodejs_unwrap(const struct weft_nodejs_walk *w, uint64_t wrapper,
				     uint8_t told, uint64_t *record)
{
	uint32_t field = told ? 0 : WEFT_NODEJS_LAYOUT_FIELD(w->layout);
	int rc = weft_nodejs_slot(w, wrapper, told ? told / 8u : WEFT_NODEJS_LAYOUT_SLOT(w->layout),
				  record);

	if (rc == 0 && *record && field)
		rc = *record & 7 ? -EBADMSG
				 : w->fetch(w->arg, record, *record + 8 * (field - 1), 8);
	if (rc)
		return rc;
	if (!*record)
		return -ENODATA;
	return *record & 1 ? -EBADMSG : 0;
}

static inline int weft_nodejs_is_sound(const struct weft_nodejs_variable *v)
{
	return !(v->cped_slot & 7) && v->als_handle && !(v->als_handle & 7) && !(v->slot & 7) &&
	       weft_nodejs_is_object(v->undefined);
}

/**
 * weft_nodejs_record() - the address of the record to which @v leads. 0; -ENODATA: there is none;
 * -EAGAIN: a table is being replaced; -EBADMSG: what is there is something else; what fetch says.
 */
static inline int weft_nodejs_record(const struct weft_nodejs_walk *w,
				     const struct weft_nodejs_variable *v, uint64_t *record)
{
	uint64_t frame = 0, table = 0, key = 0, value = 0;
	int rc;

	if (!v->cped_slot)
		return -ENODATA;
	if (!weft_nodejs_is_sound(v))
		return -EBADMSG;
	rc = w->fetch(w->arg, &frame, v->cped_slot, sizeof(frame));
	if (rc || frame == v->undefined)
		return rc ? rc : -ENODATA;
	if (!weft_nodejs_is_object(frame))
		return -EBADMSG;
	rc = weft_nodejs_words(w, frame, WEFT_NODEJS_LAYOUT_TABLE(w->layout), &table, 1);
	if (rc == 0)
		rc = w->fetch(w->arg, &key, v->als_handle, sizeof(key));
	if (rc == 0 && (!weft_nodejs_is_object(table) || !weft_nodejs_is_object(key)))
		rc = -EBADMSG;
	if (rc == 0)
		rc = weft_nodejs_find(w, table, key, v->als_hash, &value);
	if (rc || value == v->undefined)
		return rc ? rc : -ENODATA;
	return weft_nodejs_is_object(value) ? weft_nodejs_unwrap(w, value, v->slot, record)
					    : -EBADMSG;
}

WEFT_ABI_ASSERT(sizeof(struct weft_nodejs_variable) == 32, "nodejs variable");
WEFT_ABI_ASSERT(offsetof(struct weft_nodejs_variable, als_handle) == 8, "nodejs als");
WEFT_ABI_ASSERT(offsetof(struct weft_nodejs_variable, als_hash) == 16, "nodejs hash");
WEFT_ABI_ASSERT(offsetof(struct weft_nodejs_variable, slot) == 20, "nodejs slot");
WEFT_ABI_ASSERT(offsetof(struct weft_nodejs_variable, undefined) == 24, "nodejs undefined");

#ifdef __cplusplus
}
#endif
#endif
