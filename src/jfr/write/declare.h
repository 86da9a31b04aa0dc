/* SPDX-License-Identifier: Apache-2.0 */
/* Event types that the user of the library declared, copied and numbered. */
#ifndef WEFT_JFR_DECLARE_H
#define WEFT_JFR_DECLARE_H

#include "base/buf.h"
#include "jfr/common/arena.h"

#include <weft/jfr.h>

#include <stdint.h>

#define MOST_EVENT_FIELDS 256

struct weft_jfr_type {
	struct weft_jfr_type *next;
	struct weft_jfr_type_def def; /* deep copy */
	int64_t id;
	uint8_t timed; /* field 0 is startTime in ticks */
	uint8_t lasts; /* field 1 is duration in ticks */
	uint8_t kinds[];
};

struct type_list {
	struct arena memory;
	struct weft_jfr_type *first, *last;
	int64_t next_id;
};

/* The type of @def, declared now if it is new (*fresh). NULL with errno: EINVAL, EEXIST, ENOMEM. */
struct weft_jfr_type *type_declare(struct type_list *list, const struct weft_jfr_type_def *def,
				   int *fresh);

/* Takes a type out of the list; its memory is freed with the list. */
void type_forget(struct type_list *list, const struct weft_jfr_type *type);

/*
 * metadata.c: string table and tree for the built-in types and @declared, without the event's
 * header. The same declarations give the same bytes. 0 or -ENOMEM.
 */
int metadata_build(struct buf *out, const struct type_list *declared, long gmt_offset_s);

#endif
