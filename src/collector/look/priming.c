/* SPDX-License-Identifier: Apache-2.0 */
/* Priming and naming, from outside: see priming.h. */
#include "collector/look/priming.h"

#include "collector/look/outside.h"
#include "collector/process/filters.h"
#include "collector/process/order.h"
#include "proc/thread_stat.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_MIN_NS UINT64_C(90000000) /* each look, or nearly */
#define PAUSE_SLOTLESS_NS UINT64_C(2000000000)
#define PAUSE_SAMPLED_NS UINT64_C(1000000000)
#define PAUSE_MAX_NS UINT64_C(30000000000)
#define SENT_MAX 4 /* signals to one thread since its last sample */
#define ADOPT_PAUSE_NS UINT64_C(1000000000)
#define ADOPT_MAX 4     /* orders for one thread */
#define CARRIERS_MAX 64 /* threads that are examined as the receiver of one */
#define SIGNALFD_PAUSE_NS UINT64_C(10000000000)
#define DESCRIPTORS_MAX 4096 /* looked at for a signalfd */
#define UNSEEN_PERIODS 4     /* of CPU time without a sample: something is wrong */
#define UNSEEN_MIN_NS UINT64_C(50000000)
#define UNREACHED_NS UINT64_C(500000000) /* likewise, while it may still be reached */
#define RAN_NS UINT64_C(1000000)
#define KERNEL_SIGRTMAX 64
#define STEADY_NS 2000000
#define STEADY_SHORT_NS 100000 /* for all but the first few threads of a look */
#define STEADY_TRIES 4
#define FILTERED_AT_ONCE 8 /* threads whose filters are counted in a look */

int priming_may_send(int wanted, uint32_t signo)
{
	if (wanted == SIGURG)
		return signo == SIGURG;
	/* If the chosen signal is in use, the target takes the next free one. */
	return wanted >= SIGRTMIN && signo >= (uint32_t)SIGRTMIN && signo <= KERNEL_SIGRTMAX;
}

static uint32_t signal_in_use(const struct priming *p)
{
	return load_acquire(&p->process->base->prime_signal_used);
}

static void priming_count(struct priming *p, enum weft_counter counter)
{
	p->counts->counter[counter]++;
}

/* ---- who reads the signal from a descriptor */

static int is_signalfd(int directory, const char *name)
{
	char target[64];
	ssize_t n = readlinkat(directory, name, target, sizeof(target) - 1);

	if (n <= 0)
		return 0;
	target[n] = 0;
	return strcmp(target, "anon_inode:[signalfd]") == 0;
}

static uint64_t sigmask_of(const struct priming *p, const char *name)
{
	char path[300], text[512];
	const char *at;

	snprintf(path, sizeof(path), "fdinfo/%s", name);
	if (proc_read(p->process->proc_fd, path, text, sizeof(text)) <= 0)
		return 0;
	at = strstr(text, "sigmask:");
	return at ? strtoull(at + strlen("sigmask:"), NULL, 16) : 0;
}

static uint64_t all_signalfd_masks(const struct priming *p)
{
	DIR *directory = proc_directory(p->process->proc_fd, "fd");
	const struct dirent *entry;
	uint64_t masks = 0;

	if (!directory)
		return 0;
	for (int i = 0; i < DESCRIPTORS_MAX && (entry = readdir(directory)); i++)
		if (is_signalfd(dirfd(directory), entry->d_name))
			masks |= sigmask_of(p, entry->d_name);
	closedir(directory);
	return masks;
}

static int is_read_by_signalfd(struct priming *p, uint32_t signo, uint64_t now_ns)
{
	if (!p->signalfd_ns || now_ns - p->signalfd_ns > SIGNALFD_PAUSE_NS) {
		p->signalfd_ns = now_ns;
		p->read_by_signalfd = (all_signalfd_masks(p) & SIGNAL_BIT(signo)) != 0;
	}
	return p->read_by_signalfd;
}

/* ---- the signal */

static void priming_refuse(struct priming *p, struct watched_thread *t)
{
	if (!t->effort.refused)
		priming_count(p, WEFT_COUNTER_PRIMING_REFUSED);
	t->effort.refused = 1;
}

