/* SPDX-License-Identifier: Apache-2.0 */
/* weft coro export: a coroutine trace in another program's format. */
#include "cli/frame/cli.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/output.h"
#include "cli/coro/coro_format.h"
#include "cli/frame/leave.h"
#include "cli/frame/term.h"
#include "coro/engine/harvest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct job {
	struct export_job out;
	const char *input;
	char *made;             /* the output's name, where it was not given */
	struct coro_input *in;  /* JSON lines; NULL: a shared file */
	struct coro_shm shm;    /* the shared file, while it is read */
	struct coro_batch left; /* its events, by time */
	struct coro_books books;
};

static int sink_error(const struct job *job, int rc)
{
	return cli_error("%s: %s", output_name(job->out.sink.path),
			 *job->out.why ? job->out.why : output_why(rc));
}

/* INPUT with the extension of the format instead of its own. */
static int cmd_coro_export_make_name(struct job *job)
{
	const char *slash = strrchr(job->input, '/'), *dot = strrchr(job->input, '.');
	size_t bytes = strlen(job->input);

	if (dot && dot > (slash ? slash + 1 : job->input))
		bytes = (size_t)(dot - job->input);
	if (asprintf(&job->made, "%.*s.%s", (int)bytes, job->input, job->out.format->extension) <
	    0) {
		job->made = NULL;
		return cli_error("%s", strerror(ENOMEM));
	}
	job->out.sink.path = job->made;
	return CLI_DONE;
}

/* A file that is there is replaced when it was named, not when its name was made here. */
static int cmd_coro_export_read_place(const struct cli_args *args, struct job *job)
{
	struct coro_sink *o = &job->out.sink;

	o->path = cli_text(args, "output");
	o->replace |= o->path != NULL;
	if (!o->path && strcmp(job->input, "-") != 0) {
		int status = cmd_coro_export_make_name(job);

		if (status)
			return status;
	}
	if (!is_standard_output(o->path) && would_overwrite(job->input, o->path))
		return cli_usage("%s: is the trace itself: name another file", o->path);
	if (is_standard_output(o->path) && term_is(stdout) &&
	    job->out.format->flags & EXPORT_BINARY)
		return cli_usage("%s is binary: give -o FILE, or redirect it",
				 job->out.format->name);
	return CLI_DONE;
}

static int cmd_coro_export_read_options(const struct cli_args *args, struct job *job)
{
	struct coro_sink *o = &job->out.sink;
	int status = coro_format_read(args, NULL, &job->out);

	if (status)
		return status;
	if (cli_number(args, "longest") > 65536)
		return cli_usage("--longest: at most 65536");
	job->out.longest = (uint32_t)cli_number(args, "longest");
	o->extended = cli_flag(args, "extended");
	if (cli_flag(args, "this-boot")) {
		o->mono_ns = clock_mono_ns();
		o->real_ns = clock_ns(CLOCK_REALTIME);
		o->boot_ns = clock_ns(CLOCK_BOOTTIME);
	}
	return cmd_coro_export_read_place(args, job);
}

/* ---- a shared file, left over or in use: the last eight events of each station */

/* The clocks of its engine, which were read together; 0 = not known. */
static int read_clocks(void *arg)
{
	struct job *job = arg;
	const struct weft_ctp_header *h = job->shm.header;
	struct coro_sink *o = &job->out.sink;
	uint64_t mono_ns = load_relaxed(&h->mono_ns);

	if (mono_ns) {
		o->mono_ns = mono_ns;
		o->real_ns = load_relaxed(&h->real_ns);
		o->boot_ns = load_relaxed(&h->boot_ns);
	}
	return 0;
}

