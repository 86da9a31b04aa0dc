/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --where KEY=VALUE: a condition that samples have to meet. VALUE is the text that the report shows
 * for the key; `*` in it stands for anything. Threads and processes match by their bare names, too;
 * functions, modules and lines anywhere on the stack. Of several conditions all must hold.
 */
#ifndef WEFT_REPORT_WHERE_H
#define WEFT_REPORT_WHERE_H

#include "report/read/key.h"

struct where {
	struct key key;
	char *value;
};

/* 0, -EINVAL: no KEY=VALUE; -ENOENT: no such key; -ENOMEM. */
int where_parse(struct where *w, const char *text);
void where_free(struct where *w);
/* Gives its tag or label the numbers that it has in this model. */
void where_bind(struct where *w, struct model *m);
/*
 * Copies of conditions, bound to a model; they share the values. Freed with free(). NULL: out of
 * memory.
 */
struct where *where_bound(const struct where *wheres, size_t count, struct model *m);
int where_holds(const struct where *w, struct model *m, const struct sample *s);
int where_all_hold(const struct where *wheres, size_t count, struct model *m,
		   const struct sample *s);

/* Does @text match @pattern, in which `*` is any text? */
int where_match(const char *pattern, const char *text);

#endif
