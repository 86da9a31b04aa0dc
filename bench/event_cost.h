/* SPDX-License-Identifier: Apache-2.0 */
/* What event-cost measures, in the order in which it prints. */
#ifndef BENCH_EVENT_COST_H
#define BENCH_EVENT_COST_H

enum event_case {
	EVENT_CLOCK,       /* baseline: the clock that events read */
	EVENT_COPY,        /* baseline: that clock, and a memcpy of a record's bytes */
	EVENT_OFF,         /* a type that is off: emit */
	EVENT_NOTHING,     /* baseline: a loop without it */
	EVENT_EMIT,        /* two numbers, at once */
	EVENT_TIMED,       /* two numbers, begin and commit */
	EVENT_UNTRIGGERED, /* a contextual one in which nothing happens, if-triggered */
	EVENT_SPAN,        /* weft_span_begin() and end, likewise */
	EVENT_SHORT,       /* begin and commit, below its threshold */
	EVENT_UNSELECTED,  /* emit, if-context, and there is none */
	EVENT_CONTEXT,     /* two numbers in a span: its context in the record */
	EVENT_LABELS,      /* and three labels */
	EVENT_STRING,      /* a string of 16 bytes and a number */
	EVENT_CASE_COUNT
};

#endif
