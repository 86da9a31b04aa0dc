/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for small gaps between functions that have unwind data, x86-64: what the C runtime's
 * start files (_init, _fini, __do_global_dtors_aux and their like) and system call stubs
 * have none for, though destructors run below them.
 *
 * A gap is read once, from its start to its end, with the state of a function just entered;
 * pushes, pops and constants added to SP change it, a forward jump hands it to its target,
 * and behind a return or jump begins a function, if nothing jumped there. An instruction
 * that is not of the few known here ends it: what follows has no rule, as before.
 */
#include "elf/image/internal.h"

#include <string.h>

#define GAP_BYTES_MAX 4096u
#define TARGETS_MAX 32
#define SLOT_RBP 0

struct state {
	int32_t depth;     /* bytes from SP to the CFA */
	int32_t saved_rbp; /* bytes from it to the CFA; 0: rbp is still the caller's */
	int is_outermost;  /* nothing called it: where the program, or ld.so, is entered */
};

struct target {
	size_t at;
	struct state state;
};

struct reader {
	const uint8_t *code;
	size_t size, at, entry; /* SIZE_MAX: it is not here */
	struct state state;
	struct target targets[TARGETS_MAX];
	size_t target_count;
};

struct instruction {
	size_t length;
	uint8_t op, modrm;
	int is_two_byte, has_modrm, is_wide, is_rex_b;
	int32_t immediate;
};

static const struct state entered = {.depth = 8};

/* cmp $n,%eax and its like. */
static int with_accumulator(uint8_t op)
{
	return (op < 0x40 && (op & 6) == 4) || op == 0xa8 || op == 0xa9;
}

/* Bytes of immediate behind an instruction of the known ones; -1: not known. */
static int immediate_bytes(const struct instruction *i)
{
	/* With an operand in memory or two registers, no immediate. */
	static const uint8_t plain[] = {0x01, 0x03, 0x09, 0x0b, 0x21, 0x23, 0x29, 0x2b,
					0x31, 0x33, 0x39, 0x3b, 0x63, 0x84, 0x85, 0x88,
					0x89, 0x8a, 0x8b, 0x8d, 0xd1, 0xff};
	uint8_t op = i->op;

	if (i->is_two_byte)
		return op >> 4 == 8 ? 4 : op == 0x05 || op == 0x1e || op == 0x1f ? 0 : -1;
	if (op >> 4 == 5 || op == 0x90 || op == 0xc3 || op == 0xcc || op == 0xf4)
		return 0;
	if (with_accumulator(op))
		return op & 1 ? 4 : 1;
	if (op == 0x6a || op >> 4 == 7 || op == 0xeb || op == 0x80 || op == 0x83 || op == 0xc1 ||
	    op == 0xc6)
		return 1;
	if (op == 0x68 || op == 0xe8 || op == 0xe9 || op == 0x81 || op == 0xc7 ||
	    (op >> 3 == 0x17 && !i->is_wide))
		return 4;
	return memchr(plain, op, sizeof(plain)) ? 0 : -1;
}

static int has_modrm(const struct instruction *i)
{
	uint8_t op = i->op;

	if (i->is_two_byte)
		return op == 0x1e || op == 0x1f;
	return (op < 0x40 && !with_accumulator(op)) || op == 0x63 || (op >= 0x80 && op < 0x90) ||
	       op == 0xc1 || op == 0xc6 || op == 0xc7 || op == 0xd1 || op == 0xff;
}

static size_t address_bytes(const uint8_t *at, size_t left)
{
	uint8_t mod = at[0] >> 6, rm = at[0] & 7;
	size_t bytes = mod == 1 ? 1 : mod == 2 ? 4 : 0;

	if (mod == 3)
		return 0;
	if (rm == 4) {
		bytes++;
		if (mod == 0 && left > 1 && (at[1] & 7) == 5)
			bytes += 4;
	} else if (mod == 0 && rm == 5) {
		bytes += 4;
	}
	return bytes;
}

static int gap_rules_decode(const uint8_t *code, size_t size, struct instruction *out)
{
	static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x2e, 0x3e, 0x64};
	size_t at = 0;
	int bytes, is_short = 0;

	memset(out, 0, sizeof(*out));
	while (at < size && memchr(prefixes, code[at], sizeof(prefixes)))
		is_short |= code[at++] == 0x66;
	if (at < size && code[at] >> 4 == 4) {
		out->is_wide = code[at] >> 3 & 1;
		out->is_rex_b = code[at++] & 1;
	}
	if (at < size && code[at] == 0x0f) {
		out->is_two_byte = 1;
		at++;
	}
	if (at >= size)
		return 0;
	out->op = code[at++];
	bytes = immediate_bytes(out);
	out->has_modrm = has_modrm(out);
	if (bytes < 0 || (bytes > 1 && is_short) || (out->has_modrm && at >= size))
		return 0;
	if (out->has_modrm) {
		out->modrm = code[at];
		at += 1 + address_bytes(code + at, size - at);
	}
	if (at + (size_t)bytes > size)
		return 0;
	if (bytes == 1)
		out->immediate = code[at] < 0x80 ? code[at] : code[at] - 0x100;
	else if (bytes == 4)
		memcpy(&out->immediate, code + at, 4);
	out->length = at + (size_t)bytes;
	return 1;
}

static int is_jump(const struct instruction *i)
{
	return i->is_two_byte ? i->op >> 4 == 8 : i->op >> 4 == 7 || i->op == 0xe9 || i->op == 0xeb;
}

