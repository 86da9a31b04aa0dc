/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a collector: see collector.h; its drain thread is in watch.c. */
#include "collector/run/watch.h"

#include "base/cache_place.h"
#include "base/clock.h"
#include "base/map.h"
#include "collector/run/hrtimer.h"
#include "collector/walk/jit.h"
#include "collector/walk/walk.h"
#include "collector/write/recording_system.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* By default the queues have room for minutes of work of a worker that is busy with something else,
 * at a thousand samples a second. */
#define MEMORY_BYTES ((uint64_t)512 << 20)
/* Of the memory: samples with copies of stacks; those that wait for names of JIT code; walked ones,
 * of some 400 bytes; those that wait for older ones. The rest is for what does not grow with the
 * load. */
#define DRAINED_PART 8
#define HELD_PART 8
#define WALKED_PART 4
#define TIMELINES_PART 8
#define WARNINGS_MAX 64 /* that wait to be taken; more are in the file alone */

/* What was not done as asked, on its way to whoever began the recording: the library prints
 * nothing. Each but that of the cache is a weft.Warning in the file, too. */
struct warnings {
	pthread_mutex_t lock;
	char *text[WARNINGS_MAX]; /* the oldest first */
	size_t count;
};

struct collector {
	struct watch watch;
	struct walker walker;
	struct worker worker;
	struct outside *outside;
	struct queue drained, walked; /* see queue.h */
	struct tables tables;
	struct table_cache cache;
	pthread_t watching_thread, walking_thread, writing_thread;
	int watching, walking, writing; /* threads that run */
	struct batch *finish;           /* the last one, which must not fail; NULL: handed on */
	struct warnings warnings;
	int hrtimer;          /* of hrtimer_prepare(), or -1 */
	char *settings_asked; /* as in the options; NULL = none */
	uint64_t root_cpu_ns; /* that the root had used when it was reaped; 0 = not known */
	char reason[64];      /* how the root has ended; "" = it has not, as far as is known */
};

const char *const collector_stack_modes[] = {"auto", "table", "fp", "raw", NULL, "check", NULL};

static const char *const stack_mode_names[] = {
	[WEFT_STACK_RAW] = "raw", [WEFT_STACK_AUTO] = "auto",   [WEFT_STACK_TABLE] = "table",
	[WEFT_STACK_FP] = "fp",   [WEFT_STACK_CHECK] = "check",
};

int collector_stack_mode(const char *name)
{
	for (size_t i = 0; i < sizeof(stack_mode_names) / sizeof(stack_mode_names[0]); i++)
		if (strcmp(stack_mode_names[i], name) == 0)
			return (int)i;
	return -EINVAL;
}

/* The worker's thread has one to tell, or who opens. @arg: struct warnings. */
static void warnings_add(void *arg, const char *text)
{
	struct warnings *w = arg;
	char *copy;

	pthread_mutex_lock(&w->lock);
	copy = w->count < WARNINGS_MAX ? strdup(text) : NULL;
	if (copy)
		w->text[w->count++] = copy;
	pthread_mutex_unlock(&w->lock);
}

/* Without a cache all is recorded, but later and dearer each time: whoever has let others write
 * there (umask 002 does, where each user has a group of its own) is told. */
static void open_cache(struct collector *c)
{
	int rc = table_cache_open(&c->cache, 1);
	char path[PATH_MAX], text[PATH_MAX + 128];

	if ((rc != -EPERM && rc != -ELOOP) || cache_place(path, sizeof(path)))
		return;
	snprintf(text, sizeof(text),
		 "%s: unwind tables are not kept there: others can exchange it, or a directory on "
		 "its way",
		 path);
	warnings_add(&c->warnings, text);
}

static int open_recording(struct collector *c, const struct collector_options *o)
{
	struct recording_options options = {
		.path = o->path,
		.command_line = o->command_line,
		.version = o->version,
		.stack_mode = stack_mode_names[o->stack_mode],
		.pid = o->root,
		.period_ns = o->period_ns,
		.wall_period_ns = o->wall.period_ns,
		.engines = o->engines,
		.chunk_ns = o->chunk_ns,
		.chunk_bytes = o->chunk_bytes,
		.max_bytes = o->max_bytes,
		.max_age_ns = o->max_age_ns,
		.duration_ns = o->duration_ns,
		.threads = o->wall.pattern,
		.inline_context = o->inline_context,
		.context_from = o->wall.from,
		.settings = &c->watch.text,
		.tell = warnings_add,
		.tell_arg = &c->warnings,
	};

	int rc = recording_open(&c->worker.recording, &options);

	if (rc == 0 && o->environment)
		recording_set_system_event(c->worker.recording, SYSTEM_ENVIRONMENT, 1, 0);
	return rc;
}

