/* SPDX-License-Identifier: Apache-2.0 */
/* One line of /proc/PID/maps (proc(5)). */
#ifndef WEFT_PROC_PROC_MAPS_H
#define WEFT_PROC_PROC_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct proc_map {
	uint64_t start, end, offset;
	uint64_t inode; /* 0 = no file */
	uint32_t device_major, device_minor;
	char permissions[5]; /* "rwxp" */
	char *path;          /* the caller's; "" = anonymous */
};

/* Without its newline. 0, or -EINVAL, or -ENOMEM; then @out is as it was. */
int proc_map_parse(const char *line, size_t bytes, struct proc_map *out);

#endif
