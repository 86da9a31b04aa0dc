/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigsetjmp and siglongjmp: the buffer holds the kernel's mask, in which SIGPROF is open for a
 * thread that believes it blocked. That belief is stored beside the mask, in the last word of the
 * buffer's room for it (of which the kernel uses 8 bytes), and restored with the mask.
 *
 * sigsetjmp must see its caller's registers and stack: ours stores the belief and jumps to libc's.
 */
#include <setjmp.h>
#include <stdint.h>

#include "runtime/core/real.h"
#include "runtime/hooks/hooks.h"
#include "runtime/sample/mask.h"

#define NOTE UINT64_C(0xB37C5A9E0FD1624C) /* lowest bit: believed blocked */

#if defined(__x86_64__)
#define REGISTERS 8
#else
#define REGISTERS 22
#endif

/* glibc's and musl's jmp_buf; in musl's the word at was_saved is never 0. */
struct buffer {
	uint64_t registers[REGISTERS];
	int32_t was_saved;
	int32_t unused;
	uint64_t mask[16]; /* the first is the kernel's */
};
_Static_assert(sizeof(struct buffer) == sizeof(sigjmp_buf), "jmp_buf");

void *weft_jump_note(void *env, int saves_mask) __attribute__((used, visibility("hidden")));

/* Returns the address to jump to. A buffer without a mask may be a shorter one. */
void *weft_jump_note(void *env, int saves_mask)
{
	struct buffer *buffer = env;

	if (saves_mask)
		buffer->mask[15] = NOTE | (weft_mask_is_active() && weft_mask_is_blocked());
	return (void *)(uintptr_t)weft_real(__sigsetjmp);
}

#if defined(__x86_64__)
__asm__(".text\n"
	".globl __sigsetjmp, sigsetjmp\n"
	".type __sigsetjmp, @function\n"
	".type sigsetjmp, @function\n"
	"__sigsetjmp:\n"
	"sigsetjmp:\n"
	"	.cfi_startproc\n"
	"	push %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call weft_jump_note\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	"	.cfi_endproc\n"
	".size __sigsetjmp, . - __sigsetjmp\n"
	".size sigsetjmp, . - sigsetjmp\n");
#else
__asm__(".text\n"
	".globl __sigsetjmp, sigsetjmp\n"
	".type __sigsetjmp, %function\n"
	".type sigsetjmp, %function\n"
	"__sigsetjmp:\n"
	"sigsetjmp:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, -32]!\n"
	"	.cfi_def_cfa_offset 32\n"
	"	.cfi_offset 29, -32\n"
	"	.cfi_offset 30, -24\n"
	"	stp x0, x1, [sp, 16]\n"
	"	bl weft_jump_note\n"
	"	mov x16, x0\n"
	"	ldp x0, x1, [sp, 16]\n"
	"	ldp x29, x30, [sp], 32\n"
	"	.cfi_def_cfa_offset 0\n"
	"	.cfi_restore 29\n"
	"	.cfi_restore 30\n"
	"	br x16\n"
	"	.cfi_endproc\n"
	".size __sigsetjmp, . - __sigsetjmp\n"
	".size sigsetjmp, . - sigsetjmp\n");
#endif

static void believe_as_then(const void *env)
{
	const struct buffer *buffer = env;

	if (weft_mask_is_active() && buffer->was_saved && (buffer->mask[15] & ~UINT64_C(1)) == NOTE)
		weft_mask_jump((int)(buffer->mask[15] & 1), buffer->mask[0]);
}

#define JUMP(name)                                                                                 \
	WEFT_API _Noreturn void name(jmp_buf env, int value)                                       \
	{                                                                                          \
		believe_as_then(env);                                                              \
		weft_real(name)(env, value);                                                       \
		__builtin_unreachable();                                                           \
	}

JUMP(siglongjmp)
JUMP(longjmp)
JUMP(_longjmp)

_Noreturn void __longjmp_chk(jmp_buf env, int value);

/* siglongjmp calls this in programs built with _FORTIFY_SOURCE. */
WEFT_API _Noreturn void __longjmp_chk(jmp_buf env, int value)
{
	believe_as_then(env);
	if (weft_real(__longjmp_chk))
		weft_real(__longjmp_chk)(env, value);
	weft_real(longjmp)(env, value);
	__builtin_unreachable();
}
