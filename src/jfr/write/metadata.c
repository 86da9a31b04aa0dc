/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the tree in an arena, then writes it once, numbering texts as they are met.
 */
#include "jfr/write/metadata.h"

#include "base/map.h"
#include "jfr/common/arena.h"
#include "jfr/common/encode.h"
#include "jfr/common/types.h"
#include "jfr/write/declare.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct attribute {
	struct attribute *next;
	const char *key, *value;
};

struct element {
	struct element *next, *first, *last; /* sibling, children */
	const char *name;
	struct attribute *attributes, *last_attribute;
	size_t attribute_count, child_count;
};

struct tree {
	struct arena memory;
	int failed;
};

static struct element *add_element(struct tree *t, struct element *parent, const char *name)
{
	struct element *e = arena_zalloc(&t->memory, sizeof(*e));

	if (!e) {
		t->failed = 1;
		return NULL;
	}
	e->name = name;
	if (!parent)
		return e;
	if (parent->last)
		parent->last->next = e;
	else
		parent->first = e;
	parent->last = e;
	parent->child_count++;
	return e;
}

static void add_attribute(struct tree *t, struct element *e, const char *key, const char *value)
{
	struct attribute *a = e ? arena_zalloc(&t->memory, sizeof(*a)) : NULL;

	if (!a) {
		t->failed = 1;
		return;
	}
	a->key = key;
	a->value = value;
	if (e->last_attribute)
		e->last_attribute->next = a;
	else
		e->attributes = a;
	e->last_attribute = a;
	e->attribute_count++;
}

static void metadata_add_number(struct tree *t, struct element *e, const char *key, int64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%lld", (long long)value);
	char *copy = arena_text(&t->memory, text, (size_t)n);

	if (copy)
		add_attribute(t, e, key, copy);
	else
		t->failed = 1;
}

static struct element *metadata_add_annotation(struct tree *t, struct element *on,
					       enum type_id type, const char *value)
{
	struct element *e = add_element(t, on, "annotation");

	metadata_add_number(t, e, "class", type);
	if (value)
		add_attribute(t, e, "value", value);
	return e;
}

static struct element *metadata_add_class(struct tree *t, struct element *in, const char *name,
					  int64_t id, const char *super_type)
{
	struct element *e = add_element(t, in, "class");

	add_attribute(t, e, "name", name);
	metadata_add_number(t, e, "id", id);
	if (super_type)
		add_attribute(t, e, "superType", super_type);
	return e;
}

static struct element *metadata_add_field(struct tree *t, struct element *in, const char *name,
					  enum type_id type, int pooled)
{
	struct element *e = add_element(t, in, "field");

	add_attribute(t, e, "name", name);
	metadata_add_number(t, e, "class", type);
	if (pooled)
		add_attribute(t, e, "constantPool", "true");
	return e;
}

static const char *super_type(unsigned int flags)
{
	if (flags & TYPE_ANNOTATION)
		return "java.lang.annotation.Annotation";
	return flags & TYPE_CONTROL ? "jdk.jfr.SettingControl" : NULL;
}

static void add_builtin(struct tree *t, struct element *in, const struct type_row *row)
{
	struct element *e = metadata_add_class(t, in, row->name, row->id, super_type(row->flags));

	if (row->flags & TYPE_SIMPLE)
		add_attribute(t, e, "simpleType", "true");
	for (const struct type_field *f = row->fields; f && f->name; f++) {
		struct element *field =
			metadata_add_field(t, e, f->name, f->type, (f->flags & FIELD_POOL) != 0);

		if (f->flags & FIELD_ARRAY)
			add_attribute(t, field, "dimension", "1");
	}
	if (row->flags & TYPE_IS_CONTENT)
		metadata_add_annotation(t, e, TYPE_CONTENT_TYPE, NULL);
}

static void add_event_field(struct tree *t, struct element *in, const struct weft_jfr_field *f)
{
	struct element *e =
		metadata_add_field(t, in, f->name, kind_type(f->kind), kind_is_pooled(f->kind));

	if (f->label)
		metadata_add_annotation(t, e, TYPE_LABEL, f->label);
	if (f->description)
		metadata_add_annotation(t, e, TYPE_DESCRIPTION, f->description);
	for (size_t i = 0; i < field_annotation_count; i++)
		if (f->flags & field_annotations[i].flag)
			metadata_add_annotation(t, e, field_annotations[i].annotation,
						field_annotations[i].value);
	if (f->flags & WEFT_JFR_KEY && f->label)
		metadata_add_annotation(t, e, TYPE_KEY, f->label);
}

