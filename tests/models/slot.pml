/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a slot and its books (include/weft/abi/session.h; src/runtime/core/slot.c;
 * src/collector/session/session_drain.c, session_books.c).
 *
 * Threads claim the slot, FREE by its hint or DEAD by stealing, have samples taken, and end:
 * by a release, or without a word. The collector drains, closes the books, ends the lives of
 * threads that are gone. Either process may be killed between any two steps; after the
 * target's death the collector closes what it finds.
 *
 * Claims:
 *   - a slot has one owner at a time;
 *   - no record is delivered twice, or as another generation's than its own;
 *   - when the collector has closed the books, attempted = delivered + lost + pending, as the
 *     threads themselves counted (ghosts), pending being a killed handler's one sample;
 *   - no slot leaks: in the end it is FREE and has its hint; with a killed collector it is out
 *     of use only if the collector held or drained it at that moment.
 *
 * Variants: GONE, threads that end without a word; TIDY, memory given back; OPENER, hints that are given twice; ALONE,
 * no collector: owners free their own slots.
 *
 * Weak memory: all decisions are compare-and-swaps on the one state word. Whoever changes it
 * does so with release after his stores, and whoever acts on it has loaded it with acquire
 * (aarch64: ldaxr/stlxr, ldar, stlr; tests/models/README.md has the list): each step below
 * that writes the word sees all of the steps before it, which is what Spin's interleaving is.
 *
 *   C line                                                   here
 *   find_free: fetch_and of the hints                        HINT_TAKEN
 *   try_to_open(FREE)                                        CLAIM
 *   try_to_open(DEAD), not while held                        STEAL
 *   next_generation                                          GENERATION
 *   carry_books_on: LOST_STOLEN = written - taken            CARRY
 *   carry_books_on, make_new: head = tail = 0                NEW
 *   weft_copies_swap fails: give_back                        GIVE_BACK
 *   weft_session_open_block: free_bits = ~0, by two threads   opener()
 *   set_state(LIVE)                                          PUBLISH
 *   the handler: attempted; lost or written; head            SAMPLE
 *   end_life                                                 DIE
 *   free_if_nobody_drains                                    FREE_OWN
 *   drain_live: state_changes(seen | HELD)                   HOLD
 *   begin_reader                                             BEGIN
 *   drain_ring; release_ring                                 TAKE, TAIL
 *   drain_live: and_fetch(~HELD)                             LET_GO
 *   drain_slot: state_changes(DRAINING)                      DRAINING
 *   session_close_books, wipe_books                          CLOSE, WIPE
 *   end_slot: state_changes(FREE), hint                      FREE, HINT
 *   session_tidy: state_changes(DEAD)                        REAP
 *   session_tidy: state_changes(DRAINING), punch, FREE       TIDY
 */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef LIVES
#define LIVES 2   /* that all threads have together, beside one each */
#endif
#ifndef SAMPLES
#define SAMPLES 2 /* of a life, at most */
#endif
#define RING 1 /* records */

#define FREE 0
#define OPENING 1
#define LIVE 2
#define DEAD 3
#define DRAINING 4

/* The state word. */
byte state;
byte generation;
bool held;
bool hint = true;

/* The slot's memory. */
byte tid;
byte head, tail;
byte record_generation[RING], record_token[RING];
byte attempted, ring_full, written, delivered, stolen;

/* Ghosts: what is true. */
byte owner;      /* 1 + thread; 0 = nobody */
byte tokens;     /* samples attempted, ever */
byte lost_full;  /* of them, counted as lost */
byte taken;      /* of them, delivered */
bool is_delivered[8];
bool is_gone[THREADS]; /* not in /proc any more */
byte lives = LIVES;

bool target_dead, collector_dead, was_in_its_hands;
byte running = THREADS;

/* The closed books. */
byte sum_attempted, sum_lost, sum_stolen, sum_delivered, sum_pending;

#define STATE_IS(s, g, h) (state == (s) && generation == (g) && held == (h))

inline free_own()
{
#ifdef ALONE
	if
	:: atomic { STATE_IS(DEAD, mine, false) -> state = FREE }; /* FREE_OWN */
#ifndef BREAK_HINT
		hint = true
#endif
	:: atomic { else }
	fi
#endif
	skip
}

