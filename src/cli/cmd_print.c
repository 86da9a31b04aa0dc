/* SPDX-License-Identifier: Apache-2.0 */
/* weft print: the events of recordings, in the shape of the JDK's `jfr print`. */
#include "cli/frame/cli.h"

#include "base/output.h"
#include "base/text/nearest.h"
#include "cli/frame/leave.h"
#include "cli/frame/recording_args.h"
#include "print/form.h"
#include "print/print.h"
#include "report/show/layout.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define FOLLOW_NS 200000000L /* between two looks at a file that does not grow */

static volatile sig_atomic_t is_stopped;

/* Following ends as if the file had ended, so that JSON is closed. */
static void cmd_print_stop(int signo)
{
	(void)signo;
	is_stopped = 1;
}

/* ---------------------------------------------------------------- one recording */

static int cmd_print_step(struct printer *p, struct weft_jfr_reader *r)
{
	const struct timespec nap = {.tv_nsec = FOLLOW_NS};
	int rc;

	while ((rc = printer_step(p)) == -EAGAIN) {
		nanosleep(&nap, NULL);
		if (is_stopped)
			weft_jfr_follow_ends(r);
	}
	return rc;
}

static int cmd_print_verdict(struct printer *p, const char *path, int rc)
{
	struct print_totals totals;

	printer_totals(p, &totals);
	if (!rc || totals.output_rc)
		return CLI_DONE; /* the output's error is told once, in the end */
	/* when following was stopped, the writer is in the middle of a chunk */
	if (rc == -EBADMSG && is_stopped)
		return CLI_DONE;
	if (*printer_error(p))
		return cli_error("%s: %s; shown is what is whole", path, printer_error(p));
	return cli_error("%s: %s", path, strerror(-rc));
}

static void cmd_print_offer(const char *name, void *arg)
{
	struct nearest *search = arg;
	const char *dot = strrchr(name, '.');
	const char *before = search->best;

	if (dot && !strchr(search->typed, '.'))
		nearest_offer(search, dot + 1);
	else
		nearest_offer(search, name);
	if (search->best != before)
		search->best = name;
}

/* With a typing error in a glob it would look as if nothing had happened. */
static void cmd_print_warn_of_globs(struct printer *p, const struct print_select *select)
{
	char clean[LAYOUT_TEXT], other[LAYOUT_TEXT];

	for (size_t i = 0; i < select->count; i++) {
		const struct select_glob *g = &select->globs[i];
		struct nearest search = {g->text, NULL, 0};

		if (g->hits)
			continue;
		if (!g->is_category)
			printer_types(p, cmd_print_offer, &search);
		cli_warning("no event type %s '%s'%s%s", g->is_category ? "of a category" : "named",
			    layout_clean(clean, g->text), search.best ? "; is it " : "",
			    search.best ? layout_clean(other, search.best) : "");
	}
}

static struct weft_jfr_reader *open_again(const void *path)
{
	return weft_jfr_open(path);
}

static int print_one(const struct cli_args *args, struct printer *p, const char *path,
		     const struct print_select *select, int is_last)
{
	int follow = cli_flag(args, "follow");
	struct weft_jfr_reader *r = follow ? weft_jfr_open_follow(path) : weft_jfr_open(path);
	int rc, status;

	if (!r)
		return recording_refuse(args, path, -errno);
	rc = printer_open(p, r, follow ? NULL : open_again, path);
	if (!rc)
		rc = cmd_print_step(p, r);
	status = cmd_print_verdict(p, path, rc);
	if (is_last)
		cmd_print_warn_of_globs(p, select);
	printer_close(p);
	weft_jfr_reader_free(r);
	return status;
}

/* ---------------------------------------------------------------- all of them */

static int is_found(const struct print_select *select)
{
	int found = !select->count;

	for (size_t i = 0; i < select->count; i++)
		found |= select->globs[i].hits != 0;
	return found;
}

static int cmd_print_all(const struct cli_args *args, struct printer *p,
			 const struct print_select *select)
{
	int count = cli_operand_count(args), status = CLI_DONE;
	struct print_totals totals;

	for (int i = 0; i < count; i++) {
		int one = print_one(args, p, cli_operand(args, i), select, i + 1 == count);

		status = one ? one : status;
	}
	printer_end(p);
	printer_totals(p, &totals);
	if (totals.cut)
		status = cli_error("%llu events are larger than is shown: the rest of each is null",
				   (unsigned long long)totals.cut);
	if (totals.contexts_left_out)
		cli_warning("%llu contexts that reach beyond their chunk are not shown there",
			    (unsigned long long)totals.contexts_left_out);
	if (!status && !totals.output_rc && !is_found(select))
		status = cli_error("nothing is selected");
	return status;
}

