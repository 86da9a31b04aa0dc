/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/PID/maps: see target_maps.h. */
#include "reader/target/target_file.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_mapping(struct target *t, const struct proc_map *m)
{
	struct proc_map *more = array_grown(t->mappings, t->mapping_count + 1, &t->mapping_room,
					    sizeof(*t->mappings));

	if (!more)
		return -ENOMEM;
	t->mappings = more;
	t->mappings[t->mapping_count++] = *m;
	return 0;
}

/* While the process maps and unmaps, a read of several pieces may show a range twice. */
static int comes_after(const struct target *t, const struct proc_map *m)
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
		struct proc_map m = {0};

		rc = proc_map_parse(at, (size_t)(stop - at), &m);
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
