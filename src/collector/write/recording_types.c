/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event types of a recording, weft's and the JDK's, as tables; and the columns of tags and
 * labels: see recording_types.h. Names, kinds and order of the fields of jdk.* types are those of
 * the JDK, but for duration, eventThread and stackTrace of jdk.ActiveRecording, which later JDKs
 * left out.
 */
#include "collector/write/recording_types.h"

#include "base/clock.h"
#include "base/recording.h"
#include "collector/write/recording_system.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_MAX (RECORDING_WAIT_FIXED_FIELDS + COLUMNS_MAX)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* clang-format off */
#define START_TIME { "startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, "Start Time", NULL }
#define DURATION { "duration", WEFT_JFR_LONG, WEFT_JFR_TIMESPAN, "Duration", NULL }
#define EVENT_THREAD THREAD("eventThread", "Event Thread")
#define STACK_TRACE { "stackTrace", WEFT_JFR_STACK, 0, "Stack Trace", NULL }
#define STATE { "state", WEFT_JFR_STATE, 0, "Thread State", NULL }
#define TEXT(name, label) { name, WEFT_JFR_STRING, 0, label, NULL }
#define CONTEXT(name, label) { name, WEFT_JFR_STRING, WEFT_JFR_CONTEXTUAL, label, NULL }
#define LONG(name, flags, label) { name, WEFT_JFR_LONG, flags, label, NULL }
#define NUMBER(name, label) LONG(name, 0, label)
#define DURATION_NS(name, label) LONG(name, WEFT_JFR_TIMESPAN_NS, label)
#define REAL(name, label) { name, WEFT_JFR_DOUBLE, 0, label, NULL }
#define FLAG(name, label) { name, WEFT_JFR_BOOLEAN, 0, label, NULL }
#define COUNT(name, label) { name, WEFT_JFR_INT, WEFT_JFR_UNSIGNED, label, NULL }
#define SHARE(name, label) { name, WEFT_JFR_FLOAT, WEFT_JFR_PERCENTAGE, label, NULL }
#define THREAD(name, label) { name, WEFT_JFR_THREAD, 0, label, NULL }
#define IDS(kind) kind(RECORDING_FIELD_TRACE, "Trace Id"), kind(RECORDING_FIELD_SPAN, "Span Id"), \
		  kind(RECORDING_FIELD_ROOT_SPAN, "Root Span Id")

static const struct weft_jfr_field span_fields[RECORDING_SPAN_FIXED_FIELDS] = {
	START_TIME, DURATION, EVENT_THREAD, IDS(CONTEXT)};

static const struct weft_jfr_field inline_fields[RECORDING_INLINE_FIXED_FIELDS] = {
	START_TIME, EVENT_THREAD, STACK_TRACE, STATE, IDS(CONTEXT)};

static const struct weft_jfr_field inline_wall_fields[RECORDING_INLINE_WALL_FIXED_FIELDS] = {
	START_TIME, EVENT_THREAD, STACK_TRACE, STATE,
	{ "samples", WEFT_JFR_INT, 0, "Samples", NULL },
	LONG("timeSpan", WEFT_JFR_TIMESPAN, "Time Span"),
	IDS(CONTEXT)};

#define SITE LONG(RECORDING_FIELD_SITE, WEFT_JFR_ADDRESS, "Suspended At")
#define COROUTINE NUMBER(RECORDING_FIELD_COROUTINE, "Coroutine")

static const struct weft_jfr_field run_fields[RECORDING_RUN_FIXED_FIELDS] = {
	START_TIME, DURATION, EVENT_THREAD, STACK_TRACE, COROUTINE, SITE,
	FLAG(RECORDING_FIELD_LAST, "Is Last"),
	IDS(TEXT)};

static const struct weft_jfr_field wait_fields[RECORDING_WAIT_FIXED_FIELDS] = {
	START_TIME, DURATION, EVENT_THREAD, STACK_TRACE, COROUTINE, SITE,
	FLAG(RECORDING_FIELD_FIRST, "Is First"),
	DURATION_NS(RECORDING_FIELD_DELAY, "Scheduling Delay"),
	FLAG(RECORDING_FIELD_LAST, "Is Last"),
	IDS(TEXT)};

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
	DURATION_NS(RECORDING_FIELD_UP_TO, "Up To"),
	NUMBER(RECORDING_FIELD_VALUE, "Value"),
};

