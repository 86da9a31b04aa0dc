/* SPDX-License-Identifier: Apache-2.0 */
/* Description: sums by key, call tree and selection give what is computed by hand. */
#include "report/read/where.h"
#include "report/sum/aggregate.h"
#include "report/sum/tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES 6

struct fixture {
	struct model m;
	struct sample s[SAMPLES];
};

/* "root;...;leaf" in one module; lines differ by @line. */
static uint32_t stack(struct model *m, const char *text, const char *module, int32_t line)
{
	struct frame frames[16];
	uint32_t count = 0;
	char copy[128], *leaf;

	strcpy(copy, text);
	while ((leaf = strrchr(copy, ';'))) {
		frames[count++] = (struct frame){
			names_id(&m->names, leaf + 1), names_id(&m->names, module), 0, line, 0, 0};
		*leaf = 0;
	}
	frames[count++] =
		(struct frame){names_id(&m->names, copy), names_id(&m->names, "app"), 0, 0, 0, 0};
	return model_stack(m, frames, count, 0);
}

static uint32_t thread(struct model *m, const char *name, const char *key, const char *process)
{
	struct thread t = {names_id(&m->names, name), names_id(&m->names, key),
			   process ? names_id(&m->names, process) : 0};

	return model_thread(m, &t);
}

/*
 * weight  thread    stack            span  route
 *     10  pool [1]  main;f;f;f       a     /x
 *     20  pool [2]  main;f;g         a     /y
 *     30  pool [1]  main;g           b     /x
 *      5  pool [1]  main;g (line 9)  b     /x
 *      1  idle [3]  (no stack)       -     -
 *      4  idle [3]  main             -     -
 */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct model *m = &f->m;
	const struct {
		uint64_t weight;
		uint32_t thread, stack;
		const char *span, *route;
	} rows[SAMPLES] = {
		{10, 0, 1, "a", "/x"}, {20, 1, 2, "a", "/y"}, {30, 0, 3, "b", "/x"},
		{5, 0, 4, "b", "/x"},  {1, 2, 0, NULL, NULL}, {4, 2, 5, NULL, NULL},
	};
	uint32_t threads[3], stacks[6], route;

	assert_int_equal(model_init(m), 0);
	threads[0] = thread(m, "pool", "pool [1]", "app [1]");
	threads[1] = thread(m, "pool", "pool [2]", "app [1]");
	threads[2] = thread(m, "idle", "idle [3]", NULL);
	stacks[0] = 0;
	stacks[1] = stack(m, "main;f;f;f", "app", 0);
	stacks[2] = stack(m, "main;f;g", "lib", 0);
	stacks[3] = stack(m, "main;g", "lib", 0);
	stacks[4] = stack(m, "main;g", "lib", 9);
	stacks[5] = stack(m, "main", "app", 0);
	route = names_id(&m->keys, "route");
	for (size_t i = 0; i < SAMPLES; i++) {
		struct sample *s = &f->s[i];

		s->weight_ns = rows[i].weight;
		s->times = 1;
		s->draws = (struct draws){1, (double)rows[i].weight,
					  (double)rows[i].weight * (double)rows[i].weight};
		s->thread = threads[rows[i].thread];
		s->stack = stacks[rows[i].stack];
		if (!rows[i].span)
			continue;
		context_add(&s->context, (struct context_item){CONTEXT_SPAN, 1,
							       names_id(&m->names, rows[i].span)});
		context_add(&s->context,
			    (struct context_item){route, 1, names_id(&m->names, rows[i].route)});
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	model_free(&f->m);
	free(f);
	return 0;
}

struct expected {
	const char *name;
	uint64_t samples, total, self_samples, self;
};

static void check_sum(struct fixture *f, const char *by, const struct expected *rows, size_t count)
{
	struct aggregate a;
	struct key key;

	assert_int_equal(key_parse(&key, by), 0);
	key_bind(&key, &f->m);
	aggregate_init(&a, &key);
	for (size_t i = 0; i < SAMPLES; i++)
		assert_int_equal(aggregate_add(&a, &f->m, &f->s[i]), 0);
	aggregate_sort(&a, &f->m);
	assert_int_equal(a.count, count);
	for (size_t i = 0; i < count; i++) {
		char *name = key_name(&key, &f->m, a.rows[i].id);

		assert_string_equal(name, rows[i].name);
		assert_int_equal(a.rows[i].weight.total.samples, rows[i].samples);
		assert_int_equal(a.rows[i].weight.total.ns, rows[i].total);
		assert_int_equal(a.rows[i].weight.self.samples, rows[i].self_samples);
		assert_int_equal(a.rows[i].weight.self.ns, rows[i].self);
		free(name);
	}
	aggregate_free(&a);
}

