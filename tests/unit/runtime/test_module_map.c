/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the rule of a pc in the handler: against plain search, with lies in the session,
 * with snapshots that change in the middle, and with what older maps left in the cache.
 */
#include "unit.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_session.h"
#include "runtime/core/runtime.h"
#include "runtime/stack/module_map.h"
#include "tables.h"

#define MODULES 200
#define ROWS 40
#define RULES 8
#define CODE_BYTES 0x8000u

static struct weft_map_module modules[MODULES];
static const struct unwind_table *tables_of[MODULES]; /* NULL: none */

/* A table with random rows; the rules tell one table from another by their CFA offsets. */
static struct unwind_table *random_table(uint64_t *seed, int mark)
{
	struct unwind_rule rules[RULES];
	struct table_row rows[ROWS];
	uint32_t pc = 0x1000;

	memset(rules, 0, sizeof(rules));
	for (int i = 0; i < RULES; i++) {
		rules[i].cfa = UNWIND_CFA_REGISTER;
		rules[i].cfa_register = 7;
		rules[i].cfa_offset = mark * 1000 + 8 * (i + 1);
		rules[i].ra = UNWIND_AT_CFA;
		rules[i].ra_offset = -1;
	}
	for (int i = 0; i < ROWS; i++) {
		rows[i].pc = pc;
		rows[i].rule = (uint16_t)(noise(seed) % (RULES + 1));
		pc += 1 + (uint32_t)(noise(seed) % (CODE_BYTES / ROWS - 8));
	}
	return table_new(UNWIND_X86_64, rows, ROWS, rules, RULES, 0x1000 + CODE_BYTES);
}

static void make_modules(uint64_t *seed)
{
	uint64_t at = UINT64_C(0x7f0000000000);

	for (int i = 0; i < MODULES; i++) {
		struct unwind_table *table = random_table(seed, i);

		at += 4096 * (noise(seed) % 4);
		modules[i] = (struct weft_map_module){
			.start = at, .end = at + CODE_BYTES, .bias = at - 0x1000};
		tables_of[i] = NULL;
		if (i % 7 != 3) {
			modules[i].table = fake_put_table(table);
			tables_of[i] = (const void *)(weft_tables.base + modules[i].table);
		}
		free(table);
		at += CODE_BYTES;
	}
}

/* The plainest search there is. */
static int plainly(uint64_t pc, const struct unwind_rule **rule)
{
	*rule = NULL;
	for (int i = 0; i < MODULES; i++) {
		if (pc < modules[i].start || pc >= modules[i].end)
			continue;
		if (tables_of[i])
			*rule = unwind_table_find(tables_of[i], pc - modules[i].bias);
		return 1;
	}
	return 0;
}

static uint64_t random_pc(uint64_t *seed)
{
	const struct weft_map_module *m = &modules[noise(seed) % MODULES];
	uint64_t near = noise(seed) % 8;

	if (near == 0)
		return m->start - 1 - noise(seed) % 8192;
	if (near == 1)
		return m->end + noise(seed) % 8192;
	if (near == 2)
		return noise(seed);
	if (near == 3)
		return noise(seed) << 40;
	return m->start + noise(seed) % CODE_BYTES;
}

static void setup(uint64_t *seed)
{
	fake_begin();
	make_modules(seed);
	fake_publish(0, 1, modules, MODULES);
}

static void test_equals_plain_search(void **state)
{
	uint64_t seed = 42, found = 0, missed = 0;
	struct map_view view;

	(void)state;
	setup(&seed);
	assert_true(weft_map_open(&view));
	assert_int_equal(view.number, 1);
	for (int i = 0; i < 200000; i++) {
		const struct unwind_rule *expected, *rule = NULL;
		uint64_t pc = random_pc(&seed);
		int is_there = plainly(pc, &expected);

		/* twice: by search, then out of the cache */
		for (int turn = 0; turn < 2; turn++) {
			assert_int_equal(weft_map_rule(&view, pc, &rule), is_there);
			if (is_there)
				assert_ptr_equal(rule, expected);
			else
				assert_int_equal(view.miss, MAP_NO_MODULE);
		}
		found += (uint64_t)is_there;
		missed += !is_there;
	}
	assert_true(found > 100000);
	assert_true(missed > 10000);
	assert_true(weft_map_holds(&view));
	fake_end();
}

