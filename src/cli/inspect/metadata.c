/* SPDX-License-Identifier: Apache-2.0 */
/* Members of annotations, as their types declare them. */
#include "cli/inspect/metadata.h"

#include <errno.h>
#include <string.h>

static int member_field(const struct weft_jfr_annotation_view *a, const char *member,
			struct weft_jfr_field_view *f)
{
	int i = a->type ? weft_jfr_class_find(a->type, member) : -ENOENT;

	return i < 0 ? i : weft_jfr_class_field_view(a->type, (size_t)i, f);
}

int metadata_is_array(const struct weft_jfr_annotation_view *a, const char *member)
{
	struct weft_jfr_field_view f;
	size_t count = 0;

	for (size_t i = 0; i < a->count; i++)
		count += strcmp(a->member[i], member) == 0;
	return count > 1 || (member_field(a, member, &f) == 0 && f.is_array);
}

int metadata_is_text(const struct weft_jfr_annotation_view *a, const char *member)
{
	struct weft_jfr_field_view f;

	return member_field(a, member, &f) != 0 || !f.type ||
	       strcmp(weft_jfr_class_name(f.type), "java.lang.String") == 0;
}
