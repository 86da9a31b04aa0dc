/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling handler: a signal that it takes, less a signal with an empty handler. The
 * work is done by self-signal under `weft record`. The handler copies the stack for the
 * collector to walk: the budget of 500 ns is for a handler that walks by itself.
 */
#include <stdio.h>

#include "harness.h"

static void run(const struct bench_options *o)
{
	const char *weft = bench_text("%s/weft", o->build);
	const char *program = bench_text("%s/bench/self-signal", o->build);
	const char *argv[] = {
		weft, "record", "-o", "/dev/null", "--", program, o->quick ? "20" : "400", NULL};
	double sampling, empty, histogram, lost;
	struct bench_run out;

	if (bench_spawn(argv, NULL, &out) ||
	    sscanf(out.output, "%lf %lf %lf %lf", &sampling, &empty, &histogram, &lost) != 4) {
		bench_note("handler: self-signal could not be recorded (status 0x%x)",
			   (unsigned int)out.status);
		return;
	}
	bench_add(&(struct bench_row){
		.operation = "handler, 16 frames: raw copy for the collector",
		.unit = "ns",
		.measured = sampling - empty,
		.baseline = "signal with an empty handler",
		.base = empty,
	});
	bench_add(&(struct bench_row){
		.operation = "handler by its own histogram: median below",
		.unit = "ns",
		.measured = histogram,
	});
	if (lost > 0)
		bench_note("handler: %.0f samples found the ring full: those cost less", lost);
}

const struct bench_group bench_handler = {
	.name = "handler",
	.text = "the sampling handler, by signals that a program sends itself",
	.run = run,
};
