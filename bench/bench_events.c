/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed events: what one costs its thread (event-cost), beside the clock that it reads and a
 * memcpy of as many bytes in the same rounds.
 */
#include <stdlib.h>

#include "event_cost.h"
#include "harness.h"

static const struct {
	enum event_case which, base;
	double budget; /* 0 = none */
	const char *text, *baseline;
} rows[] = {
	{EVENT_OFF, EVENT_NOTHING, 1, "event of a type that is off", "the loop without it"},
	{EVENT_EMIT, EVENT_COPY, 25, "event of two numbers, committed",
	 "a clock read, memcpy of 48 bytes"},
	{EVENT_TIMED, EVENT_COPY, 0, "... timed: begin and commit",
	 "a clock read, memcpy of 48 bytes"},
	{EVENT_UNTRIGGERED, EVENT_CLOCK, 25, "contextual event, untriggered: begin and end",
	 "a clock read"},
	{EVENT_SPAN, EVENT_CLOCK, 25, "weft_span_begin and end, untriggered", "a clock read"},
	{EVENT_SHORT, EVENT_CLOCK, 0, "event below its threshold", "a clock read"},
	{EVENT_UNSELECTED, EVENT_NOTHING, 0, "event without context, if-context",
	 "the loop without it"},
	{EVENT_CONTEXT, EVENT_EMIT, 0, "event of two numbers in a span", "the same without a span"},
	{EVENT_LABELS, EVENT_EMIT, 0, "... with three labels", "the same without a span"},
	{EVENT_STRING, EVENT_EMIT, 0, "event of a number and a string of 16 bytes",
	 "of two numbers"},
};

static void run(const struct bench_options *o)
{
	const char *argv[] = {bench_text("%s/bench/event-cost", o->build), o->quick ? "5" : "41",
			      o->quick ? "6400" : "128000", NULL};
	double ns[EVENT_CASE_COUNT];
	struct bench_run run;
	char *at = run.output, *end;

	if (bench_spawn(argv, NULL, &run) || run.status) {
		bench_note("events: event-cost failed");
		return;
	}
	for (int i = 0; i < EVENT_CASE_COUNT; i++, at = end)
		ns[i] = strtod(at, &end);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		bench_add(&(struct bench_row){
			.operation = rows[i].text,
			.unit = "ns",
			.measured = ns[rows[i].which],
			.limit = rows[i].budget > 0 ? BENCH_AT_MOST : BENCH_NO_BUDGET,
			.budget = rows[i].budget,
			.baseline = rows[i].baseline,
			.base = ns[rows[i].base],
		});
}

const struct bench_group bench_events = {
	.name = "events",
	.text = "typed events: committed, left out, off",
	.run = run,
};
