/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_tracer.h"

#include "base/output.h"
#include "cli/coro/coro_format.h"
#include "cli/coro/coro_target.h"
#include "cli/frame/cli.h"
#include "cli/frame/leave.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum flag {
	FLAG_N,
	FLAG_CMD,
	FLAG_SHM,
	FLAG_SOCK,
	FLAG_OUT,
	FLAG_EXPORT,
	FLAG_IN,
	FLAG_SQLITE_OUT,
	FLAG_CSV_OUT,
	FLAG_SERVER, /* taken, and not needed: no server is written to */
	FLAG_HELP,
	FLAG_COUNT,
};

static const struct option flags[] = {
	{"n", required_argument, NULL, FLAG_N},
	{"cmd", required_argument, NULL, FLAG_CMD},
	{"shm", required_argument, NULL, FLAG_SHM},
	{"sock", required_argument, NULL, FLAG_SOCK},
	{"out", required_argument, NULL, FLAG_OUT},
	{"export", required_argument, NULL, FLAG_EXPORT},
	{"in", required_argument, NULL, FLAG_IN},
	{"sqlite-out", required_argument, NULL, FLAG_SQLITE_OUT},
	{"csv-out", required_argument, NULL, FLAG_CSV_OUT},
	{"db-cli", required_argument, NULL, FLAG_SERVER},
	{"db-host", required_argument, NULL, FLAG_SERVER},
	{"db-port", required_argument, NULL, FLAG_SERVER},
	{"db-user", required_argument, NULL, FLAG_SERVER},
	{"db-password", required_argument, NULL, FLAG_SERVER},
	{"db-name", required_argument, NULL, FLAG_SERVER},
	{"db-table", required_argument, NULL, FLAG_SERVER},
	{"mysql-socket", required_argument, NULL, FLAG_SERVER},
	{"pg-maintenance-db", required_argument, NULL, FLAG_SERVER},
	{"pg-sslmode", required_argument, NULL, FLAG_SERVER},
	{"help", no_argument, NULL, FLAG_HELP},
	{"h", no_argument, NULL, FLAG_HELP},
	{NULL, 0, NULL, 0},
};

static const char *const defaults[FLAG_COUNT] = {
	[FLAG_N] = "128",
	[FLAG_SHM] = "/tmp/corotracer.shm",
	[FLAG_SOCK] = "/tmp/corotracer.sock",
	[FLAG_OUT] = "trace_output.jsonl",
};

int coro_tracer_is_name(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

	return argv0 && !strcmp(slash ? slash + 1 : argv0, "coroTracer");
}

static void coro_tracer_show_flags(void)
{
	fputs("Usage of coroTracer:\n", stderr);
	for (const struct option *f = flags; f->name; f++)
		if (f->val != FLAG_HELP && f->val != FLAG_SERVER)
			fprintf(stderr, "  -%s VALUE%s%s%s\n", f->name,
				defaults[f->val] ? " (default " : "",
				defaults[f->val] ? defaults[f->val] : "",
				defaults[f->val] ? ")" : "");
}

/* ---- numbers: decimal, 0x, 0o, 0b, 0, with underscores between digits */

static int coro_tracer_read_number(const char *text, uint64_t *out)
{
	char digits[80], *end;
	size_t count = 0;
	int base = 10;

	for (; *text; text++)
		if (*text != '_' && count < sizeof(digits) - 1)
			digits[count++] = *text;
	digits[count] = 0;
	text = digits;
	if (text[0] == '0' && text[1]) {
		base = strchr("xX", text[1]) ? 16 : strchr("bB", text[1]) ? 2 : 8;
		text += strchr("xXbBoO", text[1]) ? 2 : 1;
	}
	errno = 0;
	*out = strtoull(text, &end, base);
	return *text && *text != '-' && *text != '+' && !*end && !errno ? 0 : -EINVAL;
}

/* ---- tracing */

static int coro_tracer_refuse(const char *what, int rc)
{
	if (rc == -EBUSY || rc == -EADDRINUSE)
		return cli_error("%s: is in use, or no left-over file, and is left as it is", what);
	if (rc == -EEXIST)
		return cli_error("%s: is there, and no left-over file", what);
	return coro_tell_refused(what, rc);
}

static int end_trace(struct coro_target *t, const char *output, int waited)
{
	struct coro_engine_result r;

	coro_engine_finish(t->engine, &r);
	coro_tell(&r, coro_engine_stations(t->engine));
	if (r.rc)
		return cli_error("%s: %s", output, r.why ? r.why : output_why(r.rc));
	if (r.is_cut || waited)
		return cli_error("the trace ends early: %s",
				 r.is_cut ? "the shared file was cut short" : strerror(-waited));
	if (t->interrupts || t->passed_on)
		return CLI_DONE;
	if (t->status)
		return cli_error("target command failed: exit status %d", t->status);
	puts("Target command finished successfully");
	return CLI_DONE;
}

