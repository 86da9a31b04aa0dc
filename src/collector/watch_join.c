/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process joins: connection, question, session, answer. A guest that does not ask within
 * its time is dropped. Whoever asks again under the same pid has exec'ed.
 */
#include "collector/watch.h"

#include "base/recording.h"
#include "collector/clock.h"
#include "collector/jit.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GUEST_PATIENCE_NS UINT64_C(1000000000)

static void drop_guest(struct watch *w, size_t index)
{
	close(w->guest[index].fd); /* leaves the epoll set by itself */
	w->guest[index] = w->guest[--w->guests];
}

void watch_accept(struct watch *w)
{
	for (;;) {
		struct epoll_event event = {.events = EPOLLIN};
		pid_t pid;
		int fd = rendezvous_accept(&w->rendezvous, &pid);

		if (fd == -EPERM || fd == -EINTR || fd == -ECONNABORTED)
			continue;
		if (fd < 0)
			return;
		if (w->guests == WATCH_GUESTS_MAX)
			drop_guest(w, 0);
		event.data.fd = fd;
		epoll_ctl(w->poll_fd, EPOLL_CTL_ADD, fd, &event);
		w->guest[w->guests++] = (struct guest){fd, pid, clock_mono_ns()};
	}
}

void watch_guests_expire(struct watch *w, uint64_t now_ns)
{
	for (size_t i = w->guests; i-- > 0;)
		if (now_ns - w->guest[i].since_ns > GUEST_PATIENCE_NS)
			drop_guest(w, i);
}

static int is_welcome(const struct watch *w, pid_t pid)
{
	pid_t root = __atomic_load_n(&w->root, __ATOMIC_ACQUIRE);

	return !w->stopped && (!w->no_children || pid == root);
}

static uint64_t random_id(void)
{
	uint64_t id = 0;

	if (getrandom(&id, sizeof(id), GRND_NONBLOCK) < 0 || id == 0)
		id = clock_mono_ns();
	return id;
}

/* The older session of a pid that asks again. */
static void end_older(struct watch *w, pid_t pid)
{
	for (struct session *s = w->first; s; s = s->next) {
		if (s->pid == pid) {
			watch_close_session(w, s, RECORDING_END_EXEC);
			return;
		}
	}
}

static int watch_death(const struct watch *w, struct session *s)
{
	struct epoll_event event = {.events = EPOLLIN};

	s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	if (s->pidfd < 0)
		return -errno;
	event.data.fd = s->pidfd;
	return epoll_ctl(w->poll_fd, EPOLL_CTL_ADD, s->pidfd, &event) ? -errno : 0;
}

static int make_session(struct watch *w, pid_t pid, const struct weft_hello *hello,
			struct session **out)
{
	struct process *p;
	int rc = process_new(&p, pid);

	if (rc)
		return rc;
	p->inside_pid = hello->pid;
	p->parent = hello->parent_pid;
	p->session_id = random_id();
	p->opened_ns = clock_mono_ns();
	p->jit = jit_new(p->root_fd, p->proc_fd, p->inside_pid);
	rc = p->jit ? session_new(out, p, &w->settings) : -ENOMEM;
	if (rc) {
		process_free(p);
		return rc;
	}
	rc = watch_death(w, *out);
	if (rc) {
		session_free(*out);
		process_free(p);
	}
	return rc;
}

static void begin_session(struct watch *w, struct session *s)
{
	s->next = w->first;
	w->first = s;
	queue_push(w->queue, batch_new(BATCH_OPEN, s->process, 0));
	__atomic_add_fetch(&w->processes, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&w->running, 1, __ATOMIC_RELAXED);
}

static int give(const struct watch *w, int fd, const struct session *s)
{
	struct rendezvous_gift gift = {
		.memfd = s->memfd,
		.total_bytes = s->layout.total_bytes,
		.tables_fd = w->tables->fd,
		.tables_bytes = w->tables->bytes,
	};

	return rendezvous_answer(fd, 0, &gift);
}

static void welcome(struct watch *w, int fd, pid_t pid, const struct weft_hello *hello)
{
	struct session *s;
	int rc;

	end_older(w, pid);
	if (!is_welcome(w, pid)) {
		rendezvous_answer(fd, -ECANCELED, NULL);
		return;
	}
	rc = make_session(w, pid, hello, &s);
	if (rc) {
		w->refused++;
		w->refused_error = rc;
		rendezvous_answer(fd, rc, NULL);
		return;
	}
	watch_share_budget(w, s);
	if (give(w, fd, s)) {
		struct process *p = s->process;

		session_free(s);
		process_free(p);
		return;
	}
	begin_session(w, s);
}

void watch_guest(struct watch *w, size_t index)
{
	struct weft_hello hello;
	int rc;

	if (!__atomic_load_n(&w->root, __ATOMIC_ACQUIRE))
		return; /* the root was started this very moment: who it is comes any time now */
	rc = rendezvous_hello(w->guest[index].fd, &hello);
	if (rc == -EAGAIN)
		return;
	if (rc == 0)
		welcome(w, w->guest[index].fd, w->guest[index].pid, &hello);
	drop_guest(w, index);
}
