/* SPDX-License-Identifier: Apache-2.0 */
/* Which of many stretches of code has an address, when some lie inside others. */
#include "base/array.h"
#include "elf/dwarf/dwread.h"

#include <stdlib.h>

/* Those that begin before an address and do not reach it: how many to look past. */
#define NESTED_MAX 256

static int dwread_span_compare(const void *a, const void *b)
{
	const struct dwread_span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

void dwread_spans_settle(struct buf *spans)
{
	struct dwread_span *all = (void *)spans->data;
	size_t count = spans->size / sizeof(*all);
	uint64_t reach = 0;

	if (count)
		qsort(all, count, sizeof(*all), dwread_span_compare);
	for (size_t i = 0; i < count; i++) {
		if (all[i].end > reach)
			reach = all[i].end;
		all[i].reach = reach;
	}
}

const struct dwread_span *dwread_spans_find(const struct buf *spans, uint64_t address,
					    unsigned int nth)
{
	const struct dwread_span *all = (const void *)spans->data;
	size_t low = array_upto(all, spans->size / sizeof(*all), sizeof(*all),
				offsetof(struct dwread_span, start), address);

	for (size_t i = 0; i < NESTED_MAX && low > 0; i++) {
		const struct dwread_span *s = &all[--low];

		if (s->end > address && nth-- == 0)
			return s;
		if (s->reach <= address)
			break;
	}
	return NULL;
}
