/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms in which weft metadata prints types. */
#ifndef WEFT_CLI_METADATA_H
#define WEFT_CLI_METADATA_H

#include <weft/jfr.h>

#include <errno.h>
#include <stddef.h>

/* How the type of an annotation declares a member. 0 or -errno. */
static inline int metadata_member(const struct weft_jfr_annotation_view *a, const char *member,
				  struct weft_jfr_field_view *f)
{
	int i = a->type ? weft_jfr_class_find(a->type, member) : -ENOENT;

	return i < 0 ? i : weft_jfr_class_field_view(a->type, (size_t)i, f);
}

/* Declarations like Java's, in the shape of the JDK's `jfr metadata`. */
void metadata_text(const struct weft_jfr_class *const *classes, size_t count);
/* 0 or -ENOMEM. */
int metadata_json(const struct weft_jfr_class *const *classes, size_t count);

#endif
