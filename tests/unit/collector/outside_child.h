/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the wall engine: a child process that does one thing, watched from outside as the
 * outside thread does it, and what the engine says of it.
 */
#ifndef WEFT_TEST_OUTSIDE_CHILD_H
#define WEFT_TEST_OUTSIDE_CHILD_H

#include "collector/look/wall.h"
#include "collector/session/session.h"

struct outside_child {
	pid_t pid;
	uint64_t *shared; /* one page that the child sees, too */
	struct process *process;
	struct session *session; /* mapped by the child before it began */
	struct threads *threads;
	struct wall *wall;
	struct queue queue;
	struct session_counts counts;
	uint64_t began_ns;
};

/* What the words say, summed up. */
struct outside_told {
	uint64_t samples, more, delay, ends; /* words of a kind */
	uint64_t ticks, delay_ticks, filtered;
	uint64_t by_state[WEFT_STATE_COUNT];
	struct weft_sample_record last;
	struct wall_word account; /* the newest */
};

/* Forks; @run gets the session and the page, and never returns. Waits until *page != 0. */
int outside_child_begin(struct outside_child *c, const struct wall_options *options,
			void (*run)(struct session *s, uint64_t *page));
/* Look for threads and their slots. */
void outside_child_find(struct outside_child *c);
/* Tick, as often as the engine asks for it, for @ns of real time. */
void outside_child_watch(struct outside_child *c, uint64_t ns);
/* Ends the engine at @now_ns (its pending ticks are told). */
void outside_child_finish(struct outside_child *c, uint64_t now_ns);
/* Takes what the queue has. @each: of each sample, or NULL. */
void outside_child_take(struct outside_child *c, struct outside_told *told,
			void (*each)(struct outside_child *c, const struct batch_thread *who,
				     const struct weft_sample_record *sample));
void outside_child_end(struct outside_child *c);

/* Waits, without a limit of its own, until thread @tid of the child is in @state ('S'). */
void outside_child_await(const struct outside_child *c, pid_t tid, char state);

#endif
