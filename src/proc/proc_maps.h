/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/PID/maps (proc(5)). */
#ifndef WEFT_PROC_PROC_MAPS_H
#define WEFT_PROC_PROC_MAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

struct proc_map {
	uint64_t start, end, offset;
	uint64_t inode; /* 0 = no file */
	uint32_t device_major, device_minor;
	char permissions[5]; /* "rwxp" */
	char *path;          /* freed by the caller; "" = anonymous */
	const char *line;    /* all of it, line_bytes, as long as proc_maps_each() shows it */
	size_t line_bytes;
};

/* Is it a mapping of this file, by stat(2)'s st_dev and st_ino? */
static inline int proc_map_is_of(const struct proc_map *map, dev_t device, ino_t inode)
{
	return map->inode == inode && map->device_major == major(device) &&
	       map->device_minor == minor(device);
}

/* Parse a line of @bytes, without its newline. 0, -EINVAL or -ENOMEM; @out changes only if it is 0.
 */
int proc_map_parse(const char *line, size_t bytes, struct proc_map *out);

/*
 * Each line of a text of maps that can be parsed, in the kernel's order, until @each returns
 * anything but 0, which is returned. The path is freed behind each call; who keeps it sets it to
 * NULL. -ENOMEM.
 */
int proc_maps_parse(const char *text, size_t bytes, int (*each)(void *arg, struct proc_map *map),
		    void *arg);
/* Likewise of a process; -errno when its maps cannot be read. The kernel may change the map between
 * two of its pages. */
int proc_maps_each(pid_t pid, int (*each)(void *arg, struct proc_map *map), void *arg);

#endif
