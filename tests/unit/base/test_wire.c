/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: LEB128 and protobuf's fields, whole, cut off and too long; the names of
 * OpenTelemetry's mapping.
 */
#include "base/wire/leb128.h"
#include "base/wire/otel_mapping.h"
#include "base/wire/protobuf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* ---- LEB128; the numbers are those of DWARF 5, 7.6, and the ends of their range */

static void numbers(void **state)
{
	static const struct {
		uint64_t value;
		const char *bytes;
		size_t count;
	} cases[] = {
		{0, "\x00", 1},
		{2, "\x02", 1},
		{127, "\x7f", 1},
		{128, "\x80\x01", 2},
		{12857, "\xb9\x64", 2},
		{UINT32_MAX, "\xff\xff\xff\xff\x0f", 5},
		{UINT64_C(1) << 63, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10},
		{UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const uint8_t *bytes = (const uint8_t *)cases[i].bytes, *at = bytes;
		uint8_t out[LEB128_BYTES];
		uint64_t value = 5;

		assert_int_equal(leb128_put(out, cases[i].value) - out, cases[i].count);
		assert_memory_equal(out, bytes, cases[i].count);
		for (size_t cut = 0; cut < cases[i].count; cut++) {
			assert_int_equal(leb128_read(&at, bytes + cut, &value), -EBADMSG);
			assert_true(at == bytes && value == 5);
		}
		assert_int_equal(leb128_read(&at, bytes + cases[i].count, &value), 0);
		assert_true(value == cases[i].value);
		assert_true(at == bytes + cases[i].count);
	}
}

static void signed_numbers(void **state)
{
	static const struct {
		int64_t value;
		const char *bytes;
		size_t count;
	} cases[] = {
		{2, "\x02", 1},
		{-2, "\x7e", 1},
		{127, "\xff\x00", 2},
		{-127, "\x81\x7f", 2},
		{128, "\x80\x01", 2},
		{-128, "\x80\x7f", 2},
		{INT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10},
		{INT64_MIN, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10},
		{-1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const uint8_t *bytes = (const uint8_t *)cases[i].bytes, *at = bytes;
		int64_t value = 5;

		assert_int_equal(leb128_read_signed(&at, bytes + cases[i].count - 1, &value),
				 -EBADMSG);
		assert_true(at == bytes && value == 5);
		assert_int_equal(leb128_read_signed(&at, bytes + cases[i].count, &value), 0);
		assert_true(value == cases[i].value);
		assert_true(at == bytes + cases[i].count);
	}
}

/* Zeros behind a number's end are of the encoding, but no more than ten bytes are. */
static void long_numbers(void **state)
{
	static const uint8_t bytes[] = "\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00";
	const uint8_t *at = bytes + 1;
	uint64_t value = 5;

	(void)state;
	assert_int_equal(leb128_read(&at, bytes + 11, &value), 0);
	assert_true(value == 0 && at == bytes + 11);
	at = bytes;
	assert_int_equal(leb128_read(&at, bytes + 11, &value), -EBADMSG);
	assert_true(at == bytes);
}

/* ---- protobuf */

/* 1: 300, 2: "ab", 3: 8 bytes, 16: 4 bytes, 2: "" */
static const uint8_t message[] = "\x08\xac\x02"
				 "\x12\x02"
				 "ab"
				 "\x19\x01\x00\x00\x00\x00\x00\x00\x80"
				 "\x85\x01\xff\x00\x00\x00"
				 "\x12";

static void fields(void **state)
{
	struct protobuf_message m = {message, message + sizeof(message)}; /* with the 0 */
	struct protobuf_field f;

	(void)state;
	assert_int_equal(protobuf_next(&m, &f), 1);
	assert_int_equal(f.number, 1);
	assert_int_equal(f.wire, PROTOBUF_VARINT);
	assert_int_equal(f.value, 300);
	assert_int_equal(protobuf_next(&m, &f), 1);
	assert_int_equal(f.number, 2);
	assert_int_equal(f.wire, PROTOBUF_BYTES);
	assert_int_equal(f.bytes, 2);
	assert_memory_equal(f.data, "ab", 2);
	assert_int_equal(protobuf_inside(&f).end - protobuf_inside(&f).at, 2);
	assert_int_equal(protobuf_next(&m, &f), 1);
	assert_int_equal(f.wire, PROTOBUF_FIXED64);
	assert_true(f.value == UINT64_C(0x8000000000000001));
	assert_int_equal(protobuf_next(&m, &f), 1);
	assert_int_equal(f.number, 16);
	assert_int_equal(f.wire, PROTOBUF_FIXED32);
	assert_int_equal(f.value, 255);
	assert_int_equal(protobuf_next(&m, &f), 1);
	assert_int_equal(f.bytes, 0);
	assert_true(f.data == message + sizeof(message));
	assert_int_equal(protobuf_next(&m, &f), 0);
	m = (struct protobuf_message){NULL, NULL};
	assert_int_equal(protobuf_next(&m, &f), 0);
}

/* Cut off anywhere, it gives the fields that are whole, then an error, if not just between two. */
static void cut_fields(void **state)
{
	(void)state;
	for (size_t bytes = 0; bytes <= sizeof(message); bytes++) {
		struct protobuf_message m = {message, message + bytes};
		struct protobuf_field f;
		int count = 0, rc;

		while ((rc = protobuf_next(&m, &f)) > 0)
			count++;
		assert_int_equal(count, (bytes >= 3) + (bytes >= 7) + (bytes >= 16) +
						(bytes >= 22) + (bytes >= 24));
		assert_int_equal(rc, bytes == 0 || bytes == 3 || bytes == 7 || bytes == 16 ||
						     bytes == 22 || bytes == 24
					     ? 0
					     : -EBADMSG);
	}
}

static void what_is_no_field(void **state)
{
	static const struct {
		const char *bytes;
		size_t count;
	} cases[] = {
		{"\x00\x00", 2},                     /* number 0 */
		{"\x80\x80\x80\x80\x80\x01\x00", 7}, /* number 2^32 */
		{"\x0b", 1},                         /* a group */
		{"\x0c", 1},                         /* its end */
		{"\x0e\x00", 2},                     /* wire types that there are not */
		{"\x0f\x00", 2},
		{"\x0a\x02x", 3},
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 12},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const uint8_t *at = (const uint8_t *)cases[i].bytes;
		struct protobuf_message m = {at, at + cases[i].count};
		struct protobuf_field f;

		assert_int_equal(protobuf_next(&m, &f), -EBADMSG);
	}
}

/* ---- OpenTelemetry's mapping */

static void names_of_a_mapping(void **state)
{
	(void)state;
	assert_true(otel_mapping_is_named("[anon_shmem:OTEL_CTX]"));
	assert_true(otel_mapping_is_named("[anon:OTEL_CTX]"));
	assert_true(otel_mapping_is_named("/memfd:OTEL_CTX"));
	assert_true(otel_mapping_is_named("/memfd:OTEL_CTX (deleted)"));
	assert_false(otel_mapping_is_named("/memfd:OTEL_CTX_BACKUP (deleted)"));
	assert_false(otel_mapping_is_named("/memfd:OTEL_CTX2"));
	assert_false(otel_mapping_is_named("[anon:OTEL_CTX2]"));
	assert_false(otel_mapping_is_named("[anon:OTEL_CT]"));
	assert_false(otel_mapping_is_named(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(signed_numbers),
		cmocka_unit_test(long_numbers),
		cmocka_unit_test(fields),
		cmocka_unit_test(cut_fields),
		cmocka_unit_test(what_is_no_field),
		cmocka_unit_test(names_of_a_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
