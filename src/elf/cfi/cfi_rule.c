/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the state that elfutils computed for one row to the rule that a table holds. DWARF
 * expressions are taken in the forms that compilers, linkers and libcs write: PLT stubs,
 * realigned stacks (a dereference, saves that hang on the frame pointer), saves given as
 * stack pointer plus offset.
 */
#include "elf/image/internal.h"

#include <dwarf.h>
#include <string.h>

/* elfutils (0.188) takes one that an entry never mentions for undefined, for it gives the ABI's
 * word on it to register 0. Calls preserve it. */
enum { RBX = 3 };

/* An operation that is "register + offset". */
static int is_register_offset(const Dwarf_Op *op, uint64_t *number, int64_t *offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*number = op->atom - DW_OP_breg0;
		*offset = (int64_t)op->number;
		return 1;
	}
	if (op->atom != DW_OP_bregx)
		return 0;
	*number = op->number;
	*offset = (int64_t)op->number2;
	return 1;
}

/* breg7 8; breg16 0; lit15; and; litN; ge; lit3; shl; plus */
static int is_plt_expression(const Dwarf_Op *ops, size_t count)
{
	static const uint8_t atoms[] = {
		DW_OP_breg0 + 7, DW_OP_breg0 + 16, DW_OP_lit15, DW_OP_and, 0,
		DW_OP_ge,        DW_OP_lit3,       DW_OP_shl,   DW_OP_plus};

	if (count != sizeof(atoms) || ops[0].number != 8 || ops[1].number != 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (atoms[i] && ops[i].atom != atoms[i])
			return 0;
	return ops[4].atom >= DW_OP_lit0 && ops[4].atom <= DW_OP_lit31;
}

static int cfi_rule_fits(int64_t value, int64_t limit)
{
	return value >= -limit && value < limit;
}

static int cfa_of(Dwarf_Frame *frame, int machine, struct unwind_rule *out)
{
	uint64_t number;
	int64_t offset, extra = 0;
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0)
		return 0;
	if (machine == UNWIND_X86_64 && is_plt_expression(ops, count)) {
		out->cfa = UNWIND_CFA_PLT;
		out->cfa_register = 7;
		out->cfa_offset = ops[4].atom - DW_OP_lit0;
		return 1;
	}
	if (!is_register_offset(&ops[0], &number, &offset) || number >= UNWIND_REGISTERS ||
	    (machine == UNWIND_X86_64 && number > 16) || !cfi_rule_fits(offset, INT64_C(1) << 31))
		return 0;
	if (count == 3 && ops[2].atom == DW_OP_plus_uconst)
		extra = (int64_t)ops[2].number;
	if (count > 1 && (ops[1].atom != DW_OP_deref || count > (extra ? 3 : 2)))
		return 0;
	if (!cfi_rule_fits(extra, 1 << 15))
		return 0;
	out->cfa = count > 1 ? UNWIND_CFA_DEREF : UNWIND_CFA_REGISTER;
	out->cfa_register = (uint8_t)number;
	out->cfa_offset = (int32_t)offset;
	out->cfa_extra = (int16_t)extra;
	return 1;
}

struct place {
	enum unwind_save how;
	int is_known; /* false: a form that no rule can hold (how is LOST) */
	int16_t words;
};

static struct place place_at(enum unwind_save how, int64_t offset)
{
	if (offset % 8 != 0 || !cfi_rule_fits(offset / 8, 1 << 15))
		return (struct place){.how = UNWIND_LOST};
	return (struct place){.how = how, .is_known = 1, .words = (int16_t)(offset / 8)};
}

static struct place place_of_ops(const struct unwind_rule *rule, int machine, const Dwarf_Op *ops,
				 size_t count)
{
	const struct place unknown = {.how = UNWIND_LOST};
	int64_t offset = 0;
	uint64_t number;

	/* An expression begins with the CFA on its stack, and need not use it. */
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	    is_register_offset(&ops[1], &number, &offset)) {
		ops++;
		count--;
	}
	if (ops[0].atom == DW_OP_call_frame_cfa) {
		if (count == 2 && ops[1].atom == DW_OP_plus_uconst)
			offset = (int64_t)ops[1].number;
		else if (count != 1)
			return unknown;
		return place_at(UNWIND_AT_CFA, offset);
	}
	if (count != 1 || !is_register_offset(&ops[0], &number, &offset))
		return unknown;
	if (rule->cfa == UNWIND_CFA_REGISTER && number == rule->cfa_register)
		return place_at(UNWIND_AT_CFA, offset - rule->cfa_offset);
	if (number == (uint64_t)unwind_fp_register(machine))
		return place_at(UNWIND_AT_FP, offset);
	return unknown;
}

