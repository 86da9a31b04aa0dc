/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How OpenTelemetry's process context (weft/abi/otel_process_context.h) is named in
 * /proc/PID/maps: found by the program itself, if another library publishes there, and from
 * outside.
 */
#ifndef WEFT_BASE_OTEL_MAPPING_H
#define WEFT_BASE_OTEL_MAPPING_H

#include <stddef.h>
#include <string.h>

static inline int otel_mapping_is_named(const char *name)
{
	static const char *const names[] = {
		"[anon_shmem:OTEL_CTX]",
		"[anon:OTEL_CTX]",
		"/memfd:OTEL_CTX",
		"/memfd:OTEL_CTX (deleted)",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return 1;
	return 0;
}

#endif
