/* SPDX-License-Identifier: Apache-2.0 */
#include "report/read/where.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int where_parse(struct where *w, const char *text)
{
	const char *equals = strchr(text, '=');
	char *name;
	int rc;

	if (!equals || equals == text)
		return -EINVAL;
	name = strndup(text, (size_t)(equals - text));
	if (!name)
		return -ENOMEM;
	rc = key_parse(&w->key, name);
	free(name);
	if (rc || w->key.kind == KEY_STACK)
		return -ENOENT;
	w->value = strdup(equals + 1);
	return w->value ? 0 : -ENOMEM;
}

void where_free(struct where *w)
{
	free(w->value);
	w->value = NULL;
}

void where_bind(struct where *w, struct model *m)
{
	key_bind(&w->key, m);
}

struct where *where_bound(const struct where *wheres, size_t count, struct model *m)
{
	struct where *bound = calloc(count + 1, sizeof(*bound));

	for (size_t i = 0; bound && i < count; i++) {
		bound[i] = wheres[i];
		where_bind(&bound[i], m);
	}
	return bound;
}

int where_match(const char *pattern, const char *text)
{
	const char *star = NULL, *resume = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			resume = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++resume;
		} else {
			return 0;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static int where_name_matches(const struct where *w, const char *text)
{
	return where_match(w->value, *text ? text : KEY_NONE);
}

static int process_matches(const struct where *w, const char *process)
{
	const char *bracket = strrchr(process, '[');
	char *bare;
	int yes;

	if (where_name_matches(w, process))
		return 1;
	if (!bracket || bracket < process + 2)
		return 0;
	bare = strndup(process, (size_t)(bracket - process - 1));
	yes = bare && where_match(w->value, bare);
	free(bare);
	return yes;
}

/* By any of the forms that people may have at hand: "a.c:42", "/src/a.c:42", "main a.c:42". */
static int line_matches(const struct where *w, const struct model *m, const struct frame *f)
{
	struct source_line line = {f->function, f->file, f->line};
	int yes = 0;

	for (int whole = 0; whole < 2 && !yes; whole++) {
		char *text = key_line_name(m, &line, whole);
		size_t function = strlen(names_text(&m->names, f->function));

		yes = text && (where_match(w->value, text) ||
			       (f->file && f->function &&
				where_match(w->value, text + function + strlen(" "))));
		free(text);
	}
	return yes;
}

static int any_frame(const struct where *w, struct model *m, const struct sample *s)
{
	const struct stack *stack = model_stack_at(m, s->stack);

	for (uint32_t i = 0; i < stack->count; i++) {
		uint32_t id;

		if (w->key.kind == KEY_LINE) {
			if (line_matches(w, m, &stack->frames[i]))
				return 1;
			continue;
		}
		id = key_of_frame(&w->key, m, &stack->frames[i]);
		if (where_name_matches(w, names_text(&m->names, id)))
			return 1;
	}
	return 0;
}

int where_holds(const struct where *w, struct model *m, const struct sample *s)
{
	const struct thread *t = model_thread_at(m, s->thread);

	switch (w->key.kind) {
	case KEY_FUNCTION:
	case KEY_MODULE:
	case KEY_LINE:
		return any_frame(w, m, s);
	case KEY_THREAD:
		return where_name_matches(w, names_text(&m->names, t->key)) ||
		       where_name_matches(w, names_text(&m->names, t->name));
	case KEY_PROCESS:
		return process_matches(w, names_text(&m->names, t->process));
	default:
		return where_name_matches(w, names_text(&m->names, key_of_sample(&w->key, m, s)));
	}
}

int where_all_hold(const struct where *wheres, size_t count, struct model *m,
		   const struct sample *s)
{
	for (size_t i = 0; i < count; i++)
		if (!where_holds(&wheres[i], m, s))
			return 0;
	return 1;
}
