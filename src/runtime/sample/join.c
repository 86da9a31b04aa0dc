/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects to the collector (abi/rendezvous.h): one question, one answer with the session's memfd
 * and that of the tables; all is closed again before this returns. Async-signal-safe, because a
 * forked child's session begins in its first SIGPROF.
 *
 * It takes a second at most. A collector that is stopped, or does not come round to answering, is
 * waited for so long once: who has waited in vain says so for all others, in the socket's file.
 */
#include "runtime/sample/sample.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <weft/abi/rendezvous.h>

#include "runtime/core/sys.h"
#include "runtime/stack/module_map.h"

/* That of the collector, and where it hears processes that have become another user's. */
enum { ADDRESS_OWN, ADDRESS_OTHERS, ADDRESS_COUNT };
static struct sockaddr_un collector_address[ADDRESS_COUNT] = {{.sun_family = AF_UNIX},
							      {.sun_family = AF_UNIX}};

/* How long the answer is waited for, from the attempt to connect on. */
struct patience {
	uint32_t ms;
	uint64_t began_ns;
};

int weft_join_set_path(const char *path)
{
	static const char others[] = WEFT_RENDEZVOUS_OTHERS;
	char *own = collector_address[ADDRESS_OWN].sun_path;
	char *second = collector_address[ADDRESS_OTHERS].sun_path;
	size_t bytes = strlen(path);

	if (bytes == 0 || bytes >= sizeof(collector_address->sun_path))
		return -ENAMETOOLONG;
	memcpy(own, path, bytes + 1);
	second[0] = 0;
	if (bytes + sizeof(others) > sizeof(collector_address->sun_path))
		return 0;
	memcpy(second, path, bytes);
	memcpy(second + bytes, others, sizeof(others));
	return 0;
}

/* Has somebody waited there in vain since the collector last answered? */
static int join_is_silent(const char *path)
{
	struct stat st = {0};

	return sys_call4(SYS_newfstatat, AT_FDCWD, path, &st, 0) == 0 && st.st_mtim.tv_nsec != 0;
}

static void tell_silence(const char *path)
{
	sys_call4(SYS_utimensat, AT_FDCWD, path, 0, 0);
}

static uint32_t patience_left_ms(const struct patience *p)
{
	uint64_t waited_ms = (clock_own_ns() - p->began_ns) / 1000000;

	return waited_ms < p->ms ? p->ms - (uint32_t)waited_ms : 0;
}

/* Before each call that waits, for what is left: @which is SO_SNDTIMEO or SO_RCVTIMEO. */
static void limit_wait(int fd, int which, const struct patience *p)
{
	uint32_t left_ms = patience_left_ms(p);
	struct timeval left = {.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};

	if (left_ms == 0)
		left.tv_usec = 1000; /* 0 would be for ever */
	sys_call5(SYS_setsockopt, fd, SOL_SOCKET, which, &left, sizeof(left));
}

/* A signal has interrupted a call that waits. */
static int waits_on(long result, const struct patience *p)
{
	return result == -EINTR && patience_left_ms(p) > 0;
}

/* Its descriptor; -EAGAIN: nobody accepts. */
static int join_connect_to(const struct sockaddr_un *address, struct patience *p)
{
	long fd = sys_call3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), failed;

	if (fd < 0)
		return (int)fd;
	p->began_ns = clock_own_ns();
	p->ms = join_is_silent(address->sun_path) ? WEFT_RENDEZVOUS_HURRY_MS
						  : WEFT_RENDEZVOUS_PATIENCE_MS;
	do {
		limit_wait((int)fd, SO_SNDTIMEO, p);
		failed = sys_call3(SYS_connect, fd, address, sizeof(*address));
	} while (waits_on(failed, p));
	if (failed) {
		sys_call1(SYS_close, fd);
		return failed == -EINTR ? -EAGAIN : (int)failed;
	}
	return (int)fd;
}

/* At the collector's own address; where that is closed to this user, at the others'. */
static int join_connect(const struct sockaddr_un **at, struct patience *p)
{
	const struct sockaddr_un *others = &collector_address[ADDRESS_OTHERS];
	int fd;

	*at = &collector_address[ADDRESS_OWN];
	fd = join_connect_to(*at, p);
	if (fd != -EACCES || !others->sun_path[0])
		return fd;
	*at = others;
	fd = join_connect_to(*at, p);
	return fd == -ENOENT ? -EACCES : fd;
}

static int say_hello(int fd, uint32_t flags, uint32_t patience_ms)
{
	struct weft_hello hello = {
		.magic = WEFT_RENDEZVOUS_MAGIC,
		.version = WEFT_RENDEZVOUS_VERSION,
		.flags = flags,
		.pid = sys_getpid(),
		.parent_pid = (int32_t)sys_call0(SYS_getppid),
		.runtime_version = WEFT_RUNTIME_VERSION,
		.patience_ms = patience_ms,
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

/* Stores descriptors in @fds from number @first on; the caller closes them in any case. -EAGAIN: no
 * answer came in time. */
static int hear_welcome(int socket_fd, const struct patience *p, struct weft_welcome *w,
			int fds[FD_COUNT], int first)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(FD_COUNT * sizeof(int))] = {0};
	struct iovec part = {.iov_base = w, .iov_len = sizeof(*w)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	long bytes;

	do {
		limit_wait(socket_fd, SO_RCVTIMEO, p);
		bytes = sys_call3(SYS_recvmsg, socket_fd, &message, MSG_CMSG_CLOEXEC);
	} while (waits_on(bytes, p));
	if (bytes == -EAGAIN || bytes == -EINTR)
		return -EAGAIN;
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
	const struct sockaddr_un *at;
	struct patience patience;
	int socket_fd = join_connect(&at, &patience), failed = socket_fd < 0 ? socket_fd : 0;

	if (!failed)
		failed = say_hello(socket_fd, flags, patience.ms);
	if (!failed)
		failed = hear_welcome(socket_fd, &patience, welcome, fds, first);
	if (socket_fd >= 0)
		sys_call1(SYS_close, socket_fd);
	if (failed == -EAGAIN)
		tell_silence(at->sun_path);
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
