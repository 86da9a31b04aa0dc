/* SPDX-License-Identifier: Apache-2.0 */
/* Frame pointers found by their place: made-up code and stacks, of both machines. */
#include "collector/walk/frame_scan.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * One module of code, 0x1000 to 0x3000: the function in question from 0x1000, others from 0x1800;
 * its callers from 0x2000, of which those from 0x2800 on need a frame pointer themselves. Another
 * module lies at 0x8000, memory for JIT code at 0x9000.
 */
#define SELF 0x1000
#define OTHER 0x1800
#define CALLER 0x2000
#define FP_CALLER 0x2800
#define FAR_CALLER 0x8000
#define JIT 0x9000
#define CODE_END 0xa000
#define STACK UINT64_C(0x7ffc0000)
#define WORDS 64

static uint8_t code[CODE_END];
static uint64_t stack[WORDS];
static int machine;

static const struct unwind_rule by_fp = {.cfa = UNWIND_CFA_REGISTER,
					 .cfa_register = 6,
					 .ra = UNWIND_AT_CFA,
					 .cfa_offset = 16,
					 .ra_offset = -1,
					 .saves = UNWIND_AT_CFA,
					 .slot = {-2}};
static const struct unwind_rule by_x29 = {.cfa = UNWIND_CFA_REGISTER,
					  .cfa_register = 29,
					  .ra = UNWIND_AT_CFA,
					  .cfa_offset = 32,
					  .ra_offset = -3,
					  .saves = UNWIND_AT_CFA,
					  .slot = {-4}};
static const struct unwind_rule by_sp = {.cfa = UNWIND_CFA_REGISTER,
					 .cfa_register = 7,
					 .ra = UNWIND_AT_CFA,
					 .cfa_offset = 64,
					 .ra_offset = -1};

static int find(void *arg, uint64_t pc, struct unwind_module *out)
{
	const struct unwind_rule *mine = machine == UNWIND_X86_64 ? &by_fp : &by_x29;

	(void)arg;
	if (pc < SELF || pc >= CODE_END || (pc >= 0x3000 && pc < FAR_CALLER))
		return -ENOENT;
	out->start = pc < 0x3000 ? SELF : pc < JIT ? FAR_CALLER : JIT;
	out->end = pc < 0x3000 ? 0x3000 : pc < JIT ? JIT : CODE_END;
	if (pc < JIT)
		out->rule = pc < OTHER || (pc >= FP_CALLER && pc < 0x3000) ? mine : &by_sp;
	/* something to tell a module with tables from one without */
	out->table = pc < JIT ? (const void *)code : NULL;
	return 0;
}

static int read_code(void *arg, uint64_t address, void *out, size_t bytes)
{
	(void)arg;
	if (address < SELF || address + bytes > JIT)
		return -ENOENT;
	memcpy(out, code + address, bytes);
	return 0;
}

static int entry(void *arg, uint64_t pc, uint64_t *start)
{
	(void)arg;
	*start = SELF;
	return pc >= SELF && pc < OTHER ? 0 : -ENOENT;
}

static int begin(void **state)
{
	(void)state;
	memset(code, 0x90, sizeof(code));
	memset(stack, 0, sizeof(stack));
	machine = UNWIND_X86_64;
	return 0;
}

static const struct unwind_memory memory = {
	.bytes = (const uint8_t *)stack, .address = STACK, .size = sizeof(stack)};

/* The word of the stack that it finds, -1: none. */
static int scan(void)
{
	struct frame_scan s = {machine, &memory, find, read_code, entry, NULL};
	struct unwind_registers regs = {.pc = SELF + 0x20};
	uint64_t fp;

	regs.r[unwind_sp_register(machine)] = STACK;
	return frame_scan(&s, &regs, 0, &fp) == 0 ? (int)((fp - STACK) / 8) : -1;
}

static uint64_t at(int word)
{
	return STACK + (uint64_t)word * 8;
}

/* A call of @target that returns to @ra. */
static uint64_t call(uint64_t ra, uint64_t target)
{
	int32_t relative = (int32_t)(target - ra);

	code[ra - 5] = 0xe8;
	memcpy(&code[ra - 4], &relative, sizeof(relative));
	return ra;
}

