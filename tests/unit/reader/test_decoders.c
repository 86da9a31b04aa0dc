/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders of the reader, over made-up bytes and memory: this process's own. */
#include "reader/context/custom_labels.h"
#include "reader/context/otel_payload.h"
#include "reader/context/otel_record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void expect_text(const struct live_context *c, const char *key, const char *value)
{
	const struct live_attribute *a = live_find(c, key, strlen(key));

	assert_non_null(a);
	assert_int_equal(a->value_bytes, strlen(value));
	assert_memory_equal(live_text(c, a->value_at), value, a->value_bytes);
}

/* resource {a: "1"}, x: true, the key map, y: [1, "b"]; fields that nobody knows in between */
static const uint8_t payload[] = "\x0a\x0a\x0a\x08\x0a\x01"
				 "a\x12\x03\x0a\x01"
				 "1"
				 "\x78\x05"
				 "\x12\x07\x0a\x01x\x12\x02\x10\x01"
				 "\x12\x2b\x0a\x1d"
				 "threadlocal.attribute_key_map"
				 "\x12\x0a\x2a\x08\x0a\x03\x0a\x01k\x0a\x01\x0a"
				 "";

static void test_key_map(void **state)
{
	/* the example of libdatadog: three keys */
	static const uint8_t example[] =
		"\x12\x59\x0a\x1dthreadlocal.attribute_key_map\x12\x38\x2a\x36\x0a\x1c\x0a\x1a"
		"datadog.local_root_span_id\x0a\x0c\x0a\x0ahttp.route\x0a\x08\x0a\x06tenant";
	struct otel_payload p = {0}, copy = {0};
	size_t bytes;

	(void)state;
	assert_int_equal(otel_payload_decode(&p, example, sizeof(example) - 1), 0);
	assert_int_equal(p.keys.count, 3);
	assert_memory_equal(otel_payload_key(&p, 1, &bytes), "http.route", 10);
	assert_int_equal(bytes, 10);
	assert_memory_equal(otel_payload_key(&p, 2, &bytes), "tenant", 6);
	assert_null(otel_payload_key(&p, 3, &bytes));
	assert_int_equal(p.attributes.count, 0);
	assert_int_equal(otel_payload_copy(&copy, &p), 0);
	otel_payload_free(&p);
	assert_int_equal(copy.keys.count, 3);
	assert_memory_equal(otel_payload_key(&copy, 2, &bytes), "tenant", 6);
	otel_payload_free(&copy);
}

/* Cut anywhere, or with any byte changed, it ends, and well. */
static void test_payload_damaged(void **state)
{
	struct otel_payload p = {0};
	uint8_t *copy;

	(void)state;
	for (size_t bytes = 0; bytes < sizeof(payload); bytes++)
		for (unsigned int change = 0; change < 256; change += 5) {
			copy = malloc(bytes + 1);
			assert_non_null(copy);
			memcpy(copy, payload, bytes);
			if (bytes)
				copy[change % bytes] ^= (uint8_t)change;
			otel_payload_decode(&p, copy, bytes);
			free(copy);
		}
	otel_payload_free(&p);
}

/* Lists in lists as deep as 64 KiB can hold: a general decoder's stack would not. */
static void test_payload_deep(void **state)
{
	size_t room = 65536, at = room;
	uint8_t *all = malloc(room);
	struct otel_payload p = {0};

	(void)state;
	assert_non_null(all);
	while (at > 16) {
		size_t inner = room - at, bytes = 0;
		uint8_t length[4];

		do {
			length[bytes++] = (uint8_t)(inner & 0x7F) | (inner > 0x7F ? 0x80 : 0);
			inner >>= 7;
		} while (inner);
		at -= bytes;
		memcpy(all + at, length, bytes);
		all[--at] = 0x12;
	}
	otel_payload_decode(&p, all + at, room - at);
	otel_payload_free(&p);
	free(all);
}

static const uint8_t record[] = "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c"
				"\xb7\xad\x6b\x71\x69\x20\x33\x31\x01\x01\x27\x00"
				"\x00\x10"
				"00f067aa0ba902b7"
				"\x01\x0a/items/:id"
				"\x02\x04"
				"acme"
				"\x02\x05z";

