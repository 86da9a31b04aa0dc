/* SPDX-License-Identifier: Apache-2.0 */
/*
 * customlabels.h by its contract, compiled in (so that sanitizers see all of it): every function,
 * what the reference library gets wrong, memory that runs out at each allocation in turn, and
 * sets against a plain list of labels in as many changes as it takes to meet every branch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>

#include <customlabels.h>
#include <weft/abi/custom_labels_v1.h>

#include "customlabels/set.h"

/* Of the next allocations so many succeed; -1 = all. */
static int allocations_left = -1;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static int may_allocate(void)
{
	if (allocations_left < 0)
		return 1;
	return allocations_left && allocations_left--;
}

void *__wrap_malloc(size_t bytes)
{
	return may_allocate() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return may_allocate() ? __real_calloc(count, bytes) : NULL;
}

static custom_labels_string_t str(const char *s)
{
	return (custom_labels_string_t){.len = strlen(s), .buf = (const unsigned char *)s};
}

static int put(custom_labels_labelset_t *ls, const char *key, const char *value)
{
	return custom_labels_set(ls, str(key), str(value), NULL);
}

static int has(custom_labels_labelset_t *ls, const char *key, const char *value)
{
	const custom_labels_label_t *l = custom_labels_get(ls, str(key));

	if (!l || !value)
		return !l && !value;
	return l->value.buf && l->value.len == strlen(value) &&
	       !memcmp(l->value.buf, value, l->value.len);
}

static void test_new_is_empty(void **state)
{
	(void)state;
	for (size_t capacity = 0; capacity < 4; capacity++) {
		custom_labels_labelset_t *ls = custom_labels_new(capacity);

		assert_non_null(ls);
		assert_int_equal(custom_labels_count(ls), 0);
		assert_true(has(ls, "a", NULL));
		custom_labels_delete(ls, str("a"));
		custom_labels_careful_delete(ls, str("a"));
		assert_int_equal(put(ls, "a", "1"), 0);
		assert_true(has(ls, "a", "1"));
		custom_labels_free(ls);
	}
	errno = 0;
	assert_null(custom_labels_new(SIZE_MAX));
	assert_int_equal(errno, ENOMEM);
	errno = 0;
	assert_null(custom_labels_new(SIZE_MAX / 32));
	assert_int_equal(errno, ENOMEM);
	custom_labels_free(NULL);
}

#define MANY 3000 /* more than a few chunks hold */

/* Which pointers lead to a set that is there: its own address alone, and not when it is freed. */
static void test_which_are_ours(void **state)
{
	static custom_labels_labelset_t *sets[MANY];
	struct weft_custom_labels_set strange = {0};

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < MANY; i++) {
			sets[i] = custom_labels_new(0);
			assert_int_equal(put(sets[i], "n", i % 2 ? "odd" : "even"), 0);
		}
		for (int i = 0; i < MANY; i++) {
			assert_true(set_is_ours(sets[i]));
			assert_true(has(sets[i], "n", i % 2 ? "odd" : "even"));
			assert_false(set_is_ours((void *)((char *)sets[i] + 8)));
		}
		for (int i = 0; i < MANY; i++) {
			custom_labels_free(sets[i]);
			assert_false(set_is_ours(sets[i]));
			custom_labels_free(sets[i]); /* once more is no harm */
		}
	}
	assert_false(set_is_ours(NULL));
	assert_false(set_is_ours(&strange));
	assert_int_equal(put((void *)&strange, "a", "1"), EINVAL);
	custom_labels_delete((void *)&strange, str("a"));
	custom_labels_free((void *)&strange);
	assert_int_equal(strange.count, 0);
}

static void test_set_get_delete(void **state)
{
	custom_labels_labelset_t *ls = custom_labels_new(1);
	custom_labels_string_t old;

	(void)state;
	assert_int_equal(custom_labels_set(ls, str("k"), str("v"), &old), 0);
	assert_null(old.buf);
	assert_int_equal(put(ls, "l", ""), 0);
	assert_int_equal(put(ls, "", "empty key"), 0);
	assert_int_equal(custom_labels_count(ls), 3);
	assert_true(has(ls, "l", ""));
	assert_true(has(ls, "", "empty key"));
	assert_int_equal(custom_labels_careful_set(ls, str("k"), str("longer"), &old), 0);
	assert_int_equal(old.len, 1);
	assert_memory_equal(old.buf, "v", 1);
	free((void *)(uintptr_t)old.buf);
	assert_int_equal(custom_labels_set(ls, str("l"), str("x"), &old), 0);
	assert_non_null(old.buf); /* an empty value is one */
	assert_int_equal(old.len, 0);
	free((void *)(uintptr_t)old.buf);
	assert_int_equal(custom_labels_count(ls), 3);
	custom_labels_delete(ls, str("k"));
	assert_true(has(ls, "k", NULL));
	assert_true(has(ls, "l", "x"));
	custom_labels_careful_delete(ls, str("l"));
	custom_labels_delete(ls, str(""));
	assert_int_equal(custom_labels_count(ls), 0);
	custom_labels_free(ls);
}

