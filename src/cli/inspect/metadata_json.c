/* SPDX-License-Identifier: Apache-2.0 */
/* Types as one JSON object; members in the order of docs/metadata.md. */
#include "cli/inspect/metadata.h"

#include "report/show/json_value.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static json_t *metadata_json_type_name(const struct weft_jfr_class *c)
{
	return c ? json_text(weft_jfr_class_name(c)) : json_null();
}

static int member_is_array(const struct weft_jfr_annotation_view *a, const char *member)
{
	struct weft_jfr_field_view f;
	size_t count = 0;

	for (size_t i = 0; i < a->count; i++)
		count += strcmp(a->member[i], member) == 0;
	return count > 1 || (metadata_member(a, member, &f) == 0 && f.is_array);
}

static json_t *members(const struct weft_jfr_annotation_view *a)
{
	json_t *o = json_object();

	for (size_t i = 0; i < a->count; i++) {
		json_t *value = json_text(a->value[i]), *before = json_object_get(o, a->member[i]);

		if (member_is_array(a, a->member[i]) && !before) {
			before = json_array();
			json_object_set_new(o, a->member[i], before);
		}
		if (json_is_array(before))
			json_array_append_new(before, value);
		else
			json_object_set_new(o, a->member[i], value);
	}
	return o;
}

static json_t *annotations(const struct weft_jfr_class *c, size_t field)
{
	const struct weft_jfr_annotation_view *a;
	size_t count = weft_jfr_class_annotations(c, field, &a);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:o, s:o}", "name", json_text(a[i].name),
						      "members", members(&a[i])));
	return list;
}

static json_t *settings(const struct weft_jfr_class *c)
{
	const struct weft_jfr_setting_view *s;
	size_t count = weft_jfr_class_settings(c, &s);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:o}", "name", json_text(s[i].name),
						"type", metadata_json_type_name(s[i].type),
						"default", json_text(s[i].default_value)));
	return list;
}

static json_t *fields(const struct weft_jfr_class *c)
{
	json_t *list = json_array();
	struct weft_jfr_field_view f;

	for (size_t i = 0; weft_jfr_class_field_view(c, i, &f) == 0; i++)
		json_array_append_new(list, json_pack("{s:o, s:o, s:b, s:b, s:o}", "name",
						      json_text(f.name), "type",
						      metadata_json_type_name(f.type), "array",
						      f.is_array, "pooled", f.is_pooled,
						      "annotations", annotations(c, i)));
	return list;
}

int metadata_json(const struct weft_jfr_class *const *classes, size_t count)
{
	json_t *types = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct weft_jfr_class *c = classes[i];

		json_array_append_new(types,
				      json_pack("{s:o, s:I, s:o, s:b, s:o, s:o, s:o}", "name",
						json_text(weft_jfr_class_name(c)), "id",
						(json_int_t)weft_jfr_class_id(c), "super",
						json_text(weft_jfr_class_super(c)), "simple",
						weft_jfr_class_is_simple(c), "annotations",
						annotations(c, SIZE_MAX), "settings", settings(c),
						"fields", fields(c)));
	}
	return json_emit(json_pack("{s:o}", "types", types), stdout, JSON_INDENT(1));
}
