/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nobody else cleans up in a session:
 *   - a LIVE slot whose thread is gone without a word (a raw clone, a raw exit) is set DEAD.
 *     The outside thread has told so: the slot's tid was read after its generation was, and
 *     nobody has that tid any more, or somebody else (threads.c): no thread of that generation
 *     can store anything. The compare-and-swap carries that generation, so a slot that got
 *     another owner meanwhile is left alone.  model: REAP (tests/models/slot.pml)
 *   - a slot that was FREE twice in a row when looked at gives back its control page, too.
 *     A few at a time.  model: TIDY
 */
#include "collector/session/session_private.h"

#include <stdlib.h>

#define PAUSE_NS UINT64_C(500000000)
#define SLOTS_AT_A_TIME 1024
#define PUNCHES_AT_A_TIME 256
#define WARM_SLOTS 64 /* keep their control page */

static void reap(struct session *s, const struct gone_slot *g)
{
	if (!session_state_changes(s, g->slot, WEFT_STATE_WORD(g->generation, WEFT_SLOT_LIVE),
				   WEFT_STATE_WORD(g->generation, WEFT_SLOT_DEAD)))
		return; /* its thread came to it first */
	s->readers[g->slot].reaped = 1;
	session_mark(s, g->slot);
	s->reaped++;
	__atomic_sub_fetch(&s->process->base->slots_used, 1, __ATOMIC_RELAXED);
}

static void reap_all(struct session *s)
{
	struct gone_slot *g = process_take_gone(s->process), *next;

	for (; g; g = next) {
		next = g->next;
		reap(s, g);
		free(g);
	}
}

/* Of a FREE slot, whose books are zero, as fresh memory is. A timer that was left is remembered
 * there. Returns whether the memory was given back. */
static int tidy_slot(struct session *s, uint32_t index)
{
	struct slot_reader *reader = &s->readers[index];
	uint64_t seen = load_acquire(process_slot_state(s->process, index));
	uint64_t generation = WEFT_GENERATION_OF(seen);
	uint64_t draining = WEFT_STATE_WORD(generation, WEFT_SLOT_DRAINING);
	const struct weft_slot *slot = process_slot(s->process, index);

	if (WEFT_STATE_OF(seen) != WEFT_SLOT_FREE || !generation || index < WARM_SLOTS ||
	    reader->closed_generation != generation || reader->idle == 2)
		return 0;
	if (reader->idle++ == 0 || slot->thread.timer_id >= 0 || slot->samples_p.own[0])
		return 0;
	if (!session_state_changes(s, index, seen, draining))
		return 0;
	session_punch(s, index, 0);
	session_free_slot(s, index, draining);
	return 1;
}

void session_tidy(struct session *s, uint64_t now_ns)
{
	uint32_t high = process_slots_high(s->process), punches = 0;

	reap_all(s);
	if (now_ns - s->tidied_ns < PAUSE_NS)
		return;
	s->tidied_ns = now_ns;
	for (uint32_t i = 0; i < SLOTS_AT_A_TIME && i < high && punches < PUNCHES_AT_A_TIME; i++) {
		s->tidy_next = s->tidy_next < high ? s->tidy_next : 0;
		punches += (uint32_t)tidy_slot(s, s->tidy_next++);
	}
}
