/* SPDX-License-Identifier: Apache-2.0 */
/* The event types of a recording: see recording_types.h. */
#include "collector/write/recording_types.h"

#include "base/recording.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_MAX (RECORDING_WAIT_FIXED_FIELDS + COLUMNS_MAX)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *const category[] = {"weft", NULL};

#define START_TIME                                                                                 \
	{                                                                                          \
		"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, "Start Time", NULL                 \
	}
#define DURATION                                                                                   \
	{                                                                                          \
		"duration", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN, "Duration", NULL                     \
	}
#define EVENT_THREAD                                                                               \
	{                                                                                          \
		"eventThread", WEFT_JFR_THREAD, 0, "Event Thread", NULL                            \
	}
#define TEXT(name, label)                                                                          \
	{                                                                                          \
		name, WEFT_JFR_STRING, 0, label, NULL                                              \
	}
#define CONTEXT(name, label)                                                                       \
	{                                                                                          \
		name, WEFT_JFR_STRING, WEFT_JFR_CONTEXTUAL, label, NULL                            \
	}
#define NUMBER(name, label)                                                                        \
	{                                                                                          \
		name, WEFT_JFR_LONG, 0, label, NULL                                                \
	}

#define REAL(name, label)                                                                          \
	{                                                                                          \
		name, WEFT_JFR_DOUBLE, 0, label, NULL                                              \
	}

static const struct weft_jfr_field span_fields[RECORDING_SPAN_FIXED_FIELDS] = {
	START_TIME,
	DURATION,
	EVENT_THREAD,
	CONTEXT(RECORDING_FIELD_TRACE, "Trace Id"),
	CONTEXT(RECORDING_FIELD_SPAN, "Span Id"),
	CONTEXT(RECORDING_FIELD_ROOT_SPAN, "Root Span Id"),
};

static const struct weft_jfr_field inline_fields[RECORDING_INLINE_FIXED_FIELDS] = {
	START_TIME,
	EVENT_THREAD,
	{"stackTrace", WEFT_JFR_STACK, 0, "Stack Trace", NULL},
	{"state", WEFT_JFR_STATE, 0, "Thread State", NULL},
	CONTEXT(RECORDING_FIELD_TRACE, "Trace Id"),
	CONTEXT(RECORDING_FIELD_SPAN, "Span Id"),
	CONTEXT(RECORDING_FIELD_ROOT_SPAN, "Root Span Id"),
};

static const struct weft_jfr_field inline_wall_fields[RECORDING_INLINE_WALL_FIXED_FIELDS] = {
	START_TIME,
	EVENT_THREAD,
	{"stackTrace", WEFT_JFR_STACK, 0, "Stack Trace", NULL},
	{"state", WEFT_JFR_STATE, 0, "Thread State", NULL},
	{"samples", WEFT_JFR_INT, 0, "Samples", NULL},
	{"timeSpan", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN, "Time Span", NULL},
	CONTEXT(RECORDING_FIELD_TRACE, "Trace Id"),
	CONTEXT(RECORDING_FIELD_SPAN, "Span Id"),
	CONTEXT(RECORDING_FIELD_ROOT_SPAN, "Root Span Id"),
};

#define STACK_TRACE                                                                                \
	{                                                                                          \
		"stackTrace", WEFT_JFR_STACK, 0, "Stack Trace", NULL                               \
	}
#define SITE                                                                                       \
	{                                                                                          \
		RECORDING_FIELD_SITE, WEFT_JFR_LONG, WEFT_JFR_ADDRESS, "Suspended At", NULL        \
	}
#define FLAG(name, label)                                                                          \
	{                                                                                          \
		name, WEFT_JFR_BOOLEAN, 0, label, NULL                                             \
	}

static const struct weft_jfr_field run_fields[RECORDING_RUN_FIXED_FIELDS] = {
	START_TIME,
	DURATION,
	EVENT_THREAD,
	STACK_TRACE,
	NUMBER(RECORDING_FIELD_COROUTINE, "Coroutine"),
	SITE,
	FLAG(RECORDING_FIELD_LAST, "Is Last"),
	TEXT(RECORDING_FIELD_TRACE, "Trace Id"),
	TEXT(RECORDING_FIELD_SPAN, "Span Id"),
	TEXT(RECORDING_FIELD_ROOT_SPAN, "Root Span Id"),
};

static const struct weft_jfr_field wait_fields[RECORDING_WAIT_FIXED_FIELDS] = {
	START_TIME,
	DURATION,
	EVENT_THREAD,
	STACK_TRACE,
	NUMBER(RECORDING_FIELD_COROUTINE, "Coroutine"),
	SITE,
	FLAG(RECORDING_FIELD_FIRST, "Is First"),
	{RECORDING_FIELD_DELAY, WEFT_JFR_LONG, WEFT_JFR_TIMESPAN_NS, "Scheduling Delay", NULL},
	FLAG(RECORDING_FIELD_LAST, "Is Last"),
	TEXT(RECORDING_FIELD_TRACE, "Trace Id"),
	TEXT(RECORDING_FIELD_SPAN, "Span Id"),
	TEXT(RECORDING_FIELD_ROOT_SPAN, "Root Span Id"),
};

#define DURATION_NS(name, label)                                                                   \
	{                                                                                          \
		name, WEFT_JFR_LONG, WEFT_JFR_TIMESPAN_NS, label, NULL                             \
	}

static const struct weft_jfr_field thread_cpu_fields[] = {
	START_TIME,
	EVENT_THREAD,
	TEXT(RECORDING_FIELD_PROCESS, "Process"),
	DURATION_NS(RECORDING_FIELD_USED, "CPU Time Used"),
	DURATION_NS(RECORDING_FIELD_SEEN, "CPU Time Seen"),
	NUMBER(RECORDING_FIELD_SAMPLES, "Samples"),
	TEXT(RECORDING_FIELD_SOURCE, "Source"),
};

static const struct weft_jfr_field thread_time_fields[] = {
	START_TIME,
	EVENT_THREAD,
	TEXT(RECORDING_FIELD_PROCESS, "Process"),
	DURATION_NS(RECORDING_FIELD_PASSED, "Time Passed"),
	DURATION_NS(RECORDING_FIELD_RUNNING, "Running"),
	DURATION_NS(RECORDING_FIELD_WAITING, "Waiting for a CPU"),
	DURATION_NS(RECORDING_FIELD_BLOCKED, "Blocked"),
	DURATION_NS(RECORDING_FIELD_RUNNING_SEEN, "Running, Seen"),
	DURATION_NS(RECORDING_FIELD_WAITING_SEEN, "Waiting for a CPU, Seen"),
	DURATION_NS(RECORDING_FIELD_BLOCKED_SEEN, "Blocked, Seen"),
};

static const struct weft_jfr_field counter_fields[] = {
	START_TIME,
	TEXT(RECORDING_FIELD_PROCESS, "Process"),
	TEXT(RECORDING_FIELD_NAME, "Name"),
	TEXT(RECORDING_FIELD_KIND, "Kind"),
	NUMBER(RECORDING_FIELD_VALUE, "Value"),
};

static const struct weft_jfr_field histogram_fields[] = {
	START_TIME,
	TEXT(RECORDING_FIELD_PROCESS, "Process"),
	TEXT(RECORDING_FIELD_NAME, "Name"),
	{RECORDING_FIELD_UP_TO, WEFT_JFR_LONG, WEFT_JFR_TIMESPAN_NS, "Up To", NULL},
	NUMBER(RECORDING_FIELD_VALUE, "Value"),
};

static const struct weft_jfr_field recording_fields[] = {
	START_TIME,
	DURATION,
	TEXT(RECORDING_FIELD_ID, "Id"),
	TEXT(RECORDING_FIELD_VERSION, "Version"),
	TEXT(RECORDING_FIELD_COMMAND_LINE, "Command Line"),
	NUMBER(RECORDING_FIELD_PID, "Process Id"),
	{RECORDING_FIELD_PERIOD, WEFT_JFR_LONG, WEFT_JFR_TIMESPAN_NS, "Period", NULL},
	TEXT(RECORDING_FIELD_ENGINE, "Engine"),
};

static const struct weft_jfr_field process_fields[] = {
	START_TIME,
	DURATION,
	TEXT(RECORDING_FIELD_ID, "Id"),
	TEXT(RECORDING_FIELD_PROCESS, "Process"),
	NUMBER(RECORDING_FIELD_PID, "Process Id"),
	NUMBER(RECORDING_FIELD_PARENT_PID, "Parent Process Id"),
	TEXT(RECORDING_FIELD_COMMAND_LINE, "Command Line"),
	TEXT(RECORDING_FIELD_END, "End"),
};

static const struct weft_jfr_field clock_fields[] = {
	START_TIME,
	TEXT(RECORDING_FIELD_PROCESS, "Process"),
	TEXT(RECORDING_FIELD_CLOCK, "Clock"),
	TEXT(RECORDING_FIELD_REASON, "Reason"),
	NUMBER(RECORDING_FIELD_PERIOD, "Period in Nanoseconds"),
	NUMBER(RECORDING_FIELD_TICK, "Tick in Nanoseconds"),
	NUMBER(RECORDING_FIELD_LOOKS, "Random Looks"),
	TEXT(RECORDING_FIELD_MISJUDGED, "Misjudged"),
	REAL(RECORDING_FIELD_TICK_SHARE, "Share by Ticks"),
	REAL(RECORDING_FIELD_LOOK_SHARE, "Share by Looks"),
	REAL(RECORDING_FIELD_CHANCE, "Chance"),
	NUMBER(RECORDING_FIELD_CLOCKED, "CPU Clocks between Ticks in Nanoseconds"),
	NUMBER(RECORDING_FIELD_TICKED, "The Same by Ticks in Nanoseconds"),
};

static const struct weft_jfr_field module_fields[] = {
	START_TIME,
	TEXT(RECORDING_FIELD_PROCESS, "Process"),
	TEXT(RECORDING_FIELD_NAME, "Name"),
	TEXT(RECORDING_FIELD_PATH, "Path"),
	TEXT(RECORDING_FIELD_BUILD_ID, "Build Id"),
};

static const struct weft_jfr_field warning_fields[] = {
	START_TIME,
	TEXT(RECORDING_FIELD_MESSAGE, "Message"),
};

static struct weft_jfr_field column_field(const struct tag_columns *tags, size_t column,
					  unsigned int flags)
{
	const char *key = tags->key[column], *name = tags->name[column];

	return (struct weft_jfr_field){name, WEFT_JFR_STRING, flags | (key ? WEFT_JFR_KEY : 0),
				       key ? key : name, NULL};
}

/* @flags: of the fields of tags. @but: 1 + a column that is left out. */
static struct weft_jfr_type *declare_with_columns(struct weft_jfr_writer *w,
						  const struct tag_columns *tags,
						  const struct weft_jfr_type_def *some,
						  unsigned int flags, size_t but)
{
	struct weft_jfr_type_def def = *some;
	struct weft_jfr_field field[FIELD_MAX];

	memcpy(field, def.fields, def.field_count * sizeof(*field));
	for (size_t i = 0; i < tags->count; i++)
		if (i + 1 != but)
			field[def.field_count++] = column_field(tags, i, flags);
	def.fields = field;
	def.category = category;
	return weft_jfr_type(w, &def);
}

static struct weft_jfr_type *declare_with_tags(struct weft_jfr_writer *w,
					       const struct tag_columns *tags,
					       const struct weft_jfr_type_def *def)
{
	return declare_with_columns(w, tags, def, WEFT_JFR_CONTEXTUAL, 0);
}

struct weft_jfr_type *declare_span(struct weft_jfr_writer *w, const struct tag_columns *tags)
{
	struct weft_jfr_type_def def = {
		.name = RECORDING_SPAN,
		.label = "Span",
		.description = "From the first to the last sample of one context on a thread",
		.flags = WEFT_JFR_TYPE_CONTEXTUAL,
		.fields = span_fields,
		.field_count = RECORDING_SPAN_FIXED_FIELDS,
	};

	return declare_with_tags(w, tags, &def);
}

/* As those of the samples that these stand for: of standard types. */
static const struct weft_jfr_type_setting sample_settings[] = {
	{"enabled", "true"}, {"period", NULL}, {"select", "all"}};

struct weft_jfr_type *declare_inline_sample(struct weft_jfr_writer *w,
					    const struct tag_columns *tags)
{
	struct weft_jfr_type_def def = {
		.name = RECORDING_INLINE_SAMPLE,
		.label = "Execution Sample with Context",
		.fields = inline_fields,
		.field_count = RECORDING_INLINE_FIXED_FIELDS,
		.settings = sample_settings,
		.setting_count = COUNT_OF(sample_settings),
	};

	return declare_with_tags(w, tags, &def);
}

struct weft_jfr_type *declare_inline_wall(struct weft_jfr_writer *w, const struct tag_columns *tags)
{
	struct weft_jfr_type_def def = {
		.name = RECORDING_INLINE_WALL_SAMPLE,
		.label = "Wall Clock Sample with Context",
		.fields = inline_wall_fields,
		.field_count = RECORDING_INLINE_WALL_FIXED_FIELDS,
		.settings = sample_settings,
		.setting_count = COUNT_OF(sample_settings),
	};

	return declare_with_tags(w, tags, &def);
}

static const struct weft_jfr_type_setting switch_settings[] = {
	{"enabled", "true"}, {"threshold", "0 ns"}, {"select", "all"}};

struct weft_jfr_type *declare_coroutine_run(struct weft_jfr_writer *w,
					    const struct tag_columns *tags)
{
	struct weft_jfr_type_def def = {
		.name = RECORDING_COROUTINE_RUN,
		.label = "Coroutine Run",
		.description = "A coroutine ran, from its resumption to where it suspended",
		.fields = run_fields,
		.field_count = RECORDING_RUN_FIXED_FIELDS,
		.settings = switch_settings,
		.setting_count = COUNT_OF(switch_settings),
	};

	return declare_with_columns(w, tags, &def, 0, tags->coroutine);
}

struct weft_jfr_type *declare_coroutine_wait(struct weft_jfr_writer *w,
					     const struct tag_columns *tags)
{
	struct weft_jfr_type_def def = {
		.name = RECORDING_COROUTINE_WAIT,
		.label = "Coroutine Wait",
		.description = "A coroutine was suspended, until the thread resumed it",
		.fields = wait_fields,
		.field_count = RECORDING_WAIT_FIXED_FIELDS,
		.settings = switch_settings,
		.setting_count = COUNT_OF(switch_settings),
	};

	return declare_with_columns(w, tags, &def, 0, tags->coroutine);
}

#define FIELDS(fields) fields, COUNT_OF(fields)

static const struct {
	const char *name, *label;
	const struct weft_jfr_field *fields;
	size_t field_count;
} plain[] = {
	[PLAIN_THREAD_CPU] = {RECORDING_THREAD_CPU, "Thread CPU Time", FIELDS(thread_cpu_fields)},
	[PLAIN_THREAD_TIME] = {RECORDING_THREAD_TIME, "Thread Time", FIELDS(thread_time_fields)},
	[PLAIN_COUNTER] = {RECORDING_COUNTER, "Counter", FIELDS(counter_fields)},
	[PLAIN_HISTOGRAM] = {RECORDING_HISTOGRAM, "Histogram", FIELDS(histogram_fields)},
	[PLAIN_RECORDING] = {RECORDING_RECORDING, "Recording", FIELDS(recording_fields)},
	[PLAIN_PROCESS] = {RECORDING_PROCESS, "Process", FIELDS(process_fields)},
	[PLAIN_CLOCK] = {RECORDING_CLOCK, "Clock", FIELDS(clock_fields)},
	[PLAIN_MODULE] = {RECORDING_MODULE, "Module", FIELDS(module_fields)},
	[PLAIN_WARNING] = {RECORDING_WARNING, "Warning", FIELDS(warning_fields)},
};

struct weft_jfr_type *declare_plain(struct weft_jfr_writer *w, enum plain_type which)
{
	struct weft_jfr_type_def def = {
		.name = plain[which].name,
		.label = plain[which].label,
		.category = category,
		.fields = plain[which].fields,
		.field_count = plain[which].field_count,
	};

	return weft_jfr_type(w, &def);
}

void tag_columns_free(struct tag_columns *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->name[i]);
		free(c->key[i]);
	}
	c->count = c->labels = c->coroutine = 0;
}

