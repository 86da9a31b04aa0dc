/* SPDX-License-Identifier: Apache-2.0 */
/* weft coro report: what a trace, a recording or a shared file says of its coroutines. */
#include "cli/coro/coro_open.h"
#include "cli/coro/coro_report.h"
#include "cli/frame/cli.h"
#include "cli/frame/recording_args.h"
#include "cli/frame/term.h"
#include "recorded/recorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOP_OVERVIEW 10
#define TOP_TABLE 40

/* ---- what is asked */

static void set_by(const struct cli_args *args, struct coro_report_query *q)
{
	const char *by = cli_text(args, "by");

	if (!by)
		q->by = 1u << CORO_BY_SITE | 1u << CORO_BY_THREAD;
	for (unsigned int i = CORO_BY_SITE; by && i < CORO_BYS; i++)
		if (!strcmp(by, coro_by_text[i]))
			q->by = 1u << i;
	if (q->by)
		return;
	q->by = 1u << CORO_BY_LABEL;
	q->label = by + strlen("label:");
}

static int set_query(const struct cli_args *args, struct coro_report_query *q)
{
	q->long_run_ns = cli_number(args, "long-run");
	q->stuck_ns = cli_number(args, "stuck");
	q->ping_pong_min = cli_number(args, "ping-pong");
	set_by(args, q);
	if (cli_given(args, "stuck") && !q->stuck_ns)
		return cli_usage("--stuck wants a time above 0");
	return CLI_DONE;
}

/* ---- where from */

enum kind { KIND_TRACE, KIND_RECORDING, KIND_FILE };

static enum kind cmd_coro_report_kind_of(const char *path)
{
	char head[8] = "";
	size_t bytes = strcmp(path, "-") != 0 ? recording_start(path, head, sizeof(head)) : 0;
	uint64_t magic = WEFT_CTP_MAGIC;

	if (bytes >= 4 && !memcmp(head, "FLR\0", 4))
		return KIND_RECORDING;
	return bytes == 8 && !memcmp(head, &magic, 8) ? KIND_FILE : KIND_TRACE;
}

static int read_trace(struct coro_report *r, const char *path)
{
	char why[128];
	uint64_t line;
	int rc = coro_report_jsonl(r, path, &line, why);

	if (rc == -EBADMSG)
		return cli_error("%s: line %llu: %s", path, (unsigned long long)line, why);
	if (rc == 0)
		rc = coro_report_end(r, 0);
	return rc ? cli_error("%s: %s", path, strerror(-rc)) : CLI_DONE;
}

static int read_recording(struct coro_report *r, const char *path, struct coro_names *names)
{
	char why[192];
	int rc = coro_recording_read(r, path, names, why);

	if (rc == 0)
		rc = coro_report_end(r, 0);
	return rc ? cli_error("%s: %s", path, *why ? why : strerror(-rc)) : CLI_DONE;
}

static int each_state(void *arg, const struct coro_state *state)
{
	return coro_report_state(arg, state);
}

static int cmd_coro_report_read_file(struct coro_report *r, struct coro_source *source)
{
	uint64_t now = coro_source_now_ns(source);
	char text[CORO_NAME_BYTES];
	int rc = coro_snapshot(&source->shm, each_state, r);

	if (rc == 0)
		rc = coro_report_end(r, now);
	/* names of its own processes, while they live */
	for (const struct coro_about *a = r->abouts; rc == 0 && a; a = a->next)
		(void)coro_source_name(source, a->pid, 0, text);
	return rc ? cli_error("%s: %s", source->path, strerror(-rc)) : CLI_DONE;
}

/* ---- names */

/* Names come from FILE.maps, which weft coro run wrote beside the trace. */
static void names_beside(struct coro_names *names, const char *path)
{
	char *beside = NULL;

	if (asprintf(&beside, "%s.maps", path) >= 0)
		(void)coro_names_noted(names, beside);
	free(beside);
}

static int cmd_coro_report_load_names(const struct cli_args *args, struct coro_names *names,
				      const char *path)
{
	const char *exe = cli_text(args, "exe");
	uint32_t pid = (uint32_t)cli_number(args, "pid");
	int rc = 0;

	names_beside(names, path);
	if (exe)
		rc = coro_names_file(names, exe);
	if (rc < 0)
		return cli_error("%s: %s", exe,
				 rc == -ENOEXEC ? "not an executable of here" : strerror(-rc));
	if (cli_given(args, "pid"))
		rc = coro_names_process(names, pid, 0, 0);
	return rc < 0 ? cli_error("process %u: %s", pid, strerror(-rc)) : CLI_DONE;
}

/* ---- printing */

static int cmd_coro_report_print(const struct cli_args *args, struct coro_report *r,
				 struct coro_report_show *show)
{
	if (cli_flag(args, "json"))
		return cli_written(coro_report_json(r, show));
	errno = 0;
	coro_report_text(r, show, stdout);
	return cli_flushed();
}

static int from_trace(const struct cli_args *args, struct coro_report *r,
		      struct coro_report_show *show, enum kind kind)
{
	int status;

