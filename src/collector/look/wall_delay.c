/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that wait for a CPU. A look that finds one so is a sample of that, as one that finds it
 * blocked is (wall_books.h): runnable (state R), and it has not got on a CPU since it left one (run
 * count and switch counts are equal). Its context is that of the wait, for a thread that waits
 * cannot change it; and each moment is looked at with the same probability.
 *
 * But a thread on the CPU that the looking itself is done on waits for just that, or would anyhow:
 * then only the next look tells, if it is in the same wait still. Where others' waits on that CPU
 * are as long as its own work, they are made up for by the debt.
 *
 * The kernel tells the time exactly, but only afterwards, as a sum (the run delay). What it says
 * more, or less, than samples do is a debt, and half of that is added to each sample, rounded
 * at random. If no look finds the thread waiting for a while, for it wakes rarely or waits briefly,
 * whole periods that are owed are told as a guess: a sample of its own CPU time from in between
 * knows better than the context that it has now (recording_wall.c).
 */
#include "collector/look/wall_private.h"

#define WAIT_FOR_A_LOOK_NS UINT64_C(2000000000)
#define DEBT_SHARE 2
#define END_PERIODS 2 /* less is chance */

struct seen {
	struct weft_sample_record sample;
	uint8_t labels[LABEL_BYTES_MAX + 8];
};

/* Its context now, as a sample without a stack. */
static void see(struct wall *w, const struct wall_thread *t, struct weft_sample_record *out)
{
	*out = (struct weft_sample_record){
		.record = {.bytes = sizeof(*out), .type = WEFT_RECORD_SAMPLE},
		.weight = 1,
		.engine = WEFT_ENGINE_WALL,
		.flags = WEFT_SAMPLE_OUTSIDE | WEFT_SAMPLE_NO_STACK,
		.stack = WEFT_SAMPLE_FRAMES,
		.state = WEFT_STATE_WAITING_FOR_CPU};
	wall_take_context(w, t->watched, out, 0);
	wall_put_labels(out, w->look.labels, w->look.label_bytes);
	out->record.generation = (uint32_t)t->watched->generation;
}

/* @seen NULL: the context is not known. */
static void wall_delay_tell(struct wall *w, struct wall_thread *t, uint64_t ticks, uint64_t now_ns,
			    int is_guess, const struct weft_sample_record *seen)
{
	struct batch_thread who;

	wall_identify(t->watched, &who);
	if (who.slot == WALL_NO_SLOT)
		who = t->account.who; /* it may have let go of its slot: that is its end */
	t->account.is_used = 1;
	wall_tell(w, t, &who,
		  (struct wall_word){.kind = WALL_DELAY,
				     .state = WEFT_STATE_WAITING_FOR_CPU,
				     .is_guess = (uint16_t)is_guess,
				     .samples = ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX,
				     .from_ns = t->delay_since_ns,
				     .to_ns = now_ns},
		  seen);
}

/* Then nothing is known but that. */
static int is_busy(const struct weft_sample_record *s)
{
	return !s->label_bytes &&
	       (s->context == WEFT_CONTEXT_BUSY || s->context == WEFT_CONTEXT_BAD);
}

/* What a look that finds it waiting is worth. The run delay knows of this wait when it is over. */
static uint64_t wall_delay_take_look(struct wall *w, struct wall_thread *t, uint64_t now_ns)
{
	int64_t period_ns = (int64_t)w->options.period_ns, owed_ns, worth_ns;
	uint64_t ticks;

	owed_ns = t->delay_ns + (int64_t)(now_ns - t->wait_ns);
	worth_ns = period_ns + owed_ns / DEBT_SHARE +
		   (int64_t)(wall_random(&w->random) * (double)period_ns);
	ticks = worth_ns > 0 ? (uint64_t)(worth_ns / period_ns) : 0;
	t->delay_ns -= (int64_t)ticks * period_ns;
	return ticks;
}

static int is_waiting(struct wall *w, struct wall_thread *t, uint64_t now_ns)
{
	int was_waiting = t->wait_ns && t->wait_count == t->runs.count;

	if (t->stay.is_open || !wall_read_state(w, t) || w->look.state != WEFT_STATE_RUNNING ||
	    wall_is_on_cpu(w, t))
		return 0;
	if (!was_waiting)
		t->wait_ns = now_ns;
	t->wait_count = t->runs.count;
	return was_waiting || !w->look.is_on_our_cpu;
}

static void tell_seen(struct wall *w, struct wall_thread *t, uint64_t ticks, uint64_t now_ns,
		      int is_guess)
{
	_Alignas(8) struct seen seen;

	if (!ticks)
		return;
	see(w, t, &seen.sample);
	if (w->look.is_filtered || wall_has_no_context(w, &seen.sample)) {
		t->account.is_partial = 1;
		wall_count(w, WEFT_COUNTER_WALL_FILTERED, ticks);
		return;
	}
	wall_delay_tell(w, t, ticks, now_ns, is_guess, is_busy(&seen.sample) ? NULL : &seen.sample);
}

static void tell_owed(struct wall *w, struct wall_thread *t, uint64_t now_ns)
{
	if (!wall_read_state(w, t))
		return;
	tell_seen(w, t, wall_take_ticks(w, &t->delay_ns), now_ns, 1);
	t->delay_since_ns = now_ns;
}

void wall_delay(struct wall *w, struct wall_thread *t, uint64_t now_ns)
{
	if (!t->runs.has_times)
		return;
	if (is_waiting(w, t, now_ns)) {
		tell_seen(w, t, wall_delay_take_look(w, t, now_ns), now_ns, 0);
		t->delay_since_ns = now_ns;
	} else if (t->delay_ns < (int64_t)w->options.period_ns) {
		t->delay_since_ns = now_ns;
	} else if (now_ns - t->delay_since_ns >= WAIT_FOR_A_LOOK_NS) {
		tell_owed(w, t, now_ns);
	}
}

void wall_delay_flush(struct wall *w, struct wall_thread *t, uint64_t now_ns)
{
	if (t->delay_ns >= END_PERIODS * (int64_t)w->options.period_ns)
		tell_owed(w, t, now_ns);
}

/* What was not told yet, of a thread that is gone. With a filter it cannot be said to pass. */
void wall_delay_end(struct wall *w, struct wall_thread *t, uint64_t now_ns)
{
	if (t->delay_ns < END_PERIODS * (int64_t)w->options.period_ns)
		return;
	if (w->options.pattern || wall_wants_context(w) || wall_is_off(w))
		wall_count(w, WEFT_COUNTER_WALL_FILTERED, wall_take_ticks(w, &t->delay_ns));
	else
		wall_delay_tell(w, t, wall_take_ticks(w, &t->delay_ns), now_ns, 1, NULL);
}
