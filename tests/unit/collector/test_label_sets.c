/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of labels as numbers, and the fields that their keys get. */
#include "collector/process/label_sets.h"
#include "collector/write/recording_types.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct label_sets *sets;

static int begin(void **state)
{
	(void)state;
	sets = label_sets_new();
	return sets ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	label_sets_free(sets);
	return 0;
}

static size_t put(uint8_t *at, const char *key, size_t key_bytes, const char *value,
		  size_t value_bytes)
{
	struct weft_sample_label head = {(uint16_t)key_bytes, (uint16_t)value_bytes};

	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), key, key_bytes);
	memcpy(at + sizeof(head) + key_bytes, value, value_bytes);
	return sizeof(head) + key_bytes + value_bytes;
}

/* "a=1 b=2": blanks and equal signs are no part of keys and values. */
static int64_t number_of(const char *text)
{
	uint8_t bytes[4096];
	size_t used = 0;

	while (*text) {
		size_t key = strcspn(text, "="), value = strcspn(text + key + 1, " ");

		used += put(bytes + used, text, key, text + key + 1, value);
		text += key + 1 + value;
		text += *text == ' ';
	}
	assert_true(label_bytes_are_sound(bytes, used));
	return label_sets_put(sets, bytes, used);
}

static void equal_sets_have_equal_numbers(void **state)
{
	int64_t a = number_of("tenant=acme route=/x"), b = number_of("tenant=acme route=/y");

	(void)state;
	assert_true(a > 0 && b > 0 && a != b);
	assert_int_equal(number_of("tenant=acme route=/x"), a);
	assert_int_equal(number_of("route=/x tenant=acme"), a);              /* in whatever order */
	assert_int_equal(number_of("route=/x tenant=acme tenant=other"), a); /* the first counts */
	assert_int_not_equal(number_of("tenant=other tenant=acme route=/x"), a);
	assert_int_equal(number_of(""), 0);
	assert_int_not_equal(number_of("a=bc"), number_of("ab=c"));
	assert_int_not_equal(number_of("a= b="), number_of("a="));
	assert_null(label_sets_get(sets, 0));
	assert_null(label_sets_get(sets, 1000));
	assert_int_equal(label_sets_get(sets, (uint32_t)a)->count, 2);
	assert_string_equal(label_sets_get(sets, (uint32_t)a)->item[0].key, "route");
	assert_string_equal(label_sets_get(sets, (uint32_t)a)->item[1].value, "acme");
}

static void any_bytes_are_texts(void **state)
{
	uint8_t bytes[64];
	size_t used = put(bytes, "k\0y", 3, "\xFF\0", 2);
	int64_t n = label_sets_put(sets, bytes, used);
	const struct label_item *item;

	(void)state;
	assert_true(n > 0);
	item = &label_sets_get(sets, (uint32_t)n)->item[0];
	assert_string_equal(item->key, "k\xEF\xBF\xBDy");
	assert_int_equal(item->key_bytes, 5);
	assert_string_equal(item->value, "\xFF\xEF\xBF\xBD");
}

static void what_is_not_whole_is_refused(void **state)
{
	uint8_t bytes[600];
	struct weft_sample_label head;
	size_t used;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	used = put(bytes, "key", 3, "value", 5);
	assert_true(label_bytes_are_sound(bytes, 0));
	for (size_t n = 1; n < used; n++)
		assert_false(label_bytes_are_sound(bytes, n));
	assert_true(label_bytes_are_sound(bytes, used));
	assert_false(label_bytes_are_sound(bytes, used + 1));
	head = (struct weft_sample_label){0, 4}; /* no key */
	memcpy(bytes, &head, sizeof(head));
	assert_false(label_bytes_are_sound(bytes, 8));
	head = (struct weft_sample_label){WEFT_CUSTOM_LABELS_KEY_BYTES + 1, 0};
	memcpy(bytes, &head, sizeof(head));
	assert_false(label_bytes_are_sound(bytes, 4u + head.key_bytes));
	head = (struct weft_sample_label){1, WEFT_CUSTOM_LABELS_VALUE_BYTES + 1};
	memcpy(bytes, &head, sizeof(head));
	assert_false(label_bytes_are_sound(bytes, 5u + head.value_bytes));
	head = (struct weft_sample_label){UINT16_MAX, UINT16_MAX};
	memcpy(bytes, &head, sizeof(head));
	assert_false(label_bytes_are_sound(bytes, sizeof(bytes)));
}

