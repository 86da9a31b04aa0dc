/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables on disk, by build-id: building one takes a hundred times as long as reading it.
 *
 * A file of the directory `unwind` in the place of caches (base/cache_place.h), which is used
 * only if it is ours and nobody else's:
 *
 *   BUILDID-FINGERPRINT, in hex digits: struct table_file | struct unwind_table
 *
 * Written whole under another name, then renamed; believed only if header, checksum and
 * unwind_table_check() agree, else removed and made again. Any number of collectors may use
 * the directory at a time. Whatever fails, the worst is that tables are built again.
 * The whole is kept below a limit: what was used longest ago goes first.
 */
#ifndef WEFT_COLLECTOR_TABLE_CACHE_H
#define WEFT_COLLECTOR_TABLE_CACHE_H

#include "elf/module.h"

#include <stdint.h>

#define TABLE_CACHE_DIRECTORY "unwind"
#define TABLE_CACHE_BYTES (UINT64_C(256) << 20)
#define TABLE_FILE_MAGIC UINT64_C(0x3130454C49465457) /* "WTFILE01" */
#define TABLE_BUILD_ID_MAX 64

struct table_file {
	uint64_t magic;
	uint32_t builder; /* elf_table_builder(): what another one made is made again */
	uint32_t machine;
	uint64_t fingerprint; /* elf_module_fingerprint() */
	uint64_t table_bytes;
	uint64_t checksum; /* of this header with 0 here, then of the table */
	uint64_t build_id_bytes;
	uint8_t build_id[TABLE_BUILD_ID_MAX];
};
_Static_assert(sizeof(struct table_file) == 112, "table file");

struct table_cache {
	int fd;             /* of the directory; -1: none is used */
	uint64_t bytes_max; /* of all files together */
	uint64_t written;   /* since the directory was last looked through */
};

/* The directory; with @make, made if it is not there. 0, or -errno: then nothing is kept or
 * found. */
int table_cache_open(struct table_cache *c, int make);
void table_cache_close(struct table_cache *c);

/* The table of @m, the caller's own (free()); NULL when there is none that can be believed. */
struct unwind_table *table_cache_load(struct table_cache *c, struct elf_module *m);

/* Keep the table of @m. 0, or -errno, which need not trouble anybody. */
int table_cache_save(struct table_cache *c, struct elf_module *m, const struct unwind_table *table);

struct table_cache_size {
	uint64_t files, bytes;
};
/* What is in it now. */
struct table_cache_size table_cache_size(const struct table_cache *c);

#endif
