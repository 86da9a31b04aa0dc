/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that comes and goes: NAME_outer calls NAME_middle calls NAME_inner, which uses
 * CPU time until it is told to stop. NAME is in every function's name, so that a recording
 * shows whose code was named. BALLAST makes the library another size.
 */
#include <stddef.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define FUNCTION(part) JOIN(NAME, part)

#ifdef BALLAST
int FUNCTION(_ballast)(int x);
__attribute__((noinline)) int FUNCTION(_ballast)(int x)
{
	volatile char room[BALLAST];

	for (int i = 0; i < x; i++)
		room[(unsigned int)i % BALLAST] = (char)(room[(unsigned int)i % BALLAST] * x + i);
	__asm__ volatile(".skip 20000");
	return room[0];
}
#endif

static volatile unsigned long sink;

__attribute__((noinline)) static unsigned long FUNCTION(_inner)(unsigned long rounds)
{
	unsigned long x = rounds;

	for (unsigned long i = 0; i < rounds; i++)
		x = x * 6364136223846793005UL + i;
	sink = x;
	return x;
}

__attribute__((noinline)) static unsigned long FUNCTION(_middle)(unsigned long rounds)
{
	volatile unsigned long before = rounds;

	return FUNCTION(_inner)(rounds) + before;
}

unsigned long plugin_run(unsigned long rounds);
__attribute__((noinline)) unsigned long plugin_run(unsigned long rounds)
{
	volatile unsigned long sum = FUNCTION(_middle)(rounds);

	return sum + 1;
}
