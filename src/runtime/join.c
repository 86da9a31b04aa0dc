/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meeting the collector (abi/rendezvous.h): one question, one answer, one memfd; all closed
 * again before this returns. Async-signal-safe, because a forked child's session begins in
 * its first SIGPROF; never longer than about a second.
 */
#include "runtime/join.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <weft/abi/rendezvous.h>

#include "runtime/runtime.h"
#include "runtime/sys.h"

static struct sockaddr_un collector_address = {.sun_family = AF_UNIX};

int weft_join_set_path(const char *path)
{
	size_t size = strlen(path);

	if (size == 0 || size >= sizeof(collector_address.sun_path))
		return -ENAMETOOLONG;
	memcpy(collector_address.sun_path, path, size + 1);
	return 0;
}

int weft_join_has_path(void)
{
	return collector_address.sun_path[0] != 0;
}

static int connect_within_a_second(void)
{
	struct timeval second = {.tv_sec = 1};
	long fd = sys_call3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	long failed;

	if (fd < 0)
		return (int)fd;
	sys_call5(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
	sys_call5(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	failed = sys_call3(SYS_connect, fd, &collector_address, sizeof(collector_address));
	if (failed) {
		sys_call1(SYS_close, fd);
		return (int)failed;
	}
	return (int)fd;
}

static int say_hello(int fd, uint32_t flags)
{
	struct weft_hello hello = {
		.magic = WEFT_RENDEZVOUS_MAGIC,
		.version = WEFT_RENDEZVOUS_VERSION,
		.flags = flags,
		.pid = sys_getpid(),
		.parent_pid = (int32_t)sys_call0(SYS_getppid),
		.runtime_version = WEFT_RUNTIME_VERSION,
	};
	long sent = sys_call6(SYS_sendto, fd, SYS_ARG(&hello), sizeof(hello), MSG_NOSIGNAL, 0, 0);

	return sent == sizeof(hello) ? 0 : -EPIPE;
}

static int passed_fd(struct msghdr *message)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static int check_welcome(const struct weft_welcome *w, long bytes, int fd)
{
	if (bytes != sizeof(*w) || w->magic != WEFT_RENDEZVOUS_MAGIC ||
	    w->version != WEFT_RENDEZVOUS_VERSION)
		return -EPROTO;
	if (w->status)
		return w->status < 0 ? w->status : -EPROTO;
	return fd < 0 ? -EPROTO : 0;
}

/* The memfd, or -errno. */
static int hear_welcome(int socket_fd, struct weft_welcome *w)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {.iov_base = w, .iov_len = sizeof(*w)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	long bytes, failed;
	int fd;

	do
		bytes = sys_call3(SYS_recvmsg, socket_fd, &message, MSG_CMSG_CLOEXEC);
	while (bytes == -EINTR);
	fd = bytes >= 0 ? passed_fd(&message) : -1;
	failed = check_welcome(w, bytes, fd);
	if (failed && fd >= 0)
		sys_call1(SYS_close, fd);
	return failed ? (int)failed : fd;
}

int weft_join(uint32_t flags)
{
	struct weft_welcome welcome = {0};
	int socket_fd = connect_within_a_second();
	int fd, failed;

	if (socket_fd < 0)
		return socket_fd;
	failed = say_hello(socket_fd, flags);
	fd = failed ? failed : hear_welcome(socket_fd, &welcome);
	sys_call1(SYS_close, socket_fd);
	if (fd < 0)
		return fd;
	failed = weft_session_map(fd, welcome.total_bytes);
	sys_call1(SYS_close, fd);
	if (!failed)
		weft_rt.has_collector = 1;
	return failed;
}
