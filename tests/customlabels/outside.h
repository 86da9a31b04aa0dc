/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of the Custom Labels ABI as profilers outside are: it knows the process's number, its
 * maps, the ELF files and its memory, and stops the thread. Nothing of weft's.
 */
#ifndef TESTS_CUSTOMLABELS_OUTSIDE_H
#define TESTS_CUSTOMLABELS_OUTSIDE_H

#include <stddef.h>
#include <sys/types.h>

/* What the thread's current set says: "key=value key=value", in its order; "-" without a set.
 * 0, or -1: no library of the right name, no descriptor, no memory, not to be stopped. */
int outside_read(pid_t pid, pid_t tid, char *out, size_t room);

#endif
