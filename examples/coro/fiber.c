/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fibers on threads (fiber.h). All of weft here: a fiber is created in fiber_spawn(), resumed and
 * suspended by run_one() around the switch, on the worker's own stack, woken in make_ready(), and
 * destroyed in bury(). Where it waits is the return address of the function that made it wait.
 */
#include "fiber.h"

#include <weft/coro.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define STACK_BYTES (64 * 1024)
#define WORKERS_MOST 64

struct fiber {
	struct weft_coro coro;
	void *sp; /* while it does not run */
	const void *waits_at;
	void (*entry)(void *arg);
	void *arg;
	char *stack;
	struct fiber *next; /* in the run queue or among the timers */
	struct timespec due;
	int is_over;
};

/* A thread that runs fibers. */
struct worker {
	struct fiber *running;
	void *sp;
	pthread_mutex_t *unlock; /* when the fiber is off its stack */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct fiber *first, **last; /* ready */
	struct fiber *timers;        /* the next one due first */
	int is_over;
} scheduler = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &scheduler.first, NULL, 0};

static __thread struct worker *this_worker;

/* Not inlined: a fiber may be on another thread after each switch, and asks anew. */
static __attribute__((noinline)) struct worker *worker(void)
{
	__asm__ volatile("");
	return this_worker;
}

static void enqueue(struct fiber *fiber) /* scheduler.lock is held */
{
	fiber->next = NULL;
	*scheduler.last = fiber;
	scheduler.last = &fiber->next;
	pthread_cond_signal(&scheduler.changed);
}

static void make_ready(struct fiber *fiber)
{
	weft_coro_wake(&fiber->coro); /* before it can run, and be over */
	pthread_mutex_lock(&scheduler.lock);
	enqueue(fiber);
	pthread_mutex_unlock(&scheduler.lock);
}

/* The running fiber waits, at @where; @lock is given up for it. */
static __attribute__((noinline)) void park(pthread_mutex_t *lock, const void *where)
{
	struct worker *here = worker();
	struct fiber *fiber = here->running;

	fiber->waits_at = where;
	here->unlock = lock;
	fiber_switch(&fiber->sp, here->sp);
}

static void body(void *arg)
{
	struct fiber *fiber = arg;

	fiber->entry(fiber->arg);
	fiber->is_over = 1;
	fiber_switch(&fiber->sp, worker()->sp);
}

int fiber_spawn(void (*entry)(void *arg), void *arg)
{
	struct fiber *fiber = calloc(1, sizeof(*fiber));
	struct weft_coro_options options = {.size = sizeof(options), .site = (const void *)entry};

	if (!fiber)
		return -ENOMEM;
	fiber->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (fiber->stack == MAP_FAILED) {
		free(fiber);
		return -ENOMEM;
	}
	(void)mprotect(fiber->stack, 4096, PROT_NONE); /* running over is a fault, not a riddle */
	fiber->entry = entry;
	fiber->arg = arg;
	fiber->waits_at = (const void *)entry;
	fiber->sp = fiber_first_stack(fiber->stack + STACK_BYTES, body, fiber);
	options.stack_low = fiber->stack;
	options.stack_high = fiber->stack + STACK_BYTES;
	weft_coro_create(&fiber->coro, &options);
	pthread_mutex_lock(&scheduler.lock);
	enqueue(fiber);
	pthread_mutex_unlock(&scheduler.lock);
	return 0;
}

static void bury(struct fiber *fiber)
{
	weft_coro_destroy(&fiber->coro);
	munmap(fiber->stack, STACK_BYTES);
	free(fiber);
}

static void run_one(struct worker *here, struct fiber *fiber)
{
	here->running = fiber;
	here->unlock = NULL;
	weft_coro_resume(&fiber->coro, fiber->waits_at);
	fiber_switch(&here->sp, fiber->sp);
	here->running = NULL;
	if (fiber->is_over) {
		bury(fiber);
		return;
	}
	weft_coro_suspend(&fiber->coro, fiber->waits_at);
	pthread_mutex_unlock(here->unlock); /* from here on it is somebody else's */
}

static int is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Whoever is due goes to the run queue. scheduler.lock is held. */
static void expire(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	while (scheduler.timers && !is_before(&now, &scheduler.timers->due)) {
		struct fiber *fiber = scheduler.timers;

		scheduler.timers = fiber->next;
		weft_coro_wake(&fiber->coro);
		enqueue(fiber);
	}
}

/* The next fiber to run; NULL: all is over. */
static struct fiber *next_ready(void)
{
	struct fiber *fiber = NULL;

