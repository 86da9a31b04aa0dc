/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that the recording attached to, as the drain thread sees them: it looks for a
 * thread that runs until one has carried out the order to begin, answers that thread when it
 * asks for the unwind tables, notices an exec (which leaves the session behind), and at the
 * end orders the engines to stop. Where no thread runs within a moment none is ordered: timers
 * see at their next tick that the recording is over.
 */
#include "collector/run/watch.h"

#include "base/clock.h"
#include "base/recording.h"
#include "collector/session/attach.h"
#include "collector/write/process_work.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ORDER_PATIENCE_NS UINT64_C(1000000000) /* then another thread is asked */
#define STEADY_NS UINT64_C(2000000)            /* a thread that has run on for so long is asked */
#define STEADY_LEAST_NS UINT64_C(50000)
#define STEADY_TRIES 30 /* after so many a shorter run will do */
#define PAUSE_MIN_MS 1
#define PAUSE_MAX_MS 10
#define LEAVE_PATIENCE_NS UINT64_C(200000000)
#define CHECK_NS UINT64_C(1000000000)

/* Of a stranger, which may live in another PID namespace, no session says who it is. */
static void watch_attach_identify(struct process *p, const struct attach_target *t)
{
	char text[4096];

	p->inside_pid = t->pid;
	if (t->is_stranger) {
		proc_read(p->proc_fd, "status", text, sizeof(text));
		p->inside_pid = pid_innermost(text, (int32_t)t->pid, NULL);
		p->session_id = random_number();
		return;
	}
	p->parent = t->layout.parent_pid;
	p->session_id = t->layout.session_id;
}

static int watch_attach_begin(struct watch *w, struct attach_target *t)
{
	struct session *s;
	struct process *p;
	int rc = process_new(&p, t->pid);

	if (rc)
		return rc;
	watch_attach_identify(p, t);
	p->opened_ns = clock_mono_ns();
	process_cpu_read(t->pid, &p->cpu_before_ns);
	rc = watch_make_session(w, p, t->is_stranger ? NULL : t, &s);
	if (rc)
		return rc;
	s->is_stranger = t->is_stranger;
	watch_share_budget(w, s);
	watch_begin_session(w, s);
	return 0;
}

void watch_attach_all(struct watch *w, const struct collector_options *o)
{
	for (size_t i = 0; i < o->attach_count; i++) {
		int rc = watch_attach_begin(w, &o->attach[i]);

		if (rc)
			w->attach_error = rc;
	}
	if (o->attach_count)
		w->waiting_ns = clock_mono_ns();
}

/* The user of the first process, who must be able to reach the socket; ourselves if not known. */
uid_t watch_attach_user(const struct collector_options *o)
{
	char path[32];
	struct stat st;

	if (!o->attach_count)
		return geteuid();
	snprintf(path, sizeof(path), "/proc/%d", (int)o->attach[0].pid);
	return stat(path, &st) ? geteuid() : st.st_uid;
}

/* ---- the order to begin */

/* The order to stop waits for a steady thread: ticks end the recording without it, too. */
static uint64_t steady_for(const struct session *s, enum weft_order what)
{
	return what == WEFT_ORDER_STOP || s->search.failed / STEADY_TRIES % 2 == 0
		       ? STEADY_NS
		       : STEADY_LEAST_NS;
}

static int watch_attach_order(struct session *s, enum weft_order what, uint64_t now_ns)
{
	int rc = order_try(s->process, what, steady_for(s, what), &s->search);

	if (rc == 1)
		s->ordered_ns = now_ns;
	return rc;
}

static void tell_state(struct watch *w)
{
	uint32_t waiting = 0;
	int error = 0;

	for (struct session *s = w->first; s; s = s->next) {
		int rc = session_attach_state(s);

		waiting += rc == -EAGAIN;
		error = rc && rc != -EAGAIN ? rc : error;
	}
	store_relaxed(&w->attach_waiting, waiting);
	if (error)
		store_relaxed(&w->attach_error, error);
}

/* Has it become another program, which does not join? Its session is not mapped any more, and the
 * program carries no runtime, or did at the last look already and has not joined since. */
static int has_left(struct session *s)
{
	size_t bytes = 0;
	char *maps;
	int left, is_expected;

	if (s->is_stranger)
		return !process_runs_on(s->process);
	maps = proc_read_all(s->process->proc_fd, "maps", &bytes);
	left = maps && bytes > 0 && watch_is_mapped(s, maps, bytes) == 0;
	is_expected = left && !s->is_expected && strstr(maps, "/libweft");
	s->is_expected = is_expected;
	free(maps);
	return left && !is_expected;
}

static void check_exec(struct watch *w, uint64_t now_ns, uint64_t pause_ns)
{
	for (struct session *s = w->first, *next; s; s = next) {
		next = s->next;
		if (!(s->attached || s->is_stranger) || now_ns - s->checked_ns < pause_ns)
			continue;
		s->checked_ns = now_ns;
		if (has_left(s)) {
			w->attach_execs++;
			watch_close_session(w, s, RECORDING_END_EXEC);
		}
	}
}

/* The longer no thread runs, the longer the pause: a fiftieth of the time so far, at most. */
int watch_attach_tick(struct watch *w, uint64_t now_ns)
{
	uint64_t waited_ms = (now_ns - w->waiting_ns) / 1000000;
	int pause_ms = (int)(waited_ms / 50 < PAUSE_MAX_MS ? waited_ms / 50 : PAUSE_MAX_MS);

	if (!w->waiting_ns)
		return INT32_MAX;
	check_exec(w, now_ns, CHECK_NS);
	for (struct session *s = w->first; s; s = s->next)
		if (session_attach_state(s) == -EAGAIN &&
		    (!s->ordered_ns || now_ns - s->ordered_ns > ORDER_PATIENCE_NS))
			watch_attach_order(s, WEFT_ORDER_ATTACH, now_ns);
	tell_state(w);
	if (!load_relaxed(&w->attach_waiting))
		return INT32_MAX;
	return pause_ms < PAUSE_MIN_MS ? PAUSE_MIN_MS : pause_ms;
}

/* ---- the end */

/* Have its engines stopped? If not, one of its threads is ordered to stop them, once. */
static int watch_attach_is_settled(struct session *s, uint64_t now_ns)
{
	if (!s->attached || !session_engines_run(s) || session_is_dead(s))
		return 1;
	if (!s->ordered_ns)
		watch_attach_order(s, WEFT_ORDER_STOP, now_ns);
	return 0;
}

void watch_attach_stop(struct watch *w)
{
	const struct timespec pause = {.tv_nsec = 500000};
	uint64_t began_ns = clock_mono_ns(), now_ns = began_ns;
	int busy = 1;

	check_exec(w, now_ns, 0);
	for (struct session *s = w->first; s; s = s->next)
		s->ordered_ns = 0;
	while (busy && now_ns - began_ns < LEAVE_PATIENCE_NS) {
		busy = 0;
		for (struct session *s = w->first; s; s = s->next)
			busy |= !watch_attach_is_settled(s, now_ns);
		if (busy)
			nanosleep(&pause, NULL);
		now_ns = clock_mono_ns();
	}
}
