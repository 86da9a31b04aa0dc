/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata event: a tree of elements with attributes, all of whose texts are indices into one
 * string table that precedes the tree.
 *
 *	root > metadata > class*  > setting*, field*, annotation*
 *	     > region
 *
 * Written in one pass: an element says how many children follow, so they are counted before. Texts
 * are numbered in the order in which they are met.
 */
#include "base/map.h"
#include "jfr/common/encode.h"
#include "jfr/common/types.h"
#include "jfr/write/declare.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct metadata {
	struct map *numbers; /* text -> its number */
	struct buf strings, tree;
	int failed;
};

struct attribute {
	const char *key, *value; /* no value: it is left out */
};

#define NUMBER_ROOM 24

static const char *metadata_number(char room[NUMBER_ROOM], int64_t number)
{
	snprintf(room, NUMBER_ROOM, "%lld", (long long)number);
	return room;
}

static void metadata_put_text(struct metadata *m, const char *text)
{
	int fresh;
	size_t bytes = strlen(text);
	uint64_t *number = map_put(m->numbers, text, bytes, &fresh);

	if (!number) {
		m->failed = 1;
		return;
	}
	if (fresh) {
		*number = map_count(m->numbers) - 1;
		buf_put_string(&m->strings, text, bytes);
	}
	buf_put_leb128(&m->tree, *number);
}

static void put_element(struct metadata *m, const char *name, const struct attribute *a,
			size_t count, size_t children)
{
	size_t given = 0;

	for (size_t i = 0; i < count; i++)
		given += a[i].value != NULL;
	metadata_put_text(m, name);
	buf_put_leb128(&m->tree, given);
	for (size_t i = 0; i < count; i++) {
		if (!a[i].value)
			continue;
		metadata_put_text(m, a[i].key);
		metadata_put_text(m, a[i].value);
	}
	buf_put_leb128(&m->tree, children);
}

static void put_annotation(struct metadata *m, enum type_id type, const char *value)
{
	char id[NUMBER_ROOM];
	const struct attribute a[] = {{"class", metadata_number(id, type)}, {"value", value}};

	put_element(m, "annotation", a, 2, 0);
}

static void metadata_put_class(struct metadata *m, const char *name, int64_t id, const char *super,
			       int simple, size_t children)
{
	char number[NUMBER_ROOM];
	const struct attribute a[] = {{"name", name},
				      {"id", metadata_number(number, id)},
				      {"superType", super},
				      {"simpleType", simple ? "true" : NULL}};

	put_element(m, "class", a, 4, children);
}

static void metadata_put_field(struct metadata *m, const char *name, enum type_id type,
			       unsigned int flags, size_t children)
{
	char id[NUMBER_ROOM];
	const struct attribute a[] = {{"name", name},
				      {"class", metadata_number(id, type)},
				      {"constantPool", flags & FIELD_POOL ? "true" : NULL},
				      {"dimension", flags & FIELD_ARRAY ? "1" : NULL}};

	put_element(m, "field", a, 4, children);
}

static void put_builtin(struct metadata *m, const struct type_row *row)
{
	const char *super = row->flags & TYPE_CONTROL ? "jdk.jfr.SettingControl" : NULL;
	size_t count = 0;

	if (row->flags & TYPE_ANNOTATION)
		super = "java.lang.annotation.Annotation";
	while (row->fields && row->fields[count].name)
		count++;
	metadata_put_class(m, row->name, row->id, super, row->flags & TYPE_SIMPLE,
			   count + !!(row->flags & TYPE_IS_CONTENT));
	for (size_t i = 0; i < count; i++)
		metadata_put_field(m, row->fields[i].name, row->fields[i].type,
				   row->fields[i].flags, 0);
	if (row->flags & TYPE_IS_CONTENT)
		put_annotation(m, TYPE_CONTENT_TYPE, NULL);
}

