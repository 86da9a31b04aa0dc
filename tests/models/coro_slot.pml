/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a coroutine (include/weft/abi/ctp.h, dialect M): one writer goes round and round its
 * slots, an engine reads them meanwhile by a cursor. The writer may be killed between any two
 * stores; another then goes on in the same station.
 *
 * Claims: what the engine takes is one event, whole, each at most once and in order; when nobody
 * writes any more, harvested + lost = written: all that were begun, an event left half written being lost.
 *
 * Weak memory: as in map.pml. Stores wait in a buffer and become visible in any order (one at a
 * time for each word), though their maker may have died since; a release store or fence waits for
 * all before it. Loads happen in order but where a mutant lets the last one go first.
 *
 *   C line (weft/coro_station.h; src/coro/harvest*.c)              here
 *   weft_probe_write_slot: seq = 2n + 1                            ODD
 *   weft_probe_write_slot: fence(release)        (dmb ish)         FENCE_RELEASE
 *   weft_probe_write_slot: payload                                 PAYLOAD
 *   weft_probe_write_slot: seq = 2n + 2, release (stlr)            EVEN, EVEN_RELEASE
 *   weft_probe_next_event: behind all that was begun               PASS_OVER
 *   the reader: s1 = seq, acquire                (ldar)            FIRST
 *   the reader: copy, relaxed                                      COPY
 *   the reader: fence(acquire), s2               (dmb ishld)       FENCE_ACQUIRE, AGAIN
 */
#define SLOTS 2
#ifndef EVENTS
#define EVENTS 4 /* that both writers begin together */
#endif

#define SEQ(s) (3 * (s))
#define PART(s, i) (3 * (s) + 1 + (i))
#define WORDS (3 * SLOTS)

byte memory[WORDS];
bool waits[WORDS];
byte value[WORDS];
byte unseen;
bool writers_over;
byte begun; /* events, by whoever */

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

#define BEGUN(s) ((memory[SEQ(s)] + 1) / 2) /* events that the slot tells of */

active proctype writers()
{
	byte n, lives = 2;

life:	do
	:: n < EVENTS ->
		begun++;
#ifndef BREAK_ODD
		store(SEQ(n % SLOTS), 2 * n + 1); /* ODD */
#endif
		if
		:: goto dies
		:: true
		fi;
#ifndef BREAK_FENCE_RELEASE
		wait_for_stores(); /* FENCE_RELEASE */
#endif
		store(PART(n % SLOTS, 0), n + 1); /* PAYLOAD */
		if
		:: goto dies
		:: true
		fi;
		store(PART(n % SLOTS, 1), n + 1);
#ifndef BREAK_EVEN_RELEASE
		wait_for_stores(); /* EVEN_RELEASE */
#endif
		store(SEQ(n % SLOTS), 2 * n + 2); /* EVEN */
		n++
	:: n >= EVENTS -> goto over
	:: goto dies
	od;
dies:	lives--;
	/* who comes next finds what the dead one has stored: the station went through the stacks */
	wait_for_stores();
	if
	:: lives == 0 -> goto over
	:: else
	fi;
#ifndef BREAK_PASS_OVER
	n = (BEGUN(0) > BEGUN(1) -> BEGUN(0) : BEGUN(1)); /* PASS_OVER */
#else
	n = (memory[SEQ(0)] / 2 > memory[SEQ(1)] / 2 -> memory[SEQ(0)] / 2 : memory[SEQ(1)] / 2);
#endif
	goto life;
over:	wait_for_stores();
	writers_over = true
}

active proctype engine()
{
	byte n, first, a, b, again, event, harvested, lost, at;
	bool last;

	do
	:: last = writers_over;
		at = n % SLOTS;
		first = memory[SEQ(at)]; /* FIRST */
		if
		:: first > 2 * n + 2 -> /* lapped: what may still be there begins later */
			event = (first - 1) / 2;
			lost = lost + event + 1 - SLOTS - n;
			n = event + 1 - SLOTS
		:: first == 2 * n + 2 ->
#ifdef BREAK_FENCE_ACQUIRE
			again = memory[SEQ(at)];
#endif
			a = memory[PART(at, 0)]; /* COPY */
			b = memory[PART(at, 1)];
#ifndef BREAK_FENCE_ACQUIRE
			again = memory[SEQ(at)]; /* FENCE_ACQUIRE, AGAIN */
#endif
#ifdef BREAK_AGAIN
			again = first;
#endif
			if
			:: again == first ->
				assert(a == n + 1 && b == n + 1);
				harvested++;
				n++
			:: else
			fi
		:: first == 2 * n + 1 && last -> /* nobody will end it */
			lost++;
			n++
		/* left odd, written again as the next event's neighbour: passed over */
		:: first < 2 * n + 1 && last ->
			assert(BEGUN(0) <= n && BEGUN(1) <= n);
			break
		:: else /* nothing there yet, or busy */
		fi;
		first = 0; a = 0; b = 0; again = 0; event = 0; at = 0
	od;
	assert(harvested + lost == begun)
}
