/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall engine's schedule and books: see wall.h.
 *
 * Each thread has looks of its own, at random times: one in each period (wall_books.h). At a look
 * its run count is read. Of the time since the last look the part on a CPU (schedstat, first
 * field) is the cpu engine's, the part that it waited for one (second field) becomes WALL_DELAY
 * (wall_delay.c), and in the rest it was blocked: the samples of a thread times the period are held
 * against that sum. Where the kernel has no schedstat a look counts as it finds the thread.
 *
 * A stay that lasts is looked at after another third of what it has lasted (a thirtieth, when
 * there are few threads), at most after a second: the periods between are its own if the run count
 * stands still. If not, of those in which it was blocked half are its, half its successor's: it
 * ended somewhere in there.
 */
#include "collector/look/wall_private.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_AT_LEAST_NS UINT64_C(1000000000)
#define STAY_SHARE 3
#define STAY_SHARE_OF_FEW 30
#define FEW_THREADS 128
#define TOGETHER_SHARE 4
#define SLICE_MIN_NS UINT64_C(1000000)
#define SLICE_MAX_NS UINT64_C(10000000)
#define IDLE_NS UINT64_C(1000000000) /* nobody is due */
#define FIRST_READ_NS UINT64_C(50000)
#define FIRST_READS_MAX 5

/* ---- a heap of threads, the one due first on top */

static void wall_put(struct wall *w, size_t place, struct wall_thread *t)
{
	w->heap[place] = t;
	t->place = place;
}

static void sift_up(struct wall *w, struct wall_thread *t)
{
	size_t at = t->place;

	while (at > 0 && w->heap[(at - 1) / 2]->due_ns > t->due_ns) {
		wall_put(w, at, w->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	wall_put(w, at, t);
}

static void wall_sift_down(struct wall *w, struct wall_thread *t)
{
	size_t at = t->place;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < w->count && w->heap[child + 1]->due_ns < w->heap[child]->due_ns)
			child++;
		if (child >= w->count || w->heap[child]->due_ns >= t->due_ns)
			break;
		wall_put(w, at, w->heap[child]);
		at = child;
	}
	wall_put(w, at, t);
}

static int heap_add(struct wall *w, struct wall_thread *t)
{
	struct wall_thread **heap =
		array_grown(w->heap, w->count + 1, &w->room, sizeof(struct wall_thread *));

	if (!heap)
		return -ENOMEM;
	w->heap = heap;
	wall_put(w, w->count++, t);
	sift_up(w, t);
	return 0;
}

static void heap_remove(struct wall *w, struct wall_thread *t)
{
	struct wall_thread *last = w->heap[--w->count];

	if (last == t)
		return;
	wall_put(w, t->place, last);
	sift_up(w, last);
	wall_sift_down(w, last);
}

/* ---- what is told */

/* Who has let go of its slot, which is the first step of a thread's end, stays the same thread. */
void wall_identify(const struct watched_thread *t, struct batch_thread *out)
{
	memset(out, 0, sizeof(*out));
	out->tid = t->inside_tid;
	memcpy(out->name, t->name, sizeof(t->name));
	if (!t->had_generation) {
		out->slot = WALL_NO_SLOT;
		out->generation = t->start << 22 | (uint32_t)t->tid;
		out->claimed_ns = t->seen_ns;
		return;
	}
	out->slot = t->had_slot;
	out->generation = t->had_generation;
	out->claimed_ns = t->had_claimed_ns;
}

static int wall_is_same(const struct batch_thread *a, const struct batch_thread *b)
{
	return a->slot == b->slot && a->generation == b->generation;
}

static void wall_tell_end(const struct wall *w, const struct batch_thread *who, uint64_t now_ns)
{
	struct batch *b = batch_new(BATCH_THREAD_GONE, w->process, 0);

	if (!b)
		return;
	b->thread = *who;
	b->time_ns = now_ns;
	queue_push(w->out, b);
}

/* The worker keeps what it has heard of until it hears of its end: of a thread whose own handler
 * has told nothing nobody else would tell that. */
static void wall_remember_name(const struct wall *w, struct wall_thread *t,
			       const struct batch_thread *who, uint64_t now_ns)
{
	for (uint32_t i = 0; i < t->told_count; i++)
		if (wall_is_same(&t->told[i], who))
			return;
	if (t->told_count == WALL_NAMES) {
		wall_tell_end(w, &t->told[0], now_ns);
		memmove(t->told, t->told + 1, --t->told_count * sizeof(*t->told));
	}
	t->told[t->told_count++] = *who;
}