static void test_bytes_are_free(void **state)
{
	static const unsigned char bytes[] = {0, 1, 0xFF, 0, 'x'};
	custom_labels_labelset_t *ls = custom_labels_new(0);
	custom_labels_string_t key = {3, bytes}, longer = {5, bytes};

	(void)state;
	assert_int_equal(custom_labels_set(ls, key, longer, NULL), 0);
	assert_int_equal(custom_labels_set(ls, longer, key, NULL), 0);
	assert_int_equal(custom_labels_get(ls, key)->value.len, 5);
	assert_memory_equal(custom_labels_get(ls, key)->value.buf, bytes, 5);
	assert_int_equal(custom_labels_get(ls, longer)->value.len, 3);
	/* strings of the set itself */
	assert_int_equal(custom_labels_set(ls, custom_labels_get(ls, key)->key,
					   custom_labels_get(ls, longer)->value, NULL),
			 0);
	assert_int_equal(custom_labels_get(ls, key)->value.len, 3);
	custom_labels_delete(ls, custom_labels_get(ls, longer)->key);
	assert_int_equal(custom_labels_count(ls), 1);
	custom_labels_free(ls);
}

static void test_nothing_is_refused(void **state)
{
	custom_labels_labelset_t *ls = custom_labels_new(0);
	custom_labels_string_t none = {0}, bad = {.len = 3}, out = {.len = 9};

	(void)state;
	assert_int_equal(custom_labels_set(ls, none, str("v"), &out), EINVAL);
	assert_null(out.buf);
	assert_int_equal(custom_labels_set(ls, str("k"), bad, NULL), EINVAL);
	assert_int_equal(custom_labels_set(NULL, str("k"), str("v"), NULL), EINVAL);
	assert_int_equal(custom_labels_set(ls, str("k"), none, NULL), 0); /* an empty value */
	assert_true(has(ls, "k", ""));
	assert_null(custom_labels_get(NULL, str("k")));
	assert_null(custom_labels_get(ls, none));
	custom_labels_delete(NULL, str("k"));
	custom_labels_delete(ls, none);
	assert_int_equal(custom_labels_count(NULL), 0);
	custom_labels_free(ls);
}

static void test_clone(void **state)
{
	custom_labels_labelset_t *ls = custom_labels_new(0), *copy;

	(void)state;
	copy = custom_labels_clone(ls);
	assert_int_equal(custom_labels_count(copy), 0);
	custom_labels_free(copy);
	copy = custom_labels_clone(NULL);
	assert_int_equal(custom_labels_count(copy), 0);
	custom_labels_free(copy);
	put(ls, "a", "1");
	put(ls, "b", "2");
	put(ls, "c", "3");
	for (size_t capacity = 0; capacity < 6; capacity++) {
		copy = custom_labels_clone_with_capacity(ls, capacity);
		assert_int_equal(custom_labels_count(copy), 3);
		assert_int_equal(put(copy, "a", "other"), 0);
		assert_int_equal(put(copy, "d", "4"), 0);
		assert_true(has(ls, "a", "1") && has(ls, "d", NULL));
		assert_true(has(copy, "a", "other") && has(copy, "b", "2") && has(copy, "d", "4"));
		custom_labels_free(copy);
	}
	custom_labels_free(ls);
}

static void *current_of_another_thread(void *arg)
{
	(void)arg;
	return custom_labels_current();
}

static void test_current(void **state)
{
	custom_labels_labelset_t *one = custom_labels_new(2), *two = custom_labels_new(2);
	void *seen = one;
	pthread_t other;

	(void)state;
	assert_int_equal(custom_labels_abi_version, 1);
	assert_null(custom_labels_current());
	assert_null(custom_labels_replace(one));
	assert_ptr_equal(custom_labels_current_set, one);
	assert_ptr_equal(custom_labels_current(), one);
	pthread_create(&other, NULL, current_of_another_thread, NULL);
	pthread_join(other, &seen);
	assert_null(seen);
	assert_ptr_equal(custom_labels_replace(two), one);
	assert_ptr_equal(custom_labels_replace(NULL), two);
	custom_labels_replace(one);
	custom_labels_free(one); /* the reference library aborts */
	assert_null(custom_labels_current());
	custom_labels_free(two);
}

