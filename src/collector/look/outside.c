/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outside thread: see outside.h. Orders of the drain thread come in a queue; all else belongs
 * to the thread.
 *
 * While a process uses no CPU time nothing in it changes: then only the number of its threads
 * is looked at, and once a second its clock, which costs the kernel a look at each thread.
 * (Time of the very last steps of a thread may be missing there, so a process is looked at for
 * a while after its clock stood still.)
 */
#include "collector/look/outside.h"

#include "base/clock.h"
#include "base/recording.h"
#include "collector/look/account.h"
#include "collector/look/looks.h"
#include "collector/look/priming.h"
#include "proc/thread_stat.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS UINT64_C(100000000)
#define STILL_LOOK_NS UINT64_C(400000000)
#define CLOCK_NS UINT64_C(1000000000)
#define FEW_THREADS 100
#define STILL_AFTER_NS UINT64_C(900000000)
#define NEVER QUEUE_FOREVER
#define WALL_BUDGET_NS UINT64_C(20000000) /* most time that one process may take in a tick */

/* A process, from outside_add() to its BATCH_CLOSE. */
struct watched {
	struct watched *next;
	struct outside *outside;
	struct process *process;
	struct threads *threads;
	struct wall *wall;           /* NULL: off */
	struct looks *looks;         /* NULL: out of memory */
	struct published *published; /* NULL: out of memory */
	struct priming priming;
	struct account account;
	struct session_counts counts; /* what is counted here */
	uint64_t cpu_ns, moved_ns;    /* its clock, and when that was last seen to advance */
	uint64_t clock_ns;            /* when the clock is read again */
	int still;
	uint64_t look_ns, wall_ns, looks_ns, meet_ns; /* when it is due */
};

struct outside {
	struct outside_options options;
	pthread_t thread;
	struct queue orders;  /* BATCH_OPEN: a process comes; BATCH_FINISH: all is over */
	struct batch *finish; /* the last order, which must not fail; NULL: given */
	/* Of the thread. */
	struct outside_unsampled unsampled[OUTSIDE_UNSAMPLED_MAX];
	size_t unsampled_count;
	struct watched *processes;
};

/* ---- one process */

static void thread_new(void *arg, struct watched_thread *t)
{
	const struct watched *w = arg;

	if (w->wall)
		wall_thread_new(w->wall, t);
}

static void remember_unsampled(struct outside *o, const struct process *p,
			       const struct watched_thread *t)
{
	struct outside_unsampled *u;

	if (o->unsampled_count++ >= OUTSIDE_UNSAMPLED_MAX)
		return;
	u = &o->unsampled[o->unsampled_count - 1];
	*u = (struct outside_unsampled){.pid = p->pid, .tid = t->tid, .why = t->unsampled};
	memcpy(u->process, p->group, sizeof(u->process));
	memcpy(u->name, t->name, sizeof(u->name));
}

/* Only at the end of the thread or the process: until then samples may still come. */
static void outside_tell_unsampled(struct watched *w, struct watched_thread *t)
{
	if (!t->unsampled)
		return;
	w->counts.counter[WEFT_COUNTER_THREADS_UNSAMPLED]++;
	remember_unsampled(w->outside, w->process, t);
	t->unsampled = NULL;
}

static void tell_all_unsampled(struct watched *w)
{
	struct watched_thread *t;
	size_t cursor = 0;

	while ((t = threads_next(w->threads, &cursor)))
		outside_tell_unsampled(w, t);
}

static void thread_dead(void *arg, struct watched_thread *t)
{
	struct watched *w = arg;

	outside_tell_unsampled(w, t);
	account_gone(&w->account, t);
	if (w->wall)
		wall_thread_dead(w->wall, t, clock_mono_ns());
	if (t->slot_is_its && t->slot != THREADS_NO_SLOT)
		process_tell_gone(w->process, t->slot, t->generation);
}

static void slot_lost(void *arg, uint32_t slot, uint64_t generation)
{
	const struct watched *w = arg;

	process_tell_gone(w->process, slot, generation);
}

