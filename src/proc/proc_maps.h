/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/PID/maps (proc(5)). */
#ifndef WEFT_PROC_PROC_MAPS_H
#define WEFT_PROC_PROC_MAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_map {
	uint64_t start, end, offset;
	uint64_t inode; /* 0 = no file */
	uint32_t device_major, device_minor;
	char permissions[5]; /* "rwxp" */
	char *path;          /* freed by the caller; "" = anonymous */
};

/* Parse a line of @bytes, without its newline. 0, -EINVAL or -ENOMEM; @out changes only if it is 0.
 */
int proc_map_parse(const char *line, size_t bytes, struct proc_map *out);

/*
 * Each line that can be parsed, in the kernel's order, until @each returns anything but 0, which is
 * returned. The path is freed behind each call; who keeps it sets it to NULL. -errno when the file
 * cannot be read, -ENOMEM. The kernel may change the map between two of its pages.
 */
int proc_maps_each(pid_t pid, int (*each)(void *arg, struct proc_map *map), void *arg);

#endif
