/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of goroutines, out of memory that the test lays out as the runtimes of two versions do:
 * one that keeps labels as a list, one with a map; what is not there, what lies, and what is not
 * Go.
 */
#include "reader/context/go_labels.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS 4096
#define NOWHERE UINT64_C(0x10)
#define FULL 0x20 /* the mark of a cell that holds something */

/* The process: what lies in this array can be read, and nothing else. */
static struct {
	uint64_t word[WORDS];
	size_t used;
} memory;

static const struct go_layout list_layout = {
	.m_procid = 64, .m_curg = 184, .m_alllink = {352, 344}, .g_labels = 352};
static const struct go_layout map_layout = {
	.m_procid = 72, .m_curg = 192, .m_alllink = {336, 328}, .g_labels = 360, .has_map_only = 1};

static ssize_t read_memory(const struct target *t, const struct iovec *to, const struct iovec *from,
			   unsigned int count)
{
	ssize_t total = 0;

	(void)t;
	for (unsigned int i = 0; i < count; i++) {
		uint64_t at = (uint64_t)(uintptr_t)from[i].iov_base;
		uint64_t begin = (uint64_t)(uintptr_t)memory.word;

		if (at < begin || at - begin > sizeof(memory.word) ||
		    from[i].iov_len > sizeof(memory.word) - (at - begin))
			return total ? total : -EFAULT;
		memcpy(to[i].iov_base, (const char *)memory.word + (at - begin), from[i].iov_len);
		total += (ssize_t)from[i].iov_len;
	}
	return total;
}

static int no_file(const struct target *t, const struct proc_map *m)
{
	(void)t, (void)m;
	return -ENOENT;
}

static int no_program(const struct target *t)
{
	(void)t;
	return -ENOENT;
}

static const struct target_source source = {read_memory, no_file, no_program};

/* ---- laying out */

static uint64_t take(size_t words)
{
	uint64_t at = (uint64_t)(uintptr_t)&memory.word[memory.used];

	memory.used += words;
	assert_true(memory.used <= WORDS);
	return at;
}

static void put(uint64_t at, uint64_t value)
{
	memcpy((void *)(uintptr_t)at, &value, sizeof(value));
}

static void put_string(uint64_t at, const char *text)
{
	size_t bytes = strlen(text);
	uint64_t to = take(bytes / 8 + 1);

	memcpy((void *)(uintptr_t)to, text, bytes);
	put(at, to);
	put(at + 8, bytes);
}

struct fixture {
	struct target *target;
	struct go_program program;
	struct go_threads threads;
	int link; /* of the layout's */
	struct custom_labels_copy *room;
	struct live_context context;
};

/* An M with a goroutine of its own, and one that it runs: where that is. */
static uint64_t add_m(struct fixture *f, uint64_t tid, uint64_t *m)
{
	const struct go_layout *l = f->program.layout;
	uint64_t g0 = take(64), g = take(64), next = 0;

	*m = take(64);
	put(*m + GO_M_G0, g0);
	put(g0 + GO_G_M, *m);
	put(g + GO_G_M, *m);
	put(*m + l->m_procid, tid);
	put(*m + l->m_curg, g);
	assert_int_equal(target_read_u64(f->target, f->program.list[0], &next), 0);
	put(*m + l->m_alllink[f->link], next);
	put(f->program.list[0], *m);
	return g;
}

static void begin(struct fixture *f, const struct go_layout *layout)
{
	memset(f, 0, sizeof(*f));
	memset(&memory, 0, sizeof(memory));
	assert_int_equal(target_from_text(&f->target, "", 0, &source, NULL), 0);
	f->program = (struct go_program){
		.state = GO_READABLE, .layout = layout, .list = {take(1)}, .list_count = 1};
	f->room = malloc(sizeof(*f->room));
}

static void end(struct fixture *f)
{
	go_threads_free(&f->threads);
	live_free(&f->context);
	free(f->room);
	target_close(f->target);
}

/* Labels of thread @tid. */
static int read_labels(struct fixture *f, int32_t tid)
{
	const struct go_thread *thread;

	assert_int_equal(go_threads_read(f->target, &f->program, &f->threads), 0);
	thread = go_threads_find(&f->threads, tid);
	return thread ? go_labels_take(f->target, f->program.layout, thread, f->room, &f->context)
		      : -ENODATA;
}

static int shows(const struct fixture *f, const char *key, const char *value)
{
	const struct live_attribute *a = live_find(&f->context, key, strlen(key));

	return a && a->value_bytes == strlen(value) &&
	       memcmp(live_text(&f->context, a->value_at), value, a->value_bytes) == 0;
}

