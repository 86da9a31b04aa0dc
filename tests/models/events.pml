/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events ring (src/runtime/core/ring.c, ring_append.h): one thread, whose append may be
 * interrupted between any two steps by a handler that appends too, on the same stack or on
 * another; each append may be left for good by a longjmp between any two steps, with the one
 * that it interrupted or without it; the process may be killed between any two steps.
 *
 * Claims: a record that was said to be written is taken once and whole; one that was said to
 * be refused is never taken; `written` counts what was published, and one more only while an
 * append is in progress; a thread whose append was left appends again.
 *
 * The interruption is what is modelled: `turn` says whose steps may happen. Against the
 * consumer on another core, and at its end, the ring is that of samples.pml. An append that
 * finds busy set by somebody who is not for certain gone (deeper, or on another stack) is in
 * doubt: while the other one writes its record, that ends after a second, and what the other
 * had reserved becomes a pad; in the few steps of reserving and of the commit it ends after a
 * minute. Assumed: nobody goes on in one of those few steps after a minute, and when an append
 * is interrupted by a handler that takes over and is then left by a longjmp, the longjmp leaves
 * the interrupted one too. (Else one count may be wrong, or one record torn.)
 *
 *   C line                                               here
 *   enter: busy                                          LOOK
 *   may_take_over: higher on the same stack              CERTAIN
 *   may_take_over: is_writing, a second                  DOUBT
 *   leave: RESERVED = 0                                   FORGET
 *   busy = frame                                         BUSY
 *   settle                                               SETTLE
 *   put_pads, what the other one had reserved            PAD
 *   RESERVED = end                                       RESERVED
 *   the writer's own (all but the first 8 bytes)         BODY
 *   begin_commit: COMMIT_WRITTEN                         COMMIT_WRITTEN
 *   begin_commit: RESERVED = end | COMMITTING            COMMITTING
 *   busy != frame: somebody took over                    STILL_MINE
 *   write_first_word                                     FIRST_WORD
 *   publish: written, head                               WRITTEN, HEAD
 *   busy = 0                                             DONE
 */
#ifndef APPENDS
#define APPENDS 1    /* of the thread, and a last one that settles */
#endif
#define INTERRUPTS 2 /* by a handler, with an append each */
#define LEAVES 2     /* longjmps */
#define TOKENS (APPENDS + INTERRUPTS + 4)
#define CELLS (TOKENS + INTERRUPTS + 1)

#define NOBODY 0
#define THREAD 1
#define HANDLER 2
#define PAD_WORD 255

byte first_word[CELLS], body[CELLS]; /* a record takes one cell */
byte head, written;
byte busy;
byte reserved; /* 1 + the end of what is reserved; 0 = not known */
bool committing;
byte commit_written;

bool busy_elsewhere; /* whose frame is in busy was on another stack than the thread's */
bool busy_was_left;  /* and will not go on */
bool elsewhere;      /* the handler that runs now is on another stack */
byte turn = THREAD;
bool thread_left;    /* the thread's append ended by a longjmp */
bool handler_left;
byte tokens = 1, interrupts, leaves;
bool thread_appends;
byte published;
bool over;
bit is_written[TOKENS], is_refused[TOKENS];

#define RUNS(me) (turn == me && !(me == THREAD && thread_left) && !(me == HANDLER && handler_left))

#ifdef BREAK_CERTAIN
#define CERTAIN(me) true
#else
#define CERTAIN(me) ((me == THREAD && (was == THREAD || (was == HANDLER && !was_elsewhere))) || \
		     (me == HANDLER && was == HANDLER && !was_elsewhere && !elsewhere))
#endif
#define IS_WRITING (reserved != 0 && !committing)

#define ENTER 0
#define ABANDONED 1
#define IN_DOUBT 2
#define REFUSE 3

#define CLEAR mine = false; count = 0; start = 0; end = 0; was = 0; was_elsewhere = false; entry = 0

/* Holds between any two steps, so whenever the process is killed; asserted when it changes. */
#define BOOKS_HOLD assert(published <= written && written <= published + 1)