static void pair(int word, uint64_t saved, uint64_t ra)
{
	stack[word] = saved;
	stack[word + 1] = ra;
}

static void a_direct_call_of_this_function_is_it(void **state)
{
	(void)state;
	pair(10, 1, call(CALLER + 0x40, SELF)); /* main's caller keeps anything in rbp */
	assert_int_equal(scan(), 10);
}

static void what_calls_another_function_is_old(void **state)
{
	(void)state;
	pair(4, at(20), call(CALLER + 0x20, OTHER));
	pair(10, 1, call(CALLER + 0x40, SELF));
	assert_int_equal(scan(), 10);
}

static void it_is_taken_only_if_nothing_is_better(void **state)
{
	(void)state;
	pair(4, 1, call(CALLER + 0x20, OTHER)); /* does not even point up */
	pair(8, at(20), call(CALLER + 0x40, OTHER));
	assert_int_equal(scan(), 8);
}

static void no_call_no_frame(void **state)
{
	(void)state;
	pair(4, at(20), CALLER + 0x40);
	pair(6, at(20), 0x4000);
	pair(8, at(20), 0);
	assert_int_equal(scan(), -1);
}

static void a_caller_with_a_frame_pointer_has_a_frame(void **state)
{
	(void)state;
	pair(4, 0, call(FP_CALLER + 0x20, SELF));
	pair(6, at(5), FP_CALLER + 0x20);  /* below */
	pair(8, at(30), FP_CALLER + 0x20); /* no pair there */
	pair(10, at(40), FP_CALLER + 0x20);
	pair(40, at(50), call(CALLER + 0x80, OTHER));
	assert_int_equal(scan(), 10);
}

static void from_elsewhere_calls_may_go_anywhere(void **state)
{
	(void)state;
	pair(10, 3, call(FAR_CALLER + 0x40, FAR_CALLER + 0x100)); /* a stub of that module */
	assert_int_equal(scan(), 10);
}

