/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of traces, from their table. */
#include "coro/engine/trace.h"

#include <string.h>

#define DECLARE(NAME, HELP, EXTENSION) extern const struct coro_sink_ops coro_sink_##NAME;
CORO_FORMATS(DECLARE)

#define ROW(NAME, HELP, EXTENSION) {#NAME, HELP, EXTENSION, &coro_sink_##NAME},
const struct coro_format coro_formats[] = {CORO_FORMATS(ROW){NULL, NULL, NULL, NULL}};

const struct coro_format *coro_format_find(const char *name)
{
	for (const struct coro_format *f = coro_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const struct coro_format *coro_format_of_path(const char *path)
{
	size_t length = strlen(path);

	for (const struct coro_format *f = coro_formats; f->name; f++) {
		size_t bytes = strlen(f->extension);

		if (length > bytes && path[length - bytes - 1] == '.' &&
		    !strcmp(path + length - bytes, f->extension))
			return f;
	}
	return NULL;
}
