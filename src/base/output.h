/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears whole or not at all: written beside its place under another name, and renamed
 * when all of it is on the disk. Standard output and what is not a regular file (a pipe,
 * /dev/null) is written directly. It has the permissions of the file that it replaces; a new one
 * has those that the umask leaves. The first error is kept.
 */
#ifndef WEFT_BASE_OUTPUT_H
#define WEFT_BASE_OUTPUT_H

#include <stddef.h>

struct output;

/* @path NULL or "-": standard output. 0 or -errno. */
int output_open(struct output **out, const char *path);
/* Never replaces a file: -EEXIST if there is one, now or at the commit. */
int output_open_new(struct output **out, const char *path);
/* The temporary name, for a library that opens files itself; NULL = written directly. */
const char *output_temporary(const struct output *o);
/* Writes all, through short writes and signals. 0 or -errno. */
int output_write(struct output *o, const void *data, size_t bytes);
/* Writes what is buffered, for readers of a growing file. 0 or -errno. */
int output_flush(struct output *o);
/* Flushes, renames, frees. 0 or -errno: then the older file, if any, is untouched. */
int output_commit(struct output *o);
/* Discards what was written, frees. NULL is allowed. */
void output_abandon(struct output *o);
/* Deletes all outputs that are not committed, for a handler of signals that end the process:
 * async-signal-safe, and the outputs must not be used any more. */
void output_abandon_all(void);

/* To a descriptor, through short writes and signals, unless *error is set, which the first -errno
 * sets: how many bytes were written. */
size_t fd_write_all(int fd, const void *data, size_t bytes, int *error);

#endif