	pthread_mutex_lock(&scheduler.lock);
	while (expire(), !scheduler.is_over && !scheduler.first) {
		if (scheduler.timers)
			pthread_cond_clockwait(&scheduler.changed, &scheduler.lock, CLOCK_MONOTONIC,
					       &scheduler.timers->due);
		else
			pthread_cond_wait(&scheduler.changed, &scheduler.lock);
	}
	if (!scheduler.is_over) {
		fiber = scheduler.first;
		scheduler.first = fiber->next;
		if (!scheduler.first)
			scheduler.last = &scheduler.first;
	}
	pthread_mutex_unlock(&scheduler.lock);
	return fiber;
}

static void *work(void *arg)
{
	struct worker here = {0};
	struct fiber *fiber;

	(void)arg;
	this_worker = &here;
	while ((fiber = next_ready()))
		run_one(&here, fiber);
	this_worker = NULL;
	return NULL;
}

/* The first fiber, and the end of everything. */
struct first {
	void (*entry)(void *arg);
	void *arg;
};

static void first_entry(void *arg)
{
	struct first *first = arg;

	first->entry(first->arg);
	pthread_mutex_lock(&scheduler.lock);
	scheduler.is_over = 1;
	pthread_cond_broadcast(&scheduler.changed);
	pthread_mutex_unlock(&scheduler.lock);
}

int fiber_run(unsigned int threads, void (*entry)(void *arg), void *arg)
{
	struct first first = {entry, arg};
	pthread_t thread[WORKERS_MOST];
	unsigned int started = 0;
	int err = fiber_spawn(first_entry, &first);

	if (err < 0)
		return err;
	if (threads > WORKERS_MOST)
		threads = WORKERS_MOST;
	while (started < threads && pthread_create(&thread[started], NULL, work, NULL) == 0)
		started++;
	for (unsigned int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	return started ? 0 : -EAGAIN;
}

__attribute__((noinline)) void fiber_sleep_ms(unsigned int ms)
{
	struct fiber *me = worker()->running, **at = &scheduler.timers;

	clock_gettime(CLOCK_MONOTONIC, &me->due);
	me->due.tv_sec += ms / 1000;
	me->due.tv_nsec += (long)(ms % 1000) * 1000000;
	if (me->due.tv_nsec >= 1000000000) {
		me->due.tv_nsec -= 1000000000;
		me->due.tv_sec++;
	}
	pthread_mutex_lock(&scheduler.lock);
	while (*at && !is_before(&me->due, &(*at)->due))
		at = &(*at)->next;
	me->next = *at;
	*at = me;
	pthread_cond_signal(&scheduler.changed); /* who waits may have to wait less */
	park(&scheduler.lock, __builtin_return_address(0));
}

void reply_put(struct reply *reply, uint64_t value)
{
	struct fiber *waiter;

	pthread_mutex_lock(&reply->lock);
	reply->value = value;
	reply->is_there = 1;
	waiter = reply->waiter;
	reply->waiter = NULL;
	pthread_mutex_unlock(&reply->lock);
	if (waiter)
		make_ready(waiter);
}

__attribute__((noinline)) uint64_t reply_take(struct reply *reply)
{
	pthread_mutex_lock(&reply->lock);
	if (reply->is_there) {
		pthread_mutex_unlock(&reply->lock);
		return reply->value;
	}
	reply->waiter = worker()->running;
	park(&reply->lock, __builtin_return_address(0));
	return reply->value;
}

static int reply_is_there(struct reply *reply)
{
	int is_there;

	pthread_mutex_lock(&reply->lock);
	is_there = reply->is_there;
	pthread_mutex_unlock(&reply->lock);
	return is_there;
}

/* As who looked before the reply was there, and waits after it came. The race is always lost here:
 * it waits on purpose. */
__attribute__((noinline)) uint64_t reply_take_too_late(struct reply *reply)
{
	while (!reply_is_there(reply))
		fiber_sleep_ms(1);
	pthread_mutex_lock(&reply->lock);
	reply->waiter = worker()->running;
	park(&reply->lock, __builtin_return_address(0));
	return reply->value;
}

void mailbox_init(struct mailbox *box)
{
	*box = (struct mailbox){.lock = PTHREAD_MUTEX_INITIALIZER, .last = &box->first};
}

void mailbox_send(struct mailbox *box, struct message *message)
{
	struct fiber *waiter;

	message->next = NULL;
	pthread_mutex_lock(&box->lock);
	*box->last = message;
	box->last = &message->next;
	waiter = box->waiter;
	box->waiter = NULL;
	pthread_mutex_unlock(&box->lock);
	if (waiter)
		make_ready(waiter);
}

__attribute__((noinline)) struct message *mailbox_receive(struct mailbox *box)
{
	struct message *message;

	pthread_mutex_lock(&box->lock);
	if (!box->first) {
		box->waiter = worker()->running;
		park(&box->lock, __builtin_return_address(0));
		pthread_mutex_lock(&box->lock);
	}
	message = box->first;
	box->first = message->next;
	if (!box->first)
		box->last = &box->first;
	pthread_mutex_unlock(&box->lock);
	return message;
}
