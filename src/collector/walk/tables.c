/* SPDX-License-Identifier: Apache-2.0 */
/* The table memfd: see tables.h. */
#include "collector/walk/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define BYTES_MIN (UINT64_C(1) << 20)
#define PAGE UINT64_C(4096)

/* ftruncate() beyond RLIMIT_FSIZE fails, and kills whoever does not ignore SIGXFSZ. Of RLIMIT_AS
 * the tables take a quarter at most: the rest is for sessions, threads and the recording. */
static uint64_t tables_bytes_allowed(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur < bytes)
		bytes = limit.rlim_cur;
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur / 4 < bytes)
		bytes = limit.rlim_cur / 4;
	return bytes & ~(PAGE - 1);
}

static int map_sealed(struct tables *t, uint64_t bytes)
{
	if (ftruncate(t->fd, (off_t)bytes))
		return -errno;
	t->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, t->fd, 0);
	if (t->base == MAP_FAILED) {
		t->base = NULL;
		return -errno;
	}
	t->bytes = bytes;
	madvise(t->base, bytes, MADV_DONTDUMP);
	madvise(t->base, bytes, MADV_NOHUGEPAGE);
	if (fcntl(t->fd, F_ADD_SEALS,
		  F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
		return -errno;
	return 0;
}

int tables_open(struct tables *t, uint64_t bytes_max)
{
	uint64_t bytes = tables_bytes_allowed(bytes_max), magic = WEFT_TABLES_MAGIC;
	int rc = -ENOMEM;

	*t = (struct tables){.fd = memfd_create("weft-tables", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
	if (t->fd < 0)
		return -errno;
	for (; bytes >= BYTES_MIN; bytes = bytes / 2 & ~(PAGE - 1)) {
		rc = map_sealed(t, bytes);
		if (rc != -ENOMEM)
			break;
	}
	if (rc || !t->base) {
		tables_close(t);
		return rc ? rc : -ENOMEM;
	}
	memcpy(t->base, &magic, sizeof(magic));
	t->used = WEFT_TABLES_FIRST;
	return 0;
}

void tables_close(struct tables *t)
{
	if (t->base)
		munmap(t->base, t->bytes);
	if (t->fd >= 0)
		close(t->fd);
	*t = (struct tables){.fd = -1};
}

/* Reserves the memory: where there is none, that is an error here, and SIGBUS at the first store.
 */
static int has_memory(const struct tables *t, uint64_t bytes)
{
	return fallocate(t->fd, FALLOC_FL_KEEP_SIZE, (off_t)t->used, (off_t)bytes) == 0 ||
	       errno == EOPNOTSUPP;
}

uint64_t tables_add(struct tables *t, const struct unwind_table *table)
{
	uint64_t offset = t->used, end = offset + table->bytes + WEFT_TABLE_ALIGN - 1;

	if (t->bytes == 0 || t->bytes - offset < table->bytes || !has_memory(t, table->bytes))
		return WEFT_TABLE_PENDING;
	memcpy(t->base + offset, table, table->bytes);
	end -= end % WEFT_TABLE_ALIGN;
	t->used = end < t->bytes ? end : t->bytes;
	return offset;
}

const struct unwind_table *tables_at(const struct tables *t, uint64_t offset)
{
	return (const struct unwind_table *)(const void *)(t->base + offset);
}