static void wall_tell_ends(const struct wall *w, const struct wall_thread *t, uint64_t now_ns)
{
	for (uint32_t i = 0; i < t->told_count; i++)
		wall_tell_end(w, &t->told[i], now_ns);
}

void wall_tell(struct wall *w, struct wall_thread *t, const struct batch_thread *who,
	       struct wall_word word, const struct weft_sample_record *sample)
{
	size_t more = sample ? sample->record.bytes : 0;
	struct batch *b = batch_new(BATCH_WALL, w->process, sizeof(word) + more);

	if (!b)
		return;
	word.bytes = (uint32_t)b->bytes;
	b->thread = *who;
	b->time_ns = word.to_ns;
	memcpy(b->data, &word, sizeof(word));
	if (more)
		memcpy(b->data + sizeof(word), sample, more);
	wall_remember_name(w, t, who, word.to_ns);
	queue_push(w->out, b);
}

/* So that an event that is open on the thread knows of them. Nobody else stores there. */
static void trigger(const struct wall *w, const struct batch_thread *who, uint64_t samples)
{
	const struct process *p = w->process;
	uint64_t *word;

	if (who->slot == WALL_NO_SLOT)
		return;
	if (WEFT_GENERATION_OF(load_acquire(process_slot_state(p, who->slot))) != who->generation)
		return;
	word = &process_slot(p, who->slot)->outside.samples;
	store_release(word, load_relaxed(word) + samples);
}

static void tell_pending(struct wall *w, struct wall_thread *t)
{
	struct wall_stay *stay = &t->stay;

	while (stay->pending) {
		uint32_t samples =
			stay->pending < UINT32_MAX ? (uint32_t)stay->pending : UINT32_MAX;

		wall_tell(w, t, &stay->who,
			  (struct wall_word){.kind = WALL_MORE,
					     .state = stay->state,
					     .samples = samples,
					     .from_ns = stay->pending_ns,
					     .to_ns = stay->told_ns},
			  NULL);
		stay->pending -= samples;
	}
}

/* ---- books */

/* Whole periods out of @ns, which keeps the rest. */
uint64_t wall_take_ticks(const struct wall *w, int64_t *ns)
{
	uint64_t ticks = *ns > 0 ? (uint64_t)*ns / w->options.period_ns : 0;

	*ns -= (int64_t)(ticks * w->options.period_ns);
	return ticks;
}

/* The open stay has lasted until @to_ns, for @ticks more. */
static void prolong(struct wall *w, struct wall_thread *t, uint64_t ticks, uint64_t to_ns)
{
	struct wall_stay *stay = &t->stay;

	if (stay->is_filtered) {
		wall_count(w, WEFT_COUNTER_WALL_FILTERED, ticks);
	} else if (ticks) {
		if (!stay->pending)
			stay->pending_ns = stay->told_ns;
		stay->pending += ticks;
		trigger(w, &stay->who, ticks);
		wall_count(w, WEFT_COUNTER_WALL_REPEATED, ticks);
	}
	if (!stay->pending || ticks)
		stay->told_ns = to_ns;
}

static void wall_end_stay(struct wall *w, struct wall_thread *t, uint64_t now_ns)
{
	if (!t->stay.is_open)
		return;
	tell_pending(w, t);
	if (!t->stay.is_filtered)
		wall_tell(w, t, &t->stay.who,
			  (struct wall_word){.kind = WALL_END,
					     .state = t->stay.state,
					     .from_ns = t->stay.told_ns,
					     .to_ns = now_ns},
			  NULL);
	t->stay.is_open = 0;
}

/* It was told to be blocked while it waited for a CPU already: nothing but the run delay, which
 * comes afterwards, tells one from the other. */
static void wall_take_back(struct wall *w, struct wall_thread *t, uint64_t ticks)
{
	uint64_t most = t->stay.pending < ticks ? t->stay.pending : ticks;

	t->stay.pending -= most;
	t->books.told -= most;
	w->counts->counter[WEFT_COUNTER_WALL_REPEATED] -= most;
}

/* Of the time between two looks. */
struct gap {
	uint64_t ns;
	int64_t blocked_ns;
};

/* Into the books: the time since the last look, and how the thread spent it. */
static struct gap look_wall_account(struct wall_thread *t, const struct thread_sched *now,
				    uint64_t now_ns)
{
	int64_t cpu = (int64_t)(now->cpu_ns - t->runs.cpu_ns);
	int64_t delay = (int64_t)(now->delay_ns - t->runs.delay_ns);
	struct gap gap = {.ns = now_ns - t->looked_ns};

	gap.blocked_ns = (int64_t)gap.ns - cpu - delay;
	t->books.blocked_ns += gap.blocked_ns;
	t->delay_ns += delay;
	t->looked_ns = now_ns;
	t->runs = *now;
	return gap;
}

