/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coro_cut.h
 * When the shared file is cut short under the probe. Include weft/coro.h; only weft_coro_cut() is
 * for programs.
 *
 * A page of a mapped file that the file does not reach any more (or that a full disk has no block
 * for) kills whoever touches it by SIGBUS. Nothing but a signal tells of it: neither locks, nor
 * seals (of no use to a file with a name), nor a look at the size (which is old at once) prevent
 * it. So the probe, as it maps the file, puts itself before whatever SIGBUS does in this process:
 * a fault in its mapping puts private memory of zeros in the mapping's place, where the
 * interrupted store is then done again, and tracing ends; every other SIGBUS goes where it would
 * have gone.
 *
 * A program that sets its own handler later takes ours away; its handler may call weft_coro_cut().
 * Define WEFT_CORO_NO_SIGBUS to have no handler set at all.
 */
#ifndef WEFT_CORO_CUT_H
#define WEFT_CORO_CUT_H

#include <weft/coro_process.h>

#ifdef __cplusplus
extern "C" {
#endif

enum weft_probe_signal { /* the same on x86-64 and aarch64 */
			 WEFT_PROBE_SIGBUS = 7,
			 WEFT_PROBE_SA_SIGINFO = 4,
			 WEFT_PROBE_SA_ONSTACK = 0x08000000,
			 WEFT_PROBE_SA_RESTART = 0x10000000,
			 WEFT_PROBE_MAP_OVER = 0x4000 | 0x20 | 0x10 |
					       0x02, /* NORESERVE ANONYMOUS FIXED PRIVATE */
};

#define WEFT_PROBE_SA_RESETHAND 0x80000000u

/* sigaction() and its struct under names of our own, for strict C11 declares neither. The struct
 * is that of glibc and of musl on both machines. */
extern int weft_probe_libc_sigaction(int number, const struct weft_probe_sigaction *now,
				     struct weft_probe_sigaction *was) __asm__("sigaction");

/* The mapping becomes private memory; if there is not enough for that, the missing page alone. */
static WEFT_PROBE_COLD int weft_probe_map_over(struct weft_probe_process *p, uintptr_t address)
{
	long page = (long)(address & ~(uintptr_t)(p->page_bytes - 1));
	uint64_t bytes = WEFT_CTP_FILE_BYTES(p->count);

	if (!__atomic_exchange_n(&p->is_cut, 1, __ATOMIC_ACQ_REL) &&
	    weft_probe_call(SYS_mmap, (long)p->header, (long)bytes, PROT_READ | PROT_WRITE,
			    WEFT_PROBE_MAP_OVER, -1, 0) == (long)p->header)
		return 1;
	return weft_probe_call(SYS_mmap, page, (long)p->page_bytes, PROT_READ | PROT_WRITE,
			       WEFT_PROBE_MAP_OVER, -1, 0) == page;
}

/**
 * weft_coro_cut() - for a program's own SIGBUS handler: was @fault (si_addr) a fault in the
 * probe's mapping, whose file was cut short? 1: yes; tracing has ended, the fault is repaired, and
 * the handler may return. 0: it has another cause. Async-signal-safe.
 */
static WEFT_PROBE_COLD int weft_coro_cut(const void *fault)
{
	struct weft_probe_process *p = &weft_probe_process;
	uintptr_t address = (uintptr_t)fault, begin = (uintptr_t)p->header;
	uint32_t owner;

	if (!begin || address < begin || address - begin >= WEFT_CTP_FILE_BYTES(p->count) ||
	    !weft_probe_map_over(p, address))
		return 0;
	/* a child that has not noticed yet, or is about to, finds is_cut by itself */
	owner = p->owner;
	if (p->guard && __atomic_compare_exchange_n(p->guard, &owner, owner + 1, 0,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		p->owner = owner + 1;
	return 1;
}

/* A SIGBUS that is not the probe's: does what would have happened without it. */
static WEFT_PROBE_COLD void weft_probe_pass_on(int number, void *info, void *context, int is_fault)
{
	struct weft_probe_sigaction *was = &weft_probe_process.sigbus, dead;
	uintptr_t handler = (uintptr_t)was->handler;

	if (handler > 1) { /* neither SIG_DFL nor SIG_IGN */
		was->handler(number, info, context);
		if ((uint32_t)was->flags & WEFT_PROBE_SA_RESETHAND)
			was->handler = NULL;
	} else if (is_fault || !handler) { /* as the kernel: a fault cannot be ignored */
		memset(&dead, 0, sizeof(dead));
		weft_probe_libc_sigaction(number, &dead, NULL);
		if (!is_fault)
			weft_probe_call(SYS_tgkill, weft_probe_call(SYS_getpid, 0, 0, 0, 0, 0, 0),
					weft_probe_call(SYS_gettid, 0, 0, 0, 0, 0, 0), number, 0, 0,
					0);
	}
}

/* siginfo_t, of both machines: si_code is its third int, si_addr lies at 16. */
static WEFT_PROBE_COLD void weft_probe_sigbus(int number, void *info, void *context)
{
	const void *fault;
	int code, saved = errno;

	memcpy(&code, (const char *)info + 8, sizeof(code));
	memcpy(&fault, (const char *)info + 16, sizeof(fault));
	if (code <= 0 || !weft_coro_cut(fault))
		weft_probe_pass_on(number, info, context, code > 0);
	errno = saved;
}

/* With the flags and the mask of whoever was there, so that for it nothing changes. */
static WEFT_PROBE_COLD void weft_probe_guard_mapping(struct weft_probe_process *p)
{
#ifdef WEFT_CORO_NO_SIGBUS
	(void)p;
	(void)weft_probe_sigbus;
#else
	struct weft_probe_sigaction mine;

	if (weft_probe_libc_sigaction(WEFT_PROBE_SIGBUS, NULL, &p->sigbus))
		return;
	mine = p->sigbus;
	if ((uintptr_t)mine.handler <= 1)
		mine.flags = WEFT_PROBE_SA_ONSTACK | WEFT_PROBE_SA_RESTART;
	mine.flags = (int)((uint32_t)mine.flags & ~WEFT_PROBE_SA_RESETHAND) | WEFT_PROBE_SA_SIGINFO;
	mine.handler = weft_probe_sigbus;
	weft_probe_libc_sigaction(WEFT_PROBE_SIGBUS, &mine, NULL);
#endif
}

#ifdef __cplusplus
}
#endif
#endif
