/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables and the one walker, for both planes: nothing here allocates, calls libc or follows
 * a pointer that is not given to it.
 *
 * A table holds what is needed of .eh_frame / .debug_frame of one module: sorted rows {u32 pc, u16
 * rule}, a rule holding from its pc up to the next row's, and the distinct rules (some hundreds to
 * thousands a module). Addresses are file addresses (p_vaddr); the caller adds a module's bias. The
 * layout is plain data in one block without pointers, so that it can be mapped read-only from a
 * file or a memfd:
 *
 *   struct unwind_table | u32 pc[rows] | u32 page[pages + 1] | u16 rule[rows] | rules
 *
 * Byte map, validity and the walker's rules: docs/unwind.md.
 */
#ifndef WEFT_UNWIND_RULES_H
#define WEFT_UNWIND_RULES_H

#include <stddef.h>
#include <stdint.h>

#define UNWIND_TABLE_MAGIC UINT32_C(0x31545557) /* "WUT1" */
#define UNWIND_REGISTERS 33 /* room for x86-64 (17) and aarch64 (33), DWARF numbers */
#define UNWIND_SLOTS 8      /* registers that a rule can recover */
#define UNWIND_PAGE_BITS 12
#define UNWIND_RED_ZONE 128 /* x86-64: a copy of the stack begins this far below SP */

enum unwind_machine { UNWIND_X86_64 = 62, UNWIND_AARCH64 = 183 }; /* EM_* */

/* How the canonical frame address (CFA) is found. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0, /* no rule: the walk ends */
	UNWIND_CFA_REGISTER, /* register + offset */
	UNWIND_CFA_PLT,      /* x86-64 PLT: rsp + 8 + ((rip & 15) >= offset ? 8 : 0) */
	UNWIND_CFA_DEREF,    /* *(register + offset) + extra */
	UNWIND_CFA_SIGNAL,   /* signal trampoline: registers from the kernel's frame */
	UNWIND_CFA_END,      /* return address undefined: the outermost frame */
	UNWIND_CFA_KINDS,
};

/* How a saved register, or the return address, is found. Two bits each in a rule. */
enum unwind_save {
	UNWIND_SAME = 0, /* the caller's value is still in the register */
	UNWIND_AT_CFA,   /* *(cfa + 8 * offset) */
	UNWIND_AT_FP,    /* *(frame pointer of this frame + 8 * offset): realigned stacks */
	UNWIND_LOST,     /* undefined, or a form that tables do not hold: unknown from here on */
	/* For the return address only, in place of UNWIND_LOST: */
	UNWIND_IN_REGISTER = UNWIND_LOST, /* the value of register number `ra_offset` */
};

enum { UNWIND_RULE_EXACT = 1 }; /* a signal frame: the caller's pc is not a return address */

/*
 * One rule: the CFA, the return address, and the registers that callers' CFAs may need.
 * Slot s is unwind_slot_register(machine, s): x86-64 rbp, rbx, r12-r15; aarch64 x29,
 * x19-x25. Bits 2s and 2s+1 of `saves` are its enum unwind_save.
 */
struct unwind_rule {
	uint8_t cfa;          /* enum unwind_cfa */
	uint8_t cfa_register; /* DWARF number */
	uint8_t ra;           /* enum unwind_save, never UNWIND_SAME */
	uint8_t flags;        /* UNWIND_RULE_EXACT */
	int32_t cfa_offset;
	int16_t cfa_extra; /* DEREF: added afterwards */
	int16_t ra_offset; /* 8-byte words, or register number */
	uint16_t saves;
	int16_t slot[UNWIND_SLOTS]; /* 8-byte words */
	uint8_t rsv[2];             /* 0 */
};
_Static_assert(sizeof(struct unwind_rule) == 32, "unwind rule");

