/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of outputs, and what may be done with each: the table of output.h. Between a look at a name
 * and what is done with it somebody may change what it stands for; so whatever is opened is looked
 * at again, and a name is given by calls that follow no link.
 */
#include "base/output.h"
#include "base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES (64 * 1024)
#define PIPE_LOOK_NS 20000000
#define LOCK_PAUSE_NS 10000000
#define LOCK_TRIES 20 /* a program may wait for it: WEFT_RECORD */
#define NAME_TRIES 100

struct output {
	char *path, *temporary; /* NULL: written directly */
	enum output_how how;
	int fd, error;
	size_t used;
	char buffer[BUFFER_BYTES];
};

static char kept[PATH_MAX]; /* whole, but without its name */

/* Temporary names of unfinished outputs; if there are more than this, not all are listed. */
static char *unfinished[8];

static void output_note(char *temporary)
{
	for (size_t i = 0; i < sizeof(unfinished) / sizeof(*unfinished); i++) {
		char *none = NULL;

		if (cas_release(&unfinished[i], &none, temporary))
			return;
	}
}

static void output_forget(char *temporary)
{
	for (size_t i = 0; temporary && i < sizeof(unfinished) / sizeof(*unfinished); i++) {
		char *it = temporary;

		cas_release(&unfinished[i], &it, NULL);
	}
}

void output_abandon_all(void)
{
	for (size_t i = 0; i < sizeof(unfinished) / sizeof(*unfinished); i++) {
		const char *temporary = load_acquire(&unfinished[i]);

		if (temporary)
			unlink(temporary);
	}
}

/* ---- what is under a name */

/* The descriptor that the name is of, or -1. */
static int descriptor_named(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};

	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		size_t bytes = strlen(folders[i]), digits;

		if (strncmp(path, folders[i], bytes) != 0)
			continue;
		digits = strspn(path + bytes, "0123456789");
		if (digits && digits < 10 && !path[bytes + digits])
			return (int)strtol(path + bytes, NULL, 10);
	}
	return -1;
}

int output_is_standard(const char *path)
{
	return !path || strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0 ||
	       descriptor_named(path) == STDOUT_FILENO;
}

int output_is_descriptor(const char *path)
{
	return descriptor_named(path) >= 0;
}

static const char *why_refused(int rc)
{
	switch (rc) {
	case -ELOOP:
		return "a symbolic link, which is not followed (or they lead in a circle): name "
		       "the file itself";
	case -EBUSY:
		return "another weft is writing it (or something is mounted there): name another "
		       "file";
	case -ENXIO:
		return "a pipe that nobody reads";
	case -ENOTSUP:
		return "no file, no pipe and no character device";
	default:
		return strerror(-rc);
	}
}

const char *output_why(int rc)
{
	static char words[PATH_MAX + 200];

	if (!*kept)
		return why_refused(rc);
	snprintf(words, sizeof(words), "%s; what was written is %s", why_refused(rc), kept);
	return words;
}

/* One that the caller handed on came through an exec; what was opened since does not go through
 * one, and is none of the caller's. */
static int own_descriptor(int fd)
{
	int flags = fcntl(fd, F_GETFD), own;

	if (flags < 0 || flags & FD_CLOEXEC)
		return -EBADF;
	own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return own < 0 ? -errno : own;
}

struct place {
	int is_link, is_pipe;
	int is_direct; /* a pipe or a device: nothing to be replaced */
};

/* Has another user put it into a directory that is everybody's? A kernel that protects links and
 * pipes there does it by the same rule. */
static int is_put_by_other(const char *path, uid_t owner)
{
	const char *slash = strrchr(path, '/');
	size_t bytes = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
	char *directory = slash ? strndup(path, bytes) : strdup(".");
	struct stat st;
	int is = !directory || stat(directory, &st) != 0 ||
		 (st.st_mode & S_ISVTX && st.st_mode & S_IWOTH && owner != geteuid() &&
		  owner != st.st_uid);

	free(directory);
	return is;
}

/* A link leads further than to what the directory's owner may write anyway: it must be the
 * caller's own or root's, wherever it is. */
static int is_foreign(const char *path, const struct stat *st)
{
	if (S_ISLNK(st->st_mode) && st->st_uid != geteuid() && st->st_uid != 0)
		return 1;
	return is_put_by_other(path, st->st_uid);
}

/* Of a link: what it leads to, if that is no file. */
static int look_behind(const char *path, enum output_how how, struct stat *st)
{
	if (stat(path, st) == 0 && !S_ISREG(st->st_mode))
		return 0;
	return how == OUTPUT_NEW ? -EEXIST : -ELOOP;
}

