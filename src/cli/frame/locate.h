/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the command's companions are: beside its own file (/proc/self/exe), in the build tree
 * or under the prefix that it was installed to.
 */
#ifndef WEFT_CLI_LOCATE_H
#define WEFT_CLI_LOCATE_H

#include <stddef.h>

/*
 * locate_library() - the absolute path of libweft.so. WEFT_LIB (secure_getenv) overrides.
 * 0; -ENOENT when there is none; -ENAMETOOLONG; -errno of access(2) for WEFT_LIB.
 */
int locate_library(char *path, size_t bytes);

/*
 * locate_preload() - a path of libweft.so for LD_PRELOAD, which the loader splits at blanks and
 * colons: if the library's own path has one, a link to it, which stays. It is in the cache
 * directory, or in cache_private() where the loader would split that one's path too, or somebody
 * else could exchange the link (base/cache_place.h). As locate_library(); -EILSEQ: there is
 * no place for a link; another -errno: why none could be made.
 */
int locate_preload(char *path, size_t bytes);

/*
 * locate_profiles() - the directory of the built-in profiles (NAME.jfc). 0, or as locate_library()
 * when there is none.
 */
int locate_profiles(char *path, size_t bytes);

/*
 * locate_waits_preload() - a path of libweft-waits.so for LD_PRELOAD, as locate_preload(): beside
 * libweft.so, or in a build tree in the folder next to its.
 */
int locate_waits_preload(char *path, size_t bytes);

/* locate_self() - the absolute path of this command. 0 or -errno. */
int locate_self(char *path, size_t bytes);

#endif
