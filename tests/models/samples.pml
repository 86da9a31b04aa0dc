/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples ring (src/runtime/core/ring.c, src/base/ring_consumer.h): one producer, a handler
 * that never nests; one consumer on another core; the producer's process may be killed
 * between any two stores.
 *
 * Claims: every record is taken whole, once, in order; head - tail stays within the ring; a
 * record of up to half the ring fits an empty one; when all is over
 *   attempted = taken + lost for a full ring + pending,
 * where pending is at most the one record in the producer's hands, and `written` has counted
 * no less than what can be taken.
 *
 * Weak memory: the producer's stores of a record's words wait in a buffer and become visible
 * in any order; the release store of head waits for them (aarch64: stlr). What a missing
 * acquire, or a tail stored too early, allows is that the consumer's copy happens before
 * head was read, or after tail was stored: those are mutants.
 *
 *   C line                                             here
 *   weft_ring_reserve: tail (acquire), room            ROOM
 *   put_pad                                            PAD
 *   write_record, or the sampler's own stores          WORDS
 *   publish: written (release)                         WRITTEN
 *   publish: head (release)                            RELEASE, HEAD
 *   ring_reader_next: head (acquire)                   LOOK
 *   ring_reader_next: memcpy                           COPY
 *   ring_reader_release: tail (release)                TAIL
 */
#define RING 8
#ifndef RECORDS
#define RECORDS 4
#endif
#define NOBODY 255

/* A word of the ring says whose it is: record number * 8 + its place in the record; a pad's
 * first word is PADDING + its length. A first word tells the length, too, in lengths[]. */
#define PADDING 200
#define WORD(record, at) ((record)*8 + (at))

byte ring[RING];
bool waits[RING];
byte value[RING];
byte unseen;
byte lengths[RECORDS]; /* what the first word of each record says */
byte head, tail;       /* shared */
byte written, attempted, no_room;
bool over; /* the producer is done, or was killed */

inline store(at, what)
{
	atomic {
		!waits[at];
		waits[at] = true;
		value[at] = what;
		unseen++
	}
}

active proctype buffer()
{
	byte at;

end:	do
	:: atomic {
		unseen > 0 ->
		select(at : 0 .. RING - 1);
		if
		:: waits[at] ->
			ring[at] = value[at];
			waits[at] = false;
			value[at] = 0;
			unseen--
		:: else
		fi;
		at = 0
	}
	od
}

active proctype producer()
{
	byte number, bytes, pad, at, seen;

	{
		do
		:: attempted < RECORDS ->
			if
			:: bytes = 1
			:: bytes = 3
#ifdef BREAK_HALF
			:: bytes = RING / 2 + 1
#else
			:: bytes = RING / 2
#endif
			fi;
			attempted++;
			seen = tail; /* ROOM */
			pad = (bytes > RING - head % RING -> RING - head % RING : 0);
			if
#ifdef BREAK_ROOM
			:: true
#else
#ifdef BREAK_ROOM_OF_PAD
			:: RING - (head - seen) >= bytes
#else
			:: RING - (head - seen) >= pad + bytes
#endif
#endif
				->
#ifndef BREAK_PAD
				if
				:: pad > 0 -> store(head % RING, PADDING + pad) /* PAD */
				:: else
				fi;
#endif
				lengths[number] = bytes;
				at = 0;
				do
				:: at < bytes ->
					store((head + pad + at) % RING, WORD(number, at)); /* WORDS */
					at++
				:: else -> break
				od;
#ifdef BREAK_WRITTEN
				(unseen == 0);
				head = head + pad + bytes;
				written++;
#else
				written++; /* WRITTEN */
#ifndef BREAK_RELEASE
				(unseen == 0); /* RELEASE */
#endif
				head = head + pad + bytes; /* HEAD */
#endif
				assert(head - tail <= RING);
				number++
			:: else ->
				assert(head != seen); /* an empty ring has room */
				no_room++
			fi;
			bytes = 0; pad = 0; at = 0; seen = 0
		:: else -> break
		od
	} unless { over };
	over = true
}

active proctype killer()
{
	over = true
}

active proctype consumer()
{
	byte mine, seen, number, at, was, bytes;
	bool last;

	do
	:: true ->
		last = over && unseen == 0;
#ifdef BREAK_ACQUIRE
		was = ring[mine % RING];
#endif
		seen = head; /* LOOK */
		do
		:: mine != seen ->
#ifndef BREAK_ACQUIRE
			was = ring[mine % RING]; /* COPY */
#endif
			if
			:: was >= PADDING ->
				mine = mine + (was - PADDING);
#ifdef BREAK_ACQUIRE
				was = ring[mine % RING];
#endif
				assert(seen - mine <= RING)
			:: else ->
				assert(was == WORD(number, 0));
				bytes = lengths[number];
				assert(bytes <= seen - mine);
#ifdef BREAK_TAIL
				tail = mine + bytes;
#endif
				at = 1;
				do
				:: at < bytes ->
					assert(ring[(mine + at) % RING] == WORD(number, at));
					assert(mine % RING + at < RING); /* not across the end */
					at++
				:: else -> break
				od;
				mine = mine + bytes;
				number++;
#ifdef BREAK_ACQUIRE
				was = ring[mine % RING];
#endif
				bytes = 0; at = 0
			fi
		:: else -> break
		od;
		tail = mine; /* TAIL */
		assert(head - tail <= RING);
		was = 0; seen = 0;
		if
		:: last -> break
		:: else
		fi
	od;
	/* The books, whenever the producer ended. */
	assert(number <= written && written <= number + 1);
	assert(attempted >= written + no_room && attempted <= written + no_room + 1);
}
