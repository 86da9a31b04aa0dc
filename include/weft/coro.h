/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file coro.h
 * Tell which coroutine runs where: the probe of cTP (weft/abi/ctp.h). Header-only: a program
 * that includes it and links nothing writes stations for `weft coro run` (or for another cTP
 * engine). Where libweft is in the process too, linked or preloaded, the coroutine also carries
 * its context (weft/coro_carry.h).
 *
 * For whoever writes a scheduler:
 *
 *   struct weft_coro c;
 *   weft_coro_create(&c, NULL);              on whichever thread creates it
 *   weft_coro_resume(&c, where_it_goes_on);  just before the switch to it, on the thread it runs on
 *   weft_coro_suspend(&c, where_it_waits);   just after (or before) the switch away, same thread
 *   weft_coro_wake(&c);                      any thread: it could run now (optional)
 *   weft_coro_destroy(&c);                   once; suspended, or by itself as its last act
 *
 * One thread at a time acts on a coroutine, and handing it over orders the two (as it must for the
 * coroutine's own stack); wake alone may come from anywhere at any time before destroy.
 * With no engine (CTP_SHM_PATH unset) and no libweft, every call is a few instructions.
 * Nothing here fails loudly, sends signals, touches errno, or allocates after the first call of a
 * process (but with libweft: blocks for labels, at a create or a coroutine's first label); an event
 * makes no system call (but the first on each thread: gettid; and one byte to a sleeping engine
 * that does not look by itself). Not for signal handlers.
 *
 * Environment, read at the first create of a process, not in set-id programs:
 *   CTP_SHM_PATH      the shared file; unset or empty: no tracing
 *   CTP_SOCK_PATH     the engine's socket, for waking it; optional
 *   CTP_MAX_STATIONS  checked against the file's header where set: they must agree
 * A file of another magic or version, or shorter than its header says, is refused.
 *
 * A file that is cut short while it is mapped ends the tracing and not the program: the first
 * create puts a SIGBUS handler before the process's own (weft/coro_cut.h). Define
 * WEFT_CORO_NO_SIGBUS to have none.
 *
 * fork: the child has the parent's coroutines, but takes stations of its own for those that go on
 * in it, at their next event.
 */
#ifndef WEFT_CORO_H
#define WEFT_CORO_H

#include <weft/coro_station.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The coroutine that runs on this thread; NULL: none of those that this linked object created. */
static inline struct weft_coro *weft_coro_running(void)
{
	return weft_probe_here()->running;
}

static WEFT_PROBE_COLD int weft_probe_create(struct weft_coro *coro,
					     const struct weft_coro_options *options)
{
	struct weft_probe_process *p = weft_probe_open();
	struct weft_coro_options o;
	size_t known = options ? options->size : 0;
	int saved = errno;

	memset(&o, 0, sizeof(o));
	if (options)
		memcpy(&o, options, known < sizeof(o) ? known : sizeof(o));
	memset(coro, 0, sizeof(*coro));
	coro->state = WEFT_CTP_CREATED;
	coro->language = (uint8_t)(o.language ? o.language : (uint32_t)WEFT_CTP_C);
	coro->stack_low = o.stack_low;
	coro->stack_high = o.stack_high;
	coro->flags = o.flags | (o.id ? 0 : (uint32_t)WEFT_CORO_NUMBERED);
	coro->id = o.id;
	coro->process = p;
	if (!p->is_on)
		return 0;
	coro->owner = weft_probe_renewed(p);
	if (!o.id)
		coro->id = weft_probe_number(p);
	coro->last_ns = weft_probe_now_ns(p);
	weft_probe_enter(p, coro, o.parent ? o.parent : weft_coro_running(),
			 (uint64_t)(uintptr_t)(o.site ? o.site : __builtin_return_address(0)));
	if (p->carry)
		p->carry->create(coro, coro->last_ns);
	errno = saved;
	return coro->station != NULL;
}

/**
 * weft_coro_create() - a coroutine is born: it gets a station and, with libweft, its creator's
 * context. @coro: the caller's memory, not moved before weft_coro_destroy(); filled in either case.
 * @options: NULL = all defaults.
 * Returns 1 traced, 0 not (no engine, or no station left: counted in the file as refused).
 */
static inline int weft_coro_create(struct weft_coro *coro, const struct weft_coro_options *options)
{
	return weft_probe_create(coro, options);
}

/* Takes it out of the thread's stack of running coroutines, also from the middle. */
static inline void weft_probe_leave(struct weft_probe_thread *here, struct weft_coro *coro)
{
	struct weft_coro **at = &here->running;

	while (*at && *at != coro)
		at = &(*at)->outer;
	if (*at)
		*at = coro->outer;
	coro->outer = NULL;
}

static inline void weft_probe_run(struct weft_probe_thread *here, struct weft_coro *coro)
{
	if (coro->state == WEFT_CTP_RUNNING)
		weft_probe_leave(here, coro);
	coro->outer = here->running;
	here->running = coro;
}

/* Never before the coroutine's last event, whatever CPU that was on. */
static inline uint64_t weft_probe_coro_ns(const struct weft_probe_process *p,
					  const struct weft_coro *coro)
{
	uint64_t now = weft_probe_now_ns(p);

	return now > coro->last_ns ? now : coro->last_ns;
}

/* Time of an event. */
static inline uint64_t weft_probe_event_ns(struct weft_probe_process *p, struct weft_coro *coro)
{
	if (WEFT_PROBE_UNLIKELY(coro->owner != weft_probe_owner(p)))
		weft_probe_adopt(p, coro);
	return weft_probe_coro_ns(p, coro);
}

WEFT_PROBE_HOT void weft_probe_switch(struct weft_probe_thread *here, struct weft_coro *coro,
				      const void *addr, int is_resume)
{
	struct weft_probe_process *p = coro->process;
	uint64_t now = weft_probe_event_ns(p, coro), before = coro->last_ns;

	if (p->carry && is_resume)
		p->carry->resume(coro, now);
	else if (p->carry)
		p->carry->suspend(coro, now);
	if (WEFT_PROBE_LIKELY(coro->station != NULL))
		weft_probe_event(p, here, coro, is_resume, before, now, addr);
	if (WEFT_PROBE_UNLIKELY(coro->holds == WEFT_CTP_HOLDS_PAYLOAD)) {
		coro->holds = WEFT_CTP_HOLDS_UNKNOWN;
		coro->payload_bytes = 0;
		memset(coro->bytes, 0, sizeof(coro->bytes));
	}
	coro->last_ns = now;
}

/**
 * weft_coro_resume() - it goes on, on this thread, at @addr (a code address, or any number that
 * tells places apart; 0 = not told). While it runs, the thread's context is its own. Resumes nest:
 * whoever ran here before goes on running, outside of it.
 */
static inline void weft_coro_resume(struct weft_coro *coro, const void *addr)
{
	struct weft_probe_thread *here;

	if (WEFT_PROBE_UNLIKELY(!coro->process)) /* zeros: never created */
		return;
	here = coro->process->here();
	weft_probe_run(here, coro);
	if (WEFT_PROBE_LIKELY(coro->process->is_on))
		weft_probe_switch(here, coro, addr, 1);
	coro->switches++;
	coro->state = WEFT_CTP_RUNNING;
}

/** weft_coro_suspend() - it stops at @addr (as for resume), on the thread on which it runs. That
 * has the context again that it had before resume. */
static inline void weft_coro_suspend(struct weft_coro *coro, const void *addr)
{
	struct weft_probe_thread *here;

	if (WEFT_PROBE_UNLIKELY(!coro->process))
		return;
	here = coro->process->here();
	weft_probe_leave(here, coro);
	coro->last_addr = (uint64_t)(uintptr_t)addr;
	if (WEFT_PROBE_LIKELY(coro->process->is_on))
		weft_probe_switch(here, coro, addr, 0);
	coro->switches++;
	coro->state = WEFT_CTP_SUSPENDED;
}

/**
 * weft_coro_wake() - somebody made it runnable. Any thread; may come before, while or after it is
 * suspended (only the last has an effect on its state).
 */
static inline void weft_coro_wake(struct weft_coro *coro)
{
	struct weft_probe_process *p = coro->process;
	struct weft_ctp_station *station;
	uint64_t now;

	if (!p || !p->is_on)
		return;
	now = weft_probe_now_ns(p);
	WEFT_PROBE_STORE(coro->woken_ns, now);
	station = __atomic_load_n(&coro->station, __ATOMIC_ACQUIRE);
	/* a child's: it has no station of its own before its next event */
	if (!station || WEFT_PROBE_LOAD(coro->owner) != weft_probe_owner(p))
		return;
	WEFT_PROBE_STORE(station->last_wake_ns, now);
	__atomic_fetch_add(&station->totals.wakes, 1, __ATOMIC_RELAXED);
	weft_probe_state_changes(station, WEFT_CTP_SUSPENDED, WEFT_CTP_READY);
}

/* In a forked child a station of the parent is left alone: the coroutine goes on there. */
static WEFT_PROBE_COLD void weft_probe_die(struct weft_coro *coro)
{
	struct weft_probe_process *p = coro->process;
	struct weft_ctp_station *station = coro->station;

	if (p->carry)
		p->carry->destroy(coro, weft_probe_coro_ns(p, coro));
	if (!station || coro->owner != weft_probe_owner(p))
		return;
	WEFT_PROBE_STORE(station->is_dead, 1);
	__atomic_store_n(&station->state, WEFT_CTP_DEAD, __ATOMIC_RELEASE);
	weft_probe_tell(p, station);
	if (weft_probe_recycles(p))
		weft_probe_push(p, station);
}

/**
 * weft_coro_destroy() - it is over. While it runs: its run ends here, with an event as of a suspend
 * at no address, and the thread has its own context back. A second call does nothing.
 */
static inline void weft_coro_destroy(struct weft_coro *coro)
{
	if (coro->state == WEFT_CTP_DEAD || coro->state == WEFT_CTP_UNUSED)
		return;
	if (coro->state == WEFT_CTP_RUNNING) {
		coro->flags |= WEFT_CORO_ENDS;
		weft_coro_suspend(coro, NULL);
	}
	if (WEFT_PROBE_LIKELY(coro->process->is_on))
		weft_probe_die(coro);
	coro->state = WEFT_CTP_DEAD;
	WEFT_PROBE_STORE(coro->station, NULL);
}

/**
 * weft_coro_payload() - up to 28 bytes of the program's own, to go along with the coroutine's
 * next event, in place of its context. They are copied. Returns how many were taken.
 */
static inline size_t weft_coro_payload(struct weft_coro *coro, const void *bytes, size_t count)
{
	size_t taken = count < WEFT_CTP_PAYLOAD_MAX ? count : WEFT_CTP_PAYLOAD_MAX;

	memset(coro->bytes, 0, sizeof(coro->bytes));
	memcpy(coro->bytes, bytes, taken);
	coro->payload_bytes = (uint8_t)taken;
	coro->holds = WEFT_CTP_HOLDS_PAYLOAD;
	return taken;
}

#ifdef __cplusplus
}
#endif
#endif
