/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that move bytes or wait for something: done, refused, empty, interrupted. */
#include "calls.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <threads.h>
#include <unistd.h>

static char bytes[64];
static struct iovec one = {bytes, 8};

static void nothing(int signo)
{
	(void)signo;
}

/* An alarm every 2 ms, which interrupts whatever waits. */
static timer_t begin_alarms(void)
{
	struct sigaction action = {.sa_handler = nothing};
	struct itimerspec each = {.it_value = {.tv_nsec = 2000000},
				  .it_interval = {.tv_nsec = 2000000}};
	timer_t timer;

	sigaction(SIGALRM, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, NULL, &timer))
		abort();
	timer_settime(timer, 0, &each, NULL);
	return timer;
}

static void pipes(void)
{
	int ends[2];

	if (pipe(ends))
		abort();
	CALL("pipe", write(ends[1], bytes, 5));
	CALL("pipe", read(ends[0], bytes, 3));
	CALL("pipe", readv(ends[0], &one, 1));
	CALL("pipe", writev(ends[1], &one, 1));
	CALL("pipe", read(ends[0], bytes, sizeof(bytes)));
	CALL("pipe", pread(ends[0], bytes, 1, 0));
	CALL("pipe", pwrite(ends[1], bytes, 1, 0));
	CALL("pipe", read(ends[1], bytes, 1));
	CALL("pipe", fsync(ends[0]));
	CALL("pipe", fdatasync(ends[0]));
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK))
		abort();
	CALL("empty", read(ends[0], bytes, 1));
	CALL("empty", readv(ends[0], &one, 1));
	close(ends[1]);
	CALL("ended", read(ends[0], bytes, 1));
	close(ends[0]);
	CALL("closed", read(ends[0], bytes, 1));
	CALL("closed", write(-1, bytes, 1));
	CALL("closed", fsync(-1));
	CALL("closed", readv(-1, &one, 1));
#ifdef __GLIBC__
	CALL("closed", preadv2(-1, &one, 1, 0, 0));
#endif
}

