/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft coro run: the engine of cTP around a program. The program's life is its own; the engine's
 * failures are told at the end, and never end it.
 */
#include "base/output.h"
#include "cli/coro/coro_format.h"
#include "cli/coro/coro_target.h"
#include "cli/frame/cli.h"
#include "cli/frame/leave.h"
#include "collector/run/program.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct cli_option options[] = {
	{"stations", 'n', CLI_COUNT, 0, "STATIONS", .help = "Room for so many coroutines at once",
	 .fallback = "1024"},
	{"output", 'o', CLI_FILE, 0, "FILE",
	 .help = "Write the trace to FILE; - is standard output; else coro with the format's "
		 "extension"},
	{"to", 0, CLI_CHOICE, CLI_MORE, "FORMAT",
	 .help = "Format of the trace; else by FILE's extension", .choices = coro_format_names},
	{"replace", 0, CLI_FLAG, .help = "Replace a FILE that is there"},
	{"extended", 0, CLI_FLAG,
	 .help = "Tell more of each event: pid, station, birth, death, context, payload"},
	{"shm", 0, CLI_FILE, 0, "PATH",
	 .help = "The shared file, instead of one in a private directory"},
	{"sock", 0, CLI_FILE, 0, "PATH", .help = "The engine's socket, likewise"},
	{"idle-scans", 0, CLI_COUNT, 0, "N", .help = "Sleep after N scans without an event",
	 .fallback = "8"},
	{"attach", 0, CLI_FILE, 0, "SHM",
	 .help = "Take over the shared file of an engine that is gone, instead of running CMD"},
	{"keep", 0, CLI_FLAG, .help = "Leave the shared file where it is at the end"},
	{"fail-on-loss", 0, CLI_FLAG, .help = "Exit with 1 when an event or a coroutine was lost"},
	{"stats", 0, CLI_FILE, 0, "FILE", .help = "Write the statistics to FILE, as JSON"},
	{"json", 0, CLI_FLAG, .help = "Print the statistics on standard error as JSON"},
	CORO_OPTION_TABLE,
	{0},
};

static const struct cli_example examples[] = {
	{"weft coro run -- ./server", "Trace a program's coroutines into coro.jsonl"},
	{"weft coro run -n 100000 -o trace.jsonl --extended -- ./server --port 80",
	 "Up to 100000 coroutines at once, and all that is known of them"},
	{"weft coro run --attach /run/user/1000/weft-coro-x/stations -o trace.jsonl",
	 "Go on where an engine was killed"},
	{NULL, NULL},
};

/* ---- what was asked for */

static int read_stations(const struct cli_args *args, struct coro_engine_options *o)
{
	uint64_t n = cli_number(args, "stations");

	if (n == 0 || n > UINT32_MAX)
		return cli_usage("-n: '%s' is not between 1 and %u", cli_text(args, "stations"),
				 UINT32_MAX);
	o->stations = (uint32_t)n;
	return 0;
}

/* The trace must exist as long as the process lives (coro/engine/engine.h). */
static struct export_job trace;

static int cmd_coro_run_read_format(const struct cli_args *args)
{
	static char made[64];
	const char *path = cli_text(args, "output");
	int status = coro_format_read(args, "jsonl", &trace);

	if (status)
		return status;
	snprintf(made, sizeof(made), "coro.%s", trace.format->extension);
	trace.sink.path = path ? path : made;
	trace.sink.extended = cli_flag(args, "extended");
	return CLI_DONE;
}

/* FILE.maps, for a trace that weft coro report reads. There is none beside a pipe, a device or a
 * descriptor. */
