/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread that does nothing costs in memory while its process is recorded. */
#include <stdio.h>

#include "peers.h"

struct usage {
	double threads, mapped, allocated, process;
};

static bool measure(const struct bench_options *o, enum peer_id who, struct usage *u)
{
	struct bench_run run;

	return !peers_run(o, who, bench_text("%s/bench/idle-threads", o->build), "1000", &run) &&
	       sscanf(run.output, "%lf %lf %lf %lf", &u->threads, &u->mapped, &u->allocated,
		      &u->process) == 4;
}

static void run(const struct bench_options *o)
{
	struct usage plain, recorded;
	double held;

	if (!measure(o, PEER_NONE, &plain) || !measure(o, PEER_WEFT, &recorded) ||
	    recorded.mapped == 0) {
		bench_note("memory: idle-threads could not be recorded");
		return;
	}
	held = recorded.allocated > recorded.mapped ? recorded.allocated : recorded.mapped;
	bench_add(&(struct bench_row){
		.operation = bench_text("session memory per idle thread, %.0f threads",
					recorded.threads),
		.unit = "KiB",
		.measured = held / recorded.threads / 1024,
		.limit = BENCH_AT_MOST,
		.budget = 16,
		.baseline = "resident per thread, unrecorded",
		.base = plain.process / plain.threads / 1024,
	});
	if (recorded.allocated == 0)
		bench_note("memory: only what the program itself touched; the whole memfd shows to "
			   "root alone");
}

const struct bench_group bench_memory = {
	.name = "memory",
	.text = "memory per idle thread",
	.run = run,
};
