/* SPDX-License-Identifier: Apache-2.0 */
/* A JSONL trace into a report, the events of each coroutine in order of time (order.h). */
#include "coro/engine/order.h"
#include "coro/look/report.h"

#include <errno.h>
#include <stdio.h>

static int report_input_feed(void *report, const struct coro_event *event)
{
	return coro_report_event(report, event);
}

/* Engines that tell deaths write in order: events that are held back come first. */
static int feed_deaths(struct coro_report *r, struct order *order, struct coro_input *in)
{
	struct coro_death death;
	int rc = 0;

	while (rc == 0 && coro_input_death(in, &death)) {
		rc = order_flush(order);
		coro_report_death(r, &death);
	}
	return rc;
}

int coro_report_jsonl(struct coro_report *r, const char *path, uint64_t *line, char why[128])
{
	struct order order = {.next = report_input_feed, .arg = r};
	struct coro_event e;
	struct coro_input *in = NULL;
	int rc = coro_input_open(&in, path);

	*line = 0;
	why[0] = '\0';
	if (rc)
		return rc;
	while ((rc = coro_input_next(in, &e)) == 1) {
		rc = order_event(&order, &e);
		if (rc)
			break;
		rc = feed_deaths(r, &order, in);
		if (rc)
			break;
	}
	if (rc == 0)
		rc = order_flush(&order);
	if (rc == -EBADMSG) {
		*line = coro_input_line(in);
		snprintf(why, 128, "%s", coro_input_why(in));
	}
	coro_input_close(in);
	return rc;
}
