/* SPDX-License-Identifier: Apache-2.0 */
/* See model.h. Stacks, threads and lines are interned by their bytes: structs without padding. */
#include "report/read/model.h"

#include "base/map.h"
#include "report/read/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct frame) == 24, "padding would be part of the key");
_Static_assert(sizeof(struct source_line) == 12, "padding would be part of the key");
_Static_assert(sizeof(struct thread) == 12, "padding would be part of the key");

static const struct stack no_stack;
static const struct thread no_thread;
static const struct source_line no_line;

int model_init(struct model *m)
{
	*m = (struct model){.stack_count = 1, .thread_count = 1, .line_count = 1};
	if (names_init(&m->names) || names_init(&m->keys) || resources_init(&m->resources))
		return -ENOMEM;
	/* The space keeps them apart from fields, whose names have none. */
	names_id(&m->keys, "span id");
	names_id(&m->keys, "root span id");
	names_id(&m->keys, "trace id");
	names_id(&m->keys, "coroutine id");
	return model_error(m);
}

void model_free(struct model *m)
{
	names_free(&m->names);
	names_free(&m->keys);
	resources_free(&m->resources);
	map_free(m->stack_index);
	map_free(m->thread_index);
	map_free(m->line_index);
	for (uint32_t i = 1; m->stacks && i < m->stack_count; i++)
		free(m->stacks[i].frames);
	free(m->stacks);
	free(m->threads);
	free(m->lines);
	memset(m, 0, sizeof(*m));
}

int model_error(const struct model *m)
{
	return m->failed || m->names.failed || m->keys.failed || m->resources.failed ||
			       m->resources.keys.failed
		       ? -ENOMEM
		       : 0;
}

/* The id of what has the number @number in an array whose first element stands for "absent". */
static uint32_t model_id(struct model *m, uint32_t number)
{
	m->failed |= !number;
	return number ? number - 1 : 0;
}

static uint32_t model_new_stack(struct model *m, uint32_t id, const struct frame *frames,
				uint32_t count, int truncated)
{
	struct stack *s = &m->stacks[id];

	s->frames = malloc(count * sizeof(*frames) + 1);
	if (!s->frames)
		return model_id(m, 0);
	if (count)
		memcpy(s->frames, frames, count * sizeof(*frames));
	s->count = count;
	s->truncated = truncated != 0;
	return id;
}

uint32_t model_stack(struct model *m, const struct frame *frames, uint32_t count, int truncated)
{
	size_t bytes = count * sizeof(*frames);
	/* A last odd byte keeps a cut stack apart from a whole one of the same frames. */
	uint8_t *key = malloc(bytes + 1);
	uint32_t id;

	if (!key)
		return model_id(m, 0);
	if (count)
		memcpy(key, frames, bytes);
	key[bytes] = truncated != 0;
	id = model_id(m, rows_put(&m->stack_index, key, bytes + 1, &m->stacks, &m->stack_count,
				  &m->stack_room, sizeof(*m->stacks)));
	free(key);
	return !id || m->stacks[id].frames ? id : model_new_stack(m, id, frames, count, truncated);
}

uint32_t model_path(struct model *m, uint32_t stack)
{
	const struct stack *s = model_stack_at(m, stack);
	struct frame *bare;
	uint32_t path;

	if (!s->frames || s->path)
		return s->path;
	bare = calloc(s->count + 1, sizeof(*bare));
	if (!bare) {
		m->failed = 1;
		return 0;
	}
	for (uint32_t i = 0; i < s->count; i++)
		bare[i].function = s->frames[i].function;
	path = model_stack(m, bare, s->count, 0);
	free(bare);
	m->stacks[stack].path = path;
	if (path)
		m->stacks[path].path = path;
	return path;
}

uint32_t model_below(struct model *m, uint32_t stack)
{
	const struct stack *s = model_stack_at(m, stack);
	uint32_t skip = 0, below;

	if (!s->frames || s->below)
		return s->below;
	while (skip < s->count &&
	       strcmp(names_text(&m->names, s->frames[skip].module), WAITS_MODULE) == 0)
		skip++;
	below = skip ? model_stack(m, s->frames + skip, s->count - skip, (int)s->truncated) : stack;
	m->stacks[stack].below = below;
	return below;
}

uint32_t model_thread(struct model *m, const struct thread *thread)
{
	uint32_t id = model_id(m, rows_put(&m->thread_index, thread, sizeof(*thread), &m->threads,
					   &m->thread_count, &m->thread_room, sizeof(*thread)));

	if (id)
		m->threads[id] = *thread;
	return id;
}

uint32_t model_line(struct model *m, const struct frame *frame)
{
	struct source_line line = {frame->function, frame->file, frame->line};
	uint32_t id = model_id(m, rows_put(&m->line_index, &line, sizeof(line), &m->lines,
					   &m->line_count, &m->line_room, sizeof(line)));

	if (id)
		m->lines[id] = line;
	return id;
}

const struct stack *model_stack_at(const struct model *m, uint32_t id)
{
	return id && id < m->stack_count ? &m->stacks[id] : &no_stack;
}

const struct thread *model_thread_at(const struct model *m, uint32_t id)
{
	return id && id < m->thread_count ? &m->threads[id] : &no_thread;
}

const struct source_line *model_line_at(const struct model *m, uint32_t id)
{
	return id && id < m->line_count ? &m->lines[id] : &no_line;
}

void context_add(struct context *c, struct context_item item)
{
	if (!item.value || context_value(c, item.key, item.type))
		return;
	if (c->count == CONTEXT_ITEMS)
		c->cut++;
	else
		c->item[c->count++] = item;
}

uint32_t context_value(const struct context *c, uint32_t key, uint32_t type)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->item[i].key == key && (!type || c->item[i].type == type))
			return c->item[i].value;
	return 0;
}

const char *context_key_name(const struct model *m, uint32_t key)
{
	static const char *const fixed[CONTEXT_TAGS] = {
		[CONTEXT_SPAN] = "span",
		[CONTEXT_ROOT] = "root",
		[CONTEXT_TRACE] = "trace",
		[CONTEXT_COROUTINE] = "coroutine",
	};

	return key && key < CONTEXT_TAGS ? fixed[key] : names_text(&m->keys, key);
}

void amount_count(struct amount *a, const struct sample *s)
{
	amount_add(a, &(struct amount){s->times, s->weight_ns, s->draws});
}

void amount_add(struct amount *to, const struct amount *more)
{
	to->samples += more->samples;
	to->ns += more->ns;
	draws_add(&to->draws, &more->draws);
}

uint64_t amount_of(const struct amount *part, const struct amount *whole)
{
	return whole->ns ? part->ns : part->samples;
}

int amount_order(const struct amount *a, const struct amount *b)
{
	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return (b->samples > a->samples) - (b->samples < a->samples);
}

void weight_count(struct weight *w, const struct sample *s, uint64_t number, int is_self)
{
	if (w->last != number)
		amount_count(&w->total, s);
	w->last = number;
	if (is_self)
		amount_count(&w->self, s);
}
