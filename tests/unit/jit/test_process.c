/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JIT code of a process: which files are believed, and when they are looked at. The process
 * is this one, its root a directory of the test.
 */
#include "collector/walk/jit.h"
#include "dump.h"
#include "jit_test.h"
#include "proc/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#define PID 4321
#define SECOND UINT64_C(1000000000)

struct scene {
	char root[64], map[128], dump[128];
	int root_fd, proc_fd;
	struct jit *jit;
	struct maps maps;
	size_t budget;
	uint64_t now_ns;
};

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	strcpy(s->root, "/tmp/weft-jit-XXXXXX");
	assert_non_null(mkdtemp(s->root));
	snprintf(s->map, sizeof(s->map), "%s/tmp", s->root);
	assert_int_equal(mkdir(s->map, 0755), 0);
	snprintf(s->map, sizeof(s->map), "%s/tmp/perf-%d.map", s->root, PID);
	snprintf(s->dump, sizeof(s->dump), "%s/tmp/jit-%d.dump", s->root, PID);
	s->root_fd = open(s->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->proc_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->budget = 1 << 26;
	s->now_ns = 1000 * SECOND;
	*state = s;
	return s->root_fd < 0 || s->proc_fd < 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;
	char command[128];

	jit_free(s->jit);
	maps_free(&s->maps);
	close(s->root_fd);
	close(s->proc_fd);
	snprintf(command, sizeof(command), "rm -rf '%s'", s->root);
	assert_int_equal(system(command), 0);
	free(s);
	return 0;
}

static void begin(struct scene *s)
{
	struct jit_owner owner = {
		.root_fd = s->root_fd,
		.proc_fd = s->proc_fd,
		.inside_pid = PID,
		.uid = geteuid(),
		.start_ticks = process_stat_number(s->proc_fd, STAT_START_TIME),
	};

	s->jit = jit_new(&owner, &s->maps);
	assert_non_null(s->jit);
}

static void put(const char *path, int flags, const void *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | flags, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	close(fd);
}

static void write_map(struct scene *s, int flags, const char *text)
{
	put(s->map, flags, text, strlen(text));
}

