/* SPDX-License-Identifier: Apache-2.0 */
/* The table memfd: sealed, append-only, full, and where limits forbid it. */
#include "base/clock.h"
#include "collector/session/session.h"
#include "collector/walk/modules.h"
#include "collector/walk/process_walk.h"
#include "collector/walk/tables.h"
#include "collector/write/process_work.h"
#include "elf/module.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SELF "/proc/self/exe"

static struct unwind_table *some_table(void)
{
	struct elf_module *m;
	struct unwind_table *table;

	assert_int_equal(elf_module_open(&m, SELF, -1, "self"), 0);
	table = elf_module_take_table(m);
	assert_non_null(table);
	assert_null(elf_module_table(m));
	elf_module_free(m);
	return table;
}

static void it_is_sealed_against_everybody_else(void **state)
{
	struct tables t;
	struct stat st;
	void *reader;
	uint64_t magic;

	(void)state;
	assert_int_equal(tables_open(&t, WEFT_TABLES_BYTES), 0);
	assert_int_equal(fcntl(t.fd, F_GET_SEALS),
			 F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_SHRINK | 0x10);
	assert_int_equal(fstat(t.fd, &st), 0);
	assert_int_equal(st.st_size, t.bytes);
	assert_int_equal(write(t.fd, "x", 1), -1);
	assert_int_equal(ftruncate(t.fd, 4096), -1);
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, t.fd, 0), MAP_FAILED);
	assert_int_equal(fallocate(t.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
	reader = mmap(NULL, t.bytes, PROT_READ, MAP_SHARED, t.fd, 0);
	assert_ptr_not_equal(reader, MAP_FAILED);
	assert_int_equal(mprotect(reader, 4096, PROT_READ | PROT_WRITE), -1);
	memcpy(&magic, reader, sizeof(magic));
	assert_int_equal(magic, WEFT_TABLES_MAGIC);
	munmap(reader, t.bytes);
	tables_close(&t);
}

static void what_was_added_is_read_by_another_mapping(void **state)
{
	struct unwind_table *table = some_table();
	uint64_t offset[3];
	struct tables t;
	uint8_t *reader;

	(void)state;
	assert_int_equal(tables_open(&t, UINT64_C(16) << 20), 0);
	reader = mmap(NULL, t.bytes, PROT_READ, MAP_SHARED, t.fd, 0);
	for (int i = 0; i < 3; i++) {
		offset[i] = tables_add(&t, table);
		assert_true(offset[i] >= WEFT_TABLES_FIRST && offset[i] % WEFT_TABLE_ALIGN == 0);
		assert_true(i == 0 || offset[i] >= offset[i - 1] + table->bytes);
		assert_true(t.used >= offset[i] + table->bytes);
	}
	for (int i = 0; i < 3; i++) {
		assert_memory_equal(reader + offset[i], table, table->bytes);
		assert_int_equal(unwind_table_check(reader + offset[i], table->bytes), 0);
	}
	munmap(reader, t.bytes);
	tables_close(&t);
	free(table);
}

static void a_full_one_refuses(void **state)
{
	struct unwind_table *table = some_table();
	struct tables t;
	uint64_t fit = 0;

	(void)state;
	assert_int_equal(tables_open(&t, UINT64_C(1) << 20), 0);
	while (tables_add(&t, table) != WEFT_TABLE_PENDING)
		fit++;
	assert_true(fit > 0 && fit <= t.bytes / table->bytes);
	assert_true(t.used <= t.bytes);
	assert_int_equal(tables_add(&t, table), WEFT_TABLE_PENDING);
	tables_close(&t);
	free(table);
}

/* Runs @play in a child under a limit. */
static int under(__rlimit_resource_t which, uint64_t bytes, int (*play)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct rlimit limit = {bytes, bytes};

		setrlimit(which, &limit);
		_exit(play());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static uint64_t limit_bytes;

static int fits(void)
{
	struct tables t;

	if (tables_open(&t, WEFT_TABLES_BYTES))
		return 1;
	if (t.bytes > limit_bytes || t.bytes < UINT64_C(1) << 20)
		return 2;
	memset(t.base + 4096, 1, 65536);
	tables_close(&t);
	return 0;
}

/* A sanitizer has terabytes of address space of its own. */
#if defined(__has_feature)
#define HAS(feature) __has_feature(feature)
#else
#define HAS(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS(address_sanitizer) ||     \
	HAS(thread_sanitizer)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static int is_none(void)
{
	struct unwind_table head = {.bytes = 64};
	struct tables t;

	if (tables_open(&t, WEFT_TABLES_BYTES) == 0 || t.bytes || t.base || t.fd != -1)
		return 1;
	if (tables_add(&t, &head) != WEFT_TABLE_PENDING)
		return 2;
	tables_close(&t);
	return 0;
}

static void it_is_as_large_as_limits_allow(void **state)
{
	(void)state;
	limit_bytes = UINT64_C(8) << 20;
	assert_int_equal(under(RLIMIT_FSIZE, limit_bytes, fits), 0);
	assert_int_equal(under(RLIMIT_FSIZE, 4096, is_none), 0);
	assert_int_equal(under(RLIMIT_NOFILE, 0, is_none), 0);
#if !IS_SANITIZED
	limit_bytes = UINT64_C(128) << 20; /* a quarter */
	assert_int_equal(under(RLIMIT_AS, limit_bytes * 4, fits), 0);
#endif
}

/* Through the cache of files: one table for one file, also for a copy of it. */
static void one_table_for_each_file(void **state)
{
	struct table_cache cache = {.fd = -1};
	struct mapping a = {.path = (char *)(uintptr_t)SELF}, b = a;
	struct modules *m;
	struct tables t;
	uint64_t used, offset;

	(void)state;
	assert_int_equal(tables_open(&t, WEFT_TABLES_BYTES), 0);
	m = modules_new(&t, &cache);
	modules_attach(m, &a, -1, -1);
	modules_attach(m, &b, -1, -1);
	assert_non_null(a.file);
	assert_ptr_equal(a.file, b.file);
	assert_int_equal(modules_table(m, a.file, 1), WEFT_TABLE_PENDING);
	offset = modules_table(m, a.file, 0);
	assert_true(offset >= WEFT_TABLES_FIRST);
	used = t.used;
	assert_int_equal(modules_table(m, b.file, 1), offset);
	assert_int_equal(t.used, used);
	assert_ptr_equal(a.file->table, tables_at(&t, offset));
	modules_free(m);
	tables_close(&t);
}

/* No room: PENDING for handlers, and still a table for the collector's own walks. */
static void a_file_without_room_has_its_table_here(void **state)
{
	struct table_cache cache = {.fd = -1};
	struct mapping a = {.path = (char *)(uintptr_t)SELF};
	struct tables t = {.fd = -1};
	struct modules *m;

	(void)state;
	m = modules_new(&t, &cache);
	modules_attach(m, &a, -1, -1);
	assert_int_equal(modules_table(m, a.file, 0), WEFT_TABLE_PENDING);
	assert_non_null(a.file->table);
	assert_int_equal(unwind_table_check(a.file->table, a.file->table->bytes), 0);
	assert_int_equal(modules_table(m, a.file, 0), WEFT_TABLE_PENDING);
	modules_free(m);
}

/* Of this process: how many of its modules the snapshot holds without a table. */
static uint32_t pending_in_snapshot(const struct process *p)
{
	const struct weft_session_header *h = p->base;
	const struct weft_map_snapshot *s =
		(const void *)((const uint8_t *)p->base + h->map_current);
	const struct weft_map_module *module = (const void *)(s + 1);
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->count; i++)
		count += module[i].table == WEFT_TABLE_PENDING;
	return count;
}

/* What it counts when its map is published with this memfd. */
static uint64_t refused_of_this_process(struct tables *t)
{
	struct session_settings settings = {.period_ns = 1000000,
					    .ring_bytes = WEFT_RING_BYTES_MIN};
	struct table_cache cache = {.fd = -1};
	struct modules *m = modules_new(t, &cache);
	struct session *s;
	struct process *p;
	uint64_t counted;

	assert_int_equal(process_new(&p, getpid()), 0);
	p->session_id = 1;
	p->opened_ns = clock_mono_ns();
	assert_int_equal(session_new(&s, p, &settings), 0);
	process_look(p, p->opened_ns);
	snapshots_begin(&p->walk->snapshots, p->base, &p->layout);
	map_publish(m, t, p);
	process_take_counts(p);
	counted = p->work->own.counter[WEFT_COUNTER_TABLES_REFUSED];
	assert_int_equal(counted, pending_in_snapshot(p));
	/* Nothing new is nothing more. */
	map_publish(m, t, p);
	process_take_counts(p);
	assert_int_equal(p->work->own.counter[WEFT_COUNTER_TABLES_REFUSED], counted);
	session_free(s);
	process_free(p);
	modules_free(m);
	return counted;
}

/* A process is told how many of its files found no room: all, some or none. */
static void what_finds_no_room_is_counted(void **state)
{
	struct unwind_table *table = some_table();
	struct tables full, roomy;
	uint64_t refused;

	(void)state;
	assert_int_equal(tables_open(&full, UINT64_C(1) << 20), 0);
	while (tables_add(&full, table) != WEFT_TABLE_PENDING)
		;
	refused = refused_of_this_process(&full);
	assert_true(refused >= 2); /* libc's at least, and our own */
	assert_int_equal(tables_open(&roomy, WEFT_TABLES_BYTES), 0);
	assert_int_equal(refused_of_this_process(&roomy), 0);
	tables_close(&roomy);
	tables_close(&full);
	free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_sealed_against_everybody_else),
		cmocka_unit_test(what_was_added_is_read_by_another_mapping),
		cmocka_unit_test(a_full_one_refuses),
		cmocka_unit_test(it_is_as_large_as_limits_allow),
		cmocka_unit_test(one_table_for_each_file),
		cmocka_unit_test(a_file_without_room_has_its_table_here),
		cmocka_unit_test(what_finds_no_room_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
