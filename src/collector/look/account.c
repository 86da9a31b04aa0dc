/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of the kernel's account of CPU time: see account.h. */
#include "collector/look/account.h"

#include "base/array.h"
#include "collector/look/priming.h"
#include "collector/process/filters.h"
#include "proc/thread_stat.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define READS_AT_A_TIME 64
#define PAUSE_MIN_NS UINT64_C(100000000)   /* of a thread that leaves no last reading */
#define PAUSE_SLOT_NS UINT64_C(1000000000) /* of one that does, unless it is killed: at most */
#define PAUSE_EACH_NS UINT64_C(10000000)   /* of these, for each thread that there is */
#define PAUSE_MAX_NS UINT64_C(30000000000)
#define WORTH_NS UINT64_C(10000000) /* a smaller use of CPU time is not read */
#define FRESH_NS UINT64_C(50000000) /* a reading that need not be repeated */
#define UNSAMPLED_PERIODS 20
#define UNSAMPLED_MIN_NS UINT64_C(100000000)

void account_words_add(struct account_words *words, const struct account_word *word)
{
	struct account_word *grown =
		array_grown(words->word, words->count + 1, &words->room, sizeof(*grown));

	if (!grown)
		return; /* the missing readings are part of what no thread's row has */
	words->word = grown;
	words->word[words->count++] = *word;
}

struct batch *account_words_batch(struct account_words *words, struct process *p,
				  const struct account_head *head)
{
	size_t bytes = words->count * sizeof(*words->word);
	struct batch *b = batch_new(BATCH_ACCOUNT, p, sizeof(*head) + bytes);

	if (!b)
		return NULL;
	memcpy(b->data, head, sizeof(*head));
	if (bytes)
		memcpy(b->data + sizeof(*head), words->word, bytes);
	words->count = 0;
	return b;
}

void account_words_free(struct account_words *words)
{
	free(words->word);
	*words = (struct account_words){.word = NULL};
}

static uint64_t ticks_since_boot(void)
{
	struct timespec now = {0};
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * hz + (uint64_t)now.tv_nsec * hz / 1000000000u;
}

void account_begin(struct account *a, struct process *p, struct queue *out)
{
	*a = (struct account){.process = p, .out = out, .opened_ticks = ticks_since_boot()};
}

/* ---- one thread */

/* The main thread is as old as the process, which start times in clock ticks may not show. */
static int account_is_older(const struct account *a, const struct watched_thread *t)
{
	return t->tid == a->process->pid || (t->start && t->start < a->opened_ticks);
}

static void account_tell(struct account *a, struct watched_thread *t, uint32_t flags)
{
	struct account_word word = {
		.tid = t->inside_tid,
		.flags = flags | (account_is_older(a, t) ? ACCOUNT_OLDER : 0),
		.cpu_ns = t->account.cpu_ns,
	};

	memcpy(word.name, t->name, sizeof(word.name));
	account_words_add(&a->words, &word);
	t->account.told_ns = t->account.cpu_ns;
}

/* The name that it gives itself once it is at work, which usually stays. */
static void account_take_name(const struct account *a, struct watched_thread *t)
{
	struct thread_stat stat;

	if (t->account.named || t->account.cpu_ns < WORTH_NS)
		return;
	t->account.named = 1;
	if (thread_stat_read(a->process->proc_fd, t->tid, &stat) == 0 && stat.start == t->start &&
	    process_has_thread(a->process, t->tid, stat.stack_start))
		memcpy(t->name, stat.name, sizeof(t->name));
}

/* The slot of a thread that we saw claim it counts from 0 on; that of an earlier one does not. */
static void account_meet(const struct account *a, struct watched_thread *t)
{
	struct thread_account *k = &t->account;

	if (k->met)
		return;
	k->met = 1;
	k->from_ns = account_is_older(a, t) ? k->cpu_ns : 0;
	k->head = account_is_older(a, t) && a->process->cpu_before_ns
			  ? watched_attempted(a->process, t)
			  : 0;
}

static const char *why_slotless(const struct account *a, const struct thread_masks *masks)
{
	uint32_t signo = load_relaxed(&a->process->base->prime_signal_used);

	if (signo == 0 || signo > 64)
		return "began unseen, and no signal may prime it";
	if (masks->blocked & SIGNAL_BIT(signo))
		return "began unseen, and blocks the signal that primes";
	if (!(masks->caught & SIGNAL_BIT(signo)))
		return "began unseen, and the priming signal's handler was replaced";
	return "began unseen, and was not primed";
}

static const char *account_why(const struct account *a, const struct watched_thread *t)
{
	const struct weft_slot *slot = watched_slot(a->process, t);
	struct thread_masks masks;

	if (thread_masks_read(a->process->proc_fd, t->tid, &masks))
		return NULL;
	if (filters_are_feared(a->process))
		return priming_why_feared;
	if (priming_why_deaf(a->process, &masks))
		return priming_why_deaf(a->process, &masks);
	if (!slot)
		return why_slotless(a, &masks);
	if (load_relaxed(&slot->thread.flags) & WEFT_SLOT_NO_TIMER)
		return "no timer could be had for it";
	return "used CPU time without a sample";
}

