/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap of a Node.js process, for tests: as far as the walk to a record of OpenTelemetry's goes
 * over it (abi/otel_nodejs_context.h), laid out as V8 does. Objects are words, one behind the
 * other; nothing is ever freed. A map's entries come first in their buckets, as there.
 */
#ifndef WEFT_TEST_NODE_HEAP_H
#define WEFT_TEST_NODE_HEAP_H

#include <stdint.h>
#include <string.h>

#include <weft/abi/otel_nodejs_context.h>

#define NODE_WORDS 512
#define NODE_CPED 0 /* the isolate's slot, and the handle, by their words */
#define NODE_HANDLE 1
#define NODE_TABLE 3  /* in a map */
#define NODE_COUNTS 2 /* in a table */

struct node_heap {
	uint64_t word[NODE_WORDS];
	uint64_t used;
};

static inline uint64_t node_small(int64_t value)
{
	return (uint64_t)value << 32;
}

/* The words of an object. */
static inline uint64_t *node_at(uint64_t object)
{
	return (uint64_t *)(uintptr_t)(object - 1);
}

static inline uint64_t node_new(struct node_heap *h, uint64_t words)
{
	uint64_t *at = h->word + h->used;

	h->used += words;
	return (uint64_t)(uintptr_t)at + 1;
}

/* An empty heap, in which nothing runs, and the variable that leads to it. */
static inline void node_begin(struct node_heap *h, int32_t hash, struct weft_nodejs_variable *v)
{
	memset(h, 0, sizeof(*h));
	h->used = 2;
	*v = (struct weft_nodejs_variable){.als_hash = hash};
	v->undefined = node_new(h, 4);
	v->als_handle = (uint64_t)(uintptr_t)&h->word[NODE_HANDLE];
	h->word[NODE_HANDLE] = node_new(h, 4);
	h->word[NODE_CPED] = v->undefined;
	v->cped_slot = (uint64_t)(uintptr_t)&h->word[NODE_CPED];
}

static inline uint64_t node_map(struct node_heap *h, uint64_t buckets)
{
	uint64_t map = node_new(h, 4), table = node_new(h, 5 + buckets + 6 * buckets);

	node_at(map)[NODE_TABLE] = table;
	node_at(table)[1] = node_small((int64_t)(3 + 7 * buckets));
	node_at(table)[NODE_COUNTS + 2] = node_small((int64_t)buckets);
	for (uint64_t i = 0; i < buckets; i++)
		node_at(table)[5 + i] = node_small(-1);
	return map;
}

static inline uint64_t *node_counts(uint64_t map)
{
	return node_at(node_at(map)[NODE_TABLE]) + NODE_COUNTS;
}

/* Entry @index: key, value, the next one of its bucket. */
static inline uint64_t *node_entry(uint64_t map, uint64_t index)
{
	uint64_t *counts = node_counts(map);

	return counts + 3 + (counts[2] >> 32) + 3 * index;
}

static inline void node_put(uint64_t map, uint64_t key, int32_t hash, uint64_t value)
{
	uint64_t *counts = node_counts(map);
	uint64_t *head = counts + 3 + ((uint64_t)hash & ((counts[2] >> 32) - 1));
	uint64_t index = (counts[0] >> 32) + (counts[1] >> 32), *entry = node_entry(map, index);

	entry[0] = key;
	entry[1] = value;
	entry[2] = *head;
	*head = node_small((int64_t)index);
	counts[0] += node_small(1);
}

/* What is deleted keeps its place in the chain. */
static inline void node_delete(uint64_t map, uint64_t index, uint64_t hole)
{
	node_entry(map, index)[0] = node_entry(map, index)[1] = hole;
	node_counts(map)[0] -= node_small(1);
	node_counts(map)[1] += node_small(1);
}

/* A wrapper whose word @slot is @pointer. What follows it is an object, too. */
static inline uint64_t node_wrap(struct node_heap *h, uint64_t slot, const void *pointer)
{
	uint64_t wrapper = node_new(h, slot + 1), next = node_new(h, 1);

	node_at(wrapper)[slot] = (uint64_t)(uintptr_t)pointer;
	node_at(next)[0] = h->word[NODE_HANDLE];
	return wrapper;
}

/* What runs from now on; 0 = nothing. */
static inline void node_run(struct node_heap *h, const struct weft_nodejs_variable *v, uint64_t map)
{
	h->word[NODE_CPED] = map ? map : v->undefined;
}

#endif