static void look_outside_add(struct outside *o, struct process *p)
{
	struct watched *w = calloc(1, sizeof(*w));
	struct threads_callbacks callbacks = {thread_new, thread_dead, slot_lost, w};

	if (!w)
		return;
	w->outside = o;
	w->process = p;
	w->threads = threads_new(p, &callbacks);
	if (!w->threads) {
		free(w);
		return;
	}
	w->priming = (struct priming){
		.process = p, .counts = &w->counts, .wanted = o->options.prime_signal};
	account_begin(&w->account, p, o->options.out);
	w->moved_ns = clock_mono_ns();
	w->wall_ns = w->looks_ns = w->meet_ns = NEVER;
	w->looks = looks_new(p, o->options.out);
	if (o->options.wall.period_ns)
		w->wall = wall_new(p, &o->options.wall, o->options.out, &w->counts);
	w->published = published_new(p, o->options.wall.from, &w->counts);
	if (w->wall) {
		wall_use_published(w->wall, w->published);
		process_keep_words(p);
	}
	if (w->wall)
		w->wall_ns = w->meet_ns = w->moved_ns;
	w->next = o->processes;
	o->processes = w;
}

static struct watched *outside_find(const struct outside *o, const struct process *p)
{
	struct watched *w = o->processes;

	while (w && w->process != p)
		w = w->next;
	return w;
}

static void outside_end(struct outside *o, struct watched *w)
{
	struct watched **at = &o->processes;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	looks_free(w->looks);
	threads_free(w->threads);
	published_free(w->published);
	account_words_free(&w->account.words);
	free(w);
}

/* Has it used CPU time lately? Also 1 if that cannot be read. */
static int has_run(struct watched *w, uint64_t now_ns)
{
	uint64_t cpu_ns;

	if (process_cpu_read(w->process->pid, &cpu_ns))
		return 1;
	if (cpu_ns != w->cpu_ns)
		w->moved_ns = now_ns;
	w->cpu_ns = cpu_ns;
	return now_ns - w->moved_ns < STILL_AFTER_NS;
}

/* With few threads reading the clock costs nothing. */
static uint64_t clock_pause(const struct watched *w)
{
	if (w->still)
		return 2 * CLOCK_NS;
	return threads_count(w->threads) < FEW_THREADS ? LOOK_NS : CLOCK_NS;
}

static int is_still(struct watched *w, uint64_t now_ns)
{
	if (now_ns >= w->clock_ns) {
		w->still = !has_run(w, now_ns);
		w->clock_ns = now_ns + clock_pause(w);
	}
	return w->still && !threads_count_changed(w->threads);
}

static void renew_looks(struct watched *w, uint64_t now_ns)
{
	uint64_t due_ns = w->looks ? looks_renew(w->looks, w->threads, w->still, now_ns) : NEVER;

	if (w->looks_ns == NEVER || due_ns == NEVER)
		w->looks_ns = due_ns;
}

static void outside_look(struct watched *w, uint64_t now_ns)
{
	if (is_still(w, now_ns)) {
		renew_looks(w, now_ns);
		w->look_ns = now_ns + STILL_LOOK_NS;
		return;
	}
	w->look_ns = now_ns + LOOK_NS;
	if (threads_look(w->threads, now_ns) < 0)
		return;
	threads_find_slots(w->threads);
	if (w->wall)
		wall_meet(w->wall, w->threads, 0);
	if (published_look(w->published, now_ns) && w->wall)
		wall_look_anew(w->wall);
	if (w->wall && w->meet_ns == NEVER)
		w->meet_ns = now_ns + wall_meet_gap(w->wall);
	renew_looks(w, now_ns);
	w->priming.cpu_ns = w->cpu_ns;
	priming_look(&w->priming, w->threads, now_ns);
	account_look(&w->account, w->threads, now_ns, w->cpu_ns);
}

/* Threads may end before the next list: only those with a slot are worth meeting now. */
static void outside_meet(struct watched *w, uint64_t now_ns)
{
	w->meet_ns = w->still ? NEVER : now_ns + wall_meet_gap(w->wall);
	if (w->still || !threads_has_strangers(w->threads) || threads_list(w->threads, now_ns) < 0)
		return;
	threads_find_slots(w->threads);
	wall_meet(w->wall, w->threads, 1);
}

