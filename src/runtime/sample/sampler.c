/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cpu engine's handlers: SIGPROF from a thread's timer (a tick of the kernel has met the
 * thread) and SIGURG from its clock (clock.h: which covers what). Each handles its own signals,
 * passes all others on, and writes one sample into the thread's ring, with the stack walked
 * (stack_walk.c) or copied for the collector to walk (stack_copy.c).
 *
 * A tick stands for a tick of CPU time, and a sample for a whole number of periods: tick / period
 * plus a random number in [0, 1), rounded down, so that the sum is right. If that is 0 the sample
 * is left out, which is how a rate below the tick's comes about. Ticks in one long system call are
 * delivered as one signal at its end: it stands for the time that the kernel says the thread has
 * spent in the call.
 *
 * Asynchronous signals are blocked while a handler runs, so it never nests; the synchronous ones
 * stay open, because one that is raised while blocked kills the process. No allocation, no lock,
 * errno kept. No system calls but these, each with its counter: a stack of unknown bounds is read
 * by process_vm_readv (stack_self_read), and so is another library's context, if it lies neither on
 * the stack nor in static TLS (context_self_read), more of the unwind tables is opened
 * (tables_opened), a thread without slot is primed (primed_handler), the timer of a stopped
 * recording is deleted and the engine stopped, the session of a forked child is begun
 * (child_sessions), a tick reads the thread's usage (one getrusage), the clock's next block of gaps
 * begins (at most one event in 40 ms), and a clock that is closed, or was quiet for long, asks
 * whether its page is there.
 */
#include "runtime/sample/sample.h"

#include <string.h>

#include "base/context_snapshot.h"
#include "runtime/context/context.h"
#include "runtime/core/handling.h"
#include "runtime/core/ring.h"
#include "runtime/core/sys.h"
#include "runtime/event/event.h"
#include "runtime/sample/clock.h"
#include "runtime/sample/clock_rest.h"
#include "runtime/sample/kernel_time.h"
#include "runtime/sample/mask.h"
#include "runtime/stack/registers.h"
#include "runtime/stack/stack.h"

#define OPENING_MAX_US 10000 /* by what has a tick to its name that is none */

