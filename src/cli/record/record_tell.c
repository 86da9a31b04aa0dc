/* SPDX-License-Identifier: Apache-2.0 */
/* What record says at the end: one line of sums, then hints, then what went wrong. */
#include "cli/frame/cli.h"
#include "cli/record/record.h"
#include "collector/look/outside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct cause {
	const char *name, *kind;
};

#define COUNTER_ROW(number, id, name, kind, text) [number] = {name, #kind},
static const struct cause causes[WEFT_COUNTER_COUNT] = {WEFT_COUNTERS(COUNTER_ROW)};

struct line {
	char text[1024];
	size_t used;
};

static void record_tell_add(struct line *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void record_tell_add(struct line *l, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): begun above */
	n = vsnprintf(l->text + l->used, sizeof(l->text) - l->used, format, list);
	va_end(list);
	if (n > 0)
		l->used += (size_t)n;
	if (l->used >= sizeof(l->text))
		l->used = sizeof(l->text) - 1;
}

void record_size_text(uint64_t bytes, char *out, size_t room)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double size = (double)bytes;
	size_t i = 0;

	while (size >= 1024 && i < 4) {
		size /= 1024;
		i++;
	}
	snprintf(out, room, i ? "%.1f %s" : "%.0f %s", size, unit[i]);
}

static const char *record_tell_plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* Adds "NAME COUNT" behind *before, which is a comma from then on; nothing for 0. */
static void add_cause(struct line *l, const char **before, const char *name, uint64_t count)
{
	if (!count)
		return;
	record_tell_add(l, "%s%s %llu", *before, name, (unsigned long long)count);
	*before = ", ";
}

struct loss {
	const char *name;
	uint64_t count;
};

static void add_losses(struct line *l, const struct loss *loss, size_t count)
{
	const char *before = "";
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += loss[i].count;
	if (!sum)
		return;
	record_tell_add(l, ", %llu lost (", (unsigned long long)sum);
	for (size_t i = 0; i < count; i++)
		add_cause(l, &before, loss[i].name, loss[i].count);
	record_tell_add(l, ")");
}

/* Samples. */
static void add_lost(struct line *l, const struct collector_result *result)
{
	struct loss loss[WEFT_COUNTER_COUNT + 2];
	size_t n = 0;

	for (size_t i = 0; i < WEFT_COUNTER_COUNT; i++)
		if (strcmp(causes[i].kind, "LOST") == 0)
			loss[n++] = (struct loss){causes[i].name, result->total.counter[i]};
	loss[n++] = (struct loss){"pending", result->total.pending};
	loss[n++] = (struct loss){"unwritten", result->written.lost.samples};
	add_losses(l, loss, n);
}

static void add_number(struct line *l, const char *before, uint64_t n, const char *one,
		       const char *many)
{
	record_tell_add(l, "%s%llu %s", before, (unsigned long long)n,
			record_tell_plural(n, one, many));
}

/* Wall samples that are missing, other than those that options leave out. */
static void add_missed(struct line *l, const struct collector_result *result)
{
	const uint64_t *counter = result->total.counter;
	const char *before = ", stacks not read: ";

	add_cause(l, &before, "wall_unreadable", counter[WEFT_COUNTER_WALL_UNREADABLE]);
	before = ", not taken: ";
	add_cause(l, &before, "wall_moved", counter[WEFT_COUNTER_WALL_MOVED]);
	add_cause(l, &before, "wall_unwritten", result->written.lost.wall);
}

/* Typed events, and runs and waits of coroutines. */
static void add_event_losses(struct line *l, const struct collector_result *result)
{
	static const enum weft_counter lost[] = {
		WEFT_COUNTER_EVENTS_RING_FULL, WEFT_COUNTER_EVENTS_NESTED,
		WEFT_COUNTER_EVENTS_STOLEN,    WEFT_COUNTER_EVENTS_INVALID,
		WEFT_COUNTER_EVENTS_MISTIMED,  WEFT_COUNTER_EVENTS_NO_SLOT,
	};
	struct loss loss[sizeof(lost) / sizeof(lost[0]) + 2];
	size_t n = 0;

	for (; n < sizeof(lost) / sizeof(lost[0]); n++)
		loss[n] = (struct loss){causes[lost[n]].name, result->total.counter[lost[n]]};
	loss[n++] = (struct loss){"events_pending", result->total.events_pending};
	loss[n++] = (struct loss){"events_unwritten",
				  result->written.lost.switches + result->written.lost.typed};
	add_losses(l, loss, n);
}

/* Typed events, and coroutines' runs and waits; the latter also where nothing tells which it was.
 */
