/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CPU-time timer per thread, by raw system calls: it ticks only while its thread runs, so it
 * never wakes a sleeping call, and exec deletes it.
 *
 * It is due after a microsecond already, so it fires at each tick of the kernel that meets the
 * thread on a CPU, and a sample at a tick stands for one tick of CPU time. (With a longer period,
 * and the time since the last sample as weight, threads that end earlier would never be met, and
 * what ran before a sleep would be charged to what runs at the next tick.) Its overrun is the CPU
 * time that the thread has used since the last tick that met it.
 *
 * It sends SIGPROF, or SIGWINCH if the user has chosen so (header.tick_signal). Whoever takes our
 * handler away by a system call that no hook sees is ended by the next tick where that is SIGPROF's
 * default action; SIGWINCH's is to be ignored. SIGURG is taken (clock.h), of others there is none.
 *
 * sigval identifies the thread: cookie, generation and index of the slot; generation 0
 * (WEFT_SIGVAL_ADOPTED) for a thread that had no slot when its timer was made.
 *
 * timers_armed in the header counts all; the collector's budget bounds it, because
 * RLIMIT_SIGPENDING is shared by all of a user's processes.
 */
#include "runtime/sample/sample.h"

#include <signal.h>

#include "runtime/core/sys.h"
#include "runtime/sample/clock.h"
#include "runtime/sample/mask.h"

#define NOTIFY_THREAD_ID 4
#define NOTIFY_SIGNAL 0
#define TIMER_DUE_NS 1000

static int32_t process_timer = -1;
static int32_t tick_signal = SIGPROF;

int weft_tick_signal(void)
{
	return load_relaxed(&tick_signal);
}

static int budget_allows(void)
{
	uint32_t *armed = &weft_rt.header->timers_armed;
	uint32_t budget = load_relaxed(&weft_rt.header->timer_budget);

	if (__atomic_add_fetch(armed, 1, __ATOMIC_RELAXED) <= budget)
		return 1;
	__atomic_fetch_sub(armed, 1, __ATOMIC_RELAXED);
	return 0;
}

void weft_timer_delete(int32_t timer_id)
{
	if (timer_id >= 0 && !weft_rt_is_careful() && !sys_call1(SYS_timer_delete, timer_id))
		__atomic_fetch_sub(&weft_rt.header->timers_armed, 1, __ATOMIC_RELAXED);
}

static int timer_start(int32_t timer_id)
{
	const struct timespec due = {.tv_nsec = TIMER_DUE_NS};
	const struct itimerspec spec = {.it_value = due, .it_interval = due};

	return (int)sys_call4(SYS_timer_settime, timer_id, 0, &spec, NULL);
}

int32_t weft_timer_make(int32_t tid, uint64_t value)
{
	struct sys_sigevent event = {
		.value = value, .signo = tick_signal, .notify = NOTIFY_THREAD_ID, .tid = tid};
	int32_t timer_id = -1;

	if (weft_rt_is_careful() || !budget_allows())
		return -1;
	if (sys_call3(SYS_timer_create, SYS_CPU_CLOCK(tid), &event, &timer_id)) {
		__atomic_fetch_sub(&weft_rt.header->timers_armed, 1, __ATOMIC_RELAXED);
		return -1;
	}
	if (timer_start(timer_id)) {
		weft_timer_delete(timer_id);
		return -1;
	}
	return timer_id;
}

int weft_timer_is_wanted(void)
{
	return weft_rt_run_state() == WEFT_RUN_RECORDING &&
	       (load_relaxed(&weft_rt.header->engines) & WEFT_ENGINE_CPU);
}

/* In the header: the slot's counters may be written only by its owner, maybe another thread. */
static void timer_missing(struct weft_slot *slot)
{
	uint32_t before =
		__atomic_fetch_or(&slot->thread.flags, WEFT_SLOT_NO_TIMER, __ATOMIC_RELAXED);

	if (!(before & WEFT_SLOT_NO_TIMER) && !weft_adopt_was_untimed(slot->thread.tid))
		weft_rt_count(WEFT_COUNTER_THREADS_NO_TIMER, 1);
}

/* The engine has ended for good, while the recording goes on. */
void weft_timer_all_missing(void)
{
	for (uint32_t i = 0; weft_timer_is_wanted() && i < weft_rt_slots_high(); i++) {
		struct weft_slot *slot = weft_rt_live_slot(i);

		if (slot)
			timer_missing(slot);
	}
}

void weft_timer_make_for(struct weft_slot *slot)
{
	uint64_t value = WEFT_SIGVAL(weft_rt.cookie, slot->thread.generation, weft_rt_index(slot));
	int32_t none = -1, timer_id = weft_timer_make(slot->thread.tid, value);

	if (timer_id < 0)
		timer_missing(slot);
	else if (!cas_acq_rel(&slot->thread.timer_id, &none, timer_id))
		weft_timer_delete(timer_id);
}

/* Signals are blocked: a handler must not wait for the code that it interrupts (engine.c). */
void weft_timer_arm(struct weft_slot *slot, uint64_t mask)
{
	if (!weft_timer_is_wanted() || slot->thread.timer_id >= 0 || !weft_engine_enter())
		return;
	weft_adopt_remove(slot->thread.tid);
	weft_timer_make_for(slot);
	if (!weft_engine_leave()) {
		weft_timer_disarm(slot);
		return;
	}
	weft_mask_timer_made();
	weft_clock_begin(slot, mask);
}

