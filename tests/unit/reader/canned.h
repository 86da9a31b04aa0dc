/* SPDX-License-Identifier: Apache-2.0 */
/* A process that is a few pieces of memory: what a reader sees is what the test says. */
#ifndef WEFT_TEST_CANNED_H
#define WEFT_TEST_CANNED_H

#include "reader/target/target.h"

#include <errno.h>
#include <string.h>

#define CANNED_PIECES 8

struct canned_piece {
	uint64_t address;
	const void *data;
	size_t bytes;
};

struct canned {
	struct canned_piece piece[CANNED_PIECES];
	int count;
	int reads; /* so far */
};

static inline void canned_put(struct canned *c, uint64_t address, const void *data, size_t bytes)
{
	c->piece[c->count++] = (struct canned_piece){address, data, bytes};
}

static inline ssize_t canned_readv(const struct target *t, const struct iovec *to,
				   const struct iovec *from, unsigned int count)
{
	struct canned *c = t->source_arg;
	uint64_t at = (uint64_t)(uintptr_t)from->iov_base;

	c->reads++;
	for (int i = 0; i < c->count && count == 1; i++) {
		const struct canned_piece *p = &c->piece[i];

		if (at < p->address || at - p->address > p->bytes ||
		    from->iov_len > p->bytes - (at - p->address))
			continue;
		memcpy(to->iov_base, (const char *)p->data + (at - p->address), from->iov_len);
		return (ssize_t)from->iov_len;
	}
	return -EFAULT;
}

static inline int canned_open_file(const struct target *t, const struct proc_map *m)
{
	(void)t, (void)m;
	return -ENOENT;
}

static inline int canned_open_program(const struct target *t)
{
	(void)t;
	return -ENOENT;
}

static const struct target_source canned_source = {canned_readv, canned_open_file,
						   canned_open_program};

#endif
