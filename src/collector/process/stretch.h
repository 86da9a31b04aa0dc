/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two small pieces of arithmetic over the samples of one thread, in the order in which they
 * were taken. Pure: no memory, no clock.
 *
 * A stretch is a row of consecutive samples with the same context: it becomes one weft.Span,
 * from its first to its last sample: the same ids, coroutine, tags and labels. A sample without
 * context ends it, for whatever reason it has none: nothing may attribute it to the span before.
 *
 * A sample of weight n stands for n periods of CPU time. The file gets n events: spread
 * backward from the time of the sample, a period apart where there is room, and all after
 * the thread's previous sample. Where its context is new all events have the sample's
 * own time: the context may have been set just before.
 */
#ifndef WEFT_COLLECTOR_STRETCH_H
#define WEFT_COLLECTOR_STRETCH_H

#include <weft/abi/session.h>

struct context_key {
	uint64_t span_id, root_span_id;
	uint64_t coroutine;   /* 0 = none ran */
	uint8_t trace_id[16]; /* zeros = none */
	uint32_t tags[WEFT_CONTEXT_V1_TAGS];
	uint32_t labels; /* a number of label_sets.h; 0 = none */
	uint32_t rsv;    /* 0: keys are compared by their bytes */
};

struct stretch {
	struct context_key key;
	uint64_t first_ns, last_ns;
	int open;
};

/*
 * The context of a sample whose labels are @labels, a number of label_sets.h; false when it has
 * none. Labels are one by themselves, and so is a coroutine, also of a sample whose ids were being
 * written.
 */
int context_of_sample(const struct weft_sample_record *sample, uint32_t labels,
		      struct context_key *out);

/*
 * stretch_add() - a sample with the context @key (NULL = none), whose events lie between
 * @first_ns and @last_ns. Returns 1 when that ended the stretch before, which is copied to
 * @ended; 0 when not.
 */
int stretch_add(struct stretch *s, const struct context_key *key, uint64_t first_ns,
		uint64_t last_ns, struct stretch *ended);

/* Would a sample with this context go on with the open stretch? */
int stretch_continues(const struct stretch *s, const struct context_key *key);

/* End it: 1 and a copy when one was open. */
int stretch_end(struct stretch *s, struct stretch *ended);

/* Where the events of one sample lie: time of event i = first_ns + i * step_ns. */
struct spread {
	uint64_t first_ns, step_ns;
	uint32_t count;
};

/* More than this many events for one sample would say more about a stopped machine than
 * about the program; the caller counts the rest. */
#define SPREAD_MAX 100000

/* No event lies before @previous_ns: the time of the thread's previous sample, else of its
 * beginning; 0 = not known. */
struct spread spread_weight(uint64_t time_ns, uint32_t weight, uint64_t period_ns,
			    uint64_t previous_ns);

#endif
