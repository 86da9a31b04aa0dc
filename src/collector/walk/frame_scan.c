/* SPDX-License-Identifier: Apache-2.0 */
/* Frame pointers found by their place: see frame_scan.h. */
#include "collector/walk/frame_scan.h"

#include <errno.h>
#include <string.h>

#define CALL_BYTES 8 /* the longest x86-64 call: REX, opcode, ModRM, SIB, displacement */

#define STACK_REACH (UINT64_C(8) << 20)

enum call_kind {
	CALL_NONE,
	CALL_DIRECT,  /* to a known address */
	CALL_ANYWHERE /* through a register or memory; or the code cannot be read */
};

enum fit { FIT_NONE, FIT_MAYBE, FIT_SURE };

/* ---- call instructions */

/* Bytes that an operand of x86-64 takes from its ModRM byte on. */
static unsigned int operand_bytes(const uint8_t *modrm)
{
	unsigned int mod = modrm[0] >> 6, low = modrm[0] & 7;
	unsigned int bytes = low == 4 && mod != 3 ? 2 : 1;

	if (mod == 1)
		return bytes + 1;
	if (mod == 2 || (mod == 0 && low == 5))
		return bytes + 4;
	if (mod == 0 && low == 4 && (modrm[1] & 7) == 5)
		return bytes + 4;
	return bytes;
}

/* @end: one past the last of CALL_BYTES bytes that lie before the return address. */
static enum call_kind call_x86_64(const uint8_t *end, uint64_t ra, uint64_t *target)
{
	int32_t relative;

	if (end[-5] == 0xe8) {
		memcpy(&relative, end - 4, sizeof(relative));
		*target = ra + (uint64_t)(int64_t)relative;
		return CALL_DIRECT;
	}
	for (unsigned int bytes = 2; bytes < CALL_BYTES; bytes++) {
		const uint8_t *at = end - bytes;

		if (at[0] == 0xff && (at[1] >> 3 & 7) == 2 && operand_bytes(at + 1) + 1 == bytes)
			return CALL_ANYWHERE;
	}
	return CALL_NONE;
}

static enum call_kind call_aarch64(const uint8_t *end, uint64_t ra, uint64_t *target)
{
	uint32_t code;
	uint64_t words;

	memcpy(&code, end - sizeof(code), sizeof(code));
	if (code >> 26 == 0x25) { /* bl */
		words = code & 0x3ffffff;
		words -= (words & 0x2000000) << 1;
		*target = ra - 4 + words * 4;
		return CALL_DIRECT;
	}
	/* blr, and its forms that authenticate */
	return (code & 0xfffffc1f) == 0xd63f0000 || (code & 0xfefff800) == 0xd63f0800
		       ? CALL_ANYWHERE
		       : CALL_NONE;
}

static uint64_t frame_scan_plain(const struct frame_scan *s, uint64_t value)
{
	return s->machine == UNWIND_AARCH64 ? value & UINT64_C(0x0000ffffffffffff) : value;
}

static enum call_kind call_before(const struct frame_scan *s, uint64_t ra, uint64_t *target)
{
	struct unwind_module module = {.table = NULL};
	uint8_t code[CALL_BYTES + 1] = {0}; /* one more: operand_bytes() may read it */

	if (ra < CALL_BYTES || s->find(s->arg, ra - 1, &module) != 0)
		return CALL_NONE;
	if (s->code(s->arg, ra - CALL_BYTES, code, CALL_BYTES) != 0)
		return module.table ? CALL_NONE : CALL_ANYWHERE;
	return s->machine == UNWIND_X86_64 ? call_x86_64(code + CALL_BYTES, ra, target)
					   : call_aarch64(code + CALL_BYTES, ra, target);
}

static int is_return_address(const struct frame_scan *s, uint64_t ra)
{
	uint64_t target;

	return call_before(s, frame_scan_plain(s, ra), &target) != CALL_NONE;
}

/* ---- places */