static int trace(const char *const value[])
{
	char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			(char *)(uintptr_t)value[FLAG_CMD], NULL};
	static struct export_job
		out; /* must exist as long as the process lives: coro/engine/engine.h */
	struct coro_engine_options o = {
		.shm_path = value[FLAG_SHM],
		.sock_path = value[FLAG_SOCK],
		.replace = CORO_SHM_LEFT_OVER,
		.idle_scans = 1,
		.keep = 1,
		.sink = &out.sink,
	};
	struct coro_target t = {0};
	const char *what;
	uint64_t n;
	int rc = coro_tracer_read_number(value[FLAG_N], &n), status;

	if (rc)
		return cli_usage("-n: '%s' is no number", value[FLAG_N]);
	if (n == 0 || n > UINT32_MAX)
		return cli_error("-n: '%s' is not between 1 and %u", value[FLAG_N], UINT32_MAX);
	o.stations = (uint32_t)n;
	export_trace(&out, exporter_find("jsonl"));
	out.sink.path = value[FLAG_OUT];
	out.sink.append = 1;
	rc = coro_target_prepare(&t);
	if (rc)
		return cli_error("%s", strerror(-rc));
	o.is_enough = coro_target_is_enough;
	o.is_enough_arg = &t;
	rc = coro_engine_open(&t.engine, &o, &what, NULL);
	if (rc)
		status = !strcmp(what, out.sink.path) ? cli_error("%s: %s", what, output_why(rc))
						      : coro_tracer_refuse(what, rc);
	else if ((rc = coro_target_start(&t, argv)))
		status = cli_error("sh: %s", strerror(-rc));
	else
		status = end_trace(&t, out.sink.path, coro_target_wait(&t));
	coro_engine_free(t.engine);
	coro_target_close(&t);
	return status;
}

/* ---- exports */

static const struct {
	const char *name, *format;
	enum flag out;
} exports[] = {
	{"sqlite", "sqlite", FLAG_SQLITE_OUT}, {"mysql", NULL, FLAG_COUNT},
	{"postgres", NULL, FLAG_COUNT},        {"postgresql", NULL, FLAG_COUNT},
	{"dataframe", "csv", FLAG_CSV_OUT},    {"csv", "csv", FLAG_CSV_OUT},
};

/* The input's name with another extension; "trace_output" where that leaves nothing. */
static void coro_tracer_make_name(char *out, size_t room, const char *input, const char *extension)
{
	const char *slash = strrchr(input, '/'), *base = slash ? slash + 1 : input;
	const char *dot = strrchr(base, '.');
	int bytes = (int)(dot ? (size_t)(dot - input) : strlen(input));

	if (!*base || dot == base)
		snprintf(out, room, "trace_output.%s", extension);
	else
		snprintf(out, room, "%.*s.%s", bytes, input, extension);
}

static void make_parents(const char *path)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s", path);
	for (char *at = strchr(name + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		mkdir(name, 0755);
		*at = '/';
	}
}

static int coro_tracer_copy(struct coro_input *in, struct coro_sink *sink, const char *input)
{
	struct coro_books books = {0};
	struct coro_event e;
	const char *why;
	int got = 0, rc = sink->ops->open(sink);

	while (!rc && (got = coro_input_next(in, &e)) > 0) {
		rc = sink->ops->put(sink, &e);
		books.harvested = ++books.written;
	}
	if (!rc && !got)
		rc = sink->ops->finish(sink, &books);
	why = sink->ops->why(sink);
	if (got < 0)
		rc = cli_error("%s: line %llu: %s", input, (unsigned long long)coro_input_line(in),
			       got == -EBADMSG ? coro_input_why(in) : strerror(-got));
	else if (rc)
		rc = cli_error("%s: %s", sink->path, why ? why : output_why(rc));
	sink->ops->close(sink);
	return rc;
}

static const char *given(const char *value)
{
	return value && *value ? value : NULL;
}

/* A file that is there is replaced. */
static void coro_tracer_read_place(const char *const value[], size_t row, const char *input,
				   struct export_job *x)
{
	static char made[PATH_MAX];
	const char *path = given(value[exports[row].out]);

	coro_tracer_make_name(made, sizeof(made), input, x->format->extension);
	x->sink.path = path ? path : made;
	x->sink.replace = 1;
	make_parents(x->sink.path);
}

static int export_as(const char *const value[], size_t row)
{
	const char *input = given(value[FLAG_IN]) ? value[FLAG_IN] : value[FLAG_OUT];
	struct export_job x = {.why = ""};
	struct coro_input *in;
	int rc;

	if (!exports[row].format)
		return coro_format_refuse_server("-export", exports[row].name);
	export_trace(&x, exporter_find(exports[row].format));
	coro_tracer_read_place(value, row, input, &x);
	if (!is_standard_output(x.sink.path) && would_overwrite(input, x.sink.path))
		return cli_error("%s: is the trace itself: name another file", x.sink.path);
	leave_no_half_files();
	rc = coro_input_open(&in, input);
	if (rc)
		return cli_error("%s: %s", input, strerror(-rc));
	rc = coro_tracer_copy(in, &x.sink, input);
	coro_input_close(in);
	if (!rc)
		puts("Export finished successfully");
	return rc;
}

static int coro_tracer_run(const char *const value[])
{
	if (!given(value[FLAG_EXPORT]) && !given(value[FLAG_CMD]))
		return cli_error("give -cmd to trace a command, or -export to convert a trace");
	if (!given(value[FLAG_EXPORT]))
		return trace(value);
	if (given(value[FLAG_CMD]))
		return cli_error("-cmd and -export: give one of them");
	for (size_t i = 0; i < sizeof(exports) / sizeof(exports[0]); i++)
		if (!strcasecmp(exports[i].name, value[FLAG_EXPORT]))
			return export_as(value, i);
	return cli_error("-export: unknown format '%s'", value[FLAG_EXPORT]);
}

int coro_tracer_main(int argc, char **argv)
{
	const char *value[FLAG_COUNT];
	int flag;

	cli_set_verb("coroTracer");
	memcpy(value, defaults, sizeof(value));
	while ((flag = getopt_long_only(argc, argv, "+", flags, NULL)) != -1) {
		if (flag < 0 || flag >= FLAG_HELP) {
			coro_tracer_show_flags();
			return flag == FLAG_HELP ? CLI_DONE : CLI_USAGE;
		}
		value[flag] = optarg;
	}
	return coro_tracer_run(value);
}
