/* SPDX-License-Identifier: Apache-2.0 */
/* How often: the recording's period, and the kernel's tick. */
#include "runtime/sample/sample.h"

#include "runtime/core/sys.h"

#define PERIOD_MIN_NS 10000
#define GAP_MAX_NS UINT64_C(3000000000) /* on average; 5/4 of it in 32 bits */

static uint64_t tick_ns;
/* the parent's, whose header may be unmapped at any time, see child.c */
static uint64_t period_of_fork_ns;

static uint64_t period_of_header(void)
{
	return load_relaxed(&weft_rt.header->period_ns);
}

uint64_t weft_period_ns(void)
{
	uint64_t ns = weft_rt_is_unbegun_child() ? period_of_fork_ns : period_of_header();

	return ns < PERIOD_MIN_NS ? PERIOD_MIN_NS : ns;
}

void weft_period_keep(void)
{
	period_of_fork_ns = period_of_header();
}

uint64_t weft_clock_gap_ns(void)
{
	uint64_t period_ns = weft_period_ns();

	return period_ns < GAP_MAX_NS ? period_ns : GAP_MAX_NS;
}

void weft_tick_read(void)
{
	struct timespec tick = {.tv_nsec = 4000000};

	sys_call2(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, &tick);
	store_relaxed(&tick_ns, (uint64_t)tick.tv_nsec);
}

uint64_t weft_tick_ns(void)
{
	return load_relaxed(&tick_ns);
}
