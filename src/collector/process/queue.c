/* SPDX-License-Identifier: Apache-2.0 */
/* The queues between the collector's threads: see queue.h. */
#include "collector/process/queue.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

int queue_init(struct queue *q, size_t limit)
{
	pthread_condattr_t attributes;
	int rc;

	*q = (struct queue){.limit = limit};
	q->last = &q->first;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	rc = pthread_mutex_init(&q->lock, NULL);
	if (rc == 0)
		rc = pthread_cond_init(&q->filled, &attributes);
	if (rc == 0)
		rc = pthread_cond_init(&q->emptied, NULL);
	pthread_condattr_destroy(&attributes);
	return -rc;
}

void queue_destroy(struct queue *q)
{
	struct batch *b, *next;

	for (b = q->first; b; b = next) {
		next = b->next;
		free(b);
	}
	pthread_cond_destroy(&q->filled);
	pthread_cond_destroy(&q->emptied);
	pthread_mutex_destroy(&q->lock);
}

struct batch *batch_new(enum batch_kind kind, struct process *process, size_t bytes)
{
	struct batch *b = malloc(sizeof(*b) + bytes);

	if (b) {
		memset(b, 0, sizeof(*b));
		b->kind = kind;
		b->process = process;
		b->bytes = bytes;
	}
	return b;
}

struct batch *batch_trim(struct batch *b)
{
	struct batch *smaller = b ? realloc(b, sizeof(*b) + b->bytes) : NULL;

	return smaller ? smaller : b;
}

int queue_has_room(struct queue *q)
{
	int room;

	pthread_mutex_lock(&q->lock);
	room = q->bytes < q->limit;
	pthread_mutex_unlock(&q->lock);
	return room;
}

/* A ring that is half full may have no room for its next record. */
#define FILL_MOST 500

uint32_t queue_fill_needed(struct queue *q)
{
	size_t half = q->limit / 2, bytes;
	uint32_t needed;

	pthread_mutex_lock(&q->lock);
	bytes = q->bytes;
	pthread_mutex_unlock(&q->lock);
	if (bytes >= q->limit)
		return 1001;
	needed = bytes < half ? 0 : (uint32_t)((bytes - half) / ((q->limit - half) / 1000 + 1));
	return needed < FILL_MOST ? needed : FILL_MOST;
}

void queue_push(struct queue *q, struct batch *b)
{
	if (!b)
		return;
	b->next = NULL;
	pthread_mutex_lock(&q->lock);
	*q->last = b;
	q->last = &b->next;
	q->bytes += sizeof(*b) + b->bytes;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

void queue_wait(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	while (q->bytes >= q->limit)
		pthread_cond_wait(&q->emptied, &q->lock);
	pthread_mutex_unlock(&q->lock);
}

struct batch *queue_pop_until(struct queue *q, uint64_t due_ns)
{
	struct timespec until = {(time_t)(due_ns / 1000000000u), (long)(due_ns % 1000000000u)};
	struct batch *b;
	int rc = 0;

	pthread_mutex_lock(&q->lock);
	while (!q->first && rc == 0)
		rc = due_ns == QUEUE_FOREVER ? pthread_cond_wait(&q->filled, &q->lock)
					     : pthread_cond_timedwait(&q->filled, &q->lock, &until);
	b = q->first;
	if (b) {
		q->first = b->next;
		if (!q->first)
			q->last = &q->first;
		q->bytes -= sizeof(*b) + b->bytes;
		if (q->bytes < q->limit)
			pthread_cond_signal(&q->emptied);
	}
	pthread_mutex_unlock(&q->lock);
	return b;
}
