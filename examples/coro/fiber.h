/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small M:N scheduler: fibers with stacks of their own on a few threads, one run queue, timers,
 * one-shot replies and mailboxes between fibers. What tells weft of it is in fiber.c, five calls.
 *
 * Protocol: a fiber that is to wait puts itself where it will be found, under a lock, and parks
 * with that lock held. The worker that it ran on gives the lock up only when the fiber is off its
 * stack and its suspension is told; so nobody can run it before.
 *
 * Functions that a fiber calls may return on another thread.
 */
#ifndef EXAMPLES_FIBER_H
#define EXAMPLES_FIBER_H

#include <pthread.h>
#include <stdint.h>

struct fiber;

/* Runs @entry as the first fiber on @threads threads, until that returns. Fibers that still wait
 * then are left behind. 0 or -errno. */
int fiber_run(unsigned int threads, void (*entry)(void *arg), void *arg);

/* Another one. 0 or -errno. */
int fiber_spawn(void (*entry)(void *arg), void *arg);

void fiber_sleep_ms(unsigned int ms);

/* One value from one fiber to another. Zeros at first; the lock is to be initialised. */
struct reply {
	pthread_mutex_t lock;
	struct fiber *waiter;
	int is_there;
	uint64_t value;
};

void reply_put(struct reply *reply, uint64_t value);
uint64_t reply_take(struct reply *reply);
/* The same with a mistake: between the look and the wait the lock is not held. */
uint64_t reply_take_too_late(struct reply *reply);

/* Messages for one fiber, linked through their first word. */
struct message {
	struct message *next;
};
struct mailbox {
	pthread_mutex_t lock;
	struct fiber *waiter;
	struct message *first, **last;
};

void mailbox_init(struct mailbox *box);
void mailbox_send(struct mailbox *box, struct message *message);
struct message *mailbox_receive(struct mailbox *box);

/* switch.c: saves where it is in *@save, goes on at @to; another switch comes back. */
void fiber_switch(void **save, void *to);
/* A stack that begins with @entry(@arg); @entry does not return. */
void *fiber_first_stack(void *top, void (*entry)(void *arg), void *arg);

#endif
