/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shop-server: a small HTTP/1.1 server on loopback, instrumented with weft.
 *
 *   shop-server [-p PORT] [-w WORKERS] [-l LOG] [-P FILE]
 *
 * All workers wait in one epoll; a connection is armed for one event at a time
 * (EPOLLONESHOT), so that whoever gets it owns it until it is armed again, and a
 * connection kept alive costs no worker. Port 0 picks a free one; FILE receives the number.
 * SIGTERM and SIGINT end the server in good order. GET /stats tells what each route cost by
 * the server's own measure.
 *
 * What weft needs is in announce() and run_handler(): everything else is the server's own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weft/context.h>

#include "http.h"
#include "routes.h"
#include "stats.h"
#include "traceparent.h"

struct worker {
	unsigned int number;
	uint64_t served;
	pthread_t thread;
	char reply[REPLY_BYTES];
};

struct options {
	unsigned int port, workers;
	const char *log, *port_file;
};

static struct worker workers[STATS_WORKERS];
static int epoll_fd, listen_fd, stop_fd; /* the last two are known by their address */

/* ------------------------------------------------------------------- weft */

static uint32_t route_tag[STATS_ROUTES];

/* Once, before the first request. */
static void announce(void)
{
	weft_tag_name(0, "route");
	for (unsigned int r = 0; r < route_count; r++)
		route_tag[r] = weft_tag_intern(routes[r].path);
}

/*
 * A span id that nobody else has, and that says where it was made: request number, worker,
 * route. (A tracing library would give one; the layout helps to check a recording.)
 */
static uint64_t new_span(struct worker *w, unsigned int route)
{
	return ++w->served << 16 | (uint64_t)w->number << 8 | (route + 1);
}

/* The handler with its books and its context: what runs in here works for this request. */
static size_t run_handler(struct worker *w, unsigned int route, const struct http_request *rq)
{
	struct stats_request books = {.worker = w->number, .route = route};
	struct weft_context context = {.tags = {route_tag[route]}};
	struct traceparent trace;
	size_t bytes = 0;

	traceparent_parse(rq->traceparent.at, rq->traceparent.bytes, &trace);
	memcpy(context.trace_id, trace.trace_id, sizeof(context.trace_id));
	context.trace_flags = trace.flags;
	context.span_id = context.root_span_id = books.span = new_span(w, route);
	stats_begin(&books); /* half of a reading without the context, and half with it: */
	WEFT_SCOPE (&context) {
		bytes = routes[route].handle(http_query_number(rq->query, "n", 0), w->reply,
					     sizeof(w->reply));
		stats_end(&books); /* as much CPU time as between the two */
	}
	stats_enter(&books);
	return bytes;
}

/* ----------------------------------------------------------------- serving */

static unsigned int find_route(struct http_text path)
{
	unsigned int r = 0;

	while (r < route_count && !http_text_is(path, routes[r].path))
		r++;
	return r;
}

static int serve(struct worker *w, struct http_connection *c, const struct http_request *rq)
{
	unsigned int route = find_route(rq->path);
	struct http_text body = {w->reply, 0};
	int status = 200;

	if (route < route_count) {
		body.bytes = run_handler(w, route, rq);
	} else if (http_text_is(rq->path, "/stats")) {
		body.bytes = stats_json(w->reply, sizeof(w->reply));
	} else {
		status = 404;
		body = (struct http_text){"no such page\n", 13};
	}
	return http_reply(c, status, body, rq->keep_alive);
}

/* Serves all whole requests that are here. 0: wait for more; -errno: close. */
static int serve_connection(struct worker *w, struct http_connection *c)
{
	struct http_request rq;
	int rc;

	do {
		while ((rc = http_parse(c, &rq)) == 1) {
			rc = serve(w, c, &rq);
			if (rc || !rq.keep_alive)
				return -ENOTCONN;
			http_consume(c, &rq);
		}
		if (rc < 0) {
			http_reply(c, 400, (struct http_text){"bad request\n", 12}, false);
			return rc;
		}
		rc = http_receive(c);
	} while (rc > 0);
	return rc;
}

static int watch(int operation, int fd, uint32_t events, void *who)
{
	struct epoll_event e = {.events = events, .data.ptr = who};

	return epoll_ctl(epoll_fd, operation, fd, &e) ? -errno : 0;
}

