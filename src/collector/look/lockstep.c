/* SPDX-License-Identifier: Apache-2.0 */
/* Shares by ticks beside shares by random looks: see lockstep.h. */
#include "collector/look/lockstep.h"

#include "base/hash.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES (2 * LOCKSTEP_ENTRIES) /* of the index: a power of two */
#define INSTANTS 65536                /* ticks that are remembered: those of minutes */
#define EXPECTED_MIN 10               /* of each kind: with fewer it is far from a normal deviate */
#define LOST_MAX 0.5

struct sums {
	double weight, squares;
	uint64_t count; /* of instants */
};

struct entry {
	struct lockstep_key key;
	/* since: of all keys, when it was first met */
	struct sums seen[LOCKSTEP_SIDES], since[LOCKSTEP_SIDES];
	char name[LOCKSTEP_TEXT], text[LOCKSTEP_TEXT];
};

struct lockstep {
	struct sums all[LOCKSTEP_SIDES];
	uint64_t tick_ns, newest; /* number of the newest instant */
	uint64_t looked_ns;       /* of the newest look: threads seen together share it */
	uint64_t looks, runs, cpu_ns, gap_ns, gaps;
	size_t count;
	struct entry entry[LOCKSTEP_ENTRIES];
	uint16_t place[PLACES]; /* 1 + index; 0 = free */
	uint64_t instant[INSTANTS / 64];
};

struct lockstep *lockstep_new(uint64_t tick_ns)
{
	struct lockstep *l = calloc(1, sizeof(*l));

	if (l)
		l->tick_ns = tick_ns ? tick_ns : 1;
	return l;
}

void lockstep_free(struct lockstep *l)
{
	free(l);
}

/* ---- instants */

static void forget_instants(struct lockstep *l, uint64_t number)
{
	uint64_t from = number - l->newest < INSTANTS ? l->newest + 1 : number - INSTANTS + 1;

	for (uint64_t i = from; i <= number; i++)
		l->instant[i % INSTANTS / 64] &= ~(UINT64_C(1) << i % 64);
	l->newest = number;
}

/* Rings are read one after the other, so that ticks are not in order of time. */
static int is_new_instant(struct lockstep *l, uint64_t time_ns)
{
	uint64_t number = time_ns / l->tick_ns, bit = UINT64_C(1) << number % 64;
	uint64_t *word = &l->instant[number % INSTANTS / 64];

	if (number > l->newest)
		forget_instants(l, number);
	if (l->newest - number >= INSTANTS || *word & bit)
		return 0;
	*word |= bit;
	return 1;
}

/* ---- the table */

static size_t lockstep_place_of(const struct lockstep *l, const struct lockstep_key *key)
{
	uint64_t hash = hash_mix(key->value + hash_mix((uint64_t)key->kind << 32 | key->number));
	size_t at = (size_t)hash % PLACES;

	while (l->place[at]) {
		const struct lockstep_key *other = &l->entry[l->place[at] - 1].key;

		if (other->value == key->value && other->kind == key->kind &&
		    other->number == key->number)
			break;
		at = (at + 1) % PLACES;
	}
	return at;
}

static int is_rare(const struct lockstep *l, const struct entry *e)
{
	double all = 0, seen = 0;

	for (int i = 0; i < LOCKSTEP_SIDES; i++) {
		all += (double)(l->all[i].count - e->since[i].count);
		seen += (double)e->seen[i].count;
	}
	return all > LOCKSTEP_RARE && seen * LOCKSTEP_RARE < all;
}

static void forget_rare(struct lockstep *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++)
		if (!is_rare(l, &l->entry[i]))
			l->entry[kept++] = l->entry[i];
	l->count = kept;
	memset(l->place, 0, sizeof(l->place));
	for (size_t i = 0; i < kept; i++)
		l->place[lockstep_place_of(l, &l->entry[i].key)] = (uint16_t)(i + 1);
}

/* What first met a key is no random draw of it: the key's counts begin after that. */
static void lockstep_meet(struct lockstep *l, const struct lockstep_key *key)
{
	struct entry *e;

	if (l->count == LOCKSTEP_ENTRIES)
		forget_rare(l);
	if (l->count == LOCKSTEP_ENTRIES)
		return;
	e = &l->entry[l->count++];
	*e = (struct entry){.key = *key};
	memcpy(e->since, l->all, sizeof(e->since));
	snprintf(e->name, sizeof(e->name), "%s", key->name ? key->name : "");
	snprintf(e->text, sizeof(e->text), "%s", key->text ? key->text : "");
	l->place[lockstep_place_of(l, key)] = (uint16_t)l->count;
}

static void look_lockstep_add(struct sums *s, double weight, int is_new)
{
	s->weight += weight;
	s->squares += weight * weight;
	s->count += (uint64_t)is_new;
}