/* It has run since the last look, or is gone. Of @missed periods nobody looked: how many of them
 * are its successor's. */
static uint64_t leave_stay(struct wall *w, struct wall_thread *t, uint64_t missed,
			   const struct gap *gap)
{
	uint64_t period_ns = w->options.period_ns, its = 0;

	if (gap->blocked_ns < 0 && t->stay.is_open)
		wall_take_back(w, t, ((uint64_t)-gap->blocked_ns + period_ns / 2) / period_ns);
	if (t->runs.has_times)
		missed = wall_books_part(&t->books, missed, gap->ns, gap->blocked_ns);
	if (t->stay.is_open) {
		its = missed / 2;
		t->books.told += its;
		prolong(w, t, its, t->looked_ns);
	}
	wall_end_stay(w, t, t->looked_ns);
	return missed - its;
}

/* ---- one tick of one thread */

static void open_stay(struct wall *w, struct wall_thread *t, uint64_t ticks, uint64_t now_ns)
{
	struct weft_sample_record *sample = (void *)w->look.record;
	struct wall_stay *stay = &t->stay;
	uint64_t from_ns = now_ns - ticks * w->options.period_ns;

	wall_account_follow(w, t);
	*stay = (struct wall_stay){.is_open = 1,
				   .is_filtered = w->look.is_filtered,
				   .state = w->look.state,
				   .began_ns = now_ns,
				   .told_ns = now_ns};
	wall_identify(t->watched, &stay->who);
	t->account.is_used = 1;
	t->is_told |= !stay->is_filtered;
	if (stay->is_filtered) {
		t->account.is_partial = 1;
		wall_count(w, WEFT_COUNTER_WALL_FILTERED, ticks);
		return;
	}
	sample->time_ns = now_ns;
	wall_tell(w, t, &stay->who,
		  (struct wall_word){.kind = WALL_SAMPLE,
				     .state = stay->state,
				     .samples = 1,
				     .from_ns = from_ns,
				     .to_ns = now_ns},
		  sample);
	wall_count(w, WEFT_COUNTER_WALL_TAKEN, 1);
	trigger(w, &stay->who, 1);
	stay->told_ns = from_ns;
	prolong(w, t, ticks - 1, now_ns);
	stay->told_ns = now_ns;
}

/* For @cells periods: with which stack, if it is blocked? */
static void begin_stay(struct wall *w, struct wall_thread *t, uint64_t cells, uint64_t now_ns)
{
	uint64_t ticks;

	if (!cells || !queue_has_room(w->out) || !wall_look(w, t, &t->runs))
		return;
	/* It may have been on a CPU when its times were read: they are whole now. */
	look_wall_account(t, &w->look.runs, now_ns);
	ticks = wall_books_weigh(&t->books, cells, now_ns, t->runs.has_times);
	if (ticks)
		open_stay(w, t, ticks, now_ns);
}

/* How long who has been still may be left alone. */
static uint64_t wall_pause_of(const struct wall *w, const struct wall_thread *t, uint64_t now_ns)
{
	uint64_t share = w->count > FEW_THREADS ? STAY_SHARE : STAY_SHARE_OF_FEW;

	return t->stay.is_open ? (now_ns - t->stay.began_ns) / share : 0;
}

/*
 * Who was woken and waits for a CPU has not run, and is blocked no more. Of one that is looked at
 * rarely that costs more to find out than it is: the run delay tells it afterwards.
 */
static int is_in_its_stay(struct wall *w, struct wall_thread *t, const struct thread_sched *now,
			  uint64_t now_ns)
{
	if (!t->stay.is_open || t->stay.is_stale || now->count != t->runs.count || now->is_running)
		return 0;
	return wall_pause_of(w, t, now_ns) >= 2 * w->options.period_ns || !wall_is_runnable(w, t);
}

/* It is in the stay still: so it was in all periods between. */
static void stay_on(struct wall *w, struct wall_thread *t, const struct thread_sched *now,
		    uint64_t now_ns)
{
	uint64_t cells = wall_books_pass(&t->books, now_ns);

	look_wall_account(t, now, now_ns);
	prolong(w, t, wall_books_weigh(&t->books, cells, now_ns, t->runs.has_times), now_ns);
}

