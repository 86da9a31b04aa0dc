/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from byte strings to 64-bit numbers, keys copied. For interning: strings,
 * stacks, methods. Allocates; not for the target's paths.
 */
#ifndef WEFT_BASE_MAP_H
#define WEFT_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map;

struct map *map_new(void);
void map_free(struct map *m); /* takes NULL */
/* The same of a map whose values are addresses, each of which @destroy gets first; NULL, too. */
void map_free_values(struct map *m, void (*destroy)(void *value));
void map_clear(struct map *m); /* keeps its room */
size_t map_count(const struct map *m);
/* The value of @key, or NULL. The pointer is valid until the next map_put() or map_remove(). */
uint64_t *map_get(const struct map *m, const void *key, size_t bytes);
/* The value of @key, added as 0 if it is new (*fresh = 1); NULL: out of memory. */
uint64_t *map_put(struct map *m, const void *key, size_t bytes, int *fresh);
/* The same of a key that numbers and a text make. */
uint64_t *map_put_text(struct map *m, const uint64_t *numbers, size_t count, const char *text,
		       int *fresh);
/* Takes @key out: 1, or 0 when it was not there. Not while map_next() goes through the map. */
int map_remove(struct map *m, const void *key, size_t bytes);
/* Iterates: *cursor from 0; returns 0 at the end. */
int map_next(const struct map *m, size_t *cursor, const void **key, size_t *bytes,
	     uint64_t **value);

#endif
