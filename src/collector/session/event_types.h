/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event types as a program defines them (abi/events.h), their settings, and what an event of one
 * must look like. The program may be anybody: of a definition and of an event each number, place
 * and length is checked; what does not hold is refused as a whole.
 *
 * No memory of the program's is kept: a definition is a private copy.
 */
#ifndef WEFT_COLLECTOR_EVENT_TYPES_H
#define WEFT_COLLECTOR_EVENT_TYPES_H

#include "base/event_settings.h"

#include <stddef.h>
#include <weft/abi/events.h>

#define EVENT_NAME_MAX 255

struct event_field {
	const char *name, *label, *description; /* "" = none */
	enum weft_event_kind kind;
	uint32_t content; /* enum weft_event_content */
};

struct event_type {
	uint32_t number;
	uint32_t flags;                                    /* enum weft_event_type_flag */
	const char *name, *label, *description, *category; /* "" = none */
	const char *threshold, *throttle, *select;         /* likewise */
	size_t field_count;
	size_t data_bytes;
	uint8_t *data; /* of the definition, as it was given to event_type_new() */
	struct event_field field[];
};

/* From the data of a WEFT_LOG_EVENT_TYPE record. 0; -EBADMSG: refused; -ENOMEM. */
int event_type_new(struct event_type **out, uint32_t number, const uint8_t *data, size_t bytes);
void event_type_free(struct event_type *t); /* takes NULL */

/* Do both mean the same: name, flags, and fields with their kinds and contents? */
int event_type_equals(const struct event_type *a, const struct event_type *b);

/* The type's own settings; and, with the lines of @text (may be NULL) for it over them, those that
 * apply. *wrong_select: a value, or a combination, that is none: it acts as all. */
struct event_settings event_type_defaults(const struct event_type *t);
struct event_settings event_type_settle(const struct event_type *t, const char *text, size_t bytes,
					int *wrong_select);

/* Is the event whole: values, then a context and a stack if it has them, and nothing else? @record
 * is a private copy of record.bytes bytes, 8-aligned. The bytes of the values, padded; -EBADMSG. */
int64_t event_values_bytes(const struct event_type *t, const struct weft_event_record *record);

/* One value of an event that was found sound. */
struct event_value {
	int64_t number;
	double real;
	const char *text; /* an inline string: not terminated; NULL = null */
	size_t text_bytes;
};
/* Takes the next value off @at, which moves on. */
struct event_value event_value_next(enum weft_event_kind kind, const uint8_t **at);

#define CAPTURED_REGISTERS_MAX 33

/* A stack as it was captured, with a sample or an event: how many bytes of registers and copy, or
 * of frames, stand behind its head; @kind is enum weft_sample_stack. -EBADMSG: no such stack. */
int64_t captured_bytes(uint8_t kind, uint64_t registers, uint64_t copy_bytes, uint64_t frames);

#endif
