/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording adds to the start and end of a program that does nothing, and to each
 * child that a program starts by fork and exec. Differences of medians, interleaved.
 */
#include <stdio.h>
#include <string.h>

#include "peers.h"

#define ROUNDS_MAX 64
#define CHILDREN 30

static double samples[PEER_COUNT][ROUNDS_MAX];

/* Wall time of one run; with @children what the program itself printed, per child. */
static double run_one(const struct bench_options *o, enum peer_id who, bool children)
{
	struct bench_run run;
	const char *last;
	double ns;

	if (peers_run(o, who, bench_text("%s/bench/nothing", o->build),
		      children ? bench_text("%d", CHILDREN) : NULL, &run))
		return -1;
	if (!children)
		return run.wall_ns;
	last = strrchr(run.output, '\n'); /* a peer may have printed before it */
	while (last && last > run.output && last[-1] != '\n')
		last--;
	return last && sscanf(last, "%lf", &ns) == 1 ? ns / CHILDREN : -1;
}

static void measure(const struct bench_options *o, const struct peer *peers, bool children,
		    unsigned int rounds, double median[PEER_COUNT])
{
	for (unsigned int r = 0; r < rounds; r++)
		for (unsigned int who = 0; who < PEER_COUNT; who++)
			samples[who][r] = peers[who].works ? run_one(o, who, children) : -1;
	for (unsigned int who = 0; who < PEER_COUNT; who++)
		median[who] = bench_median(samples[who], rounds);
}

static void add(const struct peer *peers, const double *median, const char *what, double budget)
{
	for (unsigned int who = PEER_NONE_AGAIN; who < PEER_COUNT; who++) {
		struct bench_row row = {
			.operation = bench_text("%s: %s", peers[who].name, what),
			.unit = "ms",
			.measured = (median[who] - median[PEER_NONE]) / 1e6,
			.limit = who == PEER_WEFT ? BENCH_AT_MOST : BENCH_NO_BUDGET,
			.budget = budget,
			.baseline = "unrecorded, whole",
			.base = median[PEER_NONE] / 1e6,
		};

		if (peers[who].works && median[who] > 0)
			bench_add(&row);
	}
}

static void run(const struct bench_options *o)
{
	struct peer peers[PEER_COUNT];
	double median[PEER_COUNT];

	peers_find(o, peers);
	peers[PEER_WEFT_DEFAULT].works = peers[PEER_WEFT_TICKS].works = false; /* as PEER_WEFT */
	measure(o, peers, false, o->quick ? 3 : 15, median);
	add(peers, median, "start-up and end added", 30);
	/* They do not preload: their children cost them nothing. */
	peers[PEER_PERF].works = peers[PEER_SAMPLY].works = false;
	measure(o, peers, true, o->quick ? 1 : 5, median);
	add(peers, median, "added to each exec'd child", 1);
}

const struct bench_group bench_startup = {
	.name = "startup",
	.text = "what a recording adds to start and end, and to each exec'd child",
	.run = run,
};
