/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TSC beside CLOCK_MONOTONIC: whether the kernel itself keeps time by it, for only then is it
 * the same on all CPUs, and both clocks at one moment (an "anchor"). What becomes of anchors is
 * their user's: the collector keeps many, to convert times of the past
 * (collector/session/tsc_clock.c); the engine of coroutines publishes the newest, for probes that
 * convert their own (coro/engine/anchor.c).
 *
 * No state; any thread. Only x86-64 has one.
 */
#ifndef WEFT_PROC_TSC_H
#define WEFT_PROC_TSC_H

#include <stdint.h>

struct tsc_anchor {
	uint64_t tsc, mono_ns;
};

/* Both clocks in one moment, as near as can be. 0; -ENOTSUP: this machine has no TSC. */
int tsc_anchor_take(struct tsc_anchor *out);

/* Is the kernel's clock the TSC? Asks the kernel. */
int tsc_is_the_clock(void);

#endif
