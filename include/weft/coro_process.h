/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coro_process.h
 * The probe's process side (not for direct use: weft/coro.h): its state, the clock, the engine's
 * socket, and fork. weft/coro_open.h fills it.
 *
 * State: one weak hidden struct per linked object, filled by the first create, and constant from
 * then on but for `ids`, for what a fork renews (in the child, at its first event: one thread does
 * it while others wait), and when the file is cut short. A coroutine points to the struct of the
 * object that created it; events made in another object (the code of a C++ template may lie in any)
 * use that one.
 *
 * The guard: a word of private memory that holds `owner`, and that the kernel wipes in a child.
 * Each event compares it with the coroutine's owner: one load. A child, or a process whose shared
 * file is gone, has another owner: the event then takes the slow way (weft_probe_adopt).
 *
 * System calls are made directly: no errno, no cancellation point, and nothing that strict C11
 * hides.
 */
#ifndef WEFT_CORO_PROCESS_H
#define WEFT_CORO_PROCESS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#include <weft/coro_carry.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A weak reference: NULL unless libweft is in the process. */
extern const struct weft_coro_carry_v1 weft_coro_carry_v1 __attribute__((weak));

#define WEFT_PROBE_COLD __attribute__((noinline, cold, unused))
/* Inlined for each kind of event, so that the compiler folds what is constant in it. */
#define WEFT_PROBE_HOT static inline __attribute__((always_inline))
#define WEFT_PROBE_LIKELY(x) __builtin_expect(!!(x), 1)
#define WEFT_PROBE_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WEFT_PROBE_LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define WEFT_PROBE_STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

enum weft_probe_linux { /* the same on x86-64 and aarch64 */
			WEFT_PROBE_O_OPEN =
				02000000 | 04000 | 0400 | 2, /* CLOEXEC, NONBLOCK, NOCTTY, RDWR */
			WEFT_PROBE_SOCKET = 02000000 | 04000 | 1, /* CLOEXEC, NONBLOCK, STREAM */
			WEFT_PROBE_SEND = 0x4000 | 0x40,          /* MSG_NOSIGNAL, MSG_DONTWAIT */
			WEFT_PROBE_PRIVATE = 0x20 | 0x02,         /* MAP_ANONYMOUS, MAP_PRIVATE */
			WEFT_PROBE_WIPEONFORK = 18,
			WEFT_PROBE_AT_PAGESZ = 6,
			WEFT_PROBE_AT_SECURE = 23,
			WEFT_PROBE_DUPFD_CLOEXEC = 1030,
};

#define WEFT_PROBE_RENEWING UINT32_MAX /* the guard's word while a child renews it */

struct weft_probe_sigaction { /* as libc has it */
	void (*handler)(int number, void *info, void *context);
	unsigned long mask[16];
	int flags;
	void (*restorer)(void);
};

struct weft_probe_process {
	uint32_t *guard;                        /* its word is `owner` */
	struct weft_ctp_header *header;         /* NULL: no engine */
	struct weft_ctp_station *stations;      /* behind it */
	const struct weft_coro_carry_v1 *carry; /* NULL: no libweft */
	uint32_t is_on;                         /* has header or carry; stored last */
	uint32_t is_extended;                   /* the header has weft's extensions */
	uint32_t count;                         /* stations */
	uint32_t dirty_shift;                   /* 32 = no dirty bitmap */
	uint32_t owner;                         /* counts forks; never 0 */
	uint32_t pid;
	uint32_t ids; /* numbers given to coroutines */
	int32_t socket;
	uint32_t is_cut;     /* the mapping is private memory now, for the file was cut short */
	uint32_t page_bytes; /* of memory */
	uint64_t socket_inode;
	struct weft_probe_sigaction sigbus;      /* what SIGBUS did before */
	uint64_t opening;                        /* 0; pid << 1 while it is opened; 1 = done */
	struct weft_probe_thread *(*here)(void); /* of this linked object */
	struct sockaddr_un address;
};

