/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof: gzip'ed profile.proto (github.com/google/pprof/proto), for `go tool pprof` and
 * what else reads it. Samples of equal stack and labels are one, with two values: how many
 * they were, and their time. Ids of spans and traces, thread, process and tags are labels;
 * --by names those that are wanted, which makes the file smaller.
 *
 * Ids of functions, mappings and locations count from 1 in the order of first use, so the
 * same recording gives the same file.
 */
#include "export/export.h"

#include "base/array.h"
#include "base/map.h"
#include "export/pprof.h"

#include <errno.h>
#include <stdlib.h>

#define LABELS_MAX (CONTEXT_ITEMS + 2)

/* Two numbers without padding: used as bytes of a key. */
struct pprof_label {
	uint32_t key, value; /* strings */
};

static int pprof_begin(struct export_job *x)
{
	struct pprof *p = x->state;

	p->groups = map_new();
	return p->groups ? names_init(&p->strings) : -ENOMEM;
}

/* ---- collecting */

static uint32_t pprof_string_of(const struct export_job *x, uint32_t name)
{
	struct pprof *p = x->state;

	return names_id(&p->strings, names_text(&source_model(x->source)->names, name));
}

static void pprof_put_label(const struct export_job *x, struct pprof_label *labels, uint32_t *count,
			    const char *key, uint32_t value)
{
	struct pprof *p = x->state;

	if (!value || *count == LABELS_MAX)
		return;
	labels[(*count)++] =
		(struct pprof_label){names_id(&p->strings, key), pprof_string_of(x, value)};
}

/* A label goes by its key alone, unless there is a tag of that name. */
static const char *tag_or_label(const struct model *m, const char *name)
{
	const char *bare = key_bare(name);

	return bare != name && names_find(&m->keys, bare) ? name : bare;
}

static const char *const id_labels[CONTEXT_TAGS] = {
	[CONTEXT_SPAN] = "span_id",
	[CONTEXT_ROOT] = "root_span_id",
	[CONTEXT_TRACE] = "trace_id",
	[CONTEXT_COROUTINE] = "coroutine",
};

static const char *context_label(const struct model *m, uint32_t key)
{
	/* key 0: a field without a name */
	return key && key < CONTEXT_TAGS ? id_labels[key]
					 : tag_or_label(m, names_text(&m->keys, key));
}

static const char *key_label(const struct key *k)
{
	const char *bare = key_bare(k->text);

	return bare == k->text && k->tag ? id_labels[k->tag] : bare;
}

static int is_innermost(const struct context *c, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (c->item[i].key == c->item[index].key)
			return 0;
	return 1;
}

static uint32_t all_labels(const struct export_job *x, const struct sample *s,
			   struct pprof_label *labels)
{
	const struct model *m = source_model(x->source);
	const struct thread *t = model_thread_at(m, s->thread);
	uint32_t count = 0;

	pprof_put_label(x, labels, &count, "thread", t->key);
	pprof_put_label(x, labels, &count, "process", t->process);
	if (source_has_states(x->source))
		pprof_put_label(x, labels, &count, "state", s->state);
	for (uint32_t i = 0; i < s->context.count; i++) {
		const struct context_item *c = &s->context.item[i];

		/* Only the innermost: a label has one value. */
		if (is_innermost(&s->context, i))
			pprof_put_label(x, labels, &count, context_label(m, c->key), c->value);
	}
	return count;
}

static uint32_t labels_by(const struct export_job *x, const struct sample *s,
			  struct pprof_label *labels)
{
	struct model *m = source_model(x->source);
	uint32_t count = 0;

	for (size_t i = 0; i < x->by_count; i++)
		pprof_put_label(x, labels, &count, key_label(&x->by[i]),
				key_of_sample(&x->by[i], m, s));
	return count;
}

static int by_key(const void *left, const void *right)
{
	const struct pprof_label *a = left, *b = right;

	return a->key < b->key ? -1 : a->key > b->key;
}

static int pprof_sample(struct export_job *x, const struct sample *s)
{
	struct pprof *p = x->state;
	struct pprof_label labels[LABELS_MAX + 1];
	uint32_t count = x->by_count ? labels_by(x, s, labels) : all_labels(x, s, labels);
	struct pprof_sum *sums;
	uint64_t *number;

	qsort(labels, count, sizeof(*labels), by_key);
	labels[count] = (struct pprof_label){s->stack, 0};
	number = map_put(p->groups, labels, (count + 1) * sizeof(*labels), NULL);
	sums = array_grown(p->sums, map_count(p->groups), &p->sum_room, sizeof(*sums));
	if (sums)
		p->sums = sums;
	if (!number || !sums)
		return -ENOMEM;
	if (!*number) {
		*number = map_count(p->groups);
		sums[*number - 1] = (struct pprof_sum){0};
	}
	sums[*number - 1].samples += s->times;
	sums[*number - 1].ns += s->weight_ns;
	return 0;
}

static void pprof_free(struct export_job *x)
{
	struct pprof *p = x->state;

	names_free(&p->strings);
	map_free(p->groups);
	free(p->sums);
}

const struct exporter_ops exporter_pprof = {
	.state_bytes = sizeof(struct pprof),
	.begin = pprof_begin,
	.sample = pprof_sample,
	.end = pprof_end,
	.free = pprof_free,
};