static void add_events(struct line *l, const struct collector_result *result)
{
	const struct recording_events *in_file = &result->written.in_file;
	int is_typed = in_file->typed || result->written.lost.typed;
	int is_switched = in_file->switches || result->written.lost.switches || !is_typed;

	if (!result->total.counter[WEFT_COUNTER_EVENTS_ATTEMPTED] && !in_file->switches)
		return;
	if (is_typed)
		add_number(l, ", ", in_file->typed, "event", "events");
	if (is_switched)
		add_number(l, ", ", in_file->switches, "coroutine run or wait",
			   "coroutine runs and waits");
	add_event_losses(l, result);
}

static void tell_sums(const struct record *r, const struct collector_result *result)
{
	uint64_t wall = result->written.in_file.wall;
	struct line l = {.used = 0};
	char size[32];

	record_size_text(result->written.bytes, size, sizeof(size));
	if (r->options->engines & WEFT_ENGINE_CPU || !r->options->engines)
		add_number(&l, "", result->written.in_file.samples, "sample", "samples");
	else
		add_number(&l, "", wall, "wall sample", "wall samples");
	add_lost(&l, result);
	if (r->options->engines == (WEFT_ENGINE_CPU | WEFT_ENGINE_WALL))
		add_number(&l, ", ", wall, "wall sample", "wall samples");
	if (r->options->engines & WEFT_ENGINE_WALL)
		add_missed(&l, result);
	add_events(&l, result);
	record_tell_add(&l, ", %llu %s, %u %s: %s (%s)", (unsigned long long)result->total.threads,
			record_tell_plural(result->total.threads, "thread", "threads"),
			result->processes,
			record_tell_plural(result->processes, "process", "processes"),
			r->options->path, size);
	cli_tell("%s", l.text);
}

#define TOLD_NS UINT64_C(100000000) /* of less CPU time the samples say little */

/* How much CPU time the samples stand for, of what the kernel counted. */
static void tell_account(const struct recording_written *written)
{
	double seen = (double)written->seen_ns / 1e9, used = (double)written->used_ns / 1e9;

	if (written->used_ns >= TOLD_NS)
		cli_tell("seen %.2f s of %.2f s used (%.1f %%)", seen, used, 100 * seen / used);
	if (written->times_off)
		cli_tell("of %u %s running, waiting and blocked do not add up", written->times_off,
			 record_tell_plural(written->times_off, "thread", "threads"));
}

static void tell_dropped(const struct recording_written *written)
{
	char size[32];

	if (!written->dropped_chunks)
		return;
	record_size_text(written->dropped_bytes, size, sizeof(size));
	cli_tell("the oldest %llu %s of the file (%s) %s dropped",
		 (unsigned long long)written->dropped_chunks,
		 record_tell_plural(written->dropped_chunks, "part", "parts"), size,
		 record_tell_plural(written->dropped_chunks, "was", "were"));
}

#define NAMED_MAX 8

/* Programs that still run after a moment: one that a signal has just ended needs that long. */
static size_t find_running(const struct record *r, struct collector_running *out)
{
	size_t count = collector_descendants(r->collector, out, NAMED_MAX);

	if (!count)
		return 0;
	usleep(50000);
	return collector_descendants(r->collector, out, NAMED_MAX);
}

static void tell_running(const struct record *r)
{
	struct collector_running running[NAMED_MAX];
	size_t count = r->ended ? find_running(r, running) : 0;
	struct line l = {.used = 0};

	if (!count || r->options->duration_ns)
		return;
	for (size_t i = 0; i < NAMED_MAX && i < count; i++)
		record_tell_add(&l, "%s%s [%d]", i ? ", " : "", running[i].command,
				(int)running[i].pid);
	if (count > NAMED_MAX)
		record_tell_add(&l, ", ...");
	cli_tell("%zu %s on, unrecorded: %s; --wait-all records until they end", count,
		 record_tell_plural(count, "process runs", "processes run"), l.text);
}

/* But for those of whom it has been told already, with the reason, that they were refused. */
static void tell_unrecorded(const struct record *r)
{
	const struct unrecorded *u = &r->unrecorded;
	size_t count = u->count, named = 0;
	struct line l = {.used = 0};

	for (size_t i = 0; i < UNRECORDED_MAX && i < u->count; i++) {
		const struct unrecorded_program *p = &u->program[i];

		if (collector_has_refused(r->collector, p->pid))
			count--;
		else if (named < NAMED_MAX)
			record_tell_add(&l, "%s%s [%d] (%s)", named++ ? ", " : "", p->command,
					(int)p->pid, p->why);
	}
	if (count > NAMED_MAX)
		record_tell_add(&l, ", ...");
	if (count)
		cli_warning("%zu %s ran unrecorded: %s", count,
			    record_tell_plural(count, "program", "programs"), l.text);
}

