/* SPDX-License-Identifier: Apache-2.0 */
/* weft coro report: what a trace, a recording or a shared file says of its coroutines. */
#include "cli/coro/coro_recording.h"
#include "cli/coro/coro_report.h"
#include "cli/coro/coro_source.h"
#include "cli/frame/cli.h"
#include "cli/frame/term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOP_OVERVIEW 10
#define TOP_TABLE 40

/* ---- what is asked */

static int set_by(const struct cli_args *args, struct coro_report_query *q)
{
	const char *by = cli_text(args, "by");

	if (!by)
		q->by = 1u << CORO_BY_SITE | 1u << CORO_BY_THREAD;
	else if (!strncmp(by, "label:", 6))
		q->by = 1u << CORO_BY_LABEL;
	else
		q->by = !strcmp(by, "site")     ? 1u << CORO_BY_SITE
			: !strcmp(by, "thread") ? 1u << CORO_BY_THREAD
						: 1u << CORO_BY_COROUTINE;
	if (q->by == 1u << CORO_BY_LABEL)
		q->label = by + 6;
	return q->label && !*q->label ? cli_usage("--by label:KEY wants a key") : CLI_DONE;
}

static int set_query(const struct cli_args *args, struct coro_report_query *q)
{
	q->long_run_ns = cli_number(args, "long-run");
	q->stuck_ns = cli_number(args, "stuck");
	q->ping_pong_min = cli_number(args, "ping-pong");
	if (cli_given(args, "stuck") && !q->stuck_ns)
		return cli_usage("--stuck wants a time above 0");
	return set_by(args, q);
}

/* ---- where from */

enum kind { KIND_TRACE, KIND_RECORDING, KIND_FILE };

static enum kind cmd_coro_report_kind_of(const char *path)
{
	char head[8] = "";
	int fd = strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	ssize_t bytes = fd >= 0 ? read(fd, head, sizeof(head)) : 0;
	uint64_t magic = WEFT_CTP_MAGIC;

	if (fd >= 0)
		close(fd);
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
	int rc = coro_snapshot(&source->shm, each_state, r);

	if (rc == 0)
		rc = coro_report_end(r, now);
	return rc ? cli_error("%s: %s", source->path, strerror(-rc)) : CLI_DONE;
}

/* ---- names */

/* What was noted beside a trace, unless another is named. */
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

/* A file's own processes, while they live. */
static void names_of_processes(struct coro_report *r, struct coro_source *source)
{
	char text[CORO_NAME_BYTES];

	for (const struct coro_about *a = r->abouts; a; a = a->next)
		(void)coro_source_name(source, a->pid, 0, text);
}

/* ---- printing */

static int cmd_coro_report_print(const struct cli_args *args, struct coro_report *r,
				 struct coro_report_show *show)
{
	int rc = 0;

	show->by = r->query.by & ~(1u << CORO_BY_ALL);
	if (cli_given(args, "by"))
		show->by = show->by & (r->query.label ? 1u << CORO_BY_LABEL : ~0u);
	if (cli_given(args, "by") && strcmp(cli_text(args, "by"), "site") != 0)
		show->by &= ~(1u << CORO_BY_SITE);
	show->findings = !cli_given(args, "by");
	show->top = cli_given(args, "top")  ? cli_number(args, "top")
		    : cli_given(args, "by") ? TOP_TABLE
					    : TOP_OVERVIEW;
	show->columns = term_is(stdout) ? term_columns(stdout) : 0;
	errno = 0;
	if (cli_flag(args, "json")) {
		rc = coro_report_json(r, show);
	} else {
		coro_report_text(r, show, stdout);
		if (fflush(stdout) || ferror(stdout))
			rc = errno ? -errno : -EIO;
	}
	return cli_written(rc);
}

static int from_trace(const struct cli_args *args, struct coro_report *r, const char *path,
		      enum kind kind)
{
	struct coro_report_show show = {.path = path,
					.kind = kind == KIND_TRACE ? "trace" : "recording",
					.names = coro_names_new()};
	int status = show.names ? CLI_DONE : cli_error("%s", strerror(ENOMEM));

