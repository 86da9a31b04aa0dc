/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one walker's body: from registers, stretches of stack and a finder of rules to return
 * addresses. walk.c makes the general functions of rules.h out of it; the target's handler
 * (src/runtime/stack/stack_walk.c) compiles the same text around its own finder, for its own
 * machine, so that no step is a call through a pointer.
 *
 * Every read is checked against the memory given; every step must move the CFA up (a leaf
 * whose return address is in a register may stay, once); so a walk ends for any input.
 * Runs in signal handlers of the target: no allocation, no libc.
 */
#ifndef WEFT_UNWIND_WALK_BODY_H
#define WEFT_UNWIND_WALK_BODY_H

#include "unwind/rules.h"

/* The kernel's signal frame: offsets from SP in the trampoline to the saved registers. */
enum {
	X86_64_GREGS = 40, /* struct ucontext: uc_mcontext.gregs */
	AARCH64_REGS = 312 /* siginfo 128, ucontext to uc_mcontext 176, fault address 8 */
};

/* Pointer authentication and tags live above the user's 48 address bits. */
#define AARCH64_ADDRESS UINT64_C(0x0000ffffffffffff)

/* The hot path, compiled once for each machine and finder. */
#define INLINE static inline __attribute__((always_inline))
#define RARELY static __attribute__((noinline))

#define BIT(n) (UINT64_C(1) << (n))
/*
 * What a call preserves: rbx, rbp, r12-r15; x19-x29, and x15 in the one use that rules
 * have for it: a caller that keeps its return address there knows what it calls.
 */
#define X86_64_PRESERVED (BIT(3) | BIT(6) | BIT(12) | BIT(13) | BIT(14) | BIT(15))
#define AARCH64_PRESERVED (BIT(30) - BIT(19) + BIT(15))

/*
 * What differs between the planes. find: the rule of @pc in *rule (NULL: none); false when no
 * module has it. crossed: @regs just came out of a signal frame, onto maybe another stack.
 */
struct unwind_walker {
	int (*find)(void *arg, uint64_t pc, const struct unwind_rule **rule);
	void (*crossed)(void *arg, const struct unwind_registers *regs);
};

/* @bytes bytes at @address of the target; NULL and *err where no stretch has them all. */
static const uint8_t *locate(const struct unwind_memory *memory, uint64_t address, uint64_t bytes,
			     int *err)
{
	*err = UNWIND_END_BAD_READ;
	for (; memory; memory = memory->next) {
		uint64_t at = address - memory->address;

		if (address < memory->address)
			continue;
		if (memory->size >= bytes && at <= memory->size - bytes)
			return memory->bytes + at;
		*err = UNWIND_END_COPY_LIMIT;
	}
	return NULL;
}

RARELY int read_elsewhere(const struct unwind_memory *memory, uint64_t address, uint64_t *out)
{
	int err = UNWIND_END_BAD_READ;
	const uint8_t *at = locate(memory, address, sizeof(*out), &err);

	if (!at)
		return err;
	__builtin_memcpy(out, at, sizeof(*out));
	return 0;
}

/* The first stretch has nearly all that is ever read. */
INLINE int read_word(const struct unwind_memory *memory, uint64_t address, uint64_t *out)
{
	uint64_t at = address - memory->address;

	if (__builtin_expect(at >= memory->size || memory->size - at < sizeof(*out), 0))
		return read_elsewhere(memory, address, out);
	__builtin_memcpy(out, memory->bytes + at, sizeof(*out));
	return 0;
}

INLINE uint64_t code_address(uint64_t value, int machine)
{
	return machine == UNWIND_AARCH64 ? value & AARCH64_ADDRESS : value;
}

INLINE int is_valid(const struct unwind_registers *regs, int number)
{
	return (regs->valid >> number & 1) != 0;
}

