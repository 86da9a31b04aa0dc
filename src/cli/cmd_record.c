/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft record: runs a program and records it and its children.
 *
 * The program's own life is its own: descriptors, signals, process group and exit status are
 * as without weft. While it runs, weft has every signal blocked and reads those that concern
 * it from a descriptor (record_wait.c).
 */
#include "base/clock.h"
#include "base/output.h"
#include "cli/frame/cli.h"
#include "cli/frame/engines.h"
#include "cli/frame/leave.h"
#include "cli/frame/settings_args.h"
#include "cli/frame/term.h"
#include "cli/record/record.h"
#include "collector/run/hrtimer.h"
#include "collector/run/program.h"
#include "elf/module.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_OUTPUT "weft.jfr"
#define LIMIT_CHUNKS 16 /* about so many parts has a file with a limit */
#define MEMORY_LEAST ((uint64_t)16 << 20)
#define MAX_SIZE_LEAST ((uint64_t)1 << 20)
#define MAX_AGE_LEAST_NS UINT64_C(1000000000)

static const char *const clock_choices[] = {
	[WEFT_CLOCK_AUTO] = "auto", [WEFT_CLOCK_TICKS] = "ticks", NULL};

static const char *const tick_signals[] = {"prof", "winch", NULL};

static const struct cli_option options[] = {
	{"output", 'o', CLI_FILE, 0, "FILE", .help = "Write the recording to FILE, replacing it"},
	{"pid", 'p', CLI_TEXT, CLI_MANY, "PID",
	 .help = "Record a program that runs already and carries weft, or with -e wall alone any, "
		 "instead of CMD"},
	ENGINE_OPTIONS,
	SETTINGS_OPTIONS,
	{"duration", 0, CLI_TIME, 0, "TIME",
	 .help = "Finish the recording after TIME; the program runs on"},
	{"waits", 0, CLI_CHOICE, CLI_LIST | CLI_BARE, "GROUP,...",
	 .help = "Make events of waits for locks (weft.LockWait) and in calls that wait "
		 "(weft.IOWait)",
	 .choices = record_waits},
	{"stack", 0, CLI_CHOICE, CLI_MORE, "HOW",
	 .help = "How stacks are taken: auto walks by unwind tables and copies what they do not "
		 "reach",
	 .fallback = "auto", .choices = collector_stack_modes},
	{"clock", 0, CLI_CHOICE, 0, "CLOCK",
	 .help = "What takes samples of CPU time: auto is an hrtimer for each thread where perf is "
		 "allowed, else ticks, the kernel's",
	 .fallback = "auto", .choices = clock_choices},
	{"inline-context", 0, CLI_FLAG,
	 .help = "Write ids and tags into each sample (weft.ExecutionSample)"},
	{"prime-signal", 0, CLI_TEXT, 0, "SIGNAL",
	 .help = "Signal that primes threads which run already: urg, rt, none, or a real-time "
		 "number",
	 .fallback = "urg"},
	{"ring", 0, CLI_BYTES, 0, "SIZE",
	 .help = "Room for the samples of one thread, and for as much of its coroutines",
	 .fallback = "256K"},
	{"memory", 0, CLI_BYTES, 0, "SIZE",
	 .help = "Memory for what weft has read and not yet written; beyond that the fullest rings "
		 "come first, and what finds no room is counted",
	 .fallback = "512M"},
	{"chunk-time", 0, CLI_TIME, 0, "TIME", .help = "A part of the file is whole after TIME",
	 .fallback = "10s"},
	{"chunk-size", 0, CLI_BYTES, 0, "SIZE", .help = "... or at SIZE", .fallback = "16M"},
	{"tick-signal", 0, CLI_CHOICE, 0, "SIGNAL",
	 .help = "Signal of ticks: prof, or winch, which does not end a program that takes away "
		 "the handler past libc",
	 .fallback = "prof", .choices = tick_signals},
	{"max-size", 0, CLI_BYTES, 0, "SIZE",
	 .help = "Keep the newest of the recording: old parts leave a file that would get larger"},
	{"max-age", 0, CLI_TIME, 0, "TIME", .help = "... or those that ended longer than TIME ago"},
	{"environment", 0, CLI_FLAG,
	 .help = "Write the program's environment variables, without what looks like a secret"},
	{"debuginfod", 0, CLI_FLAG,
	 .help = "Get debug files that name code from the servers in DEBUGINFOD_URLS"},
	{"no-children", 0, CLI_FLAG, .help = "Record the program alone, not those that it starts"},
	{"wait-all", 0, CLI_FLAG, .help = "Go on until all that it started have ended"},
	{0},
};