static int look_at_place(const char *path, enum output_how how, struct place *place)
{
	struct stat st;
	int rc = 0;

	*place = (struct place){0};
	if (lstat(path, &st) != 0)
		return errno == ENOENT && *path ? 0 : -errno;
	if (S_ISREG(st.st_mode) && how != OUTPUT_APPEND)
		return how == OUTPUT_NEW ? -EEXIST : 0;
	if (!S_ISDIR(st.st_mode) && is_foreign(path, &st))
		return -EACCES;
	place->is_link = S_ISLNK(st.st_mode);
	if (place->is_link)
		rc = look_behind(path, how, &st);
	if (rc || S_ISREG(st.st_mode))
		return rc;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	place->is_pipe = S_ISFIFO(st.st_mode);
	place->is_direct = place->is_pipe || S_ISCHR(st.st_mode);
	return place->is_direct ? 0 : -ENOTSUP;
}

/* ---- pipes and devices */

/* A caller that reads signals from a descriptor has them blocked: they would not end open(2). */
static int is_signalled(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
		sigismember(&pending, SIGHUP) || sigismember(&pending, SIGQUIT));
}

/* It may be another than a moment ago. */
static int settle_direct(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return -ESTALE;
	return fcntl(fd, F_SETFL, 0) != 0 ? -errno : 0; /* no O_NONBLOCK */
}

static int waits_for_readers = 1;

void output_never_wait(void)
{
	waits_for_readers = 0;
}

/* Waits for a pipe's reader, as open(2) does, but not longer than until a signal. */
static int open_direct(const char *path, const struct place *place)
{
	const struct timespec pause = {.tv_nsec = PIPE_LOOK_NS};
	int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | (place->is_link ? 0 : O_NOFOLLOW), fd, rc;

	while ((fd = open(path, flags | O_NONBLOCK)) < 0 && errno == ENXIO && place->is_pipe &&
	       waits_for_readers)
		if (is_signalled() || nanosleep(&pause, NULL) != 0)
			return -EINTR;
	if (fd < 0)
		return -errno;
	rc = settle_direct(fd);
	if (rc)
		close(fd);
	return rc ? rc : fd;
}

/* ---- locks and names */

static int is_named(int fd, const char *path)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 && lstat(path, &there) == 0 && ours.st_dev == there.st_dev &&
	       ours.st_ino == there.st_ino;
}

/* Who gives a name has the lock for a moment; who writes the file, for long. NFS and SMB want a
 * descriptor open for writing for an exclusive lock; a shared one, too, finds whoever writes. */
static int take_lock(int fd, int how)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

	for (int i = 0; flock(fd, how | LOCK_NB) != 0; i++) {
		if (errno == EBADF && how == LOCK_EX) {
			how = LOCK_SH;
			continue;
		}
		if (errno != EWOULDBLOCK && errno != EINTR)
			return 0; /* a file system without locks */
		if (i == LOCK_TRIES)
			return -EBUSY;
		nanosleep(&pause, NULL);
	}
	return 0;
}

void output_lock(int fd)
{
	(void)take_lock(fd, LOCK_EX);
}

void output_unlock(int fd)
{
	flock(fd, LOCK_UN);
}

/* A file of our own that we may not read is none that a weft writes. */
static int refuse_unread(const char *path, int error)
{
	struct stat st;

	if (error == ENOENT)
		return 0;
	if (error == EACCES && lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid())
		return 1;
	return -error;
}

static int lock_regular(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSUP;
	return take_lock(fd, LOCK_EX);
}

/*
 * Locks the file that has the name. 1: there is one, and *held (or -1, where that cannot be) is to
 * be closed; 0: there is none; -errno: -EBUSY, or it is no file.
 */
static int hold_name(const char *path, int *held)
{
	for (int i = 0; i < NAME_TRIES; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), rc;

		*held = -1;
		if (fd < 0)
			return refuse_unread(path, errno);
		rc = lock_regular(fd);
		if (!rc && is_named(fd, path)) {
			*held = fd;
			return 1;
		}
		close(fd);
		if (rc)
			return rc;
	}
	return -EBUSY;
}

static void let_go(int held)
{
	if (held >= 0)
		close(held);
}

/* Would it be refused at the commit? Better now than after the work. */
static int refuse_early(const char *path)
{
	int held, rc = hold_name(path, &held);

	let_go(held);
	return rc < 0 ? rc : 0;
}

/* An existing file stays: the kernel refuses to replace it; if it cannot check, link() does. */
static int rename_new(const char *from, const char *to)
{
	if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1 /* RENAME_NOREPLACE */) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return link(from, to) || unlink(from) ? -errno : 0;
}

