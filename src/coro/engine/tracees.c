/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/tracees.h"

#include "base/array.h"
#include "proc/process_file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

/* What an epoll event is about: the kind above, the tracee's place below. */
enum kind { KIND_LISTENER, KIND_TIMER, KIND_SOCKET, KIND_PROCESS };

static int tracees_watch_fd(const struct tracees *t, int fd, enum kind kind, size_t index)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)kind << 32 | index};

	return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

int tracees_open(struct tracees *t)
{
	memset(t, 0, sizeof(*t));
	t->listener = t->timer = -1;
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll >= 0)
		t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (t->timer < 0)
		return -errno;
	return tracees_watch_fd(t, t->timer, KIND_TIMER, 0);
}

/* A socket that nobody listens on any more. */
static int tracees_remove_left_over(const struct sockaddr_un *address)
{
	struct stat st;
	int fd, rc = -EADDRINUSE;

	if (lstat(address->sun_path, &st) || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) &&
	    errno == ECONNREFUSED)
		rc = unlink(address->sun_path) ? -errno : 0;
	close(fd);
	return rc;
}

static int bind_private(int fd, const struct sockaddr_un *address)
{
	mode_t mask = umask(0177);
	int rc = bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;

	umask(mask);
	return rc;
}

int tracees_listen(struct tracees *t, const char *path, int replace)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int rc;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	t->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->listener < 0)
		return -errno;
	rc = bind_private(t->listener, &address);
	if (rc == -EADDRINUSE && replace) {
		rc = tracees_remove_left_over(&address);
		if (!rc)
			rc = bind_private(t->listener, &address);
	}
	if (rc)
		return rc;
	memcpy(t->path, path, strlen(path) + 1);
	if (listen(t->listener, 128))
		return -errno;
	return tracees_watch_fd(t, t->listener, KIND_LISTENER, 0);
}

int tracees_arm(struct tracees *t, uint64_t ns)
{
	struct itimerspec when = {.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)}};

	return timerfd_settime(t->timer, 0, &when, NULL) ? -errno : 0;
}

/* ---- coming and going */

static struct tracee *tracees_place(struct tracees *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (!t->tracee[i].is_used)
			return &t->tracee[i];
	return array_add(&t->tracee, &t->count, &t->room, sizeof(*t->tracee));
}

/* Its own pid for itself; of a process that is gone already, ours. */
static pid_t inside_of(pid_t pid)
{
	char text[4096];

	proc_read_of(pid, "status", text, sizeof(text));
	return (pid_t)pid_innermost(text, pid, NULL);
}

static int tracees_add(struct tracees *t, int fd, pid_t pid)
{
	struct tracee *new = tracees_place(t);
	size_t index;

	if (!new)
		return -ENOMEM;
	index = (size_t)(new - t->tracee);
	*new = (struct tracee){
		.fd = fd, .pid = pid, .inside = inside_of(pid), .is_used = 1, .is_new = 1};
	new->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (new->pid_fd < 0 && errno == ESRCH)
		new->is_over = 1;
	else if (new->pid_fd >= 0)
		tracees_watch_fd(t, new->pid_fd, KIND_PROCESS, index);
	if (fd >= 0)
		tracees_watch_fd(t, fd, KIND_SOCKET, index);
	return TRACEES_NEW | (new->is_over ? TRACEES_OVER : 0);
}

int tracees_watch(struct tracees *t, pid_t pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->tracee[i].is_used && t->tracee[i].pid == pid)
			return 0;
	return tracees_add(t, -1, pid);
}

int tracees_suspect(struct tracees *t, pid_t inside)
{
	struct tracee *new;

	for (size_t i = 0; i < t->count; i++)
		if (t->tracee[i].is_used && t->tracee[i].inside == inside)
			return 0;
	new = tracees_place(t);
	if (!new)
		return -ENOMEM;
	*new = (struct tracee){
		.fd = -1, .pid_fd = -1, .inside = inside, .is_used = 1, .is_over = 1};
	return TRACEES_OVER;
}

