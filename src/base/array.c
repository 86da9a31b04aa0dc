/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow: see array.h. */
#include "base/array.h"

#include <stdlib.h>

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