/* Of @count labels, in pairs; an address for G.labels. */
static uint64_t make_list(const char *const *text, size_t count)
{
	uint64_t list = take(3), pairs = take(4 * count);

	put(list, pairs);
	put(list + 8, count);
	put(list + 16, count);
	for (size_t i = 0; i < 2 * count; i++)
		put_string(pairs + 16 * i, text[i]);
	return list;
}

/* A bucket with up to eight, in which every second cell is free; @mark of the others. */
static void fill_bucket(uint64_t bucket, const char *const *text, size_t count, uint8_t mark)
{
	for (size_t i = 0; i < count; i++) {
		*(uint8_t *)(uintptr_t)(bucket + 2 * i) = mark;
		put_string(bucket + 8 + 32 * i, text[2 * i]);
		put_string(bucket + 8 + 128 + 32 * i, text[2 * i + 1]);
	}
}

/* A map of @log2 buckets, all free: its header; *labels, an address for G.labels. */
static uint64_t make_map(unsigned int log2, uint64_t *buckets, uint64_t *labels)
{
	uint64_t map = take(6);

	*labels = take(1);
	*buckets = take((size_t)34 << log2);
	put(*labels, map);
	put(map, 3);
	*(uint8_t *)(uintptr_t)(map + 9) = (uint8_t)log2;
	put(map + 16, *buckets);
	return map;
}

/* ---- what must hold */

static void the_list_of_the_running_goroutine(void **state)
{
	static const char *const text[] = {"route", "/a b", "tenant", "acme"};
	static const char *const other[] = {"tenant", "globex"};
	struct fixture f;
	uint64_t m, g, second;

	(void)state;
	begin(&f, &list_layout);
	g = add_m(&f, 101, &m);
	put(g + list_layout.g_labels, make_list(text, 2));
	second = add_m(&f, 99, &m);
	put(second + list_layout.g_labels, make_list(other, 1));
	assert_int_equal(read_labels(&f, 101), 0);
	assert_int_equal(f.context.abi, LIVE_GO);
	assert_int_equal(f.context.count, 2);
	assert_true(shows(&f, "route", "/a b") && shows(&f, "tenant", "acme"));
	assert_int_equal(read_labels(&f, 99), 0);
	assert_true(f.context.count == 1 && shows(&f, "tenant", "globex"));
	assert_int_equal(read_labels(&f, 100), -ENODATA);
	end(&f);
}

static void a_thread_without_goroutine_or_labels(void **state)
{
	struct fixture f;
	uint64_t m, g;

	(void)state;
	begin(&f, &list_layout);
	g = add_m(&f, 7, &m);
	assert_int_equal(read_labels(&f, 7), -ENODATA); /* G.labels is NULL */
	put(g + list_layout.g_labels, make_list(NULL, 0));
	assert_int_equal(read_labels(&f, 7), -ENODATA);
	put(g + GO_G_M, 0); /* the goroutine is being taken off the thread */
	assert_int_equal(read_labels(&f, 7), -ENODATA);
	put(m + list_layout.m_curg, 0);
	assert_int_equal(read_labels(&f, 7), -ENODATA);
	end(&f);
}

/* An M that is being made has no tid, and maybe no goroutine of its own. */
static void one_that_does_not_run_yet(void **state)
{
	struct fixture f;
	uint64_t m;

	(void)state;
	begin(&f, &list_layout);
	add_m(&f, 7, &m);
	add_m(&f, 0, &m);
	put(m + GO_M_G0, 0);
	assert_int_equal(go_threads_read(f.target, &f.program, &f.threads), 0);
	assert_int_equal(f.threads.count, 1);
	assert_false(f.threads.is_unlike);
	end(&f);
}

static void an_m_that_is_another_threads_now(void **state)
{
	struct go_thread old;
	struct fixture f;
	uint64_t m;

	(void)state;
	begin(&f, &list_layout);
	add_m(&f, 7, &m);
	old = (struct go_thread){6, m};
	assert_int_equal(go_labels_take(f.target, &list_layout, &old, f.room, &f.context), -ESTALE);
	end(&f);
}

static void ids_of_datadog(void **state)
{
	static const char *const text[] = {
		"local root span id", "204", "span id", "17", "tenant", "acme"};
	struct fixture f;
	uint64_t m;

	(void)state;
	begin(&f, &list_layout);
	put(add_m(&f, 7, &m) + list_layout.g_labels, make_list(text, 3));
	assert_int_equal(read_labels(&f, 7), 0);
	assert_int_equal(f.context.flags, LIVE_SPAN | LIVE_ROOT);
	assert_true(f.context.span_id == 17 && f.context.root_span_id == 204);
	end(&f);
}

