/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door: a thread of its own that accepts connections at the rendezvous, finds out whose they
 * are and reads what is asked. The drain thread finds whole questions (callers) and nothing else,
 * so whoever knocks, says nothing, or asks without end costs it nothing.
 *
 * Bounded are: connections that are accepted in a while (DOOR_WINDOW_NS), those that have asked
 * nothing yet (guests: a second each; when there are too many, one of the process with the most of
 * them goes), and questions that wait for the drain thread. While these are full no more is read,
 * and who may have asked already is kept: so when there are too many guests, too, nobody is let in.
 *
 * At the second socket (rendezvous.h) only processes below the root, or below one that is recorded,
 * become guests. They have a line of their own, and half of the places of callers. They may only
 * join, as may processes of the user to whom root has opened the first (rendezvous_open_for()).
 * Before the root is known nobody is heard.
 *
 * Callers: one producer, the door, one consumer, the drain thread; each owns its end, `put` and
 * `taken`. The list of recorded processes is the drain thread's, which holds the lock for a moment
 * when it changes; the door holds it for one pass over the list.
 */
#ifndef WEFT_COLLECTOR_DOOR_H
#define WEFT_COLLECTOR_DOOR_H

#include "collector/run/rendezvous.h"

#include <pthread.h>

#define DOOR_GUESTS_MAX 64  /* at each socket */
#define DOOR_CALLERS_MAX 32 /* a power of two */

/* A connection that has asked nothing yet. */
struct guest {
	int fd;
	pid_t pid;
	int only_joins; /* may not change settings: of another user, or came by the second socket */
	uint64_t since_ns;
};

/* A question. Who takes it closes @fd and frees @text. */
struct caller {
	int fd;
	pid_t pid;
	struct weft_hello hello;
	struct weft_set set;
	char *text; /* of @set, WEFT_SET_TEXT_MAX bytes; NULL: it is a hello */
};

/* One of the two sockets: how often is accepted from it, and who has come. */
struct entrance {
	int is_others;
	uint64_t window_ns;
	unsigned int count, limit;
	uint32_t callers_max; /* guests are heard while there are fewer callers */
	struct guest guest[DOOR_GUESTS_MAX];
	size_t guests;
};

struct door {
	struct rendezvous rendezvous;
	const pid_t *root; /* atomic; 0 = not known */
	struct entrance own, others;
	struct caller caller[DOOR_CALLERS_MAX];
	uint32_t put, taken; /* atomic */
	int callers_fd;      /* eventfd: there are callers */
	int end_fd;          /* eventfd: the thread is to end */
	uint64_t touch_ns; /* the sockets are touched so often: an hour, unless a test says less */
	uint64_t touched_ns;
	pthread_mutex_t lock;
	pid_t *recorded;
	size_t recorded_count, recorded_room;
	pthread_t thread;
	int runs;
};

#define DOOR_CLOSED                                                                                \
	{                                                                                          \
		.rendezvous = RENDEZVOUS_CLOSED, .callers_fd = -1, .end_fd = -1,                   \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

/* The rendezvous is opened by the caller of this. 0 or -errno. */
int door_open(struct door *d, const pid_t *root);
int door_begin(struct door *d); /* the thread: 0 or -errno */
/* Ends it; who connects is refused from then on. Takes one that has not begun, or has ended. */
void door_end(struct door *d);
/* Who waits for an answer gets none: when nobody takes callers any more. */
void door_turn_away(struct door *d);
void door_close(struct door *d); /* after door_end(); removes the sockets */

/* For the drain thread. */
int door_take(struct door *d, struct caller *out); /* 1, or 0: there is none */
void door_quiet(const struct door *d);             /* before the first of them is taken */
void door_ring(const struct door *d);              /* callers_fd is to become readable again */
void door_note(struct door *d, pid_t pid);         /* it is recorded */
void door_forget(struct door *d, pid_t pid);

#endif
