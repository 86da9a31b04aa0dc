/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where files are kept that can be made again: $WEFT_CACHE, else $XDG_CACHE_HOME/weft, else
 * ~/.cache/weft. Not in the target.
 */
#ifndef WEFT_BASE_CACHE_PLACE_H
#define WEFT_BASE_CACHE_PLACE_H

#include <stddef.h>

/* The directory's name, whether it exists or not. 0, -ENOENT, -ENAMETOOLONG. */
int cache_place(char *path, size_t bytes);

/* Makes a directory, 0700, and those above it. @path is unchanged on return. 0 or -errno. */
int cache_make(char *path);

/*
 * cache_open() - a descriptor of the directory @name in the cache; with @make both are made if they
 * do not exist; or -errno. -EPERM: a directory that is not ours, or that others can write to;
 * nothing is made in another user's home (sudo).
 */
int cache_open(const char *name, int make);

#endif
