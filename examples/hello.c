/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that weft needs: two jobs, each under a span of its own.
 *
 *   cc hello.c -lweft && weft record ./a.out && weft report --by tag:job
 */
#include <stdint.h>
#include <stdio.h>
#include <weft/context.h>

/* Something for the CPU to do: Collatz chains of the first @limit numbers. */
static __attribute__((noinline)) uint64_t count_steps(uint64_t limit)
{
	uint64_t steps = 0;

	for (uint64_t start = 1; start <= limit; start++)
		for (uint64_t n = start; n != 1; steps++)
			n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}

int main(void)
{
	struct weft_context small = {.span_id = 1, .root_span_id = 1};
	struct weft_context large = {.span_id = 2, .root_span_id = 2};

	weft_tag_name(0, "job");
	small.tags[0] = weft_tag_intern("small");
	large.tags[0] = weft_tag_intern("large");

	WEFT_SCOPE (&small) {
		printf("small: %llu steps\n", (unsigned long long)count_steps(1000000));
	}
	WEFT_SCOPE (&large) {
		printf("large: %llu steps\n", (unsigned long long)count_steps(3000000));
	}
	return 0;
}