struct weft_probe_thread {
	struct weft_coro *running;
	uint64_t tid;
	uint32_t owner; /* of tid */
};

__attribute__((weak, visibility("hidden"))) struct weft_probe_process weft_probe_process;
__attribute__((weak, visibility("hidden"))) __thread struct weft_probe_thread weft_probe_thread;

/* The calling thread's. A compiler assumes that the address of thread state stays the same while a
 * function runs; but a coroutine may suspend in it and go on on another thread. So the address is
 * taken anew at each call, by a function that is not inlined, and that no compiler finds to be
 * pure. */
static __attribute__((noinline, unused)) struct weft_probe_thread *weft_probe_here(void)
{
	struct weft_probe_thread *here = &weft_probe_thread;

	__asm__ volatile("" : "+r"(here) : : "memory");
	return here;
}

static inline long weft_probe_call(long number, long a, long b, long c, long d, long e, long f)
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

/* ---- clock ---- */

/* clock_gettime() by another name: strict C11 does not declare it. The vDSO answers it. */
extern int weft_probe_clock_gettime(int clock, struct timespec *time) __asm__("clock_gettime");

static inline uint64_t weft_probe_kernel_ns(void)
{
	struct timespec ts;

	ts.tv_sec = 0;
	ts.tv_nsec = 0;
	weft_probe_clock_gettime(1, &ts); /* CLOCK_MONOTONIC */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#if defined(__x86_64__)
__extension__ typedef unsigned __int128 weft_probe_u128;

/* By the engine's anchor; 0: it does not hold now. The reader's side of its seqlock. */
static inline uint64_t weft_probe_tsc_ns(const struct weft_ctp_anchor *anchor)
{
	uint32_t seq = __atomic_load_n(&anchor->seq, __ATOMIC_ACQUIRE);
	uint64_t valid = WEFT_PROBE_LOAD(anchor->valid_ticks);
	uint64_t ns = WEFT_PROBE_LOAD(anchor->base_ns);
	uint64_t mult = WEFT_PROBE_LOAD(anchor->mult);
	uint64_t ticks = __builtin_ia32_rdtsc() - WEFT_PROBE_LOAD(anchor->base_tsc);

	ns += (uint64_t)((weft_probe_u128)ticks * mult >> 32);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (WEFT_PROBE_UNLIKELY(ticks >= valid || (seq & 1) || WEFT_PROBE_LOAD(anchor->seq) != seq))
		return 0;
	return ns;
}
#endif

static inline uint64_t weft_probe_now_ns(const struct weft_probe_process *p)
{
#if defined(__x86_64__)
	if (p->is_extended) {
		uint64_t ns = weft_probe_tsc_ns(&p->header->anchor);

		if (WEFT_PROBE_LIKELY(ns))
			return ns;
	}
#endif
	(void)p;
	return weft_probe_kernel_ns();
}

/* ---- the engine's socket ---- */

/* By its inode it is later seen whether the descriptor still is our socket: programs close and
 * reuse numbers. */
static inline uint64_t weft_probe_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (uint64_t)st.st_ino;
}

static WEFT_PROBE_COLD void weft_probe_connect(struct weft_probe_process *p)
{
	long fd, above;

	p->socket = -1;
	if (!p->address.sun_path[0])
		return;
	fd = weft_probe_call(SYS_socket, 1, WEFT_PROBE_SOCKET, 0, 0, 0, 0);
	if (fd >= 0 && fd <= 2) { /* not where the program may look for its standard streams */
		above = weft_probe_call(SYS_fcntl, fd, WEFT_PROBE_DUPFD_CLOEXEC, 3, 0, 0, 0);
		weft_probe_call(SYS_close, fd, 0, 0, 0, 0, 0);
		fd = above;
	}
	if (fd < 0)
		return;
	if (weft_probe_call(SYS_connect, fd, (long)&p->address, (long)sizeof(p->address), 0, 0,
			    0)) {
		weft_probe_call(SYS_close, fd, 0, 0, 0, 0, 0);
		return;
	}
	p->socket_inode = weft_probe_inode((int)fd);
	p->socket = (int32_t)fd;
}

