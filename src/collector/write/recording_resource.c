/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft.Resource: what processes say of themselves in OpenTelemetry's process context, as the
 * outside thread has read it. Each chunk has the attributes that held in it, so that it stands for
 * itself; an attribute that a newer context lacks has one row without a value.
 */
#include "collector/process/published_context.h"
#include "collector/write/process_work.h"
#include "collector/write/recording_private.h"

#define ATTRIBUTES_MAX 128
#define TEXT_MAX 1024 /* bytes of a key, or a value */

struct resource_rows {
	struct recording *r;
	const struct process *process;
	int64_t since_ns;
};

static struct weft_jfr_string live_string(const struct live_context *c, size_t at, size_t bytes)
{
	return (struct weft_jfr_string){live_text(c, at), bytes < TEXT_MAX ? bytes : TEXT_MAX};
}

static void resource_put(const struct resource_rows *rows, const struct live_context *c,
			 const struct live_attribute *a, int has_value)
{
	struct weft_jfr_value v[] = {
		{.number = rows->since_ns},
		{.string = text_value(rows->process->group)},
		{.string = live_string(c, a->key_at, a->key_bytes)},
		{.string = has_value ? live_string(c, a->value_at, a->value_bytes)
				     : (struct weft_jfr_string){0}},
	};

	recording_put(rows->r, rows->r->type[TYPE_RESOURCE], v, 4);
}

static size_t attributes_of(const struct live_context *c)
{
	return c->count < ATTRIBUTES_MAX ? c->count : ATTRIBUTES_MAX;
}

static void put_all(const struct resource_rows *rows, const struct live_context *c)
{
	for (size_t i = 0; i < attributes_of(c); i++)
		if (c->attribute[i].key_bytes)
			resource_put(rows, c, &c->attribute[i], 1);
}

/* Those of @before that are in neither part of @now. */
static void put_gone(const struct resource_rows *rows, const struct live_context *before,
		     const struct otel_payload *now)
{
	for (size_t i = 0; i < attributes_of(before); i++) {
		const struct live_attribute *a = &before->attribute[i];
		const char *key = live_text(before, a->key_at);

		if (!live_find(&now->resource, key, a->key_bytes) &&
		    !live_find(&now->attributes, key, a->key_bytes))
			resource_put(rows, before, a, 0);
	}
}

static void put_context(struct recording *r, const struct process *p,
			const struct published_context *c, const struct published_context *before)
{
	const struct resource_rows rows = {r, p, (int64_t)c->since_ns};

	if (before) {
		put_gone(&rows, &before->payload.resource, &c->payload);
		put_gone(&rows, &before->payload.attributes, &c->payload);
	}
	put_all(&rows, &c->payload.resource);
	put_all(&rows, &c->payload.attributes);
}

/* The context that follows @last in time; the first one for NULL. */
static const struct published_context *next_of(const struct published_context *newest,
					       const struct published_context *last)
{
	const struct published_context *c = newest;

	while (c && c->older != last)
		c = c->older;
	return c;
}

void recording_resource(struct recording *r, struct process *p)
{
	const struct published_context *newest = process_published_context(p);
	const struct published_context *last = p->work->resource, *next;

	if (last)
		put_context(r, p, last, NULL);
	for (; last != newest; last = next) {
		next = next_of(newest, last);
		put_context(r, p, next, last);
	}
	p->work->resource = last;
}
