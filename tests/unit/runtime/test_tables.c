/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table memfd in the target: what is refused, what is opened, what a second session of
 * the same process (a forked child's) finds.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fake_session.h"
#include "runtime/core/runtime.h"
#include "runtime/stack/module_map.h"
#include "tables.h"

static void expect_refused(enum fake_flaw flaw)
{
	uint8_t *mapping;
	int fd = fake_tables_file(flaw, &mapping);

	weft_tables_forget();
	assert_int_equal(weft_tables_map(fd, FAKE_TABLES_BYTES), -EPROTO);
	assert_null(weft_tables.base);
	assert_int_equal(weft_tables.open, 0);
	munmap(mapping, FAKE_TABLES_BYTES);
	close(fd);
}

static void test_refused(void **state)
{
	int fds[2];

	(void)state;
	fake_begin();
	expect_refused(FAKE_UNSEALED);
	expect_refused(FAKE_WRITABLE);
	expect_refused(FAKE_NO_MAGIC);
	expect_refused(FAKE_SHORT);
	assert_int_equal(pipe(fds), 0);
	assert_true(weft_tables_map(fds[0], FAKE_TABLES_BYTES) < 0);
	assert_true(weft_tables_map(-1, FAKE_TABLES_BYTES) < 0);
	assert_null(weft_tables.base);
	close(fds[0]);
	close(fds[1]);
	fake_end();
}

/* Readable: write(2) of the byte works; of memory that is not, it says EFAULT. */
static int is_readable(const uint8_t *at)
{
	int fds[2];
	ssize_t n;

	assert_int_equal(pipe(fds), 0);
	n = write(fds[1], at, 1);
	assert_true(n == 1 || errno == EFAULT);
	close(fds[0]);
	close(fds[1]);
	return n == 1;
}

static uint64_t opened(void)
{
	return fake.header.counters[WEFT_COUNTER_TABLES_OPENED];
}

static void test_opened_in_steps(void **state)
{
	uint64_t step = UINT64_C(1) << 20, before;

	(void)state;
	fake_begin();
	before = opened();
	assert_true(weft_tables_are_open(WEFT_TABLES_FIRST));
	assert_true(is_readable(weft_tables.base));
	assert_false(is_readable(weft_tables.base + 2 * step));
	assert_int_equal(weft_tables_open(2 * step), -ERANGE); /* not in use */
	assert_int_equal(opened(), before);
	fake.header.tables_used = 3 * step + 100;
	assert_int_equal(weft_tables_open(2 * step), 0);
	assert_int_equal(opened(), before + 1);
	assert_int_equal(weft_tables.open, 4 * step);
	assert_true(is_readable(weft_tables.base + 4 * step - 1));
	assert_false(is_readable(weft_tables.base + 4 * step));
	assert_int_equal(weft_tables_open(3 * step), 0); /* is open */
	assert_int_equal(opened(), before + 1);
	fake.header.tables_used = UINT64_MAX;
	assert_int_equal(weft_tables_open(FAKE_TABLES_BYTES + 1), -ERANGE);
	assert_int_equal(weft_tables_open(FAKE_TABLES_BYTES), 0);
	assert_int_equal(weft_tables.open, FAKE_TABLES_BYTES);
	assert_true(is_readable(weft_tables.base + FAKE_TABLES_BYTES - 1));
	fake_end();
}

/* Never to be written through this mapping. */
static void test_is_read_only(void **state)
{
	(void)state;
	fake_begin();
	assert_int_not_equal(
		mprotect((void *)(uintptr_t)weft_tables.base, 4096, PROT_READ | PROT_WRITE), 0);
	fake_end();
}

static void test_the_same_again_is_kept(void **state)
{
	const uint8_t *base;
	uint8_t *first, *second;
	int one, two;

	(void)state;
	fake_begin();
	weft_tables_forget();
	one = fake_tables_file(FAKE_SOUND, &first);
	two = fake_tables_file(FAKE_SOUND, &second);
	assert_int_equal(weft_tables_map(one, FAKE_TABLES_BYTES), 0);
	base = weft_tables.base;
	weft_rule_cache[7] = 42;
	assert_int_equal(weft_tables_map(one, FAKE_TABLES_BYTES), 0);
	assert_ptr_equal(weft_tables.base, base);
	assert_int_equal(weft_rule_cache[7], 42);
	first[5000] = 1;
	second[5000] = 2;
	assert_int_equal(weft_tables_map(two, FAKE_TABLES_BYTES), 0);
	assert_int_equal(weft_rule_cache[7], 0); /* its offsets were the other's */
	fake.header.tables_used = 8192;
	assert_int_equal(weft_tables_open(8192), 0);
	assert_int_equal(weft_tables.base[5000], 2);
	close(one);
	close(two);
	munmap(first, FAKE_TABLES_BYTES);
	munmap(second, FAKE_TABLES_BYTES);
	fake_end();
}

/* An eighth of the address space at most; with less than a step, none. */
static void test_address_space_limit(void **state)
{
	struct rlimit was, less, now;
	uint8_t *mapping;
	int fd;

	(void)state;
	fake_begin();
	weft_tables_forget();
	fd = fake_tables_file(FAKE_SOUND, &mapping);
	assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
	less = was;
	less.rlim_cur = 8 * (FAKE_TABLES_BYTES / 2);
	/* qemu-user says yes to it and sets nothing */
	if (setrlimit(RLIMIT_AS, &less) || getrlimit(RLIMIT_AS, &now) ||
	    now.rlim_cur != less.rlim_cur) {
		fake_end();
		skip();
	}
	weft_rt.total_bytes = UINT64_C(4) << 20;
	if (weft_tables_map(fd, FAKE_TABLES_BYTES) == 0) { /* not where a sanitizer has it all */
		assert_int_equal(weft_tables.bytes, FAKE_TABLES_BYTES / 2 - (UINT64_C(4) << 20));
		fake.header.tables_used = FAKE_TABLES_BYTES;
		assert_int_equal(weft_tables_open(weft_tables.bytes + 1), -ERANGE);
		assert_int_equal(weft_tables_open(weft_tables.bytes), 0);
		assert_true(is_readable(weft_tables.base + weft_tables.bytes - 1));
	}
	weft_tables_forget();
	weft_rt.total_bytes = FAKE_TABLES_BYTES / 2;
	assert_int_equal(weft_tables_map(fd, FAKE_TABLES_BYTES), -ENOMEM);
	assert_null(weft_tables.base);
	setrlimit(RLIMIT_AS, &was);
	close(fd);
	munmap(mapping, FAKE_TABLES_BYTES);
	fake_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_opened_in_steps),
		cmocka_unit_test(test_is_read_only),
		cmocka_unit_test(test_the_same_again_is_kept),
		cmocka_unit_test(test_address_space_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
