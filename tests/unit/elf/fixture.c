/* SPDX-License-Identifier: Apache-2.0 */
/* A library with every kind of name that test_names asks for. */
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, used))

int fixture_plain(int x);
int __fixture_plain(int x);
int fixture_weak(int x);
int fixture_calls_out(const char *text);
int fixture_frames(int depth);
int cpp_method(int x) __asm__("_ZN4demo6Widget4drawEi");
int rust_legacy(int x) __asm__("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE");
int rust_v0(int x) __asm__("_RNvC6_123foo3bar");

int __fixture_plain(int x)
{
	return x + 1;
}
int fixture_plain(int x) __attribute__((alias("__fixture_plain")));
int fixture_weak(int x) __attribute__((weak, alias("__fixture_plain")));

static NOINLINE int fixture_static(int x)
{
	return x * 3;
}

int cpp_method(int x)
{
	return fixture_static(x) + 2;
}

int rust_legacy(int x)
{
	return x + 3;
}

int rust_v0(int x)
{
	return x + 4;
}

int fixture_calls_out(const char *text)
{
	return (int)strlen(text) + (getenv(text) != NULL);
}

/* A frame on a stack aligned by hand. */
int fixture_frames(int depth)
{
	volatile char room[64] __attribute__((aligned(64)));

	room[depth & 63] = (char)depth;
	return depth > 0 ? fixture_frames(depth - 1) + room[depth & 63] : 0;
}

/* Assembler without type or size, as hand-written code often is. */
__asm__(".text\n"
	".globl fixture_assembler\n"
	"fixture_assembler:\n"
	"	nop\n"
	"	nop\n"
	"	ret\n"
	".globl fixture_after\n"
	".type fixture_after, %function\n"
	"fixture_after:\n"
	"	ret\n"
	".size fixture_after, .-fixture_after\n");