#define CHECK_SUM(f, by, ...)                                                                      \
	do {                                                                                       \
		const struct expected rows_[] = {__VA_ARGS__};                                     \
		check_sum(f, by, rows_, sizeof(rows_) / sizeof(rows_[0]));                         \
	} while (0)

static void functions_count_once_under_recursion(void **state)
{
	CHECK_SUM(*state, "function", {"g", 3, 55, 3, 55}, {"f", 2, 30, 1, 10},
		  {"main", 5, 69, 1, 4}, {"(none)", 1, 1, 1, 1});
}

static void modules(void **state)
{
	CHECK_SUM(*state, "module", {"lib", 3, 55, 3, 55}, {"app", 5, 69, 2, 14},
		  {"(none)", 1, 1, 1, 1});
}

static void stacks_are_call_paths_whatever_the_lines(void **state)
{
	CHECK_SUM(*state, "stack", {"main;g", 2, 35, 2, 35}, {"main;f;g", 1, 20, 1, 20},
		  {"main;f;f;f", 1, 10, 1, 10}, {"main", 1, 4, 1, 4}, {"(none)", 1, 1, 1, 1});
}

static void spans_threads_processes_tags(void **state)
{
	CHECK_SUM(*state, "span", {"b", 2, 35, 2, 35}, {"a", 2, 30, 2, 30}, {"(none)", 2, 5, 2, 5});
	CHECK_SUM(*state, "trace", {"(none)", 6, 70, 6, 70});
	CHECK_SUM(*state, "thread", {"pool [1]", 3, 45, 3, 45}, {"pool [2]", 1, 20, 1, 20},
		  {"idle [3]", 2, 5, 2, 5});
	CHECK_SUM(*state, "process", {"app [1]", 4, 65, 4, 65}, {"(none)", 2, 5, 2, 5});
	CHECK_SUM(*state, "tag:route", {"/x", 3, 45, 3, 45}, {"/y", 1, 20, 1, 20},
		  {"(none)", 2, 5, 2, 5});
	CHECK_SUM(*state, "tag:nobody", {"(none)", 6, 70, 6, 70});
}

static void a_row_keeps_what_its_samples_share(void **state)
{
	struct fixture *f = *state;
	struct aggregate a;
	struct key key;

	assert_int_equal(key_parse(&key, "span"), 0);
	aggregate_init(&a, &key);
	for (size_t i = 0; i < SAMPLES; i++)
		assert_int_equal(aggregate_add(&a, &f->m, &f->s[i]), 0);
	aggregate_sort(&a, &f->m);
	assert_int_equal(a.rows[0].common_count, 2); /* b: itself and /x */
	assert_int_equal(a.rows[1].common_count, 1); /* a: itself; routes differ */
	assert_int_equal(a.rows[2].common_count, 0);
	aggregate_free(&a);
}

static void keys_are_known_or_refused(void **state)
{
	static const char *const bad[] = {
		"", "spam", "tag", "tag:", "label", "label:", "Function", "span "};
	struct key key;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(key_parse(&key, bad[i]), -EINVAL);
	assert_string_equal(key_choices(KEY_NO_KIND),
			    "function, stack, span, root, trace, thread, process, module, line, "
			    "state, coroutine, site, tag:NAME, label:KEY, resource:KEY");
}

static unsigned int selected(struct fixture *f, const char *text)
{
	unsigned int mask = 0;
	struct where w;

	assert_int_equal(where_parse(&w, text), 0);
	where_bind(&w, &f->m);
	for (unsigned int i = 0; i < SAMPLES; i++)
		mask |= (unsigned int)where_holds(&w, &f->m, &f->s[i]) << i;
	where_free(&w);
	return mask;
}

static void where_selects(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(selected(f, "function=f"), 1 << 0 | 1 << 1);
	assert_int_equal(selected(f, "function=*"), 0x2F);
	assert_int_equal(selected(f, "module=lib"), 1 << 1 | 1 << 2 | 1 << 3);
	assert_int_equal(selected(f, "span=b"), 1 << 2 | 1 << 3);
	assert_int_equal(selected(f, "span=(none)"), 1 << 4 | 1 << 5);
	assert_int_equal(selected(f, "tag:route=/*"), 0x0F);
	assert_int_equal(selected(f, "tag:route=/y"), 1 << 1);
	assert_int_equal(selected(f, "thread=pool"), 0x0F);
	assert_int_equal(selected(f, "thread=pool [2]"), 1 << 1);
	assert_int_equal(selected(f, "process=app"), 0x0F);
	assert_int_equal(selected(f, "process=app [1]"), 0x0F);
	assert_int_equal(selected(f, "process=ap"), 0);
	assert_int_equal(selected(f, "trace=x"), 0);
}

