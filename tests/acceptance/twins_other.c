/* SPDX-License-Identifier: Apache-2.0 */
/* The other function of the name: see twins.c. Its code is of another length. */
#include <stdint.h>

uint64_t twins_other(uint64_t x);

static __attribute__((noinline)) uint64_t twin(uint64_t x)
{
	uint64_t sum = x;

	for (int i = 0; i < 30000; i++)
		sum = sum / (uint64_t)(i | 1) + (x ^ (uint64_t)i) % 1009;
	return sum;
}

uint64_t twins_other(uint64_t x)
{
	return twin(x) | 1;
}
