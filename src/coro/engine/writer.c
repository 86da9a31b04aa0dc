/* SPDX-License-Identifier: Apache-2.0 */
#include "coro/engine/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define EVENTS_MOST (256 * 1024) /* in the queue */
#define LOOK_NS 50000000         /* from one look whether to wait on to the next */

struct item {
	struct item *next;
	struct coro_batch batch;
};

struct writer {
	struct coro_sink *sink;
	void (*written)(void *arg, uint64_t events);
	void *arg;
	pthread_t thread;
	int has_thread;
	pthread_mutex_t lock; /* of the fields below */
	pthread_cond_t more;
	struct item *first, **last;
	size_t queued;
	int ending, error;
	uint64_t put;          /* of the thread alone, until it is gone */
	int left;              /* given up: the thread must not call back any more */
	pthread_mutex_t leave; /* of `left`; held while `written` is called */
};

static void set_error(struct writer *w, int rc)
{
	pthread_mutex_lock(&w->lock);
	if (!w->error)
		w->error = rc;
	pthread_mutex_unlock(&w->lock);
}

static uint64_t written(const struct writer *w)
{
	if (w->sink->is_live)
		return w->sink->ops->written(w->sink);
	return w->error ? 0 : w->put;
}

static size_t writer_size_of(const struct item *item)
{
	return item->batch.count + item->batch.death_count;
}

static void writer_write_item(struct writer *w, const struct item *item)
{
	const struct coro_batch *b = &item->batch;
	size_t told = 0;
	int rc = w->error;

	for (size_t i = 0; i <= b->count && !rc; i++) {
		for (; !rc && told < b->death_count && b->deaths[told].events == i; told++)
			rc = w->sink->ops->death(w->sink, &b->deaths[told].death);
		if (rc || i == b->count)
			break;
		rc = w->sink->ops->put(w->sink, &b->events[i]);
		w->put += !rc;
	}
	if (!rc)
		rc = w->sink->ops->flush(w->sink);
	if (rc)
		set_error(w, rc);
	pthread_mutex_lock(&w->leave);
	if (!w->left && w->sink->is_live)
		w->written(w->arg, written(w));
	pthread_mutex_unlock(&w->leave);
}

/* The queue's first, or NULL when it is empty and the end is near. */
static struct item *next_item(struct writer *w)
{
	struct item *item;

	pthread_mutex_lock(&w->lock);
	while (!w->first && !w->ending)
		pthread_cond_wait(&w->more, &w->lock);
	item = w->first;
	if (item) {
		w->first = item->next;
		if (!w->first)
			w->last = &w->first;
	}
	pthread_mutex_unlock(&w->lock);
	return item;
}

static void *work(void *arg)
{
	struct writer *w = arg;
	struct item *item;

	while ((item = next_item(w))) {
		writer_write_item(w, item);
		pthread_mutex_lock(&w->lock);
		w->queued -= writer_size_of(item);
		pthread_mutex_unlock(&w->lock);
		coro_batch_free(&item->batch);
		free(item);
	}
	return NULL;
}

/* Signals are the main thread's; a broken pipe and a file's limit are errors of write(2). */
static int writer_start(struct writer *w)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&w->thread, NULL, work, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->has_thread = rc == 0;
	return -rc;
}

int writer_open(struct writer **out, struct coro_sink *sink,
		void (*tell)(void *arg, uint64_t events), void *arg)
{
	struct writer *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return -ENOMEM;
	w->written = tell;
	w->arg = arg;
	w->last = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->leave, NULL);
	pthread_cond_init(&w->more, NULL);
	w->sink = sink;
	rc = writer_start(w);
	if (rc) {
		w->sink = NULL;
		writer_free(w);
		return rc;
	}
	*out = w;
	return 0;
}

static int enqueue(struct writer *w, struct item *item)
{
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = w->error;
	if (!rc && w->queued && w->queued + writer_size_of(item) > EVENTS_MOST)
		rc = -EAGAIN;
	if (!rc) {
		*w->last = item;
		w->last = &item->next;
		w->queued += writer_size_of(item);
		pthread_cond_signal(&w->more);
	}
	pthread_mutex_unlock(&w->lock);
	return rc;
}

int writer_give(struct writer *w, struct coro_batch *batch)
{
	struct item *item;
	int rc;

	if (!batch->count && !batch->death_count)
		return 0;
	item = malloc(sizeof(*item));
	if (!item)
		return -EAGAIN;
	*item = (struct item){.batch = *batch};
	rc = enqueue(w, item);
	if (rc)
		free(item);
	else
		*batch = (struct coro_batch){0};
	return rc;
}

/* The thread has what it needs until the process ends; its output is not closed under it. */
static void abandon(struct writer *w)
{
	pthread_mutex_lock(&w->leave);
	w->left = 1;
	pthread_mutex_unlock(&w->leave);
	pthread_detach(w->thread);
	set_error(w, -EINTR);
}

static void wait_for_thread(struct writer *w, int (*is_enough)(void *arg), void *arg)
{
	struct timespec until;

	for (;;) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_timedjoin_np(w->thread, NULL, &until) != ETIMEDOUT)
			return;
		if (is_enough && is_enough(arg)) {
			abandon(w);
			return;
		}
	}
}

static void writer_stop(struct writer *w, int (*is_enough)(void *arg), void *arg)
{
	pthread_mutex_lock(&w->lock);
	w->ending = 1;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	if (w->has_thread)
		wait_for_thread(w, is_enough, arg);
	w->has_thread = 0;
}

uint64_t writer_drain(struct writer *w, int (*is_enough)(void *arg), void *arg)
{
	uint64_t count;

	writer_stop(w, is_enough, arg);
	if (w->left && !w->sink->is_live)
		return 0;
	pthread_mutex_lock(&w->leave);
	count = written(w);
	pthread_mutex_unlock(&w->leave);
	return count;
}

int writer_finish(struct writer *w, const struct coro_books *books)
{
	int rc;

	writer_stop(w, NULL, NULL);
	if (w->error)
		return w->error;
	rc = w->sink->ops->finish(w->sink, books);
	if (rc)
		w->error = rc;
	return rc;
}

const char *writer_why(const struct writer *w)
{
	if (w->left)
		return "nobody takes what is written there; the rest was given up";
	return w->sink->ops->why(w->sink);
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	writer_stop(w, NULL, NULL);
	if (w->left)
		return;
	if (w->sink)
		w->sink->ops->close(w->sink);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->leave);
	pthread_cond_destroy(&w->more);
	free(w);
}