/* It was running at the last look, and since then it has used CPU time and has not slept. */
static int has_run_on(const struct watched_thread *t, const struct thread_run *now)
{
	return t->effort.waits_cpu_ns && now->state == 'R' && now->waits == t->effort.waits &&
	       now->cpu_ns - t->effort.waits_cpu_ns >= RAN_NS;
}

/*
 * A thread that runs may go to sleep before the signal arrives, and most that have run for some
 * microseconds will; one that is runnable may be waiting for a CPU in the call that it slept in. So
 * it must have kept running for a while.
 */
static int runs_on(struct priming *p, const struct watched_thread *t, uint32_t signo)
{
	struct thread_stat stat;
	struct thread_run now;

	if (thread_stat_read(p->process->proc_fd, t->tid, &stat) || stat.start != t->start ||
	    stat.state != 'R' || thread_run_read(p->process->proc_fd, t->tid, &now))
		return 0;
	return has_run_on(t, &now) ||
	       order_runs_on(p->process, t->tid, signo, &now,
			     p->waited++ < STEADY_TRIES ? STEADY_NS : STEADY_SHORT_NS);
}

static void priming_prime(struct priming *p, struct watched_thread *t,
			  const struct thread_masks *masks, uint64_t now_ns)
{
	uint32_t signo = signal_in_use(p);

	if (t->effort.sent >= SENT_MAX || !priming_may_send(p->wanted, signo) ||
	    filters_are_feared(p->process))
		return;
	if (t->effort.sent && (masks->blocked & SIGNAL_BIT(signo)))
		return; /* it has received a signal, and is probably in the handler now */
	if ((masks->blocked & SIGNAL_BIT(signo)) || !(masks->caught & SIGNAL_BIT(signo)) ||
	    masks->queue_is_full || is_read_by_signalfd(p, signo, now_ns)) {
		priming_refuse(p, t);
		return;
	}
	if (!runs_on(p, t, signo) || order_queue(p->process, t->tid, signo, WEFT_ORDER_PRIME))
		return;
	t->effort.sent++;
	priming_count(p, WEFT_COUNTER_PRIMING_SENT);
}

/* ---- threads that cannot be signalled */

static int has_used_much(const struct priming *p, const struct watched_thread *t)
{
	uint64_t period_ns = load_relaxed(&p->process->base->period_ns);

	return t->effort.unseen_ns >= UNSEEN_MIN_NS &&
	       t->effort.unseen_ns / UNSEEN_PERIODS >= period_ns;
}

static int may_carry(struct priming *p, const struct watched_thread *t, uint32_t signo)
{
	struct thread_masks masks;

	if (thread_masks_read(p->process->proc_fd, t->tid, &masks) ||
	    (masks.blocked & SIGNAL_BIT(signo)) || !(masks.caught & SIGNAL_BIT(signo)) ||
	    masks.queue_is_full)
		return 0;
	return order_may_wake(p->process, t->tid, signo) || runs_on(p, t, signo);
}

/* Orders it from the first thread that can receive the signal. */
static int order_adoption(struct priming *p, struct threads *threads, uint32_t signo)
{
	const struct watched_thread *t;
	size_t cursor = 0;

	for (int i = 0; i < CARRIERS_MAX && (t = threads_next(threads, &cursor)); i++)
		if (may_carry(p, t, signo) &&
		    order_queue(p->process, t->tid, signo, WEFT_ORDER_ADOPT) == 0)
			return 1;
	return 0;
}

static void adopt_stranded(struct priming *p, struct threads *threads, uint64_t now_ns)
{
	uint32_t signo = signal_in_use(p);

	if (!p->stranded || !priming_may_send(p->wanted, signo) || filters_are_feared(p->process) ||
	    (p->adopted_ns && now_ns - p->adopted_ns < ADOPT_PAUSE_NS) ||
	    is_read_by_signalfd(p, signo, now_ns) || !order_adoption(p, threads, signo))
		return;
	p->stranded->effort.orders++;
	p->adopted_ns = now_ns;
	priming_count(p, WEFT_COUNTER_PRIMING_SENT);
}

/* ---- threads that cannot be sampled */

const char priming_why_feared[] = "its program filters its system calls (seccomp, no_new_privs)";

