/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as /proc/PID/maps. Mappings come out in order, none overlaps
 * another, each is found by its addresses and by no other.
 */
#include "reader/target/target.h"

#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ssize_t read_nothing(const struct target *t, const struct iovec *to,
			    const struct iovec *from, unsigned int count)
{
	(void)t, (void)to, (void)from, (void)count;
	return -EFAULT;
}

static int open_nothing(const struct target *t, const struct proc_map *m)
{
	(void)t, (void)m;
	return -ENOENT;
}

static int open_no_program(const struct target *t)
{
	(void)t;
	return -ENOENT;
}

static const struct target_source nowhere = {read_nothing, open_nothing, open_no_program};

static void look_at(const struct target *t, size_t i)
{
	const struct proc_map *m = &t->mappings[i];
	const struct proc_map *before = i ? m - 1 : NULL;

	if (m->start >= m->end || (before && before->end > m->start))
		abort();
	if (m->permissions[4] || !m->path)
		abort();
	if (target_mapping_at(t, m->start) != m || target_mapping_at(t, m->end - 1) != m ||
	    target_mapping_at(t, m->end) == m)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target *t;
	uint64_t word;

	if (target_from_text(&t, (const char *)data, size, &nowhere, NULL))
		return 0;
	for (size_t i = 0; i < t->mapping_count; i++)
		look_at(t, i);
	if (t->mapping_count && !target_read_u64(t, t->mappings[0].start, &word))
		abort();
	target_close(t);
	return 0;
}
