/* SPDX-License-Identifier: Apache-2.0 */
/* Description: the interning map finds what was put, counts it once, walks it whole, and
 * forgets what was removed. */
#include "base/map.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEYS 20000

static void finds_what_was_put(void **state)
{
	struct map *m = map_new();
	char key[32];
	int fresh;

	(void)state;
	assert_non_null(m);
	for (unsigned int i = 0; i < KEYS; i++) {
		int bytes = snprintf(key, sizeof(key), "key-%u", i);
		uint64_t *value = map_put(m, key, (size_t)bytes, &fresh);

		assert_non_null(value);
		assert_int_equal(fresh, 1);
		assert_int_equal(*value, 0);
		*value = i + 1;
	}
	assert_int_equal(map_count(m), KEYS);
	for (unsigned int i = 0; i < KEYS; i++) {
		int bytes = snprintf(key, sizeof(key), "key-%u", i);

		assert_int_equal(*map_put(m, key, (size_t)bytes, &fresh), i + 1);
		assert_int_equal(fresh, 0);
		assert_int_equal(*map_get(m, key, (size_t)bytes), i + 1);
	}
	assert_null(map_get(m, "key-", 4));
	assert_int_equal(map_count(m), KEYS);
	map_free(m);
}

static void keys_are_bytes(void **state)
{
	struct map *m = map_new();

	(void)state;
	*map_put(m, "", 0, NULL) = 1;
	*map_put(m, "\0", 1, NULL) = 2;
	*map_put(m, "\0\0", 2, NULL) = 3;
	assert_int_equal(*map_get(m, "", 0), 1);
	assert_int_equal(*map_get(m, "\0", 1), 2);
	assert_int_equal(*map_get(m, "\0\0", 2), 3);
	assert_int_equal(map_count(m), 3);
	map_free(m);
}

static void walk_sees_each_once(void **state)
{
	struct map *m = map_new();
	uint64_t sum = 0;
	size_t cursor = 0, bytes, seen = 0;
	const void *key;
	uint64_t *value;

	(void)state;
	for (uint32_t i = 1; i <= 1000; i++)
		*map_put(m, &i, sizeof(i), NULL) = i;
	while (map_next(m, &cursor, &key, &bytes, &value)) {
		uint32_t number;

		assert_int_equal(bytes, sizeof(number));
		memcpy(&number, key, sizeof(number));
		assert_int_equal(*value, number);
		sum += number;
		seen++;
	}
	assert_int_equal(seen, 1000);
	assert_int_equal(sum, 500500);
	map_free(m);
	map_free(NULL);
}

/* A map that is filled and emptied again and again, as by threads that come and go, holds what a
 * plain array of flags says. */
static void what_is_removed_is_gone(void **state)
{
	enum { ALL = 4096 };
	static uint8_t is_there[ALL];
	struct map *m = map_new();
	uint32_t random = 1;
	size_t count = 0;

	(void)state;
	for (unsigned int step = 0; step < 200000; step++) {
		uint32_t number;

		random = random * 1664525 + 1013904223;
		number = (random >> 8) % ALL;
		assert_int_equal(map_get(m, &number, sizeof(number)) != NULL, is_there[number]);
		if (is_there[number]) {
			assert_int_equal(*map_get(m, &number, sizeof(number)), number + 1);
			assert_int_equal(map_remove(m, &number, sizeof(number)), 1);
		} else {
			assert_int_equal(map_remove(m, &number, sizeof(number)), 0);
			*map_put(m, &number, sizeof(number), NULL) = number + 1;
		}
		is_there[number] ^= 1;
		count = is_there[number] ? count + 1 : count - 1;
		assert_int_equal(map_count(m), count);
	}
	for (uint32_t i = 0; i < ALL; i++)
		assert_int_equal(map_remove(m, &i, sizeof(i)), is_there[i]);
	assert_int_equal(map_count(m), 0);
	map_free(m);
}

/* How much the allocator has given out; 0: it does not say. */
static size_t allocated(void)
{
#ifdef __GLIBC__
	return mallinfo2().uordblks;
#else
	return 0;
#endif
}

/* Those of sanitizers and of other libcs do not. */
static int allocator_tells(void)
{
	size_t before = allocated();
	void *volatile some = malloc(100000);
	int tells = allocated() > before;

	free(some);
	return tells;
}

static void removed_keys_take_no_memory(void **state)
{
	struct map *m = map_new();
	size_t before = 0;

	(void)state;
	if (!allocator_tells()) {
		map_free(m);
		print_message("the allocator does not tell what is allocated\n");
		skip();
	}
	for (uint64_t i = 0; i < 500000; i++) {
		assert_non_null(map_put(m, &i, sizeof(i), NULL));
		if (i >= 100) {
			uint64_t old = i - 100;

			assert_int_equal(map_remove(m, &old, sizeof(old)), 1);
		}
		if (i == 50000)
			before = allocated();
	}
	assert_true(allocated() <= before + 16384);
	map_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_removed_is_gone),
		cmocka_unit_test(removed_keys_take_no_memory),
		cmocka_unit_test(finds_what_was_put),
		cmocka_unit_test(keys_are_bytes),
		cmocka_unit_test(walk_sees_each_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
