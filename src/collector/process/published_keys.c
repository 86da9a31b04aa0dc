/* SPDX-License-Identifier: Apache-2.0 */
/* From thread to thread, and to handlers: see published_keys.h. */
#include "collector/process/published_keys.h"

#include <stdlib.h>
#include <string.h>

struct published_keys {
	struct published_keys *older;
	unsigned int number; /* from 1 */
	struct otel_payload payload;
};

static int is_same_map(const struct live_context *a, const struct live_context *b)
{
	return a->count == b->count && a->text.size == b->text.size &&
	       (!a->text.size || memcmp(a->text.data, b->text.data, a->text.size) == 0);
}

void process_tell_keys(struct process *p, const struct otel_payload *payload)
{
	struct published_keys *newest = load_relaxed(&p->keys), *k;

	if (newest && (newest->number == PUBLISHED_KEYS_MAX ||
		       is_same_map(&newest->payload.keys, &payload->keys)))
		return;
	k = calloc(1, sizeof(*k));
	if (!k)
		return;
	if (otel_payload_copy_keys(&k->payload, payload)) {
		free(k);
		return;
	}
	k->older = newest;
	k->number = newest ? newest->number + 1 : 1;
	/* Pairs with the acquire in process_keys(). */
	store_release(&p->keys, k);
}

const struct otel_payload *process_keys(const struct process *p)
{
	const struct published_keys *newest = load_acquire(&p->keys);

	return newest ? &newest->payload : NULL;
}

static void tell_variable(struct weft_published_variable *to,
			  const struct weft_published_variable *v)
{
	store_relaxed(&to->generation, load_relaxed(&v->generation));
	store_release(&to->at, load_relaxed(&v->at));
}

static void tell_variables(struct weft_published *to, const struct weft_published *v)
{
	store_relaxed(&to->tls_edge, load_relaxed(&v->tls_edge));
	store_relaxed(&to->dtv, load_relaxed(&v->dtv));
	tell_variable(&to->otel, &v->otel);
	tell_variable(&to->labels, &v->labels);
}

void process_tell_variables(struct process *p, const struct weft_published *v)
{
	tell_variables(&p->variables, v);
	if (p->base)
		tell_variables(&p->base->published, v);
}

void process_forget_keys(struct process *p)
{
	struct published_keys *k = p->keys, *older;

	for (; k; k = older) {
		older = k->older;
		otel_payload_free(&k->payload);
		free(k);
	}
	p->keys = NULL;
}
