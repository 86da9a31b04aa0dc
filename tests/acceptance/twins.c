/* SPDX-License-Identifier: Apache-2.0 */
/* twins MS: uses MS milliseconds of CPU time in two functions of one name, of which each file has
 * one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t twins_other(uint64_t x);

static __attribute__((noinline)) uint64_t twin(uint64_t x)
{
	for (int i = 0; i < 100000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

int main(int argc, char **argv)
{
	clock_t end = (argc > 1 ? atol(argv[1]) : 500) * (CLOCKS_PER_SEC / 1000);
	uint64_t x = 1;

	while (clock() < end)
		x = twin(x) + twins_other(x);
	printf("%llu\n", (unsigned long long)x);
	return 0;
}
