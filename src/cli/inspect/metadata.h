/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms in which weft metadata prints types. */
#ifndef WEFT_CLI_METADATA_H
#define WEFT_CLI_METADATA_H

#include <weft/jfr.h>

#include <stddef.h>

/* Does the type of an annotation declare this member as an array? As a text? */
int metadata_is_array(const struct weft_jfr_annotation_view *a, const char *member);
int metadata_is_text(const struct weft_jfr_annotation_view *a, const char *member);

/* Declarations like Java's, in the shape of the JDK's `jfr metadata`. */
void metadata_text(const struct weft_jfr_class *const *classes, size_t count);
/* 0 or -ENOMEM. */
int metadata_json(const struct weft_jfr_class *const *classes, size_t count);

#endif
