/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling handler: a signal that it takes, less a signal with an empty handler, in each
 * way that stacks are taken; the work is done by self-signal under `weft record`. And the part
 * of it that takes the stack, alone, by walk-stack: warm, and with every cache line that it
 * needs flushed before.
 */
#include <stdio.h>
#include <string.h>

#include "harness.h"

/* What self-signal prints. */
struct signal_cost {
	double sampling, empty, median, context, lost, frames;
};

static int run_signal(const struct bench_options *o, const char *program, const char *how,
		      const char *batch, const char *labels, struct signal_cost *out)
{
	const char *weft = bench_text("%s/weft", o->build);
	const char *path = bench_text("%s/bench/%s", o->build, program);
	const char *argv[] = {weft,  "record", "--stack",
			      how,   "-o",     "/dev/null",
			      "--",  path,     o->quick ? "20" : "300",
			      batch, labels,   NULL};
	struct bench_run run;

	if (!bench_spawn(argv, NULL, &run) &&
	    sscanf(run.output, "%lf %lf %lf %lf %lf %lf", &out->sampling, &out->empty, &out->median,
		   &out->context, &out->lost, &out->frames) == 6)
		return 0;
	bench_note("handler: %s could not be recorded with --stack %s (status 0x%x)", program, how,
		   (unsigned int)run.status);
	return -1;
}

static const struct {
	const char *program, *how, *batch, *labels, *text;
	double budget; /* 0 = none */
} handlers[] = {
	{"self-signal-fp", "fp", "100", NULL, "by frame pointers, warm", 500},
	{"self-signal-fp", "fp", "1", NULL, "by frame pointers, one in 5 ms", 0},
	{"self-signal-fp", "fp", "100", "still", "warm, five labels as before", 0},
	{"self-signal-fp", "fp", "100", "changed", "warm, five labels, one changed", 0},
	{"self-signal-fp", "fp", "100", "record-tls", "warm, another's record in TLS", 0},
	{"self-signal-fp", "fp", "100", "record-heap", "warm, another's record on the heap", 0},
	{"self-signal-fp", "fp", "100", "set-heap", "warm, another's labels on the heap", 0},
	{"self-signal", "auto", "100", NULL, "by tables, warm", 0},
	{"self-signal", "auto", "1", NULL, "by tables, one in 5 ms", 0},
	{"self-signal", "raw", "4", NULL, "raw copy, four in 5 ms", 0},
};

static void add_signal(const struct signal_cost *c, const char *text, double budget)
{
	double handler = c->sampling - c->empty;

	bench_add(&(struct bench_row){
		.operation = c->frames > 0 ? bench_text("handler %s, %.0f frames", text, c->frames)
					   : bench_text("handler, %s", text),
		.unit = "ns",
		.measured = handler,
		.limit = budget > 0 ? BENCH_AT_MOST : BENCH_NO_BUDGET,
		.budget = budget,
		.baseline = "signal with an empty handler",
		.base = c->empty,
	});
	if (budget > 0)
		bench_add(&(struct bench_row){
			.operation = "its context snapshot, of the whole",
			.unit = "%",
			.measured = 100 * c->context / handler,
			.limit = BENCH_AT_MOST,
			.budget = 5,
		});
	if (c->lost > 0)
		bench_note("handler, %s: %.0f samples found the ring full: those cost less", text,
			   c->lost);
}

static void run_signals(const struct bench_options *o)
{
	struct signal_cost cost;

	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (!run_signal(o, handlers[i].program, handlers[i].how, handlers[i].batch,
				handlers[i].labels, &cost))
			add_signal(&cost, handlers[i].text, handlers[i].budget);
}

static void add_walk(const char *line, const char *how, const char *text, double budget)
{
	double frames, warm, cold, first;
	char mode[16];

	if (sscanf(line, "%15s %lf %lf %lf %lf", mode, &frames, &warm, &cold, &first) != 5 ||
	    strcmp(mode, how) != 0)
		return;
	bench_add(&(struct bench_row){
		.operation = frames > 0 ? bench_text("stack %s, %.0f frames, warm", text, frames)
					: bench_text("stack %s, warm", text),
		.unit = "ns",
		.measured = warm,
		.limit = budget > 0 ? BENCH_AT_MOST : BENCH_NO_BUDGET,
		.budget = budget,
	});
	bench_add(&(struct bench_row){
		.operation = bench_text("... cold"),
		.unit = "ns",
		.measured = cold,
		.baseline = "warm",
		.base = warm,
	});
	if (!strcmp(how, "auto"))
		bench_add(&(struct bench_row){
			.operation = bench_text("... cold, and no rule known by pc"),
			.unit = "ns",
			.measured = first,
			.baseline = "warm",
			.base = warm,
		});
}

static void run_walk(const struct bench_options *o, const char *program, const char *frames,
		     const char *how, const char *text, double budget)
{
	const char *argv[] = {bench_text("%s/bench/%s", o->build, program), frames,
			      o->quick ? "10" : "300", NULL};
	struct bench_run run;

	if (bench_spawn(argv, NULL, &run) || run.status) {
		bench_note("handler: %s failed (status 0x%x)", program, (unsigned int)run.status);
		return;
	}
	for (const char *line = run.output; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		add_walk(line, how, text, budget);
}

static void run(const struct bench_options *o)
{
	run_signals(o);
	run_walk(o, "walk-stack", "32", "auto", "walked by tables", 500);
	run_walk(o, "walk-stack-fp", "32", "fp", "walked by frame pointers", 0);
	run_walk(o, "walk-stack", "32", "raw", "copied", 0);
}

const struct bench_group bench_handler = {
	.name = "handler",
	.text = "the sampling handler, by signals that a program sends itself",
	.run = run,
};