/* Looks that are rare are taken together: waking up for one costs more than it does. */
static uint64_t next_look(const struct wall *w, const struct wall_thread *t, uint64_t now_ns)
{
	uint64_t pause = wall_pause_of(w, t, now_ns), together;

	if (pause < 2 * w->options.period_ns)
		return wall_books_due(&t->books);
	if (pause > LOOK_AT_LEAST_NS)
		pause = LOOK_AT_LEAST_NS;
	together = pause / TOGETHER_SHARE + 1;
	return (now_ns + pause) / together * together;
}

static void look_anew(struct wall *w, struct wall_thread *t, const struct thread_sched *now,
		      uint64_t now_ns)
{
	uint64_t cells = wall_books_pass(&t->books, now_ns), missed = cells ? cells - 1 : 0;
	struct gap gap = look_wall_account(t, now, now_ns);

	wall_count(w, WEFT_COUNTER_WALL_LATE, (now_ns - t->due_ns) / w->options.period_ns);
	missed = leave_stay(w, t, missed, &gap);
	begin_stay(w, t, missed + (cells > 0), now_ns);
}

/* A new thread's books do not count this look: it stands for the time before them. */
static void look_first(struct wall *w, struct wall_thread *t)
{
	struct thread_sched now;
	uint64_t now_ns;

	wall_account_follow(w, t);
	if (wall_runs_read(w, t, &now) || !queue_has_room(w->out))
		return;
	if (wall_look(w, t, &now)) {
		now_ns = clock_mono_ns();
		look_wall_account(t, &w->look.runs, now_ns);
		open_stay(w, t, 1, now_ns);
	} else {
		now_ns = clock_mono_ns();
		look_wall_account(t, &now, now_ns);
		wall_delay(w, t, now_ns);
	}
}

void wall_meet(struct wall *w, struct threads *t, int is_look)
{
	w->threads = t;
	for (size_t i = 0; i < w->count; i++) {
		if (w->heap[i]->is_new && is_look)
			look_first(w, w->heap[i]);
		w->heap[i]->is_new = 0;
	}
}

double wall_random(uint64_t *state)
{
	return (double)(hash_next(state) >> 11) * 0x1p-53;
}

uint64_t wall_meet_gap(struct wall *w)
{
	return (uint64_t)(-log1p(-wall_random(&w->random)) * (double)w->options.period_ns);
}

static void wall_look_at(struct wall *w, struct wall_thread *t, uint64_t now_ns)
{
	struct thread_sched now;

	wall_account_follow(w, t);
	if (wall_runs_read(w, t, &now) < 0) {
		wall_books_pass(&t->books, now_ns); /* the watcher will say that it is gone */
		t->due_ns = wall_books_due(&t->books);
		return;
	}
	if (is_in_its_stay(w, t, &now, now_ns))
		stay_on(w, t, &now, now_ns);
	else
		look_anew(w, t, &now, now_ns);
	wall_delay(w, t, now_ns);
	t->due_ns = next_look(w, t, now_ns);
}

/* How long looks may wait for others, so that they are done together. */
static uint64_t slice_ns(const struct wall *w)
{
	uint64_t slice = w->options.period_ns / 8;

	if (slice < SLICE_MIN_NS)
		return SLICE_MIN_NS;
	return slice < SLICE_MAX_NS ? slice : SLICE_MAX_NS;
}

uint64_t wall_tick(struct wall *w, struct threads *t, uint64_t now_ns, uint64_t budget_ns)
{
	uint64_t began_ns = now_ns, at_ns = now_ns;

	w->threads = t;
	while (w->count && w->heap[0]->due_ns <= at_ns && at_ns - began_ns <= budget_ns) {
		struct wall_thread *first = w->heap[0];

		wall_look_at(w, first, at_ns);
		wall_sift_down(w, first);
		at_ns = clock_mono_ns();
		if (at_ns < began_ns)
			at_ns = began_ns;
	}
	if (!w->count)
		return at_ns + IDLE_NS;
	if (w->heap[0]->due_ns < at_ns + slice_ns(w))
		return at_ns + slice_ns(w);
	return w->heap[0]->due_ns;
}

/* ---- life */

struct wall *wall_new(struct process *p, const struct wall_options *o, struct queue *out,
		      struct session_counts *counts)
{
	struct wall *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->process = p;
	w->options = *o;
	w->out = out;
	w->counts = counts;
	w->random = random_number();
	return w;
}

void wall_use_published(struct wall *w, struct published *published)
{
	w->published = published;
}

void wall_look_anew(struct wall *w)
{
	for (size_t i = 0; i < w->count; i++)
		w->heap[i]->stay.is_stale = w->heap[i]->stay.is_open;
}

