/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types as the JDK's tool prints them: names without their package, a simple type by the type of
 * its only field. The settings that a type declares, which that tool leaves out, are comments.
 */
#include "cli/inspect/metadata.h"

#include "report/show/layout.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define DEEPEST 32

static const char *last_word(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static const char *metadata_text_type_name(const struct weft_jfr_class *c)
{
	struct weft_jfr_field_view f = {.type = c};

	for (int i = 0; i < DEEPEST && f.type && weft_jfr_class_is_simple(f.type); i++) {
		c = f.type;
		if (weft_jfr_class_field_view(c, 0, &f) != 0)
			break;
	}
	return f.type ? last_word(weft_jfr_class_name(f.type)) : "?";
}

static void metadata_text_put(const char *text)
{
	layout_name(stdout, text, 0);
}

static void metadata_text_put_value(const struct weft_jfr_annotation_view *a, size_t i)
{
	struct weft_jfr_field_view f;
	int is_text = metadata_member(a, a->member[i], &f) || !f.type ||
		      strcmp(weft_jfr_class_name(f.type), "java.lang.String") == 0;
	const char *quote = is_text ? "\"" : "";

	fputs(quote, stdout);
	metadata_text_put(a->value[i]);
	fputs(quote, stdout);
}

/* Prints the values of one member; returns how many there are. */
static size_t put_member(const struct weft_jfr_annotation_view *a, size_t first, int is_only)
{
	size_t count = 1;

	while (first + count < a->count && strcmp(a->member[first + count], a->member[first]) == 0)
		count++;
	if (!is_only) {
		metadata_text_put(a->member[first]);
		fputs(" = ", stdout);
	}
	if (count > 1)
		putchar('{');
	for (size_t i = 0; i < count; i++) {
		if (i)
			fputs(", ", stdout);
		metadata_text_put_value(a, first + i);
	}
	if (count > 1)
		putchar('}');
	return count;
}

/* Is the only member an array? If it has no element, the file has no member. */
static int is_empty_array(const struct weft_jfr_annotation_view *a)
{
	struct weft_jfr_field_view f;

	return a->type && weft_jfr_class_field_view(a->type, 0, &f) == 0 && f.is_array;
}

static void metadata_text_put_annotation(const struct weft_jfr_annotation_view *a,
					 const char *indent)
{
	int is_only = 1;

	for (size_t i = 0; i < a->count; i++)
		is_only &= strcmp(a->member[i], "value") == 0;
	printf("%s@", indent);
	metadata_text_put(a->name ? last_word(a->name) : "?");
	if (a->count)
		putchar('(');
	else if (is_empty_array(a))
		fputs("({})", stdout);
	for (size_t i = 0; i < a->count;) {
		if (i)
			fputs(", ", stdout);
		i += put_member(a, i, is_only);
	}
	fputs(a->count ? ")\n" : "\n", stdout);
}

static void put_annotations(const struct weft_jfr_class *c, size_t field, const char *indent)
{
	const struct weft_jfr_annotation_view *a;
	size_t count = weft_jfr_class_annotations(c, field, &a);

	/* jdk.jfr.Name is printed already, before all others */
	for (size_t i = 0; i < count; i++)
		if (!a[i].name || strcmp(a[i].name, "jdk.jfr.Name") != 0)
			metadata_text_put_annotation(&a[i], indent);
}

static void put_settings(const struct weft_jfr_class *c)
{
	const struct weft_jfr_setting_view *s;
	size_t count = weft_jfr_class_settings(c, &s);

	for (size_t i = 0; i < count; i++) {
		fputs("  // setting ", stdout);
		metadata_text_put(s[i].name);
		if (s[i].default_value) {
			fputs(" = \"", stdout);
			metadata_text_put(s[i].default_value);
			putchar('"');
		}
		fputs(" (", stdout);
		metadata_text_put(s[i].type ? weft_jfr_class_name(s[i].type) : "?");
		fputs(")\n", stdout);
	}
}

static void put_field(const struct weft_jfr_class *c, size_t i)
{
	struct weft_jfr_field_view f;

	if (weft_jfr_class_field_view(c, i, &f) != 0)
		return;
	if (i)
		putchar('\n');
	put_annotations(c, i, "  ");
	fputs("  ", stdout);
	metadata_text_put(metadata_text_type_name(f.type));
	fputs(f.is_array ? "[] " : " ", stdout);
	metadata_text_put(f.name);
	fputs(";\n", stdout);
}

static void metadata_text_put_class(const struct weft_jfr_class *c)
{
	const char *name = weft_jfr_class_name(c), *super = weft_jfr_class_super(c);

	if (strchr(name, '.')) {
		fputs("@Name(\"", stdout);
		metadata_text_put(name);
		fputs("\")\n", stdout);
	}
	put_annotations(c, SIZE_MAX, "");
	fputs("class ", stdout);
	metadata_text_put(last_word(name));
	if (*super) {
		fputs(" extends ", stdout);
		metadata_text_put(super);
	}
	fputs(" {\n", stdout);
	put_settings(c);
	for (size_t i = 0; i < weft_jfr_class_fields(c); i++)
		put_field(c, i);
	fputs("}\n\n", stdout);
}

void metadata_text(const struct weft_jfr_class *const *classes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		metadata_text_put_class(classes[i]);
}