static const char *debug(custom_labels_labelset_t *ls)
{
	static char text[100];
	custom_labels_string_t out;

	assert_int_equal(custom_labels_debug_string(ls, &out), 0);
	snprintf(text, sizeof(text), "%.*s", (int)out.len, (const char *)out.buf);
	free((void *)(uintptr_t)out.buf);
	return text;
}

static void test_debug_string(void **state)
{
	custom_labels_labelset_t *ls = custom_labels_new(0);

	(void)state;
	assert_string_equal(debug(ls), "{}");
	assert_string_equal(debug(NULL), "{}");
	put(ls, "a", "1");
	assert_string_equal(debug(ls), "{a: 1}");
	put(ls, "b", "");
	assert_string_equal(debug(ls), "{a: 1, b: }");
	custom_labels_free(ls);
}

struct during {
	custom_labels_labelset_t *ls;
	const char *a, *b; /* what they are while the function runs */
	const char *then_set, *then_delete;
};

static void *look(void *arg)
{
	struct during *d = arg;

	if (!has(d->ls, "a", d->a) || !has(d->ls, "b", d->b))
		return NULL;
	if (d->then_set)
		put(d->ls, d->then_set, "by the function");
	if (d->then_delete)
		custom_labels_delete(d->ls, str(d->then_delete));
	return d;
}

typedef int (*run_function)(custom_labels_labelset_t *, custom_labels_label_t *, int,
			    void *(*)(void *), void *, void **);

static void run_all(run_function run)
{
	custom_labels_labelset_t *ls = custom_labels_new(0);
	custom_labels_label_t two[] = {{str("a"), str("1")}, {str("b"), str("2")}};
	custom_labels_label_t same[] = {{str("a"), str("1")}, {str("a"), str("2")}};
	struct during d = {.ls = ls, .a = "1", .b = "2"};
	void *out = NULL;

	assert_int_equal(run(ls, two, 2, look, &d, &out), 0);
	assert_ptr_equal(out, &d);
	assert_int_equal(custom_labels_count(ls), 0); /* absent before, absent after */
	put(ls, "a", "before");
	assert_int_equal(run(ls, two, 2, look, &d, NULL), 0);
	assert_true(has(ls, "a", "before") && has(ls, "b", NULL));
	d = (struct during){.ls = ls, .a = "2", .b = NULL};
	out = NULL;
	assert_int_equal(run(ls, same, 2, look, &d, &out), 0);
	assert_ptr_equal(out, &d);
	assert_true(has(ls, "a", "before")); /* not the first of the two */
	custom_labels_delete(ls, str("a"));
	assert_int_equal(run(ls, same, 2, look, &d, NULL), 0);
	assert_true(has(ls, "a", NULL));
	put(ls, "a", "before");
	d = (struct during){ls, "1", "2", "c", "a"};
	assert_int_equal(run(ls, two, 2, look, &d, NULL), 0);
	assert_true(has(ls, "a", "before") && has(ls, "b", NULL));
	assert_true(has(ls, "c", "by the function"));
	d = (struct during){.ls = ls, .a = "before"};
	out = NULL;
	assert_int_equal(run(ls, NULL, 0, look, &d, &out), 0);
	assert_ptr_equal(out, &d);
	custom_labels_free(ls);
}

static void test_run_with(void **state)
{
	(void)state;
	run_all(custom_labels_run_with);
	run_all(custom_labels_careful_run_with);
}

static void *count_calls(void *arg)
{
	++*(int *)arg;
	return arg;
}

static void test_run_with_refuses(void **state)
{
	custom_labels_labelset_t *ls = custom_labels_new(0);
	custom_labels_label_t bad[] = {{str("a"), str("1")}, {{0, NULL}, str("2")}};
	int calls = 0;

	(void)state;
	assert_int_equal(custom_labels_run_with(ls, bad, 2, count_calls, &calls, NULL), EINVAL);
	assert_int_equal(custom_labels_run_with(ls, bad, -1, count_calls, &calls, NULL), EINVAL);
	assert_int_equal(custom_labels_run_with(NULL, bad, 1, count_calls, &calls, NULL), EINVAL);
	assert_int_equal(custom_labels_run_with(ls, NULL, 1, count_calls, &calls, NULL), EINVAL);
	assert_int_equal(custom_labels_run_with(ls, bad, 1, NULL, &calls, NULL), EINVAL);
	assert_int_equal(calls, 0);
	assert_int_equal(custom_labels_count(ls), 0);
	custom_labels_free(ls);
}

