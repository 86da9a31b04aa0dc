/* SPDX-License-Identifier: Apache-2.0 */
/* Time in the kernel: see kernel_time.h. */
#include "runtime/sample/kernel_time.h"

#include <sys/resource.h>

#include "runtime/core/sys.h"
#include "runtime/sample/clock.h"
#include "runtime/sample/sample.h"

#define BALANCE_MAX_US 1000000000
#define MUCH 8 /* a share of at least one in so many is much */

static uint64_t in_us(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

/* Not inlined, to stay out of the frame of a walk. */
__attribute__((noinline)) struct weft_usage weft_usage_of_thread(void)
{
	struct rusage usage = {.ru_stime = {0}};
	uint64_t kernel_us;

	sys_call2(SYS_getrusage, RUSAGE_THREAD, &usage);
	kernel_us = in_us(&usage.ru_stime) + 1;
	return (struct weft_usage){.kernel_us = kernel_us,
				   .cpu_us = kernel_us + in_us(&usage.ru_utime),
				   .waits = (uint32_t)usage.ru_nvcsw,
				   .switches = (uint32_t)(usage.ru_nvcsw + usage.ru_nivcsw)};
}

uint64_t weft_kernel_ns_between(uint32_t now_us, uint32_t before_us)
{
	uint32_t passed = now_us - before_us;

	return before_us && passed < UINT32_MAX / 2 ? (uint64_t)passed * 1000 : 0;
}

static struct weft_kernel_time *time_of(struct weft_slot *slot)
{
	return (struct weft_kernel_time *)(void *)&slot->kernel_time;
}

/* The root, at most some hundredths too large. */
static uint32_t kernel_time_root_of(uint32_t n)
{
	uint32_t guess = n ? UINT32_C(1) << (31 - __builtin_clz(n)) / 2 : 1;

	return (guess + n / guess) / 2;
}

/*
 * A thread's position between two samples is worth half a period; n gaps, uniform in [3/4, 5/4] of
 * a period and each repeated some 8 times, are worth sqrt(n / 6). Where much of the time is in the
 * kernel, that is no more than the random error of the kernel's own account, so the whole balance
 * counts; where little is, that account is nearly right, and a balance below twice the error counts
 * for nothing.
 */
int32_t weft_kernel_time_excess(int32_t balance_us, uint32_t samples, uint32_t period_us,
				int is_much)
{
	int64_t chance = period_us;

	if (!is_much)
		chance += (int64_t)period_us * kernel_time_root_of(samples) * 3 / 4;
	if (balance_us > chance)
		return (int32_t)(balance_us - chance);
	return balance_us < -chance ? (int32_t)(balance_us + chance) : 0;
}

/* By how much the kernel's account was too small (or too large) since the last tick. */
static int64_t correction_ns(struct weft_slot *slot, uint64_t since_ns,
			     const struct weft_usage *usage)
{
	struct weft_kernel_time *time = time_of(slot);
	uint64_t period_us = weft_clock_gap_ns() / 1000;
	uint32_t before_us = time->cpu_us;
	int64_t excess_us, most_us = (int64_t)(since_ns / 1000);

	time->cpu_us = weft_usage_modulo(usage->cpu_us);
	if (!before_us) {
		time->balance_us = 0;
		return 0;
	}
	time->balance_us += (int32_t)(time->cpu_us - before_us) - (int32_t)most_us;
	excess_us = weft_kernel_time_excess(time->balance_us, (uint32_t)(usage->cpu_us / period_us),
					    (uint32_t)period_us,
					    usage->kernel_us > usage->cpu_us / MUCH);
	if (excess_us < -most_us)
		excess_us = -most_us;
	time->balance_us -= (int32_t)excess_us;
	return excess_us * 1000;
}

uint64_t weft_kernel_weight_beside(struct weft_slot *slot, const struct weft_usage *usage,
				   uint64_t alone_ns)
{
	struct weft_clock *clock = weft_clock_of(slot);
	uint32_t kernel_us = weft_usage_modulo(usage->kernel_us);
	uint64_t since_ns = weft_kernel_ns_between(kernel_us, clock->told_us);
	int is_first = !clock->told_us;
	int64_t more_ns = correction_ns(slot, since_ns, usage);

	clock->told_us = kernel_us;
	return is_first ? alone_ns : (uint64_t)((int64_t)since_ns + more_ns);
}

/* A stretch in the kernel without a tick is shorter than one; each wait ends at most one. */
uint64_t weft_kernel_weight_alone(uint64_t kernel_ns, uint64_t used_ns, uint32_t waits)
{
	uint64_t tick_ns = weft_tick_ns(), most = kernel_ns < used_ns ? kernel_ns : used_ns;
	uint64_t unmet = waits * tick_ns;

	return most > unmet + tick_ns + tick_ns / 2 ? most - unmet : tick_ns;
}

void weft_kernel_time_sampled(struct weft_slot *slot, uint64_t ns)
{
	struct weft_kernel_time *time = time_of(slot);

	if (!time->cpu_us)
		return;
	time->balance_us -= (int32_t)(ns / 1000);
	if (time->balance_us < -BALANCE_MAX_US)
		time->cpu_us = 0;
}

void weft_kernel_time_forget(struct weft_slot *slot)
{
	time_of(slot)->cpu_us = 0;
}
