/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where bytes that are formatted go: through a buffer to an output, or into memory that grows. The
 * first error stays (rc) and makes all that follows do nothing: check once at the end.
 */
#ifndef WEFT_BASE_SINK_H
#define WEFT_BASE_SINK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct output;

struct sink {
	struct output *out; /* NULL: memory */
	char *data;
	size_t used, room;
	size_t limit; /* of memory: beyond it is -EFBIG; 0 = none */
	int rc;       /* 0 or -errno */
};

/* @out NULL: into memory. 0 or -ENOMEM. */
int sink_open(struct sink *s, struct output *out);
/* Everything so far to the output. 0 or -errno. */
int sink_flush(struct sink *s);
/* Memory only: what was put so far, and the error, are forgotten. */
void sink_clear(struct sink *s);
void sink_close(struct sink *s); /* frees, does not flush */

/* Room for @bytes more, of which there are few: NULL with s->rc set. */
char *sink_room(struct sink *s, size_t bytes);
void sink_put(struct sink *s, const char *data, size_t bytes);
void sink_spaces(struct sink *s, size_t count);
void sink_unsigned(struct sink *s, uint64_t number);
void sink_number(struct sink *s, int64_t number);

static inline void sink_char(struct sink *s, char c)
{
	if (s->used < s->room)
		s->data[s->used++] = c;
	else
		sink_put(s, &c, 1);
}

static inline void sink_text(struct sink *s, const char *text)
{
	sink_put(s, text, strlen(text));
}

#endif
