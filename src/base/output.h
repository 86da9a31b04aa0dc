/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears whole or not at all: written beside its place under another name,
 * renamed when all of it is on its way to the disk. Standard output and what is no regular
 * file (a pipe, /dev/null) is written directly. The first error stays.
 */
#ifndef WEFT_BASE_OUTPUT_H
#define WEFT_BASE_OUTPUT_H

#include <stddef.h>

struct output;

/* @path NULL or "-": standard output. 0 or -errno. */
int output_open(struct output **out, const char *path);
/* Never in the place of anything: -EEXIST when there is a file, now or at the commit. */
int output_open_new(struct output **out, const char *path);
/* What it is written under until then, for a library that opens files itself; NULL = directly. */
const char *output_temporary(const struct output *o);
/* All of it, through short writes and signals. 0 or -errno. */
int output_write(struct output *o, const void *data, size_t bytes);
/* What was written so far, to the file as it is: for who reads it while it grows. 0 or -errno. */
int output_flush(struct output *o);
/* Flush, rename, free. 0 or -errno: then the older file, if any, is untouched. */
int output_commit(struct output *o);
/* Throws away what was written, frees. NULL is allowed. */
void output_abandon(struct output *o);
/* Takes away what is not committed. For a handler of signals that end the process: it calls only
 * what may be called there, and the outputs are not to be used any more. */
void output_abandon_all(void);

#endif
