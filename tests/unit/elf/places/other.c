/* SPDX-License-Identifier: Apache-2.0 */
/* A second unit, in C, with code of its own and the same static names as the first. */
#include <stdlib.h>
#include <string.h>

int fixture_other(int x);

static inline __attribute__((always_inline)) int helper(int a)
{
	return a * 5 + 3;
}

static int compare(const void *a, const void *b)
{
	return helper(*(const int *)a) - helper(*(const int *)b);
}

__attribute__((noinline)) static int sum(const int *all, int count)
{
	int total = 0;

	for (int i = 0; i < count; i++)
		total += helper(all[i]);
	return total;
}

__attribute__((noinline)) int fixture_other(int x)
{
	int all[16];

	for (int i = 0; i < 16; i++)
		all[i] = (x * 31 + i * 17) % 97;
	qsort(all, 16, sizeof(all[0]), compare);
	return sum(all, 16) + helper(x);
}
