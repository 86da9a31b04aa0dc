/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: each form of rule takes the walker one frame up, on both machines; every way
 * to stop has its own word; and no input makes a walk read outside its memory or run on.
 */
#include "tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STACK UINT64_C(0x7ffe0000)
#define WORDS 128
#define SP_AT(word) (STACK + 8 * (uint64_t)(word))

enum { RBX = 3, RBP = 6, RSP = 7, R8 = 8, R12 = 12, FP = 29, LR = 30, SP = 31 };

struct stack {
	uint64_t words[WORDS];
	struct unwind_memory memory;
};

static void stack_init(struct stack *s)
{
	for (unsigned int i = 0; i < WORDS; i++)
		s->words[i] = 0xdead0000 + i;
	s->memory = (struct unwind_memory){
		.bytes = (const uint8_t *)s->words, .address = STACK, .size = sizeof(s->words)};
}

static struct unwind_registers registers(int sp, uint64_t value)
{
	struct unwind_registers regs = {.valid = (UINT64_C(1) << 32) - 1, .pc = 0x1000};

	for (unsigned int i = 0; i < 32; i++)
		regs.r[i] = 0x1111 * i;
	regs.r[sp] = value;
	return regs;
}

static struct unwind_rule sp_rule(int machine, int32_t offset)
{
	return (struct unwind_rule){.cfa = UNWIND_CFA_REGISTER,
				    .cfa_register = (uint8_t)unwind_sp_register(machine),
				    .cfa_offset = offset,
				    .ra = UNWIND_AT_CFA,
				    .ra_offset = -1};
}

static int is_valid(const struct unwind_registers *regs, int number)
{
	return (int)(regs->valid >> number & 1);
}

static void register_and_saves(void **state)
{
	struct unwind_registers regs = registers(RSP, SP_AT(40));
	struct unwind_rule rule = sp_rule(UNWIND_X86_64, 32);
	struct stack s;

	(void)state;
	stack_init(&s);
	rule.saves = UNWIND_AT_CFA | UNWIND_AT_CFA << 2 | UNWIND_LOST << 4;
	rule.slot[0] = -2;
	rule.slot[1] = -3;
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_X86_64), 0);
	assert_int_equal(regs.pc, s.words[43]);
	assert_int_equal(regs.r[RSP], SP_AT(44));
	assert_int_equal(regs.r[RBP], s.words[42]);
	assert_int_equal(regs.r[RBX], s.words[41]);
	assert_false(is_valid(&regs, R12)); /* lost */
	assert_false(is_valid(&regs, R8));  /* a call does not preserve it */
	assert_true(is_valid(&regs, 13) && regs.r[13] == 13 * 0x1111);
}

static void saves_that_hang_on_the_frame_pointer(void **state)
{
	struct unwind_registers regs = registers(RSP, SP_AT(20));
	struct unwind_rule rule = {.cfa = UNWIND_CFA_DEREF,
				   .cfa_register = RBP,
				   .cfa_offset = -8,
				   .cfa_extra = 16,
				   .ra = UNWIND_AT_CFA,
				   .ra_offset = -1,
				   .saves = UNWIND_AT_FP | UNWIND_AT_FP << 2,
				   .slot = {0, -2}};
	struct stack s;

	(void)state;
	stack_init(&s);
	regs.r[RBP] = SP_AT(50);
	s.words[49] = SP_AT(60);
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_X86_64), 0);
	assert_int_equal(regs.r[RSP], SP_AT(62));
	assert_int_equal(regs.pc, s.words[61]);
	assert_int_equal(regs.r[RBP], s.words[50]);
	assert_int_equal(regs.r[RBX], s.words[48]);
	/* Without one they are lost. */
	rule.cfa = UNWIND_CFA_REGISTER;
	rule.cfa_register = RSP;
	rule.cfa_offset = 16;
	regs.r[RSP] = SP_AT(70);
	regs.valid &= ~(UINT64_C(1) << RBP);
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_X86_64), 0);
	assert_false(is_valid(&regs, RBX) || is_valid(&regs, RBP));
}

