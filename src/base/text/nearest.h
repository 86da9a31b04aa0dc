/* SPDX-License-Identifier: Apache-2.0 */
/* Which known name did a person mean? By the fewest typing errors. */
#ifndef WEFT_BASE_TEXT_NEAREST_H
#define WEFT_BASE_TEXT_NEAREST_H

#include <stddef.h>

#define NEAREST_NAME_MAX 63 /* longer names are never near */

/*
 * Typing errors (a character added, dropped, replaced, or two swapped) between two names:
 * the restricted edit distance of Damerau and Levenshtein. Too long: NEAREST_NAME_MAX + 1.
 */
size_t nearest_distance(const char *a, const char *b);

/* A search: start with {typed, NULL, 0}, offer every known name, read .best (NULL: none). */
struct nearest {
	const char *typed;
	const char *best;
	size_t distance;
};

void nearest_offer(struct nearest *search, const char *name);

#endif