static void what_nobody_speaks_of_goes(void **state)
{
	char text[64];
	int64_t kept = number_of("tenant=kept"), other;

	(void)state;
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 1000; i++) {
			snprintf(text, sizeof(text), "request=%d", round * 1000 + i);
			other = number_of(text);
			/* numbers come again: there are never more than that many */
			assert_in_range(other, 1, 1001);
			assert_int_not_equal(other, kept);
		}
		label_sets_mark(sets, (uint32_t)kept);
		label_sets_sweep(sets);
		assert_null(label_sets_get(sets, (uint32_t)other));
		assert_int_equal(number_of("tenant=kept"), kept);
		assert_string_equal(label_sets_get(sets, (uint32_t)kept)->item[0].value, "kept");
	}
	label_sets_sweep(sets);
	assert_null(label_sets_get(sets, (uint32_t)kept));
}

/* Each key has a field of its own, whatever tags and the fixed fields are called. */
static void fields_never_clash(void **state)
{
	struct tag_columns c = {0};
	int route = tag_columns_find(&c, "route");

	(void)state;
	assert_int_equal(label_columns_find(&c, "tenant"), 1);
	assert_string_equal(c.name[1], "tenant");
	assert_string_equal(c.key[1], "tenant");
	assert_int_equal(label_columns_find(&c, "route"), 2);
	assert_string_equal(c.name[2], "label_route");
	assert_int_equal(label_columns_find(&c, "http.route"), 3);
	assert_string_equal(c.name[3], "http_route");
	assert_int_equal(label_columns_find(&c, "http/route"), 4);
	assert_string_equal(c.name[4], "label_http_route");
	assert_int_equal(label_columns_find(&c, "http-route"), 5);
	assert_string_equal(c.name[5], "label_http_route_2");
	assert_int_equal(label_columns_find(&c, "spanId"), 6);
	assert_string_equal(c.name[6], "label_spanId");
	assert_int_equal(label_columns_find(&c, "2nd"), 7);
	assert_string_equal(c.name[7], "label_2nd");
	assert_int_equal(tag_columns_find(&c, "tenant"), 8); /* a tag that comes later */
	assert_string_equal(c.name[8], "tag_tenant");
	assert_null(c.key[8]);
	assert_int_equal(tag_columns_find(&c, "route"), route);
	assert_int_equal(label_columns_find(&c, "http.route"), 3);
	for (size_t i = 0; i < c.count; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(c.name[i], c.name[j]);
	tag_columns_free(&c);
}

/* Keys that are too many take no room of tags, nor the other way round. */
static void fields_are_bounded(void **state)
{
	struct tag_columns c = {0};
	char name[16];

	(void)state;
	for (int i = 0; i < LABEL_COLUMNS_MAX; i++) {
		snprintf(name, sizeof(name), "key%d", i);
		assert_int_equal(label_columns_find(&c, name), i);
	}
	assert_int_equal(label_columns_find(&c, "more"), -ENOSPC);
	assert_int_equal(label_columns_find(&c, "key3"), 3);
	for (int i = 0; i < TAG_COLUMNS_MAX; i++) {
		snprintf(name, sizeof(name), "tag%d", i);
		assert_int_equal(tag_columns_find(&c, name), LABEL_COLUMNS_MAX + i);
	}
	assert_int_equal(tag_columns_find(&c, "more"), -ENOSPC);
	tag_columns_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_sets_have_equal_numbers, begin, end),
		cmocka_unit_test_setup_teardown(any_bytes_are_texts, begin, end),
		cmocka_unit_test(what_is_not_whole_is_refused),
		cmocka_unit_test_setup_teardown(what_nobody_speaks_of_goes, begin, end),
		cmocka_unit_test(fields_never_clash),
		cmocka_unit_test(fields_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
