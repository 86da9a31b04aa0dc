/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of an interrupted thread, or of an event's caller, by DWARF number. */
#ifndef WEFT_RUNTIME_REGISTERS_H
#define WEFT_RUNTIME_REGISTERS_H

#include <stdint.h>
#include <ucontext.h>

/* Of an event's caller, at its call; event/event_entry.c stores them by these offsets. */
struct weft_event_caller {
#if defined(__x86_64__)
	uint64_t rbx, rbp, r12, r13, r14, r15;
#else
	uint64_t x19_x29[11];
#endif
	uint64_t sp; /* its value after the return */
	uint64_t pc; /* within the instruction of the call */
};

#if defined(__x86_64__)
#define REGISTER_COUNT 17
#define RED_ZONE_BYTES 128

static inline uint64_t registers_sp(const ucontext_t *uc)
{
	return (uint64_t)uc->uc_mcontext.gregs[15]; /* REG_RSP */
}

static inline uint64_t registers_pc(const ucontext_t *uc)
{
	return (uint64_t)uc->uc_mcontext.gregs[16]; /* REG_RIP */
}

/*
 * Is it returning from a system call? That leaves the address after it in rcx, two bytes behind
 * that of the instruction, at which it is begun again. (Else only by chance.)
 */
static inline int registers_left_system_call(const ucontext_t *uc)
{
	uint64_t pc = registers_pc(uc), rcx = (uint64_t)uc->uc_mcontext.gregs[14]; /* REG_RCX */

	return rcx == pc || rcx == pc + 2;
}

/* Kernel order (struct sigcontext): r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. */
static inline void registers_copy(uint64_t *out, const ucontext_t *uc)
{
	static const uint8_t from[REGISTER_COUNT] = {13, 12, 14, 11, 9, 8, 10, 15, 0,
						     1,  2,  3,  4,  5, 6, 7,  16};

	for (int i = 0; i < REGISTER_COUNT; i++)
		out[i] = (uint64_t)uc->uc_mcontext.gregs[from[i]];
}

/* The other registers are zeros. */
static inline void registers_of_caller(uint64_t *out, const struct weft_event_caller *caller)
{
	for (int i = 0; i < REGISTER_COUNT; i++)
		out[i] = 0;
	out[3] = caller->rbx;
	out[6] = caller->rbp;
	out[7] = caller->sp;
	out[12] = caller->r12;
	out[13] = caller->r13;
	out[14] = caller->r14;
	out[15] = caller->r15;
	out[16] = caller->pc;
}
#elif defined(__aarch64__)
#define REGISTER_COUNT 33
#define RED_ZONE_BYTES 0

static inline uint64_t registers_sp(const ucontext_t *uc)
{
	return uc->uc_mcontext.sp;
}

static inline uint64_t registers_pc(const ucontext_t *uc)
{
	return uc->uc_mcontext.pc;
}

/*
 * Is it returning from a system call, or about to begin one again? The page of the pc is readable,
 * the one before it may not be: at the first word of a page the answer is no.
 */
static inline int registers_left_system_call(const ucontext_t *uc)
{
	const uint32_t *at = (const uint32_t *)(uintptr_t)registers_pc(uc);
	const uint32_t svc_0 = 0xD4000001u;

	return (((uintptr_t)at & 4095) >= 4 && at[-1] == svc_0) || *at == svc_0;
}

static inline void registers_copy(uint64_t *out, const ucontext_t *uc)
{
	for (int i = 0; i < 31; i++)
		out[i] = uc->uc_mcontext.regs[i];
	out[31] = uc->uc_mcontext.sp;
	out[32] = uc->uc_mcontext.pc;
}

/* The other registers are zeros. */
static inline void registers_of_caller(uint64_t *out, const struct weft_event_caller *caller)
{
	for (int i = 0; i < REGISTER_COUNT; i++)
		out[i] = 0;
	for (int i = 0; i < 11; i++)
		out[19 + i] = caller->x19_x29[i];
	out[31] = caller->sp;
	out[32] = caller->pc;
}
#else
#error "x86-64 or aarch64"
#endif

#endif
