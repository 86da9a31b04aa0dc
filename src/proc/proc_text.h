/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc as text: read whole, and the fields of `stat` and `status` found (proc(5)). No
 * state; any thread.
 */
#ifndef WEFT_PROC_PROC_TEXT_H
#define WEFT_PROC_PROC_TEXT_H

#include <stddef.h>
#include <sys/types.h>

/*
 * proc_read() - a file below @directory_fd (AT_FDCWD for a path of its own) that the kernel hands
 * over at once, as it does those of one process or thread but lists (maps): as much of it as there
 * is @room for but one byte, and a 0 behind. How many bytes, or -errno, and "" then.
 */
ssize_t proc_read(int directory_fd, const char *path, char *out, size_t room);
ssize_t proc_read_of(pid_t pid, const char *name, char *out, size_t room); /* /proc/PID/NAME */

/* The same of any size, up to 128 MiB: allocated, terminated, freed by the caller. NULL with errno.
 */
char *proc_read_all(int directory_fd, const char *path, size_t *bytes);
char *proc_read_all_of(pid_t pid, const char *name, size_t *bytes);

/* Each process that /proc shows, until @each returns anything but 0, which is returned; -errno when
 * /proc cannot be read. */
int proc_each(int (*each)(void *arg, pid_t pid), void *arg);

/*
 * proc_stat_field() - where a field of a `stat` begins, by its number there, 3 (the state) and up.
 * The command, field 2, may hold anything: fields are counted from its last bracket. NULL: there is
 * none, or @stat is NULL.
 */
const char *proc_stat_field(const char *stat, int field);

/* What stands behind "NAME:" at the beginning of a line of `status` and its like; NULL likewise. */
const char *proc_line(const char *text, const char *name);

#endif
