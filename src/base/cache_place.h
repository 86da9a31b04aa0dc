/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where files are kept that can be made again: $WEFT_CACHE, else $XDG_CACHE_HOME/weft, else
 * ~/.cache/weft. Not in the target.
 *
 * What lies there is believed, and a library there would be loaded into programs. So a directory
 * is used only if nobody but its owner and root can exchange it, or any directory or link on its
 * way: each one belongs to us or to root, and others cannot write to it, or only add to it (the
 * sticky bit of /tmp). The directory itself is ours. $WEFT_CACHE, $XDG_CACHE_HOME and ~/.cache may
 * be links; below them there are none.
 */
#ifndef WEFT_BASE_CACHE_PLACE_H
#define WEFT_BASE_CACHE_PLACE_H

#include <stddef.h>

/* The directory's name, whether it exists or not. 0, -ENOENT, -ENAMETOOLONG. */
int cache_place(char *path, size_t bytes);

/*
 * cache_directory() - a descriptor of the directory, and in @path (PATH_MAX bytes) its name
 * without links; with @make it is made, 0700, with those above it, if it is not there. Or -errno.
 * -EPERM, -ELOOP: it cannot be trusted; nothing is made in another user's home (sudo).
 */
int cache_directory(char *path, int make);

/*
 * cache_private() - the same of a directory in /tmp, for what must be somewhere when there is no
 * other: /tmp/weft-cache-UID, 0700, which stays. -EPERM: others have taken all its names.
 */
int cache_private(char *path);

/* A descriptor of the directory @name in cache_directory(), which must be 0700; or -errno. */
int cache_open(const char *name, int make);

#endif