struct unwind_table {
	uint32_t magic;
	uint16_t machine; /* enum unwind_machine */
	uint16_t rsv;     /* 0 */
	uint32_t bytes;   /* whole table, a multiple of 8 */
	uint32_t row_count;
	uint32_t rule_count;   /* 1..65535; rule 0 is UNWIND_CFA_NONE */
	uint32_t page_count;   /* pages of 4 KiB from pc_base to pc_end */
	uint32_t pc_offset;    /* u32 pc[row_count], ascending, relative to pc_base */
	uint32_t page_offset;  /* u32 page[page_count + 1]: first row at or after its start */
	uint32_t index_offset; /* u16 rule[row_count] */
	uint32_t rule_offset;  /* struct unwind_rule[rule_count], a multiple of 32 */
	uint64_t pc_base;      /* page-aligned file address */
	uint64_t pc_end;       /* addresses from here on have no rule */
	uint64_t rsv2;         /* 0 */
};
_Static_assert(sizeof(struct unwind_table) == 64, "unwind table");

struct unwind_registers {
	uint64_t r[UNWIND_REGISTERS]; /* DWARF numbers */
	uint64_t valid;               /* bit per register */
	uint64_t pc;
};

/*
 * Memory that the walker may read: copies of parts of the target's memory, or, in the target
 * itself, the memory in place (bytes == (const uint8_t *)address). There are several parts if a
 * signal came on an alternate stack.
 */
struct unwind_memory {
	const uint8_t *bytes;
	uint64_t address; /* target address of bytes[0] */
	uint64_t size;
	const struct unwind_memory *next; /* or NULL */
};

struct unwind_module {
	uint64_t start, end; /* mapped addresses */
	uint64_t bias;
	const struct unwind_table *table; /* NULL: frame pointers only (no CFI, JIT code) */
	const struct unwind_rule *rule;   /* set by a finder that caches: used without a lookup */
};

/*
 * Finds the module of @pc: 0 and *out (zeroed before the call), or -ENOENT. @pc is the
 * address to look up: for a return address, the last byte of the call.
 */
typedef int (*unwind_find)(void *arg, uint64_t pc, struct unwind_module *out);

enum unwind_end {
	UNWIND_END_OUTERMOST = 0, /* reached the outermost frame */
	UNWIND_END_MAX_FRAMES,
	UNWIND_END_NO_MODULE,  /* pc in no known module; it is the last frame */
	UNWIND_END_NO_RULE,    /* module has no rule for the pc and no frame pointer helps */
	UNWIND_END_COPY_LIMIT, /* the next read lies above the end of the copy */
	UNWIND_END_BAD_READ,   /* the next read lies below it, or the CFA did not grow */
	UNWIND_END_COUNT,
};

/*
 * unwind_table_check() - is every offset, count, row and rule of this block valid? 0 or -EINVAL.
 * Must be called once before a table of unknown origin is used; the functions below trust a table
 * that passed. @block is 8-aligned.
 */
int unwind_table_check(const void *block, size_t bytes);

/* Row lookup by file address; NULL if the table has none. */
const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t address);

/* DWARF number of slot @slot; -1 for a slot that this machine does not use. */
static inline int unwind_slot_register(int machine, unsigned int slot)
{
	static const int8_t x86_64[UNWIND_SLOTS] = {6, 3, 12, 13, 14, 15, -1, -1};

	if (slot >= UNWIND_SLOTS)
		return -1;
	if (machine == UNWIND_X86_64)
		return x86_64[slot];
	return slot == 0 ? 29 : 18 + (int)slot;
}

static inline int unwind_sp_register(int machine)
{
	return machine == UNWIND_X86_64 ? 7 : 31;
}

static inline int unwind_fp_register(int machine)
{
	return machine == UNWIND_X86_64 ? 6 : 29;
}

/*
 * One step: from the frame in @regs to its caller's; @rule NULL: by the frame pointer. Returns 0 or
 * an enum unwind_end > 0 (then @regs is unchanged). The caller decides about a return address of 0.
 * Not for UNWIND_CFA_END rules.
 */
int unwind_step(struct unwind_registers *regs, const struct unwind_rule *rule,
		const struct unwind_memory *memory, int machine);

/*
 * unwind_walk() - the whole stack, leaf first. Frames after the first are return addresses (look up
 * pc - 1), except directly above a signal trampoline. At most @max pcs are stored in @frames.
 * Returns the number; *end says why the walk stopped. @regs is overwritten.
 */
size_t unwind_walk(struct unwind_registers *regs, const struct unwind_memory *memory,
		   unwind_find find, void *arg, int machine, uint64_t *frames, size_t max,
		   enum unwind_end *end);

#endif
