/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/PID/maps: see target_maps.h. */
#include "reader/target/target_maps.h"

#include "base/array.h"
#include "proc/proc_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int target_maps_parse_line(const char *at, const char *end, struct target_mapping *out)
{
	struct proc_map one;
	int rc = proc_map_parse(at, (size_t)(end - at), &one);

	if (rc)
		return rc;
	out->start = one.start;
	out->end = one.end;
	out->offset = one.offset;
	out->inode = one.inode;
	out->device = (uint64_t)one.device_major << 32 | one.device_minor;
	memcpy(out->permissions, one.permissions, sizeof(out->permissions));
	out->path = one.path;
	return 0;
}

static int add_mapping(struct target *t, const struct target_mapping *m)
{
	struct target_mapping *more = array_grown(t->mappings, t->mapping_count + 1,
						  &t->mapping_room, sizeof(*t->mappings));

	if (!more)
		return -ENOMEM;
	t->mappings = more;
	t->mappings[t->mapping_count++] = *m;
	return 0;
}

/* While the process maps and unmaps, a read of several pieces may show a range twice. */
static int comes_after(const struct target *t, const struct target_mapping *m)
{
	return !t->mapping_count || m->start >= t->mappings[t->mapping_count - 1].end;
}

int target_maps_parse(struct target *t, const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes;
	int rc = 0;

	while (at < end && rc == 0) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		struct target_mapping m = {0};

		rc = target_maps_parse_line(at, stop, &m);
		if (rc == 0)
			rc = comes_after(t, &m) ? add_mapping(t, &m) : -EINVAL;
		if (rc) {
			free(m.path);
			rc = rc == -EINVAL ? 0 : rc;
		}
		at = newline ? newline + 1 : end;
	}
	return rc;
}
