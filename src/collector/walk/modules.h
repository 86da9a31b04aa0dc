/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF files that any process of the recording has mapped, each opened once: keyed by
 * device, inode, size and change time. Used by the walker thread alone, for opening one may
 * take its time.
 */
#ifndef WEFT_COLLECTOR_MODULES_H
#define WEFT_COLLECTOR_MODULES_H

#include "collector/process/maps.h"
#include "collector/walk/table_cache.h"
#include "collector/walk/tables.h"

struct modules;

/* One file. Its two modules share nothing, for they are of two threads. */
struct module_file {
	struct elf_module *elf;           /* for unwinding: the walker's */
	struct elf_module *names;         /* for names and lines: the worker's; or NULL */
	const struct unwind_table *table; /* NULL: none, or not yet */
	struct unwind_table *own;         /* the same, when the memfd had no room for it */
	uint64_t offset;                  /* in the table memfd, or WEFT_TABLE_NONE, _PENDING */
	uint8_t has_looked;               /* for the table on disk */
	uint8_t has_tried;                /* to build it: if offset is PENDING, it stays so */
};

/* Both outlive it. */
struct modules *modules_new(struct tables *tables, struct table_cache *cache);
void modules_free(struct modules *m);

/* Files opened from now on may have their names from debuginfod servers. */
void modules_ask_servers(struct modules *m);

/*
 * modules_attach() - find the file behind a mapping, open it once, and set the mapping's
 * file and bias. @root_fd: the process's root directory (O_PATH), @proc_fd: its /proc directory;
 * -1 where there is none. Leaves the file NULL where it cannot be had.
 */
void modules_attach(struct modules *m, struct mapping *one, int root_fd, int proc_fd);

/*
 * modules_open_below() - open a file of a process: @path below its root, or in ours if @root_fd is
 * -1. @resolve: of openat2(2), besides RESOLVE_IN_ROOT; where the kernel has no openat2() and this
 * is not 0, the last part of the path may be no symbolic link. A descriptor, or -1 with errno.
 */
int modules_open_below(int root_fd, const char *path, int flags, uint64_t resolve);

/*
 * A file under the path by which processes map it: what a code address belongs to, for the
 * thread that names it. Never changes and lives as long as the modules.
 */
struct code {
	const char *path, *name; /* "/usr/lib/libc.so.6", "libc.so.6" */
	struct elf_module *elf;  /* module_file.names; NULL: cannot be had */
};

/* The code of a mapping, after modules_attach(); NULL: it has no path, or no memory. */
const struct code *modules_code(struct modules *m, struct mapping *one);

/*
 * modules_table() - put the file's unwind table into the memfd, once for each file whatever
 * processes map it: from the cache on disk, else built here and now, which may take its time,
 * but not with @quick. The offset, or WEFT_TABLE_NONE, WEFT_TABLE_PENDING.
 */
uint64_t modules_table(struct modules *m, struct module_file *file, int quick);

#endif
