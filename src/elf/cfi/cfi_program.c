/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a CFA program (DWARF 5, section 6.4.2; LSB for the GNU opcodes) safe to execute?
 *
 * elfutils executes programs well but trustingly: a register number of two billion makes
 * it touch gigabytes, and so does a long run of remember_state. Here every opcode must be
 * known, every operand inside, registers and nesting small.
 */
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

int cfi_read_uleb(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*out = value;
			return 1;
		}
	}
	return 0;
}

int cfi_read_sleb(const uint8_t **at, const uint8_t *end, int64_t *out)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			if ((byte & 0x40) && shift + 7 < 64)
				value |= ~UINT64_C(0) << (shift + 7);
			*out = (int64_t)value;
			return 1;
		}
	}
	return 0;
}

static int skip(const uint8_t **at, const uint8_t *end, uint64_t bytes)
{
	if (bytes > (uint64_t)(end - *at))
		return 0;
	*at += bytes;
	return 1;
}

static int operand_is_sound(const uint8_t **at, const uint8_t *end, char kind)
{
	uint64_t value;
	int64_t number;

	switch (kind) {
	case 'r':
		return cfi_read_uleb(at, end, &value) && value < REGISTERS_MAX;
	case 'u':
		return cfi_read_uleb(at, end, &value);
	case 's':
		return cfi_read_sleb(at, end, &number);
	case 'b':
		return cfi_read_uleb(at, end, &value) && skip(at, end, value);
	default:
		return skip(at, end, (uint64_t)(kind - '0'));
	}
}

static int opcode_is_sound(const uint8_t **at, const uint8_t *end, uint8_t opcode)
{
	const char *kinds = opcode < 0x40 ? operands[opcode] : opcode >> 6 == 2 ? "u" : "";

	if (!kinds)
		return 0;
	for (; *kinds; kinds++)
		if (!operand_is_sound(at, end, *kinds))
			return 0;
	return 1;
}

int cfi_program_is_sound(uint8_t *program, const uint8_t *end, int machine)
{
	const uint8_t *at = program;
	unsigned int states = 0;

	while (at < end) {
		uint8_t opcode = *at;

		/*
		 * Whether the return address is signed: the walker strips signatures anyway,
		 * and elfutils up to 0.190 takes it for SPARC's window_save.
		 */
		if (opcode == NEGATE_RA_STATE && machine == UNWIND_AARCH64)
			opcode = program[at - program] = 0;
		at++;
		if (!opcode_is_sound(&at, end, opcode))
			return 0;
		if (opcode == REMEMBER_STATE && ++states > STATES_MAX)
			return 0;
		if (opcode == RESTORE_STATE && states-- == 0)
			return 0;
	}
	return 1;
}
