/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables on disk: every kind of damage, of place, of company. Whatever happens to the
 * cache, a table that comes out of it equals the one that was built.
 */
#include "collector/walk/table_cache.h"
#include "elf/module.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char place[] = "/tmp/weft-cache-XXXXXX";
static char file[512];
static struct elf_module *module;
static struct unwind_table *truth;
static struct table_cache cache;

/* The one table file of the directory; "" when there is none. */
static void find_file(void)
{
	char folder[128];
	struct dirent *e;
	DIR *d;

	snprintf(folder, sizeof(folder), "%s/unwind", place);
	d = opendir(folder);
	file[0] = 0;
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			snprintf(file, sizeof(file), "%s/%s", folder, e->d_name);
	if (d)
		closedir(d);
}

static void empty_place(void)
{
	char line[128];

	snprintf(line, sizeof(line), "chmod -R u+rwX '%s' && rm -rf '%s'/*", place, place);
	assert_int_equal(system(line), 0);
}

static int begin(void **state)
{
	struct elf_module *m;

	(void)state;
	assert_non_null(mkdtemp(place));
	setenv("WEFT_CACHE", place, 1);
	assert_int_equal(elf_module_open(&m, "/proc/self/exe", -1, "self"), 0);
	truth = elf_module_take_table(m);
	elf_module_free(m);
	return truth && elf_module_open(&module, "/proc/self/exe", -1, "self") == 0 ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	empty_place();
	elf_module_free(module);
	free(truth);
	return rmdir(place);
}

static int open_cache(void **state)
{
	(void)state;
	return table_cache_open(&cache, 1);
}

static int close_cache(void **state)
{
	(void)state;
	table_cache_close(&cache);
	empty_place();
	return 0;
}

static int is_found(void)
{
	struct unwind_table *t = table_cache_load(&cache, module);

	if (!t)
		return 0;
	assert_int_equal(t->bytes, truth->bytes);
	assert_memory_equal(t, truth, t->bytes);
	free(t);
	return 1;
}

static void what_was_saved_is_found(void **state)
{
	struct stat st;
	char folder[128];

	(void)state;
	assert_false(is_found());
	assert_int_equal(table_cache_save(&cache, module, truth), 0);
	assert_true(is_found());
	assert_int_equal(table_cache_size(&cache).files, 1);
	find_file();
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	snprintf(folder, sizeof(folder), "%s/unwind", place);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

/* Each byte of the header, and some of the table, turned over; then it is made again. */
static void no_damaged_byte_is_believed(void **state)
{
	size_t total = sizeof(struct table_file) + truth->bytes;

	(void)state;
	for (size_t at = 0; at < total; at += at < 256 ? 1 : total / 50) {
		uint8_t byte;
		int fd;

		assert_int_equal(table_cache_save(&cache, module, truth), 0);
		find_file();
		fd = open(file, O_RDWR);
		assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		close(fd);
		if (is_found())
			fail_msg("byte %zu", at);
		assert_int_equal(access(file, F_OK), -1);
	}
	assert_int_equal(table_cache_save(&cache, module, truth), 0);
	assert_true(is_found());
}

static void no_torn_file_is_believed(void **state)
{
	off_t total = (off_t)(sizeof(struct table_file) + truth->bytes);
	off_t lengths[] = {0,        1,         8,         111,       112,      113,
			   112 + 64, total / 2, total - 1, total + 1, total * 2};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		assert_int_equal(table_cache_save(&cache, module, truth), 0);
		find_file();
		assert_int_equal(truncate(file, lengths[i]), 0);
		if (is_found())
			fail_msg("%lld bytes", (long long)lengths[i]);
	}
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xBF58476D1CE4E5B9);
	x ^= x >> 27;
	x *= UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

/* The checksum as docs/unwind.md has it. */
static uint64_t sum(const void *data, size_t bytes, uint64_t salt)
{
	uint64_t h = salt ^ mix(bytes + UINT64_C(0x9E3779B97F4A7C15)), word;
	const uint8_t *p = data;

	for (; bytes >= 8; bytes -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = mix(h ^ word);
	}
	word = 0;
	memcpy(&word, p, bytes);
	return mix(h ^ word);
}

