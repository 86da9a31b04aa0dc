/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose it is that a thread waited for a CPU. The kernel tells the time only afterwards, as a sum.
 * So it is kept until a look finds the thread waiting for one: runnable (state R), and it has not
 * got on a CPU since it left one (run count and switch counts are equal). Its context is then that
 * of its wait, for a thread that waits cannot change it; and looks come as the wall clock does, so
 * they find waits as often as there are any.
 *
 * If none does in a while, for it wakes rarely or waits briefly, what is there at the end of that
 * while is told as a guess: a sample of its own CPU time from in between knows better than the
 * context that it has now (recording_wall.c).
 */
#include "collector/wall_private.h"

#define WAIT_FOR_A_LOOK_NS UINT64_C(2000000000)

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

/* All whole periods; @seen NULL: the context is not known. */
static void tell(struct wall *w, struct wall_thread *t, uint64_t now_ns, int is_guess,
		 const struct weft_sample_record *seen)
{
	uint64_t ticks = wall_take_ticks(w, &t->delay_ns);
	struct batch_thread who;

	wall_identify(w, t->watched, &who);
	if (who.slot == WALL_NO_SLOT)
		who = t->account.who; /* it may have let go of its slot: that is its end */
	t->account.is_used = 1;
	wall_tell(w, &who,
		  (struct wall_word){.kind = WALL_DELAY,
				     .state = WEFT_STATE_WAITING_FOR_CPU,
				     .is_guess = (uint16_t)is_guess,
				     .samples = ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX,
				     .from_ns = t->delay_since_ns,
				     .to_ns = now_ns},
		  seen);
	t->delay_since_ns = now_ns;
}

/* Then nothing is known but that. */
static int is_busy(const struct weft_sample_record *s)
{
	return !s->label_bytes &&
	       (s->context == WEFT_CONTEXT_BUSY || s->context == WEFT_CONTEXT_BAD);
}

void wall_delay(struct wall *w, struct wall_thread *t, uint64_t now_ns, int at_once)
{
	_Alignas(8) struct seen seen;
	int is_guess;

	if (t->delay_ns < (int64_t)w->options.period_ns) {
		t->delay_since_ns = now_ns;
		return;
	}
	if (!wall_read_state(w, t))
		return;
	is_guess = w->look.state != WEFT_STATE_RUNNING || wall_is_on_cpu(w, t);
	if (is_guess && !at_once && now_ns - t->delay_since_ns < WAIT_FOR_A_LOOK_NS)
		return;
	see(w, t, &seen.sample);
	if (w->look.is_filtered || wall_has_no_context(w, &seen.sample)) {
		t->account.is_partial = 1;
		wall_count(w, WEFT_COUNTER_WALL_FILTERED, wall_take_ticks(w, &t->delay_ns));
		t->delay_since_ns = now_ns;
		return;
	}
	tell(w, t, now_ns, is_guess, is_busy(&seen.sample) ? NULL : &seen.sample);
}

/* What was not told yet, of a thread that is gone. With a filter it cannot be said to pass. */
void wall_delay_end(struct wall *w, struct wall_thread *t, uint64_t now_ns)
{
	if (t->delay_ns < (int64_t)w->options.period_ns)
		return;
	if (w->options.pattern || wall_wants_context(w) || wall_is_off(w))
		wall_count(w, WEFT_COUNTER_WALL_FILTERED, wall_take_ticks(w, &t->delay_ns));
	else
		tell(w, t, now_ns, 1, NULL);
}
