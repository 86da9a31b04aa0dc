/* SPDX-License-Identifier: Apache-2.0 */
/* OpenTelemetry's thread context in another process: see otel_record.h. */
#include "reader/context/otel_record.h"

#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- decoding */

struct attribute {
	uint8_t index, bytes;
	const uint8_t *value;
};

static size_t said_bytes(const uint8_t *record)
{
	uint16_t bytes;

	memcpy(&bytes, record + offsetof(struct weft_otel_record, attributes_bytes), sizeof(bytes));
	return bytes;
}

/* The attribute at *at, which moves behind it; 0: there is no whole one. */
static int next_attribute(const uint8_t *record, size_t end, size_t *at, struct attribute *out)
{
	if (*at + 2 > end || *at + 2 + record[*at + 1] > end)
		return 0;
	*out = (struct attribute){record[*at], record[*at + 1], record + *at + 2};
	*at += 2 + (size_t)out->bytes;
	return 1;
}

/* Where its attributes end, by its own word or by what was read of it. */
static size_t otel_record_end_of(const uint8_t *record, size_t bytes)
{
	size_t end = WEFT_OTEL_ATTRIBUTES_AT + said_bytes(record);

	return end < bytes ? end : bytes;
}

static int is_any(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i])
			return 1;
	return 0;
}

static uint64_t big_endian(const uint8_t *at)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | at[i];
	return value;
}

static void otel_record_decode_ids(const uint8_t *record, struct live_context *out)
{
	const uint8_t *span = record + offsetof(struct weft_otel_record, span_id);

	if (is_any(record, sizeof(out->trace_id))) {
		memcpy(out->trace_id, record, sizeof(out->trace_id));
		out->trace_flags = record[offsetof(struct weft_otel_record, trace_flags)];
		out->flags |= LIVE_TRACE;
	}
	if (is_any(span, 8)) {
		out->span_id = big_endian(span);
		out->flags |= LIVE_SPAN;
	}
}

unsigned int otel_record_decode(const uint8_t *record, size_t bytes,
				const struct otel_payload *keys, const char *root_key,
				struct live_context *out)
{
	size_t at = WEFT_OTEL_ATTRIBUTES_AT;
	unsigned int unknown = 0;
	struct attribute a;

	live_begin(out, LIVE_OTEL);
	if (bytes < WEFT_OTEL_ATTRIBUTES_AT)
		return 0;
	otel_record_decode_ids(record, out);
	while (next_attribute(record, otel_record_end_of(record, bytes), &at, &a)) {
		size_t key_bytes = 0;
		const char *key = keys ? otel_payload_key(keys, a.index, &key_bytes) : NULL;
		char number[8];

		if (!key) {
			unknown++;
			key_bytes = (size_t)snprintf(number, sizeof(number), "#%u", a.index);
			key = number;
		}
		live_put(out, key, key_bytes, a.value, a.bytes);
	}
	live_parse_id(out, root_key, 16, &out->root_span_id, LIVE_ROOT);
	return unknown;
}

int otel_record_knows_more(const uint8_t *record, size_t bytes, const struct otel_payload *keys)
{
	size_t at = WEFT_OTEL_ATTRIBUTES_AT, key_bytes;
	struct attribute a;

	while (bytes >= WEFT_OTEL_ATTRIBUTES_AT &&
	       next_attribute(record, otel_record_end_of(record, bytes), &at, &a))
		if (!keys || !otel_payload_key(keys, a.index, &key_bytes))
			return 1;
	return 0;
}

/* ---- reading */

/* Copies the head, which has the size of the attributes, then these. */
int otel_record_copy(const struct target *t, uint64_t address, struct otel_copy *out)
{
	size_t more;
	int rc = 0;

	out->address = address;
	out->bytes = 0;
	if (address)
		rc = target_read(t, address, out->record, WEFT_OTEL_ATTRIBUTES_AT);
	if (rc || !address || out->record[offsetof(struct weft_otel_record, valid)] != 1)
		return rc;
	more = said_bytes(out->record);
	if (more)
		rc = target_read(t, address + WEFT_OTEL_ATTRIBUTES_AT,
				 out->record + WEFT_OTEL_ATTRIBUTES_AT, more);
	out->bytes = rc ? 0 : WEFT_OTEL_ATTRIBUTES_AT + more;
	return rc;
}

static int copy_record(const struct target *t, uint64_t address, void *room, uint64_t *digest)
{
	const struct otel_copy *c = room;
	int rc = otel_record_copy(t, address, room);

	*digest = rc ? 0 : hash_bytes(c->record, c->bytes, c->address);
	return rc;
}

int otel_record_read(struct settle *s, int32_t tid, uint64_t variable,
		     uint64_t (*seq_of)(void *arg, uint64_t record), void *arg,
		     struct otel_copy *room, int *is_torn)
{
	struct settle_pointer p = {variable, seq_of, arg, copy_record, room};
	int rc = settle_pointer(s, tid, &p);

	*is_torn = rc == -EAGAIN;
	if (rc)
		return rc == -EAGAIN ? 0 : rc;
	return room->bytes ? 0 : -ENODATA;
}