/* In an epilogue the rule for a register can outlive its pop. */
static void slots_below_the_red_zone_are_dead(void **state)
{
	struct unwind_registers regs = registers(RSP, SP_AT(60));
	struct unwind_rule rule = sp_rule(UNWIND_X86_64, 8);
	struct stack s;

	(void)state;
	stack_init(&s);
	rule.saves = UNWIND_AT_CFA | UNWIND_AT_CFA << 2;
	rule.slot[0] = -1 - 17; /* one word below the red zone */
	rule.slot[1] = -1 - 16; /* its lowest word */
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_X86_64), 0);
	assert_int_equal(regs.r[RBP], 0x1111 * RBP);
	assert_int_equal(regs.r[RBX], s.words[60 - 16]);
}

static void plt_on_both_sides_of_its_push(void **state)
{
	static const struct unwind_rule rule = {.cfa = UNWIND_CFA_PLT,
						.cfa_register = RSP,
						.cfa_offset = 11,
						.ra = UNWIND_AT_CFA,
						.ra_offset = -1};
	struct stack s;

	(void)state;
	stack_init(&s);
	for (uint64_t pc = 0x1020; pc < 0x1030; pc++) {
		struct unwind_registers regs = registers(RSP, SP_AT(30));
		unsigned int pushed = (pc & 15) >= 11;

		regs.pc = pc;
		assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_X86_64), 0);
		assert_int_equal(regs.pc, s.words[30 + pushed]);
		assert_int_equal(regs.r[RSP], SP_AT(31 + pushed));
	}
}

/* Against the kernel's own headers: tests/unit/unwind/test_backtrace.c. */
static void signal_frames(void **state)
{
	static const struct unwind_rule rule = {.cfa = UNWIND_CFA_SIGNAL};
	struct unwind_registers regs = registers(RSP, SP_AT(10));
	struct stack s;

	(void)state;
	stack_init(&s);
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_X86_64), 0);
	assert_int_equal(regs.r[R8], s.words[10 + 5]);
	assert_int_equal(regs.r[RBP], s.words[10 + 5 + 10]);
	assert_int_equal(regs.r[RSP], s.words[10 + 5 + 15]);
	assert_int_equal(regs.pc, s.words[10 + 5 + 16]);
	assert_int_equal(regs.valid, 0xffff);
	regs = registers(SP, SP_AT(10));
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_AARCH64), 0);
	assert_int_equal(regs.r[0], s.words[10 + 39]);
	assert_int_equal(regs.r[LR], s.words[10 + 39 + 30]);
	assert_int_equal(regs.r[SP], s.words[10 + 39 + 31]);
	assert_int_equal(regs.pc, s.words[10 + 39 + 32]);
	regs = registers(SP, SP_AT(100));
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_AARCH64),
			 UNWIND_END_COPY_LIMIT);
	assert_int_equal(regs.pc, 0x1000);
}

static void aarch64_leaf_and_signed_addresses(void **state)
{
	static const struct unwind_rule leaf = {.cfa = UNWIND_CFA_REGISTER,
						.cfa_register = SP,
						.ra = UNWIND_IN_REGISTER,
						.ra_offset = LR};
	struct unwind_rule rule = sp_rule(UNWIND_AARCH64, 32);
	struct unwind_registers regs = registers(SP, SP_AT(20));
	struct stack s;

	(void)state;
	stack_init(&s);
	regs.r[LR] = UINT64_C(0x002b00aabbccddee);
	assert_int_equal(unwind_step(&regs, &leaf, &s.memory, UNWIND_AARCH64), 0);
	assert_int_equal(regs.pc, UINT64_C(0xaabbccddee));
	assert_int_equal(regs.r[SP], SP_AT(20));
	/* x30 is used up: a caller cannot be a leaf as well. */
	assert_int_equal(unwind_step(&regs, &leaf, &s.memory, UNWIND_AARCH64), UNWIND_END_NO_RULE);
	rule.ra_offset = -3;
	rule.saves = UNWIND_AT_CFA | UNWIND_AT_CFA << 2;
	rule.slot[0] = -4;
	rule.slot[1] = -2;
	s.words[21] = UINT64_C(0xff2a000000401234);
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_AARCH64), 0);
	assert_int_equal(regs.pc, 0x401234);
	assert_int_equal(regs.r[FP], s.words[20]);
	assert_int_equal(regs.r[19], s.words[22]);
}