INLINE int find_cfa(const struct unwind_registers *regs, const struct unwind_rule *rule,
		    const struct unwind_memory *memory, uint64_t *cfa)
{
	uint64_t base;

	if (__builtin_expect(!is_valid(regs, rule->cfa_register), 0))
		return UNWIND_END_NO_RULE;
	base = regs->r[rule->cfa_register];
	if (__builtin_expect(rule->cfa == UNWIND_CFA_PLT, 0)) {
		*cfa = base + 8 + ((int64_t)(regs->pc & 15) >= rule->cfa_offset ? 8 : 0);
		return 0;
	}
	base += (uint64_t)(int64_t)rule->cfa_offset;
	if (__builtin_expect(rule->cfa == UNWIND_CFA_DEREF, 0)) {
		int err = read_word(memory, base, &base);

		if (err)
			return err;
		base += (uint64_t)(int64_t)rule->cfa_extra;
	}
	*cfa = base;
	return 0;
}

/* Address of what is saved; 0 when it is lost, or hangs on an unknown frame pointer. */
INLINE uint64_t save_address(const struct unwind_registers *regs, int machine, uint64_t cfa,
			     unsigned int how, int offset)
{
	int fp = unwind_fp_register(machine);
	uint64_t words = (uint64_t)(int64_t)offset * 8;

	if (__builtin_expect(how == UNWIND_AT_CFA, 1))
		return cfa + words;
	return how == UNWIND_AT_FP && is_valid(regs, fp) ? regs->r[fp] + words : 0;
}

INLINE int find_ra(const struct unwind_registers *regs, const struct unwind_rule *rule,
		   const struct unwind_memory *memory, int machine, uint64_t cfa, uint64_t *ra)
{
	if (__builtin_expect(rule->ra != UNWIND_IN_REGISTER, 1))
		return read_word(memory,
				 save_address(regs, machine, cfa, rule->ra, rule->ra_offset), ra);
	if (!is_valid(regs, rule->ra_offset))
		return UNWIND_END_NO_RULE;
	*ra = regs->r[rule->ra_offset];
	return 0;
}

/*
 * A slot below the red zone cannot be live: compilers leave the rule standing in epilogues
 * after the register was popped, so then it still holds the caller's value. The same goes
 * for one that hangs on the frame pointer and lies in the caller's frame: it was popped.
 * Slot 0 is the frame pointer, which the others may hang on: it comes last.
 */
INLINE void recover_slots(struct unwind_registers *regs, const struct unwind_rule *rule,
			  const struct unwind_memory *memory, int machine, uint64_t cfa)
{
	uint64_t dead_below = regs->r[unwind_sp_register(machine)] - UNWIND_RED_ZONE;
	unsigned int saves = rule->saves;

	while (saves) {
		unsigned int s = (31u - (unsigned int)__builtin_clz(saves)) / 2;
		unsigned int how = saves >> (2 * s) & 3;
		int number = unwind_slot_register(machine, s);
		uint64_t address;

		saves &= (1u << (2 * s)) - 1;
		if (number < 0)
			continue;
		address = save_address(regs, machine, cfa, how, rule->slot[s]);
		if (address != 0 &&
		    (address < dead_below || (how == UNWIND_AT_FP && address >= cfa)))
			continue;
		if (address != 0 && read_word(memory, address, &regs->r[number]) == 0)
			regs->valid |= BIT(number);
		else
			regs->valid &= ~BIT(number);
	}
}

/* The kernel's copy of the interrupted registers: @count of @order, then the pc. */
static int step_signal(struct unwind_registers *regs, const struct unwind_memory *memory, int sp,
		       uint64_t offset, const uint8_t *order, unsigned int count)
{
	const uint8_t *at;
	int err;

	if (!is_valid(regs, sp))
		return UNWIND_END_NO_RULE;
	at = locate(memory, regs->r[sp] + offset, (count + 1) * 8, &err);
	if (!at)
		return err;
	regs->valid = 0;
	for (unsigned int i = 0; i < count; i++) {
		__builtin_memcpy(&regs->r[order[i]], at + (size_t)8 * i, 8);
		regs->valid |= BIT(order[i]);
	}
	__builtin_memcpy(&regs->pc, at + (size_t)8 * count, 8);
	return 0;
}

