/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of one process, as its /proc/PID/maps tells them (proc(5)), or as
 * its own module log does where /proc cannot be read.
 *
 * Addresses are used again: after dlclose another module may lie there. Mappings that have gone
 * are kept with the numbers of the module map snapshots (abi/module_map.h) that had them, because
 * samples arrive after they were taken. The generation changes with every change of the list.
 * Items are sorted by start and never overlap. Used by the walker thread alone.
 */
#ifndef WEFT_COLLECTOR_MAPS_H
#define WEFT_COLLECTOR_MAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct module_file;
struct code;

struct mapping {
	uint32_t from;      /* number of the first snapshot in which it is */
	uint32_t until;     /* number of the first in which it is no more; 0 = it is there now */
	uint64_t missed_ns; /* maps.looked_ns when it was first missing */
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint64_t inode;  /* 0 = no file */
	uint32_t device_major, device_minor;
	char *path;               /* owned; "" = anonymous */
	uint64_t bias;            /* valid when has_bias */
	uint8_t has_bias;         /* from the module log, or once the module was opened */
	uint8_t opened;           /* the file was looked for */
	struct module_file *file; /* owned by the cache of modules; NULL: it cannot be had */
	const struct code *code;  /* of modules_code(); NULL: not asked yet, or none */
};

struct maps {
	struct mapping **item; /* as it is now */
	size_t count, room;
	struct mapping **past; /* in the order in which they went; a bounded number */
	size_t past_count, past_room;
	uint32_t generation;
	uint32_t number;    /* of the newest snapshot that was published; set by the publisher */
	uint64_t looked_ns; /* when the text was read; set before each maps_update() */
};

static inline int mapping_holds(const struct mapping *one, uint64_t pc)
{
	return one->start <= pc && pc < one->end;
}

/* May this be the file that is mapped? Layered file systems tell another device, and another inode,
 * in the mappings than to fstat(): then its path must do. */
int mapping_may_be(const struct mapping *one, const struct stat *st);

void maps_free(struct maps *m);

/* Takes a whole text of maps: a mapping that is not in it has gone. Returns the number of mappings
 * that are new, or -errno. Malformed lines are passed over. */
int maps_update(struct maps *m, const char *text, size_t bytes);

/* Adds one mapping; those that it overlaps have gone. Takes over its path. 1 new, 0 known already,
 * -ENOMEM. */
int maps_add(struct maps *m, const struct mapping *one);

/* The mapping that holds @pc, else the last one that did; NULL. Valid until the next
 * maps_update() or maps_add(). */
struct mapping *maps_find(const struct maps *m, uint64_t pc);

/* The mapping that holds @pc, else the last one that did and was not yet missing at @time_ns. */
struct mapping *maps_find_then(const struct maps *m, uint64_t pc, uint64_t time_ns);

/* The mapping that held @pc when snapshot @number was the newest. */
struct mapping *maps_find_at(const struct maps *m, uint64_t pc, uint32_t number);

/* The file's short name, copied: the last part of its path, "[vdso]", "" for none. */
void mapping_name(const struct mapping *one, char *out, size_t bytes);

#endif
