/* SPDX-License-Identifier: Apache-2.0 */
/* What the writers of recordings*.c have in common: values, types, clock. */
#ifndef TESTS_RECORDINGS_MAKE_H
#define TESTS_RECORDINGS_MAKE_H

#include "recordings.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <weft/jfr.h>

#define START_MONO UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline struct weft_jfr_value number(uint64_t n)
{
	return (struct weft_jfr_value){.number = (int64_t)n};
}

static inline struct weft_jfr_value text(const char *s)
{
	return (struct weft_jfr_value){.string = {s, s ? strlen(s) : 0}};
}

static inline struct weft_jfr_type *make_type(struct weft_jfr_writer *w, const char *name,
					      const struct weft_jfr_field *fields, size_t count,
					      unsigned int flags)
{
	static const char *const no_category[] = {NULL};

	return weft_jfr_type(w, &(struct weft_jfr_type_def){
					.name = name,
					.label = name,
					.category = no_category,
					.flags = flags,
					.fields = fields,
					.field_count = count,
				});
}

static inline struct weft_jfr_writer *make_writer(const char *path)
{
	return weft_jfr_create(&(struct weft_jfr_options){
		.size = sizeof(struct weft_jfr_options),
		.path = path,
		.start_mono_ns = START_MONO,
		.start_real_ns = RECORDINGS_START_NS,
	});
}

#endif
