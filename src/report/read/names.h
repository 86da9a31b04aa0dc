/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings as small numbers: equal texts have equal ids. Ids count from 1, so they can be indexes of
 * arrays; 0 is the empty text and stands for "absent" everywhere in the report. When memory runs
 * out, the id is 0 and `failed` is set: it is enough to check that once at the end.
 */
#ifndef WEFT_REPORT_NAMES_H
#define WEFT_REPORT_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct map;

struct names {
	struct map *index;
	char **text; /* [count]; text[0] is "" */
	uint32_t count;
	size_t room;
	int failed;
};

int names_init(struct names *n); /* 0 or -ENOMEM; names_free() is allowed after both */
void names_free(struct names *n);

uint32_t names_id(struct names *n, const char *text);
uint32_t names_id_bytes(struct names *n, const char *text, size_t bytes);
uint32_t names_id_format(struct names *n, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Of what is in a buffer, which is freed. */
uint32_t names_id_buf(struct names *n, struct buf *b);
/* The id of a text that may not be there; 0 then. */
uint32_t names_find(const struct names *n, const char *text);
/* Never NULL; lives as long as the names. */
const char *names_text(const struct names *n, uint32_t id);

#endif
