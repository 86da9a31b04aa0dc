/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libweft-waits.so adds where nobody waits: wait-cost under `weft record --waits`, with both
 * types of event on, and with both off. The difference to libc's own function, in the same rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "wait_cost.h"

static const struct {
	enum wait_case which;
	double budget; /* 0 = none */
	const char *on, *off, *baseline;
} rows[] = {
	{WAIT_MUTEX, 3, "added to a free mutex", "... with the types off",
	 "libc's lock and unlock"},
	{WAIT_READ_LOCK, 3, "added to a free rwlock, read", "... with the types off",
	 "libc's lock and unlock"},
	{WAIT_WRITE_LOCK, 3, "added to a free rwlock, written", "... with the types off",
	 "libc's lock and unlock"},
	{WAIT_SEMAPHORE, 0, "added to a semaphore that has one", "... with the types off",
	 "libc's wait and post"},
	{WAIT_CALL, 0, "added to a call that does not wait", "... with the types off",
	 "libc's recv"},
};

/* 0, or -1: it was not measured. */
static int measure(const struct bench_options *o, const char *setting, double *ns)
{
	const char *file = bench_text("%s/bench-waits.jfr", o->build);
	const char *argv[] = {bench_text("%s/weft", o->build),
			      "record",
			      "-o",
			      file,
			      "--waits",
			      "--set",
			      setting,
			      bench_text("%s/bench/wait-cost", o->build),
			      o->quick ? "5" : "41",
			      o->quick ? "16000" : "200000",
			      NULL};
	struct bench_run run;
	char *at = run.output, *end;
	int failed = bench_spawn(argv, NULL, &run) || run.status;

	unlink(file);
	for (int i = 0; !failed && i < WAIT_CASE_COUNT; i++, at = end) {
		ns[i] = strtod(at, &end);
		failed = end == at;
	}
	if (failed)
		bench_note("waits: wait-cost failed (status 0x%x)", (unsigned int)run.status);
	else if (atoi(at) == 0)
		bench_note("waits: libweft-waits.so was not there");
	return failed ? -1 : 0;
}

static void add(const char *text, const double *ns, size_t row, double budget)
{
	double base = ns[rows[row].which + 1];

	bench_add(&(struct bench_row){
		.operation = text,
		.unit = "ns",
		.measured = ns[rows[row].which] - base,
		.limit = budget > 0 ? BENCH_AT_MOST : BENCH_NO_BUDGET,
		.budget = budget,
		.baseline = rows[row].baseline,
		.base = base,
	});
}

static void run(const struct bench_options *o)
{
	double on[WAIT_CASE_COUNT], off[WAIT_CASE_COUNT];

	if (measure(o, "*Wait#enabled=true", on) || measure(o, "*Wait#enabled=false", off))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		add(rows[i].on, on, i, rows[i].budget);
		add(rows[i].off, off, i, 0);
	}
}

const struct bench_group bench_waits = {
	.name = "waits",
	.text = "locks that are free and calls that do not wait, with libweft-waits.so",
	.run = run,
};
