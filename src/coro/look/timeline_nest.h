/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of threads made to nest (coro/look/timeline.h). */
#ifndef WEFT_CORO_TIMELINE_NEST_H
#define WEFT_CORO_TIMELINE_NEST_H

#include "coro/look/timeline.h"

struct slices {
	struct coro_slice *at;
	size_t count, room;
};

int slices_add(struct slices *s, const struct coro_slice *slice); /* 0 or -ENOMEM */
/* Sorts by thread and time. Slices whose end nobody saw end where their thread does something else.
 */
void slices_sort(struct slices *s);
/* Puts sorted slices into @nested, cut where they cross. 0 or -ENOMEM. */
int slices_nest(const struct slices *sorted, struct slices *nested);

#endif
