/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's socket and who came by it: a tracee connects once, sends a byte when it finds the
 * engine asleep, and is known by its credentials. Its end is told by a pidfd. All of them, the
 * listener and a timer stand in one epoll set.
 */
#ifndef WEFT_CORO_TRACEES_H
#define WEFT_CORO_TRACEES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tracee {
	int fd, pid_fd;           /* -1 = none (any more) */
	pid_t pid;                /* ours for it; 0 = not known */
	pid_t inside;             /* its own, as its stations have it */
	uint8_t is_used, is_over; /* over: it ended, and waits to be buried */
	uint8_t is_new;           /* tracees_take_new() has not told of it */
};

struct tracees {
	int epoll, listener, timer;
	char path[108]; /* of the socket; "" = none */
	struct tracee *tracee;
	size_t count, room;
};

int tracees_open(struct tracees *t);
/* -ENAMETOOLONG: over 107 characters; -EADDRINUSE: something is there (with @replace only when it
 * is no socket, or somebody listens). */
int tracees_listen(struct tracees *t, const char *path, int replace);
/* Watches a process that did not come by itself. */
int tracees_watch(struct tracees *t, pid_t pid);
/* Deals with all that happened. Bits of enum tracees_news. */
enum tracees_news { TRACEES_TIMER = 1, TRACEES_WOKEN = 2, TRACEES_OVER = 4, TRACEES_NEW = 8 };
int tracees_step(struct tracees *t);
int tracees_arm(struct tracees *t, uint64_t ns); /* the timer, once */
size_t tracees_alive(const struct tracees *t);
/* Our pid of the next process that came; 0: there is none. */
pid_t tracees_take_new(struct tracees *t);
/* Stations have this pid. Unless a process is known that calls itself so, theirs is over. */
int tracees_suspect(struct tracees *t, pid_t inside);
/* Forgets the next process that is over, and returns its own pid for itself; 0: there is none. One
 * is passed over whose pid a living process has, too: whose stations are whose cannot be told. */
pid_t tracees_take_over(struct tracees *t);
void tracees_close(struct tracees *t);

#endif
