/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: OpenTelemetry's formats. The input's first two bytes say how much of it is the
 * payload of a process context, with its key map; the rest is a thread's record. No attribute may
 * come out that does not lie in what was decoded.
 */
#include "reader/context/otel_record.h"

#include <stdlib.h>
#include <string.h>

#include "table_recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct live_context *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct live_attribute *a = &c->attribute[i];

		if (a->key_at > c->text.size || a->key_bytes > c->text.size - a->key_at ||
		    a->value_at > c->text.size || a->value_bytes > c->text.size - a->value_at)
			abort();
	}
	live_is_empty(c);
}

static void decode_record(const uint8_t *data, size_t size, const struct otel_payload *keys)
{
	struct live_context out = {0};

	otel_record_knows_more(data, size, keys);
	otel_record_decode(data, size, keys, WEFT_OTEL_ROOT_KEY, &out);
	look_at(&out);
	otel_record_decode(data, size, NULL, "", &out);
	look_at(&out);
	live_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recipe in = {data, data + size};
	size_t payload = (size_t)recipe_take(&in, 2), rest, bytes;
	struct otel_payload p = {0};
	uint8_t *record;

	if (payload > (size_t)(in.end - in.at))
		payload = (size_t)(in.end - in.at);
	otel_payload_decode(&p, in.at, payload);
	look_at(&p.resource);
	look_at(&p.attributes);
	look_at(&p.keys);
	for (unsigned int i = 0; i < 256; i++) {
		const char *key = otel_payload_key(&p, i, &bytes);

		if (key && bytes &&
		    (key < (const char *)p.keys.text.data ||
		     key + bytes > (const char *)p.keys.text.data + p.keys.text.size))
			abort();
	}
	rest = (size_t)(in.end - in.at) - payload;
	record = malloc(rest ? rest : 1); /* of its own, so that its end is watched */
	memcpy(record, in.at + payload, rest);
	decode_record(record, rest, &p);
	free(record);
	otel_payload_free(&p);
	return 0;
}