/* A thread that has used many periods of CPU time, but gave no sample. */
static void mark_unsampled(const struct account *a, struct watched_thread *t)
{
	uint64_t period_ns = load_relaxed(&a->process->base->period_ns);
	uint64_t used_ns = t->account.cpu_ns - t->account.from_ns;
	t->account.is_sampled |= watched_attempted(a->process, t) != t->account.head;
	if (t->account.is_sampled || t->unsampled || used_ns < UNSAMPLED_MIN_NS ||
	    used_ns / UNSAMPLED_PERIODS < period_ns)
		return;
	t->unsampled = account_why(a, t);
	t->unsampled_head = watched_attempted(a->process, t);
}

static void account_set_pause(const struct account *a, struct watched_thread *t, int has_run,
			      uint64_t now_ns)
{
	struct thread_account *k = &t->account;
	uint64_t least = t->slot == THREADS_NO_SLOT ? PAUSE_MIN_NS : a->pause_ns;

	k->pause_ns = has_run || !k->pause_ns ? least : k->pause_ns * 2;
	if (k->pause_ns > PAUSE_MAX_NS)
		k->pause_ns = PAUSE_MAX_NS;
	k->due_ns = now_ns + k->pause_ns;
}

static void read_one(struct account *a, struct watched_thread *t, uint64_t now_ns,
		     uint64_t process_ns)
{
	struct thread_account *k = &t->account;
	uint64_t cpu_ns = 0;

	if (thread_cpu_read(a->process->proc_fd, t->tid, &cpu_ns))
		return;
	account_set_pause(a, t, cpu_ns != k->cpu_ns, now_ns);
	k->process_ns = process_ns;
	k->read_ns = now_ns;
	k->read_head = watched_attempted(a->process, t);
	if (cpu_ns > k->cpu_ns)
		k->cpu_ns = cpu_ns;
	account_meet(a, t);
	account_take_name(a, t);
	if (t->unsampled && k->read_head != t->unsampled_head)
		t->unsampled = NULL;
	if (threads_are_sampled(a->process))
		mark_unsampled(a, t);
	if (k->cpu_ns != k->told_ns)
		account_tell(a, t, 0);
}

/* At most a hundred readings a second, of threads that leave last readings. */
static uint64_t account_pause_of(size_t threads)
{
	uint64_t pause_ns = threads * PAUSE_EACH_NS;

	if (pause_ns < PAUSE_MIN_NS)
		return PAUSE_MIN_NS;
	return pause_ns < PAUSE_SLOT_NS ? pause_ns : PAUSE_SLOT_NS;
}

/* No thread has used more than the process has. */
static int is_due(const struct watched_thread *t, uint64_t now_ns, uint64_t process_ns)
{
	return now_ns >= t->account.due_ns && process_ns >= t->account.process_ns + WORTH_NS;
}

/* At the end of a chunk: a thread that has been idle for long, and has given no sample since, is
 * most likely still idle, and is not read. */
static int is_worth_it(const struct account *a, const struct watched_thread *t, uint64_t now_ns)
{
	const struct thread_account *k = &t->account;
	uint64_t age_ns = now_ns - k->read_ns;

	return !k->met || watched_attempted(a->process, t) != k->read_head ||
	       age_ns > (k->pause_ns > PAUSE_SLOT_NS ? k->pause_ns / 2 : FRESH_NS);
}

/* ---- all of them */

static void push(struct account *a, uint64_t process_ns, uint64_t now_ns)
{
	struct account_head head = {.process_ns = process_ns, .time_ns = now_ns};
	struct batch *b;

	if (!a->words.count && process_ns <= a->process_ns)
		return;
	b = account_words_batch(&a->words, a->process, &head);
	if (b && process_ns > a->process_ns)
		a->process_ns = process_ns;
	queue_push(a->out, b);
}

void account_look(struct account *a, struct threads *t, uint64_t now_ns, uint64_t process_ns)
{
	size_t count = threads_count(t), reads = 0;
	struct watched_thread *w;

	a->pause_ns = account_pause_of(count);
	if (!a->has_looked) { /* threads that exist now have used their time before */
		account_look_all(a, t, now_ns);
		return;
	}
	for (size_t i = 0; i < count && reads < READS_AT_A_TIME; i++) {
		w = threads_next(t, &a->cursor);
		if (!w) {
			a->cursor = 0;
			w = threads_next(t, &a->cursor);
		}
		if (!w || !is_due(w, now_ns, process_ns))
			continue;
		if (reads++ == 0 && !process_runs_on(a->process))
			return;
		read_one(a, w, now_ns, process_ns);
	}
	push(a, process_ns, now_ns);
}

/* The process is read last, so that it is no less than the sum of its threads. */
void account_look_all(struct account *a, struct threads *t, uint64_t now_ns)
{
	uint64_t process_ns = a->process_ns, read_ns = process_ns;
	struct watched_thread *w;
	size_t cursor = 0;

	if (!process_runs_on(a->process) || process_cpu_read(a->process->pid, &process_ns)) {
		push(a, a->process_ns, now_ns);
		return;
	}
	while ((a->process_ns != process_ns || !a->has_looked) && (w = threads_next(t, &cursor)))
		if (is_worth_it(a, w, now_ns))
			read_one(a, w, now_ns, process_ns);
	a->has_looked = 1;
	if (process_cpu_read(a->process->pid, &read_ns) == 0)
		process_ns = read_ns;
	push(a, process_ns, now_ns);
}

void account_gone(struct account *a, const struct watched_thread *t)
{
	struct account_word word = {.tid = t->inside_tid, .flags = ACCOUNT_GONE};

	if (t->account.told_ns)
		account_words_add(&a->words, &word);
}
