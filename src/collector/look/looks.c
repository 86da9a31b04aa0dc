/* SPDX-License-Identifier: Apache-2.0 */
/* Random looks at running threads: see looks.h. */
#include "collector/look/looks.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "collector/look/wall_private.h"
#include "collector/process/label_sets.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <weft/publish.h>

#define LATE_NS UINT64_C(500000)
#define BUSY_AT_ONCE 4
#define ASIDE_LOOKS 8                     /* number of looks before the CPU is changed again */
#define LATELY_NS UINT64_C(1000000000)    /* a thread with a sample in that time is busy */
#define OPENED_BY_NS UINT64_C(2000000000) /* by then a process has its hrtimers */
#define NEVER UINT64_MAX
#define FILES 2

struct looked {
	uint32_t slot;
	uint64_t generation;
	int32_t tid;
	int fd[FILES]; /* schedstat, status; -1 = not open */
	int is_known, is_busy;
	uint64_t since_ns;
	uint64_t written, written_ns; /* samples, and when there were more than before */
	uint64_t runs, cpu_ns;        /* at the last look; runs 0 = there was none */
};

struct looks {
	struct process *process;
	struct queue *out;
	uint64_t random, begun_ns;
	uint64_t gap_ns, cost_ns; /* between looks, and of one, on average */
	int is_on;
	uint64_t since_ns; /* looks count from then on */
	size_t count, room, busy_count, busy_room;
	struct looked *thread;
	uint32_t *busy;        /* indices of threads that gave a sample lately */
	uint32_t *at;          /* by slot: 1 + index */
	uint64_t runs, cpu_ns; /* not reported yet */
	cpu_set_t cpus;        /* that may be used for looking */
	unsigned int stood;    /* looks since the CPU was changed */
	int is_in_the_way;     /* a thread of this look waited for a CPU */
	int is_seen;           /* a thread was on a CPU */
	struct buf words;
	uint8_t labels[LABEL_BYTES_MAX];
};

static uint64_t looked_at; /* processes; of all outside threads: atomic */

struct looks *looks_new(struct process *p, struct queue *out)
{
	struct looks *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->process = p;
	l->out = out;
	l->begun_ns = clock_mono_ns();
	if (sched_getaffinity(0, sizeof(l->cpus), &l->cpus))
		CPU_ZERO(&l->cpus);
	l->at = calloc(p->layout.slot_count, sizeof(*l->at));
	l->random = random_number();
	if (!l->at) {
		free(l);
		return NULL;
	}
	return l;
}

void looks_free(struct looks *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++)
		wall_files_close(l->thread[i].fd, FILES);
	if (l->is_on)
		__atomic_fetch_sub(&looked_at, 1, __ATOMIC_RELAXED);
	buf_free(&l->words);
	free(l->thread);
	free(l->busy);
	free(l->at);
	free(l);
}

static void set_gap(struct looks *l)
{
	uint64_t processes = load_relaxed(&looked_at);
	uint64_t least_ns = LOOKS_GAP_NS * (processes ? processes : 1);
	uint64_t paid_ns = l->cost_ns * LOOKS_COST;

	l->gap_ns = least_ns > paid_ns ? least_ns : paid_ns;
}

static uint64_t next_ns(struct looks *l, uint64_t from_ns)
{
	set_gap(l);
	return from_ns + (uint64_t)((0.5 + wall_random(&l->random)) * (double)l->gap_ns);
}

/* A look that was interrupted is no measure of their cost. */
static void count_cost(struct looks *l, uint64_t took_ns)
{
	if (took_ns < LATE_NS)
		l->cost_ns = (15 * l->cost_ns + took_ns) / 16;
}

/* ---- what is told */

static void looks_put_word(struct looks *l, struct look_word word, const uint8_t *labels)
{
	static const uint8_t zeros[8];

	word.bytes = (uint32_t)((sizeof(word) + word.label_bytes + 7u) & ~7u);
	buf_put(&l->words, &word, sizeof(word));
	buf_put(&l->words, labels, word.label_bytes);
	buf_put(&l->words, zeros, word.bytes - sizeof(word) - word.label_bytes);
}

void looks_flush(struct looks *l)
{
	struct batch *b;

	if (!l || !l->words.size)
		return;
	b = l->words.failed ? NULL : batch_new(BATCH_LOOKS, l->process, l->words.size);
	if (b)
		memcpy(b->data, l->words.data, l->words.size);
	queue_push(l->out, b);
	buf_clear(&l->words);
}

/* ---- which threads */