inline append(me)
{
	atomic {
		RUNS(me) -> /* LOOK */
		token = tokens;
		tokens++;
		thread_appends = (me == THREAD -> true : thread_appends);
		was = busy;
		was_elsewhere = busy_elsewhere
	};
	atomic {
		RUNS(me) ->
		if
		:: was == NOBODY -> entry = ENTER
		:: was != NOBODY && CERTAIN(me) -> entry = ABANDONED
#ifdef BREAK_DOUBT
		:: was != NOBODY && !CERTAIN(me) -> entry = IN_DOUBT
#else
		:: was != NOBODY && !CERTAIN(me) && IS_WRITING -> entry = IN_DOUBT /* DOUBT */
#endif
		:: was != NOBODY && !CERTAIN(me) && !IS_WRITING && (busy_was_left || !busy) ->
			entry = ABANDONED
		:: was != NOBODY && !CERTAIN(me) && !(over && (IS_WRITING || busy_was_left)) ->
			entry = REFUSE
		fi;
		end = (entry == IN_DOUBT -> reserved : 0)
	};
	if
	:: entry == REFUSE -> is_refused[token] = 1
	:: else ->
#ifndef BREAK_FORGET
		atomic { /* FORGET */
			RUNS(me) ->
			if
			:: entry == ENTER || !committing -> reserved = 0; committing = false
			:: else
			fi
		};
#endif
#ifndef BREAK_BUSY
		atomic {
			RUNS(me) -> busy = me; /* BUSY */
			busy_elsewhere = (me == HANDLER && elsewhere);
			busy_was_left = false
		};
#endif
		atomic {
			RUNS(me) ->
			if
#ifndef BREAK_SETTLE
			:: entry != ENTER && committing -> /* SETTLE */
				written = (reserved == head + 1 -> commit_written :
					  (reserved > head + 1 -> commit_written - 1 : written));
				reserved = 0;
				committing = false
#endif
			:: else
			fi
		};
		atomic {
			RUNS(me) ->
			start = head;
#ifndef BREAK_PAD
			do
			:: start + 1 < end -> first_word[start] = PAD_WORD; start++ /* PAD */
			:: else -> break
			od
#endif
		};
		atomic { RUNS(me) -> reserved = start + 2; committing = false }; /* RESERVED */
#ifdef BREAK_FIRST_WORD_LAST
		atomic { RUNS(me) -> first_word[start] = token };
#endif
		atomic { RUNS(me) -> body[start] = token }; /* BODY */
#ifdef BREAK_COMMITTING
		atomic { RUNS(me) -> mine = (busy == me); count = written + 1 };
#else
		atomic { RUNS(me) -> count = written + 1 };
		atomic { RUNS(me) -> commit_written = count }; /* COMMIT_WRITTEN */
		atomic { RUNS(me) -> committing = true; reserved = start + 2 }; /* COMMITTING */
		atomic { RUNS(me) -> mine = (busy == me) }; /* STILL_MINE */
#endif
#ifdef BREAK_STILL_MINE
		mine = true;
#endif
		if
		:: !mine -> is_refused[token] = 1
		:: else ->
			atomic { RUNS(me) -> first_word[start] = token }; /* FIRST_WORD */
#ifdef BREAK_WRITTEN
			atomic { RUNS(me) -> head = start + 1; published++; BOOKS_HOLD };
			atomic { RUNS(me) -> written = count; BOOKS_HOLD };
#else
			atomic { RUNS(me) -> written = count; BOOKS_HOLD }; /* WRITTEN */
			atomic { RUNS(me) -> head = start + 1; published++; BOOKS_HOLD }; /* HEAD */
#endif
			atomic { RUNS(me) -> busy = NOBODY; is_written[token] = 1 } /* DONE */
		fi
	fi;
	atomic {
		thread_appends = (me == THREAD -> false : thread_appends);
		CLEAR
	}
}

active proctype thread()
{
	byte n, token, was, entry, start, end, count;
	bool was_elsewhere, mine;

again:	{
		do
		:: n < APPENDS ->
			n++;
			append(THREAD)
		:: else -> break
		od;
		atomic { turn == THREAD && !thread_left -> over = true };
		do /* the last one, when all doubts are over */
		:: true ->
			append(THREAD);
			if
			:: is_written[token] -> break
			:: else -> assert(false) /* stuck */
			fi
		od
	} unless {
		(turn == THREAD && thread_left)
	};
	atomic {
		if
		:: thread_left ->
			thread_left = false;
			thread_appends = false;
			CLEAR;
			goto again
		:: else
		fi
	};
	atomic { /* the books */
		byte at, taken, number;

		at = 0;
		do
		:: at < head ->
			if
			:: first_word[at] == PAD_WORD
			:: else ->
				number = first_word[at];
				assert(number != 0 && body[at] == number);
				assert(!is_refused[number]);
				is_refused[number] = 1; /* once only */
				is_written[number] = 0;
				taken++
			fi;
			at++
		:: else -> break
		od;
		at = 0;
		do
		:: at < TOKENS -> assert(!is_written[at]); at++ /* taken, or not said */
		:: else -> break
		od;
		assert(taken <= written && written <= taken)
	}
}

active proctype handler()
{
	byte token, was, entry, start, end, count;
	bool was_elsewhere, mine;

next:	atomic {
		if
		:: interrupts < INTERRUPTS && turn == THREAD && !over ->
			interrupts++;
			turn = HANDLER;
			if
			:: elsewhere = false
			:: elsewhere = true
			fi
		:: over || interrupts == INTERRUPTS -> goto done
		fi
	};
	{
		append(HANDLER)
	} unless {
		handler_left
	};
	atomic {
		handler_left = false;
		CLEAR;
		turn = THREAD;
		goto next
	};
done:	skip
}

/* A longjmp of a handler that appends nothing itself. */
active proctype leaver()
{
end:	do
	:: atomic {
		leaves < LEAVES && !over && turn == THREAD && !thread_left ->
		leaves++;
		thread_left = true;
		busy_was_left = (busy == THREAD -> true : busy_was_left)
	   }
	:: atomic { /* out of both */
		leaves < LEAVES && !over && turn == HANDLER && !handler_left ->
		leaves++;
		handler_left = true;
		thread_left = true;
		busy_was_left = true
	   }
	:: atomic { /* inside of the handler: see what is assumed */
		leaves < LEAVES && !over && turn == HANDLER && !handler_left &&
			!thread_appends ->
		leaves++;
		handler_left = true;
		busy_was_left = (busy == HANDLER -> true : busy_was_left)
	   }
	od
}
