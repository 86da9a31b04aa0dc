/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a view: under up to three names a fixed set of measures and a histogram of durations.
 * When memory runs out, `failed` is set.
 */
#ifndef WEFT_REPORT_TALLY_H
#define WEFT_REPORT_TALLY_H

#include "base/histogram.h"
#include "report/read/model.h"

#define TALLY_NAMES 3

enum measure {
	MEASURE_COUNT, /* of the row's own events, whose durations are in .times */
	MEASURE_TIME,
	MEASURE_SAMPLES, /* of CPU time */
	MEASURE_CPU,
	MEASURE_SELF_SAMPLES,
	MEASURE_SELF,
	MEASURE_WALL_SAMPLES,
	MEASURE_WALL,
	MEASURE_WAITS,
	MEASURE_WAITED,
	MEASURE_EVENTS,
	MEASURE_SPANS,
	MEASURES,
};

/* Measures whose shares have an error. */
enum tally_drawn { DRAWN_SELF, DRAWN_CPU, TALLY_DRAWN };

struct tally_row {
	uint32_t name[TALLY_NAMES]; /* ids in model.names; no other row has all the same */
	uint32_t note;              /* a name beside these: the thread that held a lock */
	uint64_t value[MEASURES];
	struct draws drawn[TALLY_DRAWN]; /* of which the errors of shares follow */
	struct histogram times;
	uint64_t last; /* number of the event that tally_once() saw last */
};

struct tally {
	struct map *index; /* names -> index + 1 */
	struct tally_row *row;
	uint32_t count;
	size_t room;
	uint64_t whole[MEASURES]; /* of everything that was counted, in a row or not */
	struct draws drawn[TALLY_DRAWN];
	int has_errors; /* what is counted are samples */
	int failed;
};

/* All zero is an empty one. */
void tally_free(struct tally *t);
/* The row of these names, made when new; NULL: out of memory. Valid until the next call. */
struct tally_row *tally_row(struct tally *t, const uint32_t name[TALLY_NAMES]);
/* Is this the first time that the row is asked for this event? Events are numbered from 1. */
int tally_once(struct tally_row *r, uint64_t event);
/* Counts an event of the row, and its duration. */
void tally_time(struct tally *t, struct tally_row *r, uint64_t ns);
/* Counts a sample or a wait in the values of a row or of the whole, by what it is. */
void tally_sample(uint64_t value[MEASURES], struct draws drawn[TALLY_DRAWN],
		  const struct sample *s);
/* interval_share() of a row's share of a measure; @r NULL: of a row that is not there. */
int tally_ends(const struct tally *t, const struct tally_row *r, enum measure of,
	       struct interval_ends *out);
#define TALLY_ORDER 3
/* Heaviest first by the first measure, then by the next ones; equal ones by name. */
void tally_sort(struct tally *t, const struct model *m, const enum measure by[TALLY_ORDER]);

#endif
