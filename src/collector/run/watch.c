/* SPDX-License-Identifier: Apache-2.0 */
/* The drain thread: see watch.h; how processes join it is in watch_join.c. */
#include "collector/run/watch.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/recording.h"
#include "collector/run/hrtimer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAUSE_MIN_MS 1
#define PAUSE_MAX_MS 100
#define PAUSE_YOUNG_MS 20
#define YOUNG_NS UINT64_C(1000000000) /* since the newest process joined */
#define CHUNK_NS UINT64_C(10000000000)
#define EVENTS_MAX 64
#define PAUSE_EVENTS_MS 5 /* while there are events: more of them may begin at any moment */
#define EVENTS_NS UINT64_C(10000000000)
#define RECORD_COPIED (16 * 1024) /* as large as most get with a copy of the stack */
#define RECORD_WALKED (6 * 1024)  /* and without: 512 frames take 4 KiB */
#define LARGEST_NS UINT64_C(10000000000)
#define BUDGET_NS UINT64_C(100000000)
#define PASS_NS UINT64_C(50000000) /* through the sessions, before other things have their turn */

/* Can all handlers walk by tables? Else they copy. */
static int all_can_walk(const struct watch *w)
{
	if (w->settings.stack_mode == WEFT_STACK_RAW || w->settings.stack_mode == WEFT_STACK_CHECK)
		return 0;
	for (const struct session *s = w->first; s; s = s->next)
		if (!session_has_map(s))
			return 0;
	return 1;
}

/* A pause in which no thread can fill more than half of its ring, with records of the
 * largest size seen lately; twice that size fits too. */
static int longest_pause_ms(const struct watch *w)
{
	uint64_t ring = w->settings.ring_bytes ? w->settings.ring_bytes : WEFT_RING_BYTES_DEFAULT;
	uint64_t seen = w->largest > w->largest_before ? w->largest : w->largest_before;
	uint64_t expected = all_can_walk(w) ? RECORD_WALKED : RECORD_COPIED;
	uint64_t record = seen > expected ? seen : expected;
	uint64_t tick = clock_tick_ns();
	uint64_t period = w->settings.period_ns > tick ? w->settings.period_ns : tick;
	uint64_t ms = ring / 2 / record * period / 1000000;

	if (w->events_ns && clock_mono_ns() - w->events_ns < EVENTS_NS && ms > PAUSE_EVENTS_MS)
		ms = PAUSE_EVENTS_MS;
	/* It may end soon, and what it has loaded can be seen only until then. */
	if (clock_mono_ns() - w->joined_ns < YOUNG_NS && ms > PAUSE_YOUNG_MS)
		ms = PAUSE_YOUNG_MS;
	return ms < PAUSE_MIN_MS ? PAUSE_MIN_MS : ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : (int)ms;
}

/* The largest copy of a stack: a quarter of the ring. */
static uint32_t watch_copy_limit(uint32_t ring_bytes)
{
	uint32_t quarter = (ring_bytes ? ring_bytes : WEFT_RING_BYTES_DEFAULT) / 4;

	return quarter < WEFT_STACK_COPY_MAX ? quarter : WEFT_STACK_COPY_MAX;
}

