/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread-local variables that outside readers find by a TLS descriptor (R_X86_64_TLSDESC,
 * R_AARCH64_TLSDESC) which names the symbol. Not every compiler can be told to emit one, so the
 * instructions are written here: the sequence of the psABI, which a linker may relax (in an
 * executable nothing is left of the descriptor). In a function of its own, because its call needs
 * an aligned stack, and no red zone in use.
 */
#ifndef WEFT_BASE_TLSDESC_H
#define WEFT_BASE_TLSDESC_H

#include <stdint.h>

/*
 * WEFT_TLSDESC(symbol, place, descriptor) - at file scope, after the definition of @symbol
 * (__thread, not static): defines
 *   void *place(void)            where it is in the calling thread; a first touch may take memory
 *   const int64_t *descriptor(void)   what the loader filled in; for weft_tlsdesc_distance()
 */
#if defined(__x86_64__)
#define WEFT_TLSDESC_LOAD(symbol) "leaq " #symbol "@tlsdesc(%rip), %rax\n"
#define WEFT_TLSDESC_CALL(symbol)                                                                  \
	"subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n" WEFT_TLSDESC_LOAD(                             \
		symbol) "call *" #symbol "@tlscall(%rax)\naddq %fs:0, %rax\n"                      \
			"addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
#elif defined(__aarch64__)
#define WEFT_TLSDESC_LOAD(symbol)                                                                  \
	"adrp x0, :tlsdesc:" #symbol "\nldr x1, [x0, #:tlsdesc_lo12:" #symbol "]\n"                \
	"add x0, x0, :tlsdesc_lo12:" #symbol "\n"
#define WEFT_TLSDESC_CALL(symbol)                                                                  \
	"stp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset 29, -16\n"                 \
	".cfi_offset 30, -8\n" WEFT_TLSDESC_LOAD(                                                  \
		symbol) ".tlsdesccall " #symbol "\nblr x1\n"                                       \
			"mrs x1, tpidr_el0\nadd x0, x0, x1\n"                                      \
			"ldp x29, x30, [sp], #16\n.cfi_restore 29\n.cfi_restore "                  \
			"30\n.cfi_def_cfa_offset 0\n"
#else
#error "x86-64 or aarch64"
#endif

#define WEFT_TLSDESC_FUNCTION(name, body)                                                          \
	__asm__(".pushsection .text\n.balign 16\n.globl " #name "\n.hidden " #name                 \
		"\n.type " #name ", %function\n" #name ":\n.cfi_startproc\n" body                  \
		"ret\n.cfi_endproc\n.size " #name ", . - " #name "\n.popsection\n")

#define WEFT_TLSDESC(symbol, place, descriptor)                                                    \
	void *place(void) __attribute__((visibility("hidden")));                                   \
	const int64_t *descriptor(void) __attribute__((visibility("hidden")));                     \
	WEFT_TLSDESC_FUNCTION(place, WEFT_TLSDESC_CALL(symbol));                                   \
	WEFT_TLSDESC_FUNCTION(descriptor, WEFT_TLSDESC_LOAD(symbol))

/*
 * weft_tlsdesc_distance() - how far the variable is from the thread pointer, when that is the
 * same in all threads (static TLS): then it may be reached by an addition, in handlers too.
 * 0: it differs. Relaxed by the linker, the descriptor's address has become the distance.
 */
static inline int64_t weft_tlsdesc_distance(const void *place, const int64_t *descriptor,
					    const void *thread_pointer)
{
	int64_t distance = (const char *)place - (const char *)thread_pointer;

	if ((int64_t)(uintptr_t)descriptor == distance)
		return distance;
	return descriptor[1] == distance ? distance : 0;
}

#endif