static void where_refuses(void **state)
{
	struct where w;

	(void)state;
	assert_int_equal(where_parse(&w, "span"), -EINVAL);
	assert_int_equal(where_parse(&w, "=b"), -EINVAL);
	assert_int_equal(where_parse(&w, "spam=b"), -ENOENT);
	assert_int_equal(where_parse(&w, "stack=b"), -ENOENT);
}

static void patterns(void **state)
{
	(void)state;
	assert_true(where_match("", ""));
	assert_true(where_match("*", ""));
	assert_true(where_match("a*b*c", "a--b-bc-c"));
	assert_true(where_match("operator[]*", "operator[](int)"));
	assert_true(where_match("**x", "xx"));
	assert_false(where_match("", "x"));
	assert_false(where_match("a*b", "a-b-"));
	assert_false(where_match("abc", "ab"));
	assert_false(where_match("ab", "abc"));
}

static void add_path(struct tree *t, const struct fixture *f, const struct sample *s)
{
	const struct amount amount = {1, s->weight_ns, s->draws};

	assert_int_equal(tree_add(t, &f->m, s->stack, &amount), 0);
}

static void tree_sums_paths(void **state)
{
	struct fixture *f = *state;
	const struct tree_node *root, *top, *g, *ff;
	struct tree t;

	assert_int_equal(tree_init(&t), 0);
	for (size_t i = 0; i < SAMPLES; i++)
		add_path(&t, f, &f->s[i]);
	assert_int_equal(tree_sort(&t, &f->m), 0);
	root = &t.nodes[0];
	top = &t.nodes[root->child];
	assert_int_equal(root->weight.total.ns, 70);
	assert_int_equal(root->weight.self.ns, 1); /* the sample without a stack */
	assert_string_equal(names_text(&f->m.names, top->function), "main");
	assert_int_equal(top->weight.total.ns, 69);
	assert_int_equal(top->weight.self.ns, 4);
	assert_int_equal(top->next, 0);
	g = &t.nodes[top->child]; /* the heavier child first: g 35, f 30 */
	assert_int_equal(g->weight.total.ns, 35);
	assert_int_equal(g->weight.total.samples, 2);
	ff = &t.nodes[g->next];
	assert_int_equal(ff->weight.total.ns, 30);
	assert_int_equal(ff->weight.self.ns, 0);
	assert_int_equal(t.count, 1 + 1 + 2 + 2 + 1); /* root, main, g f, f g, f */
	assert_int_equal(ff->depth, 2);
	tree_free(&t);
}

static void tree_shows_the_heaviest_and_their_callers(void **state)
{
	struct fixture *f = *state;
	struct tree t;

	assert_int_equal(tree_init(&t), 0);
	for (size_t i = 0; i < SAMPLES; i++)
		add_path(&t, f, &f->s[i]);
	for (uint64_t most = 1; most <= 8; most++) {
		int64_t shown = tree_choose(&t, most, 0);

		assert_int_equal(shown, most < t.count - 1 ? most : t.count - 1);
		for (uint32_t i = 1; i < t.count; i++)
			if (t.nodes[i].shown && t.nodes[i].parent)
				assert_true(t.nodes[t.nodes[i].parent].shown);
	}
	assert_int_equal(tree_choose(&t, 0, 0.4), 3); /* main 69, g 35, f 30 of 70: 28 and more */
	assert_int_equal(tree_choose(&t, 0, 0), t.count - 1);
	tree_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(functions_count_once_under_recursion, setup,
						teardown),
		cmocka_unit_test_setup_teardown(modules, setup, teardown),
		cmocka_unit_test_setup_teardown(stacks_are_call_paths_whatever_the_lines, setup,
						teardown),
		cmocka_unit_test_setup_teardown(spans_threads_processes_tags, setup, teardown),
		cmocka_unit_test_setup_teardown(a_row_keeps_what_its_samples_share, setup,
						teardown),
		cmocka_unit_test(keys_are_known_or_refused),
		cmocka_unit_test_setup_teardown(where_selects, setup, teardown),
		cmocka_unit_test(where_refuses),
		cmocka_unit_test(patterns),
		cmocka_unit_test_setup_teardown(tree_sums_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(tree_shows_the_heaviest_and_their_callers, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
