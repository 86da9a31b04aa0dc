/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that weft writes for somebody: one way to open them, so that no name harms anybody. A new
 * file is made beside its place and takes the name by a rename: what is there is never written to,
 * cut or given another mode, and no link is followed to a file. A *whole* output (output_open)
 * takes its name at the commit; until then the older file stays. A *growing* one (output_grow:
 * recordings, traces of JSON lines) takes it at the beginning: it can be read at any time, what is
 * in it is there after a SIGKILL, and two that begin under one name see each other. It holds a lock
 * (flock) as long as it is written; nothing takes the name of a file that is locked, and who gives
 * a name holds the lock of the file that had it, so that of two one is refused.
 *
 *   the name is                    whole                         growing
 *   "-", /dev/stdout, NULL         standard output               the caller's: record refuses it
 *   /dev/fd/N, /proc/self/fd/N     the caller's own descriptor   likewise, from where it stands
 *   of nothing                     named at the commit           named at once
 *   a file                         replaced at the commit        replaced at once
 *     that another weft writes     -EBUSY, also at the commit    -EBUSY
 *     and it is to be new          -EEXIST, also at the commit   -EEXIST
 *     and is to be appended to                                   written, locked for sharing
 *   a link to a file, to nothing   -ELOOP (new: -EEXIST)         likewise
 *   a link to what follows         as what it leads to           likewise
 *   a pipe with a reader           written                       written
 *   a pipe without                 waited for; a signal: -EINTR  likewise
 *     output_never_wait()          -ENXIO                        likewise
 *   a character device             written, nothing else         likewise
 *   a directory                    -EISDIR                       likewise
 *   a disk, a socket               -ENOTSUP                      likewise
 *   a link of another user but
 *   root, wherever it is           -EACCES                       likewise
 *   a pipe that another user
 *   put into a /tmp                -EACCES, as the kernel has it likewise
 *   such a file                    replaced                      appended to: -EACCES
 *
 * A new file has mode 0600, whatever the umask: it tells of a program what its owner may not want
 * told. A whole output keeps the permissions of the file that it replaces, if that is the caller's
 * own, and those of its group, if the new one has it; a growing one does not, for nobody knows yet
 * what will be in it. A descriptor is the caller's if it came through the exec, and is not
 * close-on-exec as all of ours are: else it is -EBADF. What is the program that is
 * to be run, or what the output is made from, only the verb knows: cli/frame/leave.h.
 *
 * A whole output that cannot be given its name at the commit is on the disk, and is left where it
 * is (output_kept()): anybody who may read the older file can hold its lock at that moment.
 *
 * Locks bind wefts alone, and where the file system has them. A file of another user that cannot be
 * opened to ask for its lock is not replaced: -EACCES.
 */
#ifndef WEFT_BASE_OUTPUT_H
#define WEFT_BASE_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct output;

/* What may be under the name already. */
enum output_how { OUTPUT_REPLACE, OUTPUT_NEW, OUTPUT_APPEND };

/* Opens a whole output. The first error of writing is kept. 0 or -errno. */
int output_open(struct output **out, const char *path);
/* Never replaces a file: -EEXIST if there is one, now or at the commit. */
int output_open_new(struct output **out, const char *path);
/* The temporary name, for a library that opens files itself; NULL = written directly. */
const char *output_temporary(const struct output *o);
/* For who writes past output_write(), which must not be used then. It stays the output's. */
int output_descriptor(const struct output *o);
/* Writes all, through short writes and signals. 0 or -errno. */
int output_write(struct output *o, const void *data, size_t bytes);
/* Writes what is buffered, for readers of a growing file. 0 or -errno. */
int output_flush(struct output *o);
/* Flushes, renames, frees. 0 or -errno: then the older file, if any, is untouched. */
int output_commit(struct output *o);
/* The temporary name of what the last commit could not give its name; else NULL. */
const char *output_kept(void);
/* Discards what was written, frees. NULL is allowed. */
void output_abandon(struct output *o);
/* Deletes all outputs that are not committed, for a handler of signals that end the process:
 * async-signal-safe, and the outputs must not be used any more. */
void output_abandon_all(void);

/* Opens a growing output: its descriptor, or -errno. */
int output_grow(const char *path, enum output_how how);
/* The same, where only a file is of use: -ENOTSUP for pipes and devices. */
int output_grow_file(const char *path, enum output_how how);
/* From now on a pipe without a reader is not waited for: for who cannot be interrupted. */
void output_never_wait(void);
/* Locks a file that is going to take the name of a growing output. */
void output_lock(int fd);
/* Before a growing output is closed: a child that was forked may have the descriptor still. Not for
 * a descriptor of the caller's, whose locks are its own. */
void output_unlock(int fd);
int output_is_descriptor(const char *path);
/* The file @path, if there is one, gets the name @to, in the place of the file there. 0 or -errno,
 * as above. */
int output_move_aside(const char *path, const char *to);

/* Is it a name of standard output? */
int output_is_standard(const char *path);
/* Would output_open() refuse the name now? 0 or -errno. No pipe is waited for. */
int output_check(const char *path);
/* What an error of these is called, and after a commit where the output is. */
const char *output_why(int rc);

/* To a descriptor, through short writes and signals, unless *error is set, which the first -errno
 * sets: how many bytes were written. */
size_t fd_write_all(int fd, const void *data, size_t bytes, int *error);
/* Up to @bytes at @offset: as many as there are, or -errno. */
ssize_t fd_read_at(int fd, void *data, size_t bytes, uint64_t offset);

#endif
