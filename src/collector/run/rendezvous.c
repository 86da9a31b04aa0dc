/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's end of the rendezvous: see rendezvous.h. */
#include "collector/run/rendezvous.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define OLD_SECONDS 60
#define LETTERS 6
#define EARLY_NAME "new"

/* ---- what killed collectors have left */

static int is_old(const struct stat *st)
{
	return st->st_mtim.tv_sec + OLD_SECONDS < time(NULL);
}

/* "123.sock" of a process that is gone, or "socket", at which a program's own collector listens,
 * and what it is called until it does. */
static int is_our_name(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	if (!strcmp(name, "socket") || !strcmp(name, EARLY_NAME))
		return 1;
	return digits && !strcmp(name + digits, ".sock") && kill((pid_t)atoi(name), 0) &&
	       errno == ESRCH;
}

/* A socket, to be bound or connected to @path: *address. Or -errno. */
static int socket_for(const char *path, struct sockaddr_un *address)
{
	int fd;

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	strcpy(address->sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd < 0 ? -errno : fd;
}

static int nobody_listens(const char *path)
{
	struct sockaddr_un address;
	int fd = socket_for(path, &address), refused;

	if (fd < 0)
		return 0;
	refused =
		connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno == ECONNREFUSED;
	close(fd);
	return refused;
}

/* Whose sockets are taken: ours, or, where only we can have made one, also what root has given to a
 * guest (rendezvous_open_for()). */
enum whose { WHOSE_OURS, WHOSE_GIVEN };

static int is_dead_socket(const char *directory, const char *name, enum whose whose, char *path,
			  size_t room)
{
	int n = snprintf(path, room, "%s/%s", directory, name);
	struct stat st;

	return n > 0 && (size_t)n < room && is_our_name(name) && !lstat(path, &st) &&
	       S_ISSOCK(st.st_mode) && (whose == WHOSE_GIVEN || st.st_uid == geteuid()) &&
	       is_old(&st) && nobody_listens(path);
}

static int is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* How many entries a directory has that are no dead sockets; @removes: dead ones are removed. */
static size_t look_through(const char *directory, int removes)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	size_t others = 0;
	char path[512];

	if (!dir)
		return 1;
	while ((entry = readdir(dir))) {
		if (is_dots(entry->d_name))
			continue;
		if (!is_dead_socket(directory, entry->d_name, WHOSE_GIVEN, path, sizeof(path)))
			others++;
		else if (removes)
			unlink(path);
	}
	closedir(dir);
	return others;
}

static int is_made_for_one(const char *name, const char *prefix)
{
	size_t bytes = strlen(prefix);

	if (strncmp(name, prefix, bytes) != 0 || strlen(name) != bytes + LETTERS)
		return 0;
	for (const char *at = name + bytes; *at; at++)
		if (!isalnum((unsigned char)*at))
			return 0;
	return 1;
}

static void remove_directory(const char *path)
{
	struct stat st;

	/* root's can be passed by all, who may give up its privileges: let_all_in() */
	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    ((st.st_mode & 07777) != 0700 && (st.st_mode & 07777) != 0711) || !is_old(&st) ||
	    look_through(path, 0))
		return;
	look_through(path, 1);
	rmdir(path); /* fails when something has come meanwhile */
}

/*
 * Removes what a killed collector has left behind below @directory: sockets PID.sock that nobody
 * listens at, and the directories, @prefix and six letters, made for one alone. Only what is
 * certainly one is removed: of this user, with our names, nothing else beside it, older than a
 * minute, and refusing connections.
 */
static void stale_remove(const char *directory, const char *prefix)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	char path[512];

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		int n = snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);

		if (n < 0 || (size_t)n >= sizeof(path) || is_dots(entry->d_name))
			continue;
		if (is_made_for_one(entry->d_name, prefix))
			remove_directory(path);
		else if (isdigit((unsigned char)entry->d_name[0]) &&
			 is_dead_socket(directory, entry->d_name, WHOSE_OURS, path, sizeof(path)))
			unlink(path);
	}
	closedir(dir);
}

/* ---- listening */