static struct place cfi_rule_place_of(Dwarf_Frame *frame, const struct unwind_rule *rule,
				      int machine, int number)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0)
		return (struct place){.how = UNWIND_LOST};
	if (count == 0 && ops && !(machine == UNWIND_X86_64 && number == RBX))
		return (struct place){.how = UNWIND_LOST, .is_known = 1};
	if (count == 0)
		return (struct place){.how = UNWIND_SAME, .is_known = 1};
	return place_of_ops(rule, machine, ops, count);
}

static int register_of(const Dwarf_Op *ops, size_t count)
{
	if (count == 1 && ops[0].atom == DW_OP_regx)
		return (int)ops[0].number;
	if (count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return ops[0].atom - DW_OP_reg0;
	return -1;
}

/*
 * The CFA is the caller's SP, except in longjmp, whose entry describes the state after the jump: no
 * rule holds that.
 */
static int sp_is_elsewhere(Dwarf_Frame *frame, int machine)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	return dwarf_frame_register(frame, unwind_sp_register(machine), memory, &ops, &count) ==
		       0 &&
	       register_of(ops, count) >= 0;
}

/* Where a return address in a register is: aarch64 leaves, vfork and its like on x86-64. */
static int ra_in_register(Dwarf_Frame *frame, int machine, int ra, int *number)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	int limit = machine == UNWIND_X86_64 ? 16 : 32;

	if (dwarf_frame_register(frame, ra, memory, &ops, &count) != 0)
		return 0;
	/* For a register that calls clobber, elfutils' "not mentioned" reads "undefined". */
	if (count == 0 && (!ops || ra != 30) && machine == UNWIND_AARCH64)
		*number = ra;
	else
		*number = register_of(ops, count);
	return *number >= 0 && *number < limit;
}

static int ra_of(Dwarf_Frame *frame, int machine, struct unwind_rule *out)
{
	int ra = dwarf_frame_info(frame, NULL, NULL, NULL), number = -1;
	struct place place = cfi_rule_place_of(frame, out, machine, ra);

	/* Assembler on aarch64 may keep it elsewhere: glibc's rawmemchr in x15. */
	if (machine == UNWIND_X86_64 ? ra != 16 : ra < 0 || ra > 30)
		return 0;
	if (ra_in_register(frame, machine, ra, &number)) {
		out->ra = UNWIND_IN_REGISTER;
		out->ra_offset = (int16_t)number;
		return 1;
	}
	if (place.is_known && place.how == UNWIND_LOST) {
		memset(out, 0, sizeof(*out));
		out->cfa = UNWIND_CFA_END;
		return 1;
	}
	if (!place.is_known || place.how == UNWIND_SAME)
		return 0;
	out->ra = (uint8_t)place.how;
	out->ra_offset = place.words;
	return 1;
}

static void saves_of(Dwarf_Frame *frame, int machine, struct unwind_rule *out)
{
	for (unsigned int s = 0; s < UNWIND_SLOTS; s++) {
		int number = unwind_slot_register(machine, s);
		struct place place;

		if (number < 0)
			break;
		place = cfi_rule_place_of(frame, out, machine, number);
		out->saves |= (uint16_t)((unsigned int)place.how << (2 * s));
		out->slot[s] = place.words;
	}
}

int cfi_is_signal_frame(Dwarf_Frame *frame)
{
	bool is_signal = false;

	dwarf_frame_info(frame, NULL, NULL, &is_signal);
	return is_signal;
}

void cfi_rule_of(Dwarf_Frame *frame, int machine, struct unwind_rule *out)
{
	memset(out, 0, sizeof(*out));
	if (!cfa_of(frame, machine, out) || !ra_of(frame, machine, out) ||
	    sp_is_elsewhere(frame, machine)) {
		memset(out, 0, sizeof(*out));
		return;
	}
	if (out->cfa == UNWIND_CFA_END)
		return;
	saves_of(frame, machine, out);
	out->flags = cfi_is_signal_frame(frame) ? UNWIND_RULE_EXACT : 0;
}