static void files(void)
{
	char name[] = "/tmp/weft-calls-XXXXXX";
	int fd = mkstemp(name), pair[2];
	off_t at = 0;

	if (fd < 0 || unlink(name) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	CALL("file", write(fd, "0123456789", 10));
	CALL("file", pread(fd, bytes, 4, 2));
	CALL("file", pread64(fd, bytes, 4, 8));
	CALL("file", pwrite(fd, "ab", 2, 4));
	CALL("file", pwrite64(fd, "cd", 2, 6));
	CALL("file", preadv(fd, &one, 1, 3));
	CALL("file", preadv64(fd, &one, 1, 3));
#ifdef __GLIBC__
	CALL("file", preadv2(fd, &one, 1, 3, 0));
	CALL("file", preadv64v2(fd, &one, 1, 3, 1 << 30));
#endif
	CALL("file", pwritev(fd, &one, 1, 10));
	CALL("file", pwritev64(fd, &one, 1, 18));
#ifdef __GLIBC__
	CALL("file", pwritev2(fd, &one, 1, 26, 0));
	CALL("file", pwritev64v2(fd, &one, 1, 34, 0));
#endif
	CALL("file", pread(fd, bytes, sizeof(bytes), 0));
	printf("%.18s\n", bytes);
	CALL("file", fsync(fd));
	CALL("file", fdatasync(fd));
	CALL("file", sendfile(pair[0], fd, &at, 8));
	CALL("file", sendfile64(pair[0], fd, &at, 8));
	CALL("file", sendfile(-1, fd, &at, 8));
	CALL("file", pread(fd, bytes, 1, -1));
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

static void messages(const int *pair)
{
	struct msghdr header = {.msg_iov = &one, .msg_iovlen = 1};
	struct mmsghdr many[2] = {{.msg_hdr = header}, {.msg_hdr = header}};
	struct timespec at_once = {0};

	CALL("message", sendmsg(pair[0], &header, 0));
	CALL("message", recvmsg(pair[1], &header, 0));
	CALL("message", sendmmsg(pair[0], many, 2, 0));
	CALL("message", recvmmsg(pair[1], many, 2, 0, &at_once));
	printf("%u %u\n", many[0].msg_len, many[1].msg_len);
	CALL("message", recvmmsg(pair[1], many, 2, MSG_DONTWAIT, NULL));
	CALL("message", recvmsg(pair[1], &header, MSG_DONTWAIT));
	CALL("message", sendmsg(-1, &header, 0));
	CALL("message", sendmmsg(-1, many, 2, 0));
}

static void sockets(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int pair[2], listener = socket(AF_INET, SOCK_STREAM, 0), client, peer;

	if (listener < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		abort();
	CALL("socket", send(pair[0], bytes, 7, 0));
	CALL("socket", recv(pair[1], bytes, 9, 0));
	CALL("socket", sendto(pair[0], bytes, 7, 0, NULL, 0));
	CALL("socket", recvfrom(pair[1], bytes, 9, 0, NULL, NULL));
	CALL("socket", recv(pair[1], bytes, 9, MSG_DONTWAIT));
	CALL("socket", recvfrom(pair[1], bytes, 9, MSG_DONTWAIT, NULL, NULL));
	CALL("socket", sendto(pair[0], bytes, 1, 0, (struct sockaddr *)&address, size));
	messages(pair);
	CALL("no socket", send(0, bytes, 1, MSG_NOSIGNAL) < 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	client = socket(AF_INET, SOCK_STREAM, 0);
	CALL("connect", connect(client, (struct sockaddr *)&address, size));
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4) ||
	    getsockname(listener, (struct sockaddr *)&address, &size))
		abort();
	CALL("connect", connect(client, (struct sockaddr *)&address, size));
	CALL("connect", connect(client, (struct sockaddr *)&address, size));
	CALL("accept", (peer = accept(listener, NULL, NULL)) >= 0);
	CALL("accept", accept4(peer, NULL, NULL, SOCK_CLOEXEC));
	CALL("accept", accept(-1, NULL, NULL));
	if (fcntl(listener, F_SETFL, O_NONBLOCK))
		abort();
	CALL("accept", accept4(listener, NULL, NULL, 0));
	close(peer);
	CALL("peer has gone", recv(client, bytes, 1, 0));
	close(client);
	close(listener);
	close(pair[0]);
	close(pair[1]);
}

static void readiness(void)
{
	struct timespec at_once = {0}, short_time = {.tv_nsec = 2000000};
	struct timeval none = {0}, bad = {.tv_sec = -1};
	struct epoll_event event = {.events = EPOLLIN};
	struct pollfd fd;
	int ends[2], poller = epoll_create1(0);
	fd_set set;

	if (pipe(ends) || poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event))
		abort();
	for (int full = 0; full < 2; full++) {
		fd = (struct pollfd){.fd = ends[0], .events = POLLIN};
		CALL("poll", poll(&fd, 1, 0));
		CALL("poll", poll(&fd, 1, 2));
		CALL("poll", ppoll(&fd, 1, &at_once, NULL));
		CALL("poll", ppoll(&fd, 1, &short_time, NULL));
		FD_ZERO(&set);
		FD_SET((unsigned int)ends[0], &set);
		CALL("select", select(ends[0] + 1, &set, NULL, NULL, &none));
		FD_SET((unsigned int)ends[0], &set);
		CALL("select", pselect(ends[0] + 1, &set, NULL, NULL, &short_time, NULL));
		CALL("epoll", epoll_wait(poller, &event, 1, 0));
		CALL("epoll", epoll_wait(poller, &event, 1, 2));
		CALL("epoll", epoll_pwait(poller, &event, 1, 2, NULL));
#ifdef __GLIBC__
		CALL("epoll", epoll_pwait2(poller, &event, 1, &short_time, NULL));
#endif
		if (write(ends[1], bytes, 1) != 1)
			abort();
	}
	CALL("select", select(1, NULL, NULL, NULL, &bad));
	CALL("select", select(-1, NULL, NULL, NULL, &none));
	CALL("poll", poll(NULL, 0, 2));
	CALL("epoll", epoll_wait(-1, &event, 1, 0));
	CALL("epoll", epoll_wait(poller, &event, 0, 0));
	close(poller);
	close(ends[0]);
	close(ends[1]);
}

static void pauses(void)
{
	struct timespec short_time = {.tv_nsec = 2000000}, bad = {.tv_nsec = -1}, left;

	CALL("pause", nanosleep(&short_time, NULL));
	CALL("pause", nanosleep(&bad, &left));
	CALL("pause", clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, &left));
	CALL("pause", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &short_time, NULL));
	CALL("pause", clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL));
	CALL("pause", clock_nanosleep(4711, 0, &short_time, NULL));
	CALL("pause", usleep(1000));
	CALL("pause", sleep(0));
	CALL("pause", thrd_sleep(&short_time, NULL));
	CALL("pause", thrd_sleep(&bad, NULL) < 0);
}

/* Until the alarm: how it ends, and what is left where that is told. */
static void interrupted(void)
{
	struct timespec long_time = {.tv_sec = 1000}, left = {0};
	struct epoll_event event;
	struct pollfd fd;
	int ends[2], poller = epoll_create1(0), pair[2];
	timer_t timer = begin_alarms();

	if (pipe(ends) || poller < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	fd = (struct pollfd){.fd = ends[0], .events = POLLIN};
	CALL("interrupted", read(ends[0], bytes, 1));
	CALL("interrupted", readv(ends[0], &one, 1));
	CALL("interrupted", recv(pair[0], bytes, 1, 0));
	CALL("interrupted", poll(&fd, 1, -1));
	CALL("interrupted", ppoll(&fd, 1, NULL, NULL));
	CALL("interrupted", select(0, NULL, NULL, NULL, NULL));
	CALL("interrupted", pselect(0, NULL, NULL, NULL, &long_time, NULL));
	CALL("interrupted", epoll_wait(poller, &event, 1, -1));
	CALL("interrupted", epoll_pwait(poller, &event, 1, 1000000, NULL));
	CALL("interrupted", nanosleep(&long_time, &left));
	printf("left: %d\n", left.tv_sec > 900);
	left.tv_sec = 0;
	CALL("interrupted", clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, &left));
	printf("left: %d\n", left.tv_sec > 900);
	CALL("interrupted", thrd_sleep(&long_time, &left));
	CALL("interrupted", sleep(1000) > 900);
	CALL("interrupted", usleep(100000000));
	timer_delete(timer);
	close(ends[0]);
	close(ends[1]);
	close(pair[0]);
	close(pair[1]);
	close(poller);
}

void calls_io(void)
{
	pipes();
	files();
	sockets();
	readiness();
	pauses();
	interrupted();
}
