/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source files, found by the path that a recording has of them, and their lines.
 *
 * The beginning of the path is replaced by the first map that fits. The file is looked for at that
 * path, then below each directory: the whole path, then with ever more leading parts left out, as
 * gdb does.
 */
#ifndef WEFT_REPORT_SOURCE_TEXT_H
#define WEFT_REPORT_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct path_map {
	const char *from, *to; /* from: a beginning that ends where a part of the path does */
};

struct source_places {
	const struct path_map *maps;
	size_t map_count;
	const char *const *directories;
	size_t directory_count;
};

struct source_text {
	char *path;          /* where it was found */
	int64_t modified_ns; /* epoch */
	char *bytes;
	char **line; /* [count], each ends with a NUL, and has spaces for tabs */
	size_t count;
};

/* 0; -ENOENT: it is not found; -EFBIG, -EINVAL: too large, or no file; -errno of reading. */
int source_text_open(struct source_text **out, const char *recorded,
		     const struct source_places *places);
void source_text_free(struct source_text *t); /* takes NULL */

/* Line @number, from 1; "" beyond the end. */
const char *source_text_line(const struct source_text *t, int64_t number);

/* @recorded with its beginning replaced, or a copy. The caller frees it; NULL: out of memory. */
char *source_text_mapped(const char *recorded, const struct source_places *places);

#endif
