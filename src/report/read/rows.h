/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays of rows that are found by a key: equal keys lead to one row, which is zeroed when new.
 * Rows never go; they move when the array grows.
 */
#ifndef WEFT_REPORT_ROWS_H
#define WEFT_REPORT_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct map;

/*
 * rows_put() - the number, from 1, of the row of @key in the array that @array_pointer points to;
 * 0: out of memory. *index, NULL at first, belongs to the caller, who frees it; several arrays may
 * share it if their keys differ.
 */
uint32_t rows_put(struct map **index, const void *key, size_t bytes, void *array_pointer,
		  uint32_t *count, size_t *room, size_t each);

#endif