static void tell_refused(const struct collector_result *result)
{
	if (result->gone)
		cli_warning("%u %s could not be recorded: %s ended, or went on without, before the "
			    "recording came to answer",
			    result->gone, record_tell_plural(result->gone, "process", "processes"),
			    record_tell_plural(result->gone, "it", "they"));
	if (result->refused)
		cli_warning("%u %s could not be recorded: %s", result->refused,
			    record_tell_plural(result->refused, "process", "processes"),
			    strerror(-result->refused_error));
	else if (!result->processes && !result->gone)
		cli_warning("no process joined: nothing was recorded");
}

/* Timers are counted as pending signals, of all processes of the user together; and none is made
 * any more once a program filters its system calls (src/runtime/hooks/hook_seccomp.c). */
static void tell_untimed(const struct collector_result *result)
{
	uint64_t count = result->total.counter[WEFT_COUNTER_THREADS_NO_TIMER];
	struct rlimit limit;

	if (!count)
		return;
	if (result->total.counter[WEFT_COUNTER_CAREFUL])
		cli_warning("%llu %s no CPU timer, thus no samples: begun after their program had "
			    "set no_new_privs or a seccomp filter, which may kill for what it does "
			    "not know, or stopped because that lets no signal handler run",
			    (unsigned long long)count,
			    record_tell_plural(count, "thread had", "threads had"));
	else if (!getrlimit(RLIMIT_SIGPENDING, &limit))
		cli_warning(
			"%llu %s no CPU timer, thus no samples in the kernel, and none at all "
			"where hrtimers cannot be had: half of %llu pending signals is what weft "
			"may use, or what a program allows itself; raise the limit (ulimit -i)",
			(unsigned long long)count,
			record_tell_plural(count, "thread had", "threads had"),
			(unsigned long long)limit.rlim_cur);
}

/* Ended by the next tick because it took our handler away behind the hooks? A shell that was the
 * program hands such an end on as its own status. */
static void tell_tick_death(const struct record *r)
{
	if (r->ended && r->status == 128 + SIGPROF && r->options->tick_signal != SIGWINCH)
		cli_warning(
			"the program was ended by SIGPROF, the signal of weft's ticks, too: if it "
			"resets signals by system calls of its own, record it with "
			"--tick-signal winch");
}

/* Modes whose handlers do not walk by tables miss nothing. */
static void tell_refused_tables(const struct record *r, const struct collector_result *result)
{
	uint64_t count = result->total.counter[WEFT_COUNTER_TABLES_REFUSED];

	if (!count || r->options->stack_mode == WEFT_STACK_RAW ||
	    r->options->stack_mode == WEFT_STACK_FP)
		return;
	cli_warning("%llu mapped %s no room for %s: stacks through %s were %s (weft doctor "
		    "tells how much there is)",
		    (unsigned long long)count,
		    record_tell_plural(count, "file found", "files found"),
		    record_tell_plural(count, "its unwind table", "their unwind tables"),
		    record_tell_plural(count, "it", "them"),
		    r->options->stack_mode == WEFT_STACK_TABLE ? "cut" : "copied");
}

/* By process: "2 threads of x [123] could not be sampled: worker-1 (blocks SIGPROF), ..." */
static void record_tell_unsampled(const struct collector_result *result)
{
	const struct outside_unsampled *u = result->unsampled;
	size_t known = result->unsampled_count, i = 0;

	if (known > OUTSIDE_UNSAMPLED_MAX)
		known = OUTSIDE_UNSAMPLED_MAX;
	while (i < known) {
		struct line names = {.used = 0};
		size_t first = i;

		for (; i < known && u[i].pid == u[first].pid; i++)
			record_tell_add(&names, "%s%s (%s)", i == first ? "" : ", ", u[i].name,
					u[i].why);
		cli_tell("%zu %s of %s could not be sampled: %s", i - first,
			 record_tell_plural(i - first, "thread", "threads"), u[first].process,
			 names.text);
	}
	if (result->unsampled_count > known)
		cli_tell("and %zu more threads could not be sampled",
			 result->unsampled_count - known);
}

int record_tell(const struct record *r, const struct collector_result *result, int rc)
{
	tell_sums(r, result);
	tell_account(&result->written);
	tell_dropped(&result->written);
	tell_running(r);
	if (result->attach_execs)
		cli_tell("%u of the processes became another program (exec), which is "
			 "not recorded",
			 result->attach_execs);
	tell_refused(result);
	tell_unrecorded(r);
	tell_untimed(result);
	tell_tick_death(r);
	if (result->settings_idle[0])
		cli_warning("--set: no event type came with this name: %s", result->settings_idle);
	record_tell_unsampled(result);
	tell_refused_tables(r, result);
	return rc ? cli_error("%s: %s", r->options->path, strerror(-rc)) : 0;
}
