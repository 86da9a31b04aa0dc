/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the files in which a process tells of its JIT code, as somebody who does not trust
 * /tmp: below the process's own root, no symbolic link on the way to the file, a regular file
 * with one name that nobody but its owner and group may write, and the owner is the process's
 * user. All checks are made of what was opened, so nothing can be put in its place in between.
 */
#ifndef WEFT_COLLECTOR_JIT_FILE_H
#define WEFT_COLLECTOR_JIT_FILE_H

#include "collector/process/maps.h"

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Whose files: what is asked at the process's first word, for later it may be gone. */
struct jit_owner {
	int root_fd, proc_fd; /* O_PATH, not ours; -1 = cannot be had */
	pid_t inside_pid;     /* as the process sees itself */
	uid_t uid;            /* that its files had then; (uid_t)-1 = not known */
	int64_t started_ns;   /* CLOCK_REALTIME; 0 = not known */
};

/* Reads user and start of the process behind proc_fd. */
void jit_owner_read(struct jit_owner *o, int root_fd, int proc_fd, pid_t inside_pid);

/*
 * The perf map that is there now: a descriptor and *st, or -errno: -ENOENT, and -EPERM for one
 * that is not to be believed.
 */
int jit_file_open_map(const struct jit_owner *o, struct stat *st);

/* Was the file last written before the process was there? */
int jit_file_is_older(const struct jit_owner *o, const struct stat *st);

/* The file behind @one, a mapping of the process's, likewise. */
int jit_file_open_mapped(const struct jit_owner *o, const struct mapping *one, struct stat *st);

/* Is @one how a process shows where its jitdump is: a mapping of jit-PID.dump? */
int jit_file_is_marker(const struct jit_owner *o, const struct mapping *one);

#endif
