/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft record --pid. The programs are strangers: weft is not their parent, passes no signal on
 * and leaves them as they were. One Ctrl-C (or SIGTERM, SIGHUP) finishes the file; so does the
 * end of the last of them, and --duration.
 */
#include "cli/record/record.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define PATIENCE_NS UINT64_C(2000000000) /* of silence before it is said that nothing runs */

static int find_one(struct attached *a, const char *text, int needs_orders)
{
	enum attach_verdict verdict;
	char why[512];
	pid_t pid = 0;

	if (cli_pid(text, &pid))
		return cli_usage("--pid: '%s' is no process id", text);
	for (size_t i = 0; i < a->count; i++)
		if (a->target[i].pid == pid)
			return CLI_DONE;
	verdict = attach_find(&a->target[a->count], pid, needs_orders);
	if (verdict == ATTACH_FINE) {
		a->pids[a->count++] = pid;
		return CLI_DONE;
	}
	attach_explain(&a->target[a->count], verdict, why, sizeof(why));
	return cli_error("process %d: %s", (int)pid, why);
}

int attached_find(struct attached *a, const struct cli_args *args, int needs_orders)
{
	size_t given = cli_count(args, "pid");
	int status = CLI_DONE;

	a->count = 0;
	a->target = calloc(given + 1, sizeof(*a->target));
	a->pids = calloc(given + 1, sizeof(*a->pids));
	if (!a->target || !a->pids) {
		attached_free(a);
		return cli_error("%s", strerror(ENOMEM));
	}
	for (size_t i = 0; i < given && status == CLI_DONE; i++)
		status = find_one(a, cli_text_at(args, "pid", i), needs_orders);
	if (status)
		attached_free(a);
	return status;
}

void attached_free(struct attached *a)
{
	for (size_t i = 0; i < a->count; i++)
		attach_target_close(&a->target[i]);
	free(a->target);
	free(a->pids);
	*a = (struct attached){0};
}

/* ---- until the end */

static void record_attached_take_signals(struct record *r)
{
	struct signalfd_siginfo info;

	while (read(r->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM ||
		    info.ssi_signo == SIGHUP)
			r->interrupts++;
}

/* Looks at programs that the targets start; the collector tells of the targets themselves. */
static void look_for_unrecorded(struct record *r, const struct attached *a)
{
	if (r->options->no_children || !record_is_time_to_look(r))
		return;
	for (size_t i = 0; i < a->count; i++)
		unrecorded_look_below(&r->unrecorded, a->pids[i]);
}

static void record_attached_wait_for_something(struct record *r, const struct attached *a)
{
	unsigned int events = record_poll(r);

	if (events & RECORD_SIGNAL)
		record_attached_take_signals(r);
	if (events & RECORD_TICK)
		look_for_unrecorded(r, a);
}

static int record_attached_is_over(const struct record *r)
{
	struct collector_progress now;

	collector_progress(r->collector, &now);
	return r->interrupts || now.running == 0 || now.attach_error ||
	       (r->options->duration_ns &&
		clock_mono_ns() - r->start_ns >= r->options->duration_ns);
}

/* Says once that no target has run yet, which nothing else shows. */
static void tell_waiting(const struct record *r, int *told)
{
	struct collector_progress now;

	if (*told || clock_mono_ns() - r->start_ns < PATIENCE_NS)
		return;
	*told = 1;
	collector_progress(r->collector, &now);
	if (now.waiting)
		cli_tell("%u of the processes %s not run yet, or never for long: "
			 "sampling begins when one of the threads runs on for a moment",
			 now.waiting, now.waiting == 1 ? "has" : "have");
}

static int tell_end(const struct collector_progress *end)
{
	if (end->attach_error == -EPERM)
		return cli_error("the program filters its system calls (seccomp, no_new_privs): a "
				 "filter may kill for what weft would ask of the kernel there");
	if (end->attach_error)
		return cli_error("the program could not begin to sample: %s",
				 strerror(-end->attach_error));
	if (end->waiting)
		cli_warning("%u of the processes did not run at all, or never for long, or blocked "
			    "SIGURG: no CPU sample of %s is in the recording",
			    end->waiting, end->waiting == 1 ? "it" : "them");
	return CLI_DONE;
}

int attached_wait(struct record *r, const struct attached *a)
{
	struct collector_progress end;
	int told = 0, status;

	r->pid = a->count == 1 ? r->pid : 0;
	r->start_ns = clock_mono_ns();
	while (!record_attached_is_over(r)) {
		tell_waiting(r, &told);
		record_attached_wait_for_something(r, a);
	}
	collector_progress(r->collector, &end);
	record_finish(r);
	record_close_fds(r);
	status = tell_end(&end);
	return r->failed || status ? CLI_FAILED : CLI_DONE;
}
