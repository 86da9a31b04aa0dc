/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in types as tables. Order and number of fields are a contract: converters read
 * threads, classes, methods, frames and the standard samples by position.
 */
#include "jfr/common/types.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct type_field thread_fields[] = {
	{"osName", TYPE_STRING, 0},
	{"osThreadId", TYPE_LONG, 0},
	{"javaName", TYPE_STRING, 0},
	{"javaThreadId", TYPE_LONG, 0},
	{"group", TYPE_THREAD_GROUP, FIELD_POOL},
	{"virtual", TYPE_BOOLEAN, 0},
	{0},
};

static const struct type_field class_fields[] = {
	{"classLoader", TYPE_CLASS_LOADER, FIELD_POOL},
	{"name", TYPE_SYMBOL, FIELD_POOL},
	{"package", TYPE_PACKAGE, FIELD_POOL},
	{"modifiers", TYPE_INT, 0},
	{"hidden", TYPE_BOOLEAN, 0},
	{0},
};

static const struct type_field class_loader_fields[] = {
	{"type", TYPE_CLASS, FIELD_POOL},
	{"name", TYPE_SYMBOL, FIELD_POOL},
	{0},
};

static const struct type_field stack_trace_fields[] = {
	{"truncated", TYPE_BOOLEAN, 0},
	{"frames", TYPE_STACK_FRAME, FIELD_ARRAY},
	{0},
};

static const struct type_field stack_frame_fields[] = {
	{"method", TYPE_METHOD, FIELD_POOL},
	{"lineNumber", TYPE_INT, 0},
	{"bytecodeIndex", TYPE_INT, 0},
	{"type", TYPE_FRAME_TYPE, FIELD_POOL},
	{0},
};

static const struct type_field method_fields[] = {
	{"type", TYPE_CLASS, FIELD_POOL},
	{"name", TYPE_SYMBOL, FIELD_POOL},
	{"descriptor", TYPE_SYMBOL, FIELD_POOL},
	{"modifiers", TYPE_INT, 0},
	{"hidden", TYPE_BOOLEAN, 0},
	{0},
};

static const struct type_field package_fields[] = {
	{"name", TYPE_SYMBOL, FIELD_POOL},
	{0},
};

static const struct type_field thread_group_fields[] = {
	{"parent", TYPE_THREAD_GROUP, FIELD_POOL},
	{"name", TYPE_STRING, 0},
	{0},
};

static const struct type_field symbol_fields[] = {{"string", TYPE_STRING, 0}, {0}};
static const struct type_field frame_type_fields[] = {{"description", TYPE_STRING, 0}, {0}};
static const struct type_field state_fields[] = {{"name", TYPE_STRING, 0}, {0}};
static const struct type_field text_member[] = {{"value", TYPE_STRING, 0}, {0}};
static const struct type_field texts_member[] = {{"value", TYPE_STRING, FIELD_ARRAY}, {0}};

