/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sum/tree.h"

#include "base/array.h"
#include "base/map.h"
#include "report/read/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tree_init(struct tree *t)
{
	*t = (struct tree){.count = 1};
	t->nodes = array_grown(NULL, 1, &t->room, sizeof(*t->nodes));
	if (!t->nodes)
		return -ENOMEM;
	t->nodes[0] = (struct tree_node){0};
	return 0;
}

void tree_free(struct tree *t)
{
	map_free(t->index);
	free(t->nodes);
	memset(t, 0, sizeof(*t));
}

/* The child of @parent for a function, made when new; 0: out of memory. */
static uint32_t child_of(struct tree *t, uint32_t parent, uint32_t function)
{
	const uint32_t key[2] = {parent, function};
	uint32_t number = rows_put(&t->index, key, sizeof(key), &t->nodes, &t->count, &t->room,
				   sizeof(*t->nodes));
	struct tree_node *n = &t->nodes[number ? number - 1 : 0];

	if (number && !n->depth) {
		n->function = function;
		n->parent = parent;
		n->depth = t->nodes[parent].depth + 1;
		n->next = t->nodes[parent].child;
		t->nodes[parent].child = number - 1;
	}
	return number ? number - 1 : 0;
}

int tree_add(struct tree *t, const struct model *m, uint32_t path, const struct amount *amount)
{
	const struct stack *stack = model_stack_at(m, path);
	uint32_t at = 0;

	amount_add(&t->nodes[0].weight.total, amount);
	for (uint32_t i = stack->count; i-- > 0;) {
		at = child_of(t, at, stack->frames[i].function);
		if (!at)
			return -ENOMEM;
		amount_add(&t->nodes[at].weight.total, amount);
	}
	amount_add(&t->nodes[at].weight.self, amount);
	return 0;
}

/* In ns, or in samples if no time is known. */
static uint64_t tree_weight(const struct tree *t, uint32_t node)
{
	return amount_of(&t->nodes[node].weight.total, &t->nodes[0].weight.total);
}

struct order {
	const struct tree *t;
	const struct model *m;
};

static int child_order(const void *left, const void *right, void *arg)
{
	const struct order *o = arg;
	const struct tree_node *a = &o->t->nodes[*(const uint32_t *)left];
	const struct tree_node *b = &o->t->nodes[*(const uint32_t *)right];
	int by = amount_order(&a->weight.total, &b->weight.total);

	return by ? by
		  : strcmp(names_text(&o->m->names, a->function),
			   names_text(&o->m->names, b->function));
}

int tree_sort(struct tree *t, const struct model *m)
{
	uint32_t *children = malloc(t->count * sizeof(*children));
	struct order o = {t, m};

	if (!children)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t n = 0, *link = &t->nodes[i].child;

		for (uint32_t c = *link; c; c = t->nodes[c].next)
			children[n++] = c;
		qsort_r(children, n, sizeof(*children), child_order, &o);
		for (uint32_t k = 0; k < n; k++) {
			*link = children[k];
			link = &t->nodes[children[k]].next;
		}
		*link = 0;
	}
	free(children);
	return 0;
}

static int tree_heaviest_first(const void *left, const void *right, void *arg)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct tree *t = arg;
	uint64_t weight_a = tree_weight(t, a), weight_b = tree_weight(t, b);

	if (weight_a != weight_b)
		return weight_a > weight_b ? -1 : 1;
	/* A child is made after its parent. */
	return a < b ? -1 : a > b;
}

int64_t tree_choose(struct tree *t, uint64_t nodes, double share)
{
	uint32_t *order = malloc(t->count * sizeof(*order));
	uint64_t least = (uint64_t)((double)tree_weight(t, 0) * share);
	int64_t shown = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->count; i++)
		order[i - 1] = i;
	qsort_r(order, t->count - 1, sizeof(*order), tree_heaviest_first, t);
	for (uint32_t i = 0; i + 1 < t->count; i++) {
		struct tree_node *n = &t->nodes[order[i]];

		n->shown = (!nodes || i < nodes) && tree_weight(t, order[i]) >= least;
		shown += n->shown;
	}
	free(order);
	return shown;
}