static const struct cli_example examples[] = {
	{"weft record -- ./server --port 8080", "Record a server until it ends or Ctrl-C"},
	{"weft record -o out.jfr --duration 30s -- make -j4", "The first 30 seconds of a build"},
	{"weft record -i 10ms -- python3 job.py", "One sample for every 10 ms of CPU time"},
	{"weft record -e cpu,wall --wall-filter context -- ./server",
	 "CPU time, and where requests waited"},
	{"weft record --max-size 100M -- ./server", "The newest 100 MiB, for as long as it runs"},
	{"weft record -p 1234 -e wall --duration 30s",
	 "Where its threads wait, and for which request: of any program"},
	{"weft record -p 1234 --duration 30s", "30 seconds of a program that runs (see weft ps)"},
	{"weft record --set weft.LockWait#select=if-context -- ./server",
	 "Of the waits for locks only those inside of spans"},
	{NULL, NULL},
};

/* ---- settings */

static void warn_of_ticks(const struct collector_options *o)
{
	uint64_t tick_ns = clock_tick_ns();

	if (o->period_ns < tick_ns && (o->clock == WEFT_CLOCK_TICKS || hrtimer_refused()))
		cli_warning("rate: this kernel ticks %llu times a second, and there is no finer "
			    "clock (weft doctor); what lies between becomes weight of the samples",
			    (unsigned long long)(UINT64_C(1000000000) / tick_ns));
}

/* There is a choice because a real-time signal that is pending across an exec which no hook saw
 * ends the new program. */
static int read_prime_signal(const struct cli_args *args, int *signal_number)
{
	const char *text = cli_text(args, "prime-signal");
	char *end;
	long n = strtol(text, &end, 10);

	if (strcmp(text, "urg") == 0)
		*signal_number = SIGURG;
	else if (strcmp(text, "none") == 0)
		*signal_number = COLLECTOR_NO_SIGNAL;
	else if (strcmp(text, "rt") == 0)
		*signal_number = SIGRTMIN + 6;
	else if (end != text && !*end && (n == SIGURG || (n >= SIGRTMIN && n <= SIGRTMAX)))
		*signal_number = (int)n;
	else
		return cli_usage("--prime-signal: '%s' is none of urg, rt, none, %d to %d", text,
				 SIGRTMIN, SIGRTMAX);
	return 0;
}

/* Makes parts small enough for a file with a limit, unless their size was asked for. */
static void fit_chunks(const struct cli_args *args, struct collector_options *o)
{
	uint64_t size = o->max_bytes / LIMIT_CHUNKS, age = o->max_age_ns / LIMIT_CHUNKS;

	if (size && size < o->chunk_bytes && !cli_given(args, "chunk-size"))
		o->chunk_bytes = size;
	if (age && age < o->chunk_ns && !cli_given(args, "chunk-time"))
		o->chunk_ns = age;
}

