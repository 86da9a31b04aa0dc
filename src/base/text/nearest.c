/* SPDX-License-Identifier: Apache-2.0 */
/* Three rows of the edit-distance matrix; names are short. */
#include "base/text/nearest.h"

#include <string.h>

#define ROW (NEAREST_NAME_MAX + 1)

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void fill_row(size_t *now, const size_t *last, const size_t *before, const char *a,
		     const char *b, size_t i)
{
	size_t length = strlen(b);

	now[0] = i;
	for (size_t j = 1; j <= length; j++) {
		now[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
		now[j] = least(now[j], least(last[j], now[j - 1]) + 1);
		if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
			now[j] = least(now[j], before[j - 2] + 1);
	}
}

size_t nearest_distance(const char *a, const char *b)
{
	size_t rows[3][ROW] = {{0}};
	size_t length_a = strlen(a), length_b = strlen(b);

	if (length_a > NEAREST_NAME_MAX || length_b > NEAREST_NAME_MAX)
		return NEAREST_NAME_MAX + 1;
	for (size_t j = 0; j <= length_b; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= length_a; i++)
		fill_row(rows[i % 3], rows[(i + 2) % 3], rows[(i + 1) % 3], a, b, i);
	return rows[length_a % 3][length_b];
}

static size_t tolerated(const char *typed)
{
	return 1 + strlen(typed) / 4;
}

static int is_beginning(const char *typed, const char *name)
{
	size_t length = strlen(typed);

	return length >= 2 && !strncmp(typed, name, length);
}

void nearest_offer(struct nearest *search, const char *name)
{
	size_t distance = nearest_distance(search->typed, name);

	if (is_beginning(search->typed, name))
		distance = 1;
	if (distance > tolerated(search->typed) || distance >= strlen(name))
		return;
	if (search->best && search->distance <= distance)
		return;
	search->best = name;
	search->distance = distance;
}
