/* SPDX-License-Identifier: Apache-2.0 */
/* weft diff: what changed from one recording to another. */
#include "cli/frame/cli.h"

#include "cli/frame/recording_args.h"
#include "report/diff/diff.h"

#include <errno.h>
#include <string.h>

#define TOP 10

static int cmd_diff_print(const struct cli_args *args, const struct diff *d)
{
	struct text_style style = table_style_of(args, TOP);
	int rc;

	errno = 0;
	rc = cli_flag(args, "json") ? diff_json(d, cli_given(args, "top") ? style.top : 0, stdout)
				    : diff_text(d, &style, stdout);
	if (cli_flushed())
		return CLI_FAILED;
	return rc ? cli_error("%s", strerror(-rc)) : CLI_DONE;
}

/* Damaged files are compared as far as they are whole; the exit status is a failure's. */
static int cmd_diff_verdict(const struct diff *d)
{
	int status = CLI_DONE;

	for (int side = 0; side < 2; side++) {
		const struct facts *f = diff_facts(d, side);

		if (*f->damage)
			status = cli_error("%s: %s; compared is what is whole",
					   d->query->path[side], f->damage);
		else if (d->query->per == DIFF_PER_SPAN && !d->side[side].spans)
			status = cli_error("%s: no spans to compare by", d->query->path[side]);
	}
	return status;
}

static void cmd_diff_warn(const struct diff *d)
{
	for (int side = 0; side < 2; side++) {
		const struct view_run *v = d->side[side].view[DIFF_SUMS];

		recording_warn(d->query->path[side], source_model(v->source), &v->by,
			       d->query->by != NULL, v->wheres, d->query->where_count);
	}
}

static int cmd_diff_run_query(const struct cli_args *args, const struct diff_query *q)
{
	struct diff *d;
	int failed, status, rc = diff_run(&d, q, &failed);

	if (rc)
		return recording_refuse(args, q->path[failed], rc);
	cmd_diff_warn(d);
	status = cmd_diff_print(args, d);
	if (!status)
		status = cmd_diff_verdict(d);
	diff_free(d);
	return status;
}

static const char *const units[] = {"second", "span", "total", NULL};

static int run(const struct cli_args *args)
{
	struct diff_query q = {.path = {cli_operand(args, 0), cli_operand(args, 1)},
			       .events = cli_text(args, "event")};
	struct key by;
	int status = recording_wheres(args, &q.wheres, &q.where_count);

	for (int i = 0; units[i]; i++)
		if (strcmp(cli_text(args, "per"), units[i]) == 0)
			q.per = (enum diff_per)i;
	if (!status && cli_given(args, "by")) {
		status = recording_key(&by, "by", cli_text(args, "by"));
		q.by = &by;
	}
	if (!status)
		status = cmd_diff_run_query(args, &q);
	recording_wheres_free(q.wheres, q.where_count);
	return status;
}

static const struct cli_option options[] = {
	{"by", 'b', CLI_TEXT, 0, "KEY",
	 .help = "Compare the sums of samples by this key of weft report [function]"},
	{"per", 'p', CLI_CHOICE, 0, "UNIT", .help = "Compare times and numbers by this",
	 .fallback = "second", .choices = units},
	{"top", 'n', CLI_COUNT, 0, "N",
	 .help = "Show the N rows of each table that changed most; 0 shows all [10]"},
	RECORDING_OPTION_WHERE,
	RECORDING_OPTION_EVENT,
	TABLE_OPTION_WIDTH,
	{"json", 0, CLI_FLAG, .help = "Print one JSON object, with all rows"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft diff before.jfr after.jfr", "which functions, waits and spans changed most"},
	{"weft diff before.jfr after.jfr --per span --where tag:route=/checkout",
	 "what one checkout costs, before and after"},
	{"weft diff a.jfr b.jfr --by label:tenant --json", "CPU time of tenants, for programs"},
	{NULL, NULL},
};

const struct cli_command cmd_diff = {
	.name = "diff",
	.summary = "Compare two recordings",
	.operands = "A B",
	.operands_min = 2,
	.operands_max = 2,
	.description = "Puts two .jfr files side by side: how they were made, then functions (or "
		       "another key), event types that last, and spans, those that changed most "
		       "first. Times and numbers are per second of the recording, so that files "
		       "of different length compare. Exits 0 also when they differ; 1 when one is "
		       "damaged (what is whole is compared).",
	.options = options,
	.examples = examples,
	.run = run,
};
