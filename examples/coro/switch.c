/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch from one stack to another: the registers that a call keeps are pushed, the stack
 * pointers change places, the other one's are popped. With unwind information that holds at each
 * instruction, so that samples taken in a fiber have whole stacks; they end at fiber_first.
 * The floating-point control words are taken to be the same everywhere.
 */
#include "fiber.h"

#if defined(__x86_64__)
#define FIRST_WORDS 7
__asm__(".text\n"
	".type fiber_switch, @function\n"
	".globl fiber_switch\n"
	"fiber_switch:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset rbp, 0\n"
	"	push %rbx\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset rbx, 0\n"
	"	push %r12\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset r12, 0\n"
	"	push %r13\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset r13, 0\n"
	"	push %r14\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset r14, 0\n"
	"	push %r15\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset r15, 0\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore r15\n"
	"	pop %r14\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore r14\n"
	"	pop %r13\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore r13\n"
	"	pop %r12\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore r12\n"
	"	pop %rbx\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore rbx\n"
	"	pop %rbp\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size fiber_switch, . - fiber_switch\n"
	".type fiber_first, @function\n"
	"fiber_first:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	mov %r12, %rdi\n"
	"	call *%rbx\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size fiber_first, . - fiber_first\n");
enum { AT_ENTRY = 4, AT_ARG = 3, AT_START = 6 };

#elif defined(__aarch64__)
#define FIRST_WORDS 20
__asm__(".text\n"
	".type fiber_switch, %function\n"
	".globl fiber_switch\n"
	"fiber_switch:\n"
	"	.cfi_startproc\n"
	"	sub sp, sp, #160\n	.cfi_adjust_cfa_offset 160\n"
	"	stp x19, x20, [sp, #0]\n	.cfi_rel_offset x19, 0\n	.cfi_rel_offset "
	"x20, 8\n"
	"	stp x21, x22, [sp, #16]\n"
	"	stp x23, x24, [sp, #32]\n"
	"	stp x25, x26, [sp, #48]\n"
	"	stp x27, x28, [sp, #64]\n"
	"	stp x29, x30, [sp, #80]\n	.cfi_rel_offset x29, 80\n	.cfi_rel_offset "
	"x30, 88\n"
	"	stp d8, d9, [sp, #96]\n"
	"	stp d10, d11, [sp, #112]\n"
	"	stp d12, d13, [sp, #128]\n"
	"	stp d14, d15, [sp, #144]\n"
	"	mov x9, sp\n"
	"	str x9, [x0]\n"
	"	mov sp, x1\n"
	"	ldp x19, x20, [sp, #0]\n	.cfi_restore x19\n	.cfi_restore x20\n"
	"	ldp x21, x22, [sp, #16]\n"
	"	ldp x23, x24, [sp, #32]\n"
	"	ldp x25, x26, [sp, #48]\n"
	"	ldp x27, x28, [sp, #64]\n"
	"	ldp x29, x30, [sp, #80]\n	.cfi_restore x29\n	.cfi_restore x30\n"
	"	ldp d8, d9, [sp, #96]\n"
	"	ldp d10, d11, [sp, #112]\n"
	"	ldp d12, d13, [sp, #128]\n"
	"	ldp d14, d15, [sp, #144]\n"
	"	add sp, sp, #160\n	.cfi_adjust_cfa_offset -160\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size fiber_switch, . - fiber_switch\n"
	".type fiber_first, %function\n"
	"fiber_first:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined x30\n"
	"	mov x0, x20\n"
	"	blr x19\n"
	"	brk #1\n"
	"	.cfi_endproc\n"
	".size fiber_first, . - fiber_first\n");
enum { AT_ENTRY = 0, AT_ARG = 1, AT_START = 11 };
#else
#error "no switch for this machine"
#endif

void fiber_first(void);

void *fiber_first_stack(void *top, void (*entry)(void *arg), void *arg)
{
	/* After the return into fiber_first the stack is aligned as before a call. */
	uintptr_t *words = (uintptr_t *)((uintptr_t)top & ~(uintptr_t)15) - 2 - FIRST_WORDS;

	for (int i = 0; i < FIRST_WORDS; i++)
		words[i] = 0;
	words[AT_ENTRY] = (uintptr_t)entry;
	words[AT_ARG] = (uintptr_t)arg;
	words[AT_START] = (uintptr_t)fiber_first;
	return words;
}
