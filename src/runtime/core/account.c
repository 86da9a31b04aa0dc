/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CPU time was used and when, by the kernel's clocks: of a thread into its slot before that is
 * DEAD; of a process into the header, and of the threads that still live into their slots. A moment
 * later nobody can read these clocks from outside, and the collector would have only what it read
 * last. A value that turns out not to be the last (after an exec that failed) does no harm: clocks
 * only grow, and the collector takes the largest.
 */
#include "runtime/core/runtime.h"

#include "runtime/core/sys.h"

#define THREADS_MAX 4096 /* a third of a microsecond each */

static int is_accounted(void)
{
	return weft_rt_has_session() && !weft_rt_is_careful() && weft_rt.has_collector &&
	       weft_rt_run_state() == WEFT_RUN_RECORDING;
}

void weft_account_thread(struct weft_slot *slot)
{
	if (!is_accounted())
		return;
	store_relaxed(&slot->events.cpu_ns, sys_clock_ns(CLOCK_THREAD_CPUTIME_ID));
	store_relaxed(&slot->thread.ended_ns, clock_monotonic_ns());
}

/* The owner may end meanwhile, and store a value as true. The slot's owner is checked twice. */
static void leave_for(uint32_t index)
{
	uint64_t word = load_acquire(&weft_rt.states[index]), used_ns;
	struct weft_slot *slot = weft_rt_slot(index);

	if (WEFT_STATE_OF(word) != WEFT_SLOT_LIVE)
		return;
	used_ns = sys_clock_ns(SYS_CPU_CLOCK(slot->thread.tid));
	if (!used_ns ||
	    WEFT_GENERATION_OF(load_acquire(&weft_rt.states[index])) != WEFT_GENERATION_OF(word))
		return;
	store_relaxed(&slot->events.cpu_ns, used_ns);
	store_relaxed(&slot->thread.ended_ns, clock_monotonic_ns());
}

/* Not in a vfork child, whose memory is its parent's. The process is read last, so that it is no
 * less than the sum of its threads. */
void weft_account_process(void)
{
	if (!is_accounted() || sys_getpid() != weft_rt.pid)
		return;
	for (uint32_t i = 0; i < weft_rt_slots_high() && i < THREADS_MAX; i++)
		leave_for(i);
	store_relaxed(&weft_rt.header->exit_cpu_ns, sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}
