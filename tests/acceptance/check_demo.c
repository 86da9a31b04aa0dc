/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check-demo RECORDING REQUEST_LOG MIN_SAMPLES POINTS
 *
 * Holds a recording of shop-server against the server's own request log. A sample taken
 * below a handler (its stack holds handle_NAME) on worker-N at time t belongs to the request
 * that worker N served at t: its span must be that request's, its route tag that route, and
 * its handler that route's. At least 99 % must be right. Then the share of each route in
 * the samples is held against its share in CPU time as the server measured it: at most
 * POINTS apart. Exit 0 when both hold.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"

#define RIGHT_PERCENT 99.0
#define ROUTES_MAX 16

struct request {
	unsigned int worker;
	char route[64], span[20];
	int64_t start_ns, end_ns;
	uint64_t cpu_ns;
};

struct route {
	char name[64];
	double cpu_ns, samples;
};

static struct request *requests;
static size_t request_count;
static struct route routes[ROUTES_MAX];
static size_t route_count;

static struct route *route_of(const char *name)
{
	for (size_t i = 0; i < route_count; i++)
		if (!strcmp(routes[i].name, name))
			return &routes[i];
	if (route_count == ROUTES_MAX)
		abort();
	snprintf(routes[route_count].name, sizeof(routes[0].name), "%s", name);
	return &routes[route_count++];
}

static int by_worker_and_start(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int read_log(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t room = 0;
	char line[256];

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		struct request q;

		if (sscanf(line, "%u %63s %19s %" SCNd64 " %" SCNd64 " %" SCNu64, &q.worker,
			   q.route, q.span, &q.start_ns, &q.end_ns, &q.cpu_ns) != 6)
			continue;
		if (request_count == room) {
			room = room ? room * 2 : 1024;
			requests = realloc(requests, room * sizeof(*requests));
			if (!requests)
				abort();
		}
		requests[request_count++] = q;
		route_of(q.route)->cpu_ns += (double)q.cpu_ns;
	}
	fclose(f);
	qsort(requests, request_count, sizeof(*requests), by_worker_and_start);
	return request_count ? 0 : -ENODATA;
}

/* What worker @number served at @time; NULL: nothing. */
static const struct request *request_at(unsigned int number, int64_t time)
{
	size_t low = 0, high = request_count;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct request *q = &requests[mid];

		if (q->worker < number || (q->worker == number && q->start_ns <= time))
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || requests[low - 1].worker != number || requests[low - 1].end_ns < time)
		return NULL;
	return &requests[low - 1];
}

/* "handle_checkout" -> "checkout"; NULL when the sample is not below a handler. */
static const char *handler_of(const struct sample *s)
{
	for (size_t i = 0; i < s->frames; i++)
		if (!strncmp(s->frame[i], "handle_", 7))
			return s->frame[i] + 7;
	return NULL;
}

/* NULL when everything about the sample is right, else what is wrong. */
static const char *wrong_with(const struct sample *s, const char *handler)
{
	const struct request *q;
	unsigned int worker;

	if (sscanf(s->thread, "worker-%u", &worker) != 1)
		return "thread has no worker's name";
	q = request_at(worker, s->time_ns);
	if (!q)
		return "no request was served then";
	if (s->span[0] == '\0')
		return "no span";
	if (strcmp(s->span, q->span))
		return "another request's span";
	if (strcmp(s->route, q->route))
		return "another route's tag";
	if (strncmp(handler, q->route + 1, strlen(q->route + 1)))
		return "another route's handler";
	return NULL;
}

static int check_spans(const struct samples *all, size_t least)
{
	size_t below = 0, right = 0;
	double percent;

	for (size_t i = 0; i < all->count; i++) {
		const struct sample *s = &all->sample[i];
		const char *handler = handler_of(s), *wrong;

		if (!handler)
			continue;
		below++;
		wrong = wrong_with(s, handler);
		right += wrong == NULL;
		if (wrong && below - right <= 20)
			printf("  %s, %s at %" PRId64 ", span %s, route %s: %s\n", s->thread,
			       handler, s->time_ns, s->span, s->route, wrong);
	}
	percent = below ? 100.0 * (double)right / (double)below : 0;
	printf("%zu samples, %zu below a handler, %zu of them with the right span: %.2f %% "
	       "(wanted: %zu samples, %.0f %%)\n",
	       all->count, below, right, percent, least, RIGHT_PERCENT);
	return below >= least && percent >= RIGHT_PERCENT;
}

static int check_shares(const struct samples *all, double points)
{
	double cpu = 0, tagged = 0;
	int good = 1;

	for (size_t i = 0; i < all->count; i++)
		if (all->sample[i].route[0]) {
			route_of(all->sample[i].route)->samples++;
			tagged++;
		}
	for (size_t i = 0; i < route_count; i++)
		cpu += routes[i].cpu_ns;
	printf("%-12s %10s %10s %8s   one standard error\n", "route", "own %", "weft %", "apart");
	for (size_t i = 0; i < route_count; i++) {
		double own = routes[i].cpu_ns / cpu, weft = routes[i].samples / tagged;
		double apart = 100 * (weft - own);

		printf("%-12s %10.2f %10.2f %+8.2f   %.2f\n", routes[i].name, 100 * own, 100 * weft,
		       apart, 100 * sqrt(own * (1 - own) / tagged));
		good &= fabs(apart) <= points;
	}
	return good && tagged > 0;
}

int main(int argc, char **argv)
{
	struct samples all;
	int rc, good;

	if (argc != 5) {
		fputs("usage: check-demo RECORDING REQUEST_LOG MIN_SAMPLES POINTS\n", stderr);
		return 2;
	}
	rc = read_log(argv[2]);
	if (!rc)
		rc = samples_read(argv[1], &all);
	if (rc) {
		fprintf(stderr, "check-demo: %s, %s: %s\n", argv[1], argv[2], strerror(-rc));
		return 1;
	}
	good = check_spans(&all, strtoul(argv[3], NULL, 10));
	good &= check_shares(&all, strtod(argv[4], NULL));
	samples_free(&all);
	free(requests);
	return good ? 0 : 1;
}
