/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects to the collector (abi/rendezvous.h): one question, one answer with the session's memfd
 * and that of the tables; all is closed again before this returns. Async-signal-safe, because a
 * forked child's session begins in its first SIGPROF; never longer than about a second.
 */
#include "runtime/sample/sample.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <weft/abi/rendezvous.h>

#include "runtime/core/sys.h"
#include "runtime/stack/module_map.h"

static struct sockaddr_un collector_address = {.sun_family = AF_UNIX};

int weft_join_set_path(const char *path)
{
	size_t size = strlen(path);

	if (size == 0 || size >= sizeof(collector_address.sun_path))
		return -ENAMETOOLONG;
	memcpy(collector_address.sun_path, path, size + 1);
	return 0;
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

/* The session, and the unwind tables if there are any. */
enum { FD_SESSION, FD_TABLES, FD_COUNT };

static void take_fds(struct msghdr *message, int fds[FD_COUNT], int first)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	for (int i = 0;
	     first + i < FD_COUNT && c->cmsg_len >= CMSG_LEN((size_t)(i + 1) * sizeof(int)); i++)
		memcpy(&fds[first + i], CMSG_DATA(c) + (size_t)i * sizeof(int), sizeof(int));
}

static void close_fds(const int fds[FD_COUNT])
{
	for (int i = 0; i < FD_COUNT; i++)
		if (fds[i] >= 0)
			sys_call1(SYS_close, fds[i]);
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

/* Stores descriptors in @fds from number @first on; the caller closes them in any case. */
static int hear_welcome(int socket_fd, struct weft_welcome *w, int fds[FD_COUNT], int first)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(FD_COUNT * sizeof(int))] = {0};
	struct iovec part = {.iov_base = w, .iov_len = sizeof(*w)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	long bytes;

	do
		bytes = sys_call3(SYS_recvmsg, socket_fd, &message, MSG_CMSG_CLOEXEC);
	while (bytes == -EINTR);
	if (bytes >= 0)
		take_fds(&message, fds, first);
	return check_welcome(w, bytes, fds[first]);
}

/* Without tables stacks are copied; that is no reason to go without a session. */
static void map_tables(const struct weft_welcome *w, int fd)
{
	if (fd < 0 || !w->tables_bytes || weft_tables_map(fd, w->tables_bytes))
		weft_tables_forget();
}

/* Question and answer; the caller closes the descriptors in @fds. */
static int join_ask(uint32_t flags, struct weft_welcome *welcome, int fds[FD_COUNT], int first)
{
	int socket_fd = connect_within_a_second(), failed;

	if (socket_fd < 0)
		return socket_fd;
	failed = say_hello(socket_fd, flags);
	if (!failed)
		failed = hear_welcome(socket_fd, welcome, fds, first);
	sys_call1(SYS_close, socket_fd);
	return failed;
}

static int join_and_map(uint32_t flags, int first)
{
	struct weft_welcome welcome = {0};
	int fds[FD_COUNT] = {-1, -1};
	int failed = join_ask(flags, &welcome, fds, first);

	if (!failed && first == FD_SESSION)
		failed = weft_session_map(fds[FD_SESSION], welcome.total_bytes);
	if (!failed)
		map_tables(&welcome, fds[FD_TABLES]);
	close_fds(fds);
	return failed;
}

int weft_join_tables(void)
{
	return join_and_map(WEFT_HELLO_ATTACHED, FD_TABLES);
}

int weft_join(uint32_t flags)
{
	int failed = join_and_map(flags, FD_SESSION);

	if (!failed)
		weft_rt.has_collector = 1;
	return failed;
}