uint32_t collector_prime_signal(const struct collector_options *o)
{
	if (o->prime_signal == COLLECTOR_NO_SIGNAL)
		return 0;
	return o->prime_signal ? (uint32_t)o->prime_signal : SIGURG;
}

static int open_outside(struct collector *c, const struct collector_options *o)
{
	struct outside_options options = {
		.wall = o->wall,
		.out = &c->drained,
		.prime_signal = (int)collector_prime_signal(o),
	};

	return outside_open(&c->outside, &options);
}

static int collector_open_parts(struct collector *c, const struct collector_options *o,
				const char **what)
{
	uint64_t bytes = o->memory_bytes ? o->memory_bytes : MEMORY_BYTES;
	int rc = queue_init(&c->drained, bytes / DRAINED_PART);

	*what = "memory";
	if (rc == 0)
		rc = queue_init(&c->walked, bytes / WALKED_PART);
	c->worker.timelines.limit = bytes / TIMELINES_PART;
	if (rc == 0)
		rc = naming_init(&c->worker.naming);
	if (rc)
		return rc;
	c->finish = batch_new(BATCH_FINISH, NULL, 0);
	if (!c->finish)
		return -ENOMEM;
	/* The collector works without either. */
	tables_open(&c->tables, WEFT_TABLES_BYTES);
	open_cache(c);
	c->walker = (struct walker){
		.in = &c->drained,
		.out = &c->walked,
		.walking = {.modules = modules_new(&c->tables, &c->cache),
			    .tables = &c->tables,
			    .jit_budget = JIT_BUDGET_BYTES},
		.held_max = bytes / HELD_PART,
	};
	c->worker.queue = &c->walked;
	c->worker.period_ns = o->period_ns;
	c->worker.wall_period_ns = o->wall.period_ns;
	if (!c->walker.walking.modules)
		return -ENOMEM;
	if (o->debuginfod)
		modules_ask_servers(c->walker.walking.modules);
	*what = "threads";
	rc = open_outside(c, o);
	if (rc)
		return rc;
	*what = "rendezvous socket";
	rc = watch_open(&c->watch, &c->drained, &c->worker, c->outside, &c->tables, o);
	if (rc)
		return rc;
	*what = o->path;
	rc = open_recording(c, o);
	if (rc == 0)
		c->worker.naming.writer = recording_writer(c->worker.recording);
	return rc;
}

/* All threads leave all signals to the caller's thread. */
static int start_threads(struct collector *c)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&c->writing_thread, NULL, worker_run, &c->worker);
	c->writing = rc == 0;
	if (rc == 0)
		rc = -pthread_create(&c->walking_thread, NULL, walker_run, &c->walker);
	c->walking = c->writing && rc == 0;
	if (rc == 0)
		rc = -pthread_create(&c->watching_thread, NULL, watch_run, &c->watch);
	c->watching = c->walking && rc == 0;
	if (rc == 0)
		rc = door_begin(&c->watch.door);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int collector_open(struct collector **out, const struct collector_options *options,
		   const char **what)
{
	struct collector *c = calloc(1, sizeof(*c));
	int rc;

	*what = "memory";
	if (!c)
		return -ENOMEM;
	c->watch = (struct watch)WATCH_CLOSED;
	c->tables.fd = c->cache.fd = -1;
	pthread_mutex_init(&c->warnings.lock, NULL);
	c->hrtimer = options->clock == WEFT_CLOCK_AUTO && !hrtimer_kills() ? hrtimer_prepare() : -1;
	c->settings_asked = options->settings_asked ? strdup(options->settings_asked) : NULL;
	rc = collector_open_parts(c, options, what);
	if (rc == 0) {
		watch_attach_all(&c->watch, options);
		*what = "threads";
		rc = start_threads(c);
	}
	if (rc) {
		collector_free(c);
		return rc;
	}
	*out = c;
	return 0;
}

const char *collector_socket(const struct collector *c)
{
	return c->watch.door.rendezvous.path;
}

void collector_set_root(struct collector *c, pid_t root)
{
	recording_set_root(c->worker.recording, root);
	store_release(&c->watch.root, root);
}

