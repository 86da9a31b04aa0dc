/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are shares that ticks tell those of the program? Ticks come at one phase of the machine's time,
 * so work that repeats with them is met at the same phase of it for ever, and no number of samples
 * helps. So the collector looks at the contexts of running threads at random instants, too
 * (looks.h), and holds the two against each other, for each span, root span, tag and label X:
 *
 *     p, q    the share of X by ticks and by looks, each of those since X was met first
 *     n, m    ticks and looks, as so many independent ones: (sum of weights)^2 / sum of squares;
 *             at most as many as there were instants, for threads in step are met
 *             together
 *     s       the pooled share, (n p + m q) / (n + m)
 *     e       what looks may be off by: a look sees a thread that stays on its CPU for as long as
 *             the look takes, so it misses at most the part l = runs * look / CPU time of it all,
 *             and e = l / (1 - l)
 *     z       (|p - q| - e) / sqrt(s (1 - s) (1 / n + 1 / m))
 *
 * a test of two proportions (Fleiss, Statistical Methods for Rates and Proportions, 2.3). Its
 * chance is that of a normal deviate, times the number of all that was tested (Bonferroni). Ticks
 * that fall in with the work vary less than independent ones: then it is told later than it might
 * be.
 *
 * Told is a difference that has a chance of less than LOCKSTEP_CHANCE and is LOCKSTEP_LEAST at
 * least: a sample's own handler is work that comes with each tick.
 *
 * Ids of single requests come and go: when the table is full what has less than a part in
 * LOCKSTEP_RARE is forgotten. What is met again begins anew, with what comes after that.
 */
#ifndef WEFT_COLLECTOR_LOCKSTEP_H
#define WEFT_COLLECTOR_LOCKSTEP_H

#include <stddef.h>
#include <stdint.h>

#define LOCKSTEP_CHANCE 1e-4
#define LOCKSTEP_LEAST 0.03
#define LOCKSTEP_ENOUGH 200 /* ticks, and looks */
#define LOCKSTEP_RARE 100
#define LOCKSTEP_ENTRIES 1024
#define LOCKSTEP_TEXT 96

enum lockstep_side { LOCKSTEP_TICKS, LOCKSTEP_LOOKS, LOCKSTEP_SIDES };

/* In the order in which one is preferred whose share is as wrong as another's. */
enum lockstep_kind { LOCKSTEP_TAG, LOCKSTEP_LABEL, LOCKSTEP_SPAN, LOCKSTEP_ROOT };

struct lockstep_key {
	enum lockstep_kind kind;
	uint32_t number;         /* of a tag */
	uint64_t value;          /* of a label a hash of both texts */
	const char *name, *text; /* of a label, where it is told; else NULL */
};

struct lockstep_verdict {
	uint64_t looks;   /* that were added */
	int is_known;     /* there were enough to judge by */
	int is_misjudged; /* the rest is of the one whose share is least likely to be right */
	struct lockstep_key key;
	double tick_share, look_share, chance;
};

struct lockstep;

struct lockstep *lockstep_new(uint64_t tick_ns); /* NULL: out of memory */
void lockstep_free(struct lockstep *l);          /* takes NULL */

/* One tick or look that stands for @weight, with what is in its context, each once. */
void lockstep_add(struct lockstep *l, enum lockstep_side side, uint64_t time_ns, double weight,
		  const struct lockstep_key *keys, size_t count);

/* Threads that were looked at got on a CPU @runs times and used @cpu_ns. */
void lockstep_add_runs(struct lockstep *l, uint64_t runs, uint64_t cpu_ns);
void lockstep_add_gap(struct lockstep *l, uint64_t look_ns); /* a look took so long */

/* @others: how many more processes are judged beside this one. Its texts live as long as @l does,
 * and until something is added. */
void lockstep_judge(const struct lockstep *l, size_t others, struct lockstep_verdict *out);

#endif
