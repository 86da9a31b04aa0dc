/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's end of the rendezvous: see rendezvous.h. */
#include "collector/run/rendezvous.h"

#include "base/clock.h"

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

/* Of a socket in a directory that is one recording's alone: at which a program's own collector
 * listens, and what that is called before. */
static int is_lone_name(const char *name)
{
	return !strcmp(name, "socket") || !strcmp(name, EARLY_NAME);
}

/* "123.sock" or root's "123-0f1e2d.sock" and "123-0f1e2d.sock+", of a process that is gone. */
static int is_our_name(const char *name)
{
	const char *rest = name + strspn(name, "0123456789");

	if (is_lone_name(name))
		return 1;
	if (rest == name || kill((pid_t)atoi(name), 0) == 0 || errno != ESRCH)
		return 0;
	if (*rest == '-')
		rest += 1 + strspn(rest + 1, "0123456789abcdef");
	return !strcmp(rest, ".sock") || !strcmp(rest, ".sock" WEFT_RENDEZVOUS_OTHERS);
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

/* In the directory @at, whatever its name leads to by now. */
static int is_dead_socket(int at, const char *name, enum whose whose)
{
	char path[RENDEZVOUS_PATH_MAX];
	int n = snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", at, name);
	struct stat st;

	return n > 0 && (size_t)n < sizeof(path) && is_our_name(name) &&
	       !fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(st.st_mode) &&
	       (whose == WHOSE_GIVEN || st.st_uid == geteuid()) && is_old(&st) &&
	       nobody_listens(path);
}

static int is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* How many entries a directory has that are no dead sockets; @removes: dead ones are removed. */
static size_t look_through(DIR *dir, int removes)
{
	struct dirent *entry;
	size_t others = 0;

	rewinddir(dir);
	while ((entry = readdir(dir))) {
		if (is_dots(entry->d_name))
			continue;
		if (!is_dead_socket(dirfd(dir), entry->d_name, WHOSE_GIVEN))
			others++;
		else if (removes)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
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

/* Root's can be passed by others. */
static int is_mode_of_ours(mode_t mode)
{
	return S_ISDIR(mode) && ((mode & 07777) == 0700 || (mode & 07777) == 0711);
}

/* What is looked through is what was found to be ours, even if another has its name by then. */
static void remove_directory(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct stat st;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (!fstat(fd, &st) && is_mode_of_ours(st.st_mode) && st.st_uid == geteuid() &&
	    is_old(&st) && !look_through(dir, 0)) {
		look_through(dir, 1);
		unlinkat(parent, name, AT_REMOVEDIR); /* fails when something has come meanwhile */
	}
	closedir(dir);
}

/*
 * Removes what a killed collector has left behind below @directory: sockets of ours that nobody
 * listens at, and the directories, @prefix and six letters, made for one alone. Only what is
 * certainly one is removed: of this user, with our names, nothing else beside it, older than a
 * minute, and refusing connections.
 */
static void stale_remove(const char *directory, const char *prefix)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (is_made_for_one(entry->d_name, prefix))
			remove_directory(dirfd(dir), entry->d_name);
		else if (!is_lone_name(entry->d_name) &&
			 is_dead_socket(dirfd(dir), entry->d_name, WHOSE_OURS))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
}

/* ---- listening */

/* In whole seconds: whoever asks here is answered (abi/rendezvous.h). */
static void set_whole_second(const char *path)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL)}};

	if (utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW))
		return; /* they wait less long */
}

static int listen_at(const char *path, mode_t mode)
{
	struct sockaddr_un address;
	int fd = socket_for(path, &address), rc;

	if (fd < 0)
		return fd;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || chmod(path, mode) ||
	    listen(fd, 128)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	set_whole_second(path);
	return fd;
}

/* At @path, which is not there before we listen. /proc/net/unix goes on showing all users @early
 * as its name. */