/* The calling thread's, in the session; NULL = none. */
static struct weft_slot *timer_slot(void)
{
	struct weft_slot *slot = weft_slot_mine();

	return weft_rt_has_session() && slot != weft_slot_private() ? slot : NULL;
}

/* -1 = none. */
static int32_t timer_in(const struct weft_slot *slot)
{
	return slot ? load_acquire(&slot->thread.timer_id) : -1;
}

void weft_timer_tell_running(void)
{
	struct weft_slot *slot = timer_slot();

	if (slot && (load_relaxed(&slot->thread.flags) & WEFT_SLOT_PAUSED))
		__atomic_fetch_and(&slot->thread.flags, ~(uint32_t)WEFT_SLOT_PAUSED,
				   __ATOMIC_RELAXED);
}

void weft_timer_pause(void)
{
	struct itimerspec never = {{0, 0}, {0, 0}};
	struct weft_slot *slot = timer_slot();
	int32_t timer_id = timer_in(slot);

	if (timer_id >= 0) {
		sys_call4(SYS_timer_settime, timer_id, 0, &never, NULL);
		__atomic_fetch_or(&slot->thread.flags, WEFT_SLOT_PAUSED, __ATOMIC_RELAXED);
	} else if (weft_rt_is_unbegun_child()) {
		weft_timer_disarm_process();
	}
}

void weft_timer_resume(void)
{
	int32_t timer_id = timer_in(timer_slot());

	weft_timer_tell_running(); /* also where the timer is gone: the next one runs */
	if (timer_id >= 0)
		timer_start(timer_id);
	else if (weft_rt_is_unbegun_child() && process_timer < 0)
		weft_rt.on_fork();
}

void weft_timer_disarm(struct weft_slot *slot)
{
	int32_t timer_id = __atomic_exchange_n(&slot->thread.timer_id, -1, __ATOMIC_RELAXED);

	weft_timer_delete(timer_id);
	weft_clock_close(slot);
}

/* FREE and DRAINING slots may have no memory, and are not read. */
static void disarm_slot(uint32_t index)
{
	uint64_t word = load_acquire(&weft_rt.states[index]);
	struct weft_slot *slot = weft_rt_slot(index);
	int32_t timer_id;

	if (WEFT_STATE_OF(word) != WEFT_SLOT_LIVE && WEFT_STATE_OF(word) != WEFT_SLOT_DEAD)
		return;
	if (slot->thread.generation != WEFT_GENERATION_OF(word))
		return;
	weft_clock_close(slot);
	timer_id = load_acquire(&slot->thread.timer_id);
	/* A slot closed and emptied meanwhile holds zeros, and 0 is some timer's number. */
	if (timer_id < 0 || slot->thread.generation != WEFT_GENERATION_OF(word))
		return;
	if (cas_acq_rel(&slot->thread.timer_id, &timer_id, -1))
		weft_timer_delete(timer_id);
}

void weft_timer_disarm_all(void)
{
	for (uint32_t i = 0; i < weft_rt_slots_high(); i++)
		disarm_slot(i);
	weft_adopt_delete_all();
}

int weft_timer_arm_process(void)
{
	struct sys_sigevent event = {.value = WEFT_SIGVAL(weft_rt.cookie, 0, 0),
				     .signo = tick_signal,
				     .notify = NOTIFY_SIGNAL};
	long failed;

	process_timer = -1;
	if (weft_mask_is_closed()) /* until it is open again */
		return 0;
	failed = sys_call3(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, &event, &process_timer);
	return failed ? (int)failed : timer_start(process_timer);
}

void weft_timer_disarm_process(void)
{
	if (process_timer >= 0)
		sys_call1(SYS_timer_delete, process_timer);
	process_timer = -1;
}

/* ---- the handler of their signal */

int weft_sampler_is_installed(void)
{
	return weft_disposition_signal(WEFT_KEPT_PROF) != 0;
}

/* What the handler is installed for stays so: it may be left from an earlier recording. The header
 * is told, for the collector looks whether it is caught and blocked. */
static int tick_signal_wanted(void)
{
	int kept = weft_disposition_signal(WEFT_KEPT_PROF);

	if (kept)
		return kept;
	if (!weft_rt_has_session() || load_relaxed(&weft_rt.header->tick_signal) != SIGWINCH)
		return SIGPROF;
	return SIGWINCH;
}

int weft_sampler_install(void)
{
	int signo = tick_signal_wanted();

	store_relaxed(&tick_signal, signo);
	if (weft_rt_has_session())
		store_relaxed(&weft_rt.header->tick_signal, signo == SIGWINCH ? SIGWINCH : 0);
	return weft_disposition_install(WEFT_KEPT_PROF, signo, weft_rt.on_tick);
}

void weft_sampler_uninstall(void)
{
	weft_disposition_uninstall(WEFT_KEPT_PROF, weft_sampler_is_ours);
}

/* Ours: from a timer, or queued by this very process, and with the session's cookie. */
int weft_sampler_is_ours(const siginfo_t *info)
{
	uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;

	if (info->si_code != SI_TIMER &&
	    !(info->si_code == SI_QUEUE && info->si_pid == weft_rt.pid))
		return 0;
	return weft_rt.cookie != 0 && WEFT_SIGVAL_COOKIE(value) == weft_rt.cookie;
}