static const struct weft_jfr_field recording_fields[] = {
	START_TIME,
	DURATION,
	TEXT(RECORDING_FIELD_ID, "Id"),
	TEXT(RECORDING_FIELD_VERSION, "Version"),
	TEXT(RECORDING_FIELD_COMMAND_LINE, "Command Line"),
	NUMBER(RECORDING_FIELD_PID, "Process Id"),
	DURATION_NS(RECORDING_FIELD_PERIOD, "Period"),
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

static const struct weft_jfr_field resource_fields[] = {
	START_TIME,
	TEXT(RECORDING_FIELD_PROCESS, "Process"),
	TEXT(RECORDING_FIELD_KEY, "Key"),
	TEXT(RECORDING_FIELD_VALUE, "Value"),
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

static const struct weft_jfr_field active_recording[] = {
	START_TIME,
	LONG("id", 0, "Id"),
	TEXT("name", "Name"),
	TEXT("destination", "Destination"),
	{ "disk", WEFT_JFR_BOOLEAN, 0, "To Disk", NULL },
	LONG("maxAge", WEFT_JFR_TIMESPAN_MS, "Max Age"),
	LONG("flushInterval", WEFT_JFR_TIMESPAN_MS, "Flush Interval"),
	LONG("maxSize", WEFT_JFR_BYTES, "Max Size"),
	LONG("recordingStart", WEFT_JFR_TIMESTAMP_MS, "Start Time"),
	LONG("recordingDuration", WEFT_JFR_TIMESPAN_MS, "Recording Duration"),
};
static const struct weft_jfr_field os_information[] = {START_TIME, TEXT("osVersion", "OS Version")};
static const struct weft_jfr_field cpu_information[] = {
	START_TIME,
	TEXT("cpu", "Type"),
	TEXT("description", "Description"),
	COUNT("sockets", "Sockets"),
	COUNT("cores", "Cores"),
	COUNT("hwThreads", "Hardware Threads"),
};
static const struct weft_jfr_field cpu_load[] = {
	START_TIME,
	SHARE("jvmUser", "JVM User"),
	SHARE("jvmSystem", "JVM System"),
	SHARE("machineTotal", "Machine Total"),
};
static const struct weft_jfr_field physical_memory[] = {
	START_TIME,
	LONG("totalSize", WEFT_JFR_UNSIGNED | WEFT_JFR_BYTES, "Total Size"),
	LONG("usedSize", WEFT_JFR_UNSIGNED | WEFT_JFR_BYTES, "Used Size"),
};
static const struct weft_jfr_field native_library[] = {
	START_TIME,
	TEXT("name", "Name"),
	LONG("baseAddress", WEFT_JFR_UNSIGNED | WEFT_JFR_ADDRESS, "Base Address"),
	LONG("topAddress", WEFT_JFR_UNSIGNED | WEFT_JFR_ADDRESS, "Top Address"),
};
static const struct weft_jfr_field environment[] = {
	START_TIME, TEXT("key", "Key"), TEXT("value", "Value")};
static const struct weft_jfr_field data_loss[] = {
	START_TIME,
	LONG("amount", WEFT_JFR_UNSIGNED | WEFT_JFR_BYTES, "Amount"),
	LONG("total", WEFT_JFR_UNSIGNED | WEFT_JFR_BYTES, "Total"),
};
static const struct weft_jfr_field thread_start[] = {
	START_TIME, EVENT_THREAD, STACK_TRACE,
	THREAD("thread", "New Java Thread"),
	THREAD("parentThread", "Parent Java Thread"),
};
static const struct weft_jfr_field thread_end[] = {
	START_TIME, EVENT_THREAD, THREAD("thread", "Java Thread")};
static const struct weft_jfr_field shutdown_fields[] = {
	START_TIME, EVENT_THREAD, STACK_TRACE, TEXT("reason", "Reason")};

static const struct weft_jfr_type_setting sample_settings[] = {
	{ "enabled", "true" }, { "period", NULL }, { "select", "all" }};
static const struct weft_jfr_type_setting switch_settings[] = {
	{ "enabled", "true" }, { "threshold", "0 ns" }, { "select", "all" }};

static const char *const weft[] = {"weft", NULL};
static const char *const recorder[] = {"Flight Recorder", NULL};
static const char *const os[] = {"Operating System", NULL};
static const char *const processor[] = {"Operating System", "Processor", NULL};
static const char *const memory[] = {"Operating System", "Memory", NULL};
static const char *const runtime[] = {"Java Virtual Machine", "Runtime", NULL};
static const char *const application[] = {"Java Application", NULL};

#define TYPE(name_, label_, text_, category_, fields_)                                              \
	.name = name_, .label = label_, .description = text_, .category = category_,               \
	.fields = fields_, .field_count = COUNT_OF(fields_)
#define PLAIN(name, label, fields) { TYPE(name, label, NULL, weft, fields) }
#define SETTINGS(of) .settings = of, .setting_count = COUNT_OF(of)

static const struct weft_jfr_type_def types[] = {
	[TYPE_THREAD_CPU] = PLAIN(RECORDING_THREAD_CPU, "Thread CPU Time", thread_cpu_fields),
	[TYPE_THREAD_TIME] = PLAIN(RECORDING_THREAD_TIME, "Thread Time", thread_time_fields),
	[TYPE_COUNTER] = PLAIN(RECORDING_COUNTER, "Counter", counter_fields),
	[TYPE_HISTOGRAM] = PLAIN(RECORDING_HISTOGRAM, "Histogram", histogram_fields),
	[TYPE_RECORDING] = PLAIN(RECORDING_RECORDING, "Recording", recording_fields),
	[TYPE_PROCESS] = PLAIN(RECORDING_PROCESS, "Process", process_fields),
	[TYPE_CLOCK] = PLAIN(RECORDING_CLOCK, "Clock", clock_fields),
	[TYPE_RESOURCE] = {
		TYPE(RECORDING_RESOURCE, "Resource",
		     "What a process says of itself in its OpenTelemetry process context", weft,
		     resource_fields) },
	[TYPE_MODULE] = PLAIN(RECORDING_MODULE, "Module", module_fields),
	[TYPE_WARNING] = PLAIN(RECORDING_WARNING, "Warning", warning_fields),
	[TYPE_SPAN] = {
		TYPE(RECORDING_SPAN, "Span",
		     "From the first to the last sample of one context on a thread", weft,
		     span_fields),
		.flags = WEFT_JFR_TYPE_CONTEXTUAL },
	/* Settings as those of the standard types that these stand for. */
	[TYPE_INLINE_SAMPLE] = {
		TYPE(RECORDING_INLINE_SAMPLE, "Execution Sample with Context", NULL, weft,
		     inline_fields), SETTINGS(sample_settings) },
	[TYPE_INLINE_WALL] = {
		TYPE(RECORDING_INLINE_WALL_SAMPLE, "Wall Clock Sample with Context", NULL, weft,
		     inline_wall_fields), SETTINGS(sample_settings) },
	[TYPE_RUN] = {
		TYPE(RECORDING_COROUTINE_RUN, "Coroutine Run",
		     "A coroutine ran, from its resumption to where it suspended", weft,
		     run_fields), SETTINGS(switch_settings) },
	[TYPE_WAIT] = {
		TYPE(RECORDING_COROUTINE_WAIT, "Coroutine Wait",
		     "A coroutine was suspended, until the thread resumed it", weft,
		     wait_fields), SETTINGS(switch_settings) },
};

const struct system_event_row system_events[SYSTEM_EVENT_COUNT] = {
	[SYSTEM_ACTIVE_RECORDING] = {
		{ TYPE("jdk.ActiveRecording", "Flight Recording", NULL, recorder, active_recording) },
		1, PERIOD_EVERY_CHUNK },
	[SYSTEM_OS_INFORMATION] = {
		{ TYPE("jdk.OSInformation", "OS Information", NULL, os, os_information) },
		1, PERIOD_BEGIN_CHUNK },
	[SYSTEM_CPU_INFORMATION] = {
		{ TYPE("jdk.CPUInformation", "CPU Information", NULL, processor, cpu_information) },
		1, PERIOD_BEGIN_CHUNK },
	[SYSTEM_CPU_LOAD] = {
		{ TYPE("jdk.CPULoad", "CPU Load",
		     "Shares of all processors' time: of the recorded processes, and all of it",
		     processor, cpu_load) },
		1, NS_PER_S },
	[SYSTEM_PHYSICAL_MEMORY] = {
		{ TYPE("jdk.PhysicalMemory", "Physical Memory", NULL, memory, physical_memory) },
		1, PERIOD_EVERY_CHUNK },
	[SYSTEM_NATIVE_LIBRARY] = {
		{ TYPE("jdk.NativeLibrary", "Native Library", NULL, runtime, native_library) },
		1, PERIOD_EVERY_CHUNK },
	[SYSTEM_ENVIRONMENT] = {
		{ TYPE("jdk.InitialEnvironmentVariable", "Initial Environment Variable", NULL, os,
		     environment) },
		0, PERIOD_BEGIN_CHUNK },
	[SYSTEM_DATA_LOSS] = {
		{ TYPE("jdk.DataLoss", "Data Loss", "What records that were lost had, at the least",
		     recorder, data_loss) },
		1, 0 },
	[SYSTEM_THREAD_START] = {
		{ TYPE("jdk.ThreadStart", "Java Thread Start", "A thread of which something is recorded",
		     application, thread_start) },
		1, 0 },
	[SYSTEM_THREAD_END] = {
		{ TYPE("jdk.ThreadEnd", "Java Thread End", NULL, application, thread_end) },
		1, 0 },
	[SYSTEM_SHUTDOWN] = {
		{ TYPE("jdk.Shutdown", "JVM Shutdown", "The recorded program has ended", runtime,
		     shutdown_fields) },
		1, 0 },
};
/* clang-format on */

struct weft_jfr_type *declare_type(struct weft_jfr_writer *w, enum recording_type which,
				   const struct tag_columns *tags)
{
	int is_switch = which == TYPE_RUN || which == TYPE_WAIT;
	struct weft_jfr_type_def def = types[which];
	struct weft_jfr_field field[FIELD_MAX];

	memcpy(field, def.fields, def.field_count * sizeof(*field));
	for (size_t i = 0; which >= TYPE_SPAN && i < tags->count; i++) {
		if (is_switch && i + 1 == tags->coroutine)
			continue;
		field[def.field_count++] = (struct weft_jfr_field){
			tags->name[i], WEFT_JFR_STRING,
			(is_switch ? 0 : WEFT_JFR_CONTEXTUAL) | (tags->key[i] ? WEFT_JFR_KEY : 0),
			tags->key[i] ? tags->key[i] : tags->name[i], NULL};
	}
	def.fields = field;
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
