/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: a shared file of cTP by somebody hostile, and a trace. The first byte says
 * what the rest is: an even one a shared file (header, then stations), which is listed, reported
 * on, and harvested by an engine that takes it over, while it is once written over and once cut
 * short; an odd one JSON lines. Whatever it is, the books of a harvest must balance.
 */
#include "coro/engine/harvest.h"
#include "coro/look/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static const struct coro_report_query query = {
	.by = (1u << CORO_BYS) - 1,
	.label = "k",
	.long_run_ns = 1000,
	.stuck_ns = 1000,
	.ping_pong_min = 2,
};

static int put(const uint8_t *data, size_t size)
{
	int fd;

	if (!*path)
		snprintf(path, sizeof(path), "/dev/shm/weft-fuzz-coro-%d", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

static struct coro_report *report(void)
{
	struct coro_report *r;

	if (coro_report_new(&r, &query))
		abort();
	return r;
}

static void look_at(struct coro_times *t)
{
	uint64_t half = coro_times_quantile(t, 500), most = coro_times_quantile(t, 990);

	if (half > most || most > t->max_ns)
		abort();
}

static void end(struct coro_report *r, uint64_t now_ns)
{
	if (coro_report_end(r, now_ns))
		abort();
	for (unsigned int by = 0; by < CORO_BYS; by++)
		for (size_t i = 0; i < r->groups[by].count; i++) {
			look_at(&r->groups[by].group[i].run);
			look_at(&r->groups[by].group[i].wait);
		}
	coro_report_free(r);
}

static void read_trace(const uint8_t *data, size_t size)
{
	struct coro_report *r = report();
	uint64_t line;
	char why[128];

	close(put(data, size));
	if (coro_report_jsonl(r, path, &line, why) == 0)
		end(r, 0);
	else
		coro_report_free(r);
}

static int each(void *arg, const struct coro_state *state)
{
	return coro_report_state(arg, state);
}

static void list(const struct coro_shm *shm)
{
	struct coro_report *r = report();
	int rc = coro_snapshot(shm, each, r);

	if (rc == 0)
		end(r, 1u << 30);
	else
		coro_report_free(r);
}

static void balance(struct coro_harvest *h)
{
	struct coro_books b;

	if (coro_harvest_books(h, &b) == 0 && b.harvested + b.lost + b.pending != b.written)
		abort();
}

static int no_process(void *arg, uint32_t pid)
{
	(void)arg;
	(void)pid;
	return 0;
}

static void harvest(struct coro_shm *shm, int fd, const uint8_t *data, size_t size)
{
	struct coro_batch batch = {0};
	struct coro_harvest *h;

	if (coro_harvest_new(&h, shm))
		abort();
	(void)coro_harvest_take(h, CORO_SWEEP_DIRTY, &batch);
	balance(h);
	if (size > 1024 && pwrite(fd, data + size / 2, size - size / 2, 1024) < 0)
		abort();
	(void)coro_harvest_take(h, CORO_SWEEP_ALL, &batch);
	(void)coro_harvest_each_pid(h, no_process, NULL);
	(void)coro_harvest_bury(h, 1);
	(void)coro_harvest_take(h, CORO_SWEEP_LAST, &batch);
	balance(h);
	list(shm);
	if (ftruncate(fd, (off_t)(size / 2)))
		abort();
	(void)coro_harvest_take(h, CORO_SWEEP_ALL, &batch);
	(void)coro_harvest_books(h, &(struct coro_books){0});
	list(shm);
	free(batch.events);
	coro_harvest_free(h);
}

static void read_file(const uint8_t *data, size_t size)
{
	int fd = put(data, size);
	struct coro_shm shm;

	if (coro_shm_open(&shm, path, 0) == 0) {
		list(&shm);
		coro_shm_close(&shm);
	}
	if (coro_shm_open(&shm, path, 1) == 0) {
		harvest(&shm, fd, data, size);
		coro_shm_close(&shm);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (*data & 1)
		read_trace(data + 1, size - 1);
	else
		read_file(data + 1, size - 1);
	unlink(path);
	return 0;
}
