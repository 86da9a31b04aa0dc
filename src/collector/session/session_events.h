/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed events of a session, on the drain thread: what types its program has defined, their
 * settings and rows, the text that types to come will obey, and whether an event is sound.
 *
 * The worker hears of a type, and of settings that change, by BATCH_TYPE: before any event of it.
 */
#ifndef WEFT_COLLECTOR_SESSION_EVENTS_H
#define WEFT_COLLECTOR_SESSION_EVENTS_H

#include "collector/process/process.h"
#include "collector/session/event_types.h"
#include "collector/session/settings_text.h"
#include "collector/session/tsc_clock.h"

struct checked_event;
struct queue;
struct session;

/* Why a record of a ring is refused. */
enum record_fault {
	RECORD_SOUND = 0,
	RECORD_MALFORMED, /* a length or a type that cannot be, or another generation's */
	RECORD_MISTIMED,  /* newer than the clock after it was read, or older than the process */
};

struct session_type {
	struct event_type *def; /* NULL = no such type */
	struct event_settings settings;
	int is_told; /* the worker has heard of it */
};

struct session_events {
	struct session_type *type; /* [WEFT_EVENT_TYPES_MAX]; NULL = there are none yet */
	uint64_t log_position;
	uint64_t types_refused;
	size_t untold;             /* types that the worker has not heard of */
	struct settings_text text; /* what applies here */
	struct event_settings sample[WEFT_EVENT_ROW_WALL + 1]; /* of the rows of samples */
	uint32_t warned; /* a bit for each of these rows: its select was found wrong */
	int is_told, is_off;
};

/* The data of BATCH_TYPE: settings that apply from here on; a new type's definition follows. */
struct type_word {
	uint32_t number; /* of a type, or enum weft_event_row_number */
	uint32_t wrong_select;
	struct event_settings settings;
};

/* What every session is begun with. */
struct event_options {
	const struct settings_text *text; /* of the recording */
	const struct tsc_clock *clock;
	uint32_t engines;       /* whose samples are written */
	int has_inline_context; /* samples have the types of such in the file */
};

/* Called before the session records: publishes the text, and the rows of samples and of the types
 * that are there. 0 or -ENOMEM. */
int session_events_begin(struct session *s, const struct event_options *o);
void session_events_free(struct session *s);

/* All rows off: the recording is over for it. */
void session_events_off(struct session *s);

/* Read what is new in the log, and fill the rows of new types; tell the worker of these. */
void session_events_read(struct session *s);
void session_events_tell(struct session *s, struct queue *q);

/* More lines for the session, at once; @changed is told which types have changed, samples among
 * them. 0, -ENOSPC, -ENOMEM. */
int session_events_set(struct session *s, struct queue *q, const char *lines, size_t bytes,
		       void (*changed)(void *arg, const char *name), void *arg);

/* Tell the program which clock it is to use. */
void session_events_clock(struct session *s);

/* Names of the types of samples, by row. */
extern const char *const session_sample_names[];

/* Which samples a row's settings ask for. */
enum samples_choice samples_choice_of(const struct event_settings *s);

/* Is an event what it must be? Fills in what stands before it. */
enum record_fault session_event_fault(struct checked_event *event, struct session *s);

#endif