	show->kind = kind == KIND_TRACE ? "trace" : "recording";
	show->names = coro_names_new();
	if (!show->names)
		return cli_error("%s", strerror(ENOMEM));
	status = cmd_coro_report_load_names(args, show->names, show->path);
	if (!status)
		status = kind == KIND_TRACE ? read_trace(r, show->path)
					    : read_recording(r, show->path, show->names);
	if (!status && !r->events)
		status = cli_error("%s: no events%s", show->path,
				   kind == KIND_TRACE ? "" : " of coroutines");
	if (!status)
		status = cmd_coro_report_print(args, r, show);
	coro_names_free(show->names);
	return status;
}

static int from_file(const struct cli_args *args, struct coro_report *r,
		     struct coro_report_show *show)
{
	struct coro_source source;
	int status = coro_open(&source, show->path);

	if (status)
		return status;
	show->path = source.path;
	show->kind = source.is_live ? "shared file in use" : "left-over shared file";
	show->names = source.names;
	status = cmd_coro_report_load_names(args, source.names, source.path);
	if (!status)
		status = cmd_coro_report_read_file(r, &source);
	if (!status)
		status = cmd_coro_report_print(args, r, show);
	coro_source_close(&source);
	return status;
}

/* A trace has the ids of a context with each event, but not its labels. */
static int cmd_coro_report_is_told(const char *path, const struct coro_report_query *q,
				   enum kind kind)
{
	if (kind != KIND_TRACE || !q->label || (strcmp(path, "-") != 0 && access(path, R_OK)) ||
	    !strcmp(q->label, "trace-id") || !strcmp(q->label, "span-id"))
		return CLI_DONE;
	return cli_error("%s: a trace tells label:trace-id and label:span-id alone; labels are in "
			 "recordings (weft record) and in shared files",
			 path);
}

static int run(const struct cli_args *args)
{
	const char *path = cli_operand(args, 0);
	struct coro_report_query q = {0};
	struct coro_report_show show = {.path = path, .findings = !cli_given(args, "by")};
	struct coro_report *r;
	enum kind kind;
	int status = set_query(args, &q), rc;

	if (status)
		return status;
	show.by = q.by;
	show.top = show.findings ? TOP_OVERVIEW : TOP_TABLE;
	if (cli_given(args, "top"))
		show.top = cli_number(args, "top");
	show.columns = term_is(stdout) ? term_columns(stdout) : 0;
	rc = coro_report_new(&r, &q);
	if (rc)
		return cli_error("%s", strerror(-rc));
	kind = !path || coro_open_is_pid(path) ? KIND_FILE : cmd_coro_report_kind_of(path);
	status = cmd_coro_report_is_told(path, &q, kind);
	if (!status)
		status = kind == KIND_FILE ? from_file(args, r, &show)
					   : from_trace(args, r, &show, kind);
	coro_report_free(r);
	return status;
}

static const char *const keys[] = {"site", "thread", "coroutine", "label:", NULL};

static const struct cli_option options[] = {
	{"by", 'b', CLI_CHOICE, 0, "KEY",
	 .help = "Only tables by this; label:trace-id and label:span-id are the context's ids",
	 .choices = keys},
	{"stuck", 's', CLI_TIME, 0, "TIME",
	 .help = "List those suspended longer than this, not resumed and not woken since"},
	{"long-run", 0, CLI_TIME, 0, "TIME",
	 .help = "Who runs as long without a suspension is not yielding", .fallback = "100ms"},
	{"ping-pong", 0, CLI_COUNT, 0, "N",
	 .help = "Moves back to the thread it came from that are told; 0: none is",
	 .fallback = "4"},
	{"top", 'n', CLI_COUNT, 0, "N", .help = "Show the N heaviest rows; 0 shows all"},
	{"pid", 'p', CLI_COUNT, 0, "PID", .help = "Name addresses by what this process has mapped"},
	{"exe", 0, CLI_FILE, 0, "FILE",
	 .help = "Name addresses by this executable, as it stands in the file"},
	{"json", 0, CLI_FLAG, .help = "Print one JSON object, with all rows"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft coro report trace.jsonl", "runs and waits by site and thread, and what is wrong"},
	{"weft coro report --stuck 5s", "who may have lost a wakeup, in the engine that runs now"},
	{"weft coro report --by label:tenant 1234", "whose coroutines of process 1234 wait"},
	{"weft coro report --json --stuck 1s trace.jsonl | jq '.findings.stuck[].where.name'",
	 "for programs"},
	{NULL, NULL},
};

const struct cli_command cmd_coro_report = {
	.name = "coro report",
	.summary = "Show how coroutines ran and waited, and which are stuck",
	.operands = "[FILE|PID]",
	.operands_max = 1,
	.description = "Reads a trace of weft coro run (or of another cTP engine), a recording of "
		       "weft record, or the shared file of an engine, in use or left over; without "
		       "FILE, that of the engine that runs.\n"
		       "\n"
		       "Tables: how many runs and waits there were, their sum, median, 90th and "
		       "99th percentile and longest, by the place where they suspended, by thread, "
		       "by label or by coroutine. A time that may contain lost events is left out. "
		       "A shared file has the last eight events of each coroutine; its totals are "
		       "complete, within a factor of two.\n"
		       "\n"
		       "Told besides: who was never resumed; who ran longer than --long-run; who "
		       "went back and forth between threads; whether the number of live coroutines "
		       "grew; and with --stuck who may have lost a wakeup, with what is known of "
		       "each and how sure that is.",
	.options = options,
	.examples = examples,
	.run = run,
};