static void frame_pointers(void **state)
{
	struct unwind_registers regs = registers(RSP, SP_AT(10));
	struct stack s;

	(void)state;
	stack_init(&s);
	regs.r[RBP] = SP_AT(20);
	s.words[20] = SP_AT(30);
	s.words[21] = 0x4444;
	assert_int_equal(unwind_step(&regs, NULL, &s.memory, UNWIND_X86_64), 0);
	assert_int_equal(regs.pc, 0x4444);
	assert_int_equal(regs.r[RBP], SP_AT(30));
	assert_int_equal(regs.r[RSP], SP_AT(22));
	regs.r[RBP] = SP_AT(30) + 4; /* not aligned */
	assert_int_equal(unwind_step(&regs, NULL, &s.memory, UNWIND_X86_64), UNWIND_END_NO_RULE);
	regs.r[RBP] = SP_AT(21); /* below SP */
	assert_int_equal(unwind_step(&regs, NULL, &s.memory, UNWIND_X86_64), UNWIND_END_NO_RULE);
	regs.r[RBP] = SP_AT(30);
	s.words[30] = SP_AT(30); /* does not grow */
	assert_int_equal(unwind_step(&regs, NULL, &s.memory, UNWIND_X86_64), UNWIND_END_NO_RULE);
	regs.r[RBP] = SP_AT(WORDS);
	assert_int_equal(unwind_step(&regs, NULL, &s.memory, UNWIND_X86_64), UNWIND_END_COPY_LIMIT);
}

static void bad_steps_change_nothing(void **state)
{
	struct unwind_rule rule = sp_rule(UNWIND_X86_64, 8);
	struct unwind_registers regs = registers(RSP, SP_AT(10)), before = regs;
	struct stack s;

	(void)state;
	stack_init(&s);
	rule.cfa_offset = 8 * WORDS;
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_X86_64),
			 UNWIND_END_COPY_LIMIT);
	rule.cfa_offset = -8 * 20;
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_X86_64), UNWIND_END_BAD_READ);
	rule.cfa_offset = 0; /* the CFA must grow */
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_X86_64), UNWIND_END_BAD_READ);
	assert_memory_equal(&regs, &before, sizeof(regs));
	regs.valid &= ~(UINT64_C(1) << RSP);
	assert_int_equal(unwind_step(&regs, &rule, &s.memory, UNWIND_X86_64), UNWIND_END_NO_RULE);
}

/* A program of functions of 256 bytes, each with its rule, from 0x401000 on. */
enum { F_LEAF, F_MIDDLE, F_NONE, F_SIGNAL, F_OUTER, F_COUNT };
#define CODE UINT64_C(0x401000)
#define IN(function) (CODE + 256 * (uint64_t)(function))

struct program {
	struct unwind_table *table;
	uint64_t asked[64];
	unsigned int asked_count;
};

static int find(void *arg, uint64_t pc, struct unwind_module *out)
{
	struct program *p = arg;

	p->asked[p->asked_count++ % 64] = pc;
	if (pc < CODE || pc >= IN(F_COUNT))
		return -1;
	out->start = CODE;
	out->end = IN(F_COUNT);
	out->bias = 0x400000;
	out->table = p->table;
	return 0;
}

static void program_init(struct program *p)
{
	const struct unwind_rule rules[] = {
		sp_rule(UNWIND_X86_64, 16),
		sp_rule(UNWIND_X86_64, 32),
		{.cfa = UNWIND_CFA_SIGNAL},
		{.cfa = UNWIND_CFA_END},
	};
	const struct table_row rows[] = {
		{IN(F_LEAF) - 0x400000, 1},  {IN(F_MIDDLE) - 0x400000, 2},
		{IN(F_NONE) - 0x400000, 0},  {IN(F_SIGNAL) - 0x400000, 3},
		{IN(F_OUTER) - 0x400000, 4},
	};

	p->asked_count = 0;
	p->table = table_new(UNWIND_X86_64, rows, F_COUNT, rules, 4, IN(F_COUNT) - 0x400000);
	assert_int_equal(unwind_table_check(p->table, p->table->bytes), 0);
}

static size_t walk(struct program *p, struct stack *s, uint64_t pc, uint64_t *frames, size_t max,
		   enum unwind_end *end)
{
	struct unwind_registers regs = registers(RSP, SP_AT(10));

	regs.pc = pc;
	p->asked_count = 0;
	return unwind_walk(&regs, &s->memory, find, p, UNWIND_X86_64, frames, max, end);
}

