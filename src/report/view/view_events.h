/* SPDX-License-Identifier: Apache-2.0 */
/* The events of one type as a table: a column for each field. */
#ifndef WEFT_REPORT_VIEW_EVENTS_H
#define WEFT_REPORT_VIEW_EVENTS_H

#include "report/view/view.h"

/* Adds the event that the source is at. 0 or -ENOMEM. */
int view_events_add(struct view_run *v, const struct sample *s);
void view_events_free(struct view_run *v);

#endif