static void a_map(void **state)
{
	static const char *const text[] = {"tenant", "acme", "route", "/a"};
	static const char *const more[] = {"zone", "b", "moved", "elsewhere"};
	struct fixture f;
	uint64_t m, buckets, labels, behind;

	(void)state;
	begin(&f, &map_layout);
	make_map(1, &buckets, &labels);
	fill_bucket(buckets + 272, text, 2, FULL);
	behind = take(34);
	fill_bucket(behind, more, 1, FULL);
	put(buckets + 272 + 264, behind);
	put(add_m(&f, 7, &m) + map_layout.g_labels, labels);
	assert_int_equal(read_labels(&f, 7), 0);
	assert_int_equal(f.context.count, 3);
	assert_true(shows(&f, "tenant", "acme") && shows(&f, "route", "/a") &&
		    shows(&f, "zone", "b"));
	/* by key, in whatever order the map has them */
	assert_memory_equal(live_text(&f.context, f.context.attribute[0].key_at), "route", 5);
	assert_memory_equal(live_text(&f.context, f.context.attribute[2].key_at), "zone", 4);
	end(&f);
}

/* What has been moved is in the new buckets, the rest in the old ones. */
static void a_map_that_grows(void **state)
{
	static const char *const moved[] = {"tenant", "old", "route", "old"};
	static const char *const fresh[] = {"tenant", "new", "route", "new"};
	static const char *const rest[] = {"zone", "b"};
	struct fixture f;
	uint64_t m, map, buckets, old, labels;

	(void)state;
	begin(&f, &map_layout);
	map = make_map(2, &buckets, &labels);
	old = take(2 * 34);
	put(map + 24, old);
	fill_bucket(buckets + 3 * 272, fresh, 2, FULL);
	fill_bucket(old, moved, 2, 2);
	fill_bucket(old + 272, rest, 1, FULL);
	put(add_m(&f, 7, &m) + map_layout.g_labels, labels);
	assert_int_equal(read_labels(&f, 7), 0);
	assert_int_equal(f.context.count, 3);
	assert_true(shows(&f, "tenant", "new") && shows(&f, "route", "new") &&
		    shows(&f, "zone", "b"));
	end(&f);
}

static void what_lies(void **state)
{
	static const char *const text[] = {"tenant", "acme"};
	struct fixture f;
	uint64_t m, g, list, map, buckets, labels;

	(void)state;
	begin(&f, &list_layout);
	g = add_m(&f, 7, &m);
	put(g + list_layout.g_labels, NOWHERE);
	assert_int_equal(read_labels(&f, 7), -EFAULT);
	list = make_list(text, 1);
	put(g + list_layout.g_labels, list);
	put(list + 8, UINT64_MAX); /* more labels than there are */
	assert_true(read_labels(&f, 7) == -EFAULT || f.context.flags & LIVE_CUT);
	put(list + 8, 1);
	put(memory.word[(list - (uint64_t)(uintptr_t)memory.word) / 8] + 8, UINT64_MAX);
	assert_true(read_labels(&f, 7) == -EFAULT || f.context.flags & LIVE_CUT);
	put(m + list_layout.m_curg, NOWHERE);
	assert_int_equal(read_labels(&f, 7), -EFAULT);
	end(&f);

	begin(&f, &map_layout);
	map = make_map(0, &buckets, &labels);
	put(add_m(&f, 7, &m) + map_layout.g_labels, labels);
	put(buckets + 264, buckets); /* a chain without an end */
	fill_bucket(buckets, text, 1, FULL);
	assert_int_equal(read_labels(&f, 7), 0);
	assert_true(f.context.flags & LIVE_CUT && shows(&f, "tenant", "acme"));
	*(uint8_t *)(uintptr_t)(map + 9) = 200;
	assert_int_equal(read_labels(&f, 7), 0);
	assert_true(f.context.flags & LIVE_CUT);
	end(&f);
}

/* Offsets of another version lead to what is no M. */
static void a_runtime_that_is_not_as_its_version_says(void **state)
{
	struct fixture f;
	uint64_t m;

	(void)state;
	begin(&f, &list_layout);
	add_m(&f, 7, &m);
	f.program.layout = &map_layout;
	put(m + map_layout.m_procid, 7);
	put(m + GO_M_G0, m);
	assert_int_equal(go_threads_read(f.target, &f.program, &f.threads), 0);
	assert_int_equal(f.threads.count, 0);
	assert_true(f.threads.is_unlike);
	put(f.program.list[0], NOWHERE);
	assert_int_equal(go_threads_read(f.target, &f.program, &f.threads), 0);
	assert_true(f.threads.is_unlike);
	end(&f);
}

