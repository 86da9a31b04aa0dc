/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame pointer of a frame, when only its pc and sp are known: a thread seen from outside,
 * whose other registers nobody tells without stopping it.
 *
 * Where a table says CFA = frame pointer + n, each place above sp may be that CFA. Taken is the
 * first at which {saved frame pointer, return address} are what a call of this very function
 * leaves there:
 *   - the return address lies behind a call instruction in mapped code;
 *   - a direct call goes to where this function starts; one through a register, or memory, or
 *     out of another module may go anywhere;
 *   - if the caller finds its own CFA by the frame pointer, the saved one points to another such
 *     pair above.
 * Where there is none, the first pair that lies behind any call and points up the stack: what
 * was reached by a jump from another function, or through a stub of its own module.
 *
 * Places of locals that were never written hold what was there before, return addresses too:
 * that is what the rules are for. They can err; samples that needed them are counted.
 */
#ifndef WEFT_COLLECTOR_FRAME_SCAN_H
#define WEFT_COLLECTOR_FRAME_SCAN_H

#include "unwind/rules.h"

struct frame_scan {
	int machine; /* enum unwind_machine */
	const struct unwind_memory *memory;
	unwind_find find;
	/* Bytes of code at an address of the target: 0, or -ENOENT where no file has them. */
	int (*code)(void *arg, uint64_t address, void *out, size_t bytes);
	/* Start of the function that @pc lies in: 0, or -ENOENT. */
	int (*entry)(void *arg, uint64_t pc, uint64_t *start);
	void *arg;
};

/* The frame pointer of the frame whose pc and sp are in @regs; @exact: its pc is no return
 * address. 0 and *out, or -ENOENT. */
int frame_scan(const struct frame_scan *s, const struct unwind_registers *regs, int exact,
	       uint64_t *out);

/*
 * aarch64, a leaf without a frame: its caller is in x30, which nobody tells. The chain of
 * {x29, x30} pairs that begins above sp: the callers of that caller, who is missing. Returns
 * how many.
 */
size_t frame_scan_chain(const struct frame_scan *s, uint64_t sp, uint64_t *frames, size_t max);

#endif