static int has_field(const struct weft_jfr_field *fields, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(fields[i].name, name) == 0)
			return 1;
	return 0;
}

static int is_fixed_field(const char *name)
{
	return has_field(span_fields, COUNT_OF(span_fields), name) ||
	       has_field(inline_wall_fields, COUNT_OF(inline_wall_fields), name) ||
	       has_field(run_fields, COUNT_OF(run_fields), name) ||
	       has_field(wait_fields, COUNT_OF(wait_fields), name);
}

static int is_identifier_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Where it stands; -1: nowhere. */
static int field_at(const struct tag_columns *c, const char *field)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->name[i], field) == 0)
			return (int)i;
	return -1;
}

static int recording_types_is_taken(const struct tag_columns *c, const char *field)
{
	return is_fixed_field(field) || field_at(c, field) >= 0;
}

/* @name as an identifier behind @prefix. The caller frees it; NULL: out of memory. */
static char *identifier(const char *prefix, const char *name)
{
	char *out = malloc(strlen(prefix) + strlen(name) + 1);
	char *at = out;

	if (!out)
		return NULL;
	at = stpcpy(at, prefix);
	for (; *name; name++)
		*at++ = is_identifier_byte(*name) ? *name : '_';
	*at = 0;
	return out;
}

static int needs_prefix(const char *name)
{
	return !name[0] || isdigit((unsigned char)name[0]) || is_fixed_field(name);
}

