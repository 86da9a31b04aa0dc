/* SPDX-License-Identifier: Apache-2.0 */
/* The process context's payload: see otel_payload.h. */
#include "reader/context/otel_payload.h"

#include "base/wire/protobuf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the messages */

enum { CONTEXT_RESOURCE = 1, CONTEXT_ATTRIBUTES = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { ARRAY_VALUES = 1 };
enum { ANY_STRING = 1, ANY_BOOL, ANY_INT, ANY_DOUBLE, ANY_ARRAY, ANY_LIST, ANY_BYTES };

/* Text of a value; @room for a number's. NULL: nothing that has one. */
static const char *value_text(const struct protobuf_field *any, char *room, size_t size,
			      size_t *bytes)
{
	double number;
	int n = -1;

	if (any->wire == PROTOBUF_BYTES &&
	    (any->number == ANY_STRING || any->number == ANY_BYTES)) {
		*bytes = any->bytes;
		return any->bytes ? (const char *)any->data : "";
	}
	if (any->wire == PROTOBUF_VARINT && any->number == ANY_BOOL)
		n = snprintf(room, size, "%s", any->value ? "true" : "false");
	else if (any->wire == PROTOBUF_VARINT && any->number == ANY_INT)
		n = snprintf(room, size, "%" PRId64, (int64_t)any->value);
	else if (any->wire == PROTOBUF_FIXED64 && any->number == ANY_DOUBLE) {
		memcpy(&number, &any->value, sizeof(number));
		n = snprintf(room, size, "%.17g", number);
	}
	*bytes = n > 0 ? (size_t)n : 0;
	return n > 0 ? room : NULL;
}

/* The last field of an AnyValue counts, as with any oneof; *found: there was one. */
static int read_any(const struct protobuf_field *value, struct protobuf_field *any, int *found)
{
	struct protobuf_message in = protobuf_inside(value);
	int rc;

	*found = 0;
	while ((rc = protobuf_next(&in, any)) > 0)
		*found = 1;
	return rc;
}

typedef void (*take_value)(void *arg, const char *text, size_t bytes);

/* The values of an array that have a text. */
static int each_value(const struct protobuf_field *array, take_value take, void *arg)
{
	struct protobuf_message in = protobuf_inside(array);
	struct protobuf_field f, any = {0};
	char room[40];
	int rc, found;

	while ((rc = protobuf_next(&in, &f)) > 0) {
		size_t bytes = 0;
		const char *text;

		if (f.number != ARRAY_VALUES || f.wire != PROTOBUF_BYTES)
			continue;
		rc = read_any(&f, &any, &found);
		if (rc < 0)
			return rc;
		text = found ? value_text(&any, room, sizeof(room), &bytes) : NULL;
		take(arg, text ? text : "", text ? bytes : 0);
	}
	return rc;
}

/* An index, once given, stays: also that of an empty key, or of one that comes twice. */
static void otel_payload_take_key(void *arg, const char *text, size_t bytes)
{
	struct live_context *keys = arg;
	size_t before = keys->count;

	if (before >= WEFT_OTEL_PROCESS_KEYS_MAX)
		return;
	live_add(keys, text, bytes, "", 0);
	if (keys->count == before) {
		char again[16];
		int n = snprintf(again, sizeof(again), "#%zu", before);

		live_add(keys, again, (size_t)n, "", 0);
	}
}

static void take_item(void *arg, const char *text, size_t bytes)
{
	struct buf *list = arg;

	if (list->size > 1)
		buf_put(list, ", ", 2);
	buf_put(list, text, bytes);
}

static int otel_payload_put_array(struct live_context *to, const struct protobuf_field *key,
				  const struct protobuf_field *array)
{
	struct buf list = {0};
	int rc;

	buf_put(&list, "[", 1);
	rc = each_value(array, take_item, &list);
	buf_put(&list, "]", 1);
	if (list.failed)
		rc = -ENOMEM;
	if (rc == 0)
		live_add(to, key->data, key->bytes, list.data, list.size);
	buf_free(&list);
	return rc;
}

static int is_key_map(const struct protobuf_field *key)
{
	return key->bytes == strlen(WEFT_OTEL_KEY_MAP_KEY) &&
	       memcmp(key->data, WEFT_OTEL_KEY_MAP_KEY, key->bytes) == 0;
}

static int put_pair(struct live_context *to, struct live_context *keys,
		    const struct protobuf_field *key, const struct protobuf_field *any)
{
	size_t bytes;
	char room[40];
	const char *text;

	if (any->number == ANY_ARRAY && any->wire == PROTOBUF_BYTES) {
		if (keys && is_key_map(key))
			return keys->count ? 0 : each_value(any, otel_payload_take_key, keys);
		return otel_payload_put_array(to, key, any);
	}
	text = value_text(any, room, sizeof(room), &bytes);
	if (text)
		live_add(to, key->data, key->bytes, text, bytes);
	return 0;
}

/* A KeyValue; the key map only where @keys is given. */
static int otel_payload_read_pair(const struct protobuf_field *pair, struct live_context *to,
				  struct live_context *keys)
{
	struct protobuf_field f, key = {.data = (const uint8_t *)""}, any = {0};
	struct protobuf_message in = protobuf_inside(pair);
	int rc, found = 0;