const struct type_row builtin_types[] = {
	{TYPE_BOOLEAN, "boolean", 0, NULL},
	{TYPE_CHAR, "char", 0, NULL},
	{TYPE_FLOAT, "float", 0, NULL},
	{TYPE_DOUBLE, "double", 0, NULL},
	{TYPE_BYTE, "byte", 0, NULL},
	{TYPE_SHORT, "short", 0, NULL},
	{TYPE_INT, "int", 0, NULL},
	{TYPE_LONG, "long", 0, NULL},
	{TYPE_STRING, "java.lang.String", 0, NULL},
	{TYPE_CLASS, "java.lang.Class", 0, class_fields},
	{TYPE_THREAD, "java.lang.Thread", 0, thread_fields},
	{TYPE_CLASS_LOADER, "jdk.types.ClassLoader", 0, class_loader_fields},
	{TYPE_FRAME_TYPE, "jdk.types.FrameType", TYPE_SIMPLE, frame_type_fields},
	{TYPE_THREAD_STATE, "jdk.types.ThreadState", TYPE_SIMPLE, state_fields},
	{TYPE_STACK_TRACE, "jdk.types.StackTrace", 0, stack_trace_fields},
	{TYPE_STACK_FRAME, "jdk.types.StackFrame", 0, stack_frame_fields},
	{TYPE_METHOD, "jdk.types.Method", 0, method_fields},
	{TYPE_PACKAGE, "jdk.types.Package", 0, package_fields},
	{TYPE_SYMBOL, "jdk.types.Symbol", TYPE_SIMPLE, symbol_fields},
	{TYPE_THREAD_GROUP, "jdk.types.ThreadGroup", 0, thread_group_fields},
	{TYPE_LABEL, "jdk.jfr.Label", TYPE_ANNOTATION, text_member},
	{TYPE_DESCRIPTION, "jdk.jfr.Description", TYPE_ANNOTATION, text_member},
	{TYPE_CATEGORY, "jdk.jfr.Category", TYPE_ANNOTATION, texts_member},
	{TYPE_CONTENT_TYPE, "jdk.jfr.ContentType", TYPE_ANNOTATION, NULL},
	{TYPE_TIMESTAMP, "jdk.jfr.Timestamp", TYPE_ANNOTATION | TYPE_IS_CONTENT, text_member},
	{TYPE_TIMESPAN, "jdk.jfr.Timespan", TYPE_ANNOTATION | TYPE_IS_CONTENT, text_member},
	{TYPE_UNSIGNED, "jdk.jfr.Unsigned", TYPE_ANNOTATION | TYPE_IS_CONTENT, NULL},
	{TYPE_DATA_AMOUNT, "jdk.jfr.DataAmount", TYPE_ANNOTATION | TYPE_IS_CONTENT, text_member},
	{TYPE_MEMORY_ADDRESS, "jdk.jfr.MemoryAddress", TYPE_ANNOTATION | TYPE_IS_CONTENT, NULL},
	{TYPE_PERCENTAGE, "jdk.jfr.Percentage", TYPE_ANNOTATION | TYPE_IS_CONTENT, NULL},
	{TYPE_CONTEXTUAL, "jdk.jfr.Contextual", TYPE_ANNOTATION, NULL},
	{TYPE_EXPERIMENTAL, "jdk.jfr.Experimental", TYPE_ANNOTATION, NULL},
	{TYPE_FREQUENCY, "jdk.jfr.Frequency", TYPE_ANNOTATION | TYPE_IS_CONTENT, NULL},
	{TYPE_KEY, "weft.Key", TYPE_ANNOTATION, text_member},
	{TYPE_SETTING_ENABLED, "jdk.settings.Enabled", TYPE_CONTROL, NULL},
	{TYPE_SETTING_THRESHOLD, "jdk.settings.Threshold", TYPE_CONTROL, NULL},
	{TYPE_SETTING_THROTTLE, "jdk.settings.Throttle", TYPE_CONTROL, NULL},
	{TYPE_SETTING_STACK_TRACE, "jdk.settings.StackTrace", TYPE_CONTROL, NULL},
	{TYPE_SETTING_PERIOD, "jdk.settings.Period", TYPE_CONTROL, NULL},
	{TYPE_SETTING_SELECT, "weft.settings.Select", TYPE_CONTROL, NULL},
	{TYPE_SETTING_OTHER, "weft.settings.Text", TYPE_CONTROL, NULL},
};
const size_t builtin_type_count = COUNT(builtin_types);

const struct field_annotation field_annotations[] = {
	{WEFT_JFR_CONTEXTUAL, TYPE_CONTEXTUAL, NULL},
	{WEFT_JFR_TIMESTAMP, TYPE_TIMESTAMP, "TICKS"},
	{WEFT_JFR_TIMESPAN, TYPE_TIMESPAN, "TICKS"},
	{WEFT_JFR_TIMESPAN_NS, TYPE_TIMESPAN, "NANOSECONDS"},
	{WEFT_JFR_UNSIGNED, TYPE_UNSIGNED, NULL},
	{WEFT_JFR_BYTES, TYPE_DATA_AMOUNT, "BYTES"},
	{WEFT_JFR_ADDRESS, TYPE_MEMORY_ADDRESS, NULL},
	{WEFT_JFR_PERCENTAGE, TYPE_PERCENTAGE, NULL},
	{WEFT_JFR_TIMESPAN_MS, TYPE_TIMESPAN, "MILLISECONDS"},
	{WEFT_JFR_TIMESTAMP_MS, TYPE_TIMESTAMP, "MILLISECONDS_SINCE_EPOCH"},
	{WEFT_JFR_BITS, TYPE_DATA_AMOUNT, "BITS"},
	{WEFT_JFR_FREQUENCY, TYPE_FREQUENCY, NULL},
	{WEFT_JFR_EXPERIMENTAL, TYPE_EXPERIMENTAL, NULL},
};
const size_t field_annotation_count = COUNT(field_annotations);

