/* SPDX-License-Identifier: Apache-2.0 */
/* Which value an attribute of a process's resource has when: report/read/resources.h. */
#include "report/read/resources.h"

#include "report/read/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SHOP = 1, TILL };

static void put(struct resources *r, uint32_t process, const char *key, int64_t since_ns,
		uint32_t value)
{
	resources_put(r, process, key,
		      &(struct resource_value){.since_ns = since_ns, .value = value});
}

static uint32_t at(const struct resources *r, uint32_t process, const char *key, int64_t time_ns)
{
	return resources_value(r, process, names_find(&r->keys, key), time_ns);
}

static void each_value_holds_until_the_next(void **state)
{
	struct resources r;

	(void)state;
	assert_int_equal(resources_init(&r), 0);
	put(&r, SHOP, "version", 100, 7);
	put(&r, SHOP, "version", 300, 9); /* in any order, and again */
	put(&r, SHOP, "version", 200, 8);
	put(&r, SHOP, "version", 300, 9);
	put(&r, TILL, "version", 250, 5);
	assert_int_equal(at(&r, SHOP, "version", 50), 7);
	assert_int_equal(at(&r, SHOP, "version", 100), 7);
	assert_int_equal(at(&r, SHOP, "version", 199), 7);
	assert_int_equal(at(&r, SHOP, "version", 200), 8);
	assert_int_equal(at(&r, SHOP, "version", 299), 8);
	assert_int_equal(at(&r, SHOP, "version", INT64_MAX), 9);
	assert_int_equal(at(&r, TILL, "version", 0), 5);
	assert_int_equal(r.value_count, 4);
	resources_free(&r);
}

static void what_is_gone_has_no_value(void **state)
{
	struct resources r;

	(void)state;
	assert_int_equal(resources_init(&r), 0);
	assert_false(resources_next(&r, SHOP, NULL) != NULL);
	assert_int_equal(at(&r, SHOP, "team", 0), 0);
	put(&r, SHOP, "team", 100, 7);
	assert_true(resources_next(&r, SHOP, NULL) != NULL);
	assert_false(resources_next(&r, TILL, NULL) != NULL);
	put(&r, SHOP, "team", 200, 0);
	assert_int_equal(at(&r, SHOP, "team", 199), 7);
	assert_int_equal(at(&r, SHOP, "team", 200), 0);
	assert_int_equal(at(&r, TILL, "team", 100), 0);
	assert_false(resources_next(&r, SHOP, NULL) != NULL);
	assert_int_equal(resources_newest(&r, &r.attributes[0]), 0);
	resources_free(&r);
}

static void attributes_are_found_by_their_process(void **state)
{
	const struct resource_attribute *a;
	struct resources r;

	(void)state;
	assert_int_equal(resources_init(&r), 0);
	put(&r, SHOP, "name", 100, 7);
	put(&r, TILL, "name", 100, 8);
	put(&r, SHOP, "gone", 100, 0);
	put(&r, SHOP, "version", 100, 9);
	a = resources_next(&r, SHOP, NULL);
	assert_string_equal(names_text(&r.keys, a->key), "name");
	a = resources_next(&r, SHOP, a);
	assert_string_equal(names_text(&r.keys, a->key), "version");
	assert_null(resources_next(&r, SHOP, a));
	assert_int_equal(resources_newest(&r, resources_next(&r, TILL, NULL)), 8);
	put(&r, TILL, "", 100, 8); /* is none */
	assert_null(resources_next(&r, TILL, resources_next(&r, TILL, NULL)));
	assert_false(r.failed);
	resources_free(&r);
}

/* A file may say anything, as often as it likes. */
static void values_are_bounded(void **state)
{
	struct resources r;

	(void)state;
	assert_int_equal(resources_init(&r), 0);
	for (int64_t i = 100000; i > 0; i--)
		put(&r, SHOP, "version", i, (uint32_t)i);
	assert_int_equal(r.value_count, RESOURCE_VALUES_MAX);
	assert_int_equal(at(&r, SHOP, "version", 100000), 100000);
	resources_free(&r);
}

static void a_key_is_of_the_samples_process_and_time(void **state)
{
	struct model m;
	struct sample s = {.time_ns = 150};
	struct key key, unknown;

	(void)state;
	assert_int_equal(model_init(&m), 0);
	s.thread = model_thread(&m, &(struct thread){.process = names_id(&m.names, "shop [1]")});
	put(&m.resources, names_id(&m.names, "shop [1]"), "service.name", 100,
	    names_id(&m.names, "shop"));
	put(&m.resources, names_id(&m.names, "shop [1]"), "service.name", 200,
	    names_id(&m.names, "till"));
	assert_int_equal(key_parse(&key, "resource:"), -22);
	assert_int_equal(key_parse(&key, "resource:service.name"), 0);
	assert_int_equal(key_parse(&unknown, "resource:service"), 0);
	key_bind(&key, &m);
	key_bind(&unknown, &m);
	assert_false(key.unknown);
	assert_true(unknown.unknown);
	assert_string_equal(names_text(&m.names, key_of_sample(&key, &m, &s)), "shop");
	s.time_ns = 200;
	assert_string_equal(names_text(&m.names, key_of_sample(&key, &m, &s)), "till");
	assert_int_equal(key_of_sample(&unknown, &m, &s), 0);
	s.thread = 0;
	assert_int_equal(key_of_sample(&key, &m, &s), 0);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_value_holds_until_the_next),
		cmocka_unit_test(what_is_gone_has_no_value),
		cmocka_unit_test(attributes_are_found_by_their_process),
		cmocka_unit_test(values_are_bounded),
		cmocka_unit_test(a_key_is_of_the_samples_process_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
