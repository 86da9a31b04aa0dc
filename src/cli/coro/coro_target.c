/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_target.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS UINT64_C(2000000000) /* to end, after a signal that was passed on */
#define LOOK_MS 200                   /* between looks at what no descriptor tells of */

int coro_target_prepare(struct coro_target *t)
{
	static const int taken[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&set, taken[i]);
	t->pid_fd = -1;
	program_prepare(&t->life, &set);
	t->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return t->signal_fd < 0 ? -errno : 0;
}

/* ---- starting */

int coro_target_start(struct coro_target *t, char **argv)
{
	char number[16];
	int rc;

	snprintf(number, sizeof(number), "%u", coro_engine_stations(t->engine));
	if (setenv("CTP_SHM_PATH", coro_engine_shm_path(t->engine), 1) ||
	    setenv("CTP_SOCK_PATH", coro_engine_sock_path(t->engine), 1) ||
	    setenv("CTP_MAX_STATIONS", number, 1))
		return -errno;
	rc = program_spawn(execvpe, argv[0], argv, environ, &t->life, &t->pid);
	if (rc)
		t->pid = 0;
	else
		t->pid_fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	return rc;
}

/* ---- waiting */

static void coro_target_take_end(struct coro_target *t)
{
	int status;

	if (!t->pid || t->ended || waitpid(t->pid, &status, WNOHANG) != t->pid)
		return;
	t->ended = 1;
	t->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (t->pid_fd >= 0)
		close(t->pid_fd);
	t->pid_fd = -1;
}

/* Ctrl-C comes from the terminal to the whole process group; a signal that kill(1) sent to us alone
 * is handed on. */
static void take_signal(struct coro_target *t, const struct signalfd_siginfo *info)
{
	int number = (int)info->ssi_signo;

	if (number == SIGINT || number == SIGQUIT) {
		if (info->ssi_code <= 0 && t->pid && !t->ended)
			kill(t->pid, number);
		t->interrupts++;
	} else if (number == SIGTERM || number == SIGHUP) {
		if (t->pid && !t->ended)
			kill(t->pid, number);
		t->passed_on = number;
		if (!t->leave_ns)
			t->leave_ns = clock_mono_ns() + GRACE_NS;
	}
}

static int coro_target_is_over(const struct coro_target *t)
{
	if (!t->pid)
		return t->interrupts || t->passed_on || !coro_engine_alive(t->engine);
	return t->ended || t->interrupts >= 2 || (t->leave_ns && clock_mono_ns() >= t->leave_ns);
}

int coro_target_wait(struct coro_target *t)
{
	struct signalfd_siginfo info;
	int rc = 0;

	while (!coro_target_is_over(t)) {
		struct pollfd fd[] = {
			{.fd = t->signal_fd, .events = POLLIN},
			{.fd = t->pid_fd, .events = POLLIN},
			{.fd = rc ? -1 : coro_engine_fd(t->engine), .events = POLLIN}};

		if (poll(fd, 3, LOOK_MS) < 0 && errno != EINTR)
			return -errno;
		while (read(t->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
			take_signal(t, &info);
		coro_target_take_end(t);
		/* the program goes on, with or without being traced */
		if (!rc && fd[2].revents)
			rc = coro_engine_step(t->engine);
		if (rc && !t->pid)
			break;
	}
	if (t->pid && !t->ended)
		t->status = 128 + (t->passed_on ? t->passed_on : SIGINT);
	return rc;
}

int coro_target_is_enough(void *arg)
{
	struct coro_target *t = arg;
	struct signalfd_siginfo info;

	if (read(t->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info) &&
	    info.ssi_signo != SIGPIPE && info.ssi_signo != SIGXFSZ)
		return 1;
	if (!t->passed_on && t->interrupts < 2)
		return 0;
	if (!t->give_up_ns)
		t->give_up_ns = clock_mono_ns() + GRACE_NS;
	return clock_mono_ns() >= t->give_up_ns;
}

void coro_target_close(struct coro_target *t)
{
	if (t->pid_fd >= 0)
		close(t->pid_fd);
	if (t->signal_fd >= 0)
		close(t->signal_fd);
}
