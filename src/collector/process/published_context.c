/* SPDX-License-Identifier: Apache-2.0 */
/* From thread to thread, and to handlers: see published_context.h. */
#include "collector/process/published_context.h"

#include <stdlib.h>
#include <string.h>

static int is_same(const struct live_context *a, const struct live_context *b)
{
	return a->count == b->count && a->text.size == b->text.size &&
	       (!a->text.size || memcmp(a->text.data, b->text.data, a->text.size) == 0) &&
	       (!a->count ||
		memcmp(a->attribute, b->attribute, a->count * sizeof(*a->attribute)) == 0);
}

static int is_same_payload(const struct otel_payload *a, const struct otel_payload *b)
{
	return is_same(&a->resource, &b->resource) && is_same(&a->attributes, &b->attributes) &&
	       is_same(&a->keys, &b->keys);
}

static uint64_t live_bytes(const struct live_context *c)
{
	return c->text.size + c->count * sizeof(*c->attribute);
}

static uint64_t published_payload_bytes(const struct otel_payload *p)
{
	return live_bytes(&p->resource) + live_bytes(&p->attributes) + live_bytes(&p->keys);
}

void process_tell_context(struct process *p, const struct otel_payload *payload, uint64_t now_ns)
{
	struct published_context *newest = load_relaxed(&p->contexts), *c;
	uint64_t bytes = published_payload_bytes(payload) + (newest ? newest->bytes : 0);

	if (newest && (newest->number == PUBLISHED_CONTEXTS_MAX ||
		       is_same_payload(&newest->payload, payload)))
		return;
	if (bytes > PUBLISHED_BYTES_MAX)
		return;
	c = calloc(1, sizeof(*c));
	if (!c)
		return;
	if (otel_payload_copy(&c->payload, payload)) {
		free(c);
		return;
	}
	c->older = newest;
	c->number = newest ? newest->number + 1 : 1;
	c->bytes = bytes;
	c->since_ns = now_ns;
	/* Pairs with the acquire in process_published_context(). */
	store_release(&p->contexts, c);
}

const struct published_context *process_published_context(const struct process *p)
{
	return load_acquire(&p->contexts);
}

static void tell_variable(struct weft_published_variable *to,
			  const struct weft_published_variable *v)
{
	uint64_t at = load_acquire(&v->at), generation = load_relaxed(&v->generation);

	if (load_relaxed(&to->at) == at && load_relaxed(&to->generation) == generation)
		return;
	/* A place is never met with the generation of one before it. Pairs: published_place() of
	 * runtime/sample/sample_published.c, and the load above where a forked child is told. */
	store_relaxed(&to->at, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store_relaxed(&to->generation, generation);
	store_release(&to->at, at);
}

static void tell_variables(struct weft_published *to, const struct weft_published *v)
{
	store_relaxed(&to->tls_edge, load_relaxed(&v->tls_edge));
	store_relaxed(&to->dtv, load_relaxed(&v->dtv));
	store_relaxed(&to->nodejs_layout, load_relaxed(&v->nodejs_layout));
	tell_variable(&to->otel, &v->otel);
	tell_variable(&to->nodejs, &v->nodejs);
	tell_variable(&to->labels, &v->labels);
}

void process_tell_variables(struct process *p, const struct weft_published *v)
{
	tell_variables(&p->variables, v);
	if (p->base)
		tell_variables(&p->base->published, v);
}

void process_forget_contexts(struct process *p)
{
	struct published_context *c = p->contexts, *older;

	for (; c; c = older) {
		older = (struct published_context *)c->older;
		otel_payload_free(&c->payload);
		free(c);
	}
	p->contexts = NULL;
}
