/* SPDX-License-Identifier: Apache-2.0 */
/* See proc_maps.h. */
#include "proc/proc_maps.h"

#include "base/quantity.h"
#include "base/text/digits.h"
#include "proc/proc_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A number that ends at @stop or at the end of the line; *@at moves behind both. */
static int proc_maps_parse_number(const char **at, const char *end, unsigned int base, char stop,
				  uint64_t *out)
{
	const char *p = *at;

	if (digits_read(&p, end, base, out) || (p < end && *p != stop))
		return -EINVAL;
	*at = p < end ? p + 1 : p;
	return 0;
}

/* The kernel writes a newline in a path as \012, and nothing else in this way. */
static char *unescape_path(const char *at, const char *end)
{
	char *path = malloc((size_t)(end - at) + 1);
	size_t n = 0;

	if (!path)
		return NULL;
	while (at < end) {
		int is_newline = end - at >= 4 && memcmp(at, "\\012", 4) == 0;

		path[n++] = is_newline ? '\n' : *at;
		at += is_newline ? 4 : 1;
	}
	path[n] = 0;
	return path;
}

int proc_map_parse(const char *line, size_t bytes, struct proc_map *out)
{
	const char *at = line, *end = line + bytes;
	struct proc_map one = {0};
	uint64_t major, minor;

	if (proc_maps_parse_number(&at, end, 16, '-', &one.start) ||
	    proc_maps_parse_number(&at, end, 16, ' ', &one.end) || one.end <= one.start)
		return -EINVAL;
	if (end - at < 5 || at[4] != ' ')
		return -EINVAL;
	memcpy(one.permissions, at, 4);
	at += 5;
	if (proc_maps_parse_number(&at, end, 16, ' ', &one.offset) ||
	    proc_maps_parse_number(&at, end, 16, ':', &major) ||
	    proc_maps_parse_number(&at, end, 16, ' ', &minor) ||
	    proc_maps_parse_number(&at, end, 10, ' ', &one.inode))
		return -EINVAL;
	one.device_major = (uint32_t)major;
	one.device_minor = (uint32_t)minor;
	while (at < end && *at == ' ')
		at++;
	one.path = unescape_path(at, end);
	if (!one.path)
		return -ENOMEM;
	*out = one;
	return 0;
}

int proc_maps_parse(const char *text, size_t bytes, int (*each)(void *arg, struct proc_map *map),
		    void *arg)
{
	const char *end = text + bytes, *stop;
	int rc = 0;

	for (; text < end && rc == 0; text = stop < end ? stop + 1 : end) {
		struct proc_map map;

		stop = memchr(text, '\n', (size_t)(end - text));
		stop = stop ? stop : end;
		rc = proc_map_parse(text, (size_t)(stop - text), &map);
		if (rc == 0) {
			map.line = text;
			map.line_bytes = (size_t)(stop - text);
			rc = each(arg, &map);
			free(map.path);
		} else if (rc == -EINVAL) {
			rc = 0;
		}
	}
	return rc;
}

int proc_maps_each(pid_t pid, int (*each)(void *arg, struct proc_map *map), void *arg)
{
	size_t bytes = 0;
	char *text = proc_read_all_of(pid, "maps", &bytes);
	int rc = text ? proc_maps_parse(text, bytes, each, arg) : -errno;

	free(text);
	return rc;
}
