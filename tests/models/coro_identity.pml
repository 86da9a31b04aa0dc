/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose station it is (include/weft/abi/ctp.h, identity): a station is one coroutine's after
 * another, each with a generation of its own. A reader takes its head and an event of it meanwhile;
 * a maker of heads may be killed in the midst.
 *
 * Claims: with the same even generation before and after, head and first_event are that
 * generation's, and so is each event from first_event on.
 *
 * Weak memory: as in map.pml.
 *
 *   C line (weft/coro_station.h; src/coro/)                        here
 *   weft_probe_settle: generation |= 1                             LOCK
 *   weft_probe_settle: fence(release)            (dmb ish)         FENCE_RELEASE
 *   weft_probe_settle: the head                                    HEAD
 *   weft_probe_settle: generation + 1, release   (stlr)            UNLOCK, UNLOCK_RELEASE
 *   weft_probe_write_slot                                          EVENT (coro_slot.pml)
 *   the reader: generation, acquire              (ldar)            FIRST
 *   the reader: head, slot                                         LOOK
 *   the reader: fence(acquire), generation       (dmb ishld)       FENCE_ACQUIRE, AGAIN
 */
#define LIVES 3
#define GENERATION 0
#define ID 1
#define FIRST_EVENT 2
#define SEQ 3 /* of the one slot: 1 + n; it is written whole here */
#define OWNER 4 /* what the event tells */
#define WORDS 5

byte memory[WORDS];
bool waits[WORDS];
byte value[WORDS];
byte unseen;

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

active proctype owners()
{
	byte life = 1, n, generation;

	do
	:: life <= LIVES ->
		wait_for_stores(); /* the station came through a stack */
		generation = memory[GENERATION] | 1;
#ifndef BREAK_LOCK
		store(GENERATION, generation); /* LOCK */
#endif
#ifndef BREAK_FENCE_RELEASE
		wait_for_stores(); /* FENCE_RELEASE */
#endif
		store(ID, life); /* HEAD */
		if
		:: store(FIRST_EVENT, n)
		:: life < LIVES -> goto killed /* in between: the next one finds it odd */
		fi;
#ifndef BREAK_UNLOCK_RELEASE
		wait_for_stores(); /* UNLOCK_RELEASE */
#endif
		store(GENERATION, generation + 1); /* UNLOCK */
		if
		:: atomic { /* EVENT */
			memory[OWNER] = life;
			memory[SEQ] = n + 1;
			n++
		}
		:: true
		fi;
killed:		life++
	:: else -> break
	od
}

active proctype reader()
{
	byte looks, first, id, first_event, event, again;
	byte owner;

	do
	:: looks < 2 ->
		first = memory[GENERATION]; /* FIRST */
		if
		:: first == 0 -> goto next
#ifndef BREAK_ODD
		:: first & 1 -> goto next
#endif
		:: else
		fi;
#ifdef BREAK_FENCE_ACQUIRE
		again = memory[GENERATION];
#endif
		id = memory[ID]; /* LOOK */
		first_event = memory[FIRST_EVENT];
		atomic {
			event = memory[SEQ];
			owner = memory[OWNER]
		};
#ifndef BREAK_FENCE_ACQUIRE
		again = memory[GENERATION]; /* FENCE_ACQUIRE, AGAIN */
#endif
#ifdef BREAK_AGAIN
		again = first;
#endif
		if
		:: again == first && event > first_event -> assert(owner == id)
		:: else
		fi;
next:		looks++;
		first = 0; id = 0; first_event = 0; event = 0; again = 0; owner = 0
	:: else -> break
	od
}
