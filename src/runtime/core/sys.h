/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime's system calls (base/sys_call.h), and structures that libcs name differently.
 *
 * A process that filters its system calls (weft_rt_is_careful()) may be killed for one that it does
 * not know: there each call of this file is -EPERM and never reaches the kernel, so that none needs
 * a check of its own where that answer does no harm. What the program itself has asked for goes by
 * sys_call_anyway().
 */
#ifndef WEFT_RUNTIME_SYS_H
#define WEFT_RUNTIME_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/sys_call.h"
#include "runtime/core/runtime.h"

/* In a process that filters its system calls, too: a call that is the program's own, made by a hook
 * in its place. */
static inline long sys_call_anyway(long number, long a, long b, long c, long d, long e, long f)
{
	return sys_call6(number, a, b, c, d, e, f);
}

static inline long sys_call_if_allowed(long number, long a, long b, long c, long d, long e, long f)
{
	return UNLIKELY(weft_rt_is_careful()) ? -EPERM : sys_call6(number, a, b, c, d, e, f);
}
#define sys_call6 sys_call_if_allowed

/* The file's first bytes, ended by a NUL: how many, less than @room; or -errno. */
static inline long sys_read_file(const char *path, char *to, size_t room)
{
	long fd = sys_call4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long bytes = fd < 0 ? fd : sys_call3(SYS_read, fd, to, room - 1);

	if (fd >= 0)
		sys_call1(SYS_close, fd);
	to[bytes > 0 ? bytes : 0] = 0;
	return bytes;
}

static inline int32_t sys_gettid(void)
{
	return UNLIKELY(weft_rt_is_careful()) ? weft_thread_number()
					      : (int32_t)sys_call0(SYS_gettid);
}

/* A process that filters its system calls counts as the one that the session was made for: a fork
 * is known by the guard, and a vfork child is taken for its parent. */
static inline int32_t sys_getpid(void)
{
	return UNLIKELY(weft_rt_is_careful()) ? weft_rt.pid : (int32_t)sys_call0(SYS_getpid);
}

#define SYS_SIGNAL_BIT(signo) (UINT64_C(1) << (((unsigned int)(signo)-1) & 63))
#define SYS_SIGNALS_ALL (~UINT64_C(0))
/* Without the synchronous signals: one that is raised while it is blocked kills the process. */
#define SYS_SIGNALS_ASYNC                                                                          \
	(~(SYS_SIGNAL_BIT(SIGSEGV) | SYS_SIGNAL_BIT(SIGBUS) | SYS_SIGNAL_BIT(SIGFPE) |             \
	   SYS_SIGNAL_BIT(SIGILL) | SYS_SIGNAL_BIT(SIGTRAP)))

/* In no mask: the kernel takes it out. */
#define SYS_SIGNALS_AS_THEY_WERE SYS_SIGNAL_BIT(SIGKILL)

/* Blocks @which in the calling thread; returns the mask before, for sys_signals_restore(). Where
 * that may not be asked for, none is blocked, and none is opened afterwards. */
static inline uint64_t sys_signals_block(uint64_t which)
{
	uint64_t before = 0;

	if (sys_call4(SYS_rt_sigprocmask, SIG_BLOCK, &which, &before, sizeof(which)))
		return SYS_SIGNALS_AS_THEY_WERE;
	return before;
}

/* Whoever has blocked signals opens them, even if a filter was seen meanwhile: a thread that stays
 * deaf to all signals is harmed for certain. */
static inline void sys_signals_restore(uint64_t before)
{
	if (!(before & SYS_SIGNALS_AS_THEY_WERE))
		sys_call_anyway(SYS_rt_sigprocmask, SIG_SETMASK, SYS_ARG(&before), 0,
				sizeof(before), 0, 0);
}

/* The mask of the thread that was interrupted at @uc. */
static inline uint64_t sys_mask_of(const ucontext_t *uc)
{
	uint64_t mask;

	memcpy(&mask, &uc->uc_sigmask, sizeof(mask));
	return mask;
}

/* Sets of signals, as sigaddset() and its like would change them. */
static inline int sys_set_has(const sigset_t *set, int signo)
{
	uint64_t signals;

	memcpy(&signals, set, sizeof(signals));
	return (signals & SYS_SIGNAL_BIT(signo)) != 0;
}

static inline void sys_set_put(sigset_t *set, int signo, int is)
{
	uint64_t signals;

	memcpy(&signals, set, sizeof(signals));
	signals = is ? signals | SYS_SIGNAL_BIT(signo) : signals & ~SYS_SIGNAL_BIT(signo);
	memcpy(set, &signals, sizeof(signals));
}

/* Of a call that returns an address. */
static inline int sys_is_error(long result)
{
	return result < 0 && result > -4096;
}

/* As libc's functions give it. */
static inline long sys_result(long result)
{
	if (!sys_is_error(result))
		return result;
	errno = (int)-result;
	return -1;
}

/* New memory, all zeros, of which untouched pages cost nothing; or -errno. */
static inline long sys_map_memory(uint64_t bytes)
{
	return sys_call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* Address space without memory, of which parts are opened later; @fd < 0: of no file. Or -errno. */
static inline long sys_reserve(int fd, uint64_t bytes)
{
	int flags = MAP_NORESERVE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
	long at = sys_call6(SYS_mmap, 0, (long)bytes, PROT_NONE, flags, fd, 0);

	if (sys_is_error(at))
		return at;
	sys_call3(SYS_madvise, at, bytes, MADV_DONTDUMP);
	sys_call3(SYS_madvise, at, bytes, MADV_NOHUGEPAGE);
	return at;
}

/* A soft limit; UINT64_MAX: there is none, or it cannot be read. */
static inline uint64_t sys_limit(int which)
{
	uint64_t limit[2] = {UINT64_MAX, UINT64_MAX};

	return sys_call4(SYS_prlimit64, 0, which, NULL, limit) ? UINT64_MAX : limit[0];
}

#define SYS_CPU_CLOCK(tid) ((int32_t)((~(uint32_t)(tid) << 3) | 6u)) /* of any thread here */

/* By a system call; 0: the clock cannot be read. */
static inline uint64_t sys_clock_ns(int32_t clock)
{
	struct timespec now = {0};

	if (sys_call2(SYS_clock_gettime, clock, &now))
		return 0;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* time_source.c: as clock_gettime, but for the result, which is 0 or -errno. Without libc, and
 * without a system call where the clocksource allows it. */
typedef int weft_time_fn(int32_t clock, struct timespec *now);
#pragma GCC visibility push(hidden)
extern weft_time_fn *weft_time_read;
extern uint64_t weft_time_shift_ns; /* the session's time_shift_ns */
#pragma GCC visibility pop

static inline uint64_t weft_time_shift(void)
{
	return load_relaxed(&weft_time_shift_ns);
}

/* The program's CLOCK_MONOTONIC: for spans, since the shift may come in the middle of one, when a
 * collector attaches. */
static inline uint64_t clock_own_ns(void)
{
	struct timespec now;

	if (weft_time_read(CLOCK_MONOTONIC, &now))
		return 0;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC of the collector: of another time namespace, if the program is in one. */
static inline uint64_t clock_monotonic_ns(void)
{
	uint64_t now_ns = clock_own_ns();

	return now_ns ? now_ns + weft_time_shift() : 0;
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
