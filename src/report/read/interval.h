/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sure a share is: its 95 % interval.
 *
 * A draw is what one independent look at the program brought in: the sample of one signal, or
 * one stay of a blocked thread, however many periods or events it stands for. Struct draws has
 * their sums: S, the sum of the draws' weights w, and Q, the sum of w^2. With
 * p = S_part / S_whole and every draw wholly in the part or wholly outside, the linearised
 * variance of that ratio (Cochran, Sampling Techniques, 3rd ed. 1977, section 6.4 and, for
 * clusters, 9A.5) is
 *
 *     V = ((1 - p)^2 Q_part + p^2 (Q_whole - Q_part)) / S_whole^2
 *
 * and n_eff = p (1 - p) / V is how many draws of equal weight would tell p as well: n / deff.
 * With equal weights n_eff = S^2 / Q, the number of draws (Kish, Survey Sampling, 1965, 11.7).
 * A part of few draws tells little of how heavy its draws may be: Q of either side is taken as
 * if one more draw of the whole's mean weight were in it. Where p is 0 or 1, n_eff = S^2 / Q, and
 * it is never more: V falls short where the heavy draws of a part happened not to be met.
 *
 * Where the draws' weights differ, Q is itself an estimate, of heavy tails from few numbers. With
 * the share of the draws that their unevenness costs, u = 1 - S^2 / (Q draws), which is 0 for equal
 * weights, n_eff is divided by 1 + u ((t / z)^2 - 1), where t is Student's quantile for
 * S^2 / Q - 1 degrees of freedom.
 *
 * The interval is Wilson's (Wilson, JASA 22, 1927) for p and n_eff. Next to 0 and 1 its lower
 * (upper) end is that of the Poisson limit: Brown, Cai and DasGupta, Statistical Science 16,
 * 2001, section 4.1.1, extended to up to four draws, straight lines between whole numbers. It
 * is within 0..1, and wide where little was drawn: 0 of 10 draws is 0 to 28 %.
 *
 * What the interval leaves out, and where it is wider than it need be:
 *   - Draws are taken as independent. Periodic looks at one long run of work tell its share
 *     better than independent ones would: there the interval is wider than it need be. Ticks in
 *     step with the work tell it worse, by how much no sample can show (docs/report.md, clock).
 *   - Samples next to each other in one run of a thread are independent all the same: the
 *     question is what this run of the program did, and random are only the moments of looking.
 *   - A stay is one draw of its whole length. As that length is measured, the share in this
 *     recording is known better; the interval is that for another run of the program.
 */
#ifndef WEFT_REPORT_INTERVAL_H
#define WEFT_REPORT_INTERVAL_H

#include <stdint.h>

#define INTERVAL_LEVEL 0.95
#define INTERVAL_Z 1.959963984540054 /* of the normal distribution, both sides */

struct draws {
	double count;
	double sum, squares; /* of weights: ns, or samples where nothing tells their time */
};

static inline void draws_add(struct draws *all, const struct draws *more)
{
	all->count += more->count;
	all->sum += more->sum;
	all->squares += more->squares;
}

struct interval_ends {
	double low, high;
};

/* Draws of equal weight that would tell the share as well; 0: none. */
double interval_draws(const struct draws *part, const struct draws *whole);
/* The interval of a share (0..1) estimated from @draws, which need not be whole; 0..1 for none. */
struct interval_ends interval_wilson(double share, double draws);
/* 0 and *out; -1: there is no whole, or the part is none of it (@out is untouched). */
int interval_share(const struct draws *part, const struct draws *whole, struct interval_ends *out);
/* The longer side of the interval, which "+-" shows; negative where there is no share. */
double interval_error(const struct draws *part, const struct draws *whole);
/* How many times as many draws would halve interval_error(), about 4; 0: there is no error. */
double interval_times_to_halve(const struct draws *part, const struct draws *whole);

/*
 * Are two sums equal per unit (second, span) as far as draws can tell? The units are above 0. With
 * equal rates the first has units_a / (units_a + units_b) of both together: is that within the
 * interval of its share?
 */
int interval_same_rate(const struct draws *a, double units_a, const struct draws *b,
		       double units_b);

/*
 * The design effect of events that come by ticks, each @periods long: E[W^2] / E[W] of a signal
 * that stands for W = floor(@periods + u) events, u uniform in [0, 1). It is 1 up to one period.
 */
double interval_tick_effect(double periods);
/*
 * The same where some events came one by one and the rest by such ticks, so that @signals gave
 * @events. It is 1 where both are equal.
 */
double interval_mixed_effect(double periods, double events, double signals);

#endif
