/* SPDX-License-Identifier: Apache-2.0 */
/* Which files the probe takes, and that it leaves alone what it does not take. */
#include <sys/stat.h>

#include "probe.h"

static struct probe_file file;
static unsigned long is_secure;

/* In place of libc's: what a set-id program would be told. */
unsigned long getauxval(unsigned long type);
unsigned long getauxval(unsigned long type)
{
	return type == WEFT_PROBE_AT_PAGESZ   ? (unsigned long)sysconf(_SC_PAGESIZE)
	       : type == WEFT_PROBE_AT_SECURE ? is_secure
					      : 0;
}

static void is_taken(void *arg)
{
	struct weft_coro c;

	CHECK(weft_coro_create(&c, NULL), ==, arg ? 1 : 0);
	weft_coro_resume(&c, NULL);
	weft_coro_suspend(&c, NULL);
	weft_coro_wake(&c);
	weft_coro_destroy(&c);
}

static char yes;

static void refused(void)
{
	uint32_t before = file.header->allocated_count;

	in_child(is_taken, NULL);
	assert_int_equal(file.header->allocated_count, before);
	assert_int_equal(file.stations[0].pid, 0);
}

static void headers(void **state)
{
	(void)state;
	file = probe_file(3, PEER, 0);
	file.header->magic++;
	refused();
	file.header->magic--;
	file.header->version = 2;
	refused();
	file.header->version = 1;
	file.header->max_stations = 4; /* more than the file holds */
	refused();
	file.header->max_stations = 0;
	refused();
	file.header->max_stations = UINT32_MAX;
	refused();
	file.header->max_stations = 3;
	is_secure = 1;
	refused();
	is_secure = 0;
	in_child(is_taken, &yes);
	assert_int_equal(file.header->allocated_count, 1);
	probe_file_gone(&file);
}

static void environment(void **state)
{
	static const char *const wrong[] = {
		"2", "4294967299", "3x", "-3", "three", " 3", "99999999999999999999999"};
	size_t i;

	(void)state;
	file = probe_file(3, OURS, WEFT_CTP_TIMER);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		setenv("CTP_MAX_STATIONS", wrong[i], 1);
		refused();
	}
	setenv("CTP_MAX_STATIONS", "3", 1);
	in_child(is_taken, &yes);
	setenv("CTP_MAX_STATIONS", "", 1);
	in_child(is_taken, &yes);
	assert_int_equal(file.header->allocated_count, 2);
	probe_file_gone(&file);
}

static void other_files(void **state)
{
	char fifo[80];

	(void)state;
	file = probe_file(1, OURS, WEFT_CTP_TIMER);
	snprintf(fifo, sizeof(fifo), "%s.fifo", file.path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	setenv("CTP_SHM_PATH", fifo, 1);
	refused();
	unlink(fifo);
	refused();
	setenv("CTP_SHM_PATH", "/dev/zero", 1);
	refused();
	setenv("CTP_SHM_PATH", "/tmp", 1);
	refused();
	setenv("CTP_SHM_PATH", file.path, 1);
	assert_int_equal(truncate(file.path, 1000), 0);
	in_child(is_taken, NULL);
	assert_int_equal(truncate(file.path, 0), 0);
	in_child(is_taken, NULL);
	unlink(file.path);
}

/* Dirty bits beyond the bitmap are nobody's. */
static void wild_shift(void **state)
{
	(void)state;
	file = probe_file(2, OURS, WEFT_CTP_TIMER);
	file.header->dirty_shift = 200;
	in_child(is_taken, &yes);
	assert_true(file.header->dirty[0] == 0);
	probe_file_gone(&file);
	file = probe_file(WEFT_CTP_DIRTY_BITS + 1, OURS, WEFT_CTP_TIMER);
	file.header->dirty_shift = 0;
	in_child(is_taken, &yes);
	assert_true(file.header->dirty[0] == 0);
	file.header->dirty_shift = 1;
	in_child(is_taken, &yes);
	assert_true(file.header->dirty[0] == 1);
	probe_file_gone(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers),
		cmocka_unit_test(environment),
		cmocka_unit_test(other_files),
		cmocka_unit_test(wild_shift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
