/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc as text: read whole, and the fields of `stat` and `status` found (proc(5)). No
 * state; any thread.
 */
#ifndef WEFT_PROC_PROC_TEXT_H
#define WEFT_PROC_PROC_TEXT_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * proc_read() - read a file below @directory_fd (AT_FDCWD: @path is a whole path) with one read(2),
 * which suffices for the files of one process or thread other than lists such as maps. At most
 * @room - 1 bytes, and a 0 behind them. The number of bytes, or -errno, and then @out is "".
 */
ssize_t proc_read(int directory_fd, const char *path, char *out, size_t room);
ssize_t proc_read_of(pid_t pid, const char *name, char *out, size_t room); /* /proc/PID/NAME */
/* task/TID/NAME below @proc_fd, /proc/PID; -ESRCH, too, where the thread ends and it is empty. */
ssize_t proc_read_task(int proc_fd, pid_t tid, const char *name, char *out, size_t room);

/* A whole file, up to 128 MiB: allocated, terminated, freed by the caller. NULL with errno. */
char *proc_read_all(int directory_fd, const char *path, size_t *bytes);
char *proc_read_all_of(pid_t pid, const char *name, size_t *bytes);

/* A directory, to be read and closed; NULL with errno. */
DIR *proc_directory(int directory_fd, const char *path);

/* Each process that /proc shows, until @each returns anything but 0, which is returned; -errno when
 * /proc cannot be read. */
int proc_each(int (*each)(void *arg, pid_t pid), void *arg);

/*
 * proc_stat_field() - where field number @field of a `stat` begins: 3 (the state) or higher. The
 * command, field 2, may hold any character, so fields are counted from the last closing bracket.
 * NULL when there is no such field, or @stat is NULL.
 */
const char *proc_stat_field(const char *stat, int field);

/* The value of a variable in a text of `environ`; NULL: it has none, or @text is NULL. */
const char *proc_variable(const char *text, size_t bytes, const char *name);

/* The text behind "NAME:" at the beginning of a line of `status` or a file like it; NULL when there
 * is no such line, or @text is NULL. */
const char *proc_line(const char *text, const char *name);
/* The number there, in base 10 or 16; 0 where there is none. */
uint64_t proc_line_number(const char *text, const char *name, int base);

#endif