/* Each thing that takes memory, with the n-th allocation failing, until none does. */
static int try_all(custom_labels_labelset_t *ls, int which)
{
	custom_labels_label_t two[] = {{str("a"), str("other")}, {str("new"), str("2")}};
	custom_labels_labelset_t *made = NULL;
	custom_labels_string_t out = {0};
	int calls = 0, failed = ENOMEM;

	switch (which) {
	case 0:
		made = custom_labels_new(3);
		failed = made ? 0 : ENOMEM;
		break;
	case 1:
		made = custom_labels_clone(ls);
		failed = made ? 0 : ENOMEM;
		break;
	case 2:
		failed = custom_labels_set(ls, str("a"), str("1"), &out);
		break;
	case 3:
		failed = custom_labels_run_with(ls, two, 2, count_calls, &calls, NULL);
		assert_int_equal(calls, failed ? 0 : 1);
		break;
	case 4:
		failed = custom_labels_debug_string(ls, &out);
		break;
	default:
		failed = put(ls, "added", "value");
		break;
	}
	assert_true(failed == 0 || (failed == ENOMEM && !out.buf));
	free((void *)(uintptr_t)out.buf);
	custom_labels_free(made);
	return failed;
}

static void test_no_memory(void **state)
{
	(void)state;
	for (int which = 0; which < 6; which++) {
		custom_labels_labelset_t *ls = custom_labels_new(2);
		int failures = -1, failed = ENOMEM;

		put(ls, "a", "1");
		put(ls, "b", "2"); /* full: one more needs larger arrays */
		while (failed) {
			allocations_left = ++failures;
			failed = try_all(ls, which);
			allocations_left = -1;
			assert_true(has(ls, "a", "1") && has(ls, "b", "2"));
			assert_int_equal(custom_labels_count(ls), failed || which < 5 ? 2 : 3);
			assert_in_range(failures, 0, 50);
		}
		assert_true(failures > 0);
		custom_labels_free(ls);
	}
}

#define KEYS 14

static uint32_t random_of(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)*seed * below) >> 32);
}

/* As a reader sees it: through the layout of the ABI alone. */
static void compare(const struct weft_custom_labels_set *seen, const int *model)
{
	int found[KEYS] = {0};

	for (uint64_t i = 0; i < seen->count; i++) {
		const struct weft_custom_labels_label *l = &seen->storage[i];
		char value[16];

		if (!l->key.buf)
			continue;
		assert_non_null(l->value.buf);
		assert_int_equal(l->key.bytes, 1);
		snprintf(value, sizeof(value), "%.*s", (int)l->value.bytes, l->value.buf);
		found[l->key.buf[0] - 'a'] = atoi(value);
	}
	assert_memory_equal(found, model, sizeof(found));
}

static void test_against_a_list(void **state)
{
	(void)state;
	for (uint32_t round = 1; round <= 60; round++) {
		custom_labels_labelset_t *ls = custom_labels_new(round % 5);
		uint32_t seed = round;
		int model[KEYS] = {0};

		for (int i = 0; i < 300; i++) {
			uint32_t n = random_of(&seed, KEYS), number = 1 + random_of(&seed, 2000);
			char key[2] = {(char)('a' + n), 0}, value[16];

			snprintf(value, sizeof(value), "%u", number);
			if (random_of(&seed, 3)) {
				assert_int_equal(put(ls, key, value), 0);
				model[n] = (int)number;
			} else {
				custom_labels_delete(ls, str(key));
				model[n] = 0;
			}
			compare(ls, model);
		}
		custom_labels_free(ls);
	}
}

static uint64_t generation_of(const custom_labels_labelset_t *ls)
{
	return ((const uint64_t *)(const void *)ls)[-1];
}

/* No address and generation come twice. */
static void test_generations(void **state)
{
	uint64_t last = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		custom_labels_labelset_t *ls = custom_labels_new(1);
		uint64_t before = generation_of(ls);

		assert_true(before > last);
		put(ls, "a", "1");
		assert_true(generation_of(ls) > before);
		before = generation_of(ls);
		put(ls, "a", "2");
		put(ls, "b", "2");
		custom_labels_delete(ls, str("a"));
		assert_true(generation_of(ls) > before + 2);
		last = generation_of(ls);
		custom_labels_free(ls);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_is_empty),
		cmocka_unit_test(test_which_are_ours),
		cmocka_unit_test(test_set_get_delete),
		cmocka_unit_test(test_bytes_are_free),
		cmocka_unit_test(test_nothing_is_refused),
		cmocka_unit_test(test_clone),
		cmocka_unit_test(test_current),
		cmocka_unit_test(test_debug_string),
		cmocka_unit_test(test_run_with),
		cmocka_unit_test(test_run_with_refuses),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_against_a_list),
		cmocka_unit_test(test_generations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
