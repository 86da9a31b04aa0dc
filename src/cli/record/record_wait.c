/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What weft record does while the program runs. Three things can happen: a signal comes, the
 * program ends, time passes. The recording is finished when the program (or with --wait-all
 * everything it started) has ended, when --duration is over, at the second Ctrl-C, and a
 * moment after a SIGTERM or SIGHUP was passed on. The exit status is always the program's,
 * as long as it is waited for.
 */
#include "base/clock.h"
#include "cli/frame/cli.h"
#include "cli/record/record.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_NS 200000000        /* of the line of progress, of --wait-all, and at first */
#define QUIET_TICK_NS 1000000000 /* without them */
#define LOOK_NS UINT64_C(1000000000)
#define CALM_NS UINT64_C(2500000000)
#define GRACE_NS UINT64_C(2000000000) /* for CMD to end after a signal that was passed on */

int record_prepare(struct record *r)
{
	static const int taken[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};
	const struct itimerspec often = {{0, TICK_NS}, {0, TICK_NS}};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&set, taken[i]);
	program_prepare(&r->life, &set);
	r->pid_fd = -1;
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (r->signal_fd < 0 || r->timer_fd < 0 || timerfd_settime(r->timer_fd, 0, &often, NULL))
		return -errno;
	return 0;
}

void record_close_fds(const struct record *r)
{
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	if (r->timer_fd >= 0)
		close(r->timer_fd);
	if (r->pid_fd >= 0)
		close(r->pid_fd);
}

static int record_wait_has_ended(const struct record *r)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == r->pid;
}