const char *const frame_type_names[6] = {
	"Interpreted", "JIT compiled", "Inlined", "Native", "C++", "Kernel",
};
const char *const thread_state_names[6] = {
	NULL,
	"STATE_DEFAULT",
	"STATE_RUNNABLE",
	"STATE_SLEEPING",
	"STATE_UNINTERRUPTIBLE",
	"STATE_WAITING_FOR_CPU",
};

enum type_id kind_type(enum weft_jfr_kind kind)
{
	static const enum type_id of[] = {
		[WEFT_JFR_BOOLEAN] = TYPE_BOOLEAN,   [WEFT_JFR_BYTE] = TYPE_BYTE,
		[WEFT_JFR_CHAR] = TYPE_CHAR,         [WEFT_JFR_SHORT] = TYPE_SHORT,
		[WEFT_JFR_INT] = TYPE_INT,           [WEFT_JFR_LONG] = TYPE_LONG,
		[WEFT_JFR_FLOAT] = TYPE_FLOAT,       [WEFT_JFR_DOUBLE] = TYPE_DOUBLE,
		[WEFT_JFR_STRING] = TYPE_STRING,     [WEFT_JFR_THREAD] = TYPE_THREAD,
		[WEFT_JFR_STACK] = TYPE_STACK_TRACE, [WEFT_JFR_STATE] = TYPE_THREAD_STATE,
	};

	return kind > 0 && (size_t)kind < COUNT(of) ? of[kind] : 0;
}

enum type_id setting_type(const char *name)
{
	static const struct {
		const char *name;
		enum type_id type;
	} of[] = {
		{"enabled", TYPE_SETTING_ENABLED},   {"threshold", TYPE_SETTING_THRESHOLD},
		{"throttle", TYPE_SETTING_THROTTLE}, {"stackTrace", TYPE_SETTING_STACK_TRACE},
		{"period", TYPE_SETTING_PERIOD},     {"select", TYPE_SETTING_SELECT},
	};

	for (size_t i = 0; i < COUNT(of); i++)
		if (strcmp(of[i].name, name) == 0)
			return of[i].type;
	return TYPE_SETTING_OTHER;
}

int kind_is_pooled(enum weft_jfr_kind kind)
{
	return kind == WEFT_JFR_THREAD || kind == WEFT_JFR_STACK || kind == WEFT_JFR_STATE;
}

static const char *const profiling[] = {"Profiling", NULL};
static const char *const recorder[] = {"Flight Recorder", NULL};

/* Later versions of async-profiler have timeSpan behind these. Their converter reads both layouts,
 * but jfrconv 4.1 and 4.2 take such a field for the next event. */
static const struct weft_jfr_field sample_fields[] = {
	{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, "Start Time", NULL},
	{"eventThread", WEFT_JFR_THREAD, 0, "Thread", NULL},
	{"stackTrace", WEFT_JFR_STACK, 0, "Stack Trace", NULL},
	{"state", WEFT_JFR_STATE, 0, "Thread State", NULL},
	{"samples", WEFT_JFR_INT, 0, "Samples", NULL}, /* of the wall clock alone */
};

static const struct weft_jfr_field setting_fields[] = {
	{"startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, "Start Time", NULL},
	{"id", WEFT_JFR_LONG, 0, "Event Id", NULL},
	{"name", WEFT_JFR_STRING, 0, "Setting Name", NULL},
	{"value", WEFT_JFR_STRING, 0, "Setting Value", NULL},
};

static const struct weft_jfr_type_setting sample_settings[] = {
	{"enabled", "true"}, {"period", NULL}, {"select", "all"}};

const struct weft_jfr_type_def standard_types[] = {
	[WEFT_JFR_EXECUTION_SAMPLE] = {"jdk.ExecutionSample", "Method Profiling Sample",
				       "A thread found running on a CPU", profiling, 0,
				       sample_fields, COUNT(sample_fields) - 1, sample_settings,
				       COUNT(sample_settings)},
	[WEFT_JFR_ACTIVE_SETTING] = {"jdk.ActiveSetting", "Recording Setting", "A setting in force",
				     recorder, 0, setting_fields, COUNT(setting_fields), NULL, 0},
	[WEFT_JFR_WALL_CLOCK_SAMPLE] = {"profiler.WallClockSample", "Wall Clock Sample",
					"What a thread was at, running or not, and for how long",
					profiling, 0, sample_fields, COUNT(sample_fields),
					sample_settings, COUNT(sample_settings)},
};
const size_t standard_type_count = COUNT(standard_types);