void collector_root_ended(struct collector *c, int status)
{
	if (status == -1)
		snprintf(c->reason, sizeof(c->reason), "Exited");
	else if (!WIFSIGNALED(status))
		snprintf(c->reason, sizeof(c->reason), "Exited with status %d",
			 WEXITSTATUS(status));
	else
		snprintf(c->reason, sizeof(c->reason), "Killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
}

void collector_root_ends(struct collector *c, pid_t root)
{
	if (process_cpu_read(root, &c->root_cpu_ns))
		c->root_cpu_ns = 0;
}

int collector_root_fd(const struct collector *c)
{
	return c->watch.root_event;
}

int collector_warning(struct collector *c, char *out, size_t room)
{
	struct warnings *w = &c->warnings;
	char *first = NULL;

	pthread_mutex_lock(&w->lock);
	if (w->count) {
		first = w->text[0];
		memmove(&w->text[0], &w->text[1], --w->count * sizeof(w->text[0]));
	}
	pthread_mutex_unlock(&w->lock);
	if (first)
		snprintf(out, room, "%s", first);
	free(first);
	return first != NULL;
}

void collector_progress(const struct collector *c, struct collector_progress *out)
{
	out->samples = load_relaxed(&c->worker.samples);
	out->wall_samples = load_relaxed(&c->worker.wall_samples);
	out->bytes = load_relaxed(&c->worker.bytes);
	out->error = load_relaxed(&c->worker.error);
	out->processes = load_relaxed(&c->watch.processes);
	out->waiting = load_relaxed(&c->watch.attach_waiting);
	out->attach_error = load_relaxed(&c->watch.attach_error);
	out->running = load_relaxed(&c->watch.running);
}

static void join_threads(struct collector *c)
{
	door_end(&c->watch.door);
	if (c->watching) {
		watch_finish(&c->watch);
		pthread_join(c->watching_thread, NULL);
		c->watching = 0;
	}
	door_turn_away(&c->watch.door);
	outside_stop(c->outside); /* what it still hands on comes before BATCH_FINISH */
	if (c->writing) {
		queue_push(c->walking ? &c->drained : &c->walked, c->finish);
		c->finish = NULL;
	}
	if (c->walking)
		pthread_join(c->walking_thread, NULL);
	if (c->writing)
		pthread_join(c->writing_thread, NULL);
	c->walking = c->writing = 0;
}

/* The globs of settings_asked that no event type matched. */
static void find_idle(const struct collector *c, char *out, size_t room)
{
	const char *at = c->settings_asked;
	size_t used = 0;

	while (at && *at) {
		size_t bytes = strcspn(at, "\n");

		if (!recording_has_types(c->worker.recording, at, bytes) &&
		    used + bytes + 3 < room) {
			used += (size_t)snprintf(out + used, room - used, "%s%.*s",
						 used ? ", " : "", (int)bytes, at);
		}
		at += bytes + (at[bytes] == '\n');
	}
}

int collector_complete(struct collector *c, struct collector_result *out)
{
	int rc;

	*out = (struct collector_result){.processes = 0};
	join_threads(c);
	if (c->reason[0])
		recording_shutdown(c->worker.recording, clock_mono_ns(), c->reason);
	find_idle(c, out->settings_idle, sizeof(out->settings_idle));
	if (c->root_cpu_ns)
		recording_account_process(c->worker.recording, c->watch.root, c->root_cpu_ns,
					  clock_mono_ns());
	rc = recording_close(c->worker.recording, clock_mono_ns(), &out->written);
	c->worker.recording = NULL;
	out->processes = c->watch.processes;
	out->attach_execs = c->watch.attach_execs;
	out->total = c->worker.total;
	out->refused = c->watch.refused;
	out->gone = c->watch.gone;
	out->refused_error = c->watch.refused_error;
	out->unsampled = outside_unsampled(c->outside, &out->unsampled_count);
	rc = rc ? rc : c->worker.error;
	return rc ? rc : c->walker.error;
}

int collector_has_refused(const struct collector *c, pid_t pid)
{
	return c->watch.refused_pids && map_get(c->watch.refused_pids, &pid, sizeof(pid));
}

void collector_let_go(struct collector *c)
{
	watch_tell_done(&c->watch);
}

int collector_finish(struct collector *c, struct collector_result *out)
{
	int rc = collector_complete(c, out);

	collector_let_go(c);
	return rc;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	join_threads(c);
	outside_free(c->outside);
	recording_close(c->worker.recording, clock_mono_ns(), NULL);
	watch_close(&c->watch);
	naming_free(&c->worker.naming);
	modules_free(c->walker.walking.modules);
	tables_close(&c->tables);
	table_cache_close(&c->cache);
	for (size_t i = 0; i < c->warnings.count; i++)
		free(c->warnings.text[i]);
	pthread_mutex_destroy(&c->warnings.lock);
	free(c->settings_asked);
	free(c->finish);
	if (c->hrtimer >= 0)
		close(c->hrtimer);
	if (c->drained.last)
		queue_destroy(&c->drained);
	if (c->walked.last)
		queue_destroy(&c->walked);
	free(c);
}
