/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel says of a thread's whole time, told beside its samples (WALL_ACCOUNT): how long
 * it ran and waited for a CPU since it is recorded; the rest of the time that passed it was
 * blocked. Told at the end of each chunk and of the thread, behind all that is told of it up to
 * then, so that the worker can hold one against the other (recording_time.c).
 *
 * It begins and ends as the thread itself noted in its slot: from outside both are seen a tenth
 * of a second late. A thread that is told under another name from some moment on (it got its slot
 * late) has an account under each. One that filters leave out, be it once, has none.
 */
#include "collector/look/wall_private.h"

#include <fnmatch.h>

static uint64_t generation_of(const struct weft_slot *slot)
{
	return load_relaxed(&slot->thread.generation);
}

/*
 * What a thread said at its end: in its slot, or, once that was drained and may be another's, as
 * the drain thread has kept it. 0: nothing, or another thread has said so since.
 */
static int last_words(const struct wall *w, const struct batch_thread *who, struct slot_words *out)
{
	const struct process *p = w->process;
	const struct weft_slot *slot;

	*out = (struct slot_words){.generation = who->generation};
	if (who->slot == WALL_NO_SLOT || who->slot >= p->layout.slot_count || !p->base)
		return 0;
	if (process_words(p, who->slot, who->generation, out))
		return out->ended_ns != 0;
	slot = process_slot(p, who->slot);
	if (generation_of(slot) == who->generation) {
		out->ended_ns = load_relaxed(&slot->thread.ended_ns);
		out->cpu_ns = load_relaxed(&slot->events.cpu_ns);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	}
	if (generation_of(slot) == who->generation)
		return out->ended_ns != 0;
	return process_words(p, who->slot, who->generation, out) && out->ended_ns;
}

static void begin_at(struct wall_thread *t, uint64_t began_ns)
{
	t->account.began_ns = began_ns;
	t->account.cpu_ns = t->runs.cpu_ns;
	t->account.delay_ns = t->runs.delay_ns;
	t->account.is_told = t->account.is_used = 0;
}

void wall_account_begin(struct wall_thread *t)
{
	wall_identify(t->watched, &t->account.who);
	begin_at(t, t->looked_ns);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* It was there already. How it spent that time is not known if it was there even before that: a
 * program that begins runs. Looks and books are about what came since: wall_meet() has looked at
 * what was before. */
static void begin_earlier(struct wall_thread *t, uint64_t began_ns)
{
	uint64_t gap_ns = t->account.began_ns - began_ns;
	uint64_t ran_ns = lesser(t->account.cpu_ns, gap_ns);

	t->account.began_ns = began_ns;
	t->account.cpu_ns -= ran_ns;
	t->account.delay_ns -= lesser(t->account.delay_ns, gap_ns - ran_ns);
}

static void look_wall_account_tell(struct wall *w, struct wall_thread *t)
{
	struct wall_account *a = &t->account;

	if (!t->runs.has_times || t->looked_ns <= a->began_ns)
		return;
	if (w->options.pattern && fnmatch(w->options.pattern, t->watched->name, 0) != 0)
		return;
	a->is_partial |= wall_is_off(w) || wall_wants_context(w);
	if (a->is_partial && !a->is_told)
		return;
	a->is_told = 1;
	wall_tell(w, t, &a->who,
		  (struct wall_word){.kind = WALL_ACCOUNT,
				     .is_partial = (uint32_t)a->is_partial,
				     .from_ns = a->began_ns,
				     .to_ns = t->looked_ns,
				     .cpu_ns = t->runs.cpu_ns - a->cpu_ns,
				     .cpu_before_ns = a->cpu_ns,
				     .delay_ns = t->runs.delay_ns - a->delay_ns},
		  NULL);
}

/* Between two stays alone: what is open is told under the name that it began with. */
void wall_account_follow(struct wall *w, struct wall_thread *t)
{
	struct wall_account *a = &t->account;
	struct batch_thread who;

	wall_identify(t->watched, &who);
	if (who.slot == WALL_NO_SLOT || t->stay.is_open ||
	    (who.slot == a->who.slot && who.generation == a->who.generation))
		return;
	if (a->who.slot != WALL_NO_SLOT || a->is_used || a->is_told) {
		look_wall_account_tell(w, t);
		begin_at(t, t->looked_ns);
	} else if (who.claimed_ns && who.claimed_ns < a->began_ns &&
		   who.claimed_ns >= w->process->opened_ns) {
		begin_earlier(t, who.claimed_ns);
	}
	a->who = who;
}

void wall_account_tell(struct wall *w, struct wall_thread *t)
{
	wall_account_follow(w, t);
	look_wall_account_tell(w, t);
}

int wall_account_is_late(const struct wall *w, const struct wall_thread *t, uint64_t now_ns)
{
	struct slot_words last;

	if (!last_words(w, &t->account.who, &last) || last.ended_ns < t->looked_ns)
		last.ended_ns = t->looked_ns;
	return t->account.who.slot != WALL_NO_SLOT && now_ns > last.ended_ns + WALL_LINGER_NS;
}

/* Its last words, if they are kept, and if they can be. */
uint64_t wall_account_last(const struct wall *w, const struct wall_thread *t,
			   struct thread_sched *runs, uint64_t now_ns)
{
	struct slot_words last;

	if (!last_words(w, &t->account.who, &last) || last.ended_ns <= t->looked_ns ||
	    last.ended_ns > now_ns)
		return now_ns;
	if (runs->has_times && last.cpu_ns > runs->cpu_ns &&
	    last.cpu_ns - runs->cpu_ns <= last.ended_ns - t->looked_ns) {
		uint64_t rest_ns = last.ended_ns - t->looked_ns - (last.cpu_ns - runs->cpu_ns);

		runs->cpu_ns = last.cpu_ns;
		/* It was not blocked then, and is taken to have gone on like that. */
		runs->delay_ns += t->stay.is_open ? 0 : rest_ns;
	}
	return last.ended_ns;
}
