/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of a protobuf message, one after the other
 * (protobuf.dev/programming-guides/encoding). For messages that are read in the recorded program,
 * or as far as they are whole: what is written outside goes through protobuf-c.
 */
#ifndef WEFT_BASE_PROTOBUF_H
#define WEFT_BASE_PROTOBUF_H

#include "base/wire/leb128.h"

#include <stddef.h>
#include <stdint.h>

/* What is left of a message. */
struct protobuf_message {
	const uint8_t *at, *end;
};

enum protobuf_wire {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2,
	PROTOBUF_FIXED32 = 5,
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_wire wire;
	uint64_t value;      /* of a number */
	const uint8_t *data; /* of PROTOBUF_BYTES: never NULL */
	size_t bytes;
};

static inline int protobuf_read_fixed(struct protobuf_message *m, size_t bytes, uint64_t *value)
{
	if ((size_t)(m->end - m->at) < bytes)
		return -EBADMSG;
	*value = 0;
	for (size_t i = 0; i < bytes; i++)
		*value |= (uint64_t)m->at[i] << 8 * i;
	m->at += bytes;
	return 0;
}

static inline int protobuf_read_bytes(struct protobuf_message *m, struct protobuf_field *f)
{
	uint64_t bytes = 0;

	if (leb128_read(&m->at, m->end, &bytes) || bytes > (uint64_t)(m->end - m->at))
		return -EBADMSG;
	f->data = m->at;
	f->bytes = (size_t)bytes;
	m->at += bytes;
	return 0;
}

static inline int protobuf_read_value(struct protobuf_message *m, struct protobuf_field *f)
{
	switch (f->wire) {
	case PROTOBUF_VARINT:
		return leb128_read(&m->at, m->end, &f->value);
	case PROTOBUF_FIXED64:
		return protobuf_read_fixed(m, 8, &f->value);
	case PROTOBUF_FIXED32:
		return protobuf_read_fixed(m, 4, &f->value);
	case PROTOBUF_BYTES:
		return protobuf_read_bytes(m, f);
	default: /* groups are no more */
		return -EBADMSG;
	}
}

/* 1: *f is the next field; 0: the end; -EBADMSG. */
static inline int protobuf_next(struct protobuf_message *m, struct protobuf_field *f)
{
	uint64_t tag = 0;

	if (m->at == m->end)
		return 0;
	if (leb128_read(&m->at, m->end, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
		return -EBADMSG;
	*f = (struct protobuf_field){.number = (uint32_t)(tag >> 3),
				     .wire = (enum protobuf_wire)(tag & 7)};
	return protobuf_read_value(m, f) ? -EBADMSG : 1;
}

/* The message in a field of PROTOBUF_BYTES. */
static inline struct protobuf_message protobuf_inside(const struct protobuf_field *f)
{
	return (struct protobuf_message){f->data, f->data + f->bytes};
}

#endif
