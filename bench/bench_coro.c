/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines: what a switch costs its thread (coro-cost), beside the founding write protocol in
 * the same rounds; which share of the switches is lost at which rate (coro-load), in the
 * session's ring, which `weft record` reads, and in the eight slots of a station, which
 * `weft coro run` harvests; what idle stations cost that engine, and how fast it reads full ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coro_cost.h"
#include "harness.h"

#define FOUNDING_TEXT "founding protocol, gettid uncached"

struct cost {
	double ns[CORO_CASE_COUNT];
};

/* What each case is called with libweft and without; NULL: it has no row. */
static const struct {
	enum coro_case which;
	int linked;
	double budget;
	const char *text;
} costs[] = {
	{CORO_TSC, 0, 20, "switch: station and statistics, time by TSC"},
	{CORO_CLOCK, 0, 0, "... time by clock_gettime"},
	{CORO_TSC, 1, 0, "switch by TSC, its context goes with it"},
	{CORO_LABELS, 1, 0, "... and three labels"},
	{CORO_RECORD, 1, 0, "... no labels, a record in the session"},
	{CORO_RECORD_LABELS, 1, 0, "... a record, and three labels in it"},
};

static int run_cost(const struct bench_options *o, const char *name, struct cost *out)
{
	const char *argv[] = {bench_text("%s/bench/%s", o->build, name), o->quick ? "5" : "41",
			      o->quick ? "6400" : "128000", NULL};
	struct bench_run run;
	char *at = run.output, *end;

	if (bench_spawn(argv, NULL, &run) || run.status)
		return -1;
	for (int i = 0; i < CORO_CASE_COUNT; i++, at = end) {
		out->ns[i] = strtod(at, &end);
		if (end == at)
			return -1;
	}
	return 0;
}

static void run_costs(const struct bench_options *o)
{
	struct cost cost[2];

	if (run_cost(o, "coro-cost", &cost[0]) || run_cost(o, "coro-cost-linked", &cost[1])) {
		bench_note("coro: coro-cost failed");
		return;
	}
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		const struct cost *c = &cost[costs[i].linked];

		if (c->ns[costs[i].which] > 0)
			bench_add(&(struct bench_row){
				.operation = costs[i].text,
				.unit = "ns",
				.measured = c->ns[costs[i].which],
				.limit = costs[i].budget > 0 ? BENCH_AT_MOST : BENCH_NO_BUDGET,
				.budget = costs[i].budget,
				.baseline = FOUNDING_TEXT,
				.base = c->ns[CORO_FOUNDING],
			});
	}
}

/* ---- losses */

struct load {
	double switches, rate, cpu_ns, lost; /* lost: in the session's ring */
	double engine_lost, engine_written, engine_harvested;
	double engine_cpu_ns; /* while it switches */
	double sweep_ns, sweeping_ns;
};

static double number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtod(at + strlen(key), NULL) : -1;
}

/* coro-load below @before, a command of weft with a file to write as $f. */
static int run_load(const struct bench_options *o, const char *before, double rate, unsigned int ms,
		    const char *idle, struct load *out)
{
	const char *argv[] = {"sh", "-c",
			      bench_text("d=$(mktemp -d) && f=$d/f; %s/weft %s -- "
					 "%s/bench/coro-load %.0f %u %s 2>&1; s=$?; rm -r $d; "
					 "exit $s",
					 o->build, before, o->build, rate, ms, idle),
			      NULL};
	struct bench_run run;

	memset(out, 0, sizeof(*out));
	if (bench_spawn(argv, NULL, &run) || run.status ||
	    sscanf(run.output, "%lf %lf %lf %lf %lf", &out->switches, &out->rate, &out->cpu_ns,
		   &out->lost, &out->engine_cpu_ns) != 5 ||
	    out->switches < 1)
		return -1;
	out->engine_lost = number_behind(run.output, "\"lost\":");
	out->engine_written = number_behind(run.output, "\"written\":");
	out->engine_harvested = number_behind(run.output, "\"harvested\":");
	out->sweep_ns = number_behind(run.output, "\"sweep_ns\":");
	out->sweeping_ns = number_behind(run.output, "\"sweeping_ns\":");
	return 0;
}

static int ring_load(const struct bench_options *o, double rate, struct load *out)
{
	return run_load(o, "record -F 19 -o $f", rate, o->quick ? 200 : 2000, "0", out);
}