static void accept_all(void)
{
	int fd, yes = 1;

	while ((fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct http_connection *c = http_open(fd);

		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		if (!c)
			close(fd);
		else if (watch(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLONESHOT, c))
			http_close(c);
	}
}

static void *run_worker(void *self)
{
	struct worker *w = self;
	struct epoll_event e;
	char name[16];

	snprintf(name, sizeof(name), "worker-%u", w->number);
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		struct http_connection *c;

		if (epoll_wait(epoll_fd, &e, 1, -1) < 1)
			continue;
		if (e.data.ptr == &stop_fd)
			return NULL;
		if (e.data.ptr == &listen_fd) {
			accept_all();
			continue;
		}
		c = e.data.ptr;
		if (serve_connection(w, c) ||
		    watch(EPOLL_CTL_MOD, c->fd, EPOLLIN | EPOLLONESHOT, c))
			http_close(c);
	}
}

/* ------------------------------------------------------------ start and end */

/* 0, and the port in @o; or -errno. */
static int listen_on_loopback(struct options *o)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)o->port)};
	socklen_t bytes = sizeof(at);
	int yes = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listen_fd < 0 || setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(listen_fd, (struct sockaddr *)&at, bytes) || listen(listen_fd, SOMAXCONN) ||
	    getsockname(listen_fd, (struct sockaddr *)&at, &bytes))
		return -errno;
	o->port = ntohs(at.sin_port);
	return 0;
}

/* Complete when it appears: written beside, then renamed. */
static int write_port_file(const struct options *o)
{
	char beside[4096];
	FILE *f;

	if (!o->port_file)
		return 0;
	if (snprintf(beside, sizeof(beside), "%s.new", o->port_file) >= (int)sizeof(beside))
		return -ENAMETOOLONG;
	f = fopen(beside, "we");
	if (!f)
		return -errno;
	fprintf(f, "%u\n", o->port);
	return fclose(f) || rename(beside, o->port_file) ? -errno : 0;
}

static int open_server(struct options *o)
{
	int rc = listen_on_loopback(o);

	if (rc)
		return rc;
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (epoll_fd < 0 || stop_fd < 0)
		return -errno;
	rc = watch(EPOLL_CTL_ADD, listen_fd, EPOLLIN, &listen_fd);
	if (!rc)
		rc = watch(EPOLL_CTL_ADD, stop_fd, EPOLLIN, &stop_fd);
	if (!rc && o->log)
		rc = stats_log_open(o->log);
	return rc ? rc : write_port_file(o);
}

static int run(const struct options *o, const sigset_t *end)
{
	uint64_t one = 1;
	int signal;

	for (unsigned int i = 0; i < o->workers; i++) {
		workers[i].number = i;
		if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]))
			return -EAGAIN;
	}
	while (sigwait(end, &signal))
		;
	if (write(stop_fd, &one, sizeof(one)) != sizeof(one))
		return -errno;
	for (unsigned int i = 0; i < o->workers; i++)
		pthread_join(workers[i].thread, NULL);
	return stats_log_close();
}

static int parse_options(int argc, char **argv, struct options *o)
{
	for (int opt; (opt = getopt(argc, argv, "p:w:l:P:")) != -1;) {
		switch (opt) {
		case 'p':
			o->port = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'w':
			o->workers = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'l':
			o->log = optarg;
			break;
		case 'P':
			o->port_file = optarg;
			break;
		default:
			return -EINVAL;
		}
	}
	return optind == argc && o->port < 65536 && o->workers && o->workers <= STATS_WORKERS
		       ? 0
		       : -EINVAL;
}

int main(int argc, char **argv)
{
	struct options o = {.port = 8080, .workers = 8};
	sigset_t end;
	int rc;

	if (parse_options(argc, argv, &o)) {
		fputs("usage: shop-server [-p PORT] [-w WORKERS] [-l LOG] [-P FILE]\n", stderr);
		return 2;
	}
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	pthread_sigmask(SIG_BLOCK, &end, NULL);
	routes_prepare();
	announce();
	rc = open_server(&o);
	if (!rc) {
		printf("shop-server: http://127.0.0.1:%u, %u workers\n", o.port, o.workers);
		fflush(stdout);
		rc = run(&o, &end);
	}
	if (rc)
		fprintf(stderr, "shop-server: %s\n", strerror(-rc));
	return rc ? 1 : 0;
}
