/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's end of the rendezvous: see rendezvous.h. */
#include "collector/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, rc;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || chmod(path, 0600) ||
	    listen(fd, 128)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* A directory that we may trust: ours, and nobody else can write in it. */
static int private_directory(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	if (lstat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 0022) ? 0 : -EPERM;
}

/* pid and time make the name new; an old file of that name belongs to nobody alive. */
static int listen_in(struct rendezvous *r, const char *directory)
{
	int n = snprintf(r->path, sizeof(r->path), "%s/%d.sock", directory, (int)getpid());

	if (n < 0 || (size_t)n >= sizeof(r->path))
		return -ENAMETOOLONG;
	unlink(r->path);
	r->fd = listen_at(r->path);
	return r->fd < 0 ? r->fd : 0;
}

static int listen_below(struct rendezvous *r, const char *base, const char *below)
{
	char directory[RENDEZVOUS_PATH_MAX];
	int n, rc;

	if (!base || base[0] != '/')
		return -ENOENT;
	n = snprintf(directory, sizeof(directory), "%s%s", base, below);
	if (n < 0 || (size_t)n >= sizeof(directory))
		return -ENAMETOOLONG;
	rc = private_directory(directory);
	return rc ? rc : listen_in(r, directory);
}

static int listen_in_tmp(struct rendezvous *r)
{
	int rc;

	snprintf(r->directory, sizeof(r->directory), "/tmp/weft-XXXXXX");
	if (!mkdtemp(r->directory)) {
		rc = -errno;
		r->directory[0] = 0;
		return rc;
	}
	rc = listen_in(r, r->directory);
	if (rc) {
		rmdir(r->directory);
		r->directory[0] = 0;
	}
	return rc;
}

/* A path in a directory that was made for this recording alone, and goes with it. */
static int listen_there(struct rendezvous *r, const char *path)
{
	int n = snprintf(r->path, sizeof(r->path), "%s", path);
	const char *slash = strrchr(path, '/');

	if (n < 0 || (size_t)n >= sizeof(r->path))
		return -ENAMETOOLONG;
	if (slash && slash != path)
		snprintf(r->directory, sizeof(r->directory), "%.*s", (int)(slash - path), path);
	r->fd = listen_at(path);
	return r->fd < 0 ? r->fd : 0;
}

int rendezvous_open(struct rendezvous *r, const char *path)
{
	const char *chosen = secure_getenv("WEFT_DIR");

	*r = (struct rendezvous){.fd = -1};
	if (path)
		return listen_there(r, path);
	if (chosen)
		return listen_below(r, chosen, "");
	if (listen_below(r, secure_getenv("XDG_RUNTIME_DIR"), "/weft") == 0)
		return 0;
	return listen_in_tmp(r);
}

void rendezvous_close(struct rendezvous *r)
{
	if (r->fd < 0)
		return;
	close(r->fd);
	r->fd = -1;
	unlink(r->path);
	if (r->directory[0])
		rmdir(r->directory);
}

int rendezvous_accept(const struct rendezvous *r, pid_t *peer)
{
	struct ucred who;
	socklen_t bytes = sizeof(who);
	int fd = accept4(r->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) || who.pid <= 0 ||
	    (who.uid != geteuid() && who.uid != 0)) {
		close(fd);
		return -EPERM;
	}
	*peer = who.pid;
	return fd;
}

int rendezvous_hello(int fd, struct weft_hello *out)
{
	struct weft_hello hello;
	ssize_t n = recv(fd, &hello, sizeof(hello), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (n == 0)
		return -ECONNRESET;
	if ((size_t)n != sizeof(hello) || hello.magic != WEFT_RENDEZVOUS_MAGIC ||
	    hello.version != WEFT_RENDEZVOUS_VERSION)
		return -EBADMSG;
	*out = hello;
	return 0;
}

int rendezvous_answer(int fd, int status, const struct rendezvous_gift *gift)
{
	struct weft_welcome welcome = {
		.magic = WEFT_RENDEZVOUS_MAGIC,
		.version = WEFT_RENDEZVOUS_VERSION,
		.status = status,
		.collector_pid = (int32_t)getpid(),
		.total_bytes = gift ? gift->total_bytes : 0,
		.tables_bytes = gift ? gift->tables_bytes : 0,
	};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = {0};
	struct iovec part = {&welcome, sizeof(welcome)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (gift) {
		int fds[2] = {gift->memfd, gift->tables_fd};
		size_t bytes = (gift->tables_bytes ? 2 : 1) * sizeof(int);
		struct cmsghdr *c;

		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(bytes);
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(c), fds, bytes);
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}
