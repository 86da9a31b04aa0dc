/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SIGPROF handler of the cpu engine: takes its own timers' signals, passes all others
 * on, and writes one sample into the thread's ring, with the stack walked (stack_walk.c) or
 * copied for the collector to walk (stack_copy.c).
 *
 * Asynchronous signals are blocked while it runs, so it never nests; the synchronous ones
 * stay open, for one of them while blocked would kill the process. No allocation, no lock,
 * errno kept. System calls: none, but for the exceptions that are counted where they stand:
 * a stack of unknown bounds is read by process_vm_readv (stack_self_read), more of the unwind
 * tables is opened (tables_opened), a thread without slot is primed (primed_handler), the timer
 * of a stopped recording is deleted, and the session of a forked child is begun
 * (child_sessions).
 */
#include "runtime/sampler.h"

#include <string.h>

#include "base/context_snapshot.h"
#include "runtime/hooks.h"
#include "runtime/registers.h"
#include "runtime/ring.h"
#include "runtime/stack.h"
#include "runtime/sys.h"

static struct ring samples_ring(struct weft_slot *slot)
{
	return (struct ring){.producer = &slot->samples_p,
			     .consumer = &slot->samples_c,
			     .data = (uint8_t *)slot + weft_rt.samples_offset,
			     .bytes = weft_rt.samples_bytes};
}

static void count_context(struct weft_slot *slot, enum weft_sample_context context)
{
	if (context == WEFT_CONTEXT_BUSY)
		weft_slot_count(slot, WEFT_COUNTER_CTX_BEING_WRITTEN, 1);
	else if (context == WEFT_CONTEXT_BAD)
		weft_slot_count(slot, WEFT_COUNTER_CTX_BAD_CHECKSUM, 1);
	else if (context == WEFT_CONTEXT_SLOTLESS)
		weft_slot_count(slot, WEFT_COUNTER_CTX_NO_SLOT, 1);
}

static void take_context(struct weft_slot *slot, struct weft_sample_record *sample, int is_new)
{
	struct weft_context_snapshot *out = (void *)&sample->span_id;
	enum weft_sample_context found = weft_context_snapshot(slot, out);

	if (is_new)
		found = WEFT_CONTEXT_SLOTLESS;
	sample->context = (uint8_t)found;
	count_context(slot, found);
}

/* The fields of a timer's signal are other fields of a queued one. */
static int32_t timer_of(const siginfo_t *info)
{
	return info->si_code == SI_TIMER ? info->si_timerid : -1;
}

static uint32_t overrun_of(const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0;
}

static void fill_head(struct weft_slot *slot, struct weft_sample_record *sample,
		      const siginfo_t *info, uint64_t now_ns)
{
	uint32_t overrun = overrun_of(info);

	sample->record.type = WEFT_RECORD_SAMPLE;
	sample->record.generation = (uint32_t)slot->thread.generation;
	sample->time_ns = now_ns;
	sample->weight = 1 + overrun;
	sample->engine = WEFT_ENGINE_CPU;
	sample->coroutine = slot->events.coroutine;
	if (overrun)
		weft_slot_count(slot, WEFT_COUNTER_OVERRUNS, overrun);
}

/* By the session's mode; AUTO copies where nobody knows how far the stack reaches. */
static struct weft_sample_record *take_stack(const struct stack_take *take)
{
	struct weft_sample_record *sample;

	if (take->mode == WEFT_STACK_TABLE || take->mode == WEFT_STACK_FP ||
	    (take->mode == WEFT_STACK_AUTO && take->view.known))
		return weft_stack_walk(take);
	sample = weft_stack_copy(take);
	if (sample && take->mode == WEFT_STACK_CHECK)
		weft_stack_check(take, sample);
	return sample;
}

/* @is_new: claimed by this very handler. */
static void write_sample(struct weft_slot *slot, const siginfo_t *info, const ucontext_t *uc,
			 uint64_t now_ns, int is_new)
{
	struct stack_take take = {
		.slot = slot,
		.uc = uc,
		.ring = samples_ring(slot),
		.view = weft_stack_find(slot, uc, registers_sp(uc)),
		.mode = __atomic_load_n(&weft_rt.header->stack_mode, __ATOMIC_RELAXED),
	};
	struct weft_sample_record *sample;

	weft_slot_count(slot, WEFT_COUNTER_ATTEMPTED, 1);
	sample = take_stack(&take);
	if (!sample) {
		weft_slot_count(slot, WEFT_COUNTER_LOST_RING_FULL, 1);
		return;
	}
	fill_head(slot, sample, info, now_ns);
	take_context(slot, sample, is_new);
	weft_slot_count(slot, WEFT_COUNTER_WRITTEN, 1);
	__atomic_store_n(&slot->events.commits, slot->events.commits + 1, __ATOMIC_RELAXED);
	weft_ring_commit(&take.ring, &sample->record);
}

/* One store: in the header, attempted is the sum of the causes. */
static void lose(enum weft_counter cause)
{
	weft_rt_count(cause, 1);
}

/* A thread that no hook has seen: its timer was adopted. */
static struct weft_slot *claim_here(const siginfo_t *info)
{
	struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_HANDLER};
	struct weft_slot *slot = weft_slot_claim(&birth);

	if (slot && slot->thread.timer_id < 0)
		slot->thread.timer_id = timer_of(info);
	return slot;
}

