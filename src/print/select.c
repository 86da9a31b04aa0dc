/* SPDX-License-Identifier: Apache-2.0 */
/* Globs are those of settings (base/event_settings.h); categories are annotations of types. */
#include "print/select.h"

#include "base/event_settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ACRONYM_MAX 32

void select_free(struct print_select *s)
{
	for (size_t i = 0; i < s->count; i++)
		free((void *)(uintptr_t)s->globs[i].text);
	free(s->globs);
	*s = (struct print_select){0};
}

int select_add(struct print_select *s, const char *text, int is_category)
{
	struct select_glob *globs = realloc(s->globs, (s->count + 1) * sizeof(*globs));
	size_t bytes;

	if (!globs)
		return -ENOMEM;
	s->globs = globs;
	while (isspace((unsigned char)*text))
		text++;
	bytes = strlen(text);
	while (bytes && isspace((unsigned char)text[bytes - 1]))
		bytes--;
	globs[s->count] = (struct select_glob){strndup(text, bytes), is_category, 0};
	if (!globs[s->count].text)
		return -ENOMEM;
	s->count++;
	return 0;
}

static void acronym_of(const char *words, char out[ACRONYM_MAX])
{
	size_t n = 0;

	for (const char *at = words; *at && n < ACRONYM_MAX - 1; at++)
		if (*at != ' ' && (at == words || at[-1] == ' '))
			out[n++] = *at;
	out[n] = 0;
}

static int category_matches(const char *glob, const char *category)
{
	char acronym[ACRONYM_MAX];

	if (weft_setting_glob_whole(glob, strlen(glob), category))
		return 1;
	if (!strchr(category, ' '))
		return 0;
	acronym_of(category, acronym);
	return strcmp(glob, acronym) == 0;
}

static int categories_match(const char *glob, const struct weft_jfr_class *type)
{
	const struct weft_jfr_annotation_view *a;
	size_t count = weft_jfr_class_annotations(type, SIZE_MAX, &a);

	for (size_t i = 0; i < count; i++) {
		if (!a[i].name || strcmp(a[i].name, "jdk.jfr.Category") != 0)
			continue;
		for (size_t k = 0; k < a[i].count; k++)
			if (category_matches(glob, a[i].value[k]))
				return 1;
		return 0;
	}
	return category_matches(glob, "Uncategorized");
}

int select_matches(struct print_select *s, const struct weft_jfr_class *type)
{
	int found = !s->count;

	for (size_t i = 0; i < s->count; i++) {
		struct select_glob *g = &s->globs[i];
		int hit = g->is_category ? categories_match(g->text, type)
					 : weft_setting_glob(g->text, strlen(g->text),
							     weft_jfr_class_name(type));

		g->hits += hit;
		found |= hit;
	}
	return found;
}