static int read_limits(const struct cli_args *args, struct collector_options *o)
{
	const char *name = cli_given(args, "max-size") ? "max-size" : "max-age";
	const char *path = cli_text(args, "output");
	struct stat st;

	o->max_bytes = cli_number(args, "max-size");
	o->max_age_ns = cli_number(args, "max-age");
	if (cli_given(args, "max-size") && o->max_bytes < MAX_SIZE_LEAST)
		return cli_usage("--max-size: '%s' is below 1M", cli_text(args, "max-size"));
	if (cli_given(args, "max-age") && o->max_age_ns < MAX_AGE_LEAST_NS)
		return cli_usage("--max-age: '%s' is below 1s", cli_text(args, "max-age"));
	if (o->max_bytes && o->chunk_bytes > o->max_bytes / 2 && cli_given(args, "chunk-size"))
		return cli_usage("--chunk-size: '%s' is more than half of --max-size",
				 cli_text(args, "chunk-size"));
	if ((o->max_bytes || o->max_age_ns) && path && output_is_descriptor(path))
		return cli_usage("--%s: '%s': a descriptor's file cannot be replaced: name it",
				 name, path);
	if ((o->max_bytes || o->max_age_ns) && path && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return cli_usage("--%s: '%s' is no regular file", name, path);
	fit_chunks(args, o);
	return 0;
}

static int read_settings(const struct cli_args *args, struct collector_options *o)
{
	uint64_t ring = cli_number(args, "ring"), chunk = cli_number(args, "chunk-size");
	int rc = engines_read(args, o);

	if (rc == 0)
		rc = settings_args_read(args, o);
	if (rc == 0)
		rc = read_prime_signal(args, &o->prime_signal);
	if (rc)
		return rc;
	if (ring < WEFT_RING_BYTES_MIN || ring > WEFT_RING_BYTES_MAX || (ring & (ring - 1)) != 0)
		return cli_usage("--ring: '%s' is no power of two between 32K and 16M",
				 cli_text(args, "ring"));
	if (chunk < 4096 || chunk > UINT64_C(512) << 20)
		return cli_usage("--chunk-size: '%s' is not between 4K and 512M",
				 cli_text(args, "chunk-size"));
	if (cli_number(args, "chunk-time") < 1000000)
		return cli_usage("--chunk-time: '%s' is below 1ms", cli_text(args, "chunk-time"));
	if (cli_given(args, "duration") && cli_number(args, "duration") == 0)
		return cli_usage("--duration: 0 records nothing");
	o->memory_bytes = cli_number(args, "memory");
	if (o->memory_bytes < MEMORY_LEAST)
		return cli_usage("--memory: '%s' is below 16M", cli_text(args, "memory"));
	o->ring_bytes = (uint32_t)ring;
	o->chunk_bytes = chunk;
	o->chunk_ns = cli_number(args, "chunk-time");
	rc = read_limits(args, o);
	if (rc)
		return rc;
	o->inline_context = cli_flag(args, "inline-context");
	o->environment = cli_flag(args, "environment");
	o->duration_ns = cli_number(args, "duration");
	o->debuginfod = cli_flag(args, "debuginfod");
	if (o->debuginfod && elf_no_debuginfod())
		cli_warning("--debuginfod: no server is asked: %s", elf_no_debuginfod());
	o->no_children = cli_flag(args, "no-children");
	o->clock = strcmp(cli_text(args, "clock"), "ticks") ? WEFT_CLOCK_AUTO : WEFT_CLOCK_TICKS;
	o->tick_signal = strcmp(cli_text(args, "tick-signal"), "winch") ? 0 : SIGWINCH;
	o->stack_mode = (enum weft_stack_mode)collector_stack_mode(cli_text(args, "stack"));
	o->version = cli_version;
	return 0;
}

/* ---- the program */

/* 0 when there is something to record, else an exit status. */
static int look_at_program(const char *path)
{
	enum program_verdict verdict;
	char subject[PATH_MAX];
	int rc = program_look(path, &verdict, subject);

	if (rc)
		return cli_not_run(subject, rc);
	switch (verdict) {
	case PROGRAM_FINE:
		return 0;
	case PROGRAM_NOT_ELF:
		cli_error("%s: cannot be run: %s", subject, program_reason(verdict));
		return CLI_CANNOT_RUN;
	case PROGRAM_UNREADABLE:
		cli_warning("%s: %s: it may be one that cannot be recorded", subject,
			    program_reason(verdict));
		return 0;
	default:
		break;
	}
	return cli_error("%s: cannot be recorded: %s", subject, program_reason(verdict));
}

static char *join_words(char **words)
{
	size_t bytes = 1;
	char *text, *at;

	for (char **w = words; *w; w++)
		bytes += strlen(*w) + 1;
	text = at = malloc(bytes);
	if (!text)
		return NULL;
	*at = 0;
	for (char **w = words; *w; w++)
		at = stpcpy(stpcpy(at, w == words ? "" : " "), *w);
	return text;
}

/* Processes are looked up in /proc by their pids, which must be those of our PID namespace. */
static int look_at_proc(void)
{
	char own[16] = "";

	if (readlink("/proc/self", own, sizeof(own) - 1) < 0)
		return cli_error("/proc: %s; without it nothing is known of the program",
				 strerror(errno));
	if (atoi(own) != (int)getpid())
		return cli_error("/proc: it shows another PID namespace; mount this one's there "
				 "(mount -t proc proc /proc)");
	return 0;
}

/* ---- the recording */

/* The last recording under the default name is kept. */
static int keep_older(const char *path)
{
	char older[] = DEFAULT_OUTPUT ".old";
	int rc = output_move_aside(path, older);

	if (rc)
		return cli_error("%s: cannot be renamed to %s: %s", path, older, output_why(rc));
	return 0;
}

/* Events would stand between what CMD writes; without CMD a pipe does as well. */
static int refuse_standard_output(const char *path)
{
	if (!path || !output_is_standard(path))
		return 0;
	return cli_usage("--output: '%s': standard output is CMD's: name a file, or a pipe "
			 "(mkfifo) that somebody reads",
			 path);
}

static int open_collector(struct record *r, const struct collector_options *o)
{
	const char *what;
	int rc = collector_open(&r->collector, o, &what);

	if (rc)
		return cli_error("%s: %s", what, what == o->path ? output_why(rc) : strerror(-rc));
	return 0;
}

static int start_program(struct record *r, const char *path, char **argv, const char *libraries)
{
	int rc = program_start(path, argv, libraries, collector_socket(r->collector), &r->life,
			       &r->pid);

	if (rc)
		return cli_not_run(argv[0], rc);
	collector_set_root(r->collector, r->pid);
	return 0;
}

static int record_program(struct record *r, struct collector_options *o, const char *path,
			  char **argv, const char *libraries)
{
	int status;

	o->command_line = join_words(argv);
	if (!o->command_line)
		return cli_error("%s", strerror(ENOMEM));
	status = record_prepare(r);
	if (status)
		status = cli_error("cannot wait for a program: %s", strerror(-status));
	else
		status = open_collector(r, o);
	free((char *)(uintptr_t)o->command_line);
	o->command_line = NULL;
	if (status == 0)
		status = start_program(r, path, argv, libraries);
	if (status == 0)
		status = record_wait(r);
	collector_free(r->collector);
	return status;
}

/* What both kinds of recording do, after the program was found: the file is not touched before. */
static int begin_record(const struct cli_args *args, struct record *r, struct collector_options *o)
{
	int status = 0;

	if (o->engines & WEFT_ENGINE_CPU)
		warn_of_ticks(o);
	if (!o->path) {
		o->path = DEFAULT_OUTPUT;
		status = keep_older(o->path);
	}
	r->wait_all = cli_flag(args, "wait-all");
	r->progress = term_is(stderr);
	return status;
}

/* ---- programs that run already */

static int spare_programs(const char *to, const struct attached *a)
{
	char program[32];
	int status = 0;

	for (size_t i = 0; to && !status && i < a->count; i++) {
		snprintf(program, sizeof(program), "/proc/%d/exe", (int)a->target[i].pid);
		if (would_overwrite(program, to))
			status = cli_usage("%s: is the program itself: name another file", to);
	}
	return status;
}

static int open_attached(struct record *r, struct collector_options *o, struct attached *a)
{
	int status = record_prepare(r);

	if (status)
		return cli_error("cannot wait for a signal: %s", strerror(-status));
	if (!o->no_children)
		unrecorded_begin(&r->unrecorded, a->pids, a->count);
	snprintf(a->text, sizeof(a->text), "--pid %d", (int)a->target[0].pid);
	o->command_line = a->text;
	o->attach = a->target;
	o->attach_count = a->count;
	o->root = r->pid = a->target[0].pid;
	return open_collector(r, o);
}

static int record_attached(const struct cli_args *args, struct record *r,
			   struct collector_options *o)
{
	struct attached a;
	int status = look_at_proc();

	if (status == 0 && cli_flag(args, "wait-all"))
		status = cli_usage("--wait-all: not with --pid");
	if (status == 0 && cli_given(args, "waits"))
		status = cli_usage("--waits: not with --pid: the program has to be begun with it");
	if (status == 0)
		status = attached_find(&a, args, o->engines & WEFT_ENGINE_CPU);
	if (status)
		return status;
	status = spare_programs(o->path, &a);
	if (status == 0)
		status = begin_record(args, r, o);
	if (status == 0)
		status = open_attached(r, o, &a);
	if (status == 0)
		status = attached_wait(r, &a);
	collector_free(r->collector);
	unrecorded_free(&r->unrecorded);
	attached_free(&a);
	o->command_line = NULL;
	o->attach = NULL;
	return status;
}

static int run_program(const struct cli_args *args, struct record *r, struct collector_options *o)
{
	char **argv = cli_operands(args);
	char path[PATH_MAX], preload[2 * PATH_MAX];
	int status, rc;

	if (!argv[0])
		return cli_usage("missing operand: record [--] CMD [ARG]..., or --pid PID");
	rc = program_find(argv[0], path, sizeof(path));
	if (rc)
		return cli_not_run(argv[0], rc);
	status = look_at_program(path);
	if (status == 0 && o->path)
		status = refuse_to_overwrite(o->path, path, argv + 1);
	if (status == 0)
		status = look_at_proc();
	if (status == 0)
		status = record_preload(args, preload, sizeof(preload));
	if (status == 0)
		status = begin_record(args, r, o);
	return status ? status : record_program(r, o, path, argv, preload);
}

static int run(const struct cli_args *args)
{
	struct collector_options o = {.path = cli_text(args, "output")};
	struct record r = {.options = &o};
	int status = read_settings(args, &o);

	if (status == 0)
		status = refuse_standard_output(o.path);
	if (status == 0 && cli_given(args, "pid") && cli_operands(args)[0])
		status = cli_usage("--pid: a program that runs, or a CMD to run: give one of them");
	else if (status == 0 && cli_given(args, "pid"))
		status = record_attached(args, &r, &o);
	else if (status == 0)
		status = run_program(args, &r, &o);
	settings_args_free(&o);
	return status;
}

const struct cli_command cmd_record = {
	.name = "record",
	.summary = "Record what a program's time was spent for: one to run, or one that runs",
	.operands = "[--] CMD [ARG]...",
	.operands_min = 0,
	.operands_max = -1,
	.description =
		"Runs CMD and samples its threads, and those of all programs that it starts, by "
		"the CPU time that they use. Each sample carries its stack and the context (trace, "
		"span, tags) that the thread had set. With -e wall threads that wait are sampled "
		"too, from outside: where they wait, and for whom. The recording is a .jfr file, "
		"weft.jfr unless -o names another; an older weft.jfr is kept as weft.jfr.old. A "
		"file that another weft is writing is let be.\n"
		"\n"
		"With -p PID instead of CMD programs that carry weft already are recorded while "
		"they run, and left as they were; without --duration until Ctrl-C. With -e wall "
		"alone any program is: from outside, with the requests that it publishes by "
		"OpenTelemetry's thread context or Custom Labels.\n"
		"\n"
		"CMD's input, output, signals and exit status are as without weft (128+n for a "
		"signal). Ctrl-C reaches both: weft waits for CMD, a second Ctrl-C finishes the "
		"file and leaves. SIGTERM and SIGHUP are passed on to CMD; then the file is "
		"finished as if CMD had ended.\n"
		"\n"
		"Exit: CMD's own status; 127 when CMD is not found, 126 when it cannot be run, 1 "
		"when it cannot be recorded or the file cannot be written, 2 for wrong usage.",
	.options = options,
	.examples = examples,
	.run = run,
	.flags = CLI_COMMAND_TAIL,
};