static void whole_walks(void **state)
{
	struct program p;
	struct stack s;
	uint64_t frames[8];
	enum unwind_end end;

	(void)state;
	program_init(&p);
	stack_init(&s);
	s.words[15] = IN(F_OUTER) + 9;
	s.words[11] = IN(F_MIDDLE) + 5;
	assert_int_equal(walk(&p, &s, IN(F_LEAF), frames, 8, &end), 3);
	assert_int_equal(end, UNWIND_END_OUTERMOST);
	assert_int_equal(frames[0], IN(F_LEAF));
	assert_int_equal(frames[1], IN(F_MIDDLE) + 5);
	assert_int_equal(frames[2], IN(F_OUTER) + 9);
	assert_int_equal(p.asked[0], IN(F_LEAF));
	assert_int_equal(p.asked[1], IN(F_MIDDLE) + 4);
	assert_int_equal(walk(&p, &s, IN(F_LEAF), frames, 2, &end), 2);
	assert_int_equal(end, UNWIND_END_MAX_FRAMES);
	assert_int_equal(walk(&p, &s, IN(F_LEAF), frames, 0, &end), 0);
	assert_int_equal(end, UNWIND_END_MAX_FRAMES);
	free(p.table);
}

static void ends(void **state)
{
	struct program p;
	struct stack s;
	uint64_t frames[8];
	enum unwind_end end;

	(void)state;
	program_init(&p);
	stack_init(&s);
	s.words[11] = 0x999;
	assert_int_equal(walk(&p, &s, IN(F_LEAF), frames, 8, &end), 2);
	assert_int_equal(end, UNWIND_END_NO_MODULE);
	assert_int_equal(frames[1], 0x999);
	s.words[11] = IN(F_NONE) + 1;
	assert_int_equal(walk(&p, &s, IN(F_LEAF), frames, 8, &end), 2);
	assert_int_equal(end, UNWIND_END_NO_RULE);
	s.words[11] = 0;
	assert_int_equal(walk(&p, &s, IN(F_LEAF), frames, 8, &end), 1);
	assert_int_equal(end, UNWIND_END_NO_MODULE);
	s.memory.size = 8 * 11;
	assert_int_equal(walk(&p, &s, IN(F_LEAF), frames, 8, &end), 1);
	assert_int_equal(end, UNWIND_END_COPY_LIMIT);
	s.memory.address += 8 * 12;
	assert_int_equal(walk(&p, &s, IN(F_LEAF), frames, 8, &end), 1);
	assert_int_equal(end, UNWIND_END_BAD_READ);
	free(p.table);
}

/* A frame guessed by the frame pointer counts only if code is there. */
static void guesses_are_confirmed(void **state)
{
	struct unwind_registers regs = registers(RSP, SP_AT(10));
	struct program p;
	struct stack s;
	uint64_t frames[8];
	enum unwind_end end;

	(void)state;
	program_init(&p);
	stack_init(&s);
	regs.pc = IN(F_NONE);
	regs.r[RBP] = SP_AT(20);
	s.words[20] = SP_AT(40);
	s.words[21] = IN(F_OUTER) + 3;
	assert_int_equal(unwind_walk(&regs, &s.memory, find, &p, UNWIND_X86_64, frames, 8, &end),
			 2);
	assert_int_equal(end, UNWIND_END_OUTERMOST);
	regs = registers(RSP, SP_AT(10));
	regs.pc = IN(F_NONE);
	regs.r[RBP] = SP_AT(20);
	s.words[21] = 0x5555;
	assert_int_equal(unwind_walk(&regs, &s.memory, find, &p, UNWIND_X86_64, frames, 8, &end),
			 1);
	assert_int_equal(end, UNWIND_END_NO_RULE);
	free(p.table);
}