static int listen_at(const char *path)
{
	struct sockaddr_un address;
	int fd = socket_for(path, &address), rc;

	if (fd < 0)
		return fd;
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

/* The name is our pid: an older socket of that name belongs to nobody alive. */
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

/* The program that waits for @path (src/runtime/start/launch.c) connects as soon as it appears, so
 * it appears only when we listen. */
static int listen_and_show(const char *directory, const char *path)
{
	char early[RENDEZVOUS_PATH_MAX];
	int n = snprintf(early, sizeof(early), "%s/%s", directory, EARLY_NAME), fd, rc;

	if (n < 0 || (size_t)n >= sizeof(early))
		return -ENAMETOOLONG;
	fd = listen_at(early);
	if (fd < 0 || !rename(early, path))
		return fd;
	rc = -errno;
	close(fd);
	unlink(early);
	return rc;
}

/* A path in a directory that was made for this recording alone, and goes with it. */
static int listen_there(struct rendezvous *r, const char *path)
{
	int n = snprintf(r->path, sizeof(r->path), "%s", path);
	const char *slash = strrchr(path, '/');

	if (n < 0 || (size_t)n >= sizeof(r->path))
		return -ENAMETOOLONG;
	if (!slash || slash == path) {
		r->fd = listen_at(path);
		return r->fd < 0 ? r->fd : 0;
	}
	snprintf(r->directory, sizeof(r->directory), "%.*s", (int)(slash - path), path);
	r->fd = listen_and_show(r->directory, path);
	return r->fd < 0 ? r->fd : 0;
}

/* Removes stale sockets where ours may be made, and where programs begin collectors (launch.c). */
static void remove_stale(const char *chosen)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	char below[RENDEZVOUS_PATH_MAX];
	int n = runtime ? snprintf(below, sizeof(below), "%s/weft", runtime) : -1;

	if (chosen) {
		stale_remove(chosen, "");
		return;
	}
	if (n > 0 && (size_t)n < sizeof(below)) {
		stale_remove(runtime, "weft-");
		stale_remove(below, "weft-");
	}
	stale_remove("/tmp", "weft-");
}

/* Other users can pass a directory of our own; one that was chosen stays as it is. */
static int let_all_in(struct rendezvous *r)
{
	int rc = 0;

	if (chmod(r->path, 0666) || (r->directory[0] && chmod(r->directory, 0711)))
		rc = -errno;
	r->takes_all = rc == 0;
	if (rc)
		rendezvous_close(r);
	return rc;
}

static int open_for_all(struct rendezvous *r, const char *chosen)
{
	int rc = chosen ? listen_below(r, chosen, "") : listen_in_tmp(r);

	return rc ? rc : let_all_in(r);
}

int rendezvous_open(struct rendezvous *r, const char *path)
{
	const char *chosen = secure_getenv("WEFT_DIR");

	*r = (struct rendezvous){.fd = -1, .guests = geteuid()};
	remove_stale(chosen);
	if (path)
		return listen_there(r, path);
	if (geteuid() == 0)
		return open_for_all(r, chosen);
	if (chosen)
		return listen_below(r, chosen, "");
	if (listen_below(r, secure_getenv("XDG_RUNTIME_DIR"), "/weft") == 0)
		return 0;
	return listen_in_tmp(r);
}

/* The directory stays ours, so that nobody can exchange what we remove in it at the end. */
int rendezvous_open_for(struct rendezvous *r, uid_t guests)
{
	int rc;

	*r = (struct rendezvous){.fd = -1, .guests = guests};
	rc = listen_in_tmp(r);
	if (rc == 0 && (chown(r->path, guests, (gid_t)-1) || chmod(r->directory, 0711))) {
		rc = -errno;
		rendezvous_close(r);
	}
	return rc;
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

int rendezvous_trusts(const struct rendezvous *r, uid_t user)
{
	return user == geteuid() || user == 0 || user == r->guests;
}

int rendezvous_accept(const struct rendezvous *r, struct ucred *peer)
{
	socklen_t bytes = sizeof(*peer);
	int fd = accept4(r->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &bytes) || peer->pid <= 0 ||
	    (!r->takes_all && !rendezvous_trusts(r, peer->uid))) {
		close(fd);
		return -EPERM;
	}
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

int rendezvous_is_set(int fd)
{
	uint32_t magic = 0;
	ssize_t n = recv(fd, &magic, sizeof(magic), MSG_DONTWAIT | MSG_PEEK);

	if (n < 0 && (errno == EWOULDBLOCK || errno == EINTR))
		return -EAGAIN;
	return n == (ssize_t)sizeof(magic) && magic == WEFT_SET_MAGIC;
}

int rendezvous_set(int fd, struct weft_set *out, char *text)
{
	struct weft_set set;
	struct iovec parts[] = {{&set, sizeof(set)}, {text, WEFT_SET_TEXT_MAX}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT);

	if (n < (ssize_t)sizeof(set) || message.msg_flags & MSG_TRUNC ||
	    set.magic != WEFT_SET_MAGIC || set.version != WEFT_RENDEZVOUS_VERSION || set.pid < 0 ||
	    set.text_bytes == 0 || set.text_bytes > WEFT_SET_TEXT_MAX ||
	    sizeof(set) + set.text_bytes != (size_t)n)
		return -EBADMSG;
	*out = set;
	return 0;
}

int rendezvous_set_answer(int fd, int status, const char *text)
{
	struct weft_set_answer answer = {
		.magic = WEFT_SET_MAGIC,
		.version = WEFT_RENDEZVOUS_VERSION,
		.status = status,
		.text_bytes = (uint32_t)strlen(text),
	};
	struct iovec parts[] = {{&answer, sizeof(answer)},
				{(char *)(uintptr_t)text, answer.text_bytes}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
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
	size_t count = 0;
	int fds[2];

	if (gift && gift->memfd >= 0)
		fds[count++] = gift->memfd;
	if (gift && gift->tables_bytes)
		fds[count++] = gift->tables_fd;
	if (count) {
		size_t bytes = count * sizeof(int);
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
