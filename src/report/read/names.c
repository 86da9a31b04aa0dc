/* SPDX-License-Identifier: Apache-2.0 */
/* See names.h. A text ends at its first NUL: what it is printed by are C strings. */
#include "report/read/names.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/map.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char empty[1] = "";

int names_init(struct names *n)
{
	*n = (struct names){.index = map_new(), .count = 1};
	n->text = array_grown(NULL, 1, &n->room, sizeof(*n->text));
	if (!n->index || !n->text) {
		names_free(n);
		return -ENOMEM;
	}
	n->text[0] = empty;
	return 0;
}

void names_free(struct names *n)
{
	for (uint32_t i = 1; n->text && i < n->count; i++)
		free(n->text[i]);
	free(n->text);
	map_free(n->index);
	memset(n, 0, sizeof(*n));
}

uint32_t names_id_bytes(struct names *n, const char *text, size_t bytes)
{
	size_t length = strnlen(text, bytes);
	uint64_t *id = length ? map_get(n->index, text, length) : NULL;
	char *copy, **all;

	if (!length || id)
		return id ? (uint32_t)*id : 0;
	all = n->count < UINT32_MAX ? array_grown(n->text, n->count + 1u, &n->room, sizeof(*all))
				    : NULL;
	if (all)
		n->text = all;
	copy = all ? strndup(text, length) : NULL;
	id = copy ? map_put(n->index, text, length, NULL) : NULL;
	if (!id) {
		free(copy);
		n->failed = 1;
		return 0;
	}
	all[n->count] = copy;
	*id = n->count;
	return n->count++;
}

uint32_t names_id(struct names *n, const char *text)
{
	return names_id_bytes(n, text, strlen(text));
}

uint32_t names_id_format(struct names *n, const char *format, ...)
{
	char *text = NULL;
	uint32_t id;
	va_list args;
	int bytes;

	va_start(args, format);
	bytes = vasprintf(&text, format, args);
	va_end(args);
	if (bytes < 0) {
		n->failed = 1;
		return 0;
	}
	id = names_id_bytes(n, text, (size_t)bytes);
	free(text);
	return id;
}

uint32_t names_id_buf(struct names *n, struct buf *b)
{
	uint32_t id = b->size ? names_id_bytes(n, (const char *)b->data, b->size) : 0;

	n->failed |= b->failed;
	buf_free(b);
	return id;
}

uint32_t names_find(const struct names *n, const char *text)
{
	uint64_t *id = map_get(n->index, text, strlen(text));

	return id ? (uint32_t)*id : 0;
}

const char *names_text(const struct names *n, uint32_t id)
{
	return id < n->count ? n->text[id] : empty;
}
