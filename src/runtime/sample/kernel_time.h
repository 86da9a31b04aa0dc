/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tick stands for that met a thread in the kernel. Only the kernel's ticks meet it there:
 * the hrtimers (clock.h) count user mode only.
 *
 * Beside an hrtimer a tick stands for all of the thread's time in the kernel since the last such
 * tick, and the first one for what it would stand for alone, so that the sum is right whatever
 * ticks meet. The kernel's own account of that time (ru_stime) is made by ticks: it misjudges a
 * loop of 2 ms in slices of 4 ms by a third. All CPU time is exact, and the hrtimer's samples are
 * unbiased, so the time in the kernel is the difference. The account is corrected by it if the two
 * differ by more than the samples' random error.
 *
 * By ticks alone each stands for one tick, and for the whole call if that was longer: ticks in a
 * long call are delivered at its end, as one.
 *
 * Writer: the owning thread's handlers. Kept in the slot; zeros: no tick yet.
 */
#ifndef WEFT_RUNTIME_KERNEL_TIME_H
#define WEFT_RUNTIME_KERNEL_TIME_H

#include <stdint.h>

#include <weft/abi/session.h>

/* In the slot: kernel_time. */
struct weft_kernel_time {
	uint32_t cpu_us;    /* CPU time, modulo, at the last tick in the kernel; 0 = none */
	int32_t balance_us; /* at that tick: CPU time minus all that samples stand for */
};
_Static_assert(sizeof(struct weft_kernel_time) == sizeof(((struct weft_slot *)0)->kernel_time),
	       "its room in the slot");

/* The calling thread's usage by the kernel's own account: times plus 1; all 0 if not asked. */
struct weft_usage {
	uint64_t kernel_us; /* ru_stime */
	uint64_t cpu_us;    /* all of it, by its CPU clock at its last tick or switch */
	uint32_t waits;     /* ru_nvcsw, modulo 2^32 */
	uint32_t switches;  /* voluntary or not, modulo 2^32 */
};

struct weft_usage weft_usage_of_thread(void);

/* As slots and records keep it: 0 only for 0. */
static inline uint32_t weft_usage_modulo(uint64_t us)
{
	return (uint32_t)us || !us ? (uint32_t)us : 1;
}

/* The difference of kernel_us, so kept, at two ticks; 0 also if the earlier one is not known. */
uint64_t weft_kernel_ns_between(uint32_t now_us, uint32_t before_us);

/* Nanoseconds that a tick in the kernel stands for beside an hrtimer; alone: @alone_ns. */
uint64_t weft_kernel_weight_beside(struct weft_slot *slot, const struct weft_usage *usage,
				   uint64_t alone_ns);

/* By ticks alone: @kernel_ns of @used_ns since the last tick, with so many waits. */
uint64_t weft_kernel_weight_alone(uint64_t kernel_ns, uint64_t used_ns, uint32_t waits);

/* A sample of the hrtimer stands for @ns more. */
void weft_kernel_time_sampled(struct weft_slot *slot, uint64_t ns);

/* The hrtimer is opened or closed: for a time it did not cover the thread. */
void weft_kernel_time_forget(struct weft_slot *slot);

/* The part of @balance_us that is not random, in a thread with @samples of @period_us; @is_much:
 * much of its time is in the kernel. */
int32_t weft_kernel_time_excess(int32_t balance_us, uint32_t samples, uint32_t period_us,
				int is_much);

#endif