/* The published example, with a last attribute that is not whole. */
static void test_record(void **state)
{
	static const uint8_t trace[] = {0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
					0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c};
	struct live_context c = {0};

	(void)state;
	assert_int_equal(otel_record_decode(record, sizeof(record) - 1, NULL, "#0", &c), 3);
	assert_memory_equal(c.trace_id, trace, 16);
	assert_true(c.span_id == 0xb7ad6b7169203331);
	assert_true(c.root_span_id == 0x00f067aa0ba902b7);
	assert_int_equal(c.flags, LIVE_TRACE | LIVE_SPAN | LIVE_ROOT);
	assert_int_equal(c.trace_flags, 1);
	assert_int_equal(c.count, 3);
	expect_text(&c, "#1", "/items/:id");
	expect_text(&c, "#2", "acme");
	assert_true(otel_record_knows_more(record, sizeof(record) - 1, NULL));
	live_free(&c);
}

static void test_record_cut(void **state)
{
	struct live_context c = {0};

	(void)state;
	for (size_t bytes = 0; bytes < sizeof(record); bytes++) {
		uint8_t *copy = malloc(bytes + 1);

		assert_non_null(copy);
		memcpy(copy, record, bytes);
		otel_record_decode(copy, bytes, NULL, "#0", &c);
		assert_true(c.count <= 3);
		free(copy);
	}
	live_free(&c);
}

static struct weft_custom_labels_string string(const void *text, size_t bytes)
{
	return (struct weft_custom_labels_string){bytes, text};
}

static int copy_set(const struct weft_custom_labels_set *set, struct live_context *out)
{
	struct custom_labels_copy *copy = malloc(sizeof(*copy));
	struct target *t = NULL;
	int rc;

	assert_non_null(copy);
	assert_int_equal(target_open(&t, getpid()), 0);
	rc = custom_labels_copy(t, (uint64_t)(uintptr_t)set, copy);
	live_begin(out, LIVE_CUSTOM_LABELS);
	custom_labels_put(copy, 0, out);
	target_close(t);
	free(copy);
	return rc;
}

static void test_labels(void **state)
{
	struct weft_custom_labels_label labels[4] = {
		{string("k", 1), string("first", 5)},
		{string(NULL, 99), string("none", 4)},
		{string("k", 1), string("second", 6)},
		{string("", 0), string("", 0)},
	};
	struct weft_custom_labels_set set = {labels, 4, 0};
	struct live_context c = {0};

	(void)state;
	assert_int_equal(copy_set(&set, &c), 0);
	assert_int_equal(c.count, 2);
	expect_text(&c, "k", "first");
	expect_text(&c, "", "");
	assert_int_equal(c.flags, 0);
	live_free(&c);
}

static void test_labels_of_lies(void **state)
{
	static char big[CUSTOM_LABELS_VALUE + 100];
	struct weft_custom_labels_label labels[2] = {{string("k", 1), string(big, sizeof(big))}};
	struct weft_custom_labels_set set = {labels, 2, 0};
	struct live_context c = {0};

	(void)state;
	assert_int_equal(copy_set(&set, &c), 0);
	assert_int_equal(c.flags, LIVE_CUT);
	assert_int_equal(c.attribute[0].value_bytes, CUSTOM_LABELS_VALUE);
	labels[0].value.buf = (const unsigned char *)8;
	assert_int_equal(copy_set(&set, &c), -EFAULT);
	assert_int_equal(c.count, 0);
	set.storage = (struct weft_custom_labels_label *)UINTPTR_MAX;
	set.count = UINT64_MAX;
	assert_int_equal(copy_set(&set, &c), -EFAULT);
	assert_int_equal(copy_set((const void *)16, &c), -EFAULT);
	assert_int_equal(copy_set(NULL, &c), 0);
	live_free(&c);
}

static void test_numbers(void **state)
{
	uint64_t n = 7;

	(void)state;
	assert_int_equal(live_number("18446744073709551615", 20, 10, &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(live_number("18446744073709551616", 20, 10, &n), -EINVAL);
	assert_int_equal(live_number("", 0, 10, &n), -EINVAL);
	assert_int_equal(live_number("12a", 3, 10, &n), -EINVAL);
	assert_int_equal(live_number("12a", 3, 16, &n), 0);
	assert_true(n == 0x12a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key_map),        cmocka_unit_test(test_payload_damaged),
		cmocka_unit_test(test_payload_deep),   cmocka_unit_test(test_record),
		cmocka_unit_test(test_record_cut),     cmocka_unit_test(test_labels),
		cmocka_unit_test(test_labels_of_lies), cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
