/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file module_map.h
 * What the profiling handler walks stacks by: the process's modules, and their unwind tables.
 *
 * The table memfd. One for a collector, handed to every target with the session. Sparse,
 * WEFT_TABLES_BYTES or less, sealed GROW | SHRINK | FUTURE_WRITE | SEAL: only the mapping
 * that the collector made before can write it. Append-only: what lies below
 * header.tables_used never changes, so an offset that was ever published stays good for as
 * long as the memfd is mapped.
 *
 *   0       WEFT_TABLES_MAGIC, u64; the rest of the first page is 0
 *   4096..  struct unwind_table (src/unwind/rules.h), each at a multiple of 64, each checked
 *           whole by the collector before its offset is published
 *
 * Module map snapshots lie in [map_offset, map_offset + map_bytes) of the session; the
 * collector writes, handlers read:
 *
 *   struct weft_map_snapshot | struct weft_map_module[count], sorted, not overlapping
 *
 *   Collector: number = 0; fence(release); entries, count; number = N (release);
 *     header.map_number = N; header.map_current = offset (release). N grows with each snapshot
 *     of a session, and its lowest 12 bits are never all 0: those of a page's address are, which
 *     may stand in that place once it is used again. The area is used round and round: the place
 *     of a snapshot is written over only when all others in the area are newer.
 *   Handler: reads map_current (acquire; 0 = no map yet) and number (acquire; refused if its
 *     lowest 12 bits are 0), walks by the entries (relaxed loads), fence(acquire), reads number
 *     again. If it has changed, or header.modules_epoch is not the snapshot's epoch, the walk is
 *     thrown away.
 *
 * An entry that is overwritten during a walk mixes addresses and offsets that were all published
 * once: it can mislead that walk and nothing else, for every table offset is one word and good, and
 * every read of the stack is bounded by the stack. Either side may die anywhere: a handler goes on
 * with what was published last.
 */
#ifndef WEFT_ABI_MODULE_MAP_H
#define WEFT_ABI_MODULE_MAP_H

#include "session.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_TABLES_MAGIC UINT64_C(0x314C424154465457) /* "WTFTABL1" */
#define WEFT_TABLES_BYTES (UINT64_C(1) << 30)
#define WEFT_TABLES_FIRST 4096
#define WEFT_TABLE_ALIGN 64

/** Values of weft_map_module.table that are no offset. */
#define WEFT_TABLE_NONE 0    /* no unwind data (JIT code): frame pointers */
#define WEFT_TABLE_PENDING 1 /* not built yet: copy the stack */

/** One executable mapping. */
struct weft_map_module {
	uint64_t start, end; /* 0x00 mapped addresses */
	uint64_t bias;       /* 0x10 mapped address - address in the file */
	uint64_t table;      /* 0x18 offset in the table memfd, or WEFT_TABLE_* */
	/**
	 * What the loader must say of a pc in this mapping, if libc has _dl_find_object() to ask
	 * it. For an object with gaps between its segments it says where the segment begins.
	 */
	uint64_t object_start; /* 0x20 lowest mapped address of the object; 0 = not to be asked */
	uint64_t object_eh;    /* 0x28 address of its .eh_frame_hdr; 0 = none */
};

struct weft_map_snapshot {
	uint32_t number; /* 0x00 0 = being written */
	uint32_t count;  /* 0x04 <= WEFT_MAP_MODULES_MAX */
	/** header.modules_epoch before the collector looked at the mappings, its bits 0..31 as 0.
	 * While the header's differs, something was or is being unloaded: the map is stale. */
	uint64_t epoch; /* 0x08 */
};

#define WEFT_MAP_MODULES_MAX 16384
#define WEFT_MAP_NUMBER_BITS 0xFFFu /* never all 0 in a snapshot's number */

WEFT_ABI_ASSERT(sizeof(struct weft_map_module) == 48, "map module");
WEFT_ABI_OFFSET(weft_map_module, start, 0x00);
WEFT_ABI_OFFSET(weft_map_module, end, 0x08);
WEFT_ABI_OFFSET(weft_map_module, bias, 0x10);
WEFT_ABI_OFFSET(weft_map_module, table, 0x18);
WEFT_ABI_OFFSET(weft_map_module, object_start, 0x20);
WEFT_ABI_OFFSET(weft_map_module, object_eh, 0x28);
WEFT_ABI_ASSERT(sizeof(struct weft_map_snapshot) == 16, "map snapshot");
WEFT_ABI_OFFSET(weft_map_snapshot, number, 0x00);
WEFT_ABI_OFFSET(weft_map_snapshot, count, 0x04);
WEFT_ABI_OFFSET(weft_map_snapshot, epoch, 0x08);

#ifdef __cplusplus
}
#endif
#endif
