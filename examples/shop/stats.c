/* SPDX-License-Identifier: Apache-2.0 */
/* The server's own books: see stats.h. */
#include "stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "routes.h"

/* A worker's row, on cache lines of its own. */
struct row {
	_Alignas(64) _Atomic uint64_t requests[STATS_ROUTES];
	_Atomic uint64_t cpu_ns[STATS_ROUTES];
};

struct totals {
	uint64_t requests, cpu_ns;
};

static struct row rows[STATS_WORKERS];
static FILE *request_log;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int stats_log_open(const char *path)
{
	request_log = fopen(path, "we");
	if (!request_log)
		return -errno;
	fputs("# worker route span start_ns end_ns cpu_ns\n", request_log);
	return 0;
}

int stats_log_close(void)
{
	return request_log && fclose(request_log) ? -errno : 0;
}

void stats_begin(struct stats_request *r)
{
	r->start_ns = now_ns(CLOCK_MONOTONIC);
	r->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* One writer per row: load and store need not be one step. */
static void add(_Atomic uint64_t *sum, uint64_t n)
{
	uint64_t before = atomic_load_explicit(sum, memory_order_relaxed);

	atomic_store_explicit(sum, before + n, memory_order_relaxed);
}

void stats_end(struct stats_request *r)
{
	r->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - r->cpu_ns;
	r->end_ns = now_ns(CLOCK_MONOTONIC);
}

void stats_enter(const struct stats_request *r)
{
	struct row *row = &rows[r->worker];

	add(&row->requests[r->route], 1);
	add(&row->cpu_ns[r->route], r->cpu_ns);
	if (request_log)
		fprintf(request_log, "%u %s %016" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			r->worker, routes[r->route].path, r->span, r->start_ns, r->end_ns,
			r->cpu_ns);
}

static struct totals totals_of(unsigned int route)
{
	struct totals t = {0, 0};

	for (unsigned int w = 0; w < STATS_WORKERS; w++) {
		t.requests += atomic_load_explicit(&rows[w].requests[route], memory_order_relaxed);
		t.cpu_ns += atomic_load_explicit(&rows[w].cpu_ns[route], memory_order_relaxed);
	}
	return t;
}

size_t stats_json(char *out, size_t room)
{
	size_t used = (size_t)snprintf(out, room, "{\"routes\":[");

	for (unsigned int r = 0; r < route_count && used < room; r++) {
		struct totals t = totals_of(r);

		used += (size_t)snprintf(out + used, room - used,
					 "%s{\"route\":\"%s\",\"requests\":%" PRIu64
					 ",\"cpu_ns\":%" PRIu64 "}",
					 r ? "," : "", routes[r].path, t.requests, t.cpu_ns);
	}
	if (used < room)
		used += (size_t)snprintf(out + used, room - used, "]}\n");
	return used < room ? used : 0;
}
