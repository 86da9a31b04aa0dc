/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for the procedure linkage table where its linker wrote none: GNU ld does for
 * x86-64 only, lld never does.
 *
 * A stub jumps; at most it pushes one word before (lazy binding, x86-64). The first entry
 * of .plt pushes what the resolver wants. Everywhere else the state is that of a call just
 * made: return address at the top of the stack, or in x30.
 */
#include "elf/image/internal.h"

enum { STUB = 16, PUSH_IMMEDIATE = 0x68, PUSH_MEMORY = 0xff };
#define STP_X16_X30 UINT32_C(0xa9bf7bf0) /* stp x16, x30, [sp, #-16]! */

static const struct unwind_rule x86_64_called = {.cfa = UNWIND_CFA_REGISTER,
						 .cfa_register = 7,
						 .cfa_offset = 8,
						 .ra = UNWIND_AT_CFA,
						 .ra_offset = -1};
static const struct unwind_rule aarch64_called = {
	.cfa = UNWIND_CFA_REGISTER, .cfa_register = 31, .ra = UNWIND_IN_REGISTER, .ra_offset = 30};

static struct unwind_rule with_offset(struct unwind_rule rule, int32_t offset)
{
	rule.cfa_offset = offset;
	return rule;
}

static int plt_rules_put_all(const struct elf_module *m, const GElf_Shdr *h, elf_rule_put put,
			     void *arg)
{
	const struct unwind_rule *called =
		m->machine == UNWIND_X86_64 ? &x86_64_called : &aarch64_called;

	return put(arg, h->sh_addr, h->sh_addr + h->sh_size, called);
}

/* Offset behind the stub's push, from where the CFA is 8 bytes further; 0: no push. */
static int32_t end_of_push(const uint8_t *stub)
{
	for (int32_t at = 0; at + 5 < STUB; at++)
		if (stub[at] == PUSH_IMMEDIATE && (at == 0 || at == 4 || at == 6))
			return at + 5;
	return 0;
}

static int put_lazy_x86_64(const struct elf_module *m, const GElf_Shdr *h, elf_rule_put put,
			   void *arg)
{
	struct unwind_rule rule = x86_64_called;
	uint64_t at = h->sh_addr, end = at + h->sh_size;
	uint8_t code[2 * STUB];
	int err;

	if (h->sh_size < sizeof(code) || elf_module_read(m, at, code, sizeof(code)) != 0 ||
	    code[0] != PUSH_MEMORY || code[1] != 0x35 || end_of_push(code + STUB) == 0)
		return plt_rules_put_all(m, h, put, arg);
	rule = with_offset(rule, 16);
	err = put(arg, at, at + 6, &rule);
	rule = with_offset(rule, 24);
	if (!err)
		err = put(arg, at + 6, at + STUB, &rule);
	rule = with_offset(rule, end_of_push(code + STUB));
	rule.cfa = UNWIND_CFA_PLT;
	return err ? err : put(arg, at + STUB, end, &rule);
}

static int put_lazy_aarch64(const struct elf_module *m, const GElf_Shdr *h, elf_rule_put put,
			    void *arg)
{
	struct unwind_rule pushed = with_offset(aarch64_called, 16);
	uint64_t at = h->sh_addr, end = at + h->sh_size, push;
	uint32_t code[2];
	int err;

	if (h->sh_size < 32 || elf_module_read(m, at, code, sizeof(code)) != 0 ||
	    (code[0] != STP_X16_X30 && code[1] != STP_X16_X30))
		return plt_rules_put_all(m, h, put, arg);
	push = code[0] == STP_X16_X30 ? at + 4 : at + 8;
	pushed.ra = UNWIND_AT_CFA;
	pushed.ra_offset = -1;
	err = put(arg, at, push, &aarch64_called);
	if (!err)
		err = put(arg, push, at + 32, &pushed);
	return err ? err : put(arg, at + 32, end, &aarch64_called);
}

int elf_plt_rules(const struct elf_module *m, elf_rule_put put, void *arg)
{
	static const char *const eager[] = {".plt.sec", ".plt.got", ".iplt"};
	GElf_Shdr h;
	int err = 0;

	if (elf_find_section(m->elf, ".plt", &h))
		err = m->machine == UNWIND_X86_64 ? put_lazy_x86_64(m, &h, put, arg)
						  : put_lazy_aarch64(m, &h, put, arg);
	for (size_t i = 0; !err && i < sizeof(eager) / sizeof(eager[0]); i++)
		if (elf_find_section(m->elf, eager[i], &h))
			err = plt_rules_put_all(m, &h, put, arg);
	return err;
}
