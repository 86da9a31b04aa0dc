/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shop-load: drives the shop over loopback, every request a trace of its own.
 *
 *   shop-load -p PORT [-n REQUESTS] [-c CONNECTIONS] [-t SECONDS] [-m MIX] [-s SEED]
 *
 * One thread and one kept-alive connection each for CONNECTIONS; together they send
 * REQUESTS requests and stop, or stop after SECONDS, whichever comes first. MIX is a list
 * like "/checkout=2,/search=5": how many of every (2 + 5) requests go where. Talks to
 * 127.0.0.1 and nothing else. Exit: 0 when every answer was a 200, 1 otherwise, 2 usage.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "traceparent.h"

#define PATHS_MAX 16
#define CONNECTIONS_MAX 64
#define DEFAULT_MIX "/checkout=3,/compress=3,/search=4,/static=8,/wait=2"
#define ANSWER_PATIENCE_S 10

struct path {
	char name[32];
	unsigned int share;
	_Atomic uint64_t answered, total_ns;
};

static struct path paths[PATHS_MAX];
static unsigned int path_count, share_total;
static unsigned int port, connections = 8, seconds = 30;
static uint64_t requests = 2000, seed = 1;
static _Atomic uint64_t taken, failed;
static uint64_t deadline_ns;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* splitmix64 (Steele, Lea, Flood 2014): a bijection, so distinct inputs give distinct ids. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static int parse_mix(const char *text)
{
	while (text && *text) {
		struct path *p = &paths[path_count];
		int length = 0;

		if (path_count == PATHS_MAX ||
		    sscanf(text, "%31[^=]=%u%n", p->name, &p->share, &length) != 2 || !length)
			return -EINVAL;
		share_total += p->share;
		path_count++;
		text += length;
		if (*text == ',')
			text++;
	}
	return share_total ? 0 : -EINVAL;
}

static struct path *path_of(uint64_t number)
{
	unsigned int at = (unsigned int)(mix(number ^ seed << 32) % share_total);
	struct path *p = paths;

	while (at >= p->share)
		at -= p++->share;
	return p;
}

static int dial(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct timeval patience = {.tv_sec = ANSWER_PATIENCE_S};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0)
		return -errno;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

static int send_request(int fd, const struct path *p, uint64_t number)
{
	struct traceparent tp = {.parent_span = mix(~number) | 1, .flags = 1};
	char header[TRACEPARENT_BYTES + 1], text[256];
	uint64_t id[2] = {mix(seed), mix(number)};
	int bytes;

	memcpy(tp.trace_id, id, sizeof(id));
	traceparent_format(&tp, header);
	bytes = snprintf(text, sizeof(text),
			 "GET %s?n=%" PRIu64
			 " HTTP/1.1\r\nHost: localhost\r\ntraceparent: %s\r\n\r\n",
			 p->name, number, header);
	return send(fd, text, (size_t)bytes, MSG_NOSIGNAL) == bytes ? 0 : -EPIPE;
}

/* Reads one whole answer; its status, or -errno. */
static int receive_answer(int fd)
{
	char text[32768];
	size_t used = 0, want = sizeof(text) - 1;

	while (used < want) {
		ssize_t got = recv(fd, text + used, sizeof(text) - 1 - used, 0);
		const char *length, *end;

		if (got <= 0)
			return got ? -errno : -ECONNRESET;
		used += (size_t)got;
		text[used] = '\0';
		end = strstr(text, "\r\n\r\n");
		length = strstr(text, "Content-Length: ");
		if (end && length)
			want = (size_t)(end + 4 - text) + strtoul(length + 16, NULL, 10);
	}
	return strncmp(text, "HTTP/1.1 ", 9) ? -EBADMSG : atoi(text + 9);
}

static int one_request(int fd, uint64_t number)
{
	struct path *p = path_of(number);
	uint64_t start = now_ns();
	int rc = send_request(fd, p, number);

	if (!rc)
		rc = receive_answer(fd);
	if (rc != 200)
		return rc;
	atomic_fetch_add(&p->answered, 1);
	atomic_fetch_add(&p->total_ns, now_ns() - start);
	return 0;
}

static void *run_connection(void *unused)
{
	int fd = dial();
	uint64_t number;

	(void)unused;
	while (fd >= 0 && now_ns() < deadline_ns &&
	       (number = atomic_fetch_add(&taken, 1)) < requests)
		if (one_request(fd, number)) {
			atomic_fetch_add(&failed, 1);
			close(fd);
			fd = dial();
		}
	if (fd < 0) {
		fprintf(stderr, "shop-load: 127.0.0.1:%u: %s\n", port, strerror(-fd));
		atomic_fetch_add(&failed, 1);
		return NULL;
	}
	close(fd);
	return NULL;
}

static uint64_t print_summary(uint64_t elapsed_ns)
{
	uint64_t sum = 0;

	printf("%-12s %10s %12s\n", "path", "requests", "mean ms");
	for (unsigned int i = 0; i < path_count; i++) {
		uint64_t n = paths[i].answered;

		sum += n;
		printf("%-12s %10" PRIu64 " %12.3f\n", paths[i].name, n,
		       n ? (double)paths[i].total_ns / (double)n / 1e6 : 0.0);
	}
	printf("%" PRIu64 " requests, %" PRIu64 " failed, %.1f s, %.0f requests/s\n", sum,
	       (uint64_t)failed, (double)elapsed_ns / 1e9, (double)sum * 1e9 / (double)elapsed_ns);
	return sum;
}

static int usage(void)
{
	fputs("usage: shop-load -p PORT [-n REQUESTS] [-c CONNECTIONS] [-t SECONDS] [-m MIX] "
	      "[-s SEED]\n",
	      stderr);
	return 2;
}

static int parse_options(int argc, char **argv)
{
	const char *mix_text = DEFAULT_MIX;

	for (int opt; (opt = getopt(argc, argv, "p:n:c:t:m:s:")) != -1;) {
		unsigned long number = optarg ? strtoul(optarg, NULL, 10) : 0;

		switch (opt) {
		case 'p':
			port = (unsigned int)number;
			break;
		case 'n':
			requests = number;
			break;
		case 'c':
			connections = (unsigned int)number;
			break;
		case 't':
			seconds = (unsigned int)number;
			break;
		case 'm':
			mix_text = optarg;
			break;
		case 's':
			seed = number;
			break;
		default:
			return -EINVAL;
		}
	}
	if (optind != argc || !port || port > 65535 || !connections ||
	    connections > CONNECTIONS_MAX)
		return -EINVAL;
	return parse_mix(mix_text);
}

int main(int argc, char **argv)
{
	pthread_t thread[CONNECTIONS_MAX];
	uint64_t start = now_ns();
	unsigned int started = 0;

	if (parse_options(argc, argv))
		return usage();
	deadline_ns = start + (uint64_t)seconds * 1000000000u;
	while (started < connections &&
	       !pthread_create(&thread[started], NULL, run_connection, NULL))
		started++;
	for (unsigned int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	return print_summary(now_ns() - start) && !failed ? 0 : 1;
}