/* Is the process sampled only by ticks? */
static int looks_is_wanted(const struct looks *l, uint64_t now_ns)
{
	const struct weft_session_header *h = l->process->base;

	if (!h || load_relaxed(&h->run_state) != WEFT_RUN_RECORDING ||
	    !(load_relaxed(&h->engines) & WEFT_ENGINE_CPU))
		return 0;
	if (load_relaxed(&h->clock) == WEFT_CLOCK_TICKS || load_relaxed(&h->clock_error) ||
	    load_relaxed(&h->counters[WEFT_COUNTER_CAREFUL]))
		return 1;
	return now_ns - l->begun_ns > OPENED_BY_NS && !load_relaxed(&h->clock_opened);
}

static struct looked *looks_add_thread(struct looks *l, const struct watched_thread *w,
				       uint64_t now_ns)
{
	struct looked *all = array_grown(l->thread, l->count + 1, &l->room, sizeof(*all)), *t;

	if (!all)
		return NULL;
	l->thread = all;
	t = &all[l->count++];
	*t = (struct looked){.slot = w->slot,
			     .generation = w->generation,
			     .tid = w->tid,
			     .fd = {-1, -1},
			     .since_ns = now_ns + LOOKS_BEGIN_NS,
			     .written_ns = now_ns};
	l->at[w->slot] = (uint32_t)l->count;
	looks_put_word(l,
		       (struct look_word){.kind = LOOK_THREAD,
					  .slot = t->slot,
					  .generation = t->generation,
					  .time_ns = t->since_ns},
		       NULL);
	return t;
}

static struct looked *looks_thread_of(struct looks *l, const struct watched_thread *w,
				      uint64_t now_ns)
{
	uint32_t at = w->slot < l->process->layout.slot_count ? l->at[w->slot] : 0;

	if (w->slot >= l->process->layout.slot_count)
		return NULL;
	if (at && l->thread[at - 1].generation == w->generation && l->thread[at - 1].tid == w->tid)
		return &l->thread[at - 1];
	return looks_add_thread(l, w, now_ns);
}

static void drop_unknown(struct looks *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		struct looked *t = &l->thread[i];

		if (!t->is_known) {
			wall_files_close(t->fd, FILES);
			if (l->at[t->slot] == i + 1)
				l->at[t->slot] = 0;
			continue;
		}
		l->at[t->slot] = (uint32_t)(kept + 1);
		l->thread[kept++] = *t;
	}
	l->count = kept;
}

static void looks_list(struct looks *l, struct threads *threads, uint64_t now_ns)
{
	const struct watched_thread *w;

	for (size_t i = 0; i < l->count; i++)
		l->thread[i].is_known = 0;
	for (size_t cursor = 0; (w = threads_next(threads, &cursor));) {
		struct looked *t = looks_thread_of(l, w, now_ns);

		if (t)
			t->is_known = 1;
	}
	drop_unknown(l);
}

static void list_busy(struct looks *l, uint64_t now_ns)
{
	uint32_t *busy = array_grown(l->busy, l->count, &l->busy_room, sizeof(*busy));

	l->busy_count = 0;
	if (!busy) {
		l->count = 0;
		return;
	}
	l->busy = busy;
	for (size_t i = 0; i < l->count; i++) {
		struct looked *t = &l->thread[i];
		uint64_t written =
			load_relaxed(&process_slot(l->process, t->slot)->samples_p.written);

		if (written != t->written)
			t->written_ns = now_ns;
		t->written = written;
		t->is_busy = now_ns - t->written_ns < LATELY_NS;
		if (t->is_busy)
			busy[l->busy_count++] = (uint32_t)i;
	}
}

static void turn(struct looks *l, int is_on, uint64_t now_ns)
{
	l->is_on = is_on;
	__atomic_fetch_add(&looked_at, is_on ? 1 : UINT64_MAX, __ATOMIC_RELAXED);
	l->since_ns = is_on ? now_ns + LOOKS_BEGIN_NS : now_ns;
	looks_put_word(
		l, (struct look_word){.kind = is_on ? LOOK_GO : LOOK_REST, .time_ns = l->since_ns},
		NULL);
	for (size_t i = 0; i < l->count; i++)
		l->thread[i].runs = 0;
	if (!is_on && CPU_COUNT(&l->cpus))
		sched_setaffinity(0, sizeof(l->cpus), &l->cpus);
}

uint64_t looks_renew(struct looks *l, struct threads *t, int is_still, uint64_t now_ns)
{
	int is_on = !is_still && looks_is_wanted(l, now_ns), was_on = l->is_on;

	if (is_on != was_on)
		turn(l, is_on, now_ns);
	if (is_on) {
		looks_list(l, t, now_ns);
		list_busy(l, now_ns);
	}
	looks_flush(l);
	return is_on ? next_ns(l, now_ns) : NEVER;
}

/* ---- one look */

