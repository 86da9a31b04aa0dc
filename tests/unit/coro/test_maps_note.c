/* SPDX-License-Identifier: Apache-2.0 */
/* What is noted of processes beside a trace: each line once, what dlopen() brings too, never over
 * somebody else's file, and nothing of a process that is not one of ours. */
#include "coro/engine/maps_note.h"
#include "coro/look/names.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

static char path[64];
static struct stat shared; /* a file that this process has mapped */

static struct maps_note *note(int replace, int append)
{
	struct maps_note *n = maps_note_new(path, replace, append, shared.st_dev, shared.st_ino);

	assert_non_null(n);
	return n;
}

static void event_at(struct maps_note *n, uint32_t pid, uint64_t addr, uint64_t now_ns)
{
	struct coro_event e = {.addr = addr, .pid = pid, .known = CORO_KNOWS_IDENTITY};

	maps_note_events(n, &e, 1, now_ns);
}

static unsigned int lines_with(const char *text)
{
	char line[4096 + 256];
	FILE *in = fopen(path, "r");
	unsigned int count = 0;

	while (in && fgets(line, sizeof(line), in))
		count += strstr(line, text) != NULL;
	if (in)
		fclose(in);
	return count;
}

static void name_is(uint64_t address, const char *wanted)
{
	struct coro_names *names = coro_names_new();
	char text[CORO_NAME_BYTES];

	assert_non_null(names);
	assert_true(coro_names_noted(names, path) > 0);
	assert_string_equal(coro_names_text(names, (uint32_t)getpid(), address, text), wanted);
	coro_names_free(names);
}

static void a_process_is_noted_once(void **state)
{
	struct maps_note *n = note(0, 0);
	uint64_t here = (uint64_t)(uintptr_t)a_process_is_noted_once;
	unsigned int lines;

	(void)state;
	maps_note_process(n, (uint32_t)getpid(), SECOND);
	lines = lines_with("xp ");
	assert_true(lines > 0);
	name_is(here, "a_process_is_noted_once");
	maps_note_process(n, (uint32_t)getpid(), 2 * SECOND);
	event_at(n, (uint32_t)getpid(), 1, 100 * SECOND); /* in no code: looked at again */
	assert_int_equal(lines_with("xp "), lines);
	assert_int_equal(lines_with("# weft coro maps 1"), 1);
	assert_int_equal(maps_note_error(n), 0);
	maps_note_free(n);
}

static void what_is_loaded_later_is_noted_with_its_first_event(void **state)
{
	struct maps_note *n = note(0, 0);
	void *library, *place;

	(void)state;
	maps_note_process(n, (uint32_t)getpid(), SECOND);
	library = dlopen(getenv("WEFT_LATE"), RTLD_NOW);
	assert_non_null(library);
	place = dlsym(library, "loaded_late");
	assert_non_null(place);
	event_at(n, (uint32_t)getpid(), (uint64_t)(uintptr_t)place, SECOND); /* asked just now */
	event_at(n, (uint32_t)getpid(), (uint64_t)(uintptr_t)place, 2 * SECOND);
	name_is((uint64_t)(uintptr_t)place, "loaded_late");
	maps_note_free(n);
}

/* An event's pid is of its own namespace: here it is somebody else's. */
static void a_stranger_is_not_noted(void **state)
{
	struct maps_note *n = note(0, 0);
	char name[64], comm[32] = "";
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		execlp("sleep", "sleep", "300", (char *)NULL);
		_exit(1);
	}
	snprintf(name, sizeof(name), "/proc/%d/comm", (int)child);
	while (strcmp(comm, "sleep\n") != 0) { /* until it is another program */
		FILE *in = fopen(name, "r");

		assert_non_null(in);
		if (!fgets(comm, sizeof(comm), in))
			comm[0] = 0;
		fclose(in);
		usleep(1000);
	}
	event_at(n, (uint32_t)child, 1, SECOND);
	assert_int_equal(access(path, F_OK), -1);
	maps_note_process(n, (uint32_t)child, 2 * SECOND); /* this one came to our socket */
	assert_true(lines_with("xp ") > 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	maps_note_free(n);
}

static void put_file(const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void what_is_there_is_left_unless_it_is_ours(void **state)
{
	struct maps_note *n = note(0, 0);
	char text[16];
	int older;

	(void)state;
	put_file("mine\n");
	maps_note_process(n, (uint32_t)getpid(), SECOND);
	assert_int_equal(maps_note_error(n), -EEXIST);
	assert_int_equal(lines_with("mine"), 1);
	maps_note_free(n);
	older = open(path, O_RDONLY | O_CLOEXEC);
	n = note(1, 0); /* --replace */
	maps_note_process(n, (uint32_t)getpid(), SECOND);
	assert_int_equal(maps_note_error(n), 0);
	assert_int_equal(lines_with("mine"), 0);
	maps_note_free(n);
	/* who has the older one open keeps it */
	assert_int_equal(pread(older, text, sizeof(text), 0), 5);
	close(older);
	put_file("# weft coro maps 1\n1 old\n");
	n = note(0, 1); /* an engine that goes on */
	maps_note_process(n, (uint32_t)getpid(), SECOND);
	assert_int_equal(lines_with("1 old"), 1);
	maps_note_free(n);
	n = note(0, 0); /* left of another trace */
	maps_note_process(n, (uint32_t)getpid(), SECOND);
	assert_int_equal(maps_note_error(n), 0);
	assert_int_equal(lines_with("1 old"), 0);
	maps_note_free(n);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/tmp/weft-nowhere", path), 0);
	n = note(1, 0);
	maps_note_process(n, (uint32_t)getpid(), SECOND);
	assert_int_equal(maps_note_error(n), -ELOOP);
	maps_note_free(n);
}

static int begin(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static int map_a_file(void **state)
{
	int fd;
	char name[] = "/tmp/weft-maps-note-XXXXXX";

	(void)state;
	fd = mkstemp(name);
	if (fd < 0 || ftruncate(fd, 4096) || fstat(fd, &shared))
		return -1;
	unlink(name);
	if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		return -1;
	close(fd);
	snprintf(path, sizeof(path), "/tmp/weft-maps-note-%d.maps", (int)getpid());
	return 0;
}

static int remove_all(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_process_is_noted_once, begin),
		cmocka_unit_test_setup(what_is_loaded_later_is_noted_with_its_first_event, begin),
		cmocka_unit_test_setup(a_stranger_is_not_noted, begin),
		cmocka_unit_test_setup(what_is_there_is_left_unless_it_is_ours, begin),
	};

	return cmocka_run_group_tests(tests, map_a_file, remove_all);
}
