/* SPDX-License-Identifier: Apache-2.0 */
/* Which mappings are ours, and that the program's calls leave them out. */
#include "runtime/core/runtime.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* Far below all that is mapped. */
#define LOW 0x20000
#define PAGE 0x1000

static const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

static void expect(uint64_t low, uint64_t high, uint64_t from, uint64_t to)
{
	struct weft_mapping found;

	assert_int_equal(weft_area_in(low, high, &found), from != to);
	if (from == to)
		return;
	assert_int_equal(found.low, from);
	assert_int_equal(found.high, to);
}

static void borders_are_exact(void **state)
{
	(void)state;
	expect(0, LOW + 16 * PAGE, 0, 0);
	weft_area_add(at(LOW), 3 * PAGE);
	expect(0, LOW, 0, 0);
	expect(0, LOW + 1, LOW, LOW + 3 * PAGE);
	expect(LOW + 3 * PAGE - 1, LOW + 4 * PAGE, LOW, LOW + 3 * PAGE);
	expect(LOW + 3 * PAGE, LOW + 4 * PAGE, 0, 0);
	expect(LOW + PAGE, LOW, 0, 0); /* no range */
	weft_area_gone(at(LOW));
	expect(0, LOW + 16 * PAGE, 0, 0);
}

static void a_part_of_a_page_is_a_page(void **state)
{
	(void)state;
	weft_area_add(at(LOW), 1);
	expect(LOW + PAGE - 1, LOW + 2 * PAGE, LOW, LOW + PAGE);
	expect(LOW + PAGE, LOW + 2 * PAGE, 0, 0);
	weft_area_gone(at(LOW));
}

static void the_lowest_comes_first(void **state)
{
	(void)state;
	weft_area_add(at(LOW + 8 * PAGE), 2 * PAGE);
	weft_area_add(at(LOW), PAGE);
	weft_area_add(at(LOW + 4 * PAGE), PAGE);
	expect(0, LOW + 16 * PAGE, LOW, LOW + PAGE);
	expect(LOW + PAGE, LOW + 16 * PAGE, LOW + 4 * PAGE, LOW + 5 * PAGE);
	weft_area_gone(at(LOW + 4 * PAGE));
	expect(LOW + PAGE, LOW + 16 * PAGE, LOW + 8 * PAGE, LOW + 10 * PAGE);
	weft_area_gone(at(LOW + 3 * PAGE)); /* never was one */
	weft_area_gone(at(LOW));
	weft_area_gone(at(LOW + 8 * PAGE));
	expect(0, LOW + 16 * PAGE, 0, 0);
}

static void a_huge_one_is_whole(void **state)
{
	const uint64_t bytes = UINT64_C(1) << 38, from = UINT64_C(1) << 45;

	(void)state;
	weft_area_add(at(from), bytes);
	expect(from + bytes - 1, from + bytes + PAGE, from, from + bytes);
	weft_area_gone(at(from));
}

/* More than there is room for are no danger, and do not stay in the way. */
static void too_many_do_no_harm(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 200; i++)
		weft_area_add(at((i + 1) * 2 * PAGE), PAGE);
	for (uint64_t i = 0; i < 200; i++)
		weft_area_gone(at((i + 1) * 2 * PAGE));
	expect(0, 1000 * PAGE, 0, 0);
	weft_area_add(at(LOW), PAGE);
	expect(0, 1000 * PAGE, LOW, LOW + PAGE);
	weft_area_gone(at(LOW));
}

/* ---- calls */

#define PAGES 5

/* Five pages, of which the second and the fourth are ours. */
static unsigned char *map_some(void)
{
	unsigned char *some = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(some, MAP_FAILED);
	memset(some, 'x', PAGES * PAGE);
	weft_area_add(some + PAGE, PAGE);
	weft_area_add(some + 3 * PAGE, PAGE);
	return some;
}

static void drop(unsigned char *some)
{
	weft_area_gone(some + PAGE);
	weft_area_gone(some + 3 * PAGE);
	assert_int_equal(munmap(some, PAGES * PAGE), 0);
}

static int is_there(unsigned char *page)
{
	unsigned char resident;

	return mincore(page, PAGE, &resident) == 0;
}

static void munmap_leaves_ours_out(void **state)
{
	unsigned char *some = map_some();

	(void)state;
	assert_int_equal(munmap(some, PAGES * PAGE), 0);
	for (int i = 0; i < PAGES; i++)
		assert_int_equal(is_there(some + i * PAGE), i == 1 || i == 3);
	assert_int_equal(some[PAGE], 'x');
	assert_int_equal(some[4 * PAGE - 1], 'x');
	assert_int_equal(munmap(some + PAGE, PAGE), 0); /* all of it ours */
	assert_true(is_there(some + PAGE));
	drop(some);
	assert_false(is_there(some + PAGE));
}

static void lengths_are_rounded_up(void **state)
{
	unsigned char *some = map_some();

	(void)state;
	assert_int_equal(munmap(some, PAGE + 1), 0);
	assert_false(is_there(some));
	assert_true(is_there(some + PAGE));
	assert_int_equal(munmap(some + 2 * PAGE, 1), 0);
	assert_false(is_there(some + 2 * PAGE));
	drop(some);
}

static void mprotect_leaves_ours_out(void **state)
{
	unsigned char *some = map_some();

	(void)state;
	assert_int_equal(mprotect(some, PAGES * PAGE, PROT_READ), 0);
	some[PAGE] = some[4 * PAGE - 1] = 'y';
	assert_int_equal(some[0], 'x');
	assert_int_equal(munmap(some, PAGE), 0);
	assert_int_equal(mprotect(some, PAGES * PAGE, PROT_READ), -1); /* a hole of its own */
	assert_int_equal(errno, ENOMEM);
	drop(some);
}

static void nothing_takes_its_place(void **state)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	unsigned char *some = map_some();

	(void)state;
	assert_ptr_equal(mmap(some, PAGES * PAGE, PROT_READ, flags, -1, 0), MAP_FAILED);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(some[0], 'x');
	assert_ptr_equal(mmap(some, PAGE, PROT_READ, flags, -1, 0), some);
	assert_int_equal(some[0], 0);
	/* a wish is none of that */
	assert_ptr_not_equal(mmap(some + PAGE, PAGE, PROT_READ, flags & ~MAP_FIXED, -1, 0),
			     some + PAGE);
	drop(some);
}

static void errors_are_the_kernels(void **state)
{
	unsigned char *some = map_some();

	(void)state;
	assert_int_equal(munmap(some + 1, PAGE), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(munmap(some, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(munmap(some, SIZE_MAX - PAGE), -1);
	assert_int_equal(errno, EINVAL);
#ifdef __GLIBC__ /* musl's begins at the page */
	assert_int_equal(mprotect(some + 1, PAGE, PROT_READ), -1);
	assert_int_equal(errno, EINVAL);
#endif
	assert_true(is_there(some + PAGE));
	drop(some);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(borders_are_exact),
		cmocka_unit_test(a_part_of_a_page_is_a_page),
		cmocka_unit_test(the_lowest_comes_first),
		cmocka_unit_test(a_huge_one_is_whole),
		cmocka_unit_test(too_many_do_no_harm),
		cmocka_unit_test(munmap_leaves_ours_out),
		cmocka_unit_test(lengths_are_rounded_up),
		cmocka_unit_test(mprotect_leaves_ours_out),
		cmocka_unit_test(nothing_takes_its_place),
		cmocka_unit_test(errors_are_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