static void record_wait_take_end(struct record *r)
{
	int status;

	if (r->ended)
		return;
	if (record_wait_has_ended(r))
		collector_root_ends(r->collector, r->pid);
	if (waitpid(r->pid, &status, WNOHANG) != r->pid)
		return;
	r->ended = 1;
	collector_root_ended(r->collector, status);
	r->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* SIGTERM and SIGHUP are handed to the program. Ctrl-C comes from the terminal to the whole process
 * group; a SIGINT that was sent by kill(1) reached weft alone, and is handed on, too. */
static void record_wait_take_signals(struct record *r)
{
	struct signalfd_siginfo info;

	while (read(r->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int number = (int)info.ssi_signo, passes_on = number == SIGTERM || number == SIGHUP;

		if (!r->ended && (passes_on || (number == SIGINT && info.ssi_code <= 0)))
			kill(r->pid, number);
		r->interrupts += number == SIGINT;
		if (!passes_on)
			continue;
		r->passed_on = number;
		if (!r->leave_ns)
			r->leave_ns = clock_mono_ns() + GRACE_NS;
	}
}

/* ---- the line of progress */

static void show_progress(struct record *r)
{
	struct collector_progress now;
	char size[32];

	if (!r->progress || r->finished)
		return;
	collector_progress(r->collector, &now);
	record_size_text(now.bytes, size, sizeof(size));
	fprintf(stderr, "\r\033[K[weft %llus",
		(unsigned long long)((clock_mono_ns() - r->start_ns) / 1000000000u));
	if (r->options->engines & WEFT_ENGINE_CPU)
		fprintf(stderr, ", %llu samples", (unsigned long long)now.samples);
	if (r->options->engines & WEFT_ENGINE_WALL)
		fprintf(stderr, ", %llu wall samples", (unsigned long long)now.wall_samples);
	fprintf(stderr, ", %u processes, %s]", now.processes, size);
	fflush(stderr);
	r->line_shown = 1;
}

static void remove_progress(struct record *r)
{
	if (r->line_shown)
		fputs("\r\033[K", stderr);
	r->line_shown = 0;
}

static void show_warnings(struct record *r)
{
	char text[1024];

	while (collector_warning(r->collector, text, sizeof(text))) {
		remove_progress(r);
		cli_warning("%s", text);
	}
}

/* ---- the end */

void record_finish(struct record *r)
{
	struct collector_result result;
	int rc = collector_finish(r->collector, &result);

	remove_progress(r);
	show_warnings(r);
	r->finished = 1;
	if (record_tell(r, &result, rc))
		r->failed = 1;
}

static int program_is_over(const struct record *r)
{
	struct collector_progress now;

	if (!r->ended || !r->wait_all)
		return r->ended;
	collector_progress(r->collector, &now);
	return now.running == 0 && collector_descendants(r->collector, NULL, 0) == 0;
}

static int is_time_to_finish(const struct record *r)
{
	uint64_t now_ns = clock_mono_ns();

	return program_is_over(r) || r->interrupts >= 2 || (r->leave_ns && now_ns >= r->leave_ns) ||
	       (r->options->duration_ns && now_ns - r->start_ns >= r->options->duration_ns);
}

/* With the file complete, weft stays for the program's status, unless it was told to go. */
static int is_time_to_leave(const struct record *r)
{
	return r->finished &&
	       (r->ended || r->interrupts >= 2 || (r->leave_ns && clock_mono_ns() >= r->leave_ns));
}

/* For poll(2): to the end of --duration, or -1. */
static int pause_ms(const struct record *r)
{
	uint64_t now_ns = clock_mono_ns(), end_ns = r->start_ns + r->options->duration_ns;

	if (r->options->duration_ns && !r->finished && end_ns > now_ns &&
	    end_ns - now_ns < QUIET_TICK_NS)
		return (int)((end_ns - now_ns) / 1000000) + 1;
	return -1;
}

/* Often at first, then once a second. */
int record_is_time_to_look(struct record *r)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t gap_ns = now_ns - r->start_ns < LOOK_NS ? TICK_NS : LOOK_NS;

	if (r->finished || r->ended || (r->looked_ns && now_ns - r->looked_ns < gap_ns))
		return 0;
	r->looked_ns = now_ns;
	return 1;
}

/* In the first seconds brief programs are looked at, and there may be something to tell; from then
 * on, where nothing is shown, little is left to do. */
static void calm_down(struct record *r)
{
	const struct timespec seldom = {QUIET_TICK_NS / 1000000000, 0};
	const struct itimerspec tick = {seldom, seldom};

	if (r->progress || r->wait_all || r->is_calm || clock_mono_ns() - r->start_ns < CALM_NS)
		return;
	r->is_calm = timerfd_settime(r->timer_fd, 0, &tick, NULL) == 0;
}

unsigned int record_poll(struct record *r)
{
	struct pollfd fd[] = {
		{.fd = r->signal_fd, .events = POLLIN},
		{.fd = r->timer_fd, .events = POLLIN},
		{.fd = r->ended ? -1 : r->pid_fd, .events = POLLIN},
	};
	unsigned int events = 0;
	uint64_t ticks;

	if (poll(fd, 3, pause_ms(r)) < 0)
		return 0;
	if (fd[1].revents && read(r->timer_fd, &ticks, sizeof(ticks)) > 0) {
		show_warnings(r);
		show_progress(r);
		calm_down(r);
		events = RECORD_TICK;
	}
	return events | (fd[0].revents ? RECORD_SIGNAL : 0) | (fd[2].revents ? RECORD_END : 0);
}

static void record_wait_for_something(struct record *r)
{
	unsigned int events = record_poll(r);

	if (events & RECORD_SIGNAL)
		record_wait_take_signals(r);
	if (events & RECORD_TICK && record_is_time_to_look(r))
		unrecorded_look(&r->unrecorded, r->pid);
	if (events & RECORD_END || r->pid_fd < 0)
		record_wait_take_end(r);
}

static int exit_status(const struct record *r)
{
	if (r->failed)
		return CLI_FAILED;
	if (r->ended)
		return r->status;
	return 128 + (r->passed_on ? r->passed_on : SIGINT);
}

int record_wait(struct record *r)
{
	/* Where there are no pidfds, the timer's ticks look whether the program has ended. */
	r->pid_fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	r->start_ns = clock_mono_ns();
	while (!is_time_to_leave(r)) {
		record_wait_for_something(r);
		if (!r->finished && is_time_to_finish(r))
			record_finish(r);
	}
	record_close_fds(r);
	unrecorded_free(&r->unrecorded);
	return exit_status(r);
}
