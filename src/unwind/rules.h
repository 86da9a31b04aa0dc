/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables and the one walker, for both planes: nothing here allocates, calls libc or
 * follows a pointer that is not given to it.
 *
 * A table is what is left of .eh_frame / .debug_frame for one module: sorted rows
 * {u32 pc, u16 rule}, a rule holding from its pc up to the next row's, and the distinct
 * rules (some hundreds a module). Addresses are file addresses (p_vaddr); a module's bias
 * is added by the caller. The layout is plain data in one block, so that it can be mapped
 * from a file or a memfd: see struct unwind_table.
 */
#ifndef WEFT_UNWIND_RULES_H
#define WEFT_UNWIND_RULES_H

#include <stddef.h>
#include <stdint.h>

#define UNWIND_TABLE_MAGIC UINT32_C(0x31545557) /* "WUT1" */
#define UNWIND_REGISTERS 33 /* room for x86-64 (17) and aarch64 (33), DWARF numbers */

enum unwind_machine { UNWIND_X86_64 = 62, UNWIND_AARCH64 = 183 }; /* EM_* */

/* How the canonical frame address is found. */
enum unwind_cfa {
	UNWIND_CFA_NONE = 0, /* no rule: cannot go on */
	UNWIND_CFA_REGISTER, /* register + offset */
	UNWIND_CFA_PLT,      /* x86-64 PLT: rsp + 8 + ((rip & 15) >= offset ? 8 : 0) */
	UNWIND_CFA_DEREF,    /* *(register + offset) + extra */
	UNWIND_CFA_SIGNAL,   /* signal trampoline: registers from the kernel's frame */
	UNWIND_CFA_END,      /* return address undefined: the outermost frame */
};

/* How a saved register is found. */
enum unwind_save {
	UNWIND_SAME = 0, /* the caller's value is still there */
	UNWIND_AT_CFA,   /* *(cfa + offset) */
	UNWIND_UNDEFINED,
	UNWIND_IN_REGISTER, /* value of register `offset` (aarch64: ra in x30) */
};

/*
 * One rule: the CFA, the return address and the callee-saved registers that tables
 * recover (x86-64: rbp, rbx, r12-r15; aarch64: x29, x30, x19-x28 as far as needed for CFAs).
 * 32 bytes; the reader checks every field.
 */
struct unwind_rule {
	uint8_t cfa;          /* enum unwind_cfa */
	uint8_t cfa_register; /* DWARF number */
	uint8_t ra;           /* enum unwind_save */
	uint8_t fp;           /* enum unwind_save: rbp / x29 */
	int32_t cfa_offset;
	int32_t cfa_extra; /* DEREF: added afterwards */
	int16_t ra_offset; /* bytes from the CFA, or register number */
	int16_t fp_offset;
	uint8_t saved_register[2]; /* further registers that some CFA needs (e.g. rbx, r10) */
	uint8_t saved[2];          /* enum unwind_save */
	int16_t saved_offset[2];
	uint8_t rsv[8];
};
_Static_assert(sizeof(struct unwind_rule) == 32, "unwind rule");

struct unwind_table {
	uint32_t magic;
	uint16_t machine; /* enum unwind_machine */
	uint16_t rsv;
	uint32_t bytes; /* whole table */
	uint32_t row_count;
	uint32_t rule_count;   /* <= 65535 */
	uint32_t pc_offset;    /* u32 pc[row_count], ascending, relative to pc_base */
	uint32_t index_offset; /* u16 rule[row_count] */
	uint32_t rule_offset;  /* struct unwind_rule[rule_count] */
	uint64_t pc_base;
	uint64_t pc_end; /* rows say nothing from here on */
};

struct unwind_registers {
	uint64_t r[UNWIND_REGISTERS]; /* DWARF numbers */
	uint64_t valid;               /* bit per register */
	uint64_t pc;
};

/* Where the walker may read: copies of stretches of the target's memory. */
struct unwind_memory {
	const uint8_t *bytes;
	uint64_t address; /* target address of bytes[0] */
	uint64_t size;
};

struct unwind_module {
	uint64_t start, end; /* mapped addresses */
	uint64_t bias;
	const struct unwind_table *table; /* NULL: frame pointers only */
};

/* Finds the module of a pc; false when none. Called by the walker. */
typedef int (*unwind_find)(void *arg, uint64_t pc, struct unwind_module *out);

enum unwind_end {
	UNWIND_END_OUTERMOST = 0, /* reached the outermost frame */
	UNWIND_END_MAX_FRAMES,
	UNWIND_END_NO_MODULE,  /* pc in no known module */
	UNWIND_END_NO_RULE,    /* module has no rule for the pc and no frame pointer helps */
	UNWIND_END_COPY_LIMIT, /* the next read lies above the end of the copy */
	UNWIND_END_BAD_READ,   /* the next read lies below it, or the CFA did not grow */
};

/*
 * unwind_table_check() - is this block a table whose every offset, count and rule is sound?
 * 0 or -EINVAL. Must be called once before a table of unknown origin is used.
 */
int unwind_table_check(const void *block, size_t bytes);

/* Row lookup by file address; NULL when the table says nothing. */
const struct unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t address);

/* One step: from the frame in @regs to its caller's. Returns 0 or an enum unwind_end > 0. */
int unwind_step(struct unwind_registers *regs, const struct unwind_rule *rule,
		const struct unwind_memory *memory, int machine);

/*
 * unwind_walk() - the whole stack, leaf first. Frames after the first are return addresses
 * (look up pc - 1), except right above a signal trampoline. @frames gets at most
 * @max pcs. Returns the number; *end says why it stopped.
 */
size_t unwind_walk(struct unwind_registers *regs, const struct unwind_memory *memory,
		   unwind_find find, void *arg, int machine, uint64_t *frames, size_t max,
		   enum unwind_end *end);

#endif