static struct ring samples_ring(struct weft_slot *slot)
{
	return (struct ring){.producer = &slot->samples_p,
			     .consumer = &slot->samples_c,
			     .data = (uint8_t *)slot + weft_layout.samples_offset,
			     .bytes = weft_layout.samples_bytes};
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

static void sampler_take_context(struct weft_slot *slot, struct weft_sample_record *sample,
				 int is_new)
{
	struct weft_context_snapshot *out = (void *)&sample->span_id;
	enum weft_sample_context found = weft_context_snapshot(slot, out);

	if (is_new) {
		found = WEFT_CONTEXT_SLOTLESS;
	} else if (UNLIKELY(!weft_publish_shows_v1())) {
		memset(out, 0, sizeof(*out));
		found = WEFT_CONTEXT_NONE;
	}
	sample->context = (uint8_t)found;
	count_context(slot, found);
}

/* A queued signal has other fields in place of a timer's. */
static int32_t timer_of(const siginfo_t *info)
{
	return info->si_code == SI_TIMER ? info->si_timerid : -1;
}

/* What a sample records about itself. Lies on a handler's small stack. */
struct taken {
	uint64_t now_ns;
	uint32_t own_us; /* CPU time spent before it on the beginning of its session */
	uint32_t weight; /* periods; 0 = it is left out */
	uint32_t cpu_us; /* the thread's CPU clock; 0 = not read */
	uint16_t flags;  /* enum weft_sample_flag */
	uint8_t is_new;  /* the slot was claimed by this handler */
};

/* Microseconds of CPU time since the last tick that met the thread: its timer is due after one. */
static uint32_t used_since_tick(const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_overrun > 0 ? 1 + (uint32_t)info->si_overrun
								 : 1;
}

/* A whole number, rounded at random so that the sum is right. */
static uint32_t in_periods(struct weft_slot *slot, uint64_t ns)
{
	uint64_t period_ns = weft_period_ns();

	if (ns == period_ns)
		return 1;
	return (uint32_t)((ns + weft_clock_random_below(slot, period_ns)) / period_ns);
}

/* From a tick until the clock is open nothing covers the thread. */
static uint64_t opening_ns(uint32_t us)
{
	return us < OPENING_MAX_US ? us * UINT64_C(1000) : 0;
}

/* What the tick that met the thread at @uc stands for. */
static __attribute__((noinline)) void weigh_tick(struct weft_slot *slot, const siginfo_t *info,
						 const ucontext_t *uc, struct taken *out)
{
	struct weft_clock *clock = weft_clock_of(slot);
	struct weft_usage usage = {0};
	uint32_t used_us = used_since_tick(info), kernel_us;
	uint64_t kernel_ns = 0, weight_ns = weft_tick_ns(), user_ns = 0, mask = sys_mask_of(uc);
	int is_kernel = registers_left_system_call(uc), is_covered;

	is_covered = weft_clock_covers(slot, mask);
	if (!weft_rt_is_careful()) {
		usage = weft_usage_of_thread();
		kernel_us = weft_usage_modulo(usage.kernel_us);
		kernel_ns = weft_kernel_ns_between(kernel_us, clock->kernel_us);
		clock->kernel_us = kernel_us;
	}
	if (!is_covered)
		out->cpu_us = weft_usage_modulo(usage.cpu_us);
	is_kernel |= kernel_ns / 500 > used_us; /* a page fault */
	out->flags |= WEFT_SAMPLE_TICK | (is_kernel ? WEFT_SAMPLE_KERNEL : 0);
	if (is_kernel)
		weight_ns = weft_kernel_weight_alone(kernel_ns, (uint64_t)used_us * 1000,
						     usage.waits - weft_clock_rest_of(slot)->waits);
	if (is_kernel && is_covered && usage.kernel_us)
		weight_ns = weft_kernel_weight_beside(slot, &usage, weight_ns);
	if (is_covered) {
		weft_clock_first_tick(slot);
		if (usage.cpu_us)
			weft_clock_is_quiet(slot, weft_usage_modulo(usage.cpu_us));
	} else {
		user_ns = weft_clock_open_late(slot, mask, weight_ns);
		if (usage.cpu_us && weft_clock_is_open(slot))
			user_ns += opening_ns(clock->since_us - weft_usage_modulo(usage.cpu_us));
	}
	if (usage.kernel_us)
		weft_clock_rest_update(slot, out->now_ns, &usage);
	out->weight = in_periods(slot, is_kernel ? weight_ns : user_ns);
}

static void fill_head(struct weft_slot *slot, struct weft_sample_record *sample,
		      const struct taken *taken)
{
	sample->record.type = WEFT_RECORD_SAMPLE;
	sample->record.generation = (uint32_t)slot->thread.generation;
	sample->record.rsv = taken->cpu_us;
	sample->time_ns = taken->now_ns;
	sample->weight = taken->weight;
	sample->flags |= taken->flags;
	sample->engine = WEFT_ENGINE_CPU;
	sample->coroutine = slot->events.coroutine;
	if (taken->weight > 1)
		weft_slot_count(slot, WEFT_COUNTER_OVERRUNS, taken->weight - 1);
}

/* By the session's mode; AUTO copies if the stack's bounds are unknown. */
static struct weft_sample_record *take_by_mode(const struct stack_take *take)
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

/* What stands behind a sample's stack: room for its labels, and for other libraries' contexts. */
struct beside {
	uint32_t labels, published;
};

/* If there is no room for the latter, the sample is written without them, then without labels. */
static struct weft_sample_record *sampler_take_stack(struct stack_take *take, struct beside *beside)
{
	struct weft_sample_record *sample;

