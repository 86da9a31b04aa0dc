/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of one process, as its /proc/PID/maps tells them (proc(5)), or as
 * its own module log does where /proc cannot be read.
 *
 * maps_update() merges a new look into what is known: what overlaps is replaced, what has
 * gone is kept, for records that still wait were taken while it was there. The generation
 * moves on whenever an address changes its meaning; what is remembered of a pc is keyed by the
 * id of its mapping, which never comes again.
 * Items are sorted by start and never overlap. Used by the worker thread alone.
 */
#ifndef WEFT_COLLECTOR_MAPS_H
#define WEFT_COLLECTOR_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct elf_module;

struct mapping {
	uint32_t id; /* 1..: no other mapping of the process ever has it */
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint64_t inode;  /* 0 = no file */
	uint32_t device_major, device_minor;
	char *path;                /* owned; "" = anonymous */
	uint64_t bias;             /* valid when has_bias */
	uint8_t has_bias;          /* from the module log, or once the module was opened */
	uint8_t opened;            /* the module was looked for (module may still be NULL) */
	uint8_t executable;        /* by its permissions */
	struct elf_module *module; /* owned by the cache of modules */
};

struct maps {
	struct mapping *item;
	size_t count, room;
	uint32_t generation, last_id;
};

void maps_free(struct maps *m);

/* One line of /proc/PID/maps, without its newline. 0, or -EINVAL, or -ENOMEM; out->path is
 * the caller's. */
int maps_parse_line(const char *line, size_t bytes, struct mapping *out);

/* Merge a whole text. Returns the number of mappings that are new, or -errno. Malformed
 * lines are passed over. */
int maps_update(struct maps *m, const char *text, size_t bytes);

/* Merge one mapping; takes over its path. 1 new, 0 known already, -ENOMEM. */
int maps_add(struct maps *m, struct mapping *one);

/* The mapping that holds @pc; NULL. Valid until the next maps_update() or maps_add(). */
struct mapping *maps_find(const struct maps *m, uint64_t pc);

/* What people call the file: the last part of its path, "[vdso]", "" for none. Copied. */
void mapping_name(const struct mapping *one, char *out, size_t bytes);

#endif
