/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a prepared context (src/runtime/context/prepared.h): attached by a thread, freed by
 * another, used again for another context; read by whoever stops the thread, and by a reader on
 * another core that does not.
 *
 * Claims: what the thread shows is the context that it attached, whole, wherever it is stopped; and
 * what was read under one seq is that context, too.
 *
 * Weak memory: all stores of the thread are release stores, and the memory is written after an
 * acquire load has found that it is not named: their order is that of the model. Of the reader's
 * loads the mutant lets the last one go first, as in map.pml.
 *
 *   C line (src/runtime/context/prepared.c, prepared_memory.c; src/collector/look)   here
 *   remember: depth + 1, release                                                NAME
 *   show: seq odd, label_set, seq even, release                                 SHOW, HIDE
 *   detach_quickly, show_formats: depth, release                                UNNAME
 *   remember: another one in its place, release                                 UNNAME
 *   weft_prepared_free: into `retired`; the program calls it once it has attached  FREE
 *   prepared_mark: depth, acquire                                               SCAN
 *   weft_context_prepare: another context into the same memory                  REUSE
 *   read_own: seq, label_set, the set                                           FIRST, LOOK
 *   read_own: fence(acquire), seq                                               FENCE_ACQUIRE, AGAIN
 */
#define OWN 0
#define PIECE 1
#define LOOKS 2

byte seq, shown = OWN, content = 1;
bool named, attached, freed;

inline flip_to(what)
{
	seq++;
	shown = what;
	seq++
}

active proctype thread()
{
#ifndef BREAK_NAME
	named = true; /* NAME */
#endif
	flip_to(PIECE); /* SHOW */
	attached = true;
	if
	:: true -> /* detaches */
#ifdef BREAK_UNNAME
		named = false;
#endif
#ifdef BREAK_SEQ
		shown = OWN;
#else
		flip_to(OWN); /* HIDE */
#endif
		named = false /* UNNAME */
	:: true /* works on, or dies */
	fi
}

active proctype others()
{
	attached; /* the program orders the two */
	freed = true; /* FREE */
#ifndef BREAK_SCAN
end:	!named; /* SCAN */
#endif
	content = 2 /* REUSE */
}

/* A handler, or whoever stops the thread. */
active proctype stopped()
{
	byte n;

	do
	:: n < LOOKS ->
		atomic {
			assert(shown != PIECE || content == 1);
			n++
		}
	:: else -> break
	od
}

active proctype outside()
{
	byte n, first, at, seen, again;

	do
	:: n < LOOKS ->
		first = seq; /* FIRST */
		at = shown;
#ifdef BREAK_FENCE_ACQUIRE
		again = seq;
#endif
		seen = content; /* LOOK */
#ifndef BREAK_FENCE_ACQUIRE
		again = seq; /* FENCE_ACQUIRE, AGAIN */
#endif
		if
		:: first == again && at == PIECE -> assert(seen == 1)
		:: else
		fi;
		n++
	:: else -> break
	od
}