static int rename_over(const char *from, const char *to)
{
	return rename(from, to) == 0 ? 0 : -errno;
}

static int give_name(const char *from, const char *to, enum output_how how)
{
	int rc = how == OUTPUT_NEW ? rename_new(from, to) : -EEXIST;

	for (int i = 0; rc == -EEXIST && how != OUTPUT_NEW && i < NAME_TRIES; i++) {
		int held, is_there = hold_name(to, &held);

		if (is_there < 0)
			return is_there;
		rc = is_there ? rename_over(from, to) : rename_new(from, to);
		if (rc && rc != -EEXIST && !is_there) /* no links there */
			rc = rename_over(from, to);
		let_go(held);
	}
	return rc;
}

int output_move_aside(const char *path, const char *to)
{
	int held, held_to = -1, rc;
	struct stat st;

	if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return 0;
	rc = hold_name(path, &held);
	if (rc > 0 && held >= 0 && is_named(held, to)) {
		rc = unlink(path) != 0 ? -errno : 0; /* two names of one file */
	} else if (rc > 0) {
		rc = hold_name(to, &held_to);
		rc = rc < 0 ? rc : rename_over(path, to);
		let_go(held_to);
	}
	let_go(held);
	return rc;
}

/* ---- a growing output */

static int open_beside(char *temporary)
{
	int fd = mkostemp(temporary, O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	output_note(temporary);
	rc = fchmod(fd, 0600) != 0 ? -errno : 0; /* the umask may take from that */
	if (rc) {
		unlink(temporary);
		output_forget(temporary);
		close(fd);
	}
	return rc ? rc : fd;
}

static int grow_new(const char *path, enum output_how how)
{
	char *temporary = NULL;
	int fd, rc;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = open_beside(temporary);
	if (fd >= 0) {
		output_lock(fd);
		rc = give_name(temporary, path, how);
		if (rc) {
			unlink(temporary);
			close(fd);
			fd = rc;
		}
		output_forget(temporary);
	}
	free(temporary);
	return fd;
}

/* Open for reading, too, where that may be: some file systems want it for a shared lock. */
static int open_to_append(const char *path)
{
	int flags = O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
	int fd = open(path, flags | O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0 && errno == EEXIST) {
		fd = open(path, flags | O_RDWR);
		return fd < 0 && errno == EACCES ? open(path, flags | O_WRONLY) : fd;
	}
	if (fd >= 0 && fchmod(fd, 0600) != 0) { /* the umask may take from that */
		close(fd);
		return -1;
	}
	return fd;
}

/* It may be another than a moment ago, and another user's. */
static int check_appended(const char *path, int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ESTALE;
	return is_foreign(path, &st) ? -EACCES : take_lock(fd, LOCK_SH);
}

/* Several may append, each whole lines; nobody may replace the file meanwhile. */
static int grow_older(const char *path)
{
	for (int i = 0; i < NAME_TRIES; i++) {
		int fd = open_to_append(path), rc;

		if (fd < 0)
			return errno ? -errno : -EIO;
		rc = check_appended(path, fd);
		if (!rc && is_named(fd, path))
			return fd;
		close(fd);
		if (rc)
			return rc;
	}
	return -EBUSY;
}

static int grow_file(const char *path, enum output_how how)
{
	return how == OUTPUT_APPEND ? grow_older(path) : grow_new(path, how);
}

int output_grow(const char *path, enum output_how how)
{
	struct place place;
	int rc;

	if (output_is_descriptor(path))
		return own_descriptor(descriptor_named(path));
	rc = look_at_place(path, how, &place);
	if (rc)
		return rc;
	if (place.is_direct)
		return open_direct(path, &place);
	return grow_file(path, how);
}

int output_grow_file(const char *path, enum output_how how)
{
	struct place place;
	int rc = look_at_place(path, how, &place);

	if (!rc && place.is_direct)
		rc = -ENOTSUP;
	return rc ? rc : grow_file(path, how);
}

/* ---- a whole output */

/* Our own older file keeps the permissions that it was given; those of a group, if it is the new
 * file's, too. */
static int set_mode(const struct output *o)
{
	struct stat st, own;
	mode_t mask;

	if (lstat(o->path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return 0;
	if (fstat(o->fd, &own) != 0)
		return -errno;
	mask = own.st_gid == st.st_gid ? 0777 : 0707;
	return fchmod(o->fd, st.st_mode & mask) != 0 ? -errno : 0;
}

static int open_temporary(struct output *o, const char *path)
{
	int rc = refuse_early(path);

	if (rc)
		return rc;
	o->path = strdup(path);
	if (!o->path || asprintf(&o->temporary, "%s.XXXXXX", path) < 0) {
		o->temporary = NULL;
		return -ENOMEM;
	}
	o->fd = open_beside(o->temporary);
	if (o->fd < 0) {
		free(o->temporary);
		o->temporary = NULL;
		return o->fd;
	}
	return set_mode(o);
}

static int open_named(struct output *o, const char *path)
{
	struct place place;
	int rc;

	o->fd = -1;
	if (output_is_descriptor(path)) {
		o->fd = own_descriptor(descriptor_named(path));
		return o->fd < 0 ? o->fd : 0;
	}
	rc = look_at_place(path, o->how, &place);
	if (rc)
		return rc;
	if (!place.is_direct)
		return open_temporary(o, path);
	o->fd = open_direct(path, &place);
	return o->fd < 0 ? o->fd : 0;
}

int output_check(const char *path)
{
	struct place place;
	int rc, fd;

	if (output_is_standard(path))
		return 0;
	if (output_is_descriptor(path)) {
		fd = own_descriptor(descriptor_named(path));
		let_go(fd);
		return fd < 0 ? fd : 0;
	}
	rc = look_at_place(path, OUTPUT_REPLACE, &place);
	return rc || place.is_direct ? rc : refuse_early(path);
}

static int open_as(struct output **out, const char *path, enum output_how how)
{
	struct output *o = calloc(1, sizeof(*o));
	int rc = 0;

	if (!o)
		return -ENOMEM;
	*kept = 0;
	o->how = how;
	if (!path || output_is_standard(path))
		o->fd = STDOUT_FILENO;
	else
		rc = open_named(o, path);
	if (rc) {
		output_abandon(o);
		return rc;
	}
	*out = o;
	return 0;
}

int output_open(struct output **out, const char *path)
{
	return open_as(out, path, OUTPUT_REPLACE);
}

int output_open_new(struct output **out, const char *path)
{
	return open_as(out, path, OUTPUT_NEW);
}

const char *output_temporary(const struct output *o)
{
	return o->temporary;
}

int output_descriptor(const struct output *o)
{
	return o->fd;
}

size_t fd_write_all(int fd, const void *data, size_t bytes, int *error)
{
	size_t done = 0;

	while (done < bytes && !*error) {
		ssize_t n = write(fd, (const char *)data + done, bytes - done);

		if (n < 0 && errno != EINTR)
			*error = -errno;
		else if (n > 0)
			done += (size_t)n;
	}
	return done;
}

ssize_t fd_read_at(int fd, void *data, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	if (offset > INT64_MAX - bytes)
		return 0;
	while (done < bytes) {
		ssize_t n = pread(fd, (char *)data + done, bytes - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int output_flush(struct output *o)
{
	size_t bytes = o->used;

	o->used = 0;
	fd_write_all(o->fd, o->buffer, bytes, &o->error);
	return o->error;
}

int output_write(struct output *o, const void *data, size_t bytes)
{
	if (bytes > BUFFER_BYTES - o->used && output_flush(o))
		return o->error;
	if (bytes > BUFFER_BYTES) {
		fd_write_all(o->fd, data, bytes, &o->error);
		return o->error;
	}
	memcpy(o->buffer + o->used, data, bytes);
	o->used += bytes;
	return o->error;
}

static void output_release(struct output *o)
{
	if (o->fd > STDERR_FILENO)
		close(o->fd);
	output_forget(o->temporary);
	free(o->path);
	free(o->temporary);
	free(o);
}

/* All of it is on the disk: who cannot give it its name still has it by another. */
static int commit_name(const struct output *o)
{
	int rc = give_name(o->temporary, o->path, o->how);

	if (rc)
		snprintf(kept, sizeof(kept), "%s", o->temporary);
	return rc;
}

int output_commit(struct output *o)
{
	int rc = output_flush(o), is_whole = 0;

	if (!rc && o->temporary) {
		int fd = o->fd;

		rc = fsync(fd) ? -errno : 0;
		o->fd = -1;
		rc = close(fd) && !rc ? -errno : rc;
		is_whole = !rc;
	}
	if (is_whole)
		rc = commit_name(o);
	else if (rc && o->temporary)
		unlink(o->temporary);
	output_release(o);
	return rc;
}

const char *output_kept(void)
{
	return *kept ? kept : NULL;
}

void output_abandon(struct output *o)
{
	if (!o)
		return;
	if (o->temporary)
		unlink(o->temporary);
	output_release(o);
}
