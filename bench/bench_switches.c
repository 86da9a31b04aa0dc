/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a switch of a recorded thread costs: a thread's hrtimer is stopped and started at each, and
 * threads that are switched often are left to the ticks soon (src/runtime/sample/clock_rest.h).
 */
#include <stdio.h>

#include "harness.h"

struct costs {
	double first, later;
};

/* @clock: of the recording; NULL = none. */
static bool measure(const struct bench_options *o, const char *clock, const char *rate,
		    struct costs *c)
{
	const char *program = bench_text("%s/bench/switch-pairs", o->build);
	const char *seconds = o->quick ? "0.3" : "2";
	const char *weft = bench_text("%s/weft", o->build);
	const char *alone[] = {program, seconds, NULL};
	const char *under[] = {weft, "record", "-o", "/dev/null", "--clock", clock,
			       "-F", rate,     "--", program,     seconds,   NULL};
	struct bench_run out;

	if (!bench_spawn(clock ? under : alone, NULL, &out) &&
	    sscanf(out.output, "%lf %lf", &c->first, &c->later) == 2)
		return true;
	bench_note("switches: switch-pairs did not run (status 0x%x)", (unsigned int)out.status);
	return false;
}

static void add(const char *operation, double ns, double alone)
{
	bench_add(&(struct bench_row){.operation = operation,
				      .unit = "ns",
				      .measured = ns - alone,
				      .baseline = "a switch, not recorded",
				      .base = alone});
}

static void run(const struct bench_options *o)
{
	struct costs alone, hrtimer, fast, ticks;

	if (!measure(o, NULL, NULL, &alone) || !measure(o, "auto", "199", &hrtimer) ||
	    !measure(o, "auto", "1000", &fast) || !measure(o, "ticks", "199", &ticks))
		return;
	add("a switch, with an hrtimer", hrtimer.first, alone.first);
	add("the same at 1 kHz", fast.first, alone.first);
	add("of a thread that is switched often", hrtimer.later, alone.later);
	add("the same at 1 kHz", fast.later, alone.later);
	add("by ticks", ticks.later, alone.later);
}

const struct bench_group bench_switches = {
	.name = "switches",
	.text = "what a switch of a recorded thread costs",
	.run = run,
};