static void add_category(struct tree *t, struct element *e, const char *const *category)
{
	struct element *a = metadata_add_annotation(t, e, TYPE_CATEGORY, NULL);

	for (int i = 0; category[i]; i++) {
		char key[32];
		int n = snprintf(key, sizeof(key), "value-%d", i);
		char *copy = arena_text(&t->memory, key, (size_t)n);

		if (copy)
			add_attribute(t, a, copy, category[i]);
		else
			t->failed = 1;
	}
}

static void metadata_add_setting(struct tree *t, struct element *in,
				 const struct weft_jfr_type_setting *setting)
{
	struct element *e = add_element(t, in, "setting");

	add_attribute(t, e, "name", setting->name);
	metadata_add_number(t, e, "class", setting_type(setting->name));
	if (setting->default_value)
		add_attribute(t, e, "defaultValue", setting->default_value);
}

static void add_event_type(struct tree *t, struct element *in, const struct weft_jfr_type *type)
{
	const struct weft_jfr_type_def *def = &type->def;
	struct element *e = metadata_add_class(t, in, def->name, type->id, "jdk.jfr.Event");

	for (size_t i = 0; i < def->setting_count; i++)
		metadata_add_setting(t, e, &def->settings[i]);
	for (size_t i = 0; i < def->field_count; i++)
		add_event_field(t, e, &def->fields[i]);
	if (def->label)
		metadata_add_annotation(t, e, TYPE_LABEL, def->label);
	if (def->description)
		metadata_add_annotation(t, e, TYPE_DESCRIPTION, def->description);
	if (def->category)
		add_category(t, e, def->category);
	if (def->flags & WEFT_JFR_TYPE_CONTEXTUAL)
		metadata_add_annotation(t, e, TYPE_CONTEXTUAL, NULL);
	if (def->flags & WEFT_JFR_TYPE_EXPERIMENTAL)
		metadata_add_annotation(t, e, TYPE_EXPERIMENTAL, NULL);
}

static struct element *plant(struct tree *t, const struct type_list *declared, long gmt_offset_s)
{
	struct element *root = add_element(t, NULL, "root");
	struct element *metadata = add_element(t, root, "metadata");
	struct element *region = add_element(t, root, "region");

	for (size_t i = 0; i < builtin_type_count; i++)
		add_builtin(t, metadata, &builtin_types[i]);
	for (const struct weft_jfr_type *type = declared->first; type; type = type->next)
		add_event_type(t, metadata, type);
	add_attribute(t, region, "locale", "en_US");
	metadata_add_number(t, region, "gmtOffset", gmt_offset_s * 1000);
	return root;
}

struct printer {
	struct map *numbers;
	struct buf strings, body;
	int failed;
};

static void metadata_put_text(struct printer *p, const char *text)
{
	int fresh;
	size_t bytes = strlen(text);
	uint64_t *number = map_put(p->numbers, text, bytes, &fresh);

	if (!number) {
		p->failed = 1;
		return;
	}
	if (fresh) {
		*number = map_count(p->numbers) - 1;
		buf_put_string(&p->strings, text, bytes);
	}
	buf_put_leb128(&p->body, *number);
}

static void put_element(struct printer *p, const struct element *e)
{
	metadata_put_text(p, e->name);
	buf_put_leb128(&p->body, e->attribute_count);
	for (const struct attribute *a = e->attributes; a; a = a->next) {
		metadata_put_text(p, a->key);
		metadata_put_text(p, a->value);
	}
	buf_put_leb128(&p->body, e->child_count);
	for (const struct element *c = e->first; c; c = c->next)
		put_element(p, c);
}

static int metadata_print(struct buf *out, const struct element *root)
{
	struct printer p = {.numbers = map_new()};
	int failed = !p.numbers;

	if (!failed) {
		put_element(&p, root);
		buf_put_leb128(out, map_count(p.numbers));
		buf_put(out, p.strings.data, p.strings.size);
		buf_put(out, p.body.data, p.body.size);
		failed = p.failed || p.strings.failed || p.body.failed || out->failed;
	}
	map_free(p.numbers);
	buf_free(&p.strings);
	buf_free(&p.body);
	return failed ? -ENOMEM : 0;
}

int metadata_build(struct buf *out, const struct type_list *declared, long gmt_offset_s)
{
	struct tree t = {0};
	struct element *root = plant(&t, declared, gmt_offset_s);
	int rc = t.failed ? -ENOMEM : metadata_print(out, root);

	arena_free(&t.memory);
	return rc;
}
