/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls without libc's wrappers: no cancellation point; errors are -errno, errno is
 * unchanged.
 */
#ifndef WEFT_BASE_SYS_CALL_H
#define WEFT_BASE_SYS_CALL_H

#include <stdint.h>
#include <sys/syscall.h>

/* The record of SYS_getdents64, which older C libraries do not declare. */
struct kernel_dirent {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes; /* size of this entry; the next follows */
	uint8_t type;
	char name[];
};

static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "x86-64 or aarch64"
#endif
}

#define SYS_ARG(x) ((long)(x))
#define sys_call0(n) sys_call6((n), 0, 0, 0, 0, 0, 0)
#define sys_call1(n, a) sys_call6((n), SYS_ARG(a), 0, 0, 0, 0, 0)
#define sys_call2(n, a, b) sys_call6((n), SYS_ARG(a), SYS_ARG(b), 0, 0, 0, 0)
#define sys_call3(n, a, b, c) sys_call6((n), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), 0, 0, 0)
#define sys_call4(n, a, b, c, d)                                                                   \
	sys_call6((n), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), 0, 0)
#define sys_call5(n, a, b, c, d, e)                                                                \
	sys_call6((n), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), 0)

#endif
