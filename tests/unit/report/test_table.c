/* SPDX-License-Identifier: Apache-2.0 */
/* Description: tables as text and as JSON: widths, cuts, columns left out, changes. */
#include "report/show/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct table_column columns[] = {
	{.title = "n", .json = "n"},
	{.title = "time", .json = "time_ns"},
	{.title = "zero", .json = "zero", .hides_zero = 1},
	{.title = "none", .json = "none"},
	{.title = "kept", .json = "kept", .stays = 1},
	{.title = NULL, .json = "hidden"},
	{.title = "change", .json = NULL},
	{.title = "what", .json = "what", .is_text = 1},
	{.title = "name", .json = "name", .is_text = 1},
};

static void put_row(struct table *t, uint64_t n, double from, double to, const char *name)
{
	table_count(t, n);
	table_time(t, n * 1000);
	table_count(t, 0);
	table_none(t);
	table_none(t);
	table_number(t, -5);
	table_change(t, from, to);
	table_text(t, "w");
	table_text(t, name);
}

static void fill(struct table *t)
{
	table_init(t, columns, sizeof(columns) / sizeof(columns[0]));
	put_row(t, 7, 10, 25, "a name that is long");
	put_row(t, 12345, 0, 3, "b\033[31m");
	put_row(t, 1, 3, 0, "\xc3\xa4");
	put_row(t, 1, 0, 0, NULL);
	put_row(t, 1, 1, 1.0001, "e");
}

static char *text_of(const struct table *t, int width, uint64_t top)
{
	struct text_style style = {
		.columns = width, .top = top, .bold = "", .dim = "", .plain = ""};
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	assert_int_equal(table_print(t, &style, out), 0);
	fclose(out);
	return text;
}

static void columns_fit_and_empty_ones_go(void **state)
{
	struct table t;
	char *text;

	(void)state;
	fill(&t);
	assert_int_equal(table_rows(&t), 5);
	text = text_of(&t, 0, 0);
	assert_string_equal(text, "    n       time  kept    change  what  name\n"
				  "    7   7.000 us     -  +150.0 %  w     a name that is long\n"
				  "12345  12.345 ms     -       new  w     b\\x1b[31m\n"
				  "    1   1.000 us     -      gone  w     \xc3\xa4\n"
				  "    1   1.000 us     -         -  w     -\n"
				  "    1   1.000 us     -     0.0 %  w     e\n");
	free(text);
	table_free(&t);
}

static void the_last_text_is_cut_and_rows_left_out_are_told(void **state)
{
	struct table t;
	char *text;

	(void)state;
	fill(&t);
	text = text_of(&t, 52, 1);
	assert_string_equal(text, "n      time  kept    change  what  name\n"
				  "7  7.000 us     -  +150.0 %  w     a name that is...\n"
				  "... and 4 more (--top 0)\n");
	free(text);
	t.more = 10;
	text = text_of(&t, 0, 5);
	assert_non_null(strstr(text, "... and 10 more"));
	free(text);
	table_free(&t);
}

static void json_has_all_columns_with_a_name(void **state)
{
	json_t *rows;
	struct table t;
	char *text;

	(void)state;
	fill(&t);
	rows = table_json(&t, 2);
	assert_non_null(rows);
	assert_int_equal(json_array_size(rows), 2);
	text = json_dumps(json_array_get(rows, 0), JSON_COMPACT);
	assert_string_equal(text,
			    "{\"n\":7,\"time_ns\":7000,\"zero\":0,\"none\":null,\"kept\":null,"
			    "\"hidden\":-5,\"what\":\"w\",\"name\":\"a name that is long\"}");
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 1), "name")),
			    "b\033[31m");
	free(text);
	json_decref(rows);
	table_free(&t);
}

static const struct table_column sure_columns[] = {
	{.title = "share", .json = "share"},
	{.title = "change", .json = "change"},
	{.title = "name", .json = "name", .is_text = 1},
};

static void fill_sure(struct table *t)
{
	table_init(t, sure_columns, sizeof(sure_columns) / sizeof(sure_columns[0]));
	table_share(t, 5, 10);
	table_ends(t, &(struct interval_ends){0.2366, 0.7634});
	table_change(t, 1, 2);
	table_certainty(t, CELL_IS_NONE);
	table_text(t, "a");
	table_share(t, 0, 10);
	table_ends(t, &(struct interval_ends){0, 0.05});
	table_change(t, 1, 2);
	table_certainty(t, CELL_IS_MORE);
	table_text(t, "b");
	table_share(t, 1, 10);
	table_change(t, 1, 2);
	table_text(t, "c");
}

static void shares_have_errors_where_there_is_room(void **state)
{
	struct table t;
	char *text;

	(void)state;
	fill_sure(&t);
	text = text_of(&t, 0, 0);
	assert_string_equal(text, "       share    change  name\n"
				  "50.0 % \xC2\xB1"
				  "26.3      none  a\n"
				  " 0.0 % \xC2\xB1"
				  "5.0   +100.0 %  b\n"
				  "10.0 %        +100.0 %  c\n");
	free(text);
	text = text_of(&t, 36, 0);
	assert_string_equal(text, " share    change  name\n"
				  "50.0 %      none  a\n"
				  " 0.0 %  +100.0 %  b\n"
				  "10.0 %  +100.0 %  c\n");
	free(text);
	table_free(&t);
}

static void json_has_names_that_are_no_utf8(void **state)
{
	static const struct table_column of_file[] = {{.title = "s\xac", .json = "s\xac"}};
	struct table t;
	json_t *all;

	(void)state;
	table_init(&t, of_file, 1);
	table_count(&t, 3);
	all = table_json(&t, 0);
	assert_non_null(all);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(all, 0), "s\xc2\xac")),
			 3);
	json_decref(all);
	table_free(&t);
}

static void json_has_the_ends_of_shares(void **state)
{
	struct table t;
	json_t *all, *row;

	(void)state;
	fill_sure(&t);
	all = table_json(&t, 0);
	assert_non_null(all);
	row = json_array_get(all, 0);
	assert_true(json_real_value(json_object_get(row, "share_low")) == 0.2366);
	assert_true(json_real_value(json_object_get(row, "share_high")) == 0.7634);
	assert_true(json_is_true(json_object_get(row, "change_is_none")));
	row = json_array_get(all, 1);
	assert_true(json_is_false(json_object_get(row, "change_is_none")));
	row = json_array_get(all, 2);
	assert_null(json_object_get(row, "share_low"));
	assert_null(json_object_get(row, "change_is_none"));
	json_decref(all);
	table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_fit_and_empty_ones_go),
		cmocka_unit_test(the_last_text_is_cut_and_rows_left_out_are_told),
		cmocka_unit_test(json_has_all_columns_with_a_name),
		cmocka_unit_test(shares_have_errors_where_there_is_room),
		cmocka_unit_test(json_has_names_that_are_no_utf8),
		cmocka_unit_test(json_has_the_ends_of_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
