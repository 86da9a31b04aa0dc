/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels, and contexts in all formats. label-cost does the work with libcustomlabels-weft.so
 * preloaded, as a program has it that outside profilers read; the baseline of a label write is
 * the reference library's algorithm, written anew (reference_labels.h), in the same rounds.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/publish.h>

#include "harness.h"
#include "label_cases.h"

static const struct {
	enum label_case which;
	const char *text;
	double budget; /* 0 = none */
	enum label_case beside;
	const char *beside_text;
} lines[] = {
	{CASE_SAME, "set a label, existing key, same length", 10, CASE_SAME_REFERENCE, "reference"},
	{CASE_OTHER, "set a label, existing key, other length", 0, CASE_OTHER_REFERENCE,
	 "reference"},
	{CASE_FULL, "set the last of ten labels, same length", 0, CASE_FULL_REFERENCE, "reference"},
	{CASE_NEW, "set a label with a new key, remove it", 0, CASE_NEW_REFERENCE, "reference"},
	{CASE_GET, "get a label", 0, CASE_GET_REFERENCE, "reference"},
	{CASE_SAME_OTEL, "set a label, same length, OpenTelemetry too", 25, CASE_SAME,
	 "without it"},
	{CASE_BATCH, "update: ids, trace id and three labels as one", 0, CASE_BATCH_REFERENCE,
	 "reference, five labels"},
	{CASE_SCOPED, "scope with a label set in it", 40, CASE_SCOPE, "scope alone"},
	{CASE_IDS_V1, "set context: v1 alone", 1.5, CASE_DECIMAL_V1, "two decimal numbers"},
	{CASE_IDS_LABELS, "... and labels 0 and 1 in decimal", 0, CASE_DECIMAL,
	 "two decimal numbers"},
	{CASE_IDS_OTEL, "... and OpenTelemetry's record", 0, CASE_DECIMAL, "two decimal numbers"},
	{CASE_IDS_ALL, "set context: all formats", 35, CASE_DECIMAL, "two decimal numbers"},
	{CASE_TRACE_ALL, "set context: all formats, with trace id", 35, CASE_DECIMAL,
	 "two decimal numbers"},
	{CASE_ATTACH_V1, "attach and detach a prepared context: v1 alone", 16, CASE_DECIMAL_V1,
	 "two decimal numbers"},
	{CASE_ATTACH_SHOWN, "... and its labels for readers outside", 16, CASE_SCOPED,
	 "scope with a label"},
	{CASE_ATTACH_ALL, "... in all formats", 16, CASE_SCOPED_ALL, "scope with a label"},
	{CASE_SWAP_ALL, "... one inside another, each", 16, CASE_BATCH_ALL, "update"},
	{CASE_PREPARE, "prepare a context, free it", 0, CASE_BATCH_ALL, "update"},
};

/* Which formats a row is about: what could not be had is not measured. */
static int could_be_had(enum label_case which, int formats)
{
	switch (which) {
	case CASE_SAME_OTEL:
	case CASE_IDS_OTEL:
	case CASE_IDS_ALL:
	case CASE_TRACE_ALL:
	case CASE_ATTACH_ALL:
	case CASE_SWAP_ALL:
	case CASE_SCOPED_ALL:
	case CASE_BATCH_ALL:
	case CASE_PREPARE:
		return formats & WEFT_FORMAT_OTEL;
	default:
		return 1;
	}
}

static void add_lines(const double *ns, int formats)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (could_be_had(lines[i].which, formats))
			bench_add(&(struct bench_row){
				.operation = lines[i].text,
				.unit = "ns",
				.measured = ns[lines[i].which],
				.limit = lines[i].budget > 0 ? BENCH_AT_MOST : BENCH_NO_BUDGET,
				.budget = lines[i].budget,
				.baseline = lines[i].beside_text,
				.base = ns[lines[i].beside],
			});
}

/* FORMATS LIBRARY NS...: 0, or -1 when that is not what it printed. */
static int take(const char *line, int *formats, int *library, double *ns)
{
	char *rest;

	*formats = (int)strtol(line, &rest, 10);
	*library = (int)strtol(rest, &rest, 10);
	for (int n = 0; n < LABEL_CASE_COUNT; n++) {
		const char *from = rest;

		ns[n] = strtod(from, &rest);
		if (rest == from)
			return -1;
	}
	return 0;
}

struct cost {
	int formats, library;
	double ns[LABEL_CASE_COUNT];
};

static int run_cost(const struct bench_options *o, const char *mode, struct cost *out)
{
	const char *path = bench_text("%s/bench/label-cost", o->build);
	const char *labels = bench_text("%s/src/customlabels/libcustomlabels-weft.so", o->build);
	const char *argv[] = {path, o->quick ? "5" : "21", o->quick ? "20000" : "300000", mode,
			      NULL};
	struct bench_run run;

	if (!bench_spawn(argv,
			 bench_text("WEFT_PUBLISH=%s%s%s", mode ? mode : "v1,labels,otel",
				    access(labels, R_OK) ? "" : "\nLD_PRELOAD=",
				    access(labels, R_OK) ? "" : labels),
			 &run) &&
	    !run.status && !take(run.output, &out->formats, &out->library, out->ns))
		return 0;
	bench_note("labels: label-cost failed (status 0x%x)", (unsigned int)run.status);
	return -1;
}

static void run(const struct bench_options *o)
{
	struct cost alone, all;

	if (run_cost(o, "v1", &alone) || run_cost(o, NULL, &all))
		return;
	all.ns[CASE_IDS_V1] = alone.ns[CASE_IDS_V1];
	all.ns[CASE_DECIMAL_V1] = alone.ns[CASE_DECIMAL_V1];
	all.ns[CASE_ATTACH_V1] = alone.ns[CASE_ATTACH_V1];
	add_lines(all.ns, all.formats);
	if (!all.library)
		bench_note("labels: no libcustomlabels-weft.so: nobody reads the labels, and "
			   "contexts do not write them");
	if (!(all.formats & WEFT_FORMAT_OTEL))
		bench_note("labels: OpenTelemetry's format could not be switched on");
}

const struct bench_group bench_labels = {
	.name = "labels",
	.text = "setting and reading labels; contexts in all formats",
	.run = run,
};