static void count_runs(struct looks *l, struct looked *t, const struct thread_sched *now)
{
	if (t->runs && now->count >= t->runs && now->cpu_ns >= t->cpu_ns) {
		l->runs += now->count - t->runs;
		l->cpu_ns += now->cpu_ns - t->cpu_ns;
	}
	t->runs = now->count;
	t->cpu_ns = now->cpu_ns;
}

/* Its context, if it could be read consistently. */
static int looks_read_context(struct looks *l, const struct looked *t, struct look_word *word)
{
	int bytes;

	if (!threads_slot_is_live(l->process, t->slot, t->generation))
		return 0;
	word->context = (uint8_t)weft_context_snapshot_remote(process_slot(l->process, t->slot),
							      &word->snapshot);
	bytes = wall_labels_of_slot(l->process, t->slot, t->tid, l->labels);
	if (!threads_slot_is_live(l->process, t->slot, t->generation) || bytes < 0 ||
	    word->context == WEFT_CONTEXT_BUSY || word->context == WEFT_CONTEXT_BAD)
		return 0;
	word->label_bytes = (uint16_t)bytes;
	if (!wall_shows_ids(l->process))
		memset(&word->snapshot, 0, sizeof(word->snapshot));
	return 1;
}

/* 1: the thread was on a CPU from before its context was read until after that. */
static int is_seen(struct looks *l, struct looked *t, struct look_word *word)
{
	struct thread_sched came, left;
	char text[4096];
	uint64_t began_ns;
	int has_context;

	if (wall_file_read(l->process, t->tid, &t->fd[0], "schedstat", text, 128) < 0 ||
	    thread_parse_schedstat(text, &came))
		return 0;
	began_ns = clock_mono_ns();
	has_context = looks_read_context(l, t, word);
	count_runs(l, t, &came);
	if (!has_context ||
	    wall_file_read(l->process, t->tid, &t->fd[1], "status", text, sizeof(text)) < 0 ||
	    thread_parse_status(text, &left))
		return 0;
	word->took_ns = (uint32_t)(clock_mono_ns() - began_ns);
	if (came.count > left.count)
		return 1;
	l->is_in_the_way |= left.is_running;
	return 0;
}

static void looks_look_at(struct looks *l, struct looked *t, double weight, uint64_t now_ns)
{
	struct look_word word = {.kind = LOOK_SEEN,
				 .slot = t->slot,
				 .generation = t->generation,
				 .time_ns = now_ns,
				 .weight = weight * (double)l->gap_ns / (double)LOOKS_GAP_NS};

	if (now_ns < t->since_ns || !is_seen(l, t, &word) || word.took_ns > LATE_NS)
		return;
	l->is_seen = 1;
	word.runs = l->runs;
	word.cpu_ns = l->cpu_ns;
	l->runs = l->cpu_ns = 0;
	looks_put_word(l, word, l->labels);
}

/* Starting at a random thread, so that each has the same chance. */
static void looks_look_at_busy(struct looks *l, uint64_t now_ns)
{
	size_t busy = l->busy_count, count = busy < BUSY_AT_ONCE ? busy : BUSY_AT_ONCE;
	size_t first = (size_t)(wall_random(&l->random) * (double)busy);

	for (size_t i = 0; i < count; i++)
		looks_look_at(l, &l->thread[l->busy[(first + i) % busy]],
			      (double)busy / (double)count, now_ns);
}

/* One of all threads; those that are busy have had their chance. */
static void look_at_any(struct looks *l, uint64_t now_ns)
{
	struct looked *t =
		l->count ? &l->thread[(size_t)(wall_random(&l->random) * (double)l->count)] : NULL;

	if (t && !t->is_busy)
		looks_look_at(l, t, (double)l->count, now_ns);
}

/* A thread is probably waiting for the CPU that this look runs on; with two CPUs that would be so
 * for long. The next CPU depends only on earlier looks. */
static void step_aside(struct looks *l)
{
	cpu_set_t cpus = l->cpus;
	int cpu = sched_getcpu();

	if (l->stood++ < ASIDE_LOOKS || !l->is_in_the_way || l->is_seen || cpu < 0 ||
	    cpu >= CPU_SETSIZE || CPU_COUNT(&cpus) < 2)
		return;
	CPU_CLR((size_t)cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	l->stood = 0;
}

uint64_t looks_take(struct looks *l, uint64_t due_ns)
{
	uint64_t now_ns = clock_mono_ns();

	if (now_ns - due_ns < LATE_NS && now_ns >= l->since_ns) {
		l->is_in_the_way = l->is_seen = 0;
		looks_look_at_busy(l, now_ns);
		look_at_any(l, now_ns);
		count_cost(l, clock_mono_ns() - now_ns);
		step_aside(l);
	}
	return next_ns(l, now_ns);
}
