/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that lies: its maps, its files and its memory are the fuzzer's input. Memory is there
 * only where a mapping is, and begins there at its inode times 64; elsewhere a reader gets nothing.
 * The input:
 *
 *   u8 which of the files its paths lead to; u16 bytes of maps; the maps; memory, again and again
 *
 * Each read is counted: a reader that does not end is found out here, not by a clock.
 */
#ifndef FUZZ_LIAR_H
#define FUZZ_LIAR_H

#include "reader/target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table_recipe.h"

#define LIAR_READS_MAX 200000
#define LIAR_BYTES_MAX (256u << 20)

struct liar {
	const uint8_t *memory;
	size_t bytes;
	unsigned int choice;
	uint64_t reads, read_bytes;
};

/* A file of the target's own, as LIAR_FILES names them: "one:two:three". */
static inline int liar_file(const struct liar *l)
{
	static char paths[4096];
	static const char *all[16];
	static unsigned int count;
	const char *list = getenv("LIAR_FILES");

	if (!count && list) {
		strncpy(paths, list, sizeof(paths) - 1);
		for (char *rest = paths, *one; (one = strsep(&rest, ":")) && count < 16;)
			all[count++] = one;
	}
	return count ? open(all[l->choice % count], O_RDONLY | O_CLOEXEC) : -ENOENT;
}

static inline size_t liar_read_one(const struct target *t, const struct iovec *to,
				   const struct iovec *from)
{
	struct liar *l = t->source_arg;
	uint64_t at = (uint64_t)(uintptr_t)from->iov_base;
	size_t done = 0;

	while (done < to->iov_len) {
		const struct proc_map *m = target_mapping_at(t, at + done);

		if (!m || m->permissions[0] != 'r' || !l->bytes)
			break;
		((uint8_t *)to->iov_base)[done] =
			l->memory[(m->inode * 64 + at + done - m->start) % l->bytes];
		done++;
	}
	l->read_bytes += done;
	return done;
}

static inline ssize_t liar_readv(const struct target *t, const struct iovec *to,
				 const struct iovec *from, unsigned int count)
{
	struct liar *l = t->source_arg;
	size_t total = 0;

	if (++l->reads > LIAR_READS_MAX || l->read_bytes > LIAR_BYTES_MAX)
		abort();
	for (unsigned int i = 0; i < count; i++) {
		size_t n;

		if (to[i].iov_len != from[i].iov_len)
			abort();
		n = liar_read_one(t, &to[i], &from[i]);
		total += n;
		if (n < to[i].iov_len)
			break;
	}
	return total ? (ssize_t)total : -EFAULT;
}

static inline int liar_open_file(const struct target *t, const struct proc_map *m)
{
	(void)m;
	return liar_file(t->source_arg);
}

static inline int liar_open_program(const struct target *t)
{
	return liar_file(t->source_arg);
}

static const struct target_source liar_source = {liar_readv, liar_open_file, liar_open_program};

/* NULL: the input says nothing. */
static inline struct target *liar_new(struct liar *l, const uint8_t *data, size_t size)
{
	struct recipe in = {data, data + size};
	struct target *t = NULL;
	size_t maps;

	memset(l, 0, sizeof(*l));
	l->choice = (unsigned int)recipe_take(&in, 1);
	maps = (size_t)recipe_take(&in, 2);
	if (maps > (size_t)(in.end - in.at))
		return NULL;
	l->memory = in.at + maps;
	l->bytes = (size_t)(in.end - l->memory);
	return target_from_text(&t, (const char *)in.at, maps, &liar_source, l) ? NULL : t;
}

#endif
