/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process joins: question, session, answer. The door (door.h) has heard the question, and let
 * nobody in who may not ask. After a few milliseconds the other callers wait until the rings have
 * been drained. Whoever asks again under the same pid has exec'ed, or is a second runtime in the
 * same program, which the first does not know: then the older session is still mapped.
 */
#include "collector/run/watch.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/recording.h"
#include "collector/process/carrier.h"
#include "collector/process/filters.h"
#include "collector/process/published_context.h"
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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLERS_NS UINT64_C(5000000)
#define REFUSED_MAX 65536 /* pids that are remembered */

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

static void tell_of_second_runtime(struct watch *w, struct session *s)
{
	char text[200];
	struct batch *b;
	int bytes;

	if (s->has_twin)
		return; /* told already */
	s->has_twin = 1;
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

/* A forked child has its parent's libraries where the parent has them. */
static void inherit_published(const struct watch *w, struct session *child)
{
	const struct session *parent = watch_session_of(w, child->process->parent);

	if (parent)
		process_tell_variables(child->process, &parent->process->variables);
}

static int make_session(struct watch *w, pid_t pid, const struct weft_hello *hello,
			struct session **out)
{
	struct process *p;
	int rc = process_new(&p, pid);

	if (rc)
		return rc;
	/* A strange filter: of a child that was forked before anybody had seen its parent's. In
	 * another PID namespace its runtime alone knows what its container's filters are. */
	if (carrier_is_near(pid) != 0 && filters_are_strange_as_met(p)) {
		process_free(p);
		return -ECANCELED;
	}
	p->inside_pid = hello->pid;
	if (recording_system_enabled(w->worker->recording, SYSTEM_ENVIRONMENT))
		p->work->first_environ =
			proc_read_all(p->proc_fd, "environ", &p->work->first_environ_bytes);
	p->session_id = random_number();
	p->opened_ns = clock_mono_ns();
	if (!(hello->flags & WEFT_HELLO_FORKED)) /* its whole life is the recording's */
		process_cpu_read(pid, &p->cpu_before_ns);
	rc = watch_make_session(w, p, NULL, out);
	if (rc == 0 && hello->flags & WEFT_HELLO_FORKED)
		inherit_published(w, *out);
	return rc;
}

void watch_begin_session(struct watch *w, struct session *s)
{
	w->joined_ns = clock_mono_ns();
	door_note(&w->door, s->process->pid);
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
	if (w->refused_pids && map_count(w->refused_pids) >= REFUSED_MAX)
		map_clear(w->refused_pids); /* who asks still is counted again */
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
	int rc = -ECANCELED;
	struct session *s;

	if (end_older(w, pid) && is_welcome(w, pid))
		rc = make_session(w, pid, hello, &s);
	if (rc) {
		if (rc != -ECANCELED)
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
	session_touch_ahead(s);
}

static void watch_answer(struct watch *w, const struct caller *c)
{
	if (c->text)
		watch_set(w, c);
	else if (c->hello.flags & WEFT_HELLO_ATTACHED)
		welcome_attached(w, c->fd, c->pid);
	else
		welcome(w, c->fd, c->pid, &c->hello);
}

/* Settings go through all sessions: no more of them in this round. */
void watch_answer_callers(struct watch *w)
{
	uint64_t began_ns = clock_mono_ns();
	struct caller c;
	int was_set = 0;

	door_quiet(&w->door);
	while (!was_set && clock_mono_ns() - began_ns < CALLERS_NS) {
		if (!door_take(&w->door, &c)) {
			rendezvous_is_alive(&w->door.rendezvous);
			return;
		}
		was_set = c.text != NULL;
		watch_answer(w, &c);
		close(c.fd);
		free(c.text);
	}
	door_ring(&w->door);
}