static int large_ring_load(const struct bench_options *o, double rate, struct load *out)
{
	return run_load(o, "record --ring 4M -F 19 -o $f", rate, o->quick ? 200 : 2000, "0", out);
}

static int station_load(const struct bench_options *o, double rate, struct load *out)
{
	return run_load(o, "coro run --json -o $f", rate, o->quick ? 200 : 2000, "0", out) ||
			       out->engine_written < 1
		       ? -1
		       : 0;
}

static void run_losses(const struct bench_options *o)
{
	static const double rates[] = {1e4, 1e5, 1e6, 1e7};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct load ring, station;
		int has_station;

		if (ring_load(o, rates[i], &ring)) {
			bench_note("coro: coro-load failed below weft record");
			return;
		}
		has_station = station_load(o, rates[i], &station) == 0;
		bench_add(&(struct bench_row){
			.operation = bench_text("lost at %.0f switches a second: ring (%.2f M/s)",
						rates[i], ring.rate / 1e6),
			.unit = "%",
			.measured = 100 * ring.lost / ring.switches,
			.baseline = has_station ? "stations alone" : NULL,
			.base = has_station ? 100 * station.engine_lost / station.engine_written
					    : 0,
		});
	}
}

/* The highest of some rates at which none is lost. */
static double lossless(const struct bench_options *o,
		       int (*load)(const struct bench_options *o, double rate, struct load *out))
{
	double best = 0;

	for (int doubled = 0; doubled < 10; doubled++) {
		double rate = 2.5e4 * (1 << doubled);
		struct load ring;

		if (load(o, rate, &ring) || ring.lost > 0 || ring.rate < rate * 0.8)
			break;
		best = ring.rate;
	}
	return best / 1000;
}

static void run_lossless(const struct bench_options *o)
{
	bench_add(&(struct bench_row){
		.operation = "the ring loses none up to",
		.unit = "1000/s",
		.measured = lossless(o, ring_load),
		.baseline = "--ring 4M",
		.base = lossless(o, large_ring_load),
	});
}

/* ---- idle stations, and full ones */

static int idle_load(const struct bench_options *o, unsigned long idle, unsigned int ms,
		     struct load *out)
{
	return run_load(o, bench_text("coro run --json -n %lu -o $f", idle + 16), 1000, ms,
			bench_text("%lu", idle), out);
}

static void run_idle(const struct bench_options *o)
{
	unsigned long idle = o->quick ? 10000 : 1000000;
	unsigned int ms = o->quick ? 500 : 4000;
	struct load few, many;

	if (idle_load(o, 1000, ms, &few) || idle_load(o, idle, ms, &many)) {
		bench_note("coro: weft coro run could not be measured with idle stations");
		return;
	}
	bench_add(&(struct bench_row){
		.operation = bench_text("engine's CPU, 1 busy and %lu idle stations", idle),
		.unit = "% core",
		.measured = many.engine_cpu_ns / (ms * 1e4),
		.baseline = "1 busy, 1000 idle",
		.base = few.engine_cpu_ns / (ms * 1e4),
	});
	bench_add(&(struct bench_row){
		.operation = bench_text("engine's sweep, 1 busy and %lu idle stations", idle),
		.unit = "us",
		.measured = many.sweep_ns / 1e3,
		.baseline = "1 busy, 1000 idle",
		.base = few.sweep_ns / 1e3,
	});
}

/* Eight events in each station, each of which is seen for the first time. */
static void run_harvest(const struct bench_options *o)
{
	unsigned long stations = o->quick ? 2000 : 100000;
	struct load all;

	if (run_load(o, bench_text("coro run --json -n %lu -o $f", stations + 16), 1000, 10,
		     bench_text("%lu 4", stations), &all) ||
	    all.sweeping_ns < 1) {
		bench_note("coro: weft coro run could not be measured with full stations");
		return;
	}
	bench_add(&(struct bench_row){
		.operation = bench_text("harvest of %lu new stations", stations),
		.unit = "M events/s",
		.measured = all.engine_harvested * 1e3 / all.sweeping_ns,
	});
}

static void run(const struct bench_options *o)
{
	run_costs(o);
	run_losses(o);
	run_lossless(o);
	run_idle(o);
	run_harvest(o);
}

const struct bench_group bench_coro = {
	.name = "coro",
	.text = "coroutines: switches, what is lost of them, idle ones",
	.run = run,
};