static void outside_visit(struct watched *w)
{
	uint64_t now_ns = clock_mono_ns();

	if (w->meet_ns <= now_ns)
		outside_meet(w, now_ns);
	if (w->looks_ns <= now_ns)
		w->looks_ns = looks_take(w->looks, w->looks_ns);
	if (w->look_ns <= now_ns)
		outside_look(w, now_ns);
	if (w->wall_ns <= now_ns)
		w->wall_ns = wall_tick(w->wall, w->threads, now_ns, WALL_BUDGET_NS);
}

/* ---- orders */

static void flush_all(struct outside *o, uint64_t now_ns)
{
	for (struct watched *w = o->processes; w; w = w->next) {
		if (w->wall)
			wall_flush(w->wall, now_ns);
		looks_flush(w->looks);
		account_look_all(&w->account, w->threads, now_ns);
	}
}

static void say_last(struct watched *w, const char *end, uint64_t now_ns)
{
	if (strcmp(end, RECORDING_END_EXEC) != 0) /* after exec it is another program's CPU time */
		account_look_all(&w->account, w->threads, now_ns);
	tell_all_unsampled(w);
	looks_flush(w->looks);
	wall_free(w->wall, now_ns);
	w->wall = NULL;
}

static void look_outside_pass(struct outside *o, struct batch *b)
{
	struct watched *w = b->process ? outside_find(o, b->process) : NULL;
	uint64_t now_ns = clock_mono_ns();

	if (b->kind == BATCH_ROLL)
		flush_all(o, now_ns);
	if (w && b->kind == BATCH_CLOSE)
		say_last(w, b->end, now_ns);
	if (w)
		session_counts_add((void *)b->data, &w->counts);
	if (w && b->kind == BATCH_CLOSE)
		outside_end(o, w);
	b->time_ns = now_ns; /* whatever happened before it is older */
	queue_push(o->options.out, b);
}

static void carry_out(struct outside *o, struct batch *order)
{
	if (order->kind == BATCH_OPEN) {
		look_outside_add(o, order->process);
		free(order);
	} else {
		look_outside_pass(o, order);
	}
}

static uint64_t next_due(const struct outside *o)
{
	uint64_t due = NEVER;

	for (const struct watched *w = o->processes; w; w = w->next) {
		due = w->look_ns < due ? w->look_ns : due;
		due = w->wall_ns < due ? w->wall_ns : due;
		due = w->looks_ns < due ? w->looks_ns : due;
		due = w->meet_ns < due ? w->meet_ns : due;
	}
	return due;
}

static void *outside_run(void *arg)
{
	struct outside *o = arg;

	for (;;) {
		struct batch *order = queue_pop_until(&o->orders, next_due(o));

		if (order && order->kind == BATCH_FINISH) {
			free(order);
			return NULL;
		}
		if (order)
			carry_out(o, order);
		else
			for (struct watched *w = o->processes; w; w = w->next)
				outside_visit(w);
	}
}

/* ---- for the other threads */

int outside_open(struct outside **out, const struct outside_options *options)
{
	struct outside *o = calloc(1, sizeof(*o));
	sigset_t all, before;
	int rc;

	if (!o)
		return -ENOMEM;
	o->options = *options;
	o->finish = batch_new(BATCH_FINISH, NULL, 0);
	rc = o->finish ? queue_init(&o->orders, SIZE_MAX) : -ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (rc == 0)
		rc = -pthread_create(&o->thread, NULL, outside_run, o);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		free(o->finish);
		free(o);
		return rc;
	}
	*out = o;
	return 0;
}

void outside_pass(struct outside *o, struct batch *b)
{
	queue_push(&o->orders, b);
}

void outside_add(struct outside *o, struct process *p)
{
	outside_pass(o, batch_new(BATCH_OPEN, p, 0));
}

const struct outside_unsampled *outside_unsampled(const struct outside *o, size_t *count)
{
	*count = o->unsampled_count;
	return o->unsampled;
}

void outside_stop(struct outside *o)
{
	if (!o || !o->finish)
		return;
	outside_pass(o, o->finish);
	o->finish = NULL;
	pthread_join(o->thread, NULL);
	while (o->processes) /* none, unless the recording was abandoned */
		outside_end(o, o->processes);
}

void outside_free(struct outside *o)
{
	if (o)
		queue_destroy(&o->orders);
	free(o);
}