static void test_key_can_be_undone(void **state)
{
	const uint64_t mask = (UINT64_C(1) << RULE_KEY_BITS) - 1;
	uint64_t inverse = RULE_KEY_ODD, seed = 7;

	(void)state;
	for (int i = 0; i < 6; i++)
		inverse *= 2 - RULE_KEY_ODD * inverse;
	for (int i = 0; i < 100000; i++) {
		uint64_t salt = noise(&seed) * UINT64_C(0x9E3779B97F4A7C15);
		uint64_t pc = noise(&seed) & ((UINT64_C(1) << 48) - 1);
		uint64_t key = rule_key(salt, pc);

		assert_int_equal(key & ~mask, 0);
		assert_true(rule_word(key) < weft_rule_cache + (1 << RULE_CACHE_BITS));
		assert_int_equal((uint64_t)(rule_word(key) - weft_rule_cache) << RULE_TAG_BITS |
					 rule_tag(key),
				 key);
		assert_int_equal((key * inverse - salt) & mask, pc);
	}
}

/* The same addresses mean another module in each map; what the last one left is missed. */
static void test_older_maps_are_missed(void **state)
{
	uint64_t seed = 3, wrong = 0;

	(void)state;
	setup(&seed);
	for (uint32_t number = 2; number < 300; number++) {
		struct map_view view;
		uint64_t first = modules[0].table;
		const struct unwind_table *table = tables_of[0];

		for (int i = 0; i + 1 < MODULES; i++) {
			modules[i].table = modules[i + 1].table;
			tables_of[i] = tables_of[i + 1];
		}
		modules[MODULES - 1].table = first;
		tables_of[MODULES - 1] = table;
		fake_publish(number % 3 * 65536, number, modules, MODULES);
		assert_true(weft_map_open(&view));
		for (int i = 0; i < 4096; i++) {
			const struct unwind_rule *expected, *rule;
			uint64_t pc = modules[i % MODULES].start + (uint64_t)i * 7 % CODE_BYTES;

			assert_true(weft_map_rule(&view, pc, &rule));
			plainly(pc, &expected);
			wrong += rule != expected;
		}
	}
	assert_int_equal(wrong, 0);
	fake_end();
}

static void test_other_sessions_are_missed(void **state)
{
	const struct unwind_rule *rule;
	struct map_view one, two;
	uint64_t seed = 4;

	(void)state;
	setup(&seed);
	assert_true(weft_map_open(&one));
	assert_true(weft_map_rule(&one, modules[0].start, &rule));
	weft_layout.session_id++;
	assert_true(weft_map_open(&two));
	assert_int_equal(two.number, one.number);
	assert_int_not_equal(two.salt, one.salt);
	assert_int_not_equal(rule_key(two.salt, modules[0].start),
			     rule_key(one.salt, modules[0].start));
	fake_end();
}

static void expect_no_map(uint64_t current)
{
	struct map_view view;

	fake.header.map_current = current;
	assert_false(weft_map_open(&view));
}

static void test_no_map(void **state)
{
	struct weft_map_snapshot *snapshot = (void *)fake.map;
	uint64_t seed = 5, map = weft_layout.map_offset;
	struct map_view view;

	(void)state;
	setup(&seed);
	map = weft_layout.map_offset;
	expect_no_map(0);
	expect_no_map(8);
	expect_no_map(map - 8);
	expect_no_map(map + 4);
	expect_no_map(map + FAKE_MAP_BYTES);
	expect_no_map(map + FAKE_MAP_BYTES - 8);
	expect_no_map(UINT64_MAX - 7);
	expect_no_map(UINT64_C(1) << 63);
	fake.header.map_current = map;
	assert_true(weft_map_open(&view));
	snapshot->number = 0;
	assert_false(weft_map_open(&view));
	snapshot->number = 1;
	snapshot->count = UINT32_MAX;
	assert_false(weft_map_open(&view));
	snapshot->count = (FAKE_MAP_BYTES - 16) / 48 + 1;
	assert_false(weft_map_open(&view));
	snapshot->count = (FAKE_MAP_BYTES - 16) / 48;
	assert_true(weft_map_open(&view));
	snapshot->count = 0;
	assert_true(weft_map_open(&view));
	assert_false(weft_map_search(&view, modules[0].start, &(const struct unwind_rule *){NULL}));
	assert_int_equal(view.miss, MAP_NO_MODULE);
	fake_end();
}