proctype thread(byte me)
{
	byte g, mine, at, was_written;
	bool was_held, is_stolen;

	{
again:		do
		:: atomic { lives > 0 -> lives-- };
claim:			/* A hint, or else a DEAD slot. */
			if
			:: atomic { hint -> hint = false }; /* HINT_TAKEN */
#ifdef BREAK_CLAIM
				if
				:: state == FREE -> skip
				:: else -> goto again
				fi;
				g = generation;
				atomic { state = OPENING; generation = g + 1; held = false };
#else
				g = generation;
				if
				:: atomic { STATE_IS(FREE, g, false) -> /* CLAIM */
#ifdef BREAK_OPENING
					state = LIVE;
#else
					state = OPENING;
#endif
#ifndef BREAK_GENERATION
					generation = g + 1 /* GENERATION */
#endif
				   }
				:: atomic { else -> goto again }
				fi;
#endif
				is_stolen = false
			:: atomic { !hint && state == DEAD -> g = generation; was_held = held };
				if
#ifdef BREAK_STEAL
				:: atomic { state == DEAD && generation == g -> /* STEAL */
#else
				:: atomic { STATE_IS(DEAD, g, false) -> /* STEAL */
#endif
					state = OPENING;
					generation = g + 1;
					held = false
				   }
				:: atomic { else -> goto again }
				fi;
				is_stolen = true
			:: atomic { !hint && state != DEAD -> goto again } /* none: no slot */
			fi;
			atomic { assert(owner == 0); owner = me + 1; mine = generation };
			if
			:: is_stolen ->
#ifndef BREAK_CARRY
				stolen = written - delivered; /* CARRY */
#endif
				atomic { head = 0; tail = 0; tid = me } /* NEW: before anybody looks */
			:: else ->
				atomic { attempted = 0; ring_full = 0; written = 0; delivered = 0 };
				atomic { stolen = 0; head = 0; tail = 0; tid = me }
			fi;
			if
			:: atomic { true -> /* a handler has claimed meanwhile: GIVE_BACK */
				owner = 0;
#ifdef BREAK_GIVE_BACK
				state = FREE; hint = true;
#else
				state = DEAD;
#endif
			   };
				free_own();
				goto again
			:: state = LIVE /* PUBLISH */
			fi;
			/* SAMPLE */
			do
			:: at < SAMPLES ->
				atomic {
					at++;
					assert(owner == me + 1);
					attempted++;
					tokens++;
					was_written = tokens
				};
				if
				:: head - tail >= RING -> atomic { ring_full++; lost_full++ }
				:: else ->
					atomic {
						record_generation[head % RING] = mine;
						record_token[head % RING] = was_written
					};
					written++;
					head++
				fi
			:: atomic { true -> at = 0; was_written = 0; break }
			od;
			if
			:: true -> /* DIE */
				if
#ifdef BREAK_DIE
				:: atomic { true -> state = DEAD; held = false; owner = 0 }
#else
				:: atomic { state == LIVE && generation == mine -> state = DEAD; owner = 0 }
				:: atomic { !(state == LIVE && generation == mine) -> assert(false) }
#endif
				fi;
				free_own()
#ifdef GONE
			:: atomic { true -> is_gone[me] = true; owner = 0; break } /* without a word */
#endif
			fi
		:: lives == 0 -> break
		od
	} unless {
		target_dead
	};
	atomic { is_gone[me] = true; running--; g = 0; mine = 0; at = 0; was_written = 0;
		 was_held = false; is_stolen = false }
}

#ifdef OPENER
/* Another thread that opens the block of slots again stores all of its hints again. */
active proctype opener()
{
end:	atomic { !target_dead -> hint = true }
}
#endif

/* Of a process that is over, everything that is not FREE; else what is DEAD. */
#define MAY_CLOSE(s) ((s) == DEAD || ((s) == DRAINING) || (target_dead && (s) == LIVE))

inline take_records()
{
	do
	:: r_tail != head ->
		atomic { /* TAKE */
			assert(record_generation[r_tail % RING] == r_generation);
			at = record_token[r_tail % RING];
			assert(!is_delivered[at]);
			is_delivered[at] = true;
			taken++;
			r_tail++;
			r_delivered++
		}
	:: else -> break
	od;
	delivered = r_delivered; /* TAIL */
	tail = r_tail;
	at = 0
}

inline begin_reader()
{
	if
	:: r_generation != seen_generation -> /* BEGIN */
		r_generation = seen_generation;
		r_tail = 0
	:: else
	fi
}

/* @closing: the target may have been killed at any step of it. */
inline close_books(closing)
{
	atomic {
		if /* CLOSE */
		:: closing ->
			assert(attempted - written - ring_full <= 1);
			assert(seen == OPENING || written - r_delivered - stolen <= 1);
			sum_pending = sum_pending + attempted - ring_full - r_delivered - stolen
		:: else ->
			assert(attempted == written + ring_full);
			assert(written == r_delivered + stolen)
		fi;
		sum_attempted = sum_attempted + attempted;
		sum_lost = sum_lost + ring_full;
		sum_stolen = sum_stolen + stolen;
		sum_delivered = sum_delivered + r_delivered;
		r_delivered = 0;
		reaped = 0
	};
#ifndef BREAK_WIPE
	atomic { attempted = 0; ring_full = 0; written = 0; delivered = 0; stolen = 0 } /* WIPE */
#endif
}

#ifndef ALONE
active proctype collector()
{
	byte seen, seen_generation, seen_tid, at;
	byte r_generation, r_tail, r_delivered, reaped;
	bool last;

	{
		do
		:: true ->
			last = target_dead && running == 0;
			atomic { seen = state; seen_generation = generation };
			if
			:: seen == LIVE && !last ->
#ifndef BREAK_HOLD
				if
				:: atomic { STATE_IS(LIVE, seen_generation, false) -> held = true } /* HOLD */
				:: atomic { else -> goto next }
				fi;
#endif
				begin_reader();
				take_records();
				held = false /* LET_GO */
#ifdef GONE
			:: seen == LIVE && !last ->
				seen_tid = tid;
				if
				:: is_gone[seen_tid] ->
#ifdef BREAK_REAP
					if
					:: atomic { state == LIVE -> state = DEAD; reaped = seen_generation }
#else
					if
					:: atomic { STATE_IS(LIVE, seen_generation, false) -> /* REAP */
						state = DEAD;
						reaped = seen_generation
					   }
#endif
					:: atomic { else }
					fi
				:: else
				fi
#endif
			:: MAY_CLOSE(seen) && (seen != LIVE || last) ->
				if
				:: seen == DRAINING
#ifdef BREAK_DRAINING
				:: seen != DRAINING
#else
				:: atomic { seen != DRAINING && state == seen && generation == seen_generation ->
					state = DRAINING; held = false } /* DRAINING */
				:: atomic { seen != DRAINING && !(state == seen && generation == seen_generation) ->
					goto next }
#endif
				fi;
				begin_reader();
				take_records();
				close_books(last || reaped);
				state = FREE; /* FREE */
#ifndef BREAK_HINT
				hint = true /* HINT */
#endif
#ifdef TIDY
			:: seen == FREE && seen_generation > 0 && !last ->
#ifndef BREAK_TIDY
				if
				:: atomic { STATE_IS(FREE, seen_generation, false) -> state = DRAINING } /* TIDY */
				:: atomic { else -> goto next }
				fi;
#endif
				atomic { /* the memory is given back */
					attempted = 0; ring_full = 0; written = 0; delivered = 0; stolen = 0;
					head = 0; tail = 0; tid = 0
				};
#ifndef BREAK_TIDY
				atomic { state = FREE; hint = true }
#endif
#endif
			:: seen == OPENING && last ->
				close_books(true);
				atomic { state = FREE; hint = true }
			:: else
			fi;
next:			if
			:: atomic { last && state == FREE -> break }
			:: atomic { !last && running == 0 && state == FREE -> break } /* all ended well */
			:: else
			fi
		od;
		atomic {
			assert(sum_attempted == tokens);
			assert(sum_delivered == taken && sum_lost == lost_full);
			assert(sum_attempted == sum_delivered + sum_lost + sum_stolen + sum_pending);
			assert(target_dead || sum_pending == 0);
			assert(target_dead || hint)
		}
	} unless {
		collector_dead
	};
}
#endif

init {
	byte i;

	atomic {
		i = 0;
		do
		:: i < THREADS -> run thread(i); i++
		:: else -> break
		od
	};
#ifdef ALONE
	(running == 0);
	assert(state == FREE && hint)
#else
	if
	:: target_dead = true
	:: atomic {
		collector_dead = true;
		was_in_its_hands = held || state == DRAINING
	   };
		/* No slot leaks, but the one in its hands. */
		(running == 0);
		assert(state == FREE || (state == DEAD && !held) || was_in_its_hands ||
		       (state == LIVE && is_gone[tid] && owner == 0))
	:: true
	fi
#endif
}
