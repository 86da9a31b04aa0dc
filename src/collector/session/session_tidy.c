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

#include "base/session_layout.h"

#include <stdlib.h>

#define PAUSE_NS UINT64_C(500000000)
#define SLOTS_AT_A_TIME 1024
#define PUNCHES_AT_A_TIME 256
#define WARM_SLOTS 64 /* keep their control page */

struct tidying {
	struct session *session;
	uint32_t punches; /* that may still be done */
};

static void reap(struct session *s, const struct gone_slot *g)
{
	struct weft_session_header *h = s->base;

	if (!session_state_changes(s, g->slot, WEFT_STATE_WORD(g->generation, WEFT_SLOT_LIVE),
				   WEFT_STATE_WORD(g->generation, WEFT_SLOT_DEAD)))
		return; /* its thread came to it first */
	s->readers[g->slot].reaped = 1;
	session_mark(s, g->slot);
	s->reaped++;
	__atomic_sub_fetch(&h->slots_used, 1, __ATOMIC_RELAXED);
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

/* Its books are zero, as fresh memory is. A timer that was left is remembered there. */
static void session_tidy_give_back(struct tidying *t, uint32_t index, uint64_t seen)
{
	struct session *s = t->session;
	struct slot_reader *reader = &s->readers[index];
	const struct weft_slot *slot = weft_session_slot(s->base, &s->layout, index);
	uint64_t draining = WEFT_STATE_WORD(WEFT_GENERATION_OF(seen), WEFT_SLOT_DRAINING);

	if (index < WARM_SLOTS || !reader->closed_generation ||
	    reader->closed_generation != WEFT_GENERATION_OF(seen) || reader->idle == 2 ||
	    !t->punches)
		return;
	if (reader->idle++ == 0 || slot->thread.timer_id >= 0 || slot->samples_p.own[0])
		return;
	if (!session_state_changes(s, index, seen, draining))
		return;
	t->punches--;
	session_punch(s, index, 0);
	session_free_slot(s, index, draining);
}

static void tidy_slot(struct tidying *t, uint32_t index)
{
	struct session *s = t->session;
	uint64_t seen =
		__atomic_load_n(&weft_session_states(s->base, &s->layout)[index], __ATOMIC_ACQUIRE);

	if (WEFT_STATE_OF(seen) == WEFT_SLOT_FREE && WEFT_GENERATION_OF(seen))
		session_tidy_give_back(t, index, seen);
}

void session_tidy(struct session *s, uint64_t now_ns)
{
	struct tidying t = {s, PUNCHES_AT_A_TIME};
	uint32_t high = session_slots_high(s);

	reap_all(s);
	if (now_ns - s->tidied_ns < PAUSE_NS)
		return;
	s->tidied_ns = now_ns;
	for (uint32_t i = 0; i < SLOTS_AT_A_TIME && i < high && t.punches; i++) {
		s->tidy_next = s->tidy_next < high ? s->tidy_next : 0;
		tidy_slot(&t, s->tidy_next++);
	}
}