	while ((rc = protobuf_next(&in, &f)) > 0) {
		if (f.wire != PROTOBUF_BYTES)
			continue;
		if (f.number == KEY_VALUE_KEY)
			key = f;
		else if (f.number == KEY_VALUE_VALUE && read_any(&f, &any, &found) < 0)
			return -EBADMSG;
	}
	if (rc < 0 || !found)
		return rc;
	return put_pair(to, keys, &key, &any);
}

static int read_resource(const struct protobuf_field *resource, struct live_context *to)
{
	struct protobuf_message in = protobuf_inside(resource);
	struct protobuf_field f;
	int rc;

	while ((rc = protobuf_next(&in, &f)) > 0)
		if (f.number == RESOURCE_ATTRIBUTES && f.wire == PROTOBUF_BYTES &&
		    (rc = otel_payload_read_pair(&f, to, NULL)) < 0)
			return rc;
	return rc;
}

int otel_payload_decode(struct otel_payload *p, const uint8_t *message, size_t bytes)
{
	struct protobuf_message in = {message, message + bytes};
	struct protobuf_field f;
	int rc;

	live_begin(&p->resource, LIVE_OTEL);
	live_begin(&p->attributes, LIVE_OTEL);
	live_begin(&p->keys, LIVE_OTEL);
	while ((rc = protobuf_next(&in, &f)) > 0) {
		if (f.wire != PROTOBUF_BYTES)
			continue;
		if (f.number == CONTEXT_RESOURCE)
			rc = read_resource(&f, &p->resource);
		else if (f.number == CONTEXT_ATTRIBUTES)
			rc = otel_payload_read_pair(&f, &p->attributes, &p->keys);
		if (rc < 0)
			return rc;
	}
	if ((p->resource.flags | p->attributes.flags | p->keys.flags) & LIVE_NO_MEMORY)
		return -ENOMEM;
	return rc;
}

void otel_payload_free(struct otel_payload *p)
{
	live_free(&p->resource);
	live_free(&p->attributes);
	live_free(&p->keys);
}

static int live_copy(struct live_context *to, const struct live_context *from)
{
	size_t bytes = from->count * sizeof(*from->attribute);

	live_begin(to, from->abi);
	to->attribute = malloc(bytes + 1);
	if (!to->attribute)
		return -ENOMEM;
	if (bytes)
		memcpy(to->attribute, from->attribute, bytes);
	if (from->text.size)
		buf_put(&to->text, from->text.data, from->text.size);
	to->count = to->room = from->count;
	return to->text.failed ? -ENOMEM : 0;
}

int otel_payload_copy(struct otel_payload *to, const struct otel_payload *from)
{
	int rc = live_copy(&to->resource, &from->resource);

	if (!rc)
		rc = live_copy(&to->attributes, &from->attributes);
	if (!rc)
		rc = live_copy(&to->keys, &from->keys);
	if (rc)
		otel_payload_free(to);
	return rc;
}

const char *otel_payload_key(const struct otel_payload *p, unsigned int index, size_t *bytes)
{
	if (index >= p->keys.count)
		return NULL;
	*bytes = p->keys.attribute[index].key_bytes;
	return live_text(&p->keys, p->keys.attribute[index].key_at);
}
