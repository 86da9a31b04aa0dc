/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's own books: requests and CPU time per route, measured around the handler
 * with CLOCK_THREAD_CPUTIME_ID, and on demand a log of every request. They know nothing of
 * the profiler, so that its answers can be checked against them.
 *
 * One writer per worker; anybody may add them up at any time.
 */
#ifndef SHOP_STATS_H
#define SHOP_STATS_H

#include <stddef.h>
#include <stdint.h>

#define STATS_WORKERS 64
#define STATS_ROUTES 16

struct stats_request {
	unsigned int worker, route;
	uint64_t span;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;
};

/** Logs every request to the file @path, one line each. 0 or -errno. */
int stats_log_open(const char *path);
int stats_log_close(void);

/** Fills in start_ns; cpu_ns holds the clock until stats_end(), which fills in the others. */
void stats_begin(struct stats_request *r);
void stats_end(struct stats_request *r);

/** Into the books, and the log. */
void stats_enter(const struct stats_request *r);

/** {"routes":[{"route":"/a","requests":N,"cpu_ns":N}, ...]} */
size_t stats_json(char *out, size_t room);

#endif
