/* SPDX-License-Identifier: Apache-2.0 */
/* See interval.h: every formula stands there. */
#include "report/read/interval.h"

#include <math.h>

#define HALVING_STEPS 60 /* of a bisection: more than a double has bits */

/* The lower 95 % limit of a Poisson mean of which n were drawn: half the 5 % quantile of chi-square
 * with 2 n degrees of freedom. */
#define POISSON_MOST 4
static const double poisson_low[POISSON_MOST + 1] = {0, 0.051293, 0.355362, 0.817691, 1.366318};

static double poisson_limit(double drawn)
{
	double below = floor(drawn);
	int i;

	if (drawn >= POISSON_MOST)
		return drawn;
	i = (int)below;
	return poisson_low[i] + (drawn - below) * (poisson_low[i + 1] - poisson_low[i]);
}

static double within_0_1(double x)
{
	return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* The lower end. The upper end is 1 minus that of the rest of the whole. */
static double lower_end(double p, double n)
{
	const double z2 = INTERVAL_Z * INTERVAL_Z;
	double half = INTERVAL_Z * sqrt(p * (1 - p) * n + z2 / 4);
	double wilson = (p * n + z2 / 2 - half) / (n + z2);
	double rare = poisson_limit(p * n) / n;

	return within_0_1(rare < wilson ? rare : wilson);
}

struct interval_ends interval_wilson(double share, double draws)
{
	double p = within_0_1(share);

	if (!(draws > 0))
		return (struct interval_ends){0, 1};
	return (struct interval_ends){lower_end(p, draws), 1 - lower_end(1 - p, draws)};
}

/* Sum of squares of a side, as if one more draw of the mean weight @typical were in it. */
static double shrunk(double sum, double squares, double typical)
{
	double draws = squares > 0 ? sum * sum / squares : 0;

	return (squares * draws + typical * sum) / (draws + 1);
}

/* Student's quantile by the series in 1 / degrees (Abramowitz and Stegun, 26.7.5), over z. */
static double student(double degrees)
{
	const double z = INTERVAL_Z, z2 = z * z, v = degrees > 1 ? degrees : 1;

	return 1 + (z2 + 1) / (4 * v) + ((5 * z2 + 16) * z2 + 3) / (96 * v * v) +
	       (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * v * v * v);
}

/* The factor by which squares of uneven weights make the interval look too sure. */
static double unsureness(const struct draws *whole, double kish)
{
	double uneven = whole->count > kish ? 1 - kish / whole->count : 0;
	double t = student(kish - 1);

	return 1 + uneven * (t * t - 1);
}

static int interval_is_part(const struct draws *part, const struct draws *whole)
{
	return whole->sum > 0 && whole->squares > 0 && part->sum >= 0 &&
	       part->sum <= whole->sum * (1 + 1e-9);
}

double interval_draws(const struct draws *part, const struct draws *whole)
{
	double p, typical, in, out, kish, linear;

	if (!interval_is_part(part, whole))
		return 0;
	p = within_0_1(part->sum / whole->sum);
	kish = whole->sum * whole->sum / whole->squares;
	if (p <= 0 || p >= 1)
		return kish / unsureness(whole, kish);
	typical = whole->squares / whole->sum;
	in = shrunk(part->sum, part->squares, typical);
	out = shrunk(whole->sum - part->sum, fmax(whole->squares - part->squares, 0), typical);
	linear = p * (1 - p) * whole->sum * whole->sum / ((1 - p) * (1 - p) * in + p * p * out);
	return fmin(linear, kish) / unsureness(whole, kish);
}

int interval_share(const struct draws *part, const struct draws *whole, struct interval_ends *out)
{
	double n = interval_draws(part, whole);

	if (!(n > 0))
		return -1;
	*out = interval_wilson(part->sum / whole->sum, n);
	return 0;
}

static double longer_side(double share, double n)
{
	struct interval_ends i = interval_wilson(share, n);

	return fmax(share - i.low, i.high - share);
}

double interval_error(const struct draws *part, const struct draws *whole)
{
	double n = interval_draws(part, whole);

	return n > 0 ? longer_side(within_0_1(part->sum / whole->sum), n) : -1;
}

double interval_times_to_halve(const struct draws *part, const struct draws *whole)
{
	double n = interval_draws(part, whole), low = 1, high = 16, p, half;

	if (!(n > 0))
		return 0;
	p = within_0_1(part->sum / whole->sum);
	half = longer_side(p, n) / 2;
	if (!(half > 0))
		return 0;
	for (int i = 0; i < HALVING_STEPS; i++) {
		double middle = (low + high) / 2;

		*(longer_side(p, n * middle) > half ? &low : &high) = middle;
	}
	return high;
}

int interval_same_rate(const struct draws *a, double units_a, const struct draws *b, double units_b)
{
	/* A share of what there was in all: weights of both are ns, or samples. */
	struct draws both = {a->count + b->count, a->sum + b->sum, a->squares + b->squares};
	double expected = units_a / (units_a + units_b);
	struct interval_ends i;

	if (interval_share(a, &both, &i))
		return 1;
	return i.low <= expected && expected <= i.high;
}

double interval_tick_effect(double periods)
{
	double least = floor(periods), more = periods - least;

	if (!(periods > 1))
		return 1;
	return (least * least * (1 - more) + (least + 1) * (least + 1) * more) / periods;
}

double interval_mixed_effect(double periods, double events, double signals)
{
	double ticks;

	if (!(periods > 1) || !(signals > 0) || !(events > signals))
		return 1;
	ticks = fmin((events - signals) / (periods - 1), signals);
	return (ticks * periods * interval_tick_effect(periods) + signals - ticks) / events;
}