/* One that was moved from one patch to the next. */
static void another_link(void **state)
{
	struct fixture f;
	uint64_t m;

	(void)state;
	begin(&f, &map_layout);
	f.link = 1;
	add_m(&f, 7, &m);
	add_m(&f, 8, &m);
	put(m + map_layout.m_alllink[0], NOWHERE);
	assert_int_equal(go_threads_read(f.target, &f.program, &f.threads), 0);
	assert_int_equal(f.threads.count, 2);
	assert_false(f.threads.is_unlike);
	end(&f);
}

/* A list that leads back to itself ends, too. */
static void a_list_without_an_end(void **state)
{
	struct fixture f;
	uint64_t m;

	(void)state;
	begin(&f, &list_layout);
	add_m(&f, 7, &m);
	put(m + list_layout.m_alllink[0], m);
	assert_int_equal(read_labels(&f, 7), -ENODATA);
	assert_true(f.threads.count > 1);
	end(&f);
}

/* Where no symbol leads to it: what else leads to the newest M is found, too, and told apart later.
 */
static void the_list_is_found_by_itself(void **state)
{
	char maps[128];
	uint64_t m, older, bss, found[GO_LISTS];
	struct fixture f;

	(void)state;
	begin(&f, &list_layout);
	target_close(f.target);
	snprintf(maps, sizeof(maps), "%" PRIx64 "-%" PRIx64 " rw-p 00000000 00:00 0\n",
		 (uint64_t)(uintptr_t)memory.word, (uint64_t)(uintptr_t)(memory.word + WORDS));
	assert_int_equal(target_from_text(&f.target, maps, strlen(maps), &source, NULL), 0);
	bss = take(16);
	f.program.list[0] = bss + 8;
	add_m(&f, 5, &older);
	add_m(&f, 6, &m);
	put(bss, older);
	put(bss + 32, m); /* one that is idle */
	put(bss + 40, bss);
	put(bss + 48, NOWHERE);
	take(256);
	assert_int_equal(go_scan(f.target, &list_layout, bss, 128, found, GO_LISTS), 2);
	assert_true(found[0] == bss + 8 && found[1] == bss + 32);
	f.program.list[0] = found[1];
	f.program.list[1] = found[0];
	f.program.list_count = 2;
	put(bss + 32, 0);
	assert_int_equal(go_threads_read(f.target, &f.program, &f.threads), 0);
	assert_int_equal(f.threads.count, 2);
	put(m + GO_M_G0, older); /* no M at all */
	put(bss, 0);
	assert_int_equal(go_scan(f.target, &list_layout, bss, 128, found, GO_LISTS), 0);
	end(&f);
}

static void versions(void **state)
{
	static const char *const known[] = {"go1.26", "go1.26.8", "go1.26.0 X:synctest",
					    "go1.26-vendor"};
	static const char *const unknown[] = {
		"", "go1.", "go1.5", "go1.99.1", "go2.0", "go1.26rc1", "devel go1.27-123", "go1.x"};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_non_null(go_layout_of(known[i]));
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_null(go_layout_of(unknown[i]));
}

static void what_a_build_says(void **state)
{
	uint8_t info[48] = "\xff Go buildinf:\x08\x02";
	char version[GO_VERSION_BYTES];

	(void)state;
	info[32] = 8;
	memcpy(info + 33, "go1.26.8", 8);
	assert_int_equal(go_build_version(info, sizeof(info), version), 0);
	assert_string_equal(version, "go1.26.8");
	info[32] = 100; /* longer than all there is */
	assert_int_equal(go_build_version(info, sizeof(info), version), 0);
	assert_string_equal(version, "");
	info[15] = 0; /* before Go 1.18 */
	assert_int_equal(go_build_version(info, sizeof(info), version), 0);
	assert_string_equal(version, "");
	assert_int_equal(go_build_version(info, 32, version), -ENOENT);
	info[3] = 'g';
	assert_int_equal(go_build_version(info, sizeof(info), version), -ENOENT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_of_the_running_goroutine),
		cmocka_unit_test(a_thread_without_goroutine_or_labels),
		cmocka_unit_test(one_that_does_not_run_yet),
		cmocka_unit_test(an_m_that_is_another_threads_now),
		cmocka_unit_test(ids_of_datadog),
		cmocka_unit_test(a_map),
		cmocka_unit_test(a_map_that_grows),
		cmocka_unit_test(what_lies),
		cmocka_unit_test(a_runtime_that_is_not_as_its_version_says),
		cmocka_unit_test(another_link),
		cmocka_unit_test(a_list_without_an_end),
		cmocka_unit_test(the_list_is_found_by_itself),
		cmocka_unit_test(versions),
		cmocka_unit_test(what_a_build_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