static void expect_no_table(uint64_t offset)
{
	const struct unwind_rule *rule;
	struct map_view view;
	static uint32_t number = 1000;

	modules[5].table = offset;
	fake_publish(0, number++, modules, MODULES);
	assert_true(weft_map_open(&view));
	assert_false(weft_map_rule(&view, modules[5].start, &rule));
	assert_int_equal(view.miss, MAP_NO_TABLE);
}

static void test_lying_offsets(void **state)
{
	uint64_t seed = 6, good;

	(void)state;
	setup(&seed);
	good = modules[5].table;
	expect_no_table(WEFT_TABLE_PENDING);
	expect_no_table(64);
	expect_no_table(good + 8);
	expect_no_table(good + 64); /* in the middle of a table */
	expect_no_table(fake_used);
	expect_no_table(FAKE_TABLES_BYTES - 64);
	expect_no_table(FAKE_TABLES_BYTES);
	expect_no_table(UINT64_MAX - 63);
	expect_no_table(UINT64_C(1) << 63);
	((struct unwind_table *)(void *)(fake_tables + good))->bytes = UINT32_MAX & ~63u;
	expect_no_table(good);
	fake_end();
}

static void test_changed_in_the_middle(void **state)
{
	struct weft_map_snapshot *snapshot = (void *)fake.map;
	const struct unwind_rule *rule, *again;
	uint64_t seed = 8, pc;
	struct map_view view;

	(void)state;
	setup(&seed);
	pc = modules[2].start + 5;
	assert_true(weft_map_open(&view));
	snapshot->number = 0;
	assert_false(weft_map_rule(&view, pc, &rule));
	assert_int_equal(view.miss, MAP_CHANGED);
	assert_false(weft_map_holds(&view));
	assert_int_equal(*rule_word(rule_key(view.salt, pc)), 0); /* nothing was kept */
	assert_false(weft_map_rule(&view, UINT64_C(0x1000), &rule));
	assert_int_equal(view.miss, MAP_CHANGED);
	snapshot->number = 9;
	assert_false(weft_map_rule(&view, pc, &rule));
	assert_int_equal(view.miss, MAP_CHANGED);
	assert_true(weft_map_open(&view));
	assert_true(weft_map_rule(&view, pc, &rule));
	plainly(pc, &again);
	assert_ptr_equal(rule, again);
	fake_end();
}

/* ---- a collector that publishes all the time, handlers that look things up meanwhile */

#define PLACES 1 /* a kinder collector would have more */
#define TURNS 6000
#define SHARED 12 /* modules, whose tables change places with every map */

static int is_over;
static uint64_t checked, thrown_away, bad;

static uint64_t table_at(uint32_t number, uint32_t i)
{
	return modules[8 + (number * 5 + i) % SHARED].table;
}

static void *look_up(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg, good = 0, gone = 0, wrong = 0;

	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
		const struct unwind_rule *rule[8];
		uint32_t which[8], file[8];
		struct map_view view;
		int is_whole;

		if (!weft_map_open(&view))
			continue;
		is_whole = 1;
		for (int i = 0; i < 8 && is_whole; i++) {
			which[i] = (uint32_t)(noise(&seed) % SHARED);
			file[i] = (uint32_t)(noise(&seed) % 512);
			is_whole =
				weft_map_rule(&view, modules[which[i]].start + file[i], &rule[i]);
		}
		if (!is_whole || !weft_map_holds(&view)) {
			gone++;
			continue;
		}
		for (int i = 0; i < 8; i++) {
			const struct unwind_table *table =
				(const void *)(weft_tables.base + table_at(view.number, which[i]));

			wrong += rule[i] != unwind_table_find(table, 0x1000 + file[i]);
		}
		good++;
	}
	__atomic_fetch_add(&checked, good, __ATOMIC_RELAXED);
	__atomic_fetch_add(&thrown_away, gone, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bad, wrong, __ATOMIC_RELAXED);
	return NULL;
}

