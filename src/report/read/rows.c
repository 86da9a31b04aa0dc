/* SPDX-License-Identifier: Apache-2.0 */
/* See rows.h. The index has the number of each row; 0 is one whose row could not be made. */
#include "report/read/rows.h"

#include "base/array.h"
#include "base/map.h"

#include <string.h>

uint32_t rows_put(struct map **index, const void *key, size_t bytes, void *array_pointer,
		  uint32_t *count, size_t *room, size_t each)
{
	char **array = array_pointer, *bigger;
	uint64_t *number;

	if (!*index)
		*index = map_new();
	number = *index ? map_put(*index, key, bytes, NULL) : NULL;
	if (!number || *number)
		return number ? (uint32_t)*number : 0;
	bigger = *count < UINT32_MAX ? array_grown(*array, *count + 1u, room, each) : NULL;
	if (!bigger)
		return 0;
	*array = bigger;
	memset(bigger + *count * each, 0, each);
	*number = ++*count;
	return *count;
}
