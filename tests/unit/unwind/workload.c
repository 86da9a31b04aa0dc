/* SPDX-License-Identifier: Apache-2.0 */
/* See workload.h. */
#include "workload.h"

#include <alloca.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OTHER_STACK 65536

volatile uint64_t workload_left_at;
static char *other_stack;
static volatile unsigned int sink;
static _Thread_local unsigned int state;

static unsigned int next_random(void)
{
	state = state * 1664525u + 1013904223u;
	return state >> 8;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

__attribute__((noinline)) static void sorting(unsigned int count)
{
	int numbers[256];

	for (unsigned int i = 0; i < count; i++)
		numbers[i] = (int)next_random();
	qsort(numbers, count, sizeof(*numbers), compare);
	sink += (unsigned int)numbers[count / 2];
}

__attribute__((noinline)) static void matching(void)
{
	char text[] = "the quick brown fox jumps over the lazy dog 0123456789 and again";
	regex_t re;

	if (regcomp(&re, "([a-z]+ )*([0-9]+) (and|or) a(ga)?in$", REG_EXTENDED) != 0)
		abort();
	sink += (unsigned int)regexec(&re, text, 0, NULL, 0);
	regfree(&re);
}

__attribute__((noinline)) static void printing(void)
{
	char text[256];

	sink += (unsigned int)snprintf(text, sizeof(text), "%d %s %f %p %20.10e %*d", (int)sink,
				       "words", (double)sink / 3.0, (void *)&sink,
				       (double)next_random(), 12, 7);
	sink += (unsigned int)(long long)atof(text);
}

__attribute__((noinline)) static unsigned int recursion(unsigned int depth)
{
	volatile char room[32];

	room[depth % 32] = (char)depth;
	if (depth == 0) {
		sorting(40);
		return 1;
	}
	return recursion(depth - 1) + (unsigned int)room[depth % 32];
}

__attribute__((noinline)) static void variable_room(unsigned int bytes)
{
	char *room = alloca(bytes);

	memset(room, (int)bytes, bytes);
	sink += (unsigned int)strlen(strcpy(room, "something to measure"));
	sorting(30);
	sink += (unsigned int)room[bytes / 2];
}

typedef double wide __attribute__((vector_size(64)));

/* A stack aligned by hand, which the CFA is read back from by a dereference. */
__attribute__((noinline)) static void realigned(unsigned int bytes)
{
	volatile wide value = {1, 2, 3, 4, 5, 6, 7, 8};
	char *room = alloca(bytes);

	memset(room, 3, bytes);
	sorting(20);
	value += value;
	sink += (unsigned int)value[3] + (unsigned int)room[bytes / 2];
}

__attribute__((noinline)) static void allocating(void)
{
	char *blocks[32];

	for (unsigned int i = 0; i < 32; i++) {
		size_t bytes = 16 + next_random() % 3000;

		blocks[i] = malloc(bytes);
		memset(blocks[i], (int)i, bytes);
	}
	for (unsigned int i = 0; i < 32; i++)
		free(blocks[(i * 7) % 32]);
}

/* In the vdso for the most part. */
__attribute__((noinline)) static void looking_at_the_clock(void)
{
	struct timespec t;

	for (unsigned int i = 0; i < 200; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		sink += (unsigned int)t.tv_nsec;
	}
}

/* Through the PLT for the most part. */
__attribute__((noinline)) static void small_calls(void)
{
	for (int i = 0; i < 300; i++)
		sink += (unsigned int)abs((int)sink) + (unsigned int)labs((long)i);
}

static void on_signal(int number)
{
	(void)number;
	recursion(5);
	printing();
}

__attribute__((noinline)) static void in_a_handler(void)
{
	raise(SIGUSR1);
}

__attribute__((noinline)) static void on_another_stack(void)
{
	workload_left_at = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	raise(SIGUSR2);
	workload_left_at = 0;
}

void workload_start(void)
{
	struct sigaction act = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &act, NULL);
	act.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &act, NULL);
	other_stack = malloc(OTHER_STACK);
	if (!other_stack ||
	    sigaltstack(&(stack_t){.ss_sp = other_stack, .ss_size = OTHER_STACK}, NULL) != 0)
		abort();
}

int workload_other_stack(uint64_t *start, uint64_t *end)
{
	*start = (uint64_t)(uintptr_t)other_stack;
	*end = *start + OTHER_STACK;
	return other_stack != NULL;
}

void workload_round(unsigned int seed)
{
	state = seed;
	sorting(200);
	matching();
	printing();
	recursion(30 + seed % 20);
	variable_room(100 + seed % 3000);
	realigned(100 + seed % 2000);
	allocating();
	looking_at_the_clock();
	small_calls();
	in_a_handler();
	on_another_stack();
}