/* Two timers on one thread: a hook armed its own while the threads were being listed. */
static int is_surplus(struct weft_slot *slot, const siginfo_t *info)
{
	int32_t timer_id = timer_of(info);

	if (timer_id < 0)
		return 0;
	if (slot->thread.timer_id < 0)
		slot->thread.timer_id = timer_id;
	return slot->thread.timer_id != timer_id;
}

static void stop_ticking(struct weft_slot *slot, const siginfo_t *info)
{
	int32_t timer_id = timer_of(info);

	if (slot && slot->thread.timer_id == timer_id)
		slot->thread.timer_id = -1;
	weft_timer_delete(timer_id);
}

static void sample_adopted(struct weft_slot *slot, const siginfo_t *info, const ucontext_t *uc,
			   uint64_t now_ns)
{
	int is_new = slot == NULL;

	if (slot == weft_slot_private()) {
		slot = weft_child_move_out();
		if (slot)
			is_surplus(slot, info);
	} else if (is_new)
		slot = claim_here(info);
	else if (is_surplus(slot, info)) {
		weft_timer_delete(timer_of(info));
		return;
	}
	if (slot)
		write_sample(slot, info, uc, now_ns, is_new);
	else
		lose(WEFT_COUNTER_LOST_NO_SLOT);
}

/* Is this the thread, and the life of the slot, that the timer was armed for? */
static int belongs(const struct weft_slot *slot, uint64_t value)
{
	return slot && WEFT_SIGVAL_INDEX(value) == weft_rt_index(slot) &&
	       WEFT_SIGVAL_GENERATION(value) == (slot->thread.generation & 0xFFFFFF);
}

static void take_tick(const siginfo_t *info, const ucontext_t *uc, uint64_t now_ns)
{
	uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
	struct weft_slot *slot = weft_thread_slot;

	if (weft_rt_run_state() != WEFT_RUN_RECORDING)
		stop_ticking(slot, info);
	else if (WEFT_SIGVAL_GENERATION(value) == WEFT_SIGVAL_ADOPTED)
		sample_adopted(slot, info, uc, now_ns);
	else if (belongs(slot, value))
		write_sample(slot, info, uc, now_ns, 0);
	else
		lose(WEFT_COUNTER_LOST_EXIT_RACE);
}

/* Ours: from a timer, or queued by this very process, and with the session's cookie. */
int weft_sampler_is_ours(const siginfo_t *info)
{
	uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;

	if (info->si_code != SI_TIMER &&
	    !(info->si_code == SI_QUEUE && info->si_pid == weft_rt.pid))
		return 0;
	return weft_rt.cookie != 0 && WEFT_SIGVAL_COOKIE(value) == weft_rt.cookie;
}

static void count_time(uint64_t began_ns)
{
	unsigned int bucket = log2_bucket(clock_monotonic_ns() - began_ns);

	__atomic_fetch_add(&weft_rt.header->handler_ns[bucket], 1, __ATOMIC_RELAXED);
}

void weft_sampler_handler(int signo, siginfo_t *info, void *ucontext)
{
	int saved_errno = errno;
	uint64_t began_ns = clock_monotonic_ns();

	if (!weft_sampler_is_ours(info)) {
		if (weft_rt_is_ready())
			weft_rt_count(WEFT_COUNTER_FOREIGN_SIGNALS, 1);
		errno = saved_errno;
		if (weft_mask_hold_back(info, ucontext))
			return;
		weft_disposition_deliver(signo, info, ucontext);
		return;
	}
	if (UNLIKELY(!weft_rt_is_ready()))
		weft_child_first_tick();
	else if (LIKELY(weft_guard_holds())) {
		take_tick(info, ucontext, began_ns);
		count_time(began_ns);
	}
	errno = saved_errno;
}

static void fill_mask(sigset_t *mask)
{
	static const int open[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

	sigfillset(mask);
	for (unsigned int i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		sigdelset(mask, open[i]);
}

static int installed;

int weft_sampler_is_installed(void)
{
	return __atomic_load_n(&installed, __ATOMIC_ACQUIRE);
}

static void fill_action(struct sigaction *ours)
{
	memset(ours, 0, sizeof(*ours));
	ours->sa_flags = SA_RESTART | SA_ONSTACK | SA_SIGINFO;
	ours->sa_sigaction = weft_sampler_handler;
	fill_mask(&ours->sa_mask);
}

int weft_sampler_install(void)
{
	struct sigaction ours, theirs;

	if (weft_sampler_is_installed())
		return 0;
	fill_action(&ours);
	if (weft_real_sigaction(SIGPROF, NULL, &theirs))
		return -1;
	weft_disposition_swap(&theirs, NULL);
	if (weft_real_sigaction(SIGPROF, &ours, NULL))
		return -1;
	__atomic_store_n(&installed, 1, __ATOMIC_RELEASE);
	return 0;
}

void weft_sampler_keep(void)
{
	struct sigaction ours, theirs;

	if (!weft_sampler_is_installed() || weft_real_sigaction(SIGPROF, NULL, &theirs) ||
	    theirs.sa_sigaction == weft_sampler_handler)
		return;
	fill_action(&ours);
	weft_disposition_swap(&theirs, NULL);
	weft_real_sigaction(SIGPROF, &ours, NULL);
}