RARELY int step_kernel_frame(struct unwind_registers *regs, const struct unwind_memory *memory,
			     int machine)
{
	/* r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp */
	static const uint8_t x86_64[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};
	static const uint8_t aarch64[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
					  11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					  22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

	if (machine == UNWIND_X86_64)
		return step_signal(regs, memory, 7, X86_64_GREGS, x86_64, sizeof(x86_64));
	return step_signal(regs, memory, 31, AARCH64_REGS, aarch64, sizeof(aarch64));
}

/* {saved frame pointer, return address} at the frame pointer, as both ABIs have it. */
INLINE int step_frame_pointer(struct unwind_registers *regs, const struct unwind_memory *memory,
			      int machine)
{
	int fp = unwind_fp_register(machine), sp = unwind_sp_register(machine);
	uint64_t at = regs->r[fp], caller_fp = 0, ra = 0;
	int err;

	if (!is_valid(regs, fp) || at % 8 != 0 || (is_valid(regs, sp) && at < regs->r[sp]))
		return UNWIND_END_NO_RULE;
	err = read_word(memory, at, &caller_fp);
	if (!err)
		err = read_word(memory, at + 8, &ra);
	if (err)
		return err == UNWIND_END_COPY_LIMIT ? err : UNWIND_END_NO_RULE;
	if (caller_fp != 0 && caller_fp <= at)
		return UNWIND_END_NO_RULE;
	regs->r[fp] = caller_fp;
	regs->r[sp] = at + 16;
	regs->pc = code_address(ra, machine);
	regs->valid = BIT(fp) | BIT(sp);
	return 0;
}

RARELY int step_rule(struct unwind_registers *regs, const struct unwind_rule *rule,
		     const struct unwind_memory *memory, int machine)
{
	int sp = unwind_sp_register(machine);
	uint64_t cfa, ra = 0;
	int err = find_cfa(regs, rule, memory, &cfa);

	if (!err)
		err = find_ra(regs, rule, memory, machine, cfa, &ra);
	if (err)
		return err;
	if (cfa < regs->r[sp] || (cfa == regs->r[sp] && rule->ra != UNWIND_IN_REGISTER))
		return UNWIND_END_BAD_READ;
	regs->valid &= machine == UNWIND_X86_64 ? X86_64_PRESERVED : AARCH64_PRESERVED;
	recover_slots(regs, rule, memory, machine, cfa);
	regs->r[sp] = cfa;
	regs->valid |= BIT(sp);
	regs->pc = code_address(ra, machine);
	return 0;
}

RARELY int step_any(struct unwind_registers *regs, const struct unwind_rule *rule,
		    const struct unwind_memory *memory, int machine)
{
	if (!rule)
		return step_frame_pointer(regs, memory, machine);
	if (rule->cfa == UNWIND_CFA_SIGNAL)
		return step_kernel_frame(regs, memory, machine);
	if (rule->cfa == UNWIND_CFA_NONE || rule->cfa >= UNWIND_CFA_END)
		return UNWIND_END_NO_RULE;
	return step_rule(regs, rule, memory, machine);
}

#define SAVES_AT_CFA 0x5555u /* all slots UNWIND_AT_CFA */

/*
 * Nine rules in ten: a register and an offset, and all that is saved lies between SP and the
 * CFA, in the first stretch of memory. True: the step is done. False: nothing has changed, but
 * maybe slots that step_rule() will find again in the same places.
 */
INLINE int step_plain(struct unwind_registers *regs, uint64_t *pc, uint64_t *valid_bits,
		      const struct unwind_rule *rule, const struct unwind_memory *memory,
		      int machine)
{
	const int sp_number = unwind_sp_register(machine);
	uint64_t sp = regs->r[sp_number], valid = *valid_bits;
	uint64_t base, cfa, room, at, ra;
	const uint8_t *frame;
	unsigned int saves = rule->saves;

	if (rule->cfa != UNWIND_CFA_REGISTER || rule->ra != UNWIND_AT_CFA ||
	    (saves & ~SAVES_AT_CFA) != 0 || !(valid >> rule->cfa_register & 1))
		return 0;
	base = regs->r[rule->cfa_register];
	cfa = base + (uint64_t)(int64_t)rule->cfa_offset;
	if (cfa <= sp || sp < memory->address || cfa - memory->address > memory->size ||
	    cfa - sp < 8)
		return 0;
	room = cfa - sp - 8;
	at = room + 8 + (uint64_t)((int64_t)rule->ra_offset * 8);
	if (at > room)
		return 0;
	frame = memory->bytes + (sp - memory->address);
	valid &= machine == UNWIND_X86_64 ? X86_64_PRESERVED : AARCH64_PRESERVED;
	__builtin_memcpy(&ra, frame + at, 8);
	while (saves) {
		unsigned int s = (unsigned int)__builtin_ctz(saves) / 2;
		int number = unwind_slot_register(machine, s);

		saves &= saves - 1;
		at = room + 8 + (uint64_t)((int64_t)rule->slot[s] * 8);
		if (at > room) {
			regs->r[rule->cfa_register] = base;
			return 0;
		}
		__builtin_memcpy(&regs->r[number], frame + at, 8);
		/* saves_are_sound() lets no slot without a register in */
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
		valid |= BIT(number);
	}
	regs->r[sp_number] = cfa;
	*valid_bits = valid | BIT(sp_number);
	*pc = code_address(ra, machine);
	return 1;
}

INLINE int is_exact(const struct unwind_rule *rule)
{
	return rule && (rule->cfa == UNWIND_CFA_SIGNAL || (rule->flags & UNWIND_RULE_EXACT));
}

/*
 * The same, with pc and the valid bits in registers of this machine. Frame pointers are inline,
 * too: a walker may have nothing else.
 */
INLINE int step(struct unwind_registers *regs, uint64_t *pc, uint64_t *valid,
		const struct unwind_rule *rule, const struct unwind_memory *memory, int machine)
{
	int stop;

	if (rule && __builtin_expect(step_plain(regs, pc, valid, rule, memory, machine), 1))
		return 0;
	regs->pc = *pc;
	regs->valid = *valid;
	stop = rule ? step_any(regs, rule, memory, machine)
		    : step_frame_pointer(regs, memory, machine);
	*pc = regs->pc;
	*valid = regs->valid;
	/* Or gcc 12 keeps the two in one vector register, and unpacks it for each frame. */
	__asm__("" : "+r"(*pc), "+r"(*valid));
	return stop;
}

/* unwind_walk(), with everything that is constant folded in. */
INLINE size_t walk_stack(struct unwind_registers *regs, const struct unwind_memory *memory,
			 const struct unwind_walker *walker, void *arg, int machine,
			 uint64_t *frames, size_t max, enum unwind_end *end)
{
	const int fp = unwind_fp_register(machine);
	const struct unwind_rule *rule = NULL;
	uint64_t pc = regs->pc, valid = regs->valid;
	int exact = 1, guessed = 0, stop = UNWIND_END_MAX_FRAMES;
	size_t count = 0;

	while (count < max) {
		if (!walker->find(arg, pc - (exact ? 0 : 1), &rule)) {
			stop = guessed ? UNWIND_END_NO_RULE : UNWIND_END_NO_MODULE;
			if (!guessed)
				frames[count++] = pc;
			break;
		}
		frames[count++] = pc;
		/* Both ABIs mark the outermost frame by a frame pointer of 0. */
		if (rule ? rule->cfa == UNWIND_CFA_END
			 : !exact && (valid >> fp & 1) && regs->r[fp] == 0) {
			stop = UNWIND_END_OUTERMOST;
			break;
		}
		if (count == max)
			break;
		stop = step(regs, &pc, &valid, rule, memory, machine);
		if (stop)
			break;
		if (pc == 0) {
			stop = (valid >> fp & 1) && regs->r[fp] == 0 ? UNWIND_END_OUTERMOST
								     : UNWIND_END_NO_MODULE;
			break;
		}
		guessed = !rule;
		exact = is_exact(rule);
		if (rule && rule->cfa == UNWIND_CFA_SIGNAL && walker->crossed)
			walker->crossed(arg, regs);
		stop = UNWIND_END_MAX_FRAMES;
	}
	*end = (enum unwind_end)stop;
	return count;
}

#endif
