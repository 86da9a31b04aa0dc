/* SPDX-License-Identifier: Apache-2.0 */
/* The books of a recording, from its counters, and quantiles of its histograms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/sum/books.h"

static struct model model;
static struct facts facts;
static struct books books;

static int fresh(void **state)
{
	(void)state;
	facts_free(&facts);
	facts.model = &model;
	model_free(&model);
	return model_init(&model);
}

static void count(const char *name, const char *kind, int64_t value)
{
	facts_count(&facts, names_id(&model.names, name), names_id(&model.names, kind), value);
}

static void level(const char *name, const char *process, int64_t time_ns, int64_t value)
{
	facts_level(&facts, names_id(&model.names, name), names_id(&model.names, "level"),
		    names_id(&model.names, process), &(struct fact_level){time_ns, value});
}

/* In a file that has lost its beginning, differences would add up to -8. */
static void levels_are_what_they_were_last(void **state)
{
	(void)state;
	level("slots_used", "a [1]", 100, 8);
	level("slots_used", "b [2]", 100, 3);
	level("slots_used", "a [1]", 300, 2);
	level("slots_used", "a [1]", 200, 5); /* of a merged file */
	level("slots_used", "b [2]", 200, 0);
	level("slots_used", "b [2]", 300, -7);
	assert_int_equal(facts_value(&facts, "slots_used"), 2);
	level("slots_used", "a [1]", 400, 0);
	assert_int_equal(facts_value(&facts, "slots_used"), 0);
}

static void balanced_books(void **state)
{
	(void)state;
	assert_int_equal(books_read(&facts, &books), 0);
	count("attempted", "book", 10);
	count("delivered", "book", 6);
	count("ring_full", "lost", 2);
	count("pending", "lost", 1);
	count("stolen", "lost", 1);
	count("generations", "info", 4);
	assert_int_equal(books_read(&facts, &books), 1);
	assert_int_equal(books.lost, 3);
	assert_int_equal(books.pending, 1);
	assert_int_equal(books.difference, 0);
	assert_int_equal(books.generations, 4);
	assert_true(books_balance(&books));
}

static void a_missing_sample_shows(void **state)
{
	balanced_books(state);
	count("attempted", "book", 3);
	books_read(&facts, &books);
	assert_int_equal(books.difference, 3);
	assert_false(books_balance(&books));
	count("attempted", "book", -4);
	books_read(&facts, &books);
	assert_int_equal(books.difference, -1);
	assert_false(books_balance(&books));
}

static void so_does_one_slot_out_of_balance(void **state)
{
	balanced_books(state);
	count("unbalanced", "info", 1);
	books_read(&facts, &books);
	assert_int_equal(books.difference, 0);
	assert_false(books_balance(&books));
}

static void quantiles_of_histograms(void **state)
{
	uint32_t name = names_id(&model.names, "claim_ns");

	(void)state;
	assert_int_equal(books_quantile(&facts, "claim_ns", 1), 0);
	facts_bucket(&facts, name, 4096, 1);
	facts_bucket(&facts, name, 1024, 98);
	facts_bucket(&facts, name, 512, 1);
	assert_int_equal(books_quantile(&facts, "claim_ns", 0.01), 512);
	assert_int_equal(books_quantile(&facts, "claim_ns", 0.5), 1024);
	assert_int_equal(books_quantile(&facts, "claim_ns", 0.99), 1024);
	assert_int_equal(books_quantile(&facts, "claim_ns", 1), 4096);
	assert_int_equal(books_quantile(&facts, "handler_ns", 1), 0);
}

static int end(void **state)
{
	(void)state;
	facts_free(&facts);
	model_free(&model);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(levels_are_what_they_were_last, fresh),
		cmocka_unit_test_setup(balanced_books, fresh),
		cmocka_unit_test_setup(a_missing_sample_shows, fresh),
		cmocka_unit_test_setup(so_does_one_slot_out_of_balance, fresh),
		cmocka_unit_test_setup(quantiles_of_histograms, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
