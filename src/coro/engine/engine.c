/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/engine.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "coro/engine/anchor.h"
#include "coro/engine/harvest.h"
#include "coro/engine/maps_note.h"
#include "coro/engine/progress.h"
#include "coro/engine/tracees.h"
#include "coro/engine/writer.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define PERIOD_LEAST_NS UINT64_C(1000000)
#define PERIOD_MOST_NS UINT64_C(50000000)
#define SWEEP_ALL_NS UINT64_C(1000000000)
#define CLOCKS_NS UINT64_C(1000000000)
#define PRESSED_SWEEPS 200 /* before others get their turn */
#define DRAIN_SWEEPS 1000  /* of targets that go on writing */
#define BATCH_MOST (64 * 1024)

/* Where its files lie: where it was told, else in a directory of its own, 0700, under
 * $XDG_RUNTIME_DIR or /tmp. */
struct engine_place {
	char directory[PATH_MAX]; /* "" = none was made */
	char shm[PATH_MAX], sock[PATH_MAX];
	int owns_shm; /* it is ours to take away */
};

struct coro_engine {
	struct coro_engine_options options;
	struct engine_place place;
	struct coro_shm shm;
	struct tracees tracees;
	struct anchor anchor;
	struct progress progress;
	struct coro_harvest *harvest;
	struct writer *writer;
	struct maps_note *maps; /* or NULL */
	struct coro_sink *sink; /* from its opening until the writer has it */
	struct coro_batch batch;
	uint64_t period_ns, swept_all_ns, clocks_ns, empty_scans;
	uint64_t delivered_before; /* by engines before this one */
	int64_t died;
	int asleep, is_cut, failed, stopped, has_suspects;
};

/* ---- its place */

static int make_directory(struct engine_place *p)
{
	const char *above = getenv("XDG_RUNTIME_DIR");

	if (!above || above[0] != '/' || strlen(above) > 60 || access(above, W_OK | X_OK))
		above = "/tmp";
	snprintf(p->directory, sizeof(p->directory), "%s/weft-coro-XXXXXX", above);
	if (mkdtemp(p->directory))
		return 0;
	p->directory[0] = 0;
	return -errno;
}