void lockstep_add(struct lockstep *l, enum lockstep_side side, uint64_t time_ns, double weight,
		  const struct lockstep_key *keys, size_t count)
{
	int is_new = side == LOCKSTEP_LOOKS ? time_ns != l->looked_ns : is_new_instant(l, time_ns);

	l->looks += side == LOCKSTEP_LOOKS;
	l->looked_ns = side == LOCKSTEP_LOOKS ? time_ns : l->looked_ns;
	look_lockstep_add(&l->all[side], weight, is_new);
	for (size_t i = 0; i < count; i++) {
		size_t at = lockstep_place_of(l, &keys[i]);

		if (l->place[at])
			look_lockstep_add(&l->entry[l->place[at] - 1].seen[side], weight, 1);
		else
			lockstep_meet(l, &keys[i]);
	}
}

void lockstep_add_runs(struct lockstep *l, uint64_t runs, uint64_t cpu_ns)
{
	l->runs += runs;
	l->cpu_ns += cpu_ns;
}

void lockstep_add_gap(struct lockstep *l, uint64_t look_ns)
{
	l->gap_ns += look_ns;
	l->gaps++;
}

/* ---- judgement */

/* Ticks or looks of one key, and of all keys in the same time. */
struct part {
	double share, n;
};

static struct part part_of(const struct lockstep *l, const struct entry *e, enum lockstep_side side)
{
	double weight = l->all[side].weight - e->since[side].weight;
	double squares = l->all[side].squares - e->since[side].squares;
	double count = (double)(l->all[side].count - e->since[side].count);
	struct part p = {0, 0};

	if (weight > 0 && squares > 0) {
		p.share = e->seen[side].weight / weight;
		p.n = weight * weight / squares;
	}
	p.n = p.n < count ? p.n : count;
	return p;
}

static double lockstep_pooled(const struct part *ticks, const struct part *looks)
{
	return (ticks->n * ticks->share + looks->n * looks->share) / (ticks->n + looks->n);
}

static int is_enough(const struct part *ticks, const struct part *looks)
{
	double fewer = ticks->n < looks->n ? ticks->n : looks->n, share;

	if (fewer < LOCKSTEP_ENOUGH)
		return 0;
	share = lockstep_pooled(ticks, looks);
	return share * fewer >= EXPECTED_MIN && (1 - share) * fewer >= EXPECTED_MIN;
}

/* How wrong a share by looks may be, because threads leave their CPU during a look. */
static double error_of_looks(const struct lockstep *l)
{
	double gap_ns = l->gaps ? (double)l->gap_ns / (double)l->gaps : 0;
	double lost = l->cpu_ns ? (double)l->runs * gap_ns / (double)l->cpu_ns : 0;

	return lost < LOST_MAX ? lost / (1 - lost) : 1;
}

static double deviates(const struct part *ticks, const struct part *looks, double error)
{
	double share = lockstep_pooled(ticks, looks);
	double sigma = sqrt(share * (1 - share) * (1 / ticks->n + 1 / looks->n));
	double excess = fabs(ticks->share - looks->share) - error;

	return excess > 0 && sigma > 0 ? excess / sigma : 0;
}

static int is_worse(double z, const struct entry *e, double worst_z, const struct entry *worst)
{
	if (!worst || z > worst_z * 1.0001)
		return 1;
	return z > worst_z * 0.9999 && e->key.kind < worst->key.kind;
}

static void lockstep_tell(const struct entry *e, double z, size_t tests, const struct part part[],
			  struct lockstep_verdict *out)
{
	out->key = e->key;
	out->key.name = e->name;
	out->key.text = e->text;
	out->tick_share = part[LOCKSTEP_TICKS].share;
	out->look_share = part[LOCKSTEP_LOOKS].share;
	out->chance = fmin(1, erfc(z / M_SQRT2) * (double)tests);
	out->is_misjudged = out->chance < LOCKSTEP_CHANCE &&
			    fabs(out->tick_share - out->look_share) >= LOCKSTEP_LEAST;
}

void lockstep_judge(const struct lockstep *l, size_t others, struct lockstep_verdict *out)
{
	double error = error_of_looks(l), worst_z = 0;
	struct part part[LOCKSTEP_SIDES], worst_part[LOCKSTEP_SIDES] = {{0, 0}};
	const struct entry *worst = NULL;
	size_t tests = 0;

	*out = (struct lockstep_verdict){.looks = l->looks, .chance = 1};
	for (size_t i = 0; i < l->count && error < 1; i++) {
		double z;

		part[LOCKSTEP_TICKS] = part_of(l, &l->entry[i], LOCKSTEP_TICKS);
		part[LOCKSTEP_LOOKS] = part_of(l, &l->entry[i], LOCKSTEP_LOOKS);
		if (!is_enough(&part[LOCKSTEP_TICKS], &part[LOCKSTEP_LOOKS]))
			continue;
		tests++;
		z = deviates(&part[LOCKSTEP_TICKS], &part[LOCKSTEP_LOOKS], error);
		if (!is_worse(z, &l->entry[i], worst_z, worst))
			continue;
		worst = &l->entry[i];
		worst_z = z;
		memcpy(worst_part, part, sizeof(part));
	}
	out->is_known = worst != NULL;
	if (worst)
		lockstep_tell(worst, worst_z, tests * (others + 1), worst_part, out);
}
