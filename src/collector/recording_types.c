/* SPDX-License-Identifier: Apache-2.0 */
/* The event types of a recording: see recording_types.h. */
#include "collector/recording_types.h"

#include "base/recording.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_MAX (RECORDING_INLINE_FIXED_FIELDS + TAG_COLUMNS_MAX)
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

static const struct weft_jfr_field module_fields[] = {
	START_TIME,
	TEXT(RECORDING_FIELD_PROCESS, "Process"),
	TEXT(RECORDING_FIELD_NAME, "Name"),
	TEXT(RECORDING_FIELD_PATH, "Path"),
	TEXT(RECORDING_FIELD_BUILD_ID, "Build Id"),
};

static struct weft_jfr_type *declare(struct weft_jfr_writer *w, const char *name, const char *label,
				     const struct weft_jfr_field *fields, size_t count)
{
	struct weft_jfr_type_def def = {
		.name = name,
		.label = label,
		.category = category,
		.fields = fields,
		.field_count = count,
	};

	return weft_jfr_type(w, &def);
}

static struct weft_jfr_type *declare_with_tags(struct weft_jfr_writer *w,
					       const struct tag_columns *tags,
					       const struct weft_jfr_type_def *some)
{
	struct weft_jfr_type_def def = *some;
	struct weft_jfr_field field[FIELD_MAX];
	size_t fixed = def.field_count;

	memcpy(field, def.fields, fixed * sizeof(*field));
	for (size_t i = 0; i < tags->count; i++)
		field[fixed + i] = (struct weft_jfr_field)CONTEXT(tags->name[i], tags->name[i]);
	def.fields = field;
	def.field_count = fixed + tags->count;
	def.category = category;
	return weft_jfr_type(w, &def);
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

struct weft_jfr_type *declare_inline_sample(struct weft_jfr_writer *w,
					    const struct tag_columns *tags)
{
	struct weft_jfr_type_def def = {
		.name = RECORDING_INLINE_SAMPLE,
		.label = "Execution Sample with Context",
		.fields = inline_fields,
		.field_count = RECORDING_INLINE_FIXED_FIELDS,
	};

	return declare_with_tags(w, tags, &def);
}

struct weft_jfr_type *declare_counter(struct weft_jfr_writer *w)
{
	return declare(w, RECORDING_COUNTER, "Counter", counter_fields, COUNT_OF(counter_fields));
}

struct weft_jfr_type *declare_histogram(struct weft_jfr_writer *w)
{
	return declare(w, RECORDING_HISTOGRAM, "Histogram", histogram_fields,
		       COUNT_OF(histogram_fields));
}

struct weft_jfr_type *declare_recording(struct weft_jfr_writer *w)
{
	return declare(w, RECORDING_RECORDING, "Recording", recording_fields,
		       COUNT_OF(recording_fields));
}

struct weft_jfr_type *declare_process(struct weft_jfr_writer *w)
{
	return declare(w, RECORDING_PROCESS, "Process", process_fields, COUNT_OF(process_fields));
}

struct weft_jfr_type *declare_module(struct weft_jfr_writer *w)
{
	return declare(w, RECORDING_MODULE, "Module", module_fields, COUNT_OF(module_fields));
}

void tag_columns_free(struct tag_columns *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->name[i]);
	c->count = 0;
}

static int is_fixed_field(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(span_fields); i++)
		if (strcmp(span_fields[i].name, name) == 0)
			return 1;
	for (size_t i = 0; i < COUNT_OF(inline_fields); i++)
		if (strcmp(inline_fields[i].name, name) == 0)
			return 1;
	return 0;
}

static int is_identifier_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static char *field_name(const char *name)
{
	int prefix = !name[0] || isdigit((unsigned char)name[0]) || is_fixed_field(name);
	char *out = malloc(strlen(name) + sizeof("tag_"));
	char *at = out;

	if (!out)
		return NULL;
	if (prefix)
		at = stpcpy(at, "tag_");
	for (; *name; name++)
		*at++ = is_identifier_byte(*name) ? *name : '_';
	*at = 0;
	return out;
}

int tag_columns_find(struct tag_columns *c, const char *name)
{
	char *field = field_name(name);

	if (!field)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++) {
		if (strcmp(c->name[i], field) == 0) {
			free(field);
			return (int)i;
		}
	}
	if (c->count == TAG_COLUMNS_MAX) {
		free(field);
		return -ENOSPC;
	}
	c->name[c->count] = field;
	return (int)c->count++;
}
