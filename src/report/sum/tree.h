/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of samples by call path, callers above what they call. */
#ifndef WEFT_REPORT_TREE_H
#define WEFT_REPORT_TREE_H

#include "report/read/model.h"

struct tree_node {
	uint32_t function;            /* id in model.names; 0 = the root, or not known */
	uint32_t parent, child, next; /* indexes; 0 = none, for no list has the root in it */
	struct weight weight;
	uint32_t depth; /* of the root: 0 */
	uint32_t shown; /* set by tree_choose() */
};

struct tree {
	struct map *index;       /* parent and function -> node */
	struct tree_node *nodes; /* [0] is the root, with the sums of all */
	uint32_t count;
	size_t room;
};

int tree_init(struct tree *t); /* 0 or -ENOMEM */
void tree_free(struct tree *t);
/* Adds samples of one call path, an id of model_path() or 0. 0 or -ENOMEM. */
int tree_add(struct tree *t, const struct model *m, uint32_t path, const struct amount *amount);
/* Sorts the children of every node: heaviest first, equal ones by name. 0 or -ENOMEM. */
int tree_sort(struct tree *t, const struct model *m);
/*
 * Marks the nodes to be shown: the @nodes heaviest (0 = any number) of those that have at least
 * @share (0..1) of all. As no node is heavier than its parent, and of equal ones the parent goes
 * first, they are a tree. Returns how many there are, or -ENOMEM.
 */
int64_t tree_choose(struct tree *t, uint64_t nodes, double share);

#endif
