/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs that a thread gets its slot: by its own first context write, and by the
 * start hook, interposed or patched; claim, first touch of a slot's page and arming of a timer
 * apart. The work is done by first-write, alone and under `weft record`, and by late-hook. The
 * ways by a signal are bench_watching.c's.
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

/* In a program that has loaded libweft-late.so by dlopen. */
static void add_patched(const struct bench_options *o)
{
	const char *argv[] = {bench_text("%s/bench/late-hook", o->build), o->quick ? "50" : "2000",
			      bench_text("%s/src/runtime/libweft-late.so", o->build), NULL};
	double before, after;
	struct bench_run out;

	if (bench_spawn(argv, NULL, &out) || sscanf(out.output, "%lf %lf", &before, &after) != 2) {
		bench_note("priming: no libweft-late.so here, start hook by patching left out");
		return;
	}
	bench_add(&(struct bench_row){.operation = "pthread_create: hook by patching adds",
				      .unit = "ns",
				      .measured = after - before,
				      .baseline = "create and join, not loaded yet",
				      .base = before});
}

static void run(const struct bench_options *o)
{
	struct costs alone, alone_hooked, recorded, recorded_hooked;

	bench_note("priming: a JVM's own agent is not in weft yet; threads of a "
		   "JVM are primed by the hook");
	if (!measure(o, false, false, &alone) || !measure(o, true, false, &recorded) ||
	    !measure(o, false, true, &alone_hooked) || !measure(o, true, true, &recorded_hooked))
		return;
	add_claims(&alone, &recorded);
	add_hook("pthread_create: start hook adds", &alone_hooked, &alone);
	add_hook("pthread_create: recorded, with a timer", &recorded_hooked, &recorded);
	add_patched(o);
}

const struct bench_group bench_priming = {
	.name = "priming",
	.text = "what it costs that a thread gets its slot",
	.run = run,
};