/* The word at @address. 0; or that it lies above, or below, what was copied. */
static int frame_scan_word(const struct frame_scan *s, uint64_t address, uint64_t *out)
{
	const struct unwind_memory *m = s->memory;
	uint64_t at = address - m->address;

	if (address < m->address)
		return UNWIND_END_BAD_READ;
	if (m->size < sizeof(*out) || at > m->size - sizeof(*out))
		return UNWIND_END_COPY_LIMIT;
	memcpy(out, m->bytes + at, sizeof(*out));
	return 0;
}

static uint64_t copied_until(const struct frame_scan *s)
{
	return s->memory->address + s->memory->size;
}

/* The first multiple of @step at or above @sp that was copied, or the end of the copy. */
static uint64_t first_place(const struct frame_scan *s, uint64_t sp, uint64_t step)
{
	if (sp >= copied_until(s))
		return copied_until(s);
	if (sp < s->memory->address)
		sp = s->memory->address;
	return (sp + step - 1) & ~(step - 1);
}

static const struct unwind_rule *frame_scan_rule_of(const struct frame_scan *s, uint64_t pc)
{
	struct unwind_module module = {.table = NULL};

	if (s->find(s->arg, pc, &module) != 0)
		return NULL;
	if (module.rule)
		return module.rule;
	return module.table ? unwind_table_find(module.table, pc - module.bias) : NULL;
}

static int is_by_frame_pointer(const struct frame_scan *s, const struct unwind_rule *rule)
{
	return !rule || ((rule->cfa == UNWIND_CFA_REGISTER || rule->cfa == UNWIND_CFA_DEREF) &&
			 rule->cfa_register == unwind_fp_register(s->machine));
}

/* Can {saved frame pointer, return address} of a caller whose frame lies above @above be at @at? */
static int points_to_a_pair(const struct frame_scan *s, uint64_t at, uint64_t above)
{
	uint64_t ra;

	if (at % 8 != 0 || at < above)
		return 0;
	if (frame_scan_word(s, at + 8, &ra))
		return at - above < STACK_REACH; /* above what was copied */
	return is_return_address(s, ra);
}

/* What is looked for, and what is known of it. */
struct wanted {
	uint64_t start;     /* of its function; 0 = not known */
	uint64_t low, high; /* of its module */
};

static enum fit fit_of(const struct frame_scan *s, const struct wanted *wanted, uint64_t cfa,
		       uint64_t ra, uint64_t saved)
{
	uint64_t target = 0;
	const struct unwind_rule *caller;
	enum call_kind kind;

	ra = frame_scan_plain(s, ra);
	kind = call_before(s, ra, &target);
	if (kind == CALL_NONE)
		return FIT_NONE;
	caller = frame_scan_rule_of(s, ra - 1);
	if (is_by_frame_pointer(s, caller) && (caller || saved) && !points_to_a_pair(s, saved, cfa))
		return FIT_NONE;
	if (kind == CALL_ANYWHERE || !wanted->start || target == wanted->start ||
	    target < wanted->low || target >= wanted->high)
		return FIT_SURE;
	return saved >= cfa && saved < copied_until(s) ? FIT_MAYBE : FIT_NONE;
}

/* CFA = frame pointer + offset. */
static enum fit try_register(const struct frame_scan *s, const struct wanted *wanted,
			     const struct unwind_rule *rule, uint64_t fp)
{
	uint64_t cfa = fp + (uint64_t)(int64_t)rule->cfa_offset, ra, saved = 0;
	uint64_t ra_offset = (uint64_t)((int64_t)rule->ra_offset * 8);
	uint64_t fp_offset = (uint64_t)((int64_t)rule->slot[0] * 8);

	if (cfa % 16 != 0 || rule->ra != UNWIND_AT_CFA || frame_scan_word(s, cfa + ra_offset, &ra))
		return FIT_NONE;
	if ((rule->saves & 3) == UNWIND_AT_CFA && frame_scan_word(s, cfa + fp_offset, &saved))
		return FIT_NONE;
	return fit_of(s, wanted, cfa, ra, saved);
}

