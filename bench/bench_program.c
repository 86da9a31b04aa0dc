/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs a CPU-bound program: at 1 kHz asked, beside other profilers, at most what
 * the cheapest of them does; and at weft's own rate, by an hrtimer and by ticks. Each
 * round runs the program once under everybody, in turn; a profiler's overhead is the
 * median over the rounds of its time divided by the unrecorded time of the same round.
 * "Unrecorded again" is the noise: what the same division gives where nothing differs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "peers.h"

#define ROUNDS_MAX 32

enum measure { OWN_WALL, OWN_CPU, WHOLE_WALL, WHOLE_CPU, MEASURES };

static const char *const measure_names[MEASURES] = {
	"program's own wall time",
	"program's own CPU time",
	"whole command, wall time",
	"whole command with collector, CPU time",
};

struct results {
	double ns[MEASURES][PEER_COUNT][ROUNDS_MAX];
	size_t rounds;
};

/* cpu-loop's own line: a peer may have printed before it. */
static bool own_times(const char *output, double *wall, double *cpu)
{
	for (; output; output = strchr(output, '\n')) {
		output += *output == '\n';
		if (sscanf(output, "%lf %lf", wall, cpu) == 2)
			return true;
	}
	return false;
}

static bool run_one(const struct bench_options *o, enum peer_id who, const char *units,
		    struct results *r)
{
	struct bench_run run;
	double wall, cpu;

	if (peers_run(o, who, bench_text("%s/bench/cpu-loop", o->build), units, &run) ||
	    !own_times(run.output, &wall, &cpu))
		return false;
	r->ns[OWN_WALL][who][r->rounds] = wall;
	r->ns[OWN_CPU][who][r->rounds] = cpu;
	r->ns[WHOLE_WALL][who][r->rounds] = run.wall_ns;
	r->ns[WHOLE_CPU][who][r->rounds] = run.cpu_ns;
	return true;
}

static double overhead_percent(const struct results *r, enum measure m, enum peer_id who)
{
	double ratios[ROUNDS_MAX];

	for (size_t i = 0; i < r->rounds; i++)
		ratios[i] = r->ns[m][who][i] / r->ns[m][PEER_NONE][i];
	return (bench_median(ratios, r->rounds) - 1) * 100;
}

/* What two runs of the same program in one round typically differ by. */
static double noise_percent(const struct results *r, enum measure m)
{
	double apart[ROUNDS_MAX];

	for (size_t i = 0; i < r->rounds; i++)
		apart[i] = fabs(r->ns[m][PEER_NONE_AGAIN][i] / r->ns[m][PEER_NONE][i] - 1) * 100;
	return bench_median(apart, r->rounds);
}

/* The cheapest of them; PEER_NONE_AGAIN: there is nobody else. */
static enum peer_id cheapest(const struct results *r, enum measure m, const struct peer *peers)
{
	enum peer_id found = PEER_NONE_AGAIN;

	for (unsigned int who = PEER_PERF; who < PEER_COUNT; who++)
		if (peers[who].works &&
		    (found == PEER_NONE_AGAIN ||
		     overhead_percent(r, m, who) < overhead_percent(r, m, found)))
			found = who;
	return found;
}

static void add_weft(const struct results *r, enum measure m, enum peer_id who,
		     const struct peer *peers)
{
	enum peer_id beside = cheapest(r, m, peers);
	bool has_budget = m == OWN_WALL || m == OWN_CPU;
	double base = overhead_percent(r, m, beside);
	struct bench_row row = {
		.operation = bench_text("%s: %s", peers[who].name, measure_names[m]),
		.unit = "+%",
		.measured = overhead_percent(r, m, who),
		.budget = who == PEER_WEFT_DEFAULT ? 0.5 : 0.2,
		.noise = noise_percent(r, m),
		.baseline = peers[beside].name,
		.base = base,
	};

	if (who == PEER_WEFT)
		row.budget = base;
	if (has_budget && (who != PEER_WEFT || beside != PEER_NONE_AGAIN))
		row.limit = BENCH_AT_MOST;
	bench_add(&row);
}

static void add_other(const struct results *r, enum measure m, enum peer_id who, const char *name)
{
	bench_add(&(struct bench_row){
		.operation = bench_text("%s: %s", who == PEER_NONE_AGAIN ? "A/A noise" : name,
					measure_names[m]),
		.unit = "+%",
		.measured = overhead_percent(r, m, who),
	});
}

/* Everybody once; who begins changes, so that nobody always runs after the same one. */
static void run_round(const struct bench_options *o, struct peer *peers, struct results *r)
{
	for (unsigned int i = 0; i < PEER_COUNT; i++) {
		unsigned int who = (unsigned int)(i + r->rounds) % PEER_COUNT;

		if (peers[who].works && !run_one(o, who, o->quick ? "150" : "1200", r)) {
			bench_note("%s: failed to run cpu-loop", peers[who].name);
			peers[who].works = false;
		}
	}
	r->rounds++;
}

static void run(const struct bench_options *o)
{
	static struct results r;
	struct peer peers[PEER_COUNT];
	unsigned int rounds = o->quick ? 2 : 11;

	peers_find(o, peers);
	while (r.rounds < rounds)
		run_round(o, peers, &r);
	for (unsigned int m = 0; m < MEASURES && peers[PEER_NONE].works; m++) {
		for (unsigned int who = PEER_NONE_AGAIN; who < PEER_COUNT; who++) {
			if (peers[who].works && peer_is_weft(who))
				add_weft(&r, m, who, peers);
			else if (peers[who].works)
				add_other(&r, m, who, peers[who].name);
		}
		bench_note("%s: two unrecorded runs of a round typically differ by %.2f %%",
			   measure_names[m], noise_percent(&r, m));
	}
}

const struct bench_group bench_program = {
	.name = "program",
	.text = "recording a CPU-bound program at 1 kHz asked, and at 199 Hz",
	.run = run,
};