int watch_add_fd(const struct watch *w, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(w->poll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int watch_open(struct watch *w, struct queue *queue, struct worker *worker, struct outside *outside,
	       const struct tables *tables, const struct collector_options *o)
{
	int rc;

	w->queue = queue;
	w->worker = worker;
	w->outside = outside;
	w->tables = tables;
	w->root = o->root;
	w->round = 1;
	w->no_children = o->no_children;
	w->chunk_ns = o->chunk_ns ? o->chunk_ns : CHUNK_NS;
	w->chunk_start_ns = clock_mono_ns();
	tsc_clock_tick(&w->clock, clock_mono_ns());
	if (o->settings) {
		rc = settings_text_add(&w->text, o->settings, strlen(o->settings));
		if (rc)
			return rc;
	}
	w->settings = (struct session_settings){
		.period_ns = o->period_ns,
		/* Time on a CPU is sampled by CPU timers for the wall engine, too. */
		.engines = WEFT_ENGINE_CPU | (o->wall.period_ns ? WEFT_ENGINE_WALL : 0),
		.ring_bytes = o->ring_bytes,
		.stack_mode = o->stack_mode,
		.tables_bytes = w->tables->bytes,
		.stack_copy_bytes = watch_copy_limit(o->ring_bytes),
		.prime_signal = collector_prime_signal(o),
		.tick_signal = o->tick_signal,
		.clock = o->clock,
		.clock_error = o->clock == WEFT_CLOCK_AUTO && hrtimer_kills() ? -EACCES : 0,
		.events = {.text = &w->text,
			   .clock = &w->clock,
			   .engines = o->engines,
			   .has_inline_context = o->inline_context != 0},
		.socket = w->door.rendezvous.path,
		.tell_children = o->attach_count && !o->no_children,
	};
	w->max_pause_ms = w->pause_ms = longest_pause_ms(w);
	w->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	w->finish_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	w->root_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->poll_fd < 0 || w->finish_fd < 0 || w->root_event < 0)
		return -errno;
	if (watch_attach_user(o) != geteuid())
		rc = rendezvous_open_for(&w->door.rendezvous, watch_attach_user(o));
	else
		rc = rendezvous_open(&w->door.rendezvous, o->socket);
	if (rc == 0)
		rc = door_open(&w->door, &w->root);
	if (rc == 0)
		rc = watch_add_fd(w, w->door.callers_fd);
	return rc ? rc : watch_add_fd(w, w->finish_fd);
}

void watch_close(struct watch *w)
{
	door_close(&w->door);
	map_free(w->refused_pids);
	settings_text_free(&w->text);
	if (w->poll_fd >= 0)
		close(w->poll_fd);
	if (w->finish_fd >= 0)
		close(w->finish_fd);
	if (w->root_event >= 0)
		close(w->root_event);
}

void watch_finish(struct watch *w)
{
	uint64_t one = 1;

	store_release(&w->finishing, 1);
	if (write(w->finish_fd, &one, sizeof(one)) < 0)
		abort(); /* an eventfd of ours that counts to 1: cannot fail */
}

static void tell_root_event(const struct watch *w)
{
	uint64_t one = 1;

	if (write(w->root_event, &one, sizeof(one)) < 0)
		return; /* is set already */
}

/* A process that runs on gets its slots back here (session_leave()), before the worker unmaps the
 * session. In one that has ended nothing is changed: a child that it forked at the last moment may
 * still read there whether it is recorded. */
static void push_counts(const struct watch *w, enum batch_kind kind, struct session *s,
			const char *end)
{
	struct batch *b = batch_new(kind, s->process, sizeof(struct session_counts));
	struct session_counts counts;

	if (!b)
		return;
	session_count(s, &counts);
	if (kind == BATCH_CLOSE && strcmp(end, RECORDING_END_RUNNING) == 0)
		session_leave(s);
	memcpy(b->data, &counts, sizeof(counts));
	b->end = end;
	b->time_ns = clock_mono_ns();
	outside_pass(w->outside, b);
}

struct session *watch_session_of(const struct watch *w, pid_t pid)
{
	struct session *s = w->first;

	while (s && s->process->pid != pid)
		s = s->next;
	return s;
}

static void unlink_session(struct watch *w, const struct session *s)
{
	struct session **at = &w->first;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
}

void watch_close_session(struct watch *w, struct session *s, const char *end)
{
	int gone = strcmp(end, RECORDING_END_RUNNING) != 0;

	session_drain(s, w->queue, gone ? DRAIN_GONE : DRAIN_STOPPED);
	unlink_session(w, s);
	door_forget(&w->door, s->process->pid);
	session_account_last(s, w->queue);
	if (gone && s->process->pid == load_relaxed(&w->root) &&
	    strcmp(end, RECORDING_END_EXITED) == 0)
		tell_root_event(w);
	push_counts(w, BATCH_CLOSE, s, end);
	/* A child forked from us a moment ago may still hold the pidfd open: its events would be
	 * taken for those of the next session whose descriptor has that number. */
	epoll_ctl(w->poll_fd, EPOLL_CTL_DEL, s->pidfd, NULL);
	__atomic_sub_fetch(&w->running, 1, __ATOMIC_RELAXED);
	session_free(s);
}

static struct session *session_of_pidfd(const struct watch *w, int fd)
{
	for (struct session *s = w->first; s; s = s->next)
		if (s->pidfd == fd)
			return s;
	return NULL;
}

static void watch_handle_fd(struct watch *w, int fd)
{
	struct session *s;

	if (fd == w->door.callers_fd) {
		watch_answer_callers(w);
		return;
	}
	s = session_of_pidfd(w, fd);
	if (s)
		watch_close_session(w, s, RECORDING_END_EXITED);
}

/* Half of the user's limit of pending signals, for all processes together. A process keeps the
 * timers that it has armed, and may take its share of what is free. */
static uint32_t timers_for_all(pid_t pid)
{
	struct rlimit limit;

	if (prlimit(pid, RLIMIT_SIGPENDING, NULL, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur / 2 > WEFT_SESSION_SLOTS_MAX)
		return WEFT_SESSION_SLOTS_MAX;
	return (uint32_t)(limit.rlim_cur / 2);
}

void watch_share_budget(struct watch *w, struct session *joining)
{
	struct session *any = joining ? joining : w->first;
	uint32_t armed = 0, sessions = joining ? 1 : 0, all, spare;

	if (!any)
		return;
	all = timers_for_all(any->process->pid);
	for (struct session *s = w->first; s; s = s->next) {
		armed += session_timers(s);
		sessions++;
	}
	spare = armed < all ? (all - armed) / sessions : 0;
	for (struct session *s = w->first; s; s = s->next)
		session_set_budget(s, session_timers(s) + spare);
	if (joining)
		session_set_budget(joining, spare);
}

/* One at a time is on its way to the worker: a chunk that is full stays so until it is there. */
static void end_chunk_when_due(struct watch *w, uint64_t now_ns)
{
	struct batch *b;

	if (w->rolls != load_acquire(&w->worker->rolls))
		return;
	if (!load_relaxed(&w->worker->roll_wanted) && now_ns - w->chunk_start_ns < w->chunk_ns)
		return;
	b = batch_new(BATCH_ROLL, NULL, 0);
	if (!b)
		return;
	for (struct session *s = w->first; s; s = s->next)
		push_counts(w, BATCH_COUNTS, s, NULL);
	b->time_ns = now_ns;
	w->rolls++;
	outside_pass(w->outside, b);
	w->chunk_start_ns = now_ns;
}

static void tick_when_due(const struct watch *w, uint64_t now_ns)
{
	uint64_t due_ns = load_relaxed(&w->worker->tick_ns);
	struct batch *b;

	if (!due_ns || now_ns < due_ns)
		return;
	b = batch_new(BATCH_TICK, NULL, 0);
	if (!b)
		return;
	store_relaxed(&w->worker->tick_ns, 0);
	queue_push(w->queue, b);
}

/* The fuller the fullest ring was, the shorter the pause. */
static void watch_set_pause(struct watch *w, uint32_t fill_permille)
{
	if (fill_permille > 700)
		w->pause_ms = PAUSE_MIN_MS;
	else if (fill_permille > 250)
		w->pause_ms = w->pause_ms / 2;
	else if (fill_permille < 60)
		w->pause_ms = w->pause_ms + w->pause_ms / 4 + 1;
	if (w->pause_ms < PAUSE_MIN_MS)
		w->pause_ms = PAUSE_MIN_MS;
	if (w->pause_ms > w->max_pause_ms)
		w->pause_ms = w->max_pause_ms;
}

static void forget_old_sizes(struct watch *w, uint64_t now_ns)
{
	if (now_ns - w->largest_ns < LARGEST_NS)
		return;
	w->largest_ns = now_ns;
	w->largest_before = w->largest;
	w->largest = 0;
}

/* Returns how full its fullest ring was. */
static uint32_t drain_one(struct watch *w, struct session *s, uint64_t now_ns)
{
	struct drain_result result;

	session_events_clock(s);
	result = session_drain(s, w->queue, DRAIN_RUNNING);
	session_tidy(s, now_ns);
	w->largest = result.largest > w->largest ? result.largest : w->largest;
	w->is_behind |= result.unfinished;
	if (result.events)
		w->events_ns = now_ns;
	if (s->process->pid == load_relaxed(&w->root) && session_is_exiting(s))
		tell_root_event(w);
	return result.fill_permille;
}

static uint64_t watch_now(const struct watch *w)
{
	return w->now ? w->now() : clock_mono_ns();
}

/* Sessions that the last pass had no time for come first: each round has every session once.
 * Returns how full the fullest ring was. */
static uint32_t drain_sessions(struct watch *w, uint64_t now_ns)
{
	uint32_t fill = 0, one;

	w->is_behind = 0;
	for (struct session *s = w->first; s; s = s->next) {
		if (s->round == w->round)
			continue;
		if (watch_now(w) - now_ns >= PASS_NS) {
			w->is_behind = 1;
			return fill;
		}
		s->round = w->round;
		one = drain_one(w, s, now_ns);
		fill = one > fill ? one : fill;
	}
	w->round++;
	return fill;
}

void watch_drain(struct watch *w)
{
	uint64_t now_ns = watch_now(w);
	uint32_t fill;

	tsc_clock_tick(&w->clock, now_ns);
	fill = drain_sessions(w, now_ns);
	forget_old_sizes(w, now_ns);
	w->max_pause_ms = longest_pause_ms(w);
	watch_set_pause(w, fill);
	if (now_ns - w->shared_ns >= BUDGET_NS) {
		w->shared_ns = now_ns;
		watch_share_budget(w, NULL);
	}
	end_chunk_when_due(w, now_ns);
	tick_when_due(w, now_ns);
}

static void stop_all(struct watch *w)
{
	for (struct session *s = w->first; s; s = s->next)
		session_stop(s);
	watch_attach_stop(w);
}

/* An exiting target waits for a word in its session's header, which is unmapped with the session: a
 * second mapping of it stays until the file is complete. */
static void remember_waiting(struct watch *w, const struct session *s)
{
	void *page;

	if (w->waiting_count == WATCH_WAITING_MAX)
		return;
	page = mmap(NULL, WEFT_SESSION_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->memfd,
		    0);
	if (page != MAP_FAILED)
		w->waiting[w->waiting_count++] = page;
}

void watch_tell_done(struct watch *w)
{
	for (size_t i = 0; i < w->waiting_count; i++) {
		session_done_at(w->waiting[i]);
		munmap(w->waiting[i], WEFT_SESSION_HEADER_BYTES);
	}
	w->waiting_count = 0;
}

static void finish_all(struct watch *w)
{
	struct session *s;

	stop_all(w);
	while ((s = w->first)) {
		int dead = session_is_dead(s);

		if (!dead)
			remember_waiting(w, s);
		watch_close_session(w, s, dead ? RECORDING_END_EXITED : RECORDING_END_RUNNING);
	}
}

void *watch_run(void *arg)
{
	struct watch *w = arg;
	struct epoll_event event[EVENTS_MAX];

	while (!load_acquire(&w->finishing)) {
		int soon_ms = watch_attach_tick(w, clock_mono_ns());
		int n = epoll_wait(w->poll_fd, event, EVENTS_MAX,
				   w->is_behind            ? 0
				   : !w->first             ? 1000
				   : soon_ms < w->pause_ms ? soon_ms
							   : w->pause_ms);

		for (int i = 0; i < n; i++)
			watch_handle_fd(w, event[i].data.fd);
		watch_drain(w);
	}
	finish_all(w);
	return NULL;
}
