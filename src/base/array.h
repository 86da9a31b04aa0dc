/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow by doubling, and searching sorted ones. Not for the target's paths: it
 * allocates. */
#ifndef WEFT_BASE_ARRAY_H
#define WEFT_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/*
 * array_grown() - @array, maybe moved, with room for @need items of @each bytes; *room becomes the
 * number of items that fit. NULL: out of memory, the old array stays.
 *
 * 	struct thing *bigger = array_grown(a->item, a->count + 1, &a->room, sizeof(*a->item));
 * 	if (!bigger)
 * 		return -ENOMEM;
 * 	a->item = bigger;
 */
void *array_grown(void *array, size_t need, size_t *room, size_t each);

/*
 * array_add() - a new item, of any content, behind the *count of the array that the pointer at
 * @array leads to, which may move. NULL: out of memory, all is as before.
 *
 * 	struct thing *one = array_add(&a->item, &a->count, &a->room, sizeof(*one));
 */
void *array_add(void *array, size_t *count, size_t *room, size_t each);

/*
 * array_upto() - how many of @count items of @each bytes, sorted by the uint64_t that each has at
 * @key_at, have one that is not above @key.
 */
size_t array_upto(const void *items, size_t count, size_t each, size_t key_at, uint64_t key);

#endif
