/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's side of time by TSC (struct weft_ctp_anchor): how fast the TSC runs against
 * CLOCK_MONOTONIC, measured over the last second or less, and a fresh base at each update. It
 * holds for a few updates' time: a probe whose engine has stopped goes back to asking the kernel.
 * Only while the kernel itself keeps time by the TSC, and only on x86-64.
 */
#ifndef WEFT_CORO_ANCHOR_H
#define WEFT_CORO_ANCHOR_H

#include "proc/tsc.h"

#include <weft/abi/ctp.h>

struct anchor {
	struct weft_ctp_anchor *shared; /* NULL: there is none */
	struct tsc_anchor far, near;    /* measured from far; near is far's successor */
	uint64_t looked_ns;             /* at the kernel's clocksource */
};

/* Begins to measure. 1: the anchor will be kept up to date, 0: not on this machine. */
int anchor_open(struct anchor *a, struct weft_ctp_anchor *shared);
void anchor_update(struct anchor *a);
void anchor_stop(struct anchor *a); /* it holds no more */

#endif
