/* SPDX-License-Identifier: Apache-2.0 */
/* See diff_settings.h. */
#include "report/diff/diff_settings.h"

#include "base/array.h"
#include "base/map.h"
#include "report/read/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void settings_free(struct settings *s)
{
	names_free(&s->names);
	map_free(s->index);
	free(s->setting);
	memset(s, 0, sizeof(*s));
}

static int diff_settings_is_setting(const struct weft_jfr_class *c, void *arg)
{
	(void)arg;
	return strcmp(weft_jfr_class_name(c), "jdk.ActiveSetting") == 0;
}

static const char *diff_settings_type_name(const struct weft_jfr_reader *r, int64_t id)
{
	const struct weft_jfr_class *const *types;
	size_t count = weft_jfr_event_types(r, &types);

	for (size_t i = 0; i < count; i++)
		if (weft_jfr_class_id(types[i]) == id)
			return weft_jfr_class_name(types[i]);
	return NULL;
}

static int put_setting(struct settings *s, uint32_t name, uint32_t value)
{
	struct setting *bigger;
	uint64_t *at = map_put(s->index, &name, sizeof(name), NULL);

	if (!at || s->names.failed)
		return -ENOMEM;
	if (*at) {
		s->setting[*at - 1].value = value;
		return 0;
	}
	bigger = array_grown(s->setting, s->count + 1, &s->room, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	s->setting = bigger;
	s->setting[s->count] = (struct setting){name, value};
	*at = ++s->count;
	return 0;
}

static int diff_settings_add_event(struct settings *s, const struct weft_jfr_reader *r,
				   const struct weft_jfr_event_view *e)
{
	const char *type =
		diff_settings_type_name(r, decode_number(weft_jfr_event_get(e, "id"), -1));
	struct weft_jfr_string name = decode_string(weft_jfr_event_get(e, "name"));
	struct weft_jfr_string value = decode_string(weft_jfr_event_get(e, "value"));

	if (!type || !name.bytes)
		return 0;
	return put_setting(s,
			   names_id_format(&s->names, "%s#%.*s", type, (int)name.bytes, name.data),
			   names_id_bytes(&s->names, value.data, value.bytes));
}

int settings_read(struct settings *s, const char *path)
{
	struct weft_jfr_event_view e;
	struct weft_jfr_reader *r;
	int rc;

	memset(s, 0, sizeof(*s));
	s->index = map_new();
	if (!s->index || names_init(&s->names))
		return -ENOMEM;
	errno = 0;
	r = weft_jfr_open(path);
	if (!r)
		return errno ? -errno : -EIO;
	weft_jfr_filter(r, diff_settings_is_setting, NULL);
	while ((rc = weft_jfr_next(r, &e)) > 0) {
		rc = diff_settings_is_setting(e.type, NULL) ? diff_settings_add_event(s, r, &e) : 0;
		if (rc)
			break;
	}
	weft_jfr_reader_free(r);
	return rc == -EBADMSG ? 0 : rc;
}

const char *settings_value(const struct settings *s, const char *name)
{
	uint32_t id = names_find(&s->names, name);
	uint64_t *at = id ? map_get(s->index, &id, sizeof(id)) : NULL;

	return at ? names_text(&s->names, s->setting[*at - 1].value) : NULL;
}

static int diff_settings_by_text(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void compare_one(const struct settings *a, const struct settings *b, const char *name,
			struct table *out)
{
	const char *left = settings_value(a, name), *right = settings_value(b, name);

	if (left && right && strcmp(left, right) == 0)
		return;
	table_text(out, name);
	table_text(out, left);
	table_text(out, right);
}

void settings_compare(const struct settings *a, const struct settings *b, struct table *out)
{
	const char **name = calloc(a->count + b->count + 1, sizeof(*name));
	size_t count = 0;

	if (!name) {
		out->failed = 1;
		return;
	}
	for (size_t i = 0; i < a->count; i++)
		name[count++] = names_text(&a->names, a->setting[i].name);
	for (size_t i = 0; i < b->count; i++) {
		const char *text = names_text(&b->names, b->setting[i].name);

		if (!settings_value(a, text))
			name[count++] = text;
	}
	qsort(name, count, sizeof(*name), diff_settings_by_text);
	for (size_t i = 0; i < count; i++)
		compare_one(a, b, name[i], out);
	free(name);
}