/* Whoever closed the pipe knows that nobody reads on: no message. */
static int tell_output(const char *path, int rc)
{
	if (rc == -EPIPE)
		return CLI_FAILED;
	return cli_error("%s: %s", output_name(path), output_why(rc));
}

/* Of damaged recordings the output has what is whole in them, and is complete itself. */
static int print_to(const struct cli_args *args, struct print_options *options)
{
	const char *path = cli_text(args, "output");
	struct print_totals totals = {0};
	struct output *out;
	struct printer *p;
	int status, rc = output_open(&out, path);

	if (rc)
		return tell_output(path, rc);
	p = printer_new(options, out);
	if (!p) {
		output_abandon(out);
		return cli_error("%s", strerror(ENOMEM));
	}
	status = cmd_print_all(args, p, options->select);
	printer_totals(p, &totals);
	printer_free(p);
	if (totals.output_rc)
		output_abandon(out);
	rc = totals.output_rc ? totals.output_rc : output_commit(out);
	return rc ? tell_output(path, rc) : status;
}

static int cmd_print_check(const struct cli_args *args)
{
	const char *to = cli_text(args, "output");

	if (cli_flag(args, "json") && cli_flag(args, "xml"))
		return cli_usage("--json or --xml, not both");
	if (cli_flag(args, "follow") && cli_operand_count(args) > 1)
		return cli_usage("--follow: of one file");
	if (is_standard_output(to))
		return CLI_DONE;
	if (cli_flag(args, "follow"))
		return cli_usage("--follow goes to standard output: redirect it");
	for (int i = 0; i < cli_operand_count(args); i++)
		if (would_overwrite(cli_operand(args, i), to))
			return cli_usage("%s: is the recording itself: name another file", to);
	return CLI_DONE;
}

static int run(const struct cli_args *args)
{
	struct print_select select = {0};
	struct print_options options = {
		.form = &form_text,
		.stack_depth = cli_number(args, "stack-depth"),
		.with_context = cli_flag(args, "context"),
		.select = &select,
	};
	int status = cmd_print_check(args);

	if (cli_flag(args, "json"))
		options.form = &form_json;
	else if (cli_flag(args, "xml"))
		options.form = &form_xml;
	if (!status)
		status = select_args_read(args, &select);
	if (!status && cli_flag(args, "follow"))
		leave_by(cmd_print_stop);
	else
		leave_no_half_files();
	if (!status)
		status = print_to(args, &options);
	select_free(&select);
	return status;
}

static const struct cli_option options[] = {
	{"events", 'e', CLI_TEXT, CLI_LIST, "GLOB,...",
	 .help = "Only events of these types: 'jdk.*', ExecutionSample, '*Sample'"},
	{"categories", 'c', CLI_TEXT, CLI_LIST, "GLOB,...",
	 .help = "Only events of types in these categories, or named by --events: GC, 'Java*', JVM "
		 "(first letters)"},
	{"json", 0, CLI_FLAG, .help = "Print JSON, as `jfr print --json` does"},
	{"xml", 0, CLI_FLAG, .help = "Print XML, as `jfr print --xml` does"},
	{"stack-depth", 'd', CLI_COUNT, 0, "N", .help = "Show the N innermost frames of stacks",
	 .fallback = "5"},
	{"context", 0, CLI_FLAG,
	 .help = "With each event, the contextual events that its thread had open at its end"},
	{"follow", 'f', CLI_FLAG,
	 .help = "Go on as the file grows, until the recording is over or this is interrupted"},
	{"output", 'o', CLI_FILE, 0, "FILE",
	 .help = "Write this file, whole or not at all; - or none: standard output"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft print --events ExecutionSample --context weft.jfr | less",
	 "samples, and the spans that they fell into"},
	{"weft print --json --events 'weft.*' weft.jfr | jq '.recording.events[].values'",
	 "for a program"},
	{"weft print --follow --events LockWait weft.jfr", "while it is being recorded"},
	{NULL, NULL},
};

const struct cli_command cmd_print = {
	.name = "print",
	.summary = "Print the events of recordings, weft's or a JVM's",
	.operands = "FILE...",
	.operands_min = 1,
	.operands_max = -1,
	.description = "Takes any JFR file, and prints what `jfr print` of JDK 17 does, in its "
		       "three forms: text, JSON, XML. Events come chunk by chunk, in the order of "
		       "their ends. Globs are of names as a whole or without their package; * and "
		       "? stand for anything, upper and lower case are different.\n"
		       "\n"
		       "Exits 1 when a file is damaged (what is whole is printed), or nothing is "
		       "selected.",
	.options = options,
	.examples = examples,
	.run = run,
};
