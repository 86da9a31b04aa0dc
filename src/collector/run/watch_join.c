/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process joins: connection, question, session, answer. A guest that does not ask within
 * its time is dropped. Whoever asks again under the same pid has exec'ed, or is a second runtime
 * in the same program, which the first does not know: then the older session is still mapped.
 */
#include "collector/run/watch.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/recording.h"
#include "collector/process/filters.h"
#include "collector/session/attach.h"
#include "collector/walk/process_walk.h"
#include "collector/write/process_work.h"
#include "collector/write/recording_system.h"
#include "proc/proc_maps.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANCESTORS_MAX 64
#define GUEST_PATIENCE_NS UINT64_C(1000000000)

static void drop_guest(struct watch *w, size_t index)
{
	epoll_ctl(w->poll_fd, EPOLL_CTL_DEL, w->guest[index].fd,
		  NULL); /* see watch_close_session() */
	close(w->guest[index].fd);
	w->guest[index] = w->guest[--w->guests];
}

static int watch_join_is_descendant(const struct watch *w, pid_t root, pid_t pid)
{
	for (int depth = 0; depth < ANCESTORS_MAX && pid > 1; depth++) {
		if (pid == root || watch_session_of(w, pid))
			return 1;
		pid = (pid_t)process_stat_number_of(pid, STAT_PARENT);
	}
	return 0;
}

/* Is it another user's process, and none that the recorded program has started? While the root is
 * not known none is; watch_guest() asks again. */
static int is_stranger(const struct watch *w, pid_t pid, uid_t user)
{
	pid_t root = load_acquire(&w->root);

	return root && !rendezvous_trusts(&w->rendezvous, user) &&
	       !watch_join_is_descendant(w, root, pid);
}