static void publish_turn(uint32_t number)
{
	struct weft_map_module now[SHARED];

	memcpy(now, modules, sizeof(now));
	for (uint32_t i = 0; i < SHARED; i++)
		now[i].table = table_at(number, i);
	fake_publish(number % PLACES * 4096, number, now, SHARED);
}

static void test_torn_snapshots(void **state)
{
	pthread_t threads[2];
	uint64_t seed = 9;

	(void)state;
	setup(&seed);
	for (int i = 0; i < 8 + SHARED; i++)
		if (!tables_of[i])
			modules[i].table = modules[0].table;
	publish_turn(1);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, look_up, (void *)(i + 77));
	for (uint32_t number = 2; number < TURNS; number++) {
		publish_turn(number);
		usleep(number % 64 ? 0 : 50);
	}
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	print_message("%llu walks checked, %llu thrown away\n", (unsigned long long)checked,
		      (unsigned long long)thrown_away);
	assert_int_equal(bad, 0);
	assert_true(checked > 100);
	fake_end();
}

/* ---- what the loader says */

static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint32_t *count = arg;
	struct weft_map_module *m = &modules[*count];

	(void)size;
	if (*count && !info->dlpi_name[0])
		return 0;
	memset(m, 0, sizeof(*m));
	m->object_start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && at < m->object_start)
			m->object_start = at & ~UINT64_C(4095);
		if (p->p_type == PT_GNU_EH_FRAME)
			m->object_eh = at;
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
			m->start = at;
			m->end = at + p->p_memsz;
		}
	}
	if (strstr(info->dlpi_name, "vdso"))
		m->object_start = 0;
	*count += m->end != 0;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct weft_map_module *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void test_the_loader_confirms(void **state)
{
	uint64_t pcs[MODULES];
	struct map_view view;
	uint32_t count = 0;

	(void)state;
	fake_begin();
	weft_map_begin();
	if (!dlsym(RTLD_DEFAULT, "_dl_find_object")) {
		fake_end();
		skip();
	}
	dl_iterate_phdr(add_object, &count);
	qsort(modules, count, sizeof(*modules), by_start);
	assert_true(count >= 3);
	for (uint32_t i = 0; i < count; i++)
		pcs[i] = modules[i].start + 1 + (i > 0);
	fake_publish(0, 1, modules, count);
	assert_true(weft_map_open(&view));
	assert_int_equal(weft_map_confirm(&view, pcs, count), count);
	/* in no module: not the loader's to say */
	pcs[count] = 12345;
	assert_int_equal(weft_map_confirm(&view, pcs, count + 1), count + 1);
	for (uint32_t i = 0; i < count; i++) {
		struct weft_map_module was = modules[i];

		if (!was.object_start)
			continue;
		modules[i].object_start += 4096;
		fake_publish(0, 2 + i, modules, count);
		assert_true(weft_map_open(&view));
		assert_int_equal(weft_map_confirm(&view, pcs, count), i);
		modules[i] = was;
		modules[i].object_eh ^= 8;
		fake_publish(0, 500 + i, modules, count);
		assert_true(weft_map_open(&view));
		assert_int_equal(weft_map_confirm(&view, pcs, count), i);
		modules[i].object_start = 0; /* not to be asked */
		fake_publish(0, 900 + i, modules, count);
		assert_true(weft_map_open(&view));
		assert_int_equal(weft_map_confirm(&view, pcs, count), count);
		modules[i] = was;
	}
	/* a module that is not loaded at all */
	pcs[0] = 0x10001;
	memmove(modules + 1, modules, count * sizeof(*modules));
	modules[0] = (struct weft_map_module){
		.start = 0x10000, .end = 0x11000, .object_start = 0x10000, .object_eh = 0x10800};
	fake_publish(0, 3000, modules, count + 1);
	assert_true(weft_map_open(&view));
	assert_int_equal(weft_map_confirm(&view, pcs, count), 0);
	fake_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equals_plain_search),
		cmocka_unit_test(test_key_can_be_undone),
		cmocka_unit_test(test_older_maps_are_missed),
		cmocka_unit_test(test_other_sessions_are_missed),
		cmocka_unit_test(test_no_map),
		cmocka_unit_test(test_lying_offsets),
		cmocka_unit_test(test_changed_in_the_middle),
		cmocka_unit_test(test_torn_snapshots),
		cmocka_unit_test(test_the_loader_confirms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