/* Somebody who can compute the checksum writes a table that is none. */
static void lies_with_a_right_checksum_are_no_table(void **state)
{
	size_t total = sizeof(struct table_file) + truth->bytes;
	uint8_t *bytes = malloc(total);
	struct table_file *head = (void *)bytes;
	struct unwind_table *table = (void *)(head + 1);

	(void)state;
	for (int lie = 0; lie < 6; lie++) {
		int fd;

		assert_int_equal(table_cache_save(&cache, module, truth), 0);
		find_file();
		fd = open(file, O_RDWR);
		assert_int_equal(read(fd, bytes, total), (ssize_t)total);
		table->row_count += lie == 1 ? 1000000 : 0;
		table->rule_offset = lie == 2 ? 0xFFFFFFF8 : table->rule_offset;
		table->page_count -= lie == 3;
		table->bytes -= lie == 4 ? 8 : 0;
		table->machine = lie == 5 ? 3 : table->machine;
		head->checksum = 0;
		head->checksum = sum(table, truth->bytes, sum(head, sizeof(*head), 0));
		assert_int_equal(pwrite(fd, bytes, total, 0), (ssize_t)total);
		close(fd);
		if (is_found() != (lie == 0)) /* 0: the checksum is computed right */
			fail_msg("lie %d", lie);
	}
	free(bytes);
}

/* As another version of weft would have left it: all of it fits, but for who made it. */
static void tables_of_another_builder_are_not_used(void **state)
{
	struct table_file head;

	(void)state;
	for (uint32_t other = 0; other < 2; other++) {
		int fd;

		assert_int_equal(table_cache_save(&cache, module, truth), 0);
		find_file();
		fd = open(file, O_RDWR);
		assert_int_equal(read(fd, &head, sizeof(head)), sizeof(head));
		assert_int_equal(head.builder, elf_table_builder());
		head.builder += other;
		head.checksum = 0;
		head.checksum = sum(truth, truth->bytes, sum(&head, sizeof(head), 0));
		assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
		close(fd);
		assert_int_equal(is_found(), other == 0);
		assert_int_equal(access(file, F_OK), other == 0 ? 0 : -1);
	}
	assert_int_equal(table_cache_save(&cache, module, truth), 0);
	assert_true(is_found());
}

/* What is not a file of ours: a link, a FIFO, a folder, one that others may write. */
static void strange_files_are_not_opened(void **state)
{
	char other[sizeof(file) + 8];

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		assert_int_equal(table_cache_save(&cache, module, truth), 0);
		find_file();
		snprintf(other, sizeof(other), "%s.x", file);
		if (kind == 0) {
			assert_int_equal(rename(file, other), 0);
			assert_int_equal(symlink(other, file), 0);
		} else if (kind == 1) {
			unlink(file);
			assert_int_equal(mkfifo(file, 0600), 0);
		} else if (kind == 2) {
			unlink(file);
			assert_int_equal(mkdir(file, 0700), 0);
		} else {
			assert_int_equal(chmod(file, 0666), 0);
		}
		assert_false(is_found());
		unlink(other);
		rmdir(file);
		unlink(file);
	}
}

static void a_place_of_others_is_not_used(void **state)
{
	struct table_cache c;
	char folder[128], moved[128];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/unwind", place);
	snprintf(moved, sizeof(moved), "%s/moved", place);
	assert_int_equal(chmod(folder, 0750), 0);
	assert_int_equal(table_cache_open(&c, 1), -EPERM);
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(chmod(place, 0777), 0);
	assert_int_equal(table_cache_open(&c, 1), -EPERM);
	assert_int_equal(chmod(place, 0700), 0);
	assert_int_equal(table_cache_open(&c, 1), 0);
	table_cache_close(&c);
	if (geteuid() == 0) {
		assert_int_equal(chown(folder, 12345, 0), 0);
		assert_int_equal(table_cache_open(&c, 1), -EPERM);
		assert_int_equal(chown(folder, 0, 0), 0);
		assert_int_equal(chown(place, 12345, 0), 0);
		assert_int_equal(table_cache_open(&c, 1), -EPERM);
		assert_int_equal(chown(place, 0, 0), 0);
	}
	assert_int_equal(rename(folder, moved), 0);
	assert_int_equal(symlink(moved, folder), 0);
	assert_true(table_cache_open(&c, 1) < 0);
	unlink(folder);
	assert_int_equal(rename(moved, folder), 0);
}

static void nowhere_to_keep_it_is_no_error(void **state)
{
	struct table_cache c;

	(void)state;
	setenv("WEFT_CACHE", "relative", 1);
	assert_int_equal(table_cache_open(&c, 1), -EPERM);
	setenv("WEFT_CACHE", "/proc/nowhere/at/all", 1);
	assert_true(table_cache_open(&c, 1) < 0);
	assert_null(table_cache_load(&c, module));
	assert_true(table_cache_save(&c, module, truth) < 0);
	assert_int_equal(table_cache_size(&c).files, 0);
	table_cache_close(&c);
	setenv("WEFT_CACHE", place, 1);
}

static int save_under_a_limit(void)
{
	struct rlimit limit = {truth->bytes / 2, truth->bytes / 2};

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	return table_cache_save(&cache, module, truth) < 0 ? 0 : 1;
}