/* The engine sleeps: wakes it, if no other thread does. Nothing is done about a failure. */
static WEFT_PROBE_COLD void weft_probe_wake_engine(struct weft_probe_process *p)
{
	uint32_t asleep = 1;

	if (!__atomic_compare_exchange_n(&p->header->tracer_sleeping, &asleep, 0, 0,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	if (p->socket < 0 || weft_probe_inode(p->socket) != p->socket_inode)
		return;
	weft_probe_call(SYS_sendto, p->socket, (long)"1", 1, WEFT_PROBE_SEND, 0, 0);
	if (p->is_extended)
		__atomic_fetch_add(&p->header->wakes_sent, 1, __ATOMIC_RELAXED);
}

/* ---- fork ---- */

static int weft_probe_register_atfork(void (*)(void), void (*)(void), void (*)(void), void *)
	__attribute__((weakref("__register_atfork"), unused));
static int weft_probe_pthread_atfork(void (*)(void), void (*)(void), void (*)(void))
	__attribute__((weakref("pthread_atfork"), unused));
extern char weft_probe_dso[] __asm__("__dso_handle") __attribute__((weak, visibility("hidden")));

static void *weft_probe_dlsym(void *, const char *) __attribute__((weakref("dlsym"), unused));

static inline uint32_t weft_probe_owner(const struct weft_probe_process *p)
{
	return WEFT_PROBE_LOAD(*p->guard);
}

static WEFT_PROBE_COLD void weft_probe_wipe(void)
{
	if (weft_probe_process.guard)
		WEFT_PROBE_STORE(*weft_probe_process.guard, 0);
}

/* The kernel wipes the word's page in a child; one that cannot: an atfork handler does, in forks
 * that call it. */
static WEFT_PROBE_COLD int weft_probe_open_guard(struct weft_probe_process *p)
{
	long at = weft_probe_call(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, WEFT_PROBE_PRIVATE, -1,
				  0);

	if (at < 0 && at > -4096)
		return -1;
	weft_probe_call(SYS_madvise, at, 4096, WEFT_PROBE_WIPEONFORK, 0, 0, 0);
	p->guard = (uint32_t *)at;
	p->owner = 1;
	WEFT_PROBE_STORE(*p->guard, p->owner);
	if (weft_probe_register_atfork)
		weft_probe_register_atfork(NULL, NULL, weft_probe_wipe, weft_probe_dso);
	else if (weft_probe_pthread_atfork)
		weft_probe_pthread_atfork(NULL, NULL, weft_probe_wipe);
	return 0;
}

/* In a child, before its first event: a number and a connection of its own. Of its threads, one
 * renews and the others wait for it. Returns the owner that holds now. */
static WEFT_PROBE_COLD uint32_t weft_probe_renew(struct weft_probe_process *p)
{
	uint32_t next = p->owner + 1, word = 0;

	while (!__atomic_compare_exchange_n(p->guard, &word, WEFT_PROBE_RENEWING, 0,
					    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		if (word != WEFT_PROBE_RENEWING)
			return word;
		weft_probe_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		word = 0;
	}
	p->pid = (uint32_t)weft_probe_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	if (p->socket >= 0 && weft_probe_inode(p->socket) == p->socket_inode)
		weft_probe_call(SYS_close, p->socket, 0, 0, 0, 0, 0);
	if (p->header)
		weft_probe_connect(p);
	p->owner = next;
	__atomic_store_n(p->guard, next, __ATOMIC_RELEASE);
	return next;
}

/* The owner that holds now, in a child too. */
static inline uint32_t weft_probe_renewed(struct weft_probe_process *p)
{
	uint32_t owner = weft_probe_owner(p);

	return owner && owner != WEFT_PROBE_RENEWING ? owner : weft_probe_renew(p);
}

#ifdef __cplusplus
}
#endif
#endif
