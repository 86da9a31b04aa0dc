/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs that a thread gets its slot: by its own first context write, and by the
 * start hook; claim, first touch of a slot's page and arming of a timer apart. The work is
 * done by first-write, alone and under `weft record`.
 */
#include <stdio.h>

#include "harness.h"

struct costs {
	double fresh, used, create_join, claims;
};

static bool measure(const struct bench_options *o, bool recorded, bool hooked, struct costs *c)
{
	const char *count = o->quick ? "50" : "2000";
	const char *program = bench_text("%s/bench/first-write", o->build);
	const char *weft = bench_text("%s/weft", o->build);
	const char *alone[] = {program, count, NULL};
	const char *under[] = {weft, "record", "-o", "/dev/null", "--", program, count, NULL};
	const char *setting = hooked ? NULL : "WEFT_HOOKS=-threads";
	struct bench_run out;

	if (!bench_spawn(recorded ? under : alone, setting, &out) &&
	    sscanf(out.output, "%lf %lf %lf %lf", &c->fresh, &c->used, &c->create_join,
		   &c->claims) == 4)
		return true;
	bench_note("priming: first-write did not run (status 0x%x)", (unsigned int)out.status);
	return false;
}

static void add_claims(const struct costs *alone, const struct costs *recorded)
{
	const char *create_join = "create and join a thread";

	bench_add(&(struct bench_row){.operation = "first write: claim of a used slot",
				      .unit = "ns",
				      .measured = alone->used,
				      .limit = BENCH_AT_MOST,
				      .budget = 1000,
				      .baseline = create_join,
				      .base = alone->create_join});
	bench_add(&(struct bench_row){.operation = "first write: fresh slot, first page touch",
				      .unit = "ns",
				      .measured = alone->fresh,
				      .baseline = create_join,
				      .base = alone->create_join});
	bench_add(&(struct bench_row){.operation = "first write: recorded, timer armed",
				      .unit = "ns",
				      .measured = recorded->used,
				      .baseline = create_join,
				      .base = recorded->create_join});
	bench_add(&(struct bench_row){.operation = "claims by their own histogram: median below",
				      .unit = "ns",
				      .measured = recorded->claims});
}

static void add_hook(const char *operation, const struct costs *hooked, const struct costs *plain)
{
	bench_add(&(struct bench_row){.operation = operation,
				      .unit = "ns",
				      .measured = hooked->create_join - plain->create_join,
				      .baseline = "create and join, no hook",
				      .base = plain->create_join});
}

static void run(const struct bench_options *o)
{
	struct costs alone, alone_hooked, recorded, recorded_hooked;

	if (!measure(o, false, false, &alone) || !measure(o, true, false, &recorded) ||
	    !measure(o, false, true, &alone_hooked) || !measure(o, true, true, &recorded_hooked))
		return;
	add_claims(&alone, &recorded);
	add_hook("start hook: claim and release", &alone_hooked, &alone);
	add_hook("start hook: recorded, with a timer", &recorded_hooked, &recorded);
}

const struct bench_group bench_priming = {
	.name = "priming",
	.text = "what it costs that a thread gets its slot",
	.run = run,
};
