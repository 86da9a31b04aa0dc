/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft inspect: the contexts that the threads of a process have right now. Reading is the
 * reader's (reader/context/inspect.h), showing is inspect_text.c's and inspect_json.c's.
 */
#include "cli/frame/cli.h"
#include "cli/frame/term.h"
#include "cli/inspect/inspect_show.h"
#include "reader/target/thread_stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define INTERVAL_MIN_NS 1000000

static const struct cli_option options[] = {
	{"watch", 'w', CLI_FLAG, .help = "Look again and again, until Ctrl-C"},
	{"interval", 'i', CLI_TIME, 0, "TIME",
	 .help = "Time between two looks of --watch, at least 1ms", .fallback = "1s"},
	{"json", 0, CLI_FLAG, .help = "Print JSON: one object, with --watch one a line"},
	{"stop", 0, CLI_FLAG,
	 .help = "Stop each thread while it is read, some microseconds, for exactness"},
	{"thread", 't', CLI_TEXT, 0, "PATTERN",
	 .help = "Only threads whose name or tid matches (* and ? as in the shell)"},
	{"abi", 0, CLI_CHOICE, CLI_LIST, "ABI", .help = "Only contexts of these formats",
	 .choices = inspect_abi_text},
	{"root-key", 0, CLI_TEXT, 0, "KEY",
	 .help = "The attribute that holds the local root span in OpenTelemetry's contexts",
	 .fallback = WEFT_OTEL_ROOT_KEY},
	{0},
};

static const struct cli_example examples[] = {
	{"weft inspect 4711", "what every thread of process 4711 works for"},
	{"weft inspect --watch --thread 'worker*' 4711", "its workers, refreshed every second"},
	{"weft inspect --stop 4711", "exactly, by stopping each thread for a moment"},
	{"weft inspect --json 4711 | jq -r '.threads[].contexts[].attributes.tenant'",
	 "the tenant that each thread works for"},
	{"weft inspect --abi otel 4711", "as a reader of OpenTelemetry's contexts sees it"},
	{NULL, NULL},
};

/* ---- one look */

static int cmd_inspect_failed(int32_t pid, int rc)
{
	char why[256];

	if (rc == -ESRCH)
		return cli_error("%d: it has ended", (int)pid);
	if (rc == -EPERM || rc == -EACCES) { /* after an exec of another program */
		inspect_explain(INSPECT_DENIED, 0, 0, why, sizeof(why));
		return cli_error("%d: now %s", (int)pid, why);
	}
	return cli_error("%d: %s", (int)pid, strerror(-rc));
}

/* How many bytes of a line fit. Characters of three bytes and more may take two columns; our own
 * colours take none. */
static size_t fitting(const char *line, size_t bytes, int columns)
{
	size_t at = 0;

	while (at < bytes) {
		unsigned char c = (unsigned char)line[at];
		size_t length = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;

		if (c == 033)
			length = strcspn(line + at, "m") + 1;
		else
			columns -= length > 2 ? 2 : 1;
		if (columns < 0 || length > bytes - at)
			break;
		at += length;
	}
	return at;
}

/* Rewrites the screen in place. Lines are cut, for one that wraps would push the first ones out. */
static void put_screen(const char *text, FILE *out)
{
	struct winsize size = {.ws_row = 0};
	int rows = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row - 1
										 : 10000;
	int columns = size.ws_col ? size.ws_col : 10000;

	fputs("\033[H", out);
	for (; *text && rows > 0; rows--) {
		size_t bytes = strcspn(text, "\n");

		fwrite(text, 1, fitting(text, bytes, columns), out);
		fprintf(out, "%s\033[K\n", term_colour(out, TERM_PLAIN));
		text += bytes + (text[bytes] == '\n');
	}
	fputs("\033[J", out);
}

static int show_screen(const struct inspect_show *show)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);
	int rc = memory ? inspect_text(show, memory) : -ENOMEM;

	if (memory && fclose(memory))
		rc = -ENOMEM;
	if (rc == 0)
		put_screen(text, stdout);
	free(text);
	return rc;
}

static int cmd_inspect_show(const struct inspect_show *s, int is_json, int is_screen)
{
	int rc;

	if (is_json)
		rc = inspect_json(s, stdout);
	else
		rc = is_screen ? show_screen(s) : inspect_text(s, stdout);
	if (fflush(stdout) && rc == 0)
		rc = -errno;
	return cli_written(rc);
}

/* ---- again and again */

static volatile sig_atomic_t is_over;

static void end_watch(int signo)
{
	(void)signo;
	is_over = 1;
}

/* The signals are blocked but in the pause, so that none is missed. Without SA_RESTART the pause
 * ends. */