static int listen_hidden(const char *early, const char *path, mode_t mode)
{
	int fd = listen_at(early, mode), rc;

	if (fd < 0 || !rename(early, path))
		return fd;
	rc = -errno;
	close(fd);
	unlink(early);
	return rc;
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

static int keep_socket(struct rendezvous *r, int fd)
{
	r->fd = fd;
	r->is_made = fd >= 0;
	return fd < 0 ? fd : 0;
}

/* Root's two sockets, with a number in their names that nobody can guess. */
static int listen_twice(struct rendezvous *r, const char *directory, const char *early)
{
	int n = snprintf(r->path, sizeof(r->path), "%s/%d-%016llx.sock", directory, (int)getpid(),
			 (unsigned long long)random_number());
	int rc;

	if (n < 0 || (size_t)n + sizeof(WEFT_RENDEZVOUS_OTHERS) > sizeof(r->others))
		return -ENAMETOOLONG;
	rc = keep_socket(r, listen_hidden(early, r->path, 0600));
	if (rc)
		return rc;
	memcpy(r->others, r->path, (size_t)n);
	memcpy(r->others + n, WEFT_RENDEZVOUS_OTHERS, sizeof(WEFT_RENDEZVOUS_OTHERS));
	r->others_fd = listen_hidden(early, r->others, 0666);
	rc = r->others_fd < 0 ? r->others_fd : 0;
	if (rc)
		rendezvous_close(r);
	return rc;
}

/* The name is our pid: an older socket of that name belongs to nobody alive. Where root's do not
 * fit, other users' processes are not heard. */
static int listen_in(struct rendezvous *r, const char *directory)
{
	char plain[RENDEZVOUS_PATH_MAX];
	int n = snprintf(plain, sizeof(plain), "%s/%d.sock", directory, (int)getpid()), rc;

	if (n < 0 || (size_t)n >= sizeof(plain))
		return -ENAMETOOLONG;
	unlink(plain);
	rc = r->is_roots ? listen_twice(r, directory, plain) : -ENAMETOOLONG;
	if (rc != -ENAMETOOLONG)
		return rc;
	memcpy(r->path, plain, sizeof(plain));
	return keep_socket(r, listen_at(plain, 0600));
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
	int n = snprintf(early, sizeof(early), "%s/%s", directory, EARLY_NAME);

	if (n < 0 || (size_t)n >= sizeof(early))
		return -ENAMETOOLONG;
	return listen_hidden(early, path, 0600);
}

/* A path in a directory that was made for this recording alone, and goes with it. */
static int listen_there(struct rendezvous *r, const char *path)
{
	int n = snprintf(r->path, sizeof(r->path), "%s", path);
	const char *slash = strrchr(path, '/');

	if (n < 0 || (size_t)n >= sizeof(r->path))
		return -ENAMETOOLONG;
	if (!slash || slash == path)
		return keep_socket(r, listen_at(path, 0600));
	snprintf(r->directory, sizeof(r->directory), "%.*s", (int)(slash - path), path);
	return keep_socket(r, listen_and_show(r->directory, path));
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
static int open_roots(struct rendezvous *r, const char *chosen)
{
	int rc;

	r->is_roots = 1;
	rc = chosen ? listen_below(r, chosen, "") : listen_in_tmp(r);
	if (rc == 0 && r->directory[0] && chmod(r->directory, 0711)) {
		rc = -errno;
		rendezvous_close(r);
	}
	return rc;
}

int rendezvous_open(struct rendezvous *r, const char *path)
{
	const char *chosen = secure_getenv("WEFT_DIR");

	*r = (struct rendezvous){.fd = -1, .others_fd = -1, .guests = geteuid()};
	remove_stale(chosen);
	if (path)
		return listen_there(r, path);
	if (geteuid() == 0)
		return open_roots(r, chosen);
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

	*r = (struct rendezvous){.fd = -1, .others_fd = -1, .guests = guests};
	rc = listen_in_tmp(r);
	if (rc == 0 && (chown(r->path, guests, (gid_t)-1) || chmod(r->directory, 0711))) {
		rc = -errno;
		rendezvous_close(r);
	}
	return rc;
}

void rendezvous_shut(struct rendezvous *r)
{
	if (r->fd >= 0)
		close(r->fd);
	if (r->others_fd >= 0)
		close(r->others_fd);
	r->fd = r->others_fd = -1;
}

void rendezvous_close(struct rendezvous *r)
{
	rendezvous_shut(r);
	if (!r->is_made)
		return;
	r->is_made = 0;
	unlink(r->path);
	if (r->others[0])
		unlink(r->others);
	if (r->directory[0])
		rmdir(r->directory);
}

static void rendezvous_heal(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && st.st_mtim.tv_nsec != 0)
		set_whole_second(path);
}

void rendezvous_is_alive(const struct rendezvous *r)
{
	rendezvous_heal(r->path);
	if (r->others[0])
		rendezvous_heal(r->others);
}

/* By the time of access, for that of modification may say that somebody waited in vain. */
static void touch_socket(const char *path)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};

	if (utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW))
		return; /* it may be removed as too old */
}

void rendezvous_touch(const struct rendezvous *r)
{
	touch_socket(r->path);
	if (r->others[0])
		touch_socket(r->others);
}

/* ---- who comes, and what is asked */

/* Is @user ourselves, root or the guests' user? */
static int rendezvous_trusts(const struct rendezvous *r, uid_t user)
{
	return user == geteuid() || user == 0 || user == r->guests;
}

static int accept_at(int listening, struct ucred *peer)
{
	socklen_t bytes = sizeof(*peer);
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &bytes) || peer->pid <= 0) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int rendezvous_accept(const struct rendezvous *r, struct ucred *peer)
{
	int fd = accept_at(r->fd, peer);

	if (fd < 0 || rendezvous_trusts(r, peer->uid))
		return fd;
	close(fd);
	return -EPERM;
}

int rendezvous_accept_other(const struct rendezvous *r, struct ucred *peer)
{
	return accept_at(r->others_fd, peer);
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
