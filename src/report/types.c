/* SPDX-License-Identifier: Apache-2.0 */
#include "report/types.h"

#include "base/recording.h"
#include "report/model.h"

#include <stdlib.h>
#include <string.h>

static const struct sample_type types[] = {
	{RECORDING_EXECUTION_SAMPLE, SAMPLE_CPU, NULL, 0},
	{RECORDING_INLINE_SAMPLE, SAMPLE_CPU, NULL, 1},
	{"jdk.CPUTimeSample", SAMPLE_CPU, NULL, 0},
	{"datadog.ExecutionSample", SAMPLE_CPU, "weight", 0},
	/* Threads in native code, running or not: no CPU time. */
	{"jdk.NativeMethodSample", SAMPLE_WALL, NULL, 0},
	{"profiler.WallClockSample", SAMPLE_WALL, "samples", 0},
	{"weft.WallClockSample", SAMPLE_WALL, NULL, 1},
	{"datadog.MethodSample", SAMPLE_WALL, "weight", 0},
};

#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

const struct sample_type *sample_type_find(const char *name)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	return NULL;
}

int sample_type_is(const struct sample_type *t, const char *which)
{
	if (strcmp(which, "all") == 0)
		return 1;
	if (strcmp(which, "cpu") == 0)
		return t->clock == SAMPLE_CPU;
	if (strcmp(which, "wall") == 0)
		return t->clock == SAMPLE_WALL;
	return strcmp(which, t->name) == 0;
}

int sample_type_choice(const char *which)
{
	return strcmp(which, "cpu") == 0 || strcmp(which, "wall") == 0 ||
	       strcmp(which, "all") == 0 || sample_type_find(which);
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
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].field, field) == 0)
			return known[i].key;
	return 0;
}

uint64_t period_parse(const char *text, size_t bytes)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"", 1},         {"ns", 1},         {"us", 1000},
		{"ms", 1000000}, {"s", 1000000000}, {"m", UINT64_C(60000000000)},
	};
	char copy[64], *unit;
	unsigned long long number;

	if (!bytes || bytes >= sizeof(copy) || text[0] < '0' || text[0] > '9')
		return 0;
	memcpy(copy, text, bytes);
	copy[bytes] = 0;
	number = strtoull(copy, &unit, 10);
	while (*unit == ' ')
		unit++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].name, unit) == 0 && number <= UINT64_MAX / units[i].ns)
			return number * units[i].ns;
	return 0;
}
