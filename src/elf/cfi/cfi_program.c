/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a CFA program (DWARF 5, section 6.4.2; LSB for the GNU opcodes) safe to execute?
 *
 * elfutils executes programs well but trustingly: a register number of two billion makes
 * it touch gigabytes, and so does a long run of remember_state. Here every opcode must be
 * known, every operand inside, registers and nesting small.
 */
#include "elf/image/cursor.h"
#include "elf/image/internal.h"

#define REGISTERS_MAX 256
#define STATES_MAX 64

/* Operands of the opcodes below 0x40: register, uleb, sleb, block, or digits = bytes. */
static const char *const operands[0x40] = {
	[0x00] = "",   /* nop */
	[0x02] = "1",  /* advance_loc1 */
	[0x03] = "2",  /* advance_loc2 */
	[0x04] = "4",  /* advance_loc4 */
	[0x05] = "ru", /* offset_extended */
	[0x06] = "r",  /* restore_extended */
	[0x07] = "r",  /* undefined */
	[0x08] = "r",  /* same_value */
	[0x09] = "rr", /* register */
	[0x0a] = "",   /* remember_state */
	[0x0b] = "",   /* restore_state */
	[0x0c] = "ru", /* def_cfa */
	[0x0d] = "r",  /* def_cfa_register */
	[0x0e] = "u",  /* def_cfa_offset */
	[0x0f] = "b",  /* def_cfa_expression */
	[0x10] = "rb", /* expression */
	[0x11] = "rs", /* offset_extended_sf */
	[0x12] = "rs", /* def_cfa_sf */
	[0x13] = "s",  /* def_cfa_offset_sf */
	[0x14] = "ru", /* val_offset */
	[0x15] = "rs", /* val_offset_sf */
	[0x16] = "rb", /* val_expression */
	[0x2e] = "u",  /* GNU_args_size */
	[0x2f] = "ru", /* GNU_negative_offset_extended */
};

enum { REMEMBER_STATE = 0x0a, RESTORE_STATE = 0x0b, NEGATE_RA_STATE = 0x2d };

static int operand_is_sound(struct elf_cursor *c, char kind)
{
	switch (kind) {
	case 'r':
		return cursor_uleb(c) < REGISTERS_MAX && !c->failed;
	case 'u':
		cursor_uleb(c);
		break;
	case 's':
		cursor_sleb(c);
		break;
	case 'b':
		cursor_skip(c, cursor_uleb(c));
		break;
	default:
		cursor_skip(c, (uint64_t)(kind - '0'));
	}
	return !c->failed;
}

static int opcode_is_sound(struct elf_cursor *c, uint8_t opcode)
{
	const char *kinds = opcode < 0x40 ? operands[opcode] : opcode >> 6 == 2 ? "u" : "";

	if (!kinds)
		return 0;
	for (; *kinds; kinds++)
		if (!operand_is_sound(c, *kinds))
			return 0;
	return 1;
}

int cfi_program_is_sound(uint8_t *program, const uint8_t *end, int machine)
{
	struct elf_cursor c = {program, end, 0};
	unsigned int states = 0;

	while (c.at < end) {
		uint8_t opcode = *c.at;

		/*
		 * Whether the return address is signed: the walker strips signatures anyway,
		 * and elfutils up to 0.190 takes it for SPARC's window_save.
		 */
		if (opcode == NEGATE_RA_STATE && machine == UNWIND_AARCH64)
			opcode = program[c.at - program] = 0;
		c.at++;
		if (!opcode_is_sound(&c, opcode))
			return 0;
		if (opcode == REMEMBER_STATE && ++states > STATES_MAX)
			return 0;
		if (opcode == RESTORE_STATE && states-- == 0)
			return 0;
	}
	return 1;
}
