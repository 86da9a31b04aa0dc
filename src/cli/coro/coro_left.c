/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/coro/coro_left.h"

#include "coro/engine/harvest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct clocks {
	const struct coro_shm *shm;
	struct coro_left *left;
};

static int read_clocks(void *arg)
{
	const struct clocks *c = arg;
	const struct weft_ctp_header *h = c->shm->header;

	if (!c->shm->is_extended)
		return 0;
	c->left->mono_ns = __atomic_load_n(&h->mono_ns, __ATOMIC_RELAXED);
	c->left->real_ns = __atomic_load_n(&h->real_ns, __ATOMIC_RELAXED);
	c->left->boot_ns = __atomic_load_n(&h->boot_ns, __ATOMIC_RELAXED);
	return 0;
}

/* A coroutine's times never go back, so its events stay in order. */
static int coro_left_by_time(const void *left, const void *right)
{
	const struct coro_event *a = left, *b = right;

	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	if (a->station != b->station)
		return a->station < b->station ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

static int coro_left_take(struct coro_left *left, struct coro_shm *shm)
{
	struct coro_batch batch = {0};
	struct coro_harvest *harvest;
	int rc = coro_harvest_new(&harvest, shm);
	int64_t taken;

	if (rc)
		return rc;
	taken = coro_harvest_take(harvest, CORO_SWEEP_ALL, &batch);
	rc = taken < 0 ? (int)taken : coro_harvest_books(harvest, &left->books);
	coro_harvest_free(harvest);
	left->events = batch.events;
	left->count = rc ? 0 : batch.count;
	if (left->count)
		qsort(left->events, left->count, sizeof(*left->events), coro_left_by_time);
	return rc;
}

int coro_left_read(struct coro_left *left, const char *path)
{
	struct coro_shm shm;
	struct clocks clocks = {&shm, left};
	int rc = coro_shm_open(&shm, path, 0);

	memset(left, 0, sizeof(*left));
	if (rc)
		return rc;
	rc = coro_left_take(left, &shm);
	if (!rc)
		rc = coro_shm_guard(&shm, read_clocks, &clocks);
	coro_shm_close(&shm);
	if (rc)
		coro_left_free(left);
	return rc;
}

void coro_left_free(struct coro_left *left)
{
	free(left->events);
	left->events = NULL;
	left->count = 0;
}
