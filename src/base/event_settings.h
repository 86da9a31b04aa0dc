/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of an event type: their names, how their values are parsed, which lines of a text apply
 * to a type. No allocation, no libc state: used in the target (when a type is registered), in the
 * collector, and to filter a recording afterwards.
 *
 * 	enabled     true | false
 * 	threshold   "20 ms" (ns us ms s m h d), "0 ns"; "infinity"
 * 	throttle    "100/s" (/ns /us /ms /s /m /h /d) | "10 ms": one in each | off
 * 	stackTrace  true | false
 * 	select      all | if-context | if-triggered
 * 	period      a timespan | everyChunk | beginChunk | endChunk
 *
 * A line is "GLOB#SETTING=VALUE\n"; `*` and `?` in GLOB; a GLOB without a dot also matches the part
 * of a type's name after its last dot. Of several lines for one setting the last counts. Names and
 * values are compared without regard to case, GLOB is not.
 */
#ifndef WEFT_BASE_EVENT_SETTINGS_H
#define WEFT_BASE_EVENT_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

enum event_setting {
	SETTING_ENABLED,
	SETTING_THRESHOLD,
	SETTING_THROTTLE,
	SETTING_STACK_TRACE,
	SETTING_SELECT,
	SETTING_PERIOD,
	SETTING_COUNT
};

enum event_select { SELECT_ALL, SELECT_IF_CONTEXT, SELECT_IF_TRIGGERED };

/* SETTING_PERIOD: values of period_ns that are no times. */
#define PERIOD_EVERY_CHUNK UINT64_MAX
#define PERIOD_BEGIN_CHUNK (UINT64_MAX - 1)
#define PERIOD_END_CHUNK (UINT64_MAX - 2)

struct event_settings {
	uint32_t given; /* bit per enum event_setting: it was set by a line */
	/* likewise: a line's value was wrong; the previous value stays, but a wrong select becomes
	 * all */
	uint32_t wrong;
	int enabled, stack_trace;
	uint64_t threshold_ns;                       /* UINT64_MAX = infinity */
	uint64_t throttle_count, throttle_window_ns; /* window 0 = off */
	enum event_select select;
	uint64_t period_ns;
};

/* "enabled", ...; NULL after the last. */
const char *weft_setting_name(enum event_setting setting);
/* -ENOENT: no such setting. */
int weft_setting_find(const char *name, size_t bytes);
/* 0; -EINVAL: @value does not fit the setting (@s is changed as `wrong` says). */
int weft_setting_put(struct event_settings *s, enum event_setting setting, const char *value,
		     size_t bytes);
/* The value as text, as recordings have it. Returns its length; room >= 48. */
size_t weft_setting_text(const struct event_settings *s, enum event_setting setting, char *room,
			 size_t room_bytes);
/* A range of text. */
struct setting_text {
	const char *at;
	size_t bytes;
};

/* The parts of a line as they stand, one behind the other. */
struct setting_line {
	struct setting_text glob, name, value;
};

struct setting_text weft_setting_trimmed(struct setting_text text); /* without blanks around it */
/* A timespan, "20 ms": 0, or -EINVAL. What a number without a unit counts: @bare_ns; 0: none is
 * one. */
int weft_setting_time(struct setting_text text, uint64_t bare_ns, uint64_t *out_ns);
/* Splits a line, without its end, at the first '#' and the '=' behind it: 0, or -EINVAL. */
int weft_setting_split(const char *line, size_t bytes, struct setting_line *out);
/* Splits the line at *at, which moves behind it: 1; 0: @text is at its end; -EINVAL: no setting. */
int weft_setting_line(const char *text, size_t bytes, size_t *at, struct setting_line *out);
/* Applies all lines for @event, in order. Malformed lines and unknown settings are skipped. */
void weft_settings_apply(struct event_settings *s, const char *event, const char *text,
			 size_t bytes);
/* Does GLOB match the type's name? */
int weft_setting_glob(const char *glob, size_t bytes, const char *event);
/* Does GLOB match @text as a whole? */
int weft_setting_glob_whole(const char *glob, size_t bytes, const char *text);
/* Have both the same values (whoever set them)? */
static inline int event_settings_equal(const struct event_settings *a,
				       const struct event_settings *b)
{
	return a->enabled == b->enabled && a->stack_trace == b->stack_trace &&
	       a->threshold_ns == b->threshold_ns && a->throttle_count == b->throttle_count &&
	       a->throttle_window_ns == b->throttle_window_ns && a->select == b->select &&
	       a->period_ns == b->period_ns;
}
/* A select that is not allowed for this kind of type becomes all; then returns 1. */
int weft_settings_settle(struct event_settings *s, int is_contextual);

#endif
