/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs that a thread gets its slot: by its own first context write, and by the
 * start hook, interposed or patched; claim, first touch of a slot's page and arming of a timer
 * apart. The work is done by first-write, alone and under `weft record`, with the start hook and
 * without, each once in a round and the median of the rounds' figures and differences; and by
 * late-hook. The ways by a signal are bench_watching.c's.
 */
#include <stdio.h>
#include <string.h>

#include "harness.h"

#define ROUNDS_MAX 7

enum figure { FRESH, USED, CREATE_JOIN, SPACED, CLAIMS, FIGURES };
enum way { ALONE, RECORDED, ALONE_HOOKED, RECORDED_HOOKED, WAYS };

static double ns[WAYS][FIGURES][ROUNDS_MAX];
static size_t rounds;

static bool measure(const struct bench_options *o, enum way way)
{
	bool recorded = way == RECORDED || way == RECORDED_HOOKED;
	bool hooked = way == ALONE_HOOKED || way == RECORDED_HOOKED;
	double c[FIGURES];
	const char *count = o->quick ? "50" : "2000";
	const char *program = bench_text("%s/bench/first-write", o->build);
	const char *weft = bench_text("%s/weft", o->build);
	const char *alone[] = {program, count, NULL};
	const char *under[] = {weft, "record", "-o", "/dev/null", "--", program, count, NULL};
	const char *setting = hooked ? NULL : "WEFT_HOOKS=-threads";
	struct bench_run out;

	if (!bench_spawn(recorded ? under : alone, setting, &out) &&
	    sscanf(out.output, "%lf %lf %lf %lf %lf", &c[FRESH], &c[USED], &c[CREATE_JOIN],
		   &c[SPACED], &c[CLAIMS]) == FIGURES) {
		for (unsigned int f = 0; f < FIGURES; f++)
			ns[way][f][rounds] = c[f];
		return true;
	}
	bench_note("priming: first-write did not run (status 0x%x)", (unsigned int)out.status);
	return false;
}

/* bench_median() sorts. */
static double median(enum way way, enum figure f)
{
	double copy[ROUNDS_MAX];

	memcpy(copy, ns[way][f], sizeof(copy));
	return bench_median(copy, rounds);
}

static double median_of_more(enum way way, enum way than, enum figure f)
{
	double more[ROUNDS_MAX];

	for (size_t i = 0; i < rounds; i++)
		more[i] = ns[way][f][i] - ns[than][f][i];
	return bench_median(more, rounds);
}

static void add_claims(void)
{
	const char *create_join = "create and join a thread";

	bench_add(&(struct bench_row){.operation = "first write: claim of a used slot",
				      .unit = "ns",
				      .measured = median(ALONE, USED),
				      .limit = BENCH_AT_MOST,
				      .budget = 1000,
				      .baseline = create_join,
				      .base = median(ALONE, CREATE_JOIN)});
	bench_add(&(struct bench_row){.operation = "first write: fresh slot, first page touch",
				      .unit = "ns",
				      .measured = median(ALONE, FRESH),
				      .baseline = create_join,
				      .base = median(ALONE, CREATE_JOIN)});
	bench_add(&(struct bench_row){.operation = "first write: recorded, timer armed",
				      .unit = "ns",
				      .measured = median(RECORDED, USED),
				      .baseline = create_join,
				      .base = median(RECORDED, CREATE_JOIN)});
	bench_add(&(struct bench_row){.operation = "claims by their own histogram: median below",
				      .unit = "ns",
				      .measured = median(RECORDED, CLAIMS)});
}

static void add_hook(const char *operation, enum way way, enum figure f, double budget)
{
	bench_add(&(struct bench_row){.operation = operation,
				      .unit = "ns",
				      .measured = median_of_more(way, ALONE, f),
				      .limit = budget > 0 ? BENCH_AT_MOST : BENCH_NO_BUDGET,
				      .budget = budget,
				      .baseline = "create and join, not recorded, no hook",
				      .base = median(ALONE, f)});
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
	bench_note("priming: a JVM's own agent is not in weft yet; threads of a "
		   "JVM are primed by the hook");
	for (rounds = 0; rounds < (o->quick ? 1 : ROUNDS_MAX); rounds++)
		for (unsigned int way = 0; way < WAYS; way++)
			if (!measure(o, way))
				return;
	add_claims();
	add_hook("pthread_create: start hook adds", ALONE_HOOKED, CREATE_JOIN, 0);
	add_hook("pthread_create: recorded, with a timer", RECORDED_HOOKED, CREATE_JOIN, 10000);
	add_hook("pthread_create, 9 ms apart: start hook adds", ALONE_HOOKED, SPACED, 0);
	add_hook("pthread_create, 9 ms apart: recorded", RECORDED_HOOKED, SPACED, 0);
	add_patched(o);
}

const struct bench_group bench_priming = {
	.name = "priming",
	.text = "what it costs that a thread gets its slot",
	.run = run,
};
