/* SPDX-License-Identifier: Apache-2.0 */
#include "report/read/types.h"

#include "base/event_settings.h"
#include "base/recording.h"
#include "report/read/model.h"

#include <string.h>

#define CPU_TIME_SAMPLE "jdk.CPUTimeSample"

static const struct sample_type types[] = {
	{.name = RECORDING_EXECUTION_SAMPLE, .clock = SAMPLE_CPU, .yields_to = CPU_TIME_SAMPLE},
	{.name = RECORDING_INLINE_SAMPLE, .clock = SAMPLE_CPU, .fields_are_context = 1},
	{.name = CPU_TIME_SAMPLE, .clock = SAMPLE_CPU, .ticks = "samplingPeriod"},
	{.name = "datadog.ExecutionSample", .clock = SAMPLE_CPU, .times = "weight"},
	/* Of threads in native code, whether they run or not: this is no CPU time. */
	{.name = "jdk.NativeMethodSample", .clock = SAMPLE_WALL},
	{.name = WALL_CLOCK_SAMPLE,
	 .clock = SAMPLE_WALL,
	 .times = "samples",
	 .ticks = "timeSpan",
	 .has_states = 1},
	{.name = RECORDING_INLINE_WALL_SAMPLE,
	 .clock = SAMPLE_WALL,
	 .times = "samples",
	 .ticks = "timeSpan",
	 .fields_are_context = 1,
	 .has_states = 1},
	{.name = "datadog.MethodSample", .clock = SAMPLE_WALL, .times = "weight"},
	{.name = RECORDING_COROUTINE_RUN, .clock = SAMPLE_RUN, .fields_are_context = 1},
	{.name = RECORDING_COROUTINE_WAIT, .clock = SAMPLE_WAIT, .fields_are_context = 1},
};

const struct sample_type sample_type_event = {.name = "", .clock = SAMPLE_EVENT};

int sample_type_waits(const char *name)
{
	static const char *const waits[] = {
		RECORDING_LOCK_WAIT,   RECORDING_IO_WAIT, "jdk.JavaMonitorEnter",
		"jdk.JavaMonitorWait", "jdk.ThreadPark",  "jdk.ThreadSleep",
		"jdk.SocketRead",      "jdk.SocketWrite", "jdk.SocketConnect",
		"jdk.FileRead",        "jdk.FileWrite",   "jdk.FileForce",
	};

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (strcmp(waits[i], name) == 0)
			return 1;
	return 0;
}

#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

const struct sample_type *sample_type_find(const char *name)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	return NULL;
}

static const struct {
	const char *name;
	unsigned int clocks; /* bits */
} choices[] = {
	{"cpu", 1 << SAMPLE_CPU},
	{"wall", 1 << SAMPLE_WALL},
	{"all", 1 << SAMPLE_CPU | 1 << SAMPLE_WALL},
	{"coroutine-run", 1 << SAMPLE_RUN},
	{"coroutine-wait", 1 << SAMPLE_WAIT},
};

/* 0: none of them. */
static unsigned int clocks_of(const char *which)
{
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (strcmp(choices[i].name, which) == 0)
			return choices[i].clocks;
	return 0;
}

int sample_type_is(const struct sample_type *t, const char *which)
{
	unsigned int clocks = clocks_of(which);

	return clocks ? (clocks >> t->clock & 1) != 0 : strcmp(which, t->name) == 0;
}

int sample_type_is_interval(const struct sample_type *t)
{
	return t->clock == SAMPLE_RUN || t->clock == SAMPLE_WAIT || t->clock == SAMPLE_EVENT;
}

int sample_type_choice(const char *which)
{
	return clocks_of(which) || sample_type_find(which);
}

uint32_t context_key_of_field(const char *field)
{
	static const struct {
		const char *field;
		uint32_t key;
	} known[] = {
		{RECORDING_FIELD_SPAN, CONTEXT_SPAN},
		{RECORDING_FIELD_ROOT_SPAN, CONTEXT_ROOT},
		{"localRootSpanId", CONTEXT_ROOT},
		{RECORDING_FIELD_TRACE, CONTEXT_TRACE},
		{RECORDING_FIELD_COROUTINE, CONTEXT_COROUTINE},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].field, field) == 0)
			return known[i].key;
	return 0;
}

uint64_t period_parse(const char *text, size_t bytes)
{
	uint64_t ns = 0;

	return weft_setting_time((struct setting_text){text, bytes}, 1, &ns) ? 0 : ns;
}