static char *maps_beside(void)
{
	const char *path = trace.sink.path;
	struct stat st;
	char *beside = NULL;

	if (!(trace.format->flags & EXPORT_READ_AGAIN) || output_is_standard(path) ||
	    output_is_descriptor(path) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
		return NULL;
	return asprintf(&beside, "%s.maps", path) < 0 ? NULL : beside;
}

static int cmd_coro_run_read_options(const struct cli_args *args, struct coro_engine_options *o)
{
	int status = read_stations(args, o);

	if (!status)
		status = cmd_coro_run_read_format(args);
	o->sink = &trace.sink;
	o->shm_path = cli_text(args, "shm");
	o->sock_path = cli_text(args, "sock");
	o->idle_scans = cli_number(args, "idle-scans");
	o->attach = cli_given(args, "attach");
	if (o->attach)
		o->shm_path = cli_text(args, "attach");
	o->keep = cli_flag(args, "keep");
	if (!status && o->attach && cli_operand_count(args))
		return cli_usage("--attach: a file to take over, or a CMD to run: give one");
	if (!status && o->attach && cli_given(args, "shm"))
		return cli_usage("--shm: not with --attach, which names the file");
	if (!status && !o->attach && !cli_operand_count(args))
		return cli_usage("missing operand: coro run [--] CMD [ARG]..., or --attach SHM");
	return status;
}

/* What is to be run, and where coroutines tell of their switches. */
static int cmd_coro_run_spare(const struct cli_args *args, const char *shm, const char *to)
{
	char path[PATH_MAX];

	if (output_is_standard(to))
		return CLI_DONE;
	if (shm && would_take_place(shm, to))
		return cli_usage("%s: is the shared file itself: name another file", to);
	if (!cli_operand_count(args) || program_find(cli_operand(args, 0), path, sizeof(path)))
		return CLI_DONE;
	return refuse_to_overwrite(to, path, cli_operands(args) + 1);
}

/* Neither the trace nor the statistics, which come at the very end, may take the place of that. */
static int refuse_to_harm(const struct cli_args *args, const char *shm)
{
	const char *stats = cli_text(args, "stats");
	int status = cmd_coro_run_spare(args, shm, trace.sink.path);

	if (!status && stats)
		status = cmd_coro_run_spare(args, shm, stats);
	if (!status && stats)
		status = coro_tell_check(stats, trace.sink.path);
	return status;
}

/* ---- running */

static int refuse_open(int rc, const char *what, const char *why)
{
	if (why)
		return cli_error("%s: %s", what, why);
	if (rc == -EEXIST && !strcmp(what, trace.sink.path))
		return cli_error("%s: exists already (--replace takes its place)", what);
	if (!strcmp(what, trace.sink.path))
		return cli_error("%s: %s", what, output_why(rc));
	if (rc == -EEXIST)
		return cli_error("%s: exists already, and is left as it is", what);
	if (rc == -EADDRINUSE)
		return cli_error("%s: something is there already, and is left as it is", what);
	if (rc == -EBUSY)
		return cli_error("%s: an engine has it already", what);
	if (rc == -EBADMSG)
		return cli_error("%s: no cTP file, or of another version", what);
	return coro_tell_refused(what, rc);
}

static int tell_failures(const struct coro_engine_options *o, const struct coro_engine_result *r,
			 int waited)
{
	int status = CLI_DONE;

	if (r->is_cut)
		status = cli_error("the shared file was cut short, or its disk is full; the trace "
				   "ends there");
	else if (waited)
		status = cli_error("the trace ends early: %s", strerror(-waited));
	if (r->rc)
		status = cli_error("%s: %s", trace.sink.path, r->why ? r->why : output_why(r->rc));
	if (r->maps_rc && !r->rc)
		cli_tell("%s: %s; places will have numbers for names", o->maps_path,
			 r->maps_rc == -EEXIST ? "exists already, and is left as it is"
					       : output_why(r->maps_rc));
	return status;
}

static int cmd_coro_run_finish(const struct cli_args *args, const struct coro_engine_options *o,
			       struct coro_target *t, int waited)
{
	struct coro_engine_result r;
	uint32_t stations = coro_engine_stations(t->engine);
	int status;

	coro_engine_finish(t->engine, &r);
	status = tell_failures(o, &r, waited);
	if (cli_flag(args, "json"))
		(void)coro_put_books(stderr, &r.books);
	else
		coro_tell(&r, stations);
	if (o->keep)
		fprintf(stderr, "  the shared file: %s\n", coro_engine_shm_path(t->engine));
	if (cli_given(args, "stats") && coro_tell_json(&r.books, cli_text(args, "stats")))
		status = CLI_FAILED;
	if (!status && cli_flag(args, "fail-on-loss") && (r.books.lost || r.books.refused))
		status = cli_error("--fail-on-loss: %" PRIu64 " events and %" PRIu64
				   " coroutines are not in the trace",
				   r.books.lost, r.books.refused);
	return status ? status : t->status;
}

static int run(const struct cli_args *args)
{
	struct coro_engine_options o = {0};
	struct coro_target t = {0};
	const char *what, *why;
	char *maps;
	int status = cmd_coro_run_read_options(args, &o), rc;

	if (!status)
		status = refuse_to_harm(args, o.shm_path);
	if (status)
		return status;
	rc = coro_target_prepare(&t);
	if (rc)
		return cli_error("cannot wait for a program: %s", strerror(-rc));
	o.maps_path = maps = maps_beside();
	o.is_enough = coro_target_is_enough;
	o.is_enough_arg = &t;
	rc = coro_engine_open(&t.engine, &o, &what, &why);
	if (rc)
		status = refuse_open(rc, what, why);
	else if (!o.attach && (rc = coro_target_start(&t, cli_operands(args))))
		status = cli_not_run(cli_operand(args, 0), rc);
	else
		status = cmd_coro_run_finish(args, &o, &t, coro_target_wait(&t));
	coro_engine_free(t.engine);
	coro_target_close(&t);
	free(maps);
	return status;
}

const struct cli_command cmd_coro_run = {
	.name = "coro run",
	.summary = "Trace the coroutines of a program",
	.operands = "[--] CMD [ARG]...",
	.operands_min = 0,
	.operands_max = -1,
	.description =
		"Runs CMD with a shared file in which its coroutines, and those of all programs "
		"that it starts, tell of their switches (weft/coro.h, or any other probe of cTP), "
		"and writes them to FILE as they come. What could not be written is counted, and "
		"told at the end: events written = harvested + lost + pending, always.\n"
		"\n"
		"The shared file and the socket lie in a private directory unless --shm and --sock "
		"say otherwise; nothing that is there already is overwritten.\n"
		"\n"
		"Beside a FILE of JSON lines, FILE.maps notes what code the processes had mapped, "
		"so that weft coro report names places when they are gone.\n"
		"\n"
		"CMD's input, output, signals and exit status are as without weft (128+n for a "
		"signal). Ctrl-C reaches both; a second one, or SIGTERM and two seconds, end the "
		"trace without waiting for CMD.\n"
		"\n"
		"Exit: CMD's own status; 127 when CMD is not found, 126 when it cannot be run, 1 "
		"when the trace could not be written, 2 for wrong usage.",
	.options = options,
	.examples = examples,
	.run = run,
	.flags = CLI_COMMAND_TAIL,
};
