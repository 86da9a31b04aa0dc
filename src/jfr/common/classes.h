/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types that a chunk's metadata declares. A set lives as long as the reader, for users
 * keep pointers to classes; a chunk whose metadata equals the last one's uses that set.
 */
#ifndef WEFT_JFR_CLASSES_H
#define WEFT_JFR_CLASSES_H

#include "jfr/common/arena.h"
#include "jfr/common/input.h"

#include <weft/jfr.h>

#include <stddef.h>
#include <stdint.h>

enum class_shape {
	CLASS_STRUCT, /* fields in order */
	CLASS_SIMPLE, /* its only field, inline */
	CLASS_BOOLEAN,
	CLASS_BYTE,
	CLASS_CHAR,
	CLASS_SHORT,
	CLASS_INT,
	CLASS_LONG,
	CLASS_FLOAT,
	CLASS_DOUBLE,
	CLASS_STRING,
	CLASS_BROKEN, /* has a field of no declared type, or contains itself */
};

/* While the tree is read lists are newest first; linking makes arrays of them, in order. */
struct class_member {
	struct class_member *next;
	const char *name, *value;
};

struct class_note { /* an annotation being read */
	struct class_note *next;
	int64_t id; /* of its type */
	struct class_member *members;
	size_t member_count;
};

struct class_notes {
	struct class_note *newest;
	const struct weft_jfr_annotation_view *array; /* [count] once linked */
	size_t count;
};

struct class_setting {
	struct class_setting *next;
	const char *name, *default_value;
	int64_t type_id;
};

struct class_field {
	struct class_field *next; /* while the class is being read */
	const char *name;
	int64_t type_id;
	const struct weft_jfr_class *type;
	struct class_notes notes;
	uint8_t pooled, array;
};

struct weft_jfr_class {
	struct weft_jfr_class *next;
	int64_t id;
	const char *name, *super;
	enum class_shape shape;
	uint8_t simple, is_event, timed, lasts, visit;
	uint32_t index; /* in its set */
	size_t field_count;
	struct class_field *fields; /* [field_count] once linked */
	struct class_notes notes;
	struct class_setting *newest_setting;
	const struct weft_jfr_setting_view *settings; /* [setting_count] once linked */
	size_t setting_count;
};

struct class_set {
	struct class_set *older;
	struct arena memory;
	const uint8_t *bytes; /* a copy of string table and tree */
	size_t byte_count;
	size_t tree;                     /* where in them the tree begins */
	struct weft_jfr_string *strings; /* [string_count] with a NUL behind; no data: null */
	size_t string_count;
	uint8_t fixed;
	struct weft_jfr_class *first, *last;
	uint32_t count;
	int32_t gmt_offset_s; /* of its region, with summer time; 0 = not in the file */
	const struct weft_jfr_class **list; /* [count], in the file's order */
	struct weft_jfr_class **table;      /* by id; table_room is a power of two */
	size_t table_room;
	struct weft_jfr_class *string; /* java.lang.String, or NULL */
};

/* Reads string table and tree from @in. NULL with errno: EBADMSG, ENOMEM. */
struct class_set *classes_read(struct input in);
int classes_link(struct class_set *set);  /* class_link.c; 0: no memory */
void classes_free(struct class_set *set); /* and all older ones */

static inline struct weft_jfr_class *classes_find(const struct class_set *set, int64_t id)
{
	uint64_t i = (uint64_t)id * UINT64_C(0x9E3779B97F4A7C15);

	for (i >>= 32;; i++) {
		struct weft_jfr_class *c = set->table[i & (set->table_room - 1)];

		if (!c || c->id == id)
			return c;
	}
}

#endif
