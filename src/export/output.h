/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears whole or not at all: written beside its place under another name,
 * renamed when all of it is on its way to the disk. Standard output and what is no regular
 * file (a pipe, /dev/null) is written directly. The first error stays.
 */
#ifndef WEFT_EXPORT_OUTPUT_H
#define WEFT_EXPORT_OUTPUT_H

#include <stddef.h>

struct output;

/* @path NULL or "-": standard output. 0 or -errno. */
int output_open(struct output **out, const char *path);
/* All of it, through short writes and signals. 0 or -errno. */
int output_write(struct output *o, const void *data, size_t bytes);
/* Flush, rename, free. 0 or -errno: then the older file, if any, is untouched. */
int output_commit(struct output *o);
/* Throws away what was written, frees. NULL is allowed. */
void output_abandon(struct output *o);

#endif
