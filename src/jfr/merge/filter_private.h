/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a filter share: rules of types, and the events whose turn has not come. */
#ifndef WEFT_JFR_FILTER_PRIVATE_H
#define WEFT_JFR_FILTER_PRIVATE_H

#include "base/event_settings.h"
#include "jfr/common/arena.h"
#include "jfr/join/chunk_ends.h"
#include "jfr/join/join.h"
#include "jfr/merge/filter.h"

#include <stddef.h>
#include <stdint.h>

struct map;

/* Of a class of a file. */
struct filter_rule {
	const struct weft_jfr_class *class;
	struct event_settings settings;
	struct filter_rate *rate; /* of its type's name */
	int thread;               /* index of the field that tells it; -1 = none */
	uint8_t contextual, lasts, triggers;
};

struct filter_rate {
	int64_t window;
	uint64_t used;
};

struct filter_event {
	int64_t begin, end;
	uint64_t thread; /* 0 = none */
	struct filter_rule *rule;
	uint64_t number; /* in the file, from 0 */
	int in_context;
};

struct filter_thread {
	int64_t kept_end;   /* of the last event that was kept and is not contextual */
	int64_t kept_begin; /* the latest begin of a contextual one */
};

struct filter_events {
	struct filter_event *event;
	size_t count, room;
};

struct filter {
	const char *lines;
	size_t line_bytes;
	void (*wrong_select)(const char *event, void *arg);
	void *arg;
	int needs_order; /* select or throttle are in force */

	/* of the recording that is being read */
	struct map *rules;            /* class -> rule */
	struct map *rates;            /* name of a type -> its rate */
	struct map *threads;          /* key -> struct filter_thread */
	struct arena memory;          /* of these */
	struct chunk_ends ends;       /* of events that matter to others */
	struct join contexts;         /* for the events of the chunk, and of later ones */
	struct filter_events fresh;   /* events of the chunk being read */
	struct filter_events waiting; /* a heap: whose turn has not come */
	uint8_t *wanted;              /* a bit for each event: it is kept */
	uint64_t event_count, wanted_bytes;
	uint64_t number; /* of the next event that filter_wants() is asked for */
};

/* filter_rule.c */
struct filter_rule *filter_rule(struct filter *f, const struct weft_jfr_reader *r,
				const struct weft_jfr_class *class);
uint64_t filter_thread_key(const struct weft_jfr_reader *r, const struct filter_rule *rule,
			   const struct weft_jfr_event_view *view);
/* Classes are a reader's: before another is read all rules go. 0 or -ENOMEM. */
int filter_forget_rules(struct filter *f);

/* filter_order.c */
int filter_events_add(struct filter_events *events, const struct filter_event *e);
int filter_wait(struct filter *f, const struct filter_event *e); /* 0 or -ENOMEM */
/* Decides the events that end before @before, or @all, in order; the rest stays. 0 or -ENOMEM. */
int filter_decide(struct filter *f, int64_t before, int all);

#endif
