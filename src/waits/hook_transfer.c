/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers to and from a descriptor, connections, and syncing of files. The names with 64, and
 * those with _chk in programs built with _FORTIFY_SOURCE, are the same calls.
 */
#include "waits/hook_io.h"

#define MOVES(type, name, parameters, arguments, operation)                                        \
	WEFT_WAITS_CALL(type, name, parameters, arguments, operation, fd, WEFT_WAITS_MOVED,        \
			WEFT_WAITS_ERRNO)
#define DOES(type, name, parameters, arguments, operation)                                         \
	WEFT_WAITS_CALL(type, name, parameters, arguments, operation, fd, 0, WEFT_WAITS_ERRNO)

/* ---- files */

MOVES(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size), read)
MOVES(ssize_t, __read_chk, (int fd, void *to, size_t size, size_t room), (fd, to, size, room), read)
MOVES(ssize_t, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at), pread)
MOVES(ssize_t, pread64, (int fd, void *to, size_t size, off_t at), (fd, to, size, at), pread)
MOVES(ssize_t, __pread_chk, (int fd, void *to, size_t size, off_t at, size_t room),
      (fd, to, size, at, room), pread)
MOVES(ssize_t, __pread64_chk, (int fd, void *to, size_t size, off_t at, size_t room),
      (fd, to, size, at, room), pread)
MOVES(ssize_t, readv, (int fd, const struct iovec *to, int count), (fd, to, count), readv)
MOVES(ssize_t, preadv, (int fd, const struct iovec *to, int count, off_t at), (fd, to, count, at),
      preadv)
MOVES(ssize_t, preadv64, (int fd, const struct iovec *to, int count, off_t at), (fd, to, count, at),
      preadv)
MOVES(ssize_t, preadv2, (int fd, const struct iovec *to, int count, off_t at, int flags),
      (fd, to, count, at, flags), preadv2)
MOVES(ssize_t, preadv64v2, (int fd, const struct iovec *to, int count, off_t at, int flags),
      (fd, to, count, at, flags), preadv2)

MOVES(ssize_t, write, (int fd, const void *from, size_t size), (fd, from, size), write)
MOVES(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at),
      pwrite)
MOVES(ssize_t, pwrite64, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at),
      pwrite)
MOVES(ssize_t, writev, (int fd, const struct iovec *from, int count), (fd, from, count), writev)
MOVES(ssize_t, pwritev, (int fd, const struct iovec *from, int count, off_t at),
      (fd, from, count, at), pwritev)
MOVES(ssize_t, pwritev64, (int fd, const struct iovec *from, int count, off_t at),
      (fd, from, count, at), pwritev)
MOVES(ssize_t, pwritev2, (int fd, const struct iovec *from, int count, off_t at, int flags),
      (fd, from, count, at, flags), pwritev2)
MOVES(ssize_t, pwritev64v2, (int fd, const struct iovec *from, int count, off_t at, int flags),
      (fd, from, count, at, flags), pwritev2)

DOES(int, fsync, (int fd), (fd), fsync)
DOES(int, fdatasync, (int fd), (fd), fdatasync)

/* ---- sockets */

MOVES(ssize_t, recv, (int fd, void *to, size_t size, int flags), (fd, to, size, flags), recv)
MOVES(ssize_t, __recv_chk, (int fd, void *to, size_t size, size_t room, int flags),
      (fd, to, size, room, flags), recv)
MOVES(ssize_t, recvfrom,
      (int fd, void *to, size_t size, int flags, struct sockaddr *peer, socklen_t *bytes),
      (fd, to, size, flags, peer, bytes), recvfrom)
MOVES(ssize_t, __recvfrom_chk,
      (int fd, void *to, size_t size, size_t room, int flags, struct sockaddr *peer,
       socklen_t *bytes),
      (fd, to, size, room, flags, peer, bytes), recvfrom)
MOVES(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), recvmsg)
MOVES(ssize_t, send, (int fd, const void *from, size_t size, int flags), (fd, from, size, flags),
      send)
MOVES(ssize_t, sendto,
      (int fd, const void *from, size_t size, int flags, const struct sockaddr *peer,
       socklen_t bytes),
      (fd, from, size, flags, peer, bytes), sendto)
MOVES(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags),
      sendmsg)

/* Their result counts messages. */
static int64_t hook_transfer_bytes_of(const struct mmsghdr *messages, int count)
{
	int64_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += messages[i].msg_len;
	return bytes;
}

WEFT_WAITS_CALL(int, recvmmsg,
		(int fd, struct mmsghdr *messages, unsigned int count, int flags,
		 struct timespec *timeout),
		(fd, messages, count, flags, timeout), recvmmsg, fd,
		hook_transfer_bytes_of(messages, result), WEFT_WAITS_ERRNO)
WEFT_WAITS_CALL(int, sendmmsg, (int fd, struct mmsghdr *messages, unsigned int count, int flags),
		(fd, messages, count, flags), sendmmsg, fd,
		hook_transfer_bytes_of(messages, result), WEFT_WAITS_ERRNO)

/* Of the two descriptors the one that is written to: usually the slower one. */
MOVES(ssize_t, sendfile, (int fd, int from, off_t *at, size_t size), (fd, from, at, size), sendfile)
MOVES(ssize_t, sendfile64, (int fd, int from, off_t *at, size_t size), (fd, from, at, size),
      sendfile)

DOES(int, accept, (int fd, struct sockaddr *peer, socklen_t *bytes), (fd, peer, bytes), accept)
DOES(int, accept4, (int fd, struct sockaddr *peer, socklen_t *bytes, int flags),
     (fd, peer, bytes, flags), accept4)
DOES(int, connect, (int fd, const struct sockaddr *peer, socklen_t bytes), (fd, peer, bytes),
     connect)
