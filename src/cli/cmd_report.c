/* SPDX-License-Identifier: Apache-2.0 */
/* weft report: sums the samples of a recording by what they worked for. */
#include "cli/frame/cli.h"

#include "cli/frame/recording_args.h"
#include "report/sum/report.h"

#include <errno.h>
#include <string.h>

#define TOP_OVERVIEW 10
#define TOP_TABLE 40

static int cmd_report_print(const struct cli_args *args, struct report *r)
{
	uint64_t top = cli_given(args, "by") ? TOP_TABLE : TOP_OVERVIEW;
	struct text_style style = terminal_style();
	int rc;

	style.top_given = cli_given(args, "top");
	style.top = style.top_given ? cli_number(args, "top") : top;
	style.counters = cli_flag(args, "counters");
	errno = 0;
	rc = cli_flag(args, "json") ? report_json(r, style.top_given ? style.top : 0, stdout)
				    : report_text(r, &style, stdout);
	if (cli_flushed())
		return CLI_FAILED;
	return rc ? cli_error("%s: %s", r->path, strerror(-rc)) : CLI_DONE;
}

/* A damaged file is shown as far as it is whole; the exit status is a failure's. */
static int cmd_report_verdict(const struct report *r)
{
	const struct facts *f = source_facts(r->source);

	if (*f->damage)
		return cli_error("%s: %s; shown is what is whole", r->path, f->damage);
	if (r->whole.samples)
		return CLI_DONE;
	if (r->read)
		return cli_error("%s: none of %llu samples is selected by --where", r->path,
				 (unsigned long long)r->read);
	return cli_error("%s: no samples", r->path);
}

static int cmd_report_run_query(const struct cli_args *args, struct report_query *q)
{
	struct report *r;
	int rc = report_run(&r, q);
	int status;

	if (rc)
		return recording_refuse(args, q->path, rc);
	recording_warn(r->path, source_model(r->source), &r->sums[0].key, !r->overview, r->wheres,
		       r->where_count);
	status = cmd_report_print(args, r);
	if (!status)
		status = cmd_report_verdict(r);
	report_free(r);
	return status;
}

static int run(const struct cli_args *args)
{
	struct report_query q = {.path = cli_operand(args, 0)};
	struct key by;
	int status = recording_wheres(args, &q.wheres, &q.where_count);

	if (!q.path)
		q.path = RECORDING_FILE;
	q.events = cli_text(args, "event");
	q.counts = cli_flag(args, "count");
	q.no_inlines = cli_flag(args, "no-inlines");
	if (!status && cli_given(args, "by")) {
		status = recording_key(&by, "by", cli_text(args, "by"));
		q.by = &by;
		q.tree = by.kind == KEY_STACK && !cli_flag(args, "json");
	}
	if (!status)
		status = cmd_report_run_query(args, &q);
	recording_wheres_free(q.wheres, q.where_count);
	return status;
}

static const char *const keys[] = {
	"function", "stack", "span",      "root", "trace", "thread", "process",   "module",
	"line",     "state", "coroutine", "site", "tag:",  "label:", "resource:", NULL};

static const struct cli_option options[] = {
	{"by", 'b', CLI_CHOICE, 0, "KEY", .help = "Sum samples by this", .choices = keys},
	{"top", 'n', CLI_COUNT, 0, "N", .help = "Show the N heaviest rows; 0 shows all"},
	RECORDING_OPTION_WHERE,
	RECORDING_OPTION_EVENT,
	{"count", 0, CLI_FLAG,
	 .help = "Count samples or events instead of weighing them by their time"},
	{"counters", 0, CLI_FLAG,
	 .help = "Show every counter with what it means, and the histograms"},
	RECORDING_OPTION_NO_INLINES,
	{"json", 0, CLI_FLAG, .help = "Print one JSON object, with all rows"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft report", "what weft.jfr says, by tag, span and function"},
	{"weft report --by tag:route", "which route burnt the CPU"},
	{"weft report --by label:tenant --where label:route=/api/*",
	 "whose requests to the API they were"},
	{"weft report --by line --where function=parse", "which lines, in what calls parse() too"},
	{"weft report --by stack --where tag:route=/checkout", "and where in it"},
	{"weft report --event wall --by tag:route --where state=sleeping", "which route waited"},
	{"weft report --event weft.LockWait --by function", "where threads waited for locks"},
	{"weft report --json --by span | jq '.rows[0]'", "the heaviest span, for programs"},
	{NULL, NULL},
};

const struct cli_command cmd_report = {
	.name = "report",
	.summary = "Show whose time a recording holds",
	.operands = "[FILE]",
	.operands_max = 1,
	.description = "Sums the samples of a .jfr file (default: " RECORDING_FILE
		       "): weft's own, a JVM's, async-profiler's. Without --by it shows in short "
		       "what answers whose time it was: tags, spans, functions. Shares have their "
		       "95 % interval, where the terminal has room for it. Exits 1 when the file "
		       "is damaged (what is whole is shown) or no sample was counted.",
	.options = options,
	.examples = examples,
	.run = run,
};