/*
 * Times and clock of one moment: what a thread runs between the two would be in neither the account
 * that begins here nor before it. The collector may have lost its CPU between them.
 */
static void read_first_runs(struct wall *w, struct wall_thread *t)
{
	uint64_t now_ns = t->watched->seen_ns;

	for (int i = 0; i < FIRST_READS_MAX; i++) {
		t->looked_ns = now_ns;
		if (wall_runs_read(w, t, &t->runs))
			memset(&t->runs, 0, sizeof(t->runs));
		now_ns = clock_mono_ns();
		if (now_ns < t->looked_ns + FIRST_READ_NS)
			return;
	}
}

static void begin_books(struct wall *w, struct wall_thread *t)
{
	uint64_t seed =
		(uint64_t)t->watched->tid + t->watched->start * UINT64_C(0x9e3779b97f4a7c15);

	read_first_runs(w, t);
	t->delay_since_ns = t->looked_ns;
	wall_books_begin(&t->books, t->looked_ns, w->options.period_ns, seed);
	t->due_ns = wall_books_due(&t->books);
	wall_account_begin(t);
}

void wall_thread_new(struct wall *w, struct watched_thread *watched)
{
	struct wall_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return;
	t->watched = watched;
	t->is_new = 1;
	for (int i = 0; i < WALL_FILES; i++)
		t->fd[i] = -1;
	begin_books(w, t);
	if (heap_add(w, t)) {
		wall_files_close(t->fd, WALL_FILES);
		free(t);
		return;
	}
	watched->wall = t;
}

static void wall_forget(struct wall *w, struct wall_thread *t)
{
	/* Who has a slot is counted by its claim. */
	w->counts->threads += t->is_told && !t->watched->had_generation;
	t->watched->wall = NULL;
	heap_remove(w, t);
	wall_files_close(t->fd, WALL_FILES);
	free(t);
}

void wall_thread_dead(struct wall *w, struct watched_thread *watched, uint64_t now_ns)
{
	struct wall_thread *t = watched->wall;
	struct thread_sched runs;
	struct gap gap;
	int is_late;

	if (!w || !t)
		return;
	runs = t->runs;
	is_late = wall_account_is_late(w, t, now_ns);
	now_ns = wall_account_last(w, t, &runs, now_ns);
	gap = look_wall_account(t, &runs, now_ns);
	leave_stay(w, t, wall_books_pass(&t->books, now_ns), &gap);
	wall_delay_end(w, t, now_ns);
	if (!is_late)
		wall_account_tell(w, t);
	wall_tell_ends(w, t, now_ns);
	wall_forget(w, t);
}

/* What can be told of a thread up to @now_ns, without a look at anything but its run count. */
static void wall_settle(struct wall *w, struct wall_thread *t, uint64_t now_ns)
{
	struct thread_sched now;

	if (wall_runs_read(w, t, &now) == 0 && is_in_its_stay(w, t, &now, now_ns))
		stay_on(w, t, &now, now_ns);
	tell_pending(w, t);
}

void wall_flush(struct wall *w, uint64_t now_ns)
{
	for (size_t i = 0; i < w->count; i++) {
		if (w->heap[i]->stay.is_open)
			wall_settle(w, w->heap[i], now_ns);
		wall_delay_flush(w, w->heap[i], now_ns);
		wall_account_tell(w, w->heap[i]);
	}
}

/* Who is blocked was it up to the end. Of one that is gone its last words tell whether it was. */
static void part_from(struct wall *w, struct wall_thread *t, uint64_t now_ns)
{
	struct thread_sched now = t->runs;
	int is_there = wall_runs_read(w, t, &now) == 0;
	struct gap gap;

	now_ns = wall_account_last(w, t, &now, now_ns);
	if (is_there ? is_in_its_stay(w, t, &now, now_ns)
		     : t->stay.is_open && now.cpu_ns == t->runs.cpu_ns) {
		stay_on(w, t, &now, now_ns);
		wall_end_stay(w, t, now_ns);
		return;
	}
	gap = look_wall_account(t, &now, now_ns);
	leave_stay(w, t, wall_books_pass(&t->books, now_ns), &gap);
}

/* The whole process ends, or is left. */
void wall_free(struct wall *w, uint64_t now_ns)
{
	if (!w)
		return;
	while (w->count) {
		struct wall_thread *last = w->heap[w->count - 1];

		part_from(w, last, now_ns);
		wall_delay_end(w, last, now_ns);
		wall_account_tell(w, last);
		wall_forget(w, last);
	}
	free(w->heap);
	free(w);
}
