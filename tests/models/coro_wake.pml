/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleep and wake by tracer_sleeping (include/weft/abi/ctp.h), for engines that do not come by
 * themselves: the engine lies down only when it found nothing after it said so; a probe that has
 * written and finds it asleep wakes it.
 *
 * Claims: the engine does not sleep while there is an event that it has not seen and nobody who is
 * about to wake it; no more bytes are sent than there were sleeps.
 *
 * Weak memory: each side's stores wait in a buffer of its own (as they do on x86 too); a full
 * fence waits for them. Compare-and-swap acts on memory, after its side's own stores.
 *
 *   C line (weft/coro_station.h; src/coro/)                        here
 *   weft_probe_event: the slot                                     EVENT
 *   weft_probe_tell: fence(seq_cst)              (dmb ish, mfence) FENCE_PROBE
 *   weft_probe_tell: tracer_sleeping == 1                          ASLEEP
 *   weft_probe_wake_engine: 1 -> 0 by CAS, one byte                SWAP, BYTE
 *   the engine: tracer_sleeping = 1                                SAY
 *   the engine: fence(seq_cst)                                     FENCE_ENGINE
 *   the engine: one more look                                      LOOK
 *   the engine: reads its sockets                                  SLEEP
 */
#define PROBES 2
#define EVENTS 2 /* of each */

byte written[PROBES]; /* as others see it */
byte seen[PROBES];
byte sleeping, say_waits; /* what the engine has stored that nobody sees yet: 1 + value */
byte bytes, sent, sleeps, over;

#define NEWS (written[0] > seen[0] || written[1] > seen[1])

proctype probe(byte me)
{
	byte n, unseen;
	bool asleep;

	do
	:: n < EVENTS ->
		n++; /* EVENT: into the buffer */
		unseen = n;
		/* it drains now, or later */
		if
		:: written[me] = unseen; unseen = 0
		:: true
		fi;
#ifndef BREAK_FENCE_PROBE
		if /* FENCE_PROBE */
		:: unseen > 0 -> written[me] = unseen; unseen = 0
		:: else
		fi;
#endif
		asleep = sleeping == 1; /* ASLEEP */
		if
		:: asleep ->
			atomic { /* SWAP; a locked step drains the buffer first */
				if
				:: unseen > 0 -> written[me] = unseen; unseen = 0
				:: else
				fi;
#ifdef BREAK_SWAP
				asleep = true;
#else
				asleep = sleeping == 1;
#endif
				sleeping = 0
			};
			if
			:: asleep -> atomic { bytes++; sent++ } /* BYTE */
			:: else
			fi
		:: else
		fi;
		if
		:: unseen > 0 -> written[me] = unseen; unseen = 0
		:: else
		fi
	:: else -> break
	od;
	over++
}

proctype engine()
{
end:	do
	:: atomic { NEWS -> seen[0] = written[0]; seen[1] = written[1] }
	:: sleeping == 0 && say_waits == 0 -> /* nothing for a while */
		sleeps++;
		say_waits = 1; /* SAY: into the buffer */
		if
		:: sleeping = 1; say_waits = 0
		:: true
		fi;
#ifndef BREAK_FENCE_ENGINE
		if /* FENCE_ENGINE */
		:: say_waits -> sleeping = 1; say_waits = 0
		:: else
		fi;
#endif
#ifndef BREAK_LOOK
		if
		:: NEWS -> /* LOOK: up again */
			atomic {
				say_waits = 0;
				if
				:: sleeping == 1 -> sleeping = 0; sleeps--
				:: else -> skip /* a byte is on its way, and is read some time */
				fi
			};
			goto up
		:: else
		fi;
#endif
		if
		:: say_waits -> sleeping = 1; say_waits = 0
		:: else
		fi;
end_asleep:	(bytes > 0); /* SLEEP */
up:		if
		:: bytes > 0 -> bytes--
		:: else
		fi
	od
}

init {
	atomic {
		run probe(0);
		run probe(1);
		run engine()
	}
	timeout ->
	assert(over == PROBES);
	assert(!NEWS);
	assert(sent <= sleeps)
}