/* A realigned stack: *(frame pointer + offset) + extra. */
static enum fit try_deref(const struct frame_scan *s, const struct wanted *wanted,
			  const struct unwind_rule *rule, uint64_t fp)
{
	uint64_t cfa, ra, saved, copy;
	uint64_t ra_offset = (uint64_t)((int64_t)rule->ra_offset * 8);

	if (frame_scan_word(s, fp + (uint64_t)(int64_t)rule->cfa_offset, &cfa) ||
	    frame_scan_word(s, fp, &saved) || frame_scan_word(s, fp + 8, &copy))
		return FIT_NONE;
	cfa += (uint64_t)(int64_t)rule->cfa_extra;
	if (cfa <= fp || cfa % 8 != 0 || rule->ra != UNWIND_AT_CFA ||
	    frame_scan_word(s, cfa + ra_offset, &ra) || ra != copy)
		return FIT_NONE;
	return fit_of(s, wanted, cfa, ra, saved);
}

/* Code without a table: {saved frame pointer, return address}. */
static enum fit try_pair(const struct frame_scan *s, const struct wanted *wanted, uint64_t fp)
{
	uint64_t saved, ra;

	if (frame_scan_word(s, fp, &saved) || frame_scan_word(s, fp + 8, &ra) ||
	    (saved != 0 && saved <= fp))
		return FIT_NONE;
	return fit_of(s, wanted, fp + 16, ra, saved);
}

static enum fit try_at(const struct frame_scan *s, const struct wanted *wanted,
		       const struct unwind_rule *rule, uint64_t fp)
{
	if (!rule)
		return try_pair(s, wanted, fp);
	if (rule->cfa == UNWIND_CFA_DEREF)
		return try_deref(s, wanted, rule, fp);
	return try_register(s, wanted, rule, fp);
}

int frame_scan(const struct frame_scan *s, const struct unwind_registers *regs, int exact,
	       uint64_t *out)
{
	uint64_t pc = regs->pc - (exact ? 0 : 1), sp = regs->r[unwind_sp_register(s->machine)];
	uint64_t maybe = 0;
	struct unwind_module module = {.table = NULL};
	struct wanted wanted = {.start = 0};
	const struct unwind_rule *rule = frame_scan_rule_of(s, pc);

	if (!is_by_frame_pointer(s, rule) || s->find(s->arg, pc, &module) != 0)
		return -ENOENT;
	if (s->entry(s->arg, pc, &wanted.start) != 0)
		wanted.start = 0;
	wanted.low = module.start;
	wanted.high = module.end;
	for (uint64_t fp = first_place(s, sp, 8); fp < copied_until(s); fp += 8) {
		enum fit fit = try_at(s, &wanted, rule, fp);

		if (fit == FIT_SURE) {
			*out = fp;
			return 0;
		}
		if (fit == FIT_MAYBE && !maybe)
			maybe = fp;
	}
	if (!maybe)
		return -ENOENT;
	*out = maybe;
	return 0;
}

/* Does the chain that begins at @at go up by valid pairs? */
static int is_chain(const struct frame_scan *s, uint64_t at)
{
	uint64_t next, ra;

	return frame_scan_word(s, at, &next) == 0 && frame_scan_word(s, at + 8, &ra) == 0 &&
	       is_return_address(s, ra) && (next == 0 || points_to_a_pair(s, next, at + 16));
}

size_t frame_scan_chain(const struct frame_scan *s, uint64_t sp, uint64_t *frames, size_t max)
{
	uint64_t at = first_place(s, sp, 16), next, ra;
	size_t count = 0;

	while (at < copied_until(s) && !is_chain(s, at))
		at += 16;
	while (count < max && frame_scan_word(s, at, &next) == 0 &&
	       frame_scan_word(s, at + 8, &ra) == 0 && is_return_address(s, ra)) {
		frames[count++] = frame_scan_plain(s, ra);
		if (next <= at)
			break;
		at = next;
	}
	return count;
}
