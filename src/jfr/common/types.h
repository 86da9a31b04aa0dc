/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types every recording of ours declares: primitives, structs of the constant pools,
 * annotations, and the layouts of the standard events. Numbers are the file's type ids;
 * they are the same in every chunk of every recording.
 */
#ifndef WEFT_JFR_TYPES_H
#define WEFT_JFR_TYPES_H

#include <weft/jfr.h>

#include <stddef.h>

enum type_id {
	TYPE_METADATA = 0,
	TYPE_CHECKPOINT = 1,
	TYPE_BOOLEAN = 4,
	TYPE_CHAR,
	TYPE_FLOAT,
	TYPE_DOUBLE,
	TYPE_BYTE,
	TYPE_SHORT,
	TYPE_INT,
	TYPE_LONG,
	TYPE_STRING = 20,
	TYPE_CLASS,
	TYPE_THREAD,
	TYPE_CLASS_LOADER,
	TYPE_FRAME_TYPE,
	TYPE_THREAD_STATE,
	TYPE_STACK_TRACE,
	TYPE_STACK_FRAME,
	TYPE_METHOD,
	TYPE_PACKAGE,
	TYPE_SYMBOL,
	TYPE_THREAD_GROUP,
	TYPE_LABEL = 40,
	TYPE_DESCRIPTION,
	TYPE_CATEGORY,
	TYPE_CONTENT_TYPE,
	TYPE_TIMESTAMP,
	TYPE_TIMESPAN,
	TYPE_UNSIGNED,
	TYPE_DATA_AMOUNT,
	TYPE_MEMORY_ADDRESS,
	TYPE_PERCENTAGE,
	TYPE_CONTEXTUAL,
	TYPE_EXPERIMENTAL,
	TYPE_KEY,
	TYPE_FREQUENCY,
	TYPE_SETTING_ENABLED = 60,
	TYPE_SETTING_THRESHOLD,
	TYPE_SETTING_THROTTLE,
	TYPE_SETTING_STACK_TRACE,
	TYPE_SETTING_PERIOD,
	TYPE_SETTING_SELECT,
	TYPE_SETTING_OTHER,
	TYPE_FIRST_EVENT = 100,
};

enum type_flag {
	TYPE_SIMPLE = 1 << 0,     /* a value is its only field, inline */
	TYPE_ANNOTATION = 1 << 1, /* superType */
	TYPE_IS_CONTENT = 1 << 2, /* an annotation that says what a number means */
	TYPE_CONTROL = 1 << 3,    /* superType: the kind of a setting */
};

enum type_field_flag {
	FIELD_POOL = 1 << 0,
	FIELD_ARRAY = 1 << 1,
};

struct type_field {
	const char *name;
	enum type_id type;
	unsigned int flags; /* enum type_field_flag */
};

struct type_row {
	enum type_id id;
	const char *name;
	unsigned int flags;              /* enum type_flag */
	const struct type_field *fields; /* ends with one without a name; NULL = none */
};

extern const struct type_row builtin_types[];
extern const size_t builtin_type_count;

/* The annotation that a field flag of the public interface becomes in the file. */
struct field_annotation {
	unsigned int flag; /* enum weft_jfr_field_flag */
	enum type_id annotation;
	const char *value; /* NULL: has no member */
};

extern const struct field_annotation field_annotations[];
extern const size_t field_annotation_count;

/* The type of the setting of this name. */
enum type_id setting_type(const char *name);

/* Constant pools whose entries never change: key = index. */
extern const char *const frame_type_names[6];
extern const char *const thread_state_names[6]; /* [0] is not written: 0 = no state */

enum type_id kind_type(enum weft_jfr_kind kind); /* 0: no such kind */
int kind_is_pooled(enum weft_jfr_kind kind);

/* Layouts that tools read by position, by enum weft_jfr_standard. */
extern const struct weft_jfr_type_def standard_types[];
extern const size_t standard_type_count;

#endif
