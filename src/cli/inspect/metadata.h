/* SPDX-License-Identifier: Apache-2.0 */
/* What weft metadata found, for its two forms. */
#ifndef WEFT_CLI_METADATA_H
#define WEFT_CLI_METADATA_H

#include <weft/jfr.h>

#include <stddef.h>

/* Is a member of an annotation, by the declaration of the annotation's type, an array, a text? */
int metadata_is_array(const struct weft_jfr_annotation_view *a, const char *member);
int metadata_is_text(const struct weft_jfr_annotation_view *a, const char *member);

/* Declarations like Java's, in the shape of the JDK's `jfr metadata`. */
void metadata_text(const struct weft_jfr_class *const *classes, size_t count);
/* 0 or -ENOMEM. */
int metadata_json(const struct weft_jfr_class *const *classes, size_t count);

#endif