/* Long ago, before this process was there. */
static void make_old(const char *path)
{
	struct timespec times[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* The name at @pc for a sample of now; ten seconds pass first, so that it is looked again. */
static const char *ask(struct scene *s, uint64_t pc)
{
	static char name[2000];
	struct elf_place place;

	s->now_ns += 10 * SECOND;
	jit_moment(s->jit, &s->budget, s->now_ns, s->now_ns);
	if (jit_find(s->jit, pc, &place))
		return "";
	snprintf(name, sizeof(name), "%s", place.function);
	return name;
}

static void a_map_that_grows(void **state)
{
	struct scene *s = *state;

	begin(s);
	assert_string_equal(ask(s, 0x1000), "");
	write_map(s, 0, "1000 10 first\n");
	assert_string_equal(ask(s, 0x1000), "first");
	write_map(s, O_APPEND, "2000 10 second\n30");
	assert_string_equal(ask(s, 0x2000), "second");
	write_map(s, O_APPEND, "00 10 third\n");
	assert_string_equal(ask(s, 0x3000), "third");
	/* Made anew under the same name: what was known stays, what is new is read. */
	assert_int_equal(unlink(s->map), 0);
	write_map(s, 0, "4000 10 fourth\n");
	assert_string_equal(ask(s, 0x4000), "fourth");
	assert_string_equal(ask(s, 0x1000), "first");
}

/* Between two looks lies a pause, however often it is asked. */
static void looks_at_a_bounded_pace(void **state)
{
	struct scene *s = *state;
	struct elf_place place;
	int questions = 0;

	begin(s);
	write_map(s, 0, "1000 10 first\n");
	assert_string_equal(ask(s, 0x1000), "first");
	assert_string_equal(ask(s, 0x2000), "");
	write_map(s, O_APPEND, "2000 10 second\n");
	for (; questions < 10000; questions++) {
		s->now_ns += SECOND / 1000;
		jit_moment(s->jit, &s->budget, s->now_ns, s->now_ns);
		if (jit_find(s->jit, 0x2000, &place) == 0)
			break;
	}
	print_message("found after %d ms\n", questions);
	assert_in_range(questions, 5, 100);
}

static void an_older_map_lends_no_names(void **state)
{
	struct scene *s = *state;

	write_map(s, 0, "1000 10 of the dead\n2000 10 of the dead\n");
	make_old(s->map);
	begin(s);
	assert_string_equal(ask(s, 0x1000), "");
	/* Appended to, as CPython does. */
	write_map(s, O_APPEND, "3000 10 alive\n");
	assert_string_equal(ask(s, 0x3000), "alive");
	assert_string_equal(ask(s, 0x1000), "");
	assert_string_equal(ask(s, 0x2000), "");
}

static void an_older_map_that_is_written_anew(void **state)
{
	struct scene *s = *state;

	write_map(s, 0, "1000 10 of the dead\n2000 10 of the dead\n");
	make_old(s->map);
	begin(s);
	write_map(s, O_TRUNC, "3000 10 alive and longer than what was there before\n4000 10 b\n");
	assert_string_equal(ask(s, 0x3000), "alive and longer than what was there before");
	assert_string_equal(ask(s, 0x4000), "b");
	assert_string_equal(ask(s, 0x1000), "");
}

static void a_map_that_got_old_unseen(void **state)
{
	struct scene *s = *state;

	begin(s);
	write_map(s, 0, "1000 10 of another\n");
	make_old(s->map);
	assert_string_equal(ask(s, 0x1000), "");
}

static void a_symbolic_link(void **state)
{
	struct scene *s = *state;
	char other[160];

	begin(s);
	snprintf(other, sizeof(other), "%s/tmp/other", s->root);
	put(other, 0, "1000 10 f\n", 10);
	assert_int_equal(symlink("other", s->map), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(unlink(s->map), 0);
	assert_int_equal(rename(other, s->map), 0);
	assert_string_equal(ask(s, 0x1000), "f");
}

static void a_file_with_two_names(void **state)
{
	struct scene *s = *state;
	char other[160];

	begin(s);
	snprintf(other, sizeof(other), "%s/tmp/other", s->root);
	put(other, 0, "1000 10 f\n", 10);
	assert_int_equal(link(other, s->map), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(unlink(other), 0);
	assert_string_equal(ask(s, 0x1000), "f");
}

static void what_anybody_may_write(void **state)
{
	struct scene *s = *state;

	begin(s);
	write_map(s, 0, "1000 10 f\n");
	assert_int_equal(chmod(s->map, 0666), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(chmod(s->map, 0600), 0);
	assert_string_equal(ask(s, 0x1000), "f");
}

static void what_somebody_else_owns(void **state)
{
	struct scene *s = *state;

	if (geteuid() != 0)
		skip();
	begin(s);
	write_map(s, 0, "1000 10 f\n");
	assert_int_equal(chown(s->map, 12345, (gid_t)-1), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(chown(s->map, 0, (gid_t)-1), 0);
	assert_string_equal(ask(s, 0x1000), "f");
}

static void no_file_at_all(void **state)
{
	struct scene *s = *state;

	begin(s);
	assert_int_equal(mkfifo(s->map, 0644), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(unlink(s->map), 0);
	assert_int_equal(mkdir(s->map, 0755), 0);
	assert_string_equal(ask(s, 0x1000), "");
}

/* Its /tmp is a link of the administrator's, and leads below the root. */
static void tmp_is_a_link(void **state)
{
	struct scene *s = *state;
	char from[160], to[160];

	begin(s);
	snprintf(from, sizeof(from), "%s/tmp", s->root);
	snprintf(to, sizeof(to), "%s/var", s->root);
	write_map(s, 0, "1000 10 f\n");
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(symlink("/var", from), 0);
	assert_string_equal(ask(s, 0x1000), "f");
}

/* The mapping that tells of the dump, as it stands in the process's mappings. */
static void add_marker(struct scene *s, const char *path)
{
	struct mapping one = {.start = 0x700000000000, .end = 0x700000001000};
	struct stat st;

	one.inode = stat(s->dump, &st) == 0 ? st.st_ino : 1;
	one.device_major = major(st.st_dev);
	one.device_minor = minor(st.st_dev);
	one.path = strdup(path);
	assert_int_equal(maps_add(&s->maps, &one), 1);
}

static void write_dump(struct scene *s, uint32_t pid)
{
	struct dump d = {0};

	dump_header(&d, pid, 0);
	dump_lines(&d, 90, 0x1000, 1);
	dump_line(&d, 0x1000, 10, "/srv/a.js");
	dump_end(&d);
	dump_load(&d, 100, pid, 0x1000, 0x100, "dumped");
	put(s->dump, 0, d.b.data, d.b.size);
	buf_free(&d.b);
}

static char *inside_path(struct scene *s)
{
	return s->dump + strlen(s->root);
}

static void a_dump_is_found_by_its_mapping(void **state)
{
	struct scene *s = *state;
	struct elf_place place;

	begin(s);
	write_dump(s, PID);
	assert_string_equal(ask(s, 0x1000), "");
	add_marker(s, inside_path(s));
	assert_string_equal(ask(s, 0x1000), "dumped");
	assert_int_equal(jit_find(s->jit, 0x1000, &place), 0);
	assert_string_equal(place.file, "/srv/a.js");
	assert_int_equal(place.line, 10);
}

static void a_dump_of_another_process(void **state)
{
	struct scene *s = *state;

	begin(s);
	write_dump(s, PID + 1);
	add_marker(s, inside_path(s));
	assert_string_equal(ask(s, 0x1000), "");
}

static void a_dump_that_was_replaced(void **state)
{
	struct scene *s = *state;
	char other[160];

	begin(s);
	write_dump(s, PID);
	add_marker(s, inside_path(s));
	snprintf(other, sizeof(other), "%s/tmp/other", s->root);
	assert_int_equal(rename(s->dump, other), 0);
	write_dump(s, PID);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(unlink(s->dump), 0);
	assert_int_equal(symlink("other", s->dump), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(unlink(s->dump), 0);
	assert_int_equal(rename(other, s->dump), 0);
	assert_string_equal(ask(s, 0x1000), "dumped");
}

static void a_mapping_of_another_name(void **state)
{
	struct scene *s = *state;

	begin(s);
	write_dump(s, PID);
	add_marker(s, "/tmp/jit-1.dump");
	assert_string_equal(ask(s, 0x1000), "");
}

static void everything_at_the_end(void **state)
{
	struct scene *s = *state;
	struct elf_place place;

	begin(s);
	assert_string_equal(ask(s, 0x2000), "");
	write_map(s, 0, "2000 10 at exit\n");
	write_dump(s, PID);
	add_marker(s, inside_path(s));
	jit_finish(s->jit, &s->budget, s->now_ns);
	assert_int_equal(jit_find(s->jit, 0x2000, &place), 0);
	assert_string_equal(place.function, "at exit");
	assert_int_equal(jit_find(s->jit, 0x1000, &place), 0);
	assert_string_equal(place.function, "dumped");
}

static void add_anonymous_code(struct scene *s)
{
	struct mapping one = {.start = 0x1000, .end = 0x9000};

	one.path = strdup("");
	assert_int_equal(maps_add(&s->maps, &one), 1);
}

static int is_late(struct scene *s)
{
	s->now_ns += 10 * SECOND;
	return jit_is_late(s->jit, &s->budget, s->now_ns);
}

/* Whoever has code of its own may tell of it in the end: once it is waited for that. */
static void waiting_for_the_end(void **state)
{
	struct scene *s = *state;

	begin(s);
	assert_false(is_late(s));
	add_anonymous_code(s);
	assert_true(is_late(s));
	jit_finish(s->jit, &s->budget, s->now_ns);
	assert_false(is_late(s));
	write_map(s, 0, "1000 10 f\n");
	assert_string_equal(ask(s, 0x1000), "f");
	assert_false(is_late(s));
}

static void nothing_to_wait_for(void **state)
{
	struct scene *s = *state;

	begin(s);
	add_anonymous_code(s);
	write_map(s, 0, "1000 10 f\n");
	assert_false(is_late(s));
}

/* A dump is behind until it is closed, or is none. */
static void waiting_for_a_dump(void **state)
{
	struct scene *s = *state;
	struct dump d = {0};

	begin(s);
	write_dump(s, PID);
	add_marker(s, inside_path(s));
	assert_true(is_late(s));
	assert_string_equal(ask(s, 0x1000), "dumped");
	assert_true(is_late(s));
	dump_begin(&d, 3, 200);
	dump_end(&d);
	put(s->dump, O_APPEND, d.b.data, d.b.size);
	buf_free(&d.b);
	assert_string_equal(ask(s, 0x1000), "dumped");
	assert_false(is_late(s));
}

static void not_waiting_for_what_is_no_dump(void **state)
{
	struct scene *s = *state;

	begin(s);
	write_dump(s, PID + 1);
	add_marker(s, inside_path(s));
	assert_true(is_late(s));
	assert_string_equal(ask(s, 0x1000), "");
	assert_false(is_late(s));
}

static void where_jit_code_can_be(void **state)
{
	struct mapping m = {.path = (char *)""};

	(void)state;
	assert_false(jit_is_code(NULL));
	assert_true(jit_is_code(&m));
	m.path = (char *)"/memfd:doublemapper (deleted)";
	assert_true(jit_is_code(&m));
	m.path = (char *)"[vdso]";
	assert_false(jit_is_code(&m));
	m.path = (char *)"/usr/lib/libc.so.6";
	m.file = (struct module_file *)&m;
	assert_false(jit_is_code(&m));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_map_that_grows),
		CASE(looks_at_a_bounded_pace),
		CASE(an_older_map_lends_no_names),
		CASE(an_older_map_that_is_written_anew),
		CASE(a_map_that_got_old_unseen),
		CASE(a_symbolic_link),
		CASE(a_file_with_two_names),
		CASE(what_anybody_may_write),
		CASE(what_somebody_else_owns),
		CASE(no_file_at_all),
		CASE(tmp_is_a_link),
		CASE(a_dump_is_found_by_its_mapping),
		CASE(a_dump_of_another_process),
		CASE(a_dump_that_was_replaced),
		CASE(a_mapping_of_another_name),
		CASE(everything_at_the_end),
		CASE(waiting_for_the_end),
		CASE(nothing_to_wait_for),
		CASE(waiting_for_a_dump),
		CASE(not_waiting_for_what_is_no_dump),
		cmocka_unit_test(where_jit_code_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