static int wait_for(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The disk is full in the middle: nothing half stays there. */
static void a_full_disk_leaves_nothing_behind(void **state)
{
	char line[128];
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0)
		_exit(save_under_a_limit());
	assert_int_equal(wait_for(pid), 0);
	snprintf(line, sizeof(line), "test -z \"$(ls -A '%s/unwind')\"", place);
	assert_int_equal(system(line), 0);
	assert_false(is_found());
}

static void put_other(const char *name, size_t bytes, int age_s)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
	int fd = openat(cache.fd, name, O_WRONLY | O_CREAT, 0600);

	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static int is_there(const char *name)
{
	return faccessat(cache.fd, name, F_OK, 0) == 0;
}

static void what_was_used_longest_ago_goes_first(void **state)
{
	(void)state;
	cache.bytes_max = 1000000;
	put_other("old", 400000, 5000);
	put_other("older", 400000, 6000);
	put_other("new", 400000, 100);
	put_other(".new-1", 10, 10000);
	put_other(".new-2", 10, 10);
	assert_int_equal(table_cache_save(&cache, module, truth), 0);
	assert_false(is_there("older"));
	assert_true(is_there("new"));
	assert_false(is_there(".new-1")); /* of a collector that was killed */
	assert_true(is_there(".new-2"));  /* of one that is writing */
	assert_true(table_cache_size(&cache).bytes <= cache.bytes_max);
	assert_true(is_found());
}

static void using_makes_young(void **state)
{
	struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct stat st;

	(void)state;
	assert_int_equal(table_cache_save(&cache, module, truth), 0);
	find_file();
	assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
	assert_true(is_found());
	assert_int_equal(stat(file, &st), 0);
	assert_true(st.st_mtime > time(NULL) - 1000);
}

/* Others save, load and damage at the same time. */
static int play(unsigned int seed)
{
	for (int i = 0; i < 60; i++) {
		struct unwind_table *t;

		seed = seed * 1103515245 + 12345;
		switch (seed >> 16 & 3) {
		case 0:
			table_cache_save(&cache, module, truth);
			break;
		case 1:
			find_file();
			if (file[0] && truncate(file, seed >> 18 & 0xFFF))
				break;
			break;
		default:
			t = table_cache_load(&cache, module);
			if (t && (t->bytes != truth->bytes || memcmp(t, truth, t->bytes) != 0))
				return 1;
			free(t);
		}
	}
	return 0;
}

static void several_collectors_share_it(void **state)
{
	pid_t pid[4];

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(play(i * 7919 + 1));
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(wait_for(pid[i]), 0);
}

/* One byte of the copy's unwind data is another. */
static void change_unwind_data(const char *path)
{
	int fd = open(path, O_RDWR);
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	uint8_t byte;

	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	for (int i = 0; i < header.e_phnum; i++) {
		off_t at;

		assert_int_equal(pread(fd, &segment, sizeof(segment),
				       (off_t)(header.e_phoff + (size_t)i * sizeof(segment))),
				 sizeof(segment));
		if (segment.p_type != PT_GNU_EH_FRAME)
			continue;
		at = (off_t)(segment.p_offset + segment.p_filesz - 1);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
}

/* A tool that changed a file and left its build-id as it was. */
static void another_file_of_the_same_build_id_is_another(void **state)
{
	char line[300], copy[128];
	struct elf_module *other;

	(void)state;
	assert_int_equal(table_cache_save(&cache, module, truth), 0);
	snprintf(copy, sizeof(copy), "%s/copy", place);
	snprintf(line, sizeof(line), "cp /proc/%d/exe '%s'", (int)getpid(), copy);
	assert_int_equal(system(line), 0);
	assert_int_equal(elf_module_open(&other, copy, -1, "copy"), 0);
	free(table_cache_load(&cache, other));
	elf_module_free(other);
	change_unwind_data(copy);
	assert_int_equal(elf_module_open(&other, copy, -1, "copy"), 0);
	assert_null(table_cache_load(&cache, other));
	elf_module_free(other);
	assert_true(is_found());
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_cache, close_cache)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_was_saved_is_found),
		CASE(no_damaged_byte_is_believed),
		CASE(no_torn_file_is_believed),
		CASE(lies_with_a_right_checksum_are_no_table),
		CASE(tables_of_another_builder_are_not_used),
		CASE(strange_files_are_not_opened),
		CASE(a_place_of_others_is_not_used),
		CASE(nowhere_to_keep_it_is_no_error),
		CASE(a_full_disk_leaves_nothing_behind),
		CASE(what_was_used_longest_ago_goes_first),
		CASE(using_makes_young),
		CASE(several_collectors_share_it),
		CASE(another_file_of_the_same_build_id_is_another),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