static void put_event_field(struct metadata *m, const struct weft_jfr_field *f)
{
	int is_key = f->flags & WEFT_JFR_KEY && f->label;
	size_t children = (size_t) !!f->label + !!f->description + (size_t)is_key;

	for (size_t i = 0; i < field_annotation_count; i++)
		children += (f->flags & field_annotations[i].flag) != 0;
	metadata_put_field(m, f->name, kind_type(f->kind), kind_is_pooled(f->kind) ? FIELD_POOL : 0,
			   children);
	if (f->label)
		put_annotation(m, TYPE_LABEL, f->label);
	if (f->description)
		put_annotation(m, TYPE_DESCRIPTION, f->description);
	for (size_t i = 0; i < field_annotation_count; i++)
		if (f->flags & field_annotations[i].flag)
			put_annotation(m, field_annotations[i].annotation,
				       field_annotations[i].value);
	if (is_key)
		put_annotation(m, TYPE_KEY, f->label);
}

static void put_category(struct metadata *m, const char *const *category)
{
	char text[32];
	size_t count = 0;

	while (category[count])
		count++;
	metadata_put_text(m, "annotation");
	buf_put_leb128(&m->tree, 1 + count);
	metadata_put_text(m, "class");
	metadata_put_text(m, metadata_number(text, TYPE_CATEGORY));
	for (size_t i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "value-%zu", i);
		metadata_put_text(m, text);
		metadata_put_text(m, category[i]);
	}
	buf_put_leb128(&m->tree, 0); /* children */
}

static void metadata_put_setting(struct metadata *m, const struct weft_jfr_type_setting *s)
{
	char id[NUMBER_ROOM];
	const struct attribute a[] = {{"name", s->name},
				      {"class", metadata_number(id, setting_type(s->name))},
				      {"defaultValue", s->default_value}};

	put_element(m, "setting", a, 3, 0);
}

static void put_event_type(struct metadata *m, const struct weft_jfr_type *type)
{
	const struct weft_jfr_type_def *def = &type->def;

	metadata_put_class(m, def->name, type->id, "jdk.jfr.Event", 0,
			   def->setting_count + def->field_count + !!def->label +
				   !!def->description + !!def->category +
				   !!(def->flags & WEFT_JFR_TYPE_CONTEXTUAL) +
				   !!(def->flags & WEFT_JFR_TYPE_EXPERIMENTAL));
	for (size_t i = 0; i < def->setting_count; i++)
		metadata_put_setting(m, &def->settings[i]);
	for (size_t i = 0; i < def->field_count; i++)
		put_event_field(m, &def->fields[i]);
	if (def->label)
		put_annotation(m, TYPE_LABEL, def->label);
	if (def->description)
		put_annotation(m, TYPE_DESCRIPTION, def->description);
	if (def->category)
		put_category(m, def->category);
	if (def->flags & WEFT_JFR_TYPE_CONTEXTUAL)
		put_annotation(m, TYPE_CONTEXTUAL, NULL);
	if (def->flags & WEFT_JFR_TYPE_EXPERIMENTAL)
		put_annotation(m, TYPE_EXPERIMENTAL, NULL);
}

static void put_root(struct metadata *m, const struct type_list *declared, long gmt_offset_s)
{
	char offset[NUMBER_ROOM];
	const struct attribute region[] = {
		{"locale", "en_US"}, {"gmtOffset", metadata_number(offset, gmt_offset_s * 1000)}};
	size_t count = builtin_type_count;

	for (const struct weft_jfr_type *type = declared->first; type; type = type->next)
		count++;
	put_element(m, "root", NULL, 0, 2);
	put_element(m, "metadata", NULL, 0, count);
	for (size_t i = 0; i < builtin_type_count; i++)
		put_builtin(m, &builtin_types[i]);
	for (const struct weft_jfr_type *type = declared->first; type; type = type->next)
		put_event_type(m, type);
	put_element(m, "region", region, 2, 0);
}

int metadata_build(struct buf *out, const struct type_list *declared, long gmt_offset_s)
{
	struct metadata m = {.numbers = map_new()};
	int failed = !m.numbers;

	if (!failed) {
		put_root(&m, declared, gmt_offset_s);
		buf_put_leb128(out, map_count(m.numbers));
		buf_put(out, m.strings.data, m.strings.size);
		buf_put(out, m.tree.data, m.tree.size);
		failed = m.failed || m.strings.failed || m.tree.failed || out->failed;
	}
	map_free(m.numbers);
	buf_free(&m.strings);
	buf_free(&m.tree);
	return failed ? -ENOMEM : 0;
}
