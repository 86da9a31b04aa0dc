/* SPDX-License-Identifier: Apache-2.0 */
#include "report/read/key.h"

#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
	[KEY_FUNCTION] = "function", [KEY_STACK] = "stack",         [KEY_SPAN] = "span",
	[KEY_ROOT] = "root",         [KEY_TRACE] = "trace",         [KEY_THREAD] = "thread",
	[KEY_PROCESS] = "process",   [KEY_MODULE] = "module",       [KEY_LINE] = "line",
	[KEY_STATE] = "state",       [KEY_COROUTINE] = "coroutine", [KEY_SITE] = "site",
	[KEY_TAG] = "tag:NAME",      [KEY_LABEL] = "label:KEY",     [KEY_RESOURCE] = "resource:KEY",
};

#define TAG_PREFIX "tag:"
#define RESOURCE_PREFIX "resource:"
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* What of a context they are the values of; 0 = of no fixed key. */
static const uint32_t contexts[KIND_COUNT] = {[KEY_SPAN] = CONTEXT_SPAN,
					      [KEY_ROOT] = CONTEXT_ROOT,
					      [KEY_TRACE] = CONTEXT_TRACE,
					      [KEY_COROUTINE] = CONTEXT_COROUTINE};

const char *key_choices(enum key_kind but)
{
	static char choices[192];

	choices[0] = '\0';
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (i == but)
			continue;
		if (choices[0])
			strcat(choices, ", ");
		strcat(choices, kinds[i]);
	}
	return choices;
}

static int key_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

const char *key_prefix(const char *name)
{
	return key_starts_with(name, CONTEXT_LABEL_PREFIX) ? "" : TAG_PREFIX;
}

const char *key_bare(const char *text)
{
	static const char *const prefixes[] = {CONTEXT_LABEL_PREFIX, TAG_PREFIX, RESOURCE_PREFIX};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (key_starts_with(text, prefixes[i]))
			return text + strlen(prefixes[i]);
	return text;
}

/* Of a key that has something behind a colon. */
static enum key_kind kind_of_prefix(const char *text)
{
	if (key_starts_with(text, TAG_PREFIX))
		return KEY_TAG;
	return key_starts_with(text, RESOURCE_PREFIX) ? KEY_RESOURCE : KEY_LABEL;
}

int key_parse(struct key *k, const char *text)
{
	memset(k, 0, sizeof(*k));
	if (strlen(text) >= sizeof(k->text))
		return -EINVAL;
	strcpy(k->text, text);
	if (key_bare(text) != text) {
		k->kind = kind_of_prefix(text);
		return *key_bare(text) ? 0 : -EINVAL;
	}
	for (size_t i = 0; i < KEY_TAG; i++) {
		if (strcmp(text, kinds[i]) == 0) {
			k->kind = (enum key_kind)i;
			k->tag = contexts[i];
			return 0;
		}
	}
	return -EINVAL;
}

void key_bind(struct key *k, struct model *m)
{
	const char *name = k->kind == KEY_TAG ? key_bare(k->text) : k->text, *dot;

	if (k->kind == KEY_RESOURCE) {
		k->tag = names_find(&m->resources.keys, key_bare(k->text));
		k->unknown = !k->tag;
	}
	if (k->kind != KEY_TAG && k->kind != KEY_LABEL)
		return;
	dot = k->kind == KEY_TAG ? strrchr(name, '.') : NULL;
	if (dot) {
		k->tag_type = names_id_bytes(&m->names, name, (size_t)(dot - name));
		name = dot + 1;
	}
	k->tag = names_find(&m->keys, name);
	k->unknown = !k->tag;
}

int key_is_per_frame(const struct key *k)
{
	return k->kind == KEY_FUNCTION || k->kind == KEY_MODULE || k->kind == KEY_LINE;
}

uint32_t key_of_frame(const struct key *k, struct model *m, const struct frame *f)
{
	if (k->kind == KEY_MODULE)
		return f->module ? f->module : names_id(&m->names, KEY_UNKNOWN_MODULE);
	if (k->kind == KEY_LINE)
		return model_line(m, f);
	return f->function ? f->function : names_id(&m->names, KEY_UNKNOWN_FUNCTION);
}

uint32_t key_of_sample(const struct key *k, struct model *m, const struct sample *s)
{
	switch (k->kind) {
	case KEY_STACK:
		return model_path(m, s->stack);
	case KEY_THREAD:
		return model_thread_at(m, s->thread)->key;
	case KEY_PROCESS:
		return model_thread_at(m, s->thread)->process;
	case KEY_STATE:
		return s->state;
	case KEY_SITE:
		return s->site;
	case KEY_RESOURCE:
		return resources_value(&m->resources, model_thread_at(m, s->thread)->process,
				       k->tag, s->time_ns);
	default:
		return k->tag ? context_value(&s->context, k->tag, k->tag_type) : 0;
	}
}

static char *stack_name(const struct model *m, const struct stack *s)
{
	struct buf b = {0};

	for (uint32_t i = s->count; i-- > 0;) {
		const char *name = names_text(&m->names, s->frames[i].function);

		if (!*name)
			name = KEY_UNKNOWN_FUNCTION;
		for (; *name; name++)
			buf_put_u8(&b, (uint8_t)(*name == ';'                 ? ':'
						 : (unsigned char)*name < ' ' ? ' '
									      : *name));
		if (i)
			buf_put_u8(&b, ';');
	}
	buf_put_u8(&b, 0);
	if (b.failed) {
		buf_free(&b);
		return NULL;
	}
	return (char *)b.data;
}

const char *key_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *key_line_name(const struct model *m, const struct source_line *line, int whole)
{
	const char *function =
		line->function ? names_text(&m->names, line->function) : KEY_UNKNOWN_FUNCTION;
	const char *path = names_text(&m->names, line->file);
	const char *file = whole ? path : key_base_name(path);
	char number[16] = "", *out = NULL;

	if (line->line)
		snprintf(number, sizeof(number), ":%d", (int)line->line);
	if (asprintf(&out, "%s%s%s%s", function, *file ? " " : "", file, number) < 0)
		return NULL;
	return out;
}

char *key_name(const struct key *k, const struct model *m, uint32_t id)
{
	if (!id)
		return strdup(KEY_NONE);
	if (k->kind == KEY_LINE)
		return key_line_name(m, model_line_at(m, id), 0);
	if (k->kind != KEY_STACK)
		return strdup(names_text(&m->names, id));
	if (!model_stack_at(m, id)->count)
		return strdup(KEY_NONE);
	return stack_name(m, model_stack_at(m, id));
}
