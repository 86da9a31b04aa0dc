/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tick stands for that met a thread in the kernel. The kernel's ticks are all that meets it
 * there: the hrtimers (clock.h) count user mode alone.
 *
 * Beside an hrtimer a tick stands for all of the thread's time in the kernel since the last such
 * tick, for the first one what it would alone, so that the sum is right whatever ticks meet. The
 * kernel's own account of that time (ru_stime) is one of ticks: a loop of 2 ms in slices of 4 ms is
 * misjudged by a third. What is exact is all CPU time, and what is without bias are the hrtimer's
 * samples, so the time in the kernel is the rest. The account is put right by it where the two
 * differ by more than the samples' own chance.
 *
 * By ticks alone each stands for a tick, and for the call, if that was longer: ticks in a long
 * call are told at its end, as one.
 *
 * Writer: the owning thread's handlers. Lives with the slot; zeros: no tick yet.
 */
#ifndef WEFT_RUNTIME_KERNEL_TIME_H
#define WEFT_RUNTIME_KERNEL_TIME_H

#include <stdint.h>

#include <weft/abi/session.h>

/* In the slot: kernel_time. */
struct weft_kernel_time {
	uint32_t cpu_us; /* the thread's CPU time, kept so, at the last tick in the kernel; 0 = none
			  */
	int32_t balance_us; /* up to there: CPU time less all that samples stand for */
};
_Static_assert(sizeof(struct weft_kernel_time) == sizeof(((struct weft_slot *)0)->kernel_time),
	       "its room in the slot");

/* Of the calling thread, by the kernel's own account: times plus 1; all 0 where nothing was asked.
 */
struct weft_usage {
	uint64_t kernel_us; /* ru_stime */
	uint64_t cpu_us;    /* all of it: what its CPU clock told at its last tick or switch */
	uint32_t waits;     /* ru_nvcsw, modulo 2^32 */
	uint32_t switches;  /* all of them, modulo 2^32 */
};

struct weft_usage weft_usage_of_thread(void);

/* As slots and records keep it: 0 only of 0. */
static inline uint32_t weft_usage_modulo(uint64_t us)
{
	return (uint32_t)us || !us ? (uint32_t)us : 1;
}

/* kernel_us, so kept, at two ticks; 0, too, where nobody knows since when. */
uint64_t weft_kernel_ns_between(uint32_t now_us, uint32_t before_us);

/* A tick in the kernel, beside an hrtimer; alone it would stand for @alone_ns. Nanoseconds. */
uint64_t weft_kernel_weight_beside(struct weft_slot *slot, const struct weft_usage *usage,
				   uint64_t alone_ns);

/* By ticks alone: @kernel_ns of @used_ns since the last tick, in which the thread waited so often.
 */
uint64_t weft_kernel_weight_alone(uint64_t kernel_ns, uint64_t used_ns, uint32_t waits);

/* The hrtimer's sample stands for @ns more. */
void weft_kernel_time_sampled(struct weft_slot *slot, uint64_t ns);

/* The hrtimer is opened, or closed: time was not its own. */
void weft_kernel_time_forget(struct weft_slot *slot);

/* How much of @balance_us is no chance, in a thread that had @samples of @period_us; @is_much: of
 * its time in the kernel. */
int32_t weft_kernel_time_excess(int32_t balance_us, uint32_t samples, uint32_t period_us,
				int is_much);

#endif