	beside->labels =
		weft_sample_labels_bytes(take->slot, weft_ring_record_max(&take->ring) / 4);
	for (;;) {
		take->beside = beside->labels + beside->published;
		sample = take_by_mode(take);
		if (LIKELY(sample || !take->beside))
			return sample;
		if (beside->published)
			beside->published = 0;
		else
			beside->labels = 0;
	}
}

/* 0: settings for samples (weft/abi/events.h) leave it out for its context, which is counted. */
static int sampler_is_wanted(const struct stack_take *take)
{
	const struct weft_event_row *rows =
		(const void *)(weft_rt.base + weft_layout.event_area_offset);
	uint32_t flags = load_relaxed(&rows[WEFT_EVENT_ROW_CPU].flags);

	if (UNLIKELY((flags & (WEFT_EVENT_SET | WEFT_EVENT_ON)) == WEFT_EVENT_SET))
		return 0;
	if (LIKELY(!(flags & WEFT_EVENT_IF_CONTEXT)) || weft_event_has_context(take->slot) ||
	    weft_sample_published_is_any(take))
		return 1;
	weft_slot_count(take->slot, WEFT_COUNTER_SAMPLES_UNSELECTED, 1);
	return 0;
}

static void sampler_write_sample(struct weft_slot *slot, const ucontext_t *uc,
				 const struct taken *taken)
{
	struct stack_take take = {
		.slot = slot,
		.uc = uc,
		.ring = samples_ring(slot),
		.view = weft_stack_find(slot, uc, registers_sp(uc)),
		.mode = load_relaxed(&weft_rt.header->stack_mode),
	};
	struct weft_sample_record *sample;
	struct beside beside;

	if (UNLIKELY(!sampler_is_wanted(&take)))
		return;
	beside.published = weft_sample_published_bytes(weft_ring_record_max(&take.ring) / 4);
	weft_slot_count(slot, WEFT_COUNTER_ATTEMPTED, 1);
	sample = sampler_take_stack(&take, &beside);
	if (!sample) {
		weft_slot_count(slot, WEFT_COUNTER_LOST_RING_FULL, 1);
		return;
	}
	fill_head(slot, sample, taken);
	sampler_take_context(slot, sample, taken->is_new);
	if (load_relaxed(&slot->events.open_contexts))
		sample->flags |= WEFT_SAMPLE_IN_CONTEXT;
	weft_sample_labels_put(slot, sample, beside.labels);
	weft_sample_published_put(&take, beside.published, sample);
	weft_slot_count(slot, WEFT_COUNTER_WRITTEN, 1);
	weft_event_add(&slot->events.commits, 1);
	weft_ring_commit(&take.ring, &sample->record);
	weft_rt_mark(weft_rt_index(slot));
}

/* The beginning of a session itself is met only by signals that were blocked meanwhile. */
static void write_if_due(struct weft_slot *slot, const ucontext_t *uc, struct taken *taken)
{
	if (UNLIKELY(taken->own_us))
		taken->weight += in_periods(slot, taken->own_us * UINT64_C(1000));
	if (taken->weight)
		sampler_write_sample(slot, uc, taken);
}

static void sample_tick(struct weft_slot *slot, const siginfo_t *info, const ucontext_t *uc,
			struct taken *taken)
{
	taken->weight = 1;
	if (LIKELY(info->si_code == SI_TIMER)) /* one that was queued asked for one sample */
		weigh_tick(slot, info, uc, taken);
	write_if_due(slot, uc, taken);
}

/* A thread that no hook has seen, with an adopted timer. Not inlined, to save stack in a walk. */
static __attribute__((noinline)) struct weft_slot *claim_here(const siginfo_t *info)
{
	struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_HANDLER, .has_timer = 1};
	struct weft_slot *slot = weft_slot_claim(&birth);

	if (slot && slot->thread.timer_id < 0)
		slot->thread.timer_id = timer_of(info);
	return slot;
}

/* The thread has two timers: a hook armed its own while threads were being listed. */
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
			   struct taken *taken)
{
	taken->is_new = slot == NULL;
	if (slot == weft_slot_private()) {
		slot = weft_child_move_out();
		if (slot)
			is_surplus(slot, info);
	} else if (taken->is_new)
		slot = claim_here(info);
	else if (is_surplus(slot, info)) {
		weft_timer_delete(timer_of(info));
		return;
	}
	if (slot)
		sample_tick(slot, info, uc, taken);
	else
		weft_rt_count(WEFT_COUNTER_LOST_NO_SLOT, 1);
}

/* Was the timer armed for this thread, and for this generation of the slot? */
static int belongs(const struct weft_slot *slot, uint64_t value)
{
	return slot && WEFT_SIGVAL_INDEX(value) == weft_rt_index(slot) &&
	       WEFT_SIGVAL_GENERATION(value) == (slot->thread.generation & 0xFFFFFF);
}

static void take_tick(const siginfo_t *info, const ucontext_t *uc, struct taken *taken)
{
	uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
	struct weft_slot *slot = weft_slot_mine();

	if (weft_rt_run_state() != WEFT_RUN_RECORDING)
		stop_ticking(slot, info);
	else if (WEFT_SIGVAL_GENERATION(value) == WEFT_SIGVAL_ADOPTED)
		sample_adopted(slot, info, uc, taken);
	else if (belongs(slot, value))
		sample_tick(slot, info, uc, taken);
	else
		weft_rt_count(WEFT_COUNTER_LOST_EXIT_RACE, 1);
}