static int is_of_label(const struct tag_columns *c, const char *field)
{
	int i = field_at(c, field);

	return i >= 0 && c->key[i] != NULL;
}

/* Takes @field and @key over. */
static int recording_types_add_column(struct tag_columns *c, char *field, char *key)
{
	c->name[c->count] = field;
	c->key[c->count] = key;
	c->labels += key != NULL;
	return (int)c->count++;
}

int tag_columns_find(struct tag_columns *c, const char *name)
{
	char *field = identifier(needs_prefix(name) ? "tag_" : "", name);
	int at;

	if (field && is_of_label(c, field)) {
		free(field);
		field = identifier("tag_", name);
	}
	if (!field)
		return -ENOMEM;
	at = field_at(c, field);
	if (at >= 0 || c->count - c->labels - (c->coroutine != 0) == TAG_COLUMNS_MAX) {
		free(field);
		return at >= 0 && !c->key[at] ? at : -ENOSPC;
	}
	return recording_types_add_column(c, field, NULL);
}

/* No tag or label has its name: that of a fixed field, of other types. */
int coroutine_column_find(struct tag_columns *c)
{
	char *field = c->coroutine ? NULL : strdup(RECORDING_FIELD_COROUTINE);

	if (!c->coroutine && field)
		c->coroutine = 1 + (size_t)recording_types_add_column(c, field, NULL);
	return c->coroutine ? (int)c->coroutine - 1 : -ENOMEM;
}

static char *recording_types_label_field(const struct tag_columns *c, const char *key)
{
	char *field = identifier(needs_prefix(key) ? "label_" : "", key), *numbered;

	if (field && recording_types_is_taken(c, field)) {
		free(field);
		field = identifier("label_", key);
	}
	for (unsigned int n = 2; field && recording_types_is_taken(c, field); n++) {
		free(field);
		if (asprintf(&numbered, "label_%s_%u", key, n) < 0)
			return NULL;
		field = identifier("", numbered);
		free(numbered);
	}
	return field;
}

int label_columns_find(struct tag_columns *c, const char *key)
{
	char *field, *copy;

	for (size_t i = 0; i < c->count; i++)
		if (c->key[i] && strcmp(c->key[i], key) == 0)
			return (int)i;
	if (c->labels == LABEL_COLUMNS_MAX)
		return -ENOSPC;
	field = recording_types_label_field(c, key);
	copy = strdup(key);
	if (field && copy)
		return recording_types_add_column(c, field, copy);
	free(field);
	free(copy);
	return -ENOMEM;
}
