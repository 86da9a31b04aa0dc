/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of weft/event.h that may want their caller's stack. A walk begins at the caller,
 * so its registers are kept as they are at the call, before any compiler has moved them: hence
 * this little assembly. Where no stack is wanted (most often) it is two loads and a branch.
 *
 *	weft_event_put(event, ...), weft_event_put_now(type, ...), weft_event_put_at(type, ...)
 *		-> weft_event_*_from(the same, caller)
 *
 * caller: struct weft_event_caller on the stack, or NULL.
 */
#include "runtime/event/event.h"

#include "runtime/stack/registers.h"

#define ROW 72 /* weft_event_type.row */
_Static_assert(offsetof(struct weft_event_type, row) == ROW, "row");
_Static_assert(offsetof(struct weft_event, type) == 0, "type of an event");
_Static_assert(offsetof(struct weft_event_row, flags) == 0, "flags of a row");
_Static_assert(WEFT_EVENT_WITH_STACK == 2, "bit 1");

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

#define FUNCTION(name)                                                                             \
	"	.text\n"                                                                                 \
	"	.p2align 4\n"                                                                            \
	"	.globl " name "\n"                                                                 \
	"	.type " name ", %function\n" name ":\n"                                            \
	"	.cfi_startproc\n"
#define FUNCTION_END(name)                                                                         \
	"	.cfi_endproc\n"                                                                          \
	"	.size " name ", .-" name "\n"

#if defined(__x86_64__)

_Static_assert(sizeof(struct weft_event_caller) == 64, "what is pushed");
_Static_assert(offsetof(struct weft_event_caller, sp) == 48, "sp");
_Static_assert(offsetof(struct weft_event_caller, pc) == 56, "pc");

/* The caller's registers become the argument in register @last. */
#define ENTRY(name, to, load_type, last_low, last)                                                 \
	__asm__(FUNCTION(name) load_type                                                           \
		"	testq %rax, %rax\n"                                                              \
		"	jz 1f\n"                                                                         \
		"	movq " TEXT(ROW) "(%rax), %rax\n"                                          \
					 "	testb $2, (%rax)\n"                                     \
					 "	jnz 2f\n"                                               \
					 "1:	xorl %" last_low ", %" last_low "\n"               \
					 "	jmp " to "\n"                                      \
					 "2:	subq $72, %rsp\n"                                     \
					 "	.cfi_adjust_cfa_offset 72\n"                            \
					 "	movq %rbx, (%rsp)\n"                                    \
					 "	movq %rbp, 8(%rsp)\n"                                   \
					 "	movq %r12, 16(%rsp)\n"                                  \
					 "	movq %r13, 24(%rsp)\n"                                  \
					 "	movq %r14, 32(%rsp)\n"                                  \
					 "	movq %r15, 40(%rsp)\n"                                  \
					 "	leaq 80(%rsp), %rax\n"                                  \
					 "	movq %rax, 48(%rsp)\n"                                  \
					 "	movq 72(%rsp), %rax\n"                                  \
					 "	decq %rax\n"                                            \
					 "	movq %rax, 56(%rsp)\n"                                  \
					 "	movq %rsp, %" last "\n"                            \
					 "	call " to "\n"                                     \
					 "	addq $72, %rsp\n"                                       \
					 "	.cfi_adjust_cfa_offset -72\n"                           \
					 "	ret\n" FUNCTION_END(name))

__asm__(".hidden weft_event_put_from\n.hidden weft_event_put_now_from\n"
	".hidden weft_event_put_at_from\n");
ENTRY("weft_event_put", "weft_event_put_from", "	movq (%rdi), %rax\n", "ecx", "rcx");
ENTRY("weft_event_put_now", "weft_event_put_now_from", "	movq %rdi, %rax\n", "ecx", "rcx");
ENTRY("weft_event_put_at", "weft_event_put_at_from", "	movq %rdi, %rax\n", "r9d", "r9");

#elif defined(__aarch64__)

_Static_assert(sizeof(struct weft_event_caller) == 104, "what is pushed");
_Static_assert(offsetof(struct weft_event_caller, sp) == 88, "sp");
_Static_assert(offsetof(struct weft_event_caller, pc) == 96, "pc");

#define ENTRY(name, to, load_type, last)                                                           \
	__asm__(FUNCTION(name) load_type                                                           \
		"	cbz x9, 1f\n"                                                                    \
		"	ldr x9, [x9, " TEXT(ROW) "]\n"                                             \
						 "	ldr w9, [x9]\n"                                 \
						 "	tbnz w9, 1, 2f\n"                               \
						 "1:	mov " last ", xzr\n"                       \
						 "	b " to "\n"                                \
						 "2:	sub sp, sp, 128\n"                            \
						 "	.cfi_adjust_cfa_offset 128\n"                   \
						 "	stp x19, x20, [sp]\n"                           \
						 "	stp x21, x22, [sp, 16]\n"                       \
						 "	stp x23, x24, [sp, 32]\n"                       \
						 "	stp x25, x26, [sp, 48]\n"                       \
						 "	stp x27, x28, [sp, 64]\n"                       \
						 "	add x9, sp, 128\n"                              \
						 "	stp x29, x9, [sp, 80]\n"                        \
						 "	sub x9, x30, 4\n"                               \
						 "	str x9, [sp, 96]\n"                             \
						 "	stp x29, x30, [sp, 112]\n"                      \
						 "	.cfi_offset x29, -16\n"                         \
						 "	.cfi_offset x30, -8\n"                          \
						 "	add x29, sp, 112\n"                             \
						 "	mov " last ", sp\n"                        \
						 "	bl " to "\n"                               \
						 "	ldp x29, x30, [sp, 112]\n"                      \
						 "	add sp, sp, 128\n"                              \
						 "	.cfi_adjust_cfa_offset -128\n"                  \
						 "	.cfi_restore x29\n"                             \
						 "	.cfi_restore x30\n"                             \
						 "	ret\n" FUNCTION_END(name))

__asm__(".hidden weft_event_put_from\n.hidden weft_event_put_now_from\n"
	".hidden weft_event_put_at_from\n");
ENTRY("weft_event_put", "weft_event_put_from", "	ldr x9, [x0]\n", "x3");
ENTRY("weft_event_put_now", "weft_event_put_now_from", "	mov x9, x0\n", "x3");
ENTRY("weft_event_put_at", "weft_event_put_at_from", "	mov x9, x0\n", "x5");

#endif