static void every_form_of_an_indirect_call_is_one(void **state)
{
	static const struct {
		uint8_t bytes, code[7];
	} form[] = {
		{2, {0xff, 0xd0}},                   /* *%rax */
		{2, {0xff, 0x13}},                   /* *(%rbx) */
		{3, {0xff, 0x14, 0x24}},             /* *(%rsp) */
		{3, {0xff, 0x50, 0x18}},             /* *24(%rax) */
		{4, {0xff, 0x54, 0x24, 0x08}},       /* *8(%rsp) */
		{6, {0xff, 0x15, 1, 2, 3, 4}},       /* *x(%rip) */
		{6, {0xff, 0x90, 1, 2, 3, 4}},       /* *x(%rax) */
		{7, {0xff, 0x94, 0x24, 1, 2, 3, 4}}, /* *x(%rsp) */
		{7, {0xff, 0x14, 0xc5, 1, 2, 3, 4}}, /* *x(,%rax,8) */
	};
	static const struct {
		uint8_t bytes, code[7];
	} none[] = {
		{2, {0xff, 0xc0}},             /* inc */
		{2, {0xff, 0xe0}},             /* jmp *%rax */
		{3, {0xff, 0xd0, 0x90}},       /* not right before */
		{6, {0xff, 0x25, 1, 2, 3, 4}}, /* jmp *x(%rip) */
		{4, {0xff, 0x15, 1, 2}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(form) / sizeof(*form); i++) {
		begin(NULL);
		memcpy(&code[CALLER + 0x40 - form[i].bytes], form[i].code, form[i].bytes);
		pair(10, 1, CALLER + 0x40);
		if (scan() != 10)
			fail_msg("form %zu is not found", i);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		begin(NULL);
		memcpy(&code[CALLER + 0x40 - none[i].bytes], none[i].code, none[i].bytes);
		pair(10, 1, CALLER + 0x40);
		if (scan() != -1)
			fail_msg("form %zu is taken for a call", i);
	}
}

static void code_that_cannot_be_read_may_call(void **state)
{
	(void)state;
	pair(10, 0, JIT + 0x40);
	assert_int_equal(scan(), 10);
}

/* ---- aarch64 */

static uint64_t bl(uint64_t ra, uint64_t target)
{
	uint32_t word = 0x94000000 | (uint32_t)((int64_t)(target - (ra - 4)) / 4 & 0x3ffffff);

	memcpy(&code[ra - 4], &word, sizeof(word));
	return ra;
}

static void aarch64_knows_its_calls(void **state)
{
	uint32_t blr = 0xd63f0100;

	(void)state;
	machine = UNWIND_AARCH64;
	pair(4, at(20), bl(CALLER + 0x20, OTHER));
	pair(10, at(20), bl(CALLER + 0x40, SELF));
	assert_int_equal(scan(), 10);
	begin(NULL);
	machine = UNWIND_AARCH64;
	memcpy(&code[CALLER + 0x3c], &blr, sizeof(blr));
	pair(12, at(20), CALLER + 0x40);
	assert_int_equal(scan(), 12);
}

static void aarch64_leaves_lose_one_caller(void **state)
{
	struct frame_scan s = {UNWIND_AARCH64, &memory, find, read_code, entry, NULL};
	uint64_t frames[8];

	(void)state;
	machine = UNWIND_AARCH64;
	pair(2, at(1), bl(CALLER + 0x10, OTHER)); /* does not point up: old */
	pair(6, at(20), bl(CALLER + 0x20, OTHER));
	pair(20, at(32), (UINT64_C(0x7f) << 48) | bl(CALLER + 0x40, OTHER)); /* signed */
	pair(32, 0, bl(CALLER + 0x60, OTHER));
	assert_int_equal(frame_scan_chain(&s, STACK, frames, 8), 3);
	assert_int_equal(frames[0], CALLER + 0x20);
	assert_int_equal(frames[1], CALLER + 0x40);
	assert_int_equal(frames[2], CALLER + 0x60);
	assert_int_equal(frame_scan_chain(&s, STACK, frames, 2), 2);
	assert_int_equal(frame_scan_chain(&s, UINT64_MAX - 8, frames, 8), 0);
}

/* ---- whatever the stack holds */

static void any_stack_is_survived(void **state)
{
	struct frame_scan s = {0, &memory, find, read_code, entry, NULL};
	unsigned int seed = 1;
	uint64_t frames[16];

	(void)state;
	for (int round = 0; round < 5000; round++) {
		machine = s.machine = round % 2 ? UNWIND_X86_64 : UNWIND_AARCH64;
		for (size_t i = SELF; i < sizeof(code); i++)
			code[i] = (uint8_t)(rand_r(&seed) % 5 ? 0xff : rand_r(&seed));
		for (int i = 0; i < WORDS; i++)
			stack[i] = rand_r(&seed) % 2
					   ? at((int)(rand_r(&seed) % (WORDS + 8)))
					   : (uint64_t)rand_r(&seed) % CODE_END *
						     (rand_r(&seed) % 8 ? 1 : UINT64_MAX / 3);
		scan();
		assert_true(frame_scan_chain(&s, STACK, frames, 16) <= 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_direct_call_of_this_function_is_it, begin),
		cmocka_unit_test_setup(what_calls_another_function_is_old, begin),
		cmocka_unit_test_setup(it_is_taken_only_if_nothing_is_better, begin),
		cmocka_unit_test_setup(no_call_no_frame, begin),
		cmocka_unit_test_setup(a_caller_with_a_frame_pointer_has_a_frame, begin),
		cmocka_unit_test_setup(from_elsewhere_calls_may_go_anywhere, begin),
		cmocka_unit_test_setup(every_form_of_an_indirect_call_is_one, begin),
		cmocka_unit_test_setup(code_that_cannot_be_read_may_call, begin),
		cmocka_unit_test_setup(aarch64_knows_its_calls, begin),
		cmocka_unit_test_setup(aarch64_leaves_lose_one_caller, begin),
		cmocka_unit_test_setup(any_stack_is_survived, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