void watch_accept(struct watch *w)
{
	for (;;) {
		struct ucred peer;
		int fd = rendezvous_accept(&w->rendezvous, &peer);

		if (fd == -EPERM || fd == -EINTR || fd == -ECONNABORTED)
			continue;
		if (fd < 0)
			return;
		if (is_stranger(w, peer.pid, peer.uid)) {
			close(fd);
			continue;
		}
		if (w->guests == WATCH_GUESTS_MAX)
			drop_guest(w, 0);
		watch_add_fd(w, fd);
		w->guest[w->guests++] = (struct guest){fd, peer.pid, peer.uid, clock_mono_ns()};
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
	pid_t root = load_acquire(&w->root);

	return !w->no_children || pid == root;
}

static int is_that_file(void *arg, struct proc_map *one)
{
	const struct stat *file = arg;

	return proc_map_is_of(one, file->st_dev, file->st_ino);
}

int watch_is_mapped(const struct session *s, const char *maps, size_t bytes)
{
	struct stat file;

	return fstat(s->memfd, &file) ? -errno : proc_maps_parse(maps, bytes, is_that_file, &file);
}

/* Is the session still mapped? Not after an exec, which is assumed where maps cannot be read. */
static int lives_on(const struct session *s)
{
	size_t bytes = 0;
	char *maps = proc_read_all(s->process->proc_fd, "maps", &bytes);
	int found = maps && watch_is_mapped(s, maps, bytes) != 0;

	free(maps);
	return found;
}

static void tell_of_second_runtime(struct watch *w, const struct session *s)
{
	char text[200];
	struct batch *b;
	int bytes;

	bytes = snprintf(text, sizeof(text),
			 "%s [%d] has a second weft runtime, which the first does not know: what "
			 "is said to that one is not recorded",
			 s->process->command, (int)s->process->pid);
	b = batch_new(BATCH_WARNING, NULL, (size_t)bytes + 1);
	if (b)
		memcpy(b->data, text, (size_t)bytes + 1);
	queue_push(w->queue, b);
}

/* Ends the session that a pid has already. 0: that session goes on, and the question is refused. */
static int end_older(struct watch *w, pid_t pid)
{
	struct session *s = watch_session_of(w, pid);

	if (!s)
		return 1;
	if (lives_on(s)) {
		tell_of_second_runtime(w, s);
		return 0;
	}
	watch_close_session(w, s, RECORDING_END_EXEC);
	return 1;
}

static int session_death(const struct watch *w, struct session *s)
{
	s->pidfd = (int)syscall(SYS_pidfd_open, s->process->pid, 0);
	return s->pidfd < 0 ? -errno : watch_add_fd(w, s->pidfd);
}

int watch_make_session(const struct watch *w, struct process *p, struct attach_target *t,
		       struct session **out)
{
	int rc = process_walk_jit(p);

	if (rc == 0)
		rc = t ? session_attach(out, p, t, &w->settings)
		       : session_new(out, p, &w->settings);
	if (rc == 0) {
		rc = session_death(w, *out);
		if (rc && t)
			session_leave(*out);
		if (rc)
			session_free(*out);
	}
	if (rc)
		process_free(p);
	return rc;
}

static int make_session(struct watch *w, pid_t pid, const struct weft_hello *hello,
			struct session **out)
{
	struct process *p;
	int rc = process_new(&p, pid);

	if (rc)
		return rc;
	p->inside_pid = hello->pid;
	if (recording_system_enabled(w->worker->recording, SYSTEM_ENVIRONMENT))
		p->work->first_environ =
			proc_read_all(p->proc_fd, "environ", &p->work->first_environ_bytes);
	p->session_id = random_number();
	p->opened_ns = clock_mono_ns();
	if (!(hello->flags & WEFT_HELLO_FORKED)) /* its whole life is the recording's */
		process_cpu_read(pid, &p->cpu_before_ns);
	return watch_make_session(w, p, NULL, out);
}

void watch_begin_session(struct watch *w, struct session *s)
{
	w->joined_ns = clock_mono_ns();
	s->next = w->first;
	w->first = s;
	queue_push(w->queue, batch_new(BATCH_OPEN, s->process, 0));
	outside_add(w->outside, s->process);
	__atomic_add_fetch(&w->processes, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&w->running, 1, __ATOMIC_RELAXED);
}

static int watch_join_give_session(const struct watch *w, int fd, const struct session *s)
{
	struct rendezvous_gift gift = {
		.memfd = s->memfd,
		.total_bytes = s->process->layout.total_bytes,
		.tables_fd = w->tables->fd,
		.tables_bytes = w->tables->bytes,
	};

	return rendezvous_answer(fd, 0, &gift);
}

/* A process that is attached to has its session, and asks for the unwind tables alone. */
static void welcome_attached(struct watch *w, int fd, pid_t pid)
{
	const struct session *s = watch_session_of(w, pid);
	struct rendezvous_gift gift = {
		.memfd = -1,
		.tables_fd = w->tables->fd,
		.tables_bytes = w->tables->bytes,
	};

	if (!s || !s->attached)
		rendezvous_answer(fd, -ECANCELED, NULL);
	else
		rendezvous_answer(fd, 0, &gift);
}

/* Each process once, though it may ask again and again. */
static void watch_join_count_refused(struct watch *w, pid_t pid, int rc)
{
	int fresh = 1;

	if (!w->refused_pids)
		w->refused_pids = map_new();
	if (w->refused_pids && !map_put(w->refused_pids, &pid, sizeof(pid), &fresh))
		fresh = 1;
	if (pid > 0 && (rc == -ENOENT || rc == -ESRCH)) { /* it has ended */
		w->gone += (uint32_t)fresh;
		return;
	}
	w->refused += (uint32_t)fresh;
	w->refused_error = rc;
}

static void welcome(struct watch *w, int fd, pid_t pid, const struct weft_hello *hello)
{
	struct session *s;
	int rc;

	/* A strange filter: of a child that was forked before anybody had seen its parent's. */
	if (!end_older(w, pid) || !is_welcome(w, pid) || filters_are_strange(pid)) {
		rendezvous_answer(fd, -ECANCELED, NULL);
		return;
	}
	rc = make_session(w, pid, hello, &s);
	if (rc) {
		watch_join_count_refused(w, pid, rc);
		rendezvous_answer(fd, rc, NULL);
		return;
	}
	watch_share_budget(w, s);
	if (watch_join_give_session(w, fd, s)) {
		struct process *p = s->process;

		session_free(s);
		process_free(p);
		return;
	}
	watch_begin_session(w, s);
}

void watch_guest(struct watch *w, size_t index)
{
	struct weft_hello hello;
	int rc;

	if (!load_acquire(&w->root))
		return; /* it is answered when collector_set_root() has said who the root is */
	rc = rendezvous_is_set(w->guest[index].fd);
	if (rc == -EAGAIN)
		return;
	if (rc == 1) {
		watch_set(w, &w->guest[index]);
		drop_guest(w, index);
		return;
	}
	rc = rendezvous_hello(w->guest[index].fd, &hello);
	if (rc == -EAGAIN)
		return;
	if (is_stranger(w, w->guest[index].pid, w->guest[index].user))
		rc = -EPERM;
	if (rc == 0 && hello.flags & WEFT_HELLO_ATTACHED)
		welcome_attached(w, w->guest[index].fd, w->guest[index].pid);
	else if (rc == 0)
		welcome(w, w->guest[index].fd, w->guest[index].pid, &hello);
	drop_guest(w, index);
}
