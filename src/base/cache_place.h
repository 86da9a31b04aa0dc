/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where files lie that can be made again: $WEFT_CACHE, else $XDG_CACHE_HOME/weft, else
 * ~/.cache/weft. Outside of the target only.
 */
#ifndef WEFT_BASE_CACHE_PLACE_H
#define WEFT_BASE_CACHE_PLACE_H

#include <stddef.h>

/* The directory's name, made or not. 0, -ENOENT, -ENAMETOOLONG. */
int cache_place(char *path, size_t bytes);

/* Make a directory, 0700, and those above it. @path is given back as it was. 0 or -errno. */
int cache_make(char *path);

/*
 * cache_open() - a descriptor of the directory @name in it, with @make both made where they
 * are not; or -errno. -EPERM: one that is not ours, or that others can write to; nothing is
 * made in the home of another user (sudo).
 */
int cache_open(const char *name, int make);

#endif