static void catch_end(sigset_t *during_pause)
{
	struct sigaction action = {.sa_handler = end_watch}, old;
	const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t block;

	sigemptyset(&block);
	for (size_t k = 0; k < sizeof(signals) / sizeof(signals[0]); k++) {
		sigaction(signals[k], NULL, &old);
		if (old.sa_handler == SIG_IGN)
			continue; /* nohup, or a job in the background */
		sigaction(signals[k], &action, NULL);
		sigaddset(&block, signals[k]);
	}
	sigprocmask(SIG_BLOCK, &block, during_pause);
}

#define OWED_NS 5000000 /* the longest that a thread which we stopped waits to go on */

static void pause_for(uint64_t ns, const sigset_t *during_pause)
{
	uint64_t step;

	do {
		struct timespec t;

		step = thread_stop_owed() && ns > OWED_NS ? OWED_NS : ns;
		t = (struct timespec){(time_t)(step / 1000000000), (long)(step % 1000000000)};
		if (ppoll(NULL, 0, &t, during_pause) < 0)
			return;
		ns -= step;
	} while (ns);
}

static int watch(struct inspect *i, const struct inspect_show *s, const struct cli_args *args)
{
	int is_json = cli_flag(args, "json"), is_screen = !is_json && term_has_cursor(stdout);
	int status = CLI_DONE, rc = 0;
	sigset_t during_pause;

	catch_end(&during_pause);
	for (int k = 0; !is_over && status == CLI_DONE; k++) {
		rc = inspect_look(i);
		if (rc)
			return cmd_inspect_failed(i->pid, rc);
		if (k && !is_json && !is_screen)
			putchar('\n');
		status = cmd_inspect_show(s, is_json, is_screen);
		if (status == CLI_DONE)
			pause_for(cli_number(args, "interval"), &during_pause);
	}
	return status;
}

/* ---- the verb */

static unsigned int chosen_abis(const struct cli_args *args)
{
	unsigned int abis = 0;

	for (size_t k = 0; k < cli_count(args, "abi"); k++)
		for (unsigned int a = 0; a < LIVE_ABI_COUNT; a++)
			if (!strcmp(cli_text_at(args, "abi", k), inspect_abi_text[a]))
				abis |= 1U << a;
	return abis ? abis : (1U << LIVE_ABI_COUNT) - 1;
}

static int look_and_show(struct inspect *i, const struct inspect_show *s,
			 const struct cli_args *args)
{
	int rc;

	if (cli_flag(args, "watch"))
		return watch(i, s, args);
	rc = inspect_look(i);
	return rc ? cmd_inspect_failed(i->pid, rc) : cmd_inspect_show(s, cli_flag(args, "json"), 0);
}

static int run(const struct cli_args *args)
{
	struct inspect_show s = {.thread = cli_text(args, "thread"),
				 .abis = chosen_abis(args),
				 .is_line = cli_flag(args, "watch")};
	enum inspect_verdict verdict;
	struct inspect *i = NULL;
	int32_t pid, other = 0;
	int error = 0, status;
	char why[256];

	if (cli_pid(cli_operand(args, 0), &pid))
		return cli_usage("'%s' is no process number", cli_operand(args, 0));
	if (cli_number(args, "interval") < INTERVAL_MIN_NS)
		return cli_usage("--interval: at least 1ms");
	verdict = inspect_open(&i, pid, cli_flag(args, "stop") ? INSPECT_STOP : 0,
			       cli_text(args, "root-key"), &other, &error);
	if (verdict != INSPECT_FINE) {
		inspect_explain(verdict, other, error, why, sizeof(why));
		return cli_error("%d: %s", (int)pid, why);
	}
	s.inspect = i;
	status = look_and_show(i, &s, args);
	inspect_close(i);
	return status;
}

const struct cli_command cmd_inspect = {
	.name = "inspect",
	.summary = "Show the contexts that a process's threads have right now",
	.operands = "PID",
	.operands_min = 1,
	.operands_max = 1,
	.description = "Shows every thread of a process with its live context, in each format that "
		       "is found there: weft's own session, OpenTelemetry's thread context "
		       "(otel_thread_ctx_v1, and otel_thread_ctx_nodejs_v1 in Node.js, with the "
		       "key map of its process context), Custom Labels v1, and the labels that a "
		       "Go program has set by runtime/pprof. The process need not know weft, and "
		       "nothing in it is changed.\n"
		       "\n"
		       "Nothing is stopped, either: a context that changes while it is read is "
		       "read again, and told as torn when it does so each time. With --stop each "
		       "thread is stopped for the time of one reading (ptrace) and then goes on, "
		       "also if weft is killed meanwhile; a wait that no system restarts "
		       "(epoll_wait) may end early by it, with EINTR.\n"
		       "\n"
		       "An id that a format does not have is shown as - (null in JSON). A process "
		       "without any context is no error: that is said, with status 0. Status 1: "
		       "the process cannot be looked at, or ended meanwhile (also with --watch).",
	.options = options,
	.examples = examples,
	.run = run,
};
