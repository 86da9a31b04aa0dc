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

/* The same walk by single general steps: what the walker has shortcuts for must not show. */
static size_t walk_slowly(struct unwind_registers regs, const struct unwind_memory *memory,
			  const struct unwind_table *t, uint64_t *frames, size_t max,
			  enum unwind_end *end)
{
	int fp = unwind_fp_register(t->machine), exact = 1, guessed = 0, stop;
	const struct unwind_rule *rule;
	size_t count = 0;

	while (count < max) {
		struct unwind_module module = {.table = NULL};
		uint64_t pc = regs.pc - (exact ? 0 : 1);

		if (find((void *)(uintptr_t)t, pc, &module)) {
			*end = guessed ? UNWIND_END_NO_RULE : UNWIND_END_NO_MODULE;
			if (!guessed)
				frames[count++] = regs.pc;
			return count;
		}
		frames[count++] = regs.pc;
		rule = unwind_table_find(t, pc - BIAS);
		*end = UNWIND_END_OUTERMOST;
		if (rule ? rule->cfa == UNWIND_CFA_END
			 : !exact && (regs.valid >> fp & 1) && regs.r[fp] == 0)
			return count;
		*end = UNWIND_END_MAX_FRAMES;
		if (count == max)
			return count;
		stop = unwind_step(&regs, rule, memory, t->machine);
		*end = (enum unwind_end)stop;
		if (stop)
			return count;
		if (regs.pc == 0) {
			*end = (regs.valid >> fp & 1) && regs.r[fp] == 0 ? UNWIND_END_OUTERMOST
									 : UNWIND_END_NO_MODULE;
			return count;
		}
		guessed = !rule;
		exact = rule && (rule->cfa == UNWIND_CFA_SIGNAL || rule->flags);
	}
	return count;
}

static void walk_twice(const struct unwind_table *t, struct unwind_registers *regs,
		       const struct unwind_memory *memory, size_t max)
{
	uint64_t frames[FRAMES], again[FRAMES];
	enum unwind_end end = UNWIND_END_COUNT, same = UNWIND_END_COUNT;
	size_t count = walk_slowly(*regs, memory, t, again, max, &same);

	if (unwind_walk(regs, memory, find, (void *)(uintptr_t)t, t->machine, frames, max, &end) !=
		    count ||
	    count > max || end != same || end >= UNWIND_END_COUNT)
		abort();
	if (memcmp(frames, again, count * sizeof(*frames)) != 0)
		abort();
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
	size_t max = 1 + (size_t)recipe_take(r, 1) % FRAMES;

	regs.pc = BIAS + t->pc_base + recipe_take(r, 2);
	for (unsigned int i = 0; i < UNWIND_REGISTERS; i++)
		regs.r[i] = recipe_word(r, BIAS + t->pc_base, STACK);
	for (size_t i = 0; i < low_words; i++)
		low[i] = recipe_word(r, BIAS + t->pc_base, STACK);
	for (size_t i = 0; i < high_words; i++)
		high[i] = recipe_word(r, BIAS + t->pc_base, STACK);
	walk_twice(t, &regs, &lower, max);
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
