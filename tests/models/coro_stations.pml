/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stations used again (include/weft/abi/ctp.h): two stacks of dead ones, one of which takes while
 * the other gives; processes that pop, live and push, and may be killed between any two steps; an
 * engine that buries what the killed left.
 *
 * Claims: one owner at a time; a station lies on the stacks at most once; when all is quiet, every
 * station lies there, but for one lost for each process killed in the few steps between a stack
 * and the station's state; the engine buries nobody who lives.
 *
 * Every decision is one compare-and-swap on one word, so one order of all steps is enough; what
 * orders the other stores around them is in README.md's table. Tags are as large as they get here.
 * MINE and LIST are asserted to find what they expect: in a file that nobody scribbles in, these
 * two never fail.
 *
 *   C line (weft/coro_station.h; src/coro/)                        here
 *   weft_probe_pop: turn, head, next_dead                          TURN, HEAD, BELOW
 *   weft_probe_pop: both stacks change places by CAS               CHANGE
 *   weft_probe_pop: head by CAS, tag + 1                           POP, TAG
 *   weft_probe_used: pid, before anybody sees it CREATED           PID
 *   weft_probe_used: LISTED -> CREATED by CAS                      MINE
 *   weft_probe_die: DEAD                                           DIE
 *   weft_probe_push: DEAD -> LISTED by CAS                         LIST
 *   weft_probe_push: next_dead; head by CAS, tag + 1               NEXT, PUSH
 *   the engine: state, then pid; CREATED -> DEAD by CAS; push      BURY
 */
#ifndef STATIONS
#define STATIONS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2 /* lives of each process */
#endif
#define PROCESSES 2
#define ENGINE 3 /* as an owner */

#define CREATED 1
#define DEAD 2
#define LISTED 3

byte top[2], tag[2], turn;
byte next_dead[STATIONS + 1], state[STATIONS + 1], whose[STATIONS + 1];
byte owner[STATIONS + 1]; /* who may act on it: for the claim alone */
bool killed[PROCESSES + 1];
bool handled[PROCESSES + 1];
byte kills, lost, over, live;

#ifdef BREAK_TAG
#define NEWER(t) t
#else
#define NEWER(t) (t + 1)
#endif

inline push(station)
{
	/* NEXT, PUSH: onto the one that nobody pops from */
	do
	:: s = 1 - turn;
		atomic { below = top[s]; seen = tag[s] };
		next_dead[station] = below;
		atomic {
			if
			:: top[s] == below && tag[s] == seen ->
				top[s] = station;
				tag[s] = NEWER(tag[s]);
				break
			:: else
			fi
		}
	od;
	s = 0; below = 0; seen = 0
}

/* May be killed here, with what that loses to all. */
#define MAY_DIE(loses) if :: kills > 0 -> atomic { kills--; killed[me] = true; lost = lost + loses; goto gone } :: true fi

proctype process(byte me)
{
	byte round, station, below, seen, s, was;

	do
	:: round < ROUNDS ->
		round++;
again:		atomic { was = turn; s = turn }; /* TURN */
		atomic { station = top[s]; seen = tag[s] }; /* HEAD */
		if
		:: station == 0 && top[1 - s] == 0 -> goto none
		:: station == 0 && top[1 - s] != 0 ->
			atomic { /* CHANGE */
				if
				:: turn == was -> turn = 1 - turn
				:: else
				fi
			};
			goto again
		:: else
		fi;
		below = next_dead[station]; /* BELOW */
		atomic { /* POP */
			if
			:: top[s] == station && tag[s] == seen ->
				top[s] = below;
				tag[s] = NEWER(tag[s])
			:: else -> goto again
			fi
		};
		below = 0; seen = 0; s = 0;
		MAY_DIE(1);
#ifndef BREAK_PID
		whose[station] = me; /* PID */
#endif
		atomic { /* MINE */
			assert(state[station] == LISTED);
			assert(owner[station] == 0);
			owner[station] = me;
			state[station] = CREATED
		};
#ifdef BREAK_PID
		whose[station] = me;
#endif
		MAY_DIE(0);
		assert(owner[station] == me && state[station] == CREATED);
		atomic { state[station] = DEAD; owner[station] = 0 }; /* DIE */
		MAY_DIE(0);
		atomic { /* LIST */
			assert(state[station] == DEAD);
			state[station] = LISTED
		};
		MAY_DIE(1);
		push(station);
none:		station = 0; was = 0; s = 0; seen = 0;
		MAY_DIE(0)
	:: else -> break
	od;
gone:	over++
}

/* Once for each process that was killed. */
proctype engine()
{
	byte station, below, seen, s, who, had;

end:	do
	:: killed[1] && !handled[1] -> who = 1; goto bury
	:: killed[2] && !handled[2] -> who = 2; goto bury
	od;
bury:	handled[who] = true;
	station = 1;
	do
	:: station <= STATIONS ->
		had = state[station]; /* BURY: state, then pid */
		if
		:: (had == CREATED || had == DEAD) && whose[station] == who ->
			if
			:: had == CREATED ->
				atomic {
					assert(owner[station] == who);
					if
					:: state[station] == CREATED -> state[station] = DEAD
					:: else -> assert(false)
					fi;
					owner[station] = 0
				}
			:: else
			fi;
			atomic {
				if
				:: state[station] == DEAD -> state[station] = LISTED
				:: else -> goto next
				fi
			};
			push(station)
		:: else
		fi;
next:		station++
	:: else -> break
	od;
	goto end
}

/* How often a station lies on the stacks; a circle is longer than all stations. */
inline count(stack)
{
	at = top[stack];
	steps = 0;
	do
	:: at != 0 ->
		assert(steps < STATIONS);
		found[at]++;
		assert(found[at] == 1);
		at = next_dead[at];
		steps++
	:: else -> break
	od
}

byte found[STATIONS + 1];

init {
	byte at, steps, all;

	atomic {
		kills = 1;
		at = 1;
		do
		:: at <= STATIONS ->
			state[at] = LISTED;
			next_dead[at] = at - 1;
			at++
		:: else -> break
		od;
		top[0] = STATIONS;
		at = 0;
		run process(1);
		run process(2);
		run engine()
	}
	timeout ->
	atomic {
		assert(over == PROCESSES);
		count(0);
		count(1);
		at = 1;
		do
		:: at <= STATIONS -> all = all + found[at]; at++
		:: else -> break
		od;
		assert(all + lost == STATIONS)
	}
}
