/* SPDX-License-Identifier: Apache-2.0 */
/* weft coro top: coroutines, live. */
#include "cli/coro/coro_json.h"
#include "cli/coro/coro_open.h"
#include "cli/coro/coro_top_text.h"
#include "cli/frame/cli.h"
#include "cli/frame/term.h"
#include "report/show/layout.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void sleep_for(uint64_t ns)
{
	struct timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

/* ---- once, for people */

static void cmd_coro_top_print_line(const char *text, int columns)
{
	layout_name(stdout, text, columns);
	putchar('\n');
}

static void print_once(struct top *t, uint64_t most)
{
	int columns = term_is(stdout) ? term_columns(stdout) : 0;
	char line[TOP_LINE];

	cmd_coro_top_print_line(top_title(t, line), columns);
	cmd_coro_top_print_line(top_sums(t, line), columns);
	cmd_coro_top_print_line(top_warnings(t, line), columns);
	cmd_coro_top_print_line(top_heads(line), columns);
	for (size_t i = 0; i < t->count && (!most || i < most); i++)
		cmd_coro_top_print_line(top_line(t, &t->rows[i], line), columns);
}

/* ---- once, for programs */

static void cmd_coro_top_put_row(struct json_writer *w, struct top *t, const struct top_row *row)
{
	static const char *const names[TOP_LINTS] = {"stuck", "not_yielding", "starved",
						     "never_resumed"};
	char name[CORO_NAME_BYTES];

	json_write_object(w, NULL);
	coro_json_number(w, "probe_id", row->probe_id);
	json_write_text(w, "state", coro_state_text(row->state));
	coro_json_number(w, "for_ns", row->for_ns);
	coro_json_number(w, "pid", row->pid);
	coro_json_number(w, "tid", row->tid);
	coro_json_number(w, "switches_per_s", top_per_second(t, row->switches));
	coro_json_number(w, "run_ns", row->run_ns);
	coro_json_number(w, "wait_ns", row->wait_ns);
	json_write_text(
		w, "where",
		coro_source_name(&t->source, row->pid, row->addr ? row->addr : row->site, name));
	json_write_array(w, "lints");
	for (unsigned int i = 0; i < TOP_LINTS; i++)
		if (row->lints >> i & 1)
			json_write_text(w, NULL, names[i]);
	json_write_array_end(w);
	json_write_object_end(w);
}

static int cmd_coro_top_print_json(struct top *t, uint64_t most)
{
	struct coro_json j;
	struct json_writer *w = &j.w;
	int rc = coro_json_open(&j, &json_shape_lines);

	if (rc)
		return cli_written(rc);
	json_write_text(w, "source", t->source.path);
	coro_json_number(w, "period_ns", t->period_ns);
	coro_json_number(w, "live", top_live(t));
	coro_json_number(w, "running", t->counts[WEFT_CTP_RUNNING]);
	coro_json_number(w, "suspended", t->counts[WEFT_CTP_SUSPENDED]);
	coro_json_number(w, "ready", t->counts[WEFT_CTP_READY]);
	coro_json_number(w, "created", t->counts[WEFT_CTP_CREATED]);
	coro_json_number(w, "switches_per_s", top_per_second(t, t->switches));
	coro_json_number(w, "refused", t->refused);
	json_write_bool(w, "is_growing", top_is_growing(t));
	json_write_array(w, "coroutines");
	for (size_t i = 0; i < t->count && (!most || i < most); i++)
		cmd_coro_top_put_row(w, t, &t->rows[i]);
	json_write_array_end(w);
	return cli_written(coro_json_close(&j));
}

static int once(const struct cli_args *args, struct top *t, uint64_t refresh_ns)
{
	uint64_t most = cli_number(args, "top");
	int rc = top_look(t);

	/* The second look tells what they did in between; in a left-over file nothing happens. */
	if (rc == 0 && t->source.is_live) {
		sleep_for(refresh_ns);
		rc = top_look(t);
	}
	if (rc)
		return cli_error("%s: %s", t->source.path, strerror(-rc));
	if (cli_flag(args, "json"))
		return cmd_coro_top_print_json(t, most);
	errno = 0;
	print_once(t, most);
	return cli_flushed();
}

static int run(const struct cli_args *args)
{
	struct top t = {.stuck_ns = cli_number(args, "stuck"),
			.long_ns = cli_number(args, "long-run"),
			.sort = top_sort_of(cli_text(args, "sort")),
			.only_lints = cli_flag(args, "lints"),
			.has_text = top_has_text};
	int is_once = cli_flag(args, "once") || cli_flag(args, "json");
	int status;

	if (cli_text(args, "filter") &&
	    (size_t)snprintf(t.filter, sizeof(t.filter), "%s", cli_text(args, "filter")) >=
		    sizeof(t.filter))
		return cli_usage("--filter: at most %zu bytes", sizeof(t.filter) - 1);
	if (!is_once && !(term_has_cursor(stdout) && isatty(STDIN_FILENO)))
		return cli_error("no terminal to show it on; --once or --json print");
	status = coro_open(&t.source, cli_operand(args, 0));
	if (status)
		return status;
	status = is_once ? once(args, &t, cli_number(args, "interval"))
			 : top_screen(&t, cli_number(args, "interval"));
	top_free(&t);
	return status;
}

static const struct cli_option options[] = {
	{"sort", 's', CLI_CHOICE, 0, "KEY",
	 .help = "Most first: time in this state, time run or waited since the last look, "
		 "switches; or by id",
	 .fallback = "for", .choices = top_sorts},
	{"filter", 'f', CLI_TEXT, 0, "TEXT", .help = "Only lines that have this text in them"},
	{"lints", 'l', CLI_FLAG, .help = "Only coroutines that are odd"},
	{"stuck", 0, CLI_TIME, 0, "TIME",
	 .help = "Suspended as long and not woken is stuck (S); created as long, never resumed (N)",
	 .fallback = "10s"},
	{"long-run", 0, CLI_TIME, 0, "TIME",
	 .help = "Running as long is not yielding (Y); woken as long ago, but not resumed (W)",
	 .fallback = "100ms"},
	{"interval", 'i', CLI_TIME, 0, "TIME", .help = "From one look to the next",
	 .fallback = "1s"},
	{"once", 0, CLI_FLAG, .help = "Look twice, print, and end"},
	{"json", 0, CLI_FLAG, .help = "As --once, as one JSON object"},
	{"top", 'n', CLI_COUNT, 0, "N", .help = "With --once: so many coroutines; 0 or none: all"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft coro top", "the engine that runs now"},
	{"weft coro top --sort run --filter worker 1234", "what burns the CPU in process 1234"},
	{"weft coro top --once --lints --stuck 5s", "what is odd, for a log"},
	{NULL, NULL},
};

const struct cli_command cmd_coro_top = {
	.name = "coro top",
	.summary = "Watch coroutines live: who runs, who waits, what is odd",
	.operands = "[SHM|PID]",
	.operands_max = 1,
	.description =
		"Shows the coroutines of an engine's shared file, most first, and looks again "
		"every --interval. It reads only; losses of the trace do not touch it.\n"
		"\n"
		"Keys: q ends; s sorts by the next key; / takes a text that lines must have; l "
		"shows only what is odd; space stops and goes on; + and - change the interval; "
		"arrows and pages scroll.\n"
		"\n"
		"SW/S are resumes a second, RUN% the share of the time it ran, LINT what is odd: S "
		"stuck (a wakeup may be lost), Y not yielding, W woken and not resumed, N never "
		"resumed. GROWING: more live coroutines at each of the last ten looks.",
	.options = options,
	.examples = examples,
	.run = run,
};