	if (!status)
		status = cmd_coro_report_load_names(args, show.names, path);
	if (!status)
		status = kind == KIND_TRACE ? read_trace(r, path)
					    : read_recording(r, path, show.names);
	if (!status && !r->events)
		status = cli_error("%s: no events%s", path,
				   kind == KIND_TRACE ? "" : " of coroutines");
	if (!status)
		status = cmd_coro_report_print(args, r, &show);
	coro_names_free(show.names);
	return status;
}

static int from_file(const struct cli_args *args, struct coro_report *r, const char *text)
{
	struct coro_source source;
	struct coro_report_show show;
	int status = coro_source_open(&source, text);

	if (status)
		return status;
	show = (struct coro_report_show){.path = source.path,
					 .kind = source.is_live ? "shared file in use"
								: "left-over shared file",
					 .names = source.names};
	status = cmd_coro_report_load_names(args, source.names, source.path);
	if (!status)
		status = cmd_coro_report_read_file(r, &source);
	if (!status)
		names_of_processes(r, &source);
	if (!status)
		status = cmd_coro_report_print(args, r, &show);
	coro_source_close(&source);
	return status;
}

/* Ids go along with events; labels do not. */
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
	struct coro_report *r = NULL;
	enum kind kind;
	int status = set_query(args, &q), rc;

	if (status)
		return status;
	rc = coro_report_new(&r, &q);
	if (rc)
		return cli_error("%s", strerror(-rc));
	kind = !path || coro_source_is_pid(path) ? KIND_FILE : cmd_coro_report_kind_of(path);
	status = cmd_coro_report_is_told(path, &q, kind);
	if (!status)
		status = kind == KIND_FILE ? from_file(args, r, path)
					   : from_trace(args, r, path, kind);
	coro_report_free(r);
	return status;
}

static const char *const keys[] = {"site", "thread", "coroutine", "label:", NULL};

static const struct cli_option options[] = {
	{.name = "by",
	 .letter = 'b',
	 .kind = CLI_CHOICE,
	 .choices = keys,
	 .argument = "KEY",
	 .help = "Only tables by this; label:trace-id and label:span-id are the context's ids"},
	{.name = "stuck",
	 .letter = 's',
	 .kind = CLI_TIME,
	 .argument = "TIME",
	 .help = "List those suspended longer than this, not resumed and not woken since"},
	{.name = "long-run",
	 .kind = CLI_TIME,
	 .argument = "TIME",
	 .fallback = "100ms",
	 .help = "Who runs as long without a suspension is not yielding"},
	{.name = "ping-pong",
	 .kind = CLI_COUNT,
	 .argument = "N",
	 .fallback = "4",
	 .help = "Moves back to the thread it came from that are told; 0: none is"},
	{.name = "top",
	 .letter = 'n',
	 .kind = CLI_COUNT,
	 .argument = "N",
	 .help = "Show the N heaviest rows; 0 shows all"},
	{.name = "pid",
	 .letter = 'p',
	 .kind = CLI_COUNT,
	 .argument = "PID",
	 .help = "Name addresses by what this process has mapped"},
	{.name = "exe",
	 .kind = CLI_FILE,
	 .argument = "FILE",
	 .help = "Name addresses by this executable, as it stands in the file"},
	{.name = "json", .kind = CLI_FLAG, .help = "Print one JSON object, with all rows"},
	{.name = NULL},
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
	.description =
		"Reads a trace of weft coro run (or of another cTP engine), a recording of weft "
		"record, or the shared file of an engine, in use or left over; without FILE, that "
		"of the engine that runs.\n"
		"\n"
		"Tables: how many runs and waits there were, their sum, median, 90th and 99th "
		"percentile and longest, by the place where they suspended, by thread, by label or "
		"by coroutine. A time that may contain lost events is left out. A shared file has "
		"the last eight events of each coroutine; its totals are complete, within a factor "
		"of two.\n"
		"\n"
		"Told besides: who was never resumed; who ran longer than --long-run; who went "
		"back and forth between threads; whether the number of live coroutines grew; and "
		"with --stuck who may have lost a wakeup, with what is known of each and how sure "
		"that is.",
	.options = options,
	.examples = examples,
	.run = run,
};
