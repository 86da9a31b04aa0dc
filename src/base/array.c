/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow, and sorted ones: see array.h. */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64

void *array_grown(void *array, size_t need, size_t *room, size_t each)
{
	size_t want = *room ? *room : ROOM_FIRST, bytes;
	void *bigger;

	if (array && need <= *room)
		return array;
	while (want < need)
		if (__builtin_mul_overflow(want, 2, &want))
			return NULL;
	if (__builtin_mul_overflow(want, each, &bytes))
		return NULL;
	bigger = realloc(array, bytes);
	if (bigger)
		*room = want;
	return bigger;
}

void *array_add(void *array, size_t *count, size_t *room, size_t each)
{
	void *items, *bigger;

	/* as bytes: pointers of all kinds have one size, and may not be accessed as void * */
	memcpy(&items, array, sizeof(items));
	bigger = array_grown(items, *count + 1, room, each);
	if (!bigger)
		return NULL;
	memcpy(array, &bigger, sizeof(bigger));
	return (char *)bigger + (*count)++ * each;
}

size_t array_upto(const void *items, size_t count, size_t each, size_t key_at, uint64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *item = (const char *)items + middle * each;

		if (*(const uint64_t *)(const void *)(item + key_at) <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
