/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, compares and copies the definitions of event types. */
#include "jfr/write/declare.h"

#include "jfr/common/types.h"

#include <errno.h>
#include <string.h>

static int field_is_sound(const struct weft_jfr_type_def *def, size_t i)
{
	const struct weft_jfr_field *f = &def->fields[i];

	if (!f->name || !f->name[0] || !kind_type(f->kind))
		return 0;
	for (size_t j = 0; j < i; j++)
		if (strcmp(def->fields[j].name, f->name) == 0)
			return 0;
	return 1;
}

static int def_is_sound(const struct weft_jfr_type_def *def)
{
	if (!def || !def->name || !def->name[0] || def->field_count > MOST_EVENT_FIELDS)
		return 0;
	if (def->field_count && !def->fields)
		return 0;
	if (def->setting_count && !def->settings)
		return 0;
	for (size_t i = 0; i < def->setting_count; i++)
		if (!def->settings[i].name || !def->settings[i].name[0])
			return 0;
	for (size_t i = 0; i < def->field_count; i++)
		if (!field_is_sound(def, i))
			return 0;
	return 1;
}

static int same_fields(const struct weft_jfr_type_def *a, const struct weft_jfr_type_def *b)
{
	if (a->field_count != b->field_count)
		return 0;
	for (size_t i = 0; i < a->field_count; i++)
		if (strcmp(a->fields[i].name, b->fields[i].name) != 0 ||
		    a->fields[i].kind != b->fields[i].kind ||
		    a->fields[i].flags != b->fields[i].flags)
			return 0;
	return 1;
}

/* Converters read the standard events by position: no other layout under their names. */
static int breaks_standard(const struct weft_jfr_type_def *def)
{
	for (size_t i = 0; i < standard_type_count; i++)
		if (strcmp(def->name, standard_types[i].name) == 0)
			return !same_fields(def, &standard_types[i]);
	return 0;
}

static const char *declare_copy_text(struct arena *a, const char *text, int *failed)
{
	char *copy;

	if (!text)
		return NULL;
	copy = arena_text(a, text, strlen(text));
	if (!copy)
		*failed = 1;
	return copy;
}

static const char *const *copy_category(struct arena *a, const char *const *category, int *failed)
{
	size_t n = 0;
	const char **copy;

	if (!category)
		return NULL;
	while (category[n])
		n++;
	copy = arena_zalloc(a, (n + 1) * sizeof(*copy));
	if (!copy)
		*failed = 1;
	for (size_t i = 0; copy && i < n; i++)
		copy[i] = declare_copy_text(a, category[i], failed);
	return copy;
}

static const struct weft_jfr_field *
declare_copy_fields(struct arena *a, const struct weft_jfr_type_def *def, int *failed)
{
	struct weft_jfr_field *copy = arena_zalloc(a, (def->field_count + 1) * sizeof(*copy));

	if (!copy)
		*failed = 1;
	for (size_t i = 0; copy && i < def->field_count; i++) {
		const struct weft_jfr_field *f = &def->fields[i];

		copy[i] = *f;
		copy[i].name = declare_copy_text(a, f->name, failed);
		copy[i].label = declare_copy_text(a, f->label, failed);
		copy[i].description = declare_copy_text(a, f->description, failed);
	}
	return copy;
}

static const struct weft_jfr_type_setting *
copy_settings(struct arena *a, const struct weft_jfr_type_def *def, int *failed)
{
	struct weft_jfr_type_setting *copy =
		arena_zalloc(a, (def->setting_count + 1) * sizeof(*copy));

	if (!copy)
		*failed = 1;
	for (size_t i = 0; copy && i < def->setting_count; i++) {
		copy[i].name = declare_copy_text(a, def->settings[i].name, failed);
		copy[i].default_value =
			declare_copy_text(a, def->settings[i].default_value, failed);
	}
	return copy;
}

static struct weft_jfr_type *copy_type(struct arena *a, const struct weft_jfr_type_def *def)
{
	struct weft_jfr_type *t = arena_zalloc(a, sizeof(*t) + def->field_count);
	int failed = 0;

	if (!t)
		return NULL;
	t->def = *def;
	t->def.name = declare_copy_text(a, def->name, &failed);
	t->def.label = declare_copy_text(a, def->label, &failed);
	t->def.description = declare_copy_text(a, def->description, &failed);
	t->def.category = copy_category(a, def->category, &failed);
	t->def.fields = declare_copy_fields(a, def, &failed);
	t->def.settings = copy_settings(a, def, &failed);
	for (size_t i = 0; i < def->field_count; i++)
		t->kinds[i] = (uint8_t)def->fields[i].kind;
	return failed ? NULL : t;
}

static int declare_is_ticks(const struct weft_jfr_type_def *def, size_t i, const char *name,
			    unsigned int flag)
{
	return i < def->field_count && def->fields[i].kind == WEFT_JFR_LONG &&
	       (def->fields[i].flags & flag) && strcmp(def->fields[i].name, name) == 0;
}

/* The type with these fields, else any of that name that is no twin of @def. */
static struct weft_jfr_type *declare_find(struct type_list *list,
					  const struct weft_jfr_type_def *def)
{
	struct weft_jfr_type *other = NULL;

	for (struct weft_jfr_type *t = list->first; t; t = t->next) {
		if (strcmp(t->def.name, def->name) != 0)
			continue;
		if (same_fields(&t->def, def))
			return t;
		if (!(t->def.flags & def->flags & WEFT_JFR_TYPE_TWIN))
			other = t;
	}
	return other;
}

static void declare_append(struct type_list *list, struct weft_jfr_type *t)
{
	if (list->last)
		list->last->next = t;
	else
		list->first = t;
	list->last = t;
	t->id = TYPE_FIRST_EVENT + list->next_id++;
	t->timed = (uint8_t)declare_is_ticks(&t->def, 0, "startTime", WEFT_JFR_TIMESTAMP);
	t->lasts = t->timed && declare_is_ticks(&t->def, 1, "duration", WEFT_JFR_TIMESPAN) ? 1 : 0;
}

struct weft_jfr_type *type_declare(struct type_list *list, const struct weft_jfr_type_def *def,
				   int *fresh)
{
	struct weft_jfr_type *t;

	*fresh = 0;
	if (!def_is_sound(def) || breaks_standard(def)) {
		errno = EINVAL;
		return NULL;
	}
	t = declare_find(list, def);
	if (t) {
		errno = EEXIST;
		return same_fields(&t->def, def) ? t : NULL;
	}
	t = copy_type(&list->memory, def);
	if (!t) {
		errno = ENOMEM;
		return NULL;
	}
	declare_append(list, t);
	*fresh = 1;
	return t;
}

void type_forget(struct type_list *list, const struct weft_jfr_type *type)
{
	struct weft_jfr_type **at = &list->first, *before = NULL;

	while (*at != type) {
		before = *at;
		at = &before->next;
	}
	*at = type->next;
	if (list->last == type)
		list->last = before;
}
