/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/sink.h"

#include "base/output.h"
#include "base/text/digits.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_ROOM ((size_t)64 * 1024)

int sink_open(struct sink *s, struct output *out)
{
	*s = (struct sink){.out = out, .data = malloc(FIRST_ROOM), .room = FIRST_ROOM};
	return s->data ? 0 : -ENOMEM;
}

int sink_flush(struct sink *s)
{
	if (s->out && !s->rc)
		s->rc = output_write(s->out, s->data, s->used);
	if (s->out)
		s->used = 0;
	return s->rc;
}

void sink_clear(struct sink *s)
{
	s->used = 0;
	s->rc = 0;
}

void sink_close(struct sink *s)
{
	free(s->data);
	*s = (struct sink){0};
}

static void sink_grow(struct sink *s, size_t bytes)
{
	size_t room = s->room;
	char *bigger;

	if (s->limit && s->used + bytes > s->limit) {
		s->rc = -EFBIG;
		return;
	}
	while (room - s->used < bytes && room <= SIZE_MAX / 2)
		room *= 2;
	bigger = realloc(s->data, room);
	if (!bigger || room - s->used < bytes)
		s->rc = -ENOMEM;
	if (!bigger)
		return;
	s->data = bigger;
	s->room = room;
}

char *sink_room(struct sink *s, size_t bytes)
{
	if (s->room - s->used < bytes && s->out)
		sink_flush(s);
	if (s->room - s->used < bytes && !s->rc)
		sink_grow(s, bytes);
	return s->rc ? NULL : s->data + s->used;
}

void sink_put(struct sink *s, const char *data, size_t bytes)
{
	char *to;

	if (s->out && bytes > s->room / 2) {
		if (!sink_flush(s))
			s->rc = output_write(s->out, data, bytes);
		return;
	}
	to = sink_room(s, bytes);
	if (!to || !bytes)
		return;
	memcpy(to, data, bytes);
	s->used += bytes;
}

void sink_spaces(struct sink *s, size_t count)
{
	static const char blanks[] = "                                                ";

	for (; count > sizeof(blanks) - 1; count -= sizeof(blanks) - 1)
		sink_put(s, blanks, sizeof(blanks) - 1);
	sink_put(s, blanks, count);
}

void sink_unsigned(struct sink *s, uint64_t number)
{
	char digits[DIGITS_BYTES], *end = digits + sizeof(digits);
	const char *at = digits_put_before(end, number);

	sink_put(s, at, (size_t)(end - at));
}

void sink_number(struct sink *s, int64_t number)
{
	if (number < 0)
		sink_char(s, '-');
	sink_unsigned(s, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}
