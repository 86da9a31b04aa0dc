/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at what the reader gave: classes, fields by name, annotations. */
#include "jfr/classes.h"

#include <errno.h>
#include <string.h>

const char *weft_jfr_class_name(const struct weft_jfr_class *c)
{
	return c->name;
}

int64_t weft_jfr_class_id(const struct weft_jfr_class *c)
{
	return c->id;
}

size_t weft_jfr_class_fields(const struct weft_jfr_class *c)
{
	return c->field_count;
}

const char *weft_jfr_class_field(const struct weft_jfr_class *c, size_t index)
{
	return index < c->field_count ? c->fields[index].name : NULL;
}

int weft_jfr_class_find(const struct weft_jfr_class *c, const char *field)
{
	for (size_t i = 0; i < c->field_count; i++)
		if (strcmp(c->fields[i].name, field) == 0)
			return (int)i;
	return -ENOENT;
}

static const struct class_annotation *annotations_of(const struct weft_jfr_class *c,
						     const char *field)
{
	int i;

	if (!field)
		return c->annotations;
	i = weft_jfr_class_find(c, field);
	return i < 0 ? NULL : c->fields[i].annotations;
}

const char *weft_jfr_class_annotation(const struct weft_jfr_class *c, const char *field,
				      const char *annotation)
{
	for (const struct class_annotation *a = annotations_of(c, field); a; a = a->next)
		if (a->name && strcmp(a->name, annotation) == 0)
			return a->value ? a->value : "";
	return NULL;
}

int weft_jfr_class_annotated(const struct weft_jfr_class *c, const char *field,
			     const char *annotation)
{
	return weft_jfr_class_annotation(c, field, annotation) != NULL;
}

const struct weft_jfr_node *weft_jfr_get(const struct weft_jfr_node *n, const char *field)
{
	int i;

	if (!n || n->shape != WEFT_JFR_V_STRUCT || !n->type)
		return NULL;
	i = weft_jfr_class_find(n->type, field);
	return i >= 0 && (size_t)i < n->many.count ? &n->many.item[i] : NULL;
}

const struct weft_jfr_node *weft_jfr_event_get(const struct weft_jfr_event_view *e,
					       const char *field)
{
	int i = weft_jfr_class_find(e->type, field);

	return i >= 0 && (size_t)i < e->field_count ? &e->fields[i] : NULL;
}
