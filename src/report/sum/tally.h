/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a view: what is counted under up to three names, by a fixed set of measures and a
 * histogram of durations. Out of memory is remembered (failed).
 */
#ifndef WEFT_REPORT_TALLY_H
#define WEFT_REPORT_TALLY_H

#include "base/histogram.h"
#include "report/read/model.h"

#define TALLY_NAMES 3

enum measure {
	MEASURE_COUNT, /* events that the row is of; their durations are in .times */
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
	uint32_t name[TALLY_NAMES]; /* ids in model.names; what the row is */
	uint32_t note;              /* another: the thread that held a lock */
	uint64_t value[MEASURES];
	struct draws drawn[TALLY_DRAWN]; /* how sure shares are */
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

int tally_init(struct tally *t); /* 0 or -ENOMEM; tally_free() is allowed after both */
void tally_free(struct tally *t);
/* The row of these names, made when new; NULL: out of memory. Valid until the next call. */
struct tally_row *tally_row(struct tally *t, const uint32_t name[TALLY_NAMES]);
/* Has this event, by its number from 1, not been counted in the row yet? */
int tally_once(struct tally_row *r, uint64_t event);
/* An event of the row: counts it, and its duration. */
void tally_time(struct tally *t, struct tally_row *r, uint64_t ns);
/* A sample or wait in the row, or in the whole, by what it is. */
void tally_sample(uint64_t value[MEASURES], struct draws drawn[TALLY_DRAWN],
		  const struct sample *s);
/* Of a row's share of the whole, interval_ends as interval_share(); -1: it has none. */
int tally_ends(const struct tally *t, const struct tally_row *r, enum measure of,
	       struct interval_ends *out);
#define TALLY_ORDER 3
/* Heaviest first by one measure, then by the next; equal ones by name. */
void tally_sort(struct tally *t, const struct model *m, const enum measure by[TALLY_ORDER]);

#endif