/* As the target will find it, wherever it goes. */
static int engine_place_set_path(char out[PATH_MAX], const char *given, const char *directory,
				 const char *name)
{
	char here[PATH_MAX];
	int n;

	if (!given)
		n = snprintf(out, PATH_MAX, "%.4000s/%s", directory, name);
	else if (given[0] == '/')
		n = snprintf(out, PATH_MAX, "%s", given);
	else if (!getcwd(here, sizeof(here)))
		return -errno;
	else
		n = snprintf(out, PATH_MAX, "%.2000s/%s", here, given);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int place_open(struct engine_place *p, const struct coro_engine_options *o,
		      const char **what)
{
	int rc = 0;

	*what = "a private directory";
	if (!o->shm_path || (!o->sock_path && !o->attach))
		rc = make_directory(p);
	if (rc)
		return rc;
	*what = o->shm_path ? o->shm_path : p->directory;
	rc = engine_place_set_path(p->shm, o->shm_path, p->directory, "stations");
	if (rc || (o->attach && !o->sock_path))
		return rc;
	*what = o->sock_path ? o->sock_path : p->directory;
	return engine_place_set_path(p->sock, o->sock_path, p->directory, "socket");
}

static void place_close(struct engine_place *p, int keep)
{
	if (p->owns_shm && !keep)
		unlink(p->shm);
	if (p->directory[0])
		rmdir(p->directory); /* not while something is kept in it */
}

/* Removes the private directory that @path lies in, if it is one and empty: an engine that was
 * killed left it. */
static void place_remove_private(const char *path)
{
	const char *end = strrchr(path, '/'), *name = end;
	char directory[PATH_MAX];

	if (!end || end == path || end - path >= PATH_MAX)
		return;
	while (name > path && name[-1] != '/')
		name--;
	if (strncmp(name, "weft-coro-", strlen("weft-coro-")) != 0)
		return;
	memcpy(directory, path, (size_t)(end - path));
	directory[end - path] = 0;
	rmdir(directory); /* not while something is in it */
}

/* ---- the header's engine fields */

static void tell_clocks(struct coro_engine *e, uint64_t now_ns)
{
	struct weft_ctp_header *h = e->shm.header;

	e->clocks_ns = now_ns;
	store_relaxed(&h->real_ns, clock_ns(CLOCK_REALTIME));
	store_relaxed(&h->boot_ns, clock_ns(CLOCK_BOOTTIME));
	store_relaxed(&h->mono_ns, clock_mono_ns());
}

static int appear(void *arg)
{
	struct coro_engine *e = arg;
	struct weft_ctp_header *h = e->shm.header;
	uint32_t features = WEFT_CTP_TIMER | WEFT_CTP_RECYCLE | WEFT_CTP_DIRTY;
	uint64_t epoch = 0;

	if (!e->shm.is_extended)
		return 0;
	while (!epoch)
		if (getrandom(&epoch, sizeof(epoch), 0) != (ssize_t)sizeof(epoch))
			epoch = clock_mono_ns() ^ (uint64_t)getpid() << 32;
	if (anchor_open(&e->anchor, &h->anchor))
		features |= WEFT_CTP_ANCHOR;
	tell_clocks(e, clock_mono_ns());
	store_relaxed(&h->engine_pid, (int32_t)getpid());
	store_relaxed(&h->engine_epoch, epoch);
	store_relaxed(&h->tracer_sleeping, 0);
	store_release(&h->features, features);
	return 0;
}

/* TIMER and RECYCLE stay: a probe that goes on without an engine has nobody to wake. */
static int disappear(void *arg)
{
	struct coro_engine *e = arg;
	struct weft_ctp_header *h = e->shm.header;

	store_relaxed(&h->tracer_sleeping, 0);
	if (!e->shm.is_extended)
		return 0;
	anchor_stop(&e->anchor);
	__atomic_fetch_and(&h->features, ~(uint32_t)WEFT_CTP_ANCHOR, __ATOMIC_RELAXED);
	store_relaxed(&h->engine_epoch, 0);
	store_relaxed(&h->engine_pid, 0);
	return 0;
}

static int keep_time(void *arg)
{
	struct coro_engine *e = arg;
	uint64_t now = clock_mono_ns();

	if (!e->shm.is_extended)
		return 0;
	anchor_update(&e->anchor);
	store_relaxed(&e->shm.header->harvested_ns, now);
	if (now - e->clocks_ns >= CLOCKS_NS)
		tell_clocks(e, now);
	return 0;
}

/* ---- opening */

static void tell_written(void *arg, uint64_t events)
{
	struct coro_engine *e = arg;

	if (e->progress.head)
		progress_tell(&e->progress, e->delivered_before + events);
}

static int go_on(struct coro_engine *e)
{
	e->shm.beside = e->progress.head;
	e->shm.beside_bytes = e->progress.bytes;
	return coro_harvest_resume(&e->harvest, &e->shm, e->progress.cursors);
}

static int open_new(struct coro_engine *e, const char **what)
{
	const struct coro_engine_options *o = &e->options;
	int rc;

	*what = e->place.shm;
	if (o->replace == CORO_SHM_LEFT_OVER)
		progress_remove_left_over(e->place.shm);
	rc = coro_shm_create(&e->shm, e->place.shm, o->stations, o->replace);
	if (rc)
		return rc;
	e->place.owns_shm = 1;
	rc = progress_create(&e->progress, e->place.shm, &e->shm);
	if (rc) {
		*what = e->progress.path;
		return rc;
	}
	return go_on(e);
}

static int engine_suspect(void *arg, uint32_t pid)
{
	struct coro_engine *e = arg;
	int rc = 0;

	if (pid && kill((pid_t)pid, 0) && errno == EPERM)
		rc = tracees_watch(&e->tracees, (pid_t)pid); /* its maps cannot be read */
	else if (pid)
		rc = tracees_suspect(&e->tracees, (pid_t)pid);
	e->has_suspects |= rc > 0;
	return rc < 0 ? rc : 0;
}

static int watch_user(void *arg, pid_t pid)
{
	struct coro_engine *e = arg;
	int rc = pid != getpid() ? tracees_watch(&e->tracees, pid) : 0;

	return rc < 0 ? rc : 0;
}

/* Finds processes that have stations and no connection. One that has the file mapped is watched;
 * one that has not is over, and what it left is to be buried. */
static int find_owners(struct coro_engine *e)
{
	int rc;

	e->has_suspects = 0;
	rc = coro_harvest_each_pid(e->harvest, engine_suspect, e);
	return rc || !e->has_suspects ? rc : coro_shm_each_user(&e->shm, watch_user, e);
}

/* Goes on from the last engine's cursors; without them, only events from now on are taken. */
static int engine_resume(struct coro_engine *e, const char **what)
{
	int rc = progress_open(&e->progress, e->place.shm, &e->shm);

	if (rc == -ENOENT) {
		rc = coro_harvest_new(&e->harvest, &e->shm);
		return rc ? rc : coro_harvest_skip(e->harvest);
	}
	if (rc) {
		*what = e->progress.path;
		return rc;
	}
	progress_recover(&e->progress);
	e->delivered_before = e->progress.head->delivered;
	return go_on(e);
}

static int open_old(struct coro_engine *e, const char **what)
{
	int rc;

	*what = e->place.shm;
	rc = coro_shm_open(&e->shm, e->place.shm, 1);
	if (!rc)
		rc = engine_resume(e, what);
	return rc ? rc : find_owners(e);
}

static int engine_open_sink(struct coro_engine *e, const char **what)
{
	struct coro_sink *sink = e->options.sink;
	int rc;

	*what = sink->path ? sink->path : "standard output";
	if (e->options.attach && e->progress.head && progress_is_output(&e->progress, sink->path))
		sink->append = 1;
	sink->mono_ns = clock_mono_ns();
	sink->real_ns = clock_ns(CLOCK_REALTIME);
	sink->boot_ns = clock_ns(CLOCK_BOOTTIME);
	e->sink = sink;
	rc = sink->ops->open(sink);
	if (rc)
		return rc;
	if (e->options.maps_path) {
		e->maps = maps_note_new(e->options.maps_path, sink->replace, sink->append,
					e->shm.device, e->shm.inode);
		if (!e->maps)
			return -ENOMEM;
	}
	if (e->progress.head)
		progress_output(&e->progress, sink->is_live ? sink->path : NULL);
	if (sink->extended && sink->takes_deaths)
		coro_harvest_tell_deaths(e->harvest);
	rc = writer_open(&e->writer, sink, tell_written, e);
	if (!rc)
		e->sink = NULL;
	return rc;
}

static int open_socket(struct coro_engine *e, const char **what)
{
	const char *path = e->place.sock;
	int rc;

	if (e->options.attach && e->progress.head && !e->options.sock_path)
		path = e->progress.head->socket;
	*what = path;
	if (!path[0])
		return 0;
	rc = tracees_listen(&e->tracees, path,
			    e->options.attach || e->options.replace == CORO_SHM_LEFT_OVER);
	if (rc && e->options.attach && !e->options.sock_path)
		return 0; /* processes that come now have to do without it */
	if (rc == 0 && e->progress.head)
		snprintf(e->progress.head->socket, sizeof(e->progress.head->socket), "%s", path);
	return rc;
}

static int engine_open_parts(struct coro_engine *e, const char **what)
{
	int rc;

	*what = "engine";
	rc = tracees_open(&e->tracees);
	if (!rc)
		rc = place_open(&e->place, &e->options, what);
	if (!rc)
		rc = e->options.attach ? open_old(e, what) : open_new(e, what);
	if (!rc)
		rc = open_socket(e, what);
	if (!rc)
		rc = engine_open_sink(e, what);
	if (!rc) {
		*what = e->place.shm;
		rc = coro_shm_guard(&e->shm, appear, e);
	}
	if (rc)
		return rc;
	e->place.owns_shm = 1;
	return tracees_arm(&e->tracees, e->period_ns);
}

/* Keeps the reason of an engine that is about to be freed. */
static void tell_refusal(const struct coro_engine *e, const char **what, const char **why)
{
	static char about[PATH_MAX + 16], reason[512];
	const char *words = e->sink ? e->sink->ops->why(e->sink) : NULL;

	snprintf(about, sizeof(about), "%s", *what);
	*what = about;
	if (!why || !words)
		return;
	snprintf(reason, sizeof(reason), "%s", words);
	*why = reason;
}

int coro_engine_open(struct coro_engine **out, const struct coro_engine_options *options,
		     const char **what, const char **why)
{
	struct coro_engine *e = calloc(1, sizeof(*e));
	int rc;

	*what = "engine";
	if (why)
		*why = NULL;
	if (!e)
		return -ENOMEM;
	e->options = *options;
	e->shm.fd = -1;
	e->period_ns = PERIOD_LEAST_NS;
	rc = engine_open_parts(e, what);
	if (rc) {
		tell_refusal(e, what, why);
		coro_engine_free(e);
		return rc;
	}
	*out = e;
	return 0;
}

const char *coro_engine_shm_path(const struct coro_engine *e)
{
	return e->place.shm;
}

const char *coro_engine_sock_path(const struct coro_engine *e)
{
	return e->tracees.path;
}

uint32_t coro_engine_stations(const struct coro_engine *e)
{
	return e->shm.count;
}

int coro_engine_fd(const struct coro_engine *e)
{
	return e->tracees.epoll;
}

size_t coro_engine_alive(const struct coro_engine *e)
{
	return tracees_alive(&e->tracees);
}

/* ---- harvesting */

/* What the output does not take counts as lost. */
static void engine_hand_over(struct coro_engine *e)
{
	int rc = writer_give(e->writer, &e->batch);

	if (rc == 0)
		return;
	coro_harvest_give_up(e->harvest, e->batch.events, e->batch.count);
	e->batch.count = e->batch.death_count = 0;
	if (rc != -EAGAIN)
		e->failed = 1;
}

static int64_t engine_take(struct coro_engine *e, enum coro_sweep sweep)
{
	int64_t taken = coro_harvest_take(e->harvest, sweep, &e->batch);

	if (taken == -EIO)
		e->is_cut = 1;
	if (e->maps && e->batch.count)
		maps_note_events(e->maps, e->batch.events, e->batch.count, clock_mono_ns());
	engine_hand_over(e);
	return taken;
}

static int64_t sweep_once(struct coro_engine *e)
{
	uint64_t now = clock_mono_ns();
	int is_time = now - e->swept_all_ns >= SWEEP_ALL_NS && e->shm.count <= BATCH_MOST;

	if (is_time)
		e->swept_all_ns = now;
	return engine_take(e, is_time ? CORO_SWEEP_ALL : CORO_SWEEP_DIRTY);
}

static int64_t sweep_while_pressed(struct coro_engine *e)
{
	int64_t all = 0;

	for (int i = 0; i < PRESSED_SWEEPS; i++) {
		int64_t taken = sweep_once(e);

		if (taken < 0)
			return taken;
		all += taken;
		if (!coro_harvest_is_pressed(e->harvest))
			break;
		sched_yield();
	}
	return all;
}

static void set_sleeping(struct coro_engine *e, uint32_t asleep)
{
	e->asleep = (int)asleep;
	store_seq_cst(&e->shm.header->tracer_sleeping, asleep);
}

static int wake(void *arg)
{
	set_sleeping(arg, 0);
	return 0;
}

static int sleep_now(void *arg)
{
	set_sleeping(arg, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return 0;
}

/* A probe that writes after the last sweep sees the flag; what was written before it is found. */
static int64_t go_to_sleep(struct coro_engine *e)
{
	int64_t taken;

	if (coro_shm_guard(&e->shm, sleep_now, e))
		return -EIO;
	taken = sweep_once(e);
	if (taken > 0)
		coro_shm_guard(&e->shm, wake, e);
	return taken;
}

static int64_t harvest(struct coro_engine *e)
{
	int64_t taken = sweep_while_pressed(e), more = 0;

	if (taken < 0)
		return taken;
	e->empty_scans = taken ? 0 : e->empty_scans + 1;
	if (taken && e->asleep)
		coro_shm_guard(&e->shm, wake, e);
	if (!taken && !e->asleep && e->empty_scans >= e->options.idle_scans)
		more = go_to_sleep(e);
	if (more < 0)
		return more;
	if (taken || more)
		e->period_ns = PERIOD_LEAST_NS;
	else
		e->period_ns =
			e->period_ns * 2 < PERIOD_MOST_NS ? e->period_ns * 2 : PERIOD_MOST_NS;
	if (coro_harvest_is_pressed(e->harvest))
		e->period_ns = 1;
	return taken + more;
}

/* The kernel has told that they ended: all that they wrote is there. */
static int engine_bury(struct coro_engine *e)
{
	int64_t taken = engine_take(e, CORO_SWEEP_ALL);
	pid_t pid;

	while (taken >= 0 && (pid = tracees_take_over(&e->tracees))) {
		taken = coro_harvest_bury(e->harvest, (uint32_t)pid);
		e->died += taken > 0 ? taken : 0;
	}
	return taken < 0 ? (int)taken : 0;
}

static void note_new(struct coro_engine *e)
{
	pid_t pid;

	while ((pid = tracees_take_new(&e->tracees)))
		if (e->maps)
			maps_note_process(e->maps, (uint32_t)pid, clock_mono_ns());
}

int coro_engine_step(struct coro_engine *e)
{
	int news = tracees_step(&e->tracees), rc = news < 0 ? news : 0;
	int64_t taken;

	if (!rc && news & TRACEES_NEW)
		note_new(e);
	if (!rc && news & TRACEES_OVER)
		rc = engine_bury(e);
	if (!rc && coro_shm_guard(&e->shm, keep_time, e))
		rc = -EIO;
	if (!rc && news & (TRACEES_TIMER | TRACEES_WOKEN)) {
		taken = harvest(e);
		rc = taken < 0 ? (int)taken : tracees_arm(&e->tracees, e->period_ns);
	}
	if (rc == -EIO)
		e->is_cut = 1;
	return rc;
}

/* ---- the end */

static void drain(struct coro_engine *e)
{
	int quiet = 0;

	for (int i = 0; i < DRAIN_SWEEPS && quiet < 2; i++) {
		int64_t taken = engine_take(e, CORO_SWEEP_ALL);

		if (taken < 0 && taken != -EIO)
			return;
		quiet = taken ? 0 : quiet + 1;
	}
	tracees_step(&e->tracees);
	/* of a process in a PID namespace that came and went between two looks, our pid alone is
	 * known: its stations have another */
	find_owners(e);
	if (engine_bury(e) == 0 && !tracees_alive(&e->tracees))
		engine_take(e, CORO_SWEEP_LAST);
}

/* Events that were handed over, and are in no output, are lost. */
static void close_books(struct coro_engine *e, struct coro_books *b, uint64_t delivered)
{
	uint64_t missing = b->harvested - e->delivered_before - delivered;

	b->harvested -= missing;
	b->lost += missing;
	b->lost_unwritten += missing;
}

void coro_engine_finish(struct coro_engine *e, struct coro_engine_result *result)
{
	uint64_t delivered;

	memset(result, 0, sizeof(*result));
	drain(e);
	if (!e->is_cut && coro_shm_guard(&e->shm, disappear, e))
		e->is_cut = 1;
	e->stopped = 1;
	delivered = writer_drain(e->writer, e->options.is_enough, e->options.is_enough_arg);
	if (coro_harvest_books(e->harvest, &result->books))
		e->is_cut = 1;
	close_books(e, &result->books, delivered);
	result->rc = writer_finish(e->writer, &result->books);
	result->why = writer_why(e->writer);
	result->is_cut = e->is_cut;
	result->died = e->died;
	result->maps_rc = e->maps ? maps_note_error(e->maps) : 0;
}

void coro_engine_free(struct coro_engine *e)
{
	if (!e)
		return;
	if (e->shm.header && !e->stopped && e->shm.is_writable)
		coro_shm_guard(&e->shm, disappear, e);
	maps_note_free(e->maps);
	writer_free(e->writer);
	if (e->sink)
		e->sink->ops->close(e->sink);
	coro_harvest_free(e->harvest);
	progress_close(&e->progress,
		       e->place.owns_shm &&
			       (!e->options.keep || e->options.replace == CORO_SHM_LEFT_OVER));
	tracees_close(&e->tracees);
	place_close(&e->place, e->options.keep);
	if (e->options.attach) {
		place_remove_private(e->tracees.path);
		place_remove_private(e->place.shm);
	}
	coro_shm_close(&e->shm);
	coro_batch_free(&e->batch);
	free(e);
}