/* The interrupted pc is exact: it may be a function's first byte. */
static void pc_above_a_signal_is_exact(void **state)
{
	struct program p;
	struct stack s, other;
	uint64_t frames[8];
	enum unwind_end end;

	(void)state;
	program_init(&p);
	stack_init(&s);
	stack_init(&other);
	other.memory.address = STACK + 0x100000;
	s.memory.next = &other.memory;
	s.words[11] = IN(F_SIGNAL) + 1;
	s.words[12 + 5 + 15] = other.memory.address + 8 * 4; /* interrupted SP */
	s.words[12 + 5 + 16] = IN(F_MIDDLE);                 /* and pc */
	other.words[7] = IN(F_OUTER) + 1;
	assert_int_equal(walk(&p, &s, IN(F_LEAF), frames, 8, &end), 4);
	assert_int_equal(end, UNWIND_END_OUTERMOST);
	assert_int_equal(frames[2], IN(F_MIDDLE));
	assert_int_equal(p.asked[1], IN(F_SIGNAL));
	assert_int_equal(p.asked[2], IN(F_MIDDLE));
	assert_int_equal(p.asked[3], IN(F_OUTER));
	free(p.table);
}

static struct unwind_rule any_rule(uint64_t *seed)
{
	struct unwind_rule r = {
		.cfa = (uint8_t)(1 + noise(seed) % 4),
		.cfa_register = (uint8_t)(noise(seed) % 2 ? RSP : noise(seed) % 17),
		.ra = (uint8_t)(1 + noise(seed) % 3),
		.flags = (uint8_t)(noise(seed) % 2),
		.cfa_offset = (int32_t)(noise(seed) % 8 ? noise(seed) % 64 : noise(seed)),
		.ra_offset = (int16_t)(noise(seed) % 16),
		.saves = (uint16_t)(noise(seed) & 0xfff),
	};

	if (r.ra != UNWIND_IN_REGISTER && noise(seed) % 2)
		r.ra_offset = -1;
	for (unsigned int i = 0; i < UNWIND_SLOTS; i++)
		r.slot[i] = (int16_t)(noise(seed) % 4 ? -(int)(noise(seed) % 8) : (int)noise(seed));
	return r;
}

/* Sanitizer builds see a read outside the copy. */
static void every_walk_ends(void **state)
{
	unsigned int ends_seen[UNWIND_END_COUNT] = {0};
	uint64_t seed = 42, *words = malloc(WORDS * 8);
	uint64_t frames[512];

	(void)state;
	for (unsigned int i = 0; i < 30000; i++) {
		struct unwind_registers regs = registers(RSP, SP_AT(noise(&seed) % WORDS));
		struct unwind_memory memory = {(const uint8_t *)words, STACK, WORDS * 8, NULL};
		struct unwind_rule rules[4];
		const struct table_row rows[] = {
			{0x1000, 1}, {0x1100, 2}, {0x1200, 3}, {0x1300, 4}};
		struct program p = {.asked_count = 0};
		enum unwind_end end;

		for (unsigned int j = 0; j < 4; j++)
			rules[j] = any_rule(&seed);
		for (unsigned int j = 0; j < WORDS; j++)
			words[j] = noise(&seed) % 3 ? CODE + noise(&seed) % 0x400
						    : SP_AT(noise(&seed) % WORDS);
		regs.pc = CODE;
		regs.r[RBP] = SP_AT(noise(&seed) % WORDS);
		p.table = table_new(UNWIND_X86_64, rows, 4, rules, 4, 0x1400);
		assert_int_equal(unwind_table_check(p.table, p.table->bytes), 0);
		assert_true(unwind_walk(&regs, &memory, find, &p, UNWIND_X86_64, frames, 512,
					&end) <= 512);
		ends_seen[end]++;
		free(p.table);
	}
	assert_true(ends_seen[UNWIND_END_COPY_LIMIT] && ends_seen[UNWIND_END_BAD_READ] &&
		    ends_seen[UNWIND_END_NO_MODULE] && ends_seen[UNWIND_END_NO_RULE]);
	free(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(register_and_saves),
		cmocka_unit_test(saves_that_hang_on_the_frame_pointer),
		cmocka_unit_test(slots_below_the_red_zone_are_dead),
		cmocka_unit_test(plt_on_both_sides_of_its_push),
		cmocka_unit_test(signal_frames),
		cmocka_unit_test(aarch64_leaf_and_signed_addresses),
		cmocka_unit_test(frame_pointers),
		cmocka_unit_test(bad_steps_change_nothing),
		cmocka_unit_test(whole_walks),
		cmocka_unit_test(ends),
		cmocka_unit_test(guesses_are_confirmed),
		cmocka_unit_test(pc_above_a_signal_is_exact),
		cmocka_unit_test(every_walk_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
