/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls without libc's wrappers around them: no cancellation point, and an answer of
 * -errno with errno as it was. Kernel structures that libcs name differently.
 */
#ifndef WEFT_RUNTIME_SYS_H
#define WEFT_RUNTIME_SYS_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

static inline int32_t sys_gettid(void)
{
	return (int32_t)sys_call0(SYS_gettid);
}

static inline int32_t sys_getpid(void)
{
	return (int32_t)sys_call0(SYS_getpid);
}

/* vdso: no system call where the clocksource allows it. */
static inline uint64_t clock_monotonic_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now))
		return 0;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Bucket of a log2 histogram: b counts [2^(b-1), 2^b), 0 counts zeros. */
static inline unsigned int log2_bucket(uint64_t value)
{
	unsigned int bucket = value ? 64u - (unsigned int)__builtin_clzll(value) : 0;

	return bucket < 63 ? bucket : 63;
}

/* The kernel's struct sigevent and siginfo of a timer. */
struct sys_sigevent {
	uint64_t value;
	int32_t signo;
	int32_t notify;
	int32_t tid;
	uint8_t rsv[44];
};
_Static_assert(sizeof(struct sys_sigevent) == 64, "kernel sigevent");

#endif
