/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of recording_system.h. Names, kinds and order of fields are those of the JDK, but for
 * duration, eventThread and stackTrace of jdk.ActiveRecording, which later JDKs left out.
 */
#include "collector/write/recording_system.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SECOND_NS UINT64_C(1000000000)

/* clang-format off */
#define START_TIME { "startTime", WEFT_JFR_LONG, WEFT_JFR_TIMESTAMP, "Start Time", NULL }
#define EVENT_THREAD { "eventThread", WEFT_JFR_THREAD, 0, "Event Thread", NULL }
#define STACK_TRACE { "stackTrace", WEFT_JFR_STACK, 0, "Stack Trace", NULL }
#define TEXT(name, label) { name, WEFT_JFR_STRING, 0, label, NULL }
#define LONG(name, flags, label) { name, WEFT_JFR_LONG, flags, label, NULL }
#define COUNT(name, label) { name, WEFT_JFR_INT, WEFT_JFR_UNSIGNED, label, NULL }
#define SHARE(name, label) { name, WEFT_JFR_FLOAT, WEFT_JFR_PERCENTAGE, label, NULL }
#define THREAD(name, label) { name, WEFT_JFR_THREAD, 0, label, NULL }

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

static const char *const recorder[] = {"Flight Recorder", NULL};
static const char *const os[] = {"Operating System", NULL};
static const char *const processor[] = {"Operating System", "Processor", NULL};
static const char *const memory[] = {"Operating System", "Memory", NULL};
static const char *const runtime[] = {"Java Virtual Machine", "Runtime", NULL};
static const char *const application[] = {"Java Application", NULL};

#define TYPE(name_, label_, text_, category_, fields_)                                              \
	{ .name = name_, .label = label_, .description = text_, .category = category_,             \
	  .fields = fields_, .field_count = COUNT_OF(fields_) }

const struct system_event_row system_events[SYSTEM_EVENT_COUNT] = {
	[SYSTEM_ACTIVE_RECORDING] = {
		TYPE("jdk.ActiveRecording", "Flight Recording", NULL, recorder, active_recording),
		1, PERIOD_EVERY_CHUNK },
	[SYSTEM_OS_INFORMATION] = {
		TYPE("jdk.OSInformation", "OS Information", NULL, os, os_information),
		1, PERIOD_BEGIN_CHUNK },
	[SYSTEM_CPU_INFORMATION] = {
		TYPE("jdk.CPUInformation", "CPU Information", NULL, processor, cpu_information),
		1, PERIOD_BEGIN_CHUNK },
	[SYSTEM_CPU_LOAD] = {
		TYPE("jdk.CPULoad", "CPU Load",
		     "Shares of all processors' time: of the recorded processes, and all of it",
		     processor, cpu_load),
		1, SECOND_NS },
	[SYSTEM_PHYSICAL_MEMORY] = {
		TYPE("jdk.PhysicalMemory", "Physical Memory", NULL, memory, physical_memory),
		1, PERIOD_EVERY_CHUNK },
	[SYSTEM_NATIVE_LIBRARY] = {
		TYPE("jdk.NativeLibrary", "Native Library", NULL, runtime, native_library),
		1, PERIOD_EVERY_CHUNK },
	[SYSTEM_ENVIRONMENT] = {
		TYPE("jdk.InitialEnvironmentVariable", "Initial Environment Variable", NULL, os,
		     environment),
		0, PERIOD_BEGIN_CHUNK },
	[SYSTEM_DATA_LOSS] = {
		TYPE("jdk.DataLoss", "Data Loss", "What records that were lost had, at the least",
		     recorder, data_loss),
		1, 0 },
	[SYSTEM_THREAD_START] = {
		TYPE("jdk.ThreadStart", "Java Thread Start", "A thread of which something is recorded",
		     application, thread_start),
		1, 0 },
	[SYSTEM_THREAD_END] = {
		TYPE("jdk.ThreadEnd", "Java Thread End", NULL, application, thread_end),
		1, 0 },
	[SYSTEM_SHUTDOWN] = {
		TYPE("jdk.Shutdown", "JVM Shutdown", "The recorded program has ended", runtime,
		     shutdown_fields),
		1, 0 },
};
/* clang-format on */
