/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at what the reader gave: classes, fields by name, annotations, chunks. */
#include "jfr/read/reader.h"

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

static const struct class_notes *notes_of(const struct weft_jfr_class *c, const char *field)
{
	int i;

	if (!field)
		return &c->notes;
	i = weft_jfr_class_find(c, field);
	return i < 0 ? NULL : &c->fields[i].notes;
}

const char *annotation_value(const struct weft_jfr_annotation_view *a, size_t count,
			     const char *name)
{
	for (; count; count--, a++) {
		if (!a->name || strcmp(a->name, name) != 0)
			continue;
		for (size_t i = 0; i < a->count; i++)
			if (strcmp(a->member[i], "value") == 0)
				return a->value[i];
		return "";
	}
	return NULL;
}

const char *weft_jfr_class_annotation(const struct weft_jfr_class *c, const char *field,
				      const char *annotation)
{
	const struct class_notes *notes = notes_of(c, field);

	return notes ? annotation_value(notes->array, notes->count, annotation) : NULL;
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

/* ---------------------------------------------------------------- introspection */

const char *weft_jfr_class_super(const struct weft_jfr_class *c)
{
	return c->super ? c->super : "";
}

int weft_jfr_class_is_simple(const struct weft_jfr_class *c)
{
	return c->simple && c->field_count == 1;
}

int weft_jfr_class_field_view(const struct weft_jfr_class *c, size_t index,
			      struct weft_jfr_field_view *out)
{
	const struct class_field *f;

	if (index >= c->field_count)
		return -ENOENT;
	f = &c->fields[index];
	*out = (struct weft_jfr_field_view){
		.name = f->name,
		.type = f->type,
		.is_array = f->array,
		.is_pooled = f->pooled,
	};
	return 0;
}

size_t weft_jfr_class_annotations(const struct weft_jfr_class *c, size_t field,
				  const struct weft_jfr_annotation_view **out)
{
	const struct class_notes *notes = &c->notes;

	if (field != SIZE_MAX && field >= c->field_count) {
		*out = NULL;
		return 0;
	}
	if (field != SIZE_MAX)
		notes = &c->fields[field].notes;
	*out = notes->array;
	return notes->count;
}

size_t weft_jfr_class_settings(const struct weft_jfr_class *c,
			       const struct weft_jfr_setting_view **out)
{
	*out = c->settings;
	return c->setting_count;
}

size_t weft_jfr_classes(const struct weft_jfr_reader *r, const struct weft_jfr_class *const **out)
{
	*out = r->classes ? r->classes->list : NULL;
	return r->classes ? r->classes->count : 0;
}

int weft_jfr_chunk(const struct weft_jfr_reader *r, struct weft_jfr_chunk_view *out)
{
	if (!r->in_chunk)
		return -ENOENT;
	*out = r->chunk;
	out->number = r->chunk_count - 1;
	out->gmt_offset_s = r->classes->gmt_offset_s;
	return 0;
}
