/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module map snapshots (include/weft/abi/module_map.h): the collector writes them round and
 * round its area, a handler walks by the newest one meanwhile.
 *
 * Claim: a walk that is not thrown away has seen the entries of one snapshot, that of the
 * number it found first; whoever dies at any step.
 *
 * Weak memory: stores of the writer wait in a buffer and become visible in any order (one
 * store at a time for each word), as on aarch64; a release store or fence waits for all
 * before it. Loads of the reader happen in program order but where a mutant lets the last
 * one go first: that is all that an absent acquire fence allows here.
 *
 *   C line (src/collector/process/snapshot.c; src/runtime/stack/module_map.c)    here
 *   forget_oldest: number = 0 of all that lie where the next will  ZERO
 *   write_snapshot: fence(release)              (dmb ish)          FENCE_RELEASE
 *   write_snapshot: store_words, count                             ENTRIES
 *   write_snapshot: number = N, release         (stlr)             NUMBER, NUMBER_RELEASE
 *   write_snapshot: map_current, release                           CURRENT: may even come first
 *   weft_map_open: map_current, number, acquire (ldar)             FIRST
 *   the walk: relaxed loads                                        WALK
 *   weft_map_holds: fence(acquire)              (dmb ishld)        FENCE_ACQUIRE
 *   weft_map_holds: number                                         AGAIN
 */
#define PLACES 2  /* of the area: the writer comes back after as many */
#define NEWEST 5  /* snapshots that it writes */
#define WALKS 2

/* Words: of place p number 3p, entries 3p + 1 and 3p + 2; the last is map_current. */
#define NUMBER(p) (3 * (p))
#define ENTRY(p, i) (3 * (p) + 1 + (i))
#define MAP_CURRENT (3 * PLACES)
#define WORDS (3 * PLACES + 1)

byte memory[WORDS];
bool waits[WORDS];
byte value[WORDS];
byte unseen; /* stores in the buffer */
bool writer_over;

inline store(at, what)
{
	atomic {
		!waits[at];
		waits[at] = true;
		value[at] = what;
		unseen++
	}
}

inline wait_for_stores()
{
	(unseen == 0)
}

/* A store that was made becomes visible, though its maker may have died since. */
active proctype buffer()
{
	byte at;

end:	do
	:: atomic {
		unseen > 0 ->
		select(at : 0 .. WORDS - 1);
		if
		:: waits[at] ->
			memory[at] = value[at];
			waits[at] = false;
			value[at] = 0;
			unseen--
		:: else
		fi;
		at = 0
	}
	od
}

active proctype collector()
{
	byte n = 1, p = 0;

	do
	:: n <= NEWEST ->
#ifndef BREAK_ZERO
		store(NUMBER(p), 0); /* ZERO */
#endif
#ifndef BREAK_FENCE_RELEASE
		wait_for_stores(); /* FENCE_RELEASE */
#endif
		store(ENTRY(p, 0), n); /* ENTRIES */
		store(ENTRY(p, 1), n);
#ifndef BREAK_NUMBER_RELEASE
		wait_for_stores(); /* NUMBER_RELEASE */
#endif
		store(NUMBER(p), n); /* NUMBER */
		store(MAP_CURRENT, p + 1); /* CURRENT: 0 is none yet */
		p = (p + 1) % PLACES;
		n++
	:: break /* dies, or is done */
	:: n <= NEWEST -> /* dies in between */
		store(NUMBER(p), 0);
		wait_for_stores();
		if
		:: store(ENTRY(p, 0), n)
		:: store(ENTRY(p, 1), n)
		fi;
		break
	od;
	writer_over = true
}

active proctype handler()
{
	byte walk, current, first, e0, e1, again;

	do
	:: walk < WALKS ->
		current = memory[MAP_CURRENT]; /* FIRST */
		if
		:: current == 0 -> goto next
		:: else -> current--
		fi;
		first = memory[NUMBER(current)];
		if
		:: first == 0 -> goto next
		:: else
		fi;
#ifdef BREAK_FENCE_ACQUIRE
		again = memory[NUMBER(current)];
#endif
		e0 = memory[ENTRY(current, 0)]; /* WALK */
		e1 = memory[ENTRY(current, 1)];
#ifndef BREAK_FENCE_ACQUIRE
		again = memory[NUMBER(current)]; /* FENCE_ACQUIRE, AGAIN */
#endif
#ifdef BREAK_AGAIN
		again = first;
#endif
		if
		:: again == first -> assert(e0 == first && e1 == first)
		:: else /* thrown away */
		fi;
next:		walk++;
		current = 0; first = 0; e0 = 0; e1 = 0; again = 0
	:: else -> break
	od
}