static const char *why_unreached(const struct priming *p, const struct watched_thread *t,
				 const struct thread_masks *masks)
{
	uint32_t signo = signal_in_use(p);

	if (t->slot != THREADS_NO_SLOT)
		return NULL;
	if (!priming_may_send(p->wanted, signo))
		return "no hook saw it, and there is no priming signal";
	if (t->effort.unseen_ns < UNREACHED_NS)
		return NULL;
	if (masks->blocked & SIGNAL_BIT(signo))
		return signo == SIGURG ? "no hook saw it, and it blocks SIGURG"
				       : "no hook saw it, and it blocks the priming signal";
	return "no hook saw it, and no signal reached it";
}

/* The header is anybody's: one of the two in any case. */
static int tick_signal_of(const struct process *p)
{
	return load_relaxed(&p->base->tick_signal) == SIGWINCH ? SIGWINCH : SIGPROF;
}

const char *priming_why_deaf(const struct process *p, const struct thread_masks *masks)
{
	int signo = tick_signal_of(p), is_chosen = signo == SIGWINCH;

	if (masks->blocked & SIGNAL_BIT(signo))
		return is_chosen ? "blocks SIGWINCH" : "blocks SIGPROF";
	if (masks->caught & SIGNAL_BIT(signo))
		return NULL;
	return is_chosen ? "its SIGWINCH handler was replaced" : "its SIGPROF handler was replaced";
}

static int is_paused(const struct weft_slot *slot)
{
	return slot && (load_relaxed(&slot->thread.flags) & WEFT_SLOT_PAUSED);
}

/* Its timer stands still because it had SIGPROF blocked, and it has opened that by a system call
 * which no hook saw: it does not know. */
static int is_open_again(const struct priming *p, const struct weft_slot *slot,
			 const struct thread_masks *masks)
{
	return is_paused(slot) && !(masks->blocked & SIGNAL_BIT(tick_signal_of(p->process)));
}

/* It has used enough CPU time without a sample; perhaps the handler is only not installed yet. */
static void name_when_deaf(struct priming *p, struct watched_thread *t,
			   const struct thread_masks *masks)
{
	const char *why = priming_why_deaf(p->process, masks);
	struct thread_stat stat;

	if (!why && is_open_again(p, watched_slot(p->process, t), masks))
		why = tick_signal_of(p->process) == SIGPROF
			      ? "opened SIGPROF by a system call of its own"
			      : "opened SIGWINCH by a system call of its own";
	if (!why)
		why = why_unreached(p, t, masks);
	if (filters_are_feared(p->process))
		why = priming_why_feared;
	if (!why || t->unsampled || !has_used_much(p, t))
		return;
	if (thread_stat_read(p->process->proc_fd, t->tid, &stat) || stat.start != t->start)
		return;
	if (!process_runs_on(p->process))
		return; /* exec: another program, which has not joined and is no thread of ours */
	if (process_has_thread(p->process, t->tid, stat.stack_start))
		memcpy(t->name, stat.name, sizeof(t->name)); /* its present name */
	t->unsampled = why;
	t->unsampled_head = t->effort.head;
}

/* ---- one thread at a time */

static int wants_timer(const struct priming *p, const struct weft_slot *slot)
{
	const struct weft_session_header *h = p->process->base;

	return load_relaxed(&slot->thread.timer_id) < 0 &&
	       load_relaxed(&h->timers_armed) < load_relaxed(&h->timer_budget);
}

static void help(struct priming *p, struct watched_thread *t, const struct weft_slot *slot,
		 uint64_t now_ns)
{
	struct thread_masks masks;

	if (!slot && !t->effort.found) {
		t->effort.found = 1;
		priming_count(p, WEFT_COUNTER_THREADS_FOUND);
	}
	if (thread_masks_read(p->process->proc_fd, t->tid, &masks))
		return;
	name_when_deaf(p, t, &masks);
	if (!slot || wants_timer(p, slot) || is_open_again(p, slot, &masks))
		priming_prime(p, t, &masks, now_ns);
	t->effort.waits = masks.waits;
	t->effort.waits_cpu_ns = t->effort.cpu_ns;
	if (!slot && has_used_much(p, t) && t->effort.orders < ADOPT_MAX &&
	    !(masks.blocked & SIGNAL_BIT(tick_signal_of(p->process))))
		p->stranded = t;
}