/* ret, jmp, jmp *, hlt, int3: control does not come out behind. */
static int is_end(const struct instruction *i)
{
	if (i->is_two_byte)
		return 0;
	return i->op == 0xc3 || i->op == 0xe9 || i->op == 0xeb || i->op == 0xf4 || i->op == 0xcc ||
	       (i->op == 0xff && (i->modrm >> 3 & 7) == 4);
}

static int changes_rsp_otherwise(const struct instruction *i)
{
	int rm_is_rsp = i->modrm >> 6 == 3 && (i->modrm & 7) == 4 && !i->is_rex_b;
	int reg_is_rsp = (i->modrm >> 3 & 7) == 4;

	if (i->is_two_byte || !i->has_modrm)
		return 0;
	if (i->op == 0x03 || i->op == 0x0b || i->op == 0x23 || i->op == 0x2b || i->op == 0x33 ||
	    i->op == 0x63 || i->op == 0x8b || i->op == 0x8d)
		return reg_is_rsp; /* or r12: not worth telling apart */
	return rm_is_rsp && i->op != 0x39 && i->op != 0x3b && i->op != 0x84 && i->op != 0x85;
}

/* What an instruction does to the state; 0: too much for this reader. */
static int execute(struct state *s, const struct instruction *i)
{
	int is_rbp = (i->op & 7) == 5 && !i->is_rex_b;

	if (i->is_two_byte || s->is_outermost)
		return 1;
	if (i->op >> 3 == 0x0a) { /* push */
		s->depth += 8;
		if (is_rbp && !s->saved_rbp)
			s->saved_rbp = s->depth;
	} else if (i->op >> 3 == 0x0b) { /* pop */
		if ((i->op & 7) == 4 && !i->is_rex_b)
			return 0;
		if (is_rbp && s->saved_rbp == s->depth)
			s->saved_rbp = 0;
		s->depth -= 8;
	} else if (i->op == 0x68 || i->op == 0x6a ||
		   (i->op == 0xff && (i->modrm >> 3 & 7) == 6)) { /* push */
		s->depth += 8;
	} else if ((i->op == 0x83 || i->op == 0x81) && i->modrm == 0xec && !i->is_rex_b) {
		s->depth += i->immediate;
	} else if ((i->op == 0x83 || i->op == 0x81) && i->modrm == 0xc4 && !i->is_rex_b) {
		s->depth -= i->immediate;
	} else if (changes_rsp_otherwise(i)) {
		return 0;
	}
	return s->depth >= 8 && s->depth < (1 << 20) && s->depth % 8 == 0;
}

static void note_target(struct reader *r, const struct instruction *i)
{
	int64_t at = (int64_t)r->at + (int64_t)i->length + i->immediate;

	if (is_jump(i) && at > (int64_t)r->at && at < (int64_t)r->size &&
	    r->target_count < TARGETS_MAX)
		r->targets[r->target_count++] =
			(struct target){.at = (size_t)at, .state = r->state};
}

static void arrive(struct reader *r)
{
	for (size_t i = 0; i < r->target_count; i++)
		if (r->targets[i].at == r->at) {
			r->state = r->targets[i].state;
			return;
		}
	if (r->at == r->entry)
		r->state.is_outermost = 1;
}

static struct unwind_rule gap_rules_rule_of(const struct state *s)
{
	static const struct unwind_rule outermost = {.cfa = UNWIND_CFA_END};
	struct unwind_rule rule = {.cfa = UNWIND_CFA_REGISTER,
				   .cfa_register = 7,
				   .cfa_offset = s->depth,
				   .ra = UNWIND_AT_CFA,
				   .ra_offset = -1};

	if (s->is_outermost)
		return outermost;
	if (s->saved_rbp) {
		rule.saves = UNWIND_AT_CFA << (2 * SLOT_RBP);
		rule.slot[SLOT_RBP] = (int16_t)(-s->saved_rbp / 8);
	}
	return rule;
}

static int gap_rules_is_same(const struct state *a, const struct state *b)
{
	return a->depth == b->depth && a->saved_rbp == b->saved_rbp &&
	       a->is_outermost == b->is_outermost;
}

static int read_gap(struct reader *r, uint64_t address, elf_rule_put put, void *arg)
{
	struct state last = r->state;
	size_t start = r->at;
	int err = 0;

	while (!err && r->at < r->size) {
		struct instruction i;
		struct state after;

		arrive(r);
		if (!gap_rules_is_same(&last, &r->state)) {
			struct unwind_rule rule = gap_rules_rule_of(&last);

			err = put(arg, address + start, address + r->at, &rule);
			start = r->at;
			last = r->state;
		}
		after = r->state;
		if (!gap_rules_decode(r->code + r->at, r->size - r->at, &i) || !execute(&after, &i))
			break;
		note_target(r, &i);
		r->at += i.length;
		r->state = is_end(&i) ? entered : after;
	}
	if (!err && r->at > start) {
		struct unwind_rule rule = gap_rules_rule_of(&last);

		err = put(arg, address + start, address + r->at, &rule);
	}
	return err;
}

int elf_gap_rules(const struct elf_module *m, uint64_t start, uint64_t end, elf_rule_put put,
		  void *arg)
{
	uint8_t code[GAP_BYTES_MAX];
	struct reader r = {
		.code = code, .size = (size_t)(end - start), .entry = SIZE_MAX, .state = entered};
	GElf_Ehdr h;

	if (gelf_getehdr(m->elf, &h) && h.e_entry >= start && h.e_entry < end)
		r.entry = (size_t)(h.e_entry - start);
	if (m->machine != UNWIND_X86_64 || end - start > sizeof(code) ||
	    elf_module_read(m, start, code, r.size) != 0)
		return 0;
	return read_gap(&r, start, put, arg);
}