/* Only this user, and root, may be traced here. */
static int accept_one(struct tracees *t, int *news)
{
	struct ucred who = {.pid = 0};
	socklen_t bytes = sizeof(who);
	int fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), rc;

	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) ||
	    (who.uid != geteuid() && who.uid != 0)) {
		close(fd);
		return 1;
	}
	rc = tracees_add(t, fd, who.pid);
	if (rc < 0)
		close(fd);
	else
		*news |= rc;
	return 1;
}

static int read_socket(struct tracee *one)
{
	char bytes[1024];
	int woken = 0;
	ssize_t n;

	while ((n = recv(one->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		woken = TRACEES_WOKEN;
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(one->fd);
		one->fd = -1;
		/* without a pidfd this is all that we will hear of it */
		if (one->pid_fd < 0 && kill(one->pid, 0) && errno == ESRCH) {
			one->is_over = 1;
			return woken | TRACEES_OVER;
		}
		if (one->pid_fd < 0 && !one->is_over)
			one->is_used = 0; /* its end will not be told */
	}
	return woken;
}

static int end_process(struct tracee *one)
{
	close(one->pid_fd);
	one->pid_fd = -1;
	one->is_over = 1;
	return TRACEES_OVER;
}

static int deal_with(struct tracees *t, const struct epoll_event *e)
{
	enum kind kind = (enum kind)(e->data.u64 >> 32);
	size_t index = (uint32_t)e->data.u64;
	uint64_t ticks;
	int news = 0;

	switch (kind) {
	case KIND_TIMER:
		return read(t->timer, &ticks, sizeof(ticks)) > 0 ? TRACEES_TIMER : 0;
	case KIND_LISTENER:
		while (accept_one(t, &news))
			;
		return news;
	case KIND_SOCKET:
		return t->tracee[index].fd >= 0 ? read_socket(&t->tracee[index]) : 0;
	case KIND_PROCESS:
		return t->tracee[index].pid_fd >= 0 ? end_process(&t->tracee[index]) : 0;
	}
	return 0;
}

int tracees_step(struct tracees *t)
{
	struct epoll_event events[32];
	int news = 0, n;

	do {
		n = epoll_wait(t->epoll, events, 32, 0);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			news |= deal_with(t, &events[i]);
	} while (n == 32);
	return news;
}

size_t tracees_alive(const struct tracees *t)
{
	size_t alive = 0;

	for (size_t i = 0; i < t->count; i++)
		alive += t->tracee[i].is_used && !t->tracee[i].is_over;
	return alive;
}

pid_t tracees_take_new(struct tracees *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct tracee *one = &t->tracee[i];

		if (!one->is_used || !one->is_new)
			continue;
		one->is_new = 0;
		return one->pid;
	}
	return 0;
}

static int somebody_lives_as(const struct tracees *t, pid_t inside)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->tracee[i].is_used && !t->tracee[i].is_over && t->tracee[i].inside == inside)
			return 1;
	return 0;
}

pid_t tracees_take_over(struct tracees *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct tracee *one = &t->tracee[i];

		if (!one->is_used || !one->is_over)
			continue;
		if (one->fd >= 0)
			close(one->fd);
		one->fd = -1;
		one->is_used = one->is_over = 0;
		if (!somebody_lives_as(t, one->inside))
			return one->inside;
	}
	return 0;
}

void tracees_close(struct tracees *t)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->tracee[i].is_used && t->tracee[i].fd >= 0)
			close(t->tracee[i].fd);
		if (t->tracee[i].is_used && t->tracee[i].pid_fd >= 0)
			close(t->tracee[i].pid_fd);
	}
	if (t->path[0])
		unlink(t->path);
	if (t->listener >= 0)
		close(t->listener);
	if (t->timer >= 0)
		close(t->timer);
	if (t->epoll >= 0)
		close(t->epoll);
	free(t->tracee);
}