/* Samples of its hrtimer come, which does not see the kernel: ticks must come again, too. */
static void help_to_ticks(struct priming *p, struct watched_thread *t, const struct weft_slot *slot,
			  uint64_t now_ns)
{
	struct thread_masks masks;

	if (is_paused(slot) && !thread_masks_read(p->process->proc_fd, t->tid, &masks) &&
	    is_open_again(p, slot, &masks))
		priming_prime(p, t, &masks, now_ns);
}

/* One that is named because its timer stands still may open SIGPROF at any time, and then it can
 * be helped. */
static int is_given_up(const struct watched_thread *t, const struct weft_slot *slot)
{
	return t->unsampled &&
	       (t->effort.refused || t->effort.sent >= SENT_MAX || (slot && !is_paused(slot)));
}

/* Less often the longer it does nothing. */
static void priming_set_pause(struct watched_thread *t, const struct weft_slot *slot, int has_run)
{
	struct thread_effort *e = &t->effort;
	uint64_t most = slot ? PAUSE_MAX_NS : PAUSE_SLOTLESS_NS;

	e->pause_ns = has_run || !e->pause_ns ? PAUSE_MIN_NS : e->pause_ns * 2;
	if (e->pause_ns > most || is_given_up(t, slot))
		e->pause_ns = most;
}

/* Adds its CPU time since the last look to that without samples. */
static void ask_cpu(struct priming *p, struct watched_thread *t, const struct weft_slot *slot,
		    uint64_t now_ns)
{
	struct thread_effort *e = &t->effort;
	uint64_t cpu_ns = 0;
	int has_run;

	if (thread_cpu_read(p->process->proc_fd, t->tid, &cpu_ns))
		return;
	has_run = e->looked && cpu_ns > e->cpu_ns;
	if (has_run)
		e->unseen_ns += cpu_ns - e->cpu_ns;
	e->cpu_ns = cpu_ns;
	e->process_ns = p->cpu_ns;
	if (has_run)
		help(p, t, slot, now_ns);
	priming_set_pause(t, slot, has_run || !e->looked);
	e->looked = 1;
}

/* Its CPU time is not read if samples come, or if it can have used only little. */
static void priming_look_at(struct priming *p, struct watched_thread *t, uint64_t now_ns)
{
	const struct weft_slot *slot = watched_slot(p->process, t);
	struct thread_effort *e = &t->effort;
	uint64_t head = watched_attempted(p->process, t);

	if (head != e->head) {
		e->head = head;
		e->process_ns = p->cpu_ns;
		e->unseen_ns = 0;
		e->sent = 0; /* what was sent has helped, or was not needed */
		e->looked = 0;
		e->pause_ns = PAUSE_SAMPLED_NS;
		help_to_ticks(p, t, slot, now_ns);
	} else if (!slot || p->cpu_ns - e->process_ns >= UNSEEN_MIN_NS) {
		ask_cpu(p, t, slot, now_ns);
	} else {
		e->pause_ns = PAUSE_MIN_NS;
	}
}

/* At the main thread, which a filter for all threads is seen at, and at some others in turn: a
 * thread may have one of its own. */
static void look_at_filters(struct priming *p, struct threads *threads)
{
	const struct watched_thread *t;

	if (filters_are_feared(p->process) || filters_look(p->process, (int32_t)p->process->pid))
		return;
	for (int i = 0; i < FILTERED_AT_ONCE; i++) {
		t = threads_next(threads, &p->filter_cursor);
		if (!t) {
			p->filter_cursor = 0;
			return;
		}
		if (t->tid != p->process->pid && filters_look(p->process, t->tid))
			return;
	}
}

void priming_look(struct priming *p, struct threads *threads, uint64_t now_ns)
{
	struct watched_thread *t;
	size_t cursor = 0;

	look_at_filters(p, threads);
	if (!threads_are_sampled(p->process))
		return;
	p->waited = 0;
	p->stranded = NULL;
	while ((t = threads_next(threads, &cursor))) {
		if (now_ns < t->effort.due_ns)
			continue;
		priming_look_at(p, t, now_ns);
		t->effort.due_ns = now_ns + t->effort.pause_ns;
	}
	adopt_stranded(p, threads, now_ns);
}
