/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the JDK's own types about the machine, the program and the recording itself, where JMC
 * and the JDK's tools look for them; docs/recording.md has what each says here.
 *
 * Each chunk has all those that come with chunks, so that it can be read by itself. Used by the
 * worker thread, through recording.c.
 */
#ifndef WEFT_COLLECTOR_RECORDING_SYSTEM_H
#define WEFT_COLLECTOR_RECORDING_SYSTEM_H

#include "base/event_settings.h"

#include <weft/jfr.h>

#include <stddef.h>
#include <stdint.h>

struct process;
struct process_thread;
struct recording;
struct settings_text;

enum system_event {
	SYSTEM_ACTIVE_RECORDING,
	SYSTEM_OS_INFORMATION,
	SYSTEM_CPU_INFORMATION,
	SYSTEM_CPU_LOAD,
	SYSTEM_PHYSICAL_MEMORY,
	SYSTEM_NATIVE_LIBRARY,
	SYSTEM_ENVIRONMENT,
	SYSTEM_DATA_LOSS,
	SYSTEM_THREAD_START,
	SYSTEM_THREAD_END,
	SYSTEM_SHUTDOWN,
	SYSTEM_EVENT_COUNT
};

struct system_event_row {
	struct weft_jfr_type_def type;
	int enabled;
	uint64_t period_ns; /* a time or PERIOD_..._CHUNK (event_settings.h); 0 = it has none */
};

extern const struct system_event_row system_events[SYSTEM_EVENT_COUNT];

/* Names of the types to which recording_set() may apply: those of the table, then those of
 * coroutines; NULL behind the last. */
const char *recording_set_type(size_t i);

/* Takes effect at once, and with the next chunk for what comes with chunks. @period_ns is ignored
 * where the event has none; an event that only comes with chunks takes any time as
 * PERIOD_EVERY_CHUNK. */
void recording_set_system_event(struct recording *r, enum system_event event, int enabled,
				uint64_t period_ns);
int recording_system_enabled(const struct recording *r, enum system_event event); /* any thread */
/* Applies the lines of @text: 1 when something has changed; what they do not set stays as it is.
 * And what applies now, as jdk.ActiveSetting. */
int recording_system_apply(struct recording *r, enum system_event event,
			   const struct settings_text *text);
void recording_system_put_settings(struct recording *r, enum system_event event);

/* ---- for recording.c */

struct recording_system;

/* Declares the types. 0 or -errno. @root: "" but in tests. */
int recording_system_open(struct recording *r, const char *root);
void recording_system_free(struct recording_system *s); /* takes NULL */

/* To be called when a chunk has begun, before it ends, and before the last one ends. */
void recording_system_begin(struct recording *r, uint64_t now_ns);
void recording_system_end(struct recording *r, uint64_t now_ns);
void recording_system_finish(struct recording *r, uint64_t now_ns);
/* The chunk has reached the file; or it has not, and so many bytes are lost. */
void recording_system_settle(struct recording *r, int reached, uint64_t bytes);

void recording_system_join(struct recording *r, struct process *p);
void recording_system_leave(struct recording *r, struct process *p, uint64_t now_ns);

/* A row of records that were lost: at least so many bytes since the last row, and in all. */
void recording_system_loss(struct recording *r, uint64_t now_ns, uint64_t bytes, uint64_t total);
#endif
