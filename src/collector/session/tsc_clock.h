/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ticks of the TSC as CLOCK_MONOTONIC. Programs note the times of their events in ticks, which
 * cost a third of a call of the clock; the file has nanoseconds.
 *
 * The kernel derives the clock from the ticks by a rate that time servers change a little now and
 * then. So pairs of both ("anchors") are noted while the recording runs, often, and a time is
 * taken from the line between the two anchors around it: events that began long ago too, for old
 * anchors are thinned out but kept. Behind the newest the last rate holds, before the first one
 * the whole's.
 *
 * One thread. Only where the kernel's own clock is the TSC: then it is the same on all CPUs.
 */
#ifndef WEFT_COLLECTOR_TSC_CLOCK_H
#define WEFT_COLLECTOR_TSC_CLOCK_H

#include "proc/tsc.h"

#include <stddef.h>

#define TSC_ANCHORS_MAX 2048

struct tsc_clock {
	struct tsc_anchor anchor[TSC_ANCHORS_MAX]; /* in order of both */
	size_t count;
	uint64_t looked_ns; /* when the kernel was last asked what its clock is */
	int is_usable;      /* the kernel's clock is the TSC now */
};

/* Note an anchor now, and each second whether the clock is the TSC still. */
void tsc_clock_tick(struct tsc_clock *c, uint64_t now_ns);

/* Note one. What is not after the newest is let pass. */
void tsc_clock_add(struct tsc_clock *c, const struct tsc_anchor *a);

/* Ticks a second; 0 = not known. */
uint64_t tsc_clock_hz(const struct tsc_clock *c);

/* 0, and the time of @tsc; -EINVAL: nothing is known of it. */
int tsc_clock_ns(const struct tsc_clock *c, uint64_t tsc, uint64_t *out_ns);

#endif