/* A coroutine's times never go back, so its events stay in order. */
static int left_by_time(const void *left, const void *right)
{
	const struct coro_event *a = left, *b = right;

	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	if (a->station != b->station)
		return a->station < b->station ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

static int take_left(struct job *job)
{
	struct coro_harvest *harvest;
	int rc = coro_harvest_new(&harvest, &job->shm);
	int64_t taken;

	if (rc)
		return rc;
	taken = coro_harvest_take(harvest, CORO_SWEEP_ALL, &job->left);
	rc = taken < 0 ? (int)taken : coro_harvest_books(harvest, &job->books);
	coro_harvest_free(harvest);
	if (!rc && job->left.count)
		qsort(job->left.events, job->left.count, sizeof(*job->left.events), left_by_time);
	return rc;
}

/* 0; -EBADMSG: it is no such file; -errno. Nothing is written to it. */
static int read_left(struct job *job)
{
	int rc = coro_shm_open(&job->shm, job->input, 0);

	if (rc)
		return rc;
	rc = take_left(job);
	if (!rc && job->shm.is_extended)
		rc = coro_shm_guard(&job->shm, read_clocks, job);
	coro_shm_close(&job->shm);
	return rc;
}

/* ---- copying */

/* Opens a shared file, or what is none as JSON lines. */
static int open_input(struct job *job)
{
	int rc = strcmp(job->input, "-") == 0 ? -EBADMSG : read_left(job);

	if (rc == -EBADMSG)
		rc = coro_input_open(&job->in, job->input);
	return rc ? cli_error("%s: %s", job->input, strerror(-rc)) : CLI_DONE;
}

static int cmd_coro_export_open_sink(struct job *job)
{
	struct coro_sink *sink = &job->out.sink;
	int rc = sink->ops->open(sink);

	if (rc == -EEXIST)
		return cli_error("%s: is there already: give -o or --replace to have it replaced",
				 output_name(job->out.sink.path));
	return rc ? sink_error(job, rc) : CLI_DONE;
}

static int copy_shared(struct job *job)
{
	struct coro_sink *sink = &job->out.sink;
	int rc = 0;

	for (size_t i = 0; !rc && i < job->left.count; i++)
		rc = sink->ops->put(sink, &job->left.events[i]);
	return rc ? sink_error(job, rc) : CLI_DONE;
}

/* Copies all events. *damage is 1 when the trace ends in something that is no event. */
static int cmd_coro_export_copy(struct job *job, int *damage)
{
	struct coro_sink *sink = &job->out.sink;
	struct coro_event event;
	int rc;

	while ((rc = coro_input_next(job->in, &event)) > 0) {
		rc = sink->ops->put(sink, &event);
		if (rc)
			return sink_error(job, rc);
		job->books.harvested++;
		job->books.written++;
	}
	*damage = rc < 0;
	if (rc == -EBADMSG)
		return cli_error("%s:%llu: %s%s", job->input,
				 (unsigned long long)coro_input_line(job->in),
				 coro_input_why(job->in),
				 job->out.format->flags & EXPORT_FOR_SERVER
					 ? ""
					 : "; exported is what lies before it");
	return rc ? cli_error("%s: %s", job->input, strerror(-rc)) : CLI_DONE;
}

/* A file of what is whole is better than none; a server gets all of a trace or nothing. */
static int export_all(struct job *job)
{
	struct coro_sink *sink = &job->out.sink;
	int damage = 0, status, rc;

	status = job->in ? cmd_coro_export_copy(job, &damage) : copy_shared(job);
	if (status && (!damage || job->out.format->flags & EXPORT_FOR_SERVER))
		return status;
	rc = sink->ops->finish(sink, &job->books);
	if (rc == -EEXIST && output_kept())
		return cli_error("%s: came to be meanwhile: it stays; what was written is %s",
				 output_name(job->out.sink.path), output_kept());
	return rc ? sink_error(job, rc) : status;
}

static int run(const struct cli_args *args)
{
	struct job job = {.input = cli_operand(args, 0)};
	int status = cmd_coro_export_read_options(args, &job);

	leave_no_half_files();
	if (!status)
		status = open_input(&job);
	if (!status) {
		status = cmd_coro_export_open_sink(&job);
		if (!status)
			status = export_all(&job);
		job.out.sink.ops->close(&job.out.sink);
	}
	coro_input_close(job.in);
	coro_batch_free(&job.left);
	free(job.made);
	return status;
}

static const struct cli_option options[] = {
	{"to", 't', CLI_CHOICE, CLI_MORE, "FORMAT",
	 .help = "The format to write; else by the extension of OUT", .choices = coro_format_names},
	{"output", 'o', CLI_FILE, 0, "OUT",
	 .help = "Write this file, whole or not at all, also in the place of another; - is "
		 "standard output; without it INPUT with the format's extension, if there is no "
		 "such file"},
	{"replace", 0, CLI_FLAG,
	 .help = "What is there already goes: the file, or (sql) the table's rows, too"},
	{"extended", 0, CLI_FLAG, .help = "Also what is known beyond the six fields (jsonl, csv)"},
	{"longest", 0, CLI_COUNT, 0, "N",
	 .help = "How many of the longest waits are shown (chrome, perfetto)", .fallback = "32"},
	{"this-boot", 0, CLI_FLAG,
	 .help = "The trace was made on this machine since it was started: say what time its times "
		 "are, so that it lines up with other traces (perfetto)"},
	CORO_OPTION_TABLE,
	{0},
};

static const struct cli_example examples[] = {
	{"weft coro export --to perfetto trace.jsonl",
	 "writes trace.pftrace, to be opened in ui.perfetto.dev"},
	{"weft coro export trace.jsonl -o trace.sqlite && sqlite3 trace.sqlite", "ask it in SQL"},
	{"weft coro export --to sql --table run_7 -o - trace.jsonl | psql -h db traces",
	 "into PostgreSQL; mariadb loads the same text"},
	{NULL, NULL},
};

const struct cli_command cmd_coro_export = {
	.name = "coro export",
	.summary = "Write a coroutine trace in another program's format",
	.operands = "INPUT",
	.operands_min = 1,
	.operands_max = 1,
	.description = "INPUT is a trace of JSON lines (- is standard input), or a shared file of "
		       "stations, left over or in use, of which the last eight events of each are "
		       "there. Formats:\n"
#define HELP(NAME, KIND, FLAGS, EXTENSION, HELP) EXPORT_IF_TRACES(KIND, "  " #NAME ": " HELP "\n")
	EXPORT_FORMATS(HELP)
#undef HELP
		"\n"
		"Exits 1 when the trace is damaged (the file then holds what lies before; SQL is "
		"not written), or when the output could not be written.",
	.options = options,
	.examples = examples,
	.run = run,
};
