/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: unwind tables, and walks by them. First byte even: the rest is a block that
 * may be a table; odd: a sound table is made of it, which may then be damaged. What passes
 * the check is looked up in and walked by; the walker must stay inside of what it was given
 * and come to an end.
 */
#include "table_recipe.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BIAS UINT64_C(0x500000000000)
#define STACK UINT64_C(0x7ff000000000)
#define STACK_WORDS 256
#define FRAMES 64

static int find(void *arg, uint64_t pc, struct unwind_module *out)
{
	const struct unwind_table *t = arg;

	if (pc < BIAS || pc - BIAS >= t->pc_end + 0x100)
		return -1;
	out->bias = BIAS;
	out->table = t;
	return 0;
}

/* Two stretches with a gap, each exactly as long as it says, so that no read beside is missed. */
static void walk(const struct unwind_table *t, struct recipe *r)
{
	size_t low_words = (size_t)recipe_take(r, 1), high_words = STACK_WORDS - low_words;
	uint64_t *low = malloc(low_words * 8 + 1), *high = malloc(high_words * 8 + 1);
	struct unwind_memory upper = {(const uint8_t *)high, STACK + low_words * 8 + 64,
				      high_words * 8, NULL};
	struct unwind_memory lower = {(const uint8_t *)low, STACK, low_words * 8, &upper};
	struct unwind_registers regs = {.valid = recipe_take(r, 8)};
	uint64_t frames[FRAMES];
	enum unwind_end end = UNWIND_END_COUNT;
	size_t max = 1 + (size_t)recipe_take(r, 1) % FRAMES;

	regs.pc = BIAS + t->pc_base + recipe_take(r, 2);
	for (unsigned int i = 0; i < UNWIND_REGISTERS; i++)
		regs.r[i] = recipe_word(r, BIAS + t->pc_base, STACK);
	for (size_t i = 0; i < low_words; i++)
		low[i] = recipe_word(r, BIAS + t->pc_base, STACK);
	for (size_t i = 0; i < high_words; i++)
		high[i] = recipe_word(r, BIAS + t->pc_base, STACK);
	if (unwind_walk(&regs, &lower, find, (void *)(uintptr_t)t, t->machine, frames, max, &end) >
		    max ||
	    end >= UNWIND_END_COUNT)
		abort();
	free(low);
	free(high);
}

static void use(const struct unwind_table *t, struct recipe *r)
{
	for (unsigned int i = 0; i < 32; i++)
		unwind_table_find(t, t->pc_base + recipe_take(r, 3));
	unwind_table_find(t, t->pc_base - 1);
	unwind_table_find(t, t->pc_end);
	for (unsigned int i = 0; i < 3; i++)
		walk(t, r);
}

static void damage(uint8_t *block, struct recipe *r)
{
	uint64_t count = recipe_take(r, 1);

	for (count = count < 128 ? 0 : count - 127; count > 0 && r->at < r->end; count--) {
		size_t at = (size_t)recipe_take(r, 2) % RECIPE_BYTES;

		block[at] = (uint8_t)recipe_take(r, 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recipe r = {data + 1, data + size};
	size_t bytes = RECIPE_BYTES;
	void *block;

	if (size < 1)
		return 0;
	if (data[0] & 1) {
		block = malloc(bytes);
		recipe_table(&r, data[0] & 2 ? UNWIND_AARCH64 : UNWIND_X86_64, block);
		if (unwind_table_check(block, bytes))
			abort();
		damage(block, &r);
	} else {
		bytes = size - 1;
		block = malloc(bytes + !bytes);
		memcpy(block, data + 1, bytes);
		r.at = bytes > 1024 ? r.end - 1024 : r.at;
	}
	if (unwind_table_check(block, bytes) == 0)
		use(block, &r);
	free(block);
	return 0;
}