/* In a forked child: begins its session, and with that the timer of the thread that it met. */
static struct weft_slot *sampler_begin_child(uint32_t *took_us)
{
	struct weft_slot *slot;
	uint64_t before_ns;

	if (weft_rt_is_careful())
		return NULL;
	before_ns = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	slot = weft_rt_is_ready() ? weft_child_move_out() : weft_child_first_tick();
	if (slot || !weft_rt_is_ready()) /* else it is in the middle of a write: at the next tick */
		weft_clock_after_begin(slot);
	if (!slot && !weft_rt_is_ready())
		weft_timer_disarm_process();
	*took_us = (uint32_t)((sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) / 1000);
	return slot;
}

static __attribute__((noinline)) void sampler_take_first(const siginfo_t *info,
							 const ucontext_t *uc, struct taken *taken)
{
	struct weft_slot *slot = sampler_begin_child(&taken->own_us);

	if (!slot)
		return;
	sample_tick(slot, info, uc, taken);
	weft_timer_arm(slot, sys_mask_of(uc));
}

static void count_time(uint64_t began_ns)
{
	unsigned int bucket = log2_bucket(clock_monotonic_ns() - began_ns);

	__atomic_fetch_add(&weft_rt.header->handler_ns[bucket], 1, __ATOMIC_RELAXED);
}

/* The first tick after the end of a recording ends the engine, for all threads. */
static void handle(const siginfo_t *info, const ucontext_t *uc, struct taken *taken)
{
	struct weft_handling marked = weft_handling_begin();

	take_tick(info, uc, taken);
	count_time(taken->now_ns);
	weft_handling_end(marked);
	if (UNLIKELY(weft_attach_is_stale(taken->now_ns)))
		weft_attach_check(taken->now_ns);
}

/*
 * In user mode, at any instant. Only a signal that was pending can find a system call just left:
 * the thread had blocked it, and its ticks have counted meanwhile.
 */
static void sampler_take_clock(struct weft_slot *slot, const ucontext_t *uc, struct taken *taken)
{
	uint64_t weight_ns;

	if (weft_rt_run_state() != WEFT_RUN_RECORDING) {
		weft_clock_close(slot);
		return;
	}
	weight_ns = weft_clock_weight_ns(slot);
	if (!weft_clock_fired(slot, taken->now_ns)) /* 1: the clock covers what is done below */
		weight_ns /= 2;
	if (!registers_left_system_call(uc)) {
		taken->weight = in_periods(slot, weight_ns);
		weft_kernel_time_sampled(slot, weight_ns);
	}
	write_if_due(slot, uc, taken);
}

void weft_sampler_clock(const ucontext_t *uc)
{
	struct taken taken = {.now_ns = clock_monotonic_ns()};
	struct weft_slot *slot = weft_slot_mine();
	int is_first =
		(!slot || slot == weft_slot_private()) && weft_clock_is_open(weft_slot_private());
	struct weft_handling marked;

	if (is_first)
		slot = weft_slot_private();
	if (slot && weft_clock_is_repeat(slot)) /* before what takes its time */
		return;
	if (is_first)
		slot = sampler_begin_child(&taken.own_us);
	if (!slot || slot == weft_slot_private() || !weft_clock_is_open(slot))
		return;
	marked = weft_handling_begin();
	sampler_take_clock(slot, uc, &taken);
	if (is_first)
		weft_timer_arm(slot, sys_mask_of(uc));
	count_time(taken.now_ns);
	weft_handling_end(marked);
}

void weft_sampler_handler(int signo, siginfo_t *info, void *ucontext)
{
	int saved_errno = errno;
	struct taken taken = {.now_ns = clock_monotonic_ns()};

	if (!weft_sampler_is_ours(info)) {
		if (weft_rt_is_ready())
			weft_rt_count(WEFT_COUNTER_FOREIGN_SIGNALS, 1);
		errno = saved_errno;
		if (weft_mask_hold_back(info, ucontext))
			return;
		weft_disposition_deliver(WEFT_KEPT_PROF, signo, info, ucontext);
		return;
	}
	if (UNLIKELY(!weft_rt_is_ready()))
		sampler_take_first(info, ucontext, &taken);
	else if (LIKELY(weft_guard_holds()))
		handle(info, ucontext, &taken);
	errno = saved_errno;
}
