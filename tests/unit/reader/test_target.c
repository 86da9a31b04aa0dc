/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another process: a child of the test. One that is there, one that has ended, one that is not
 * ours, one whose first thread is gone; mappings as text; files that are not what they were.
 */
#include "reader/target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char secret[] = "what only this test knows";
static const struct target_source nothing;

struct child {
	pid_t pid;
	int wait; /* it lives until this is closed */
};

/* Runs @body, says so, and stays until the test lets go. */
static struct child start(void (*body)(void))
{
	int ready[2], wait[2];
	struct child c;
	char byte = 0;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(wait, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(wait[1]);
		if (body)
			body();
		if (write(ready[1], "", 1) == 1 && read(wait[0], &byte, 1) == 0)
			_exit(0);
		_exit(1);
	}
	close(ready[1]);
	close(wait[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	c.wait = wait[1];
	return c;
}

static void finish(const struct child *c)
{
	close(c->wait);
	waitpid(c->pid, NULL, 0);
}

static void test_memory(void **state)
{
	struct child c = start(NULL);
	struct target *t = NULL;
	char got[sizeof(secret)] = "";
	uint64_t word;

	(void)state;
	assert_int_equal(target_open(&t, c.pid), 0);
	assert_int_equal(target_read(t, (uint64_t)(uintptr_t)secret, got, sizeof(got)), 0);
	assert_string_equal(got, secret);
	assert_int_equal(target_read_u64(t, 0, &word), -EFAULT);
	assert_int_equal(target_read(t, UINT64_MAX, got, 2), -EFAULT);
	assert_int_equal(target_is_there(t), 0);
	finish(&c);
	assert_int_equal(target_is_there(t), -ESRCH);
	assert_int_equal(target_read_u64(t, (uint64_t)(uintptr_t)secret, &word), -ESRCH);
	assert_int_equal(target_refresh(t), -ESRCH);
	target_close(t);
}

/* The two halves of a read lie in two mappings, and the second one is not there. */
static void test_half(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct target *t = NULL;
	struct child c;
	char got[16];

	(void)state;
	assert_ptr_not_equal(two, MAP_FAILED);
	munmap(two + page, page);
	c = start(NULL);
	assert_int_equal(target_open(&t, c.pid), 0);
	assert_int_equal(target_read(t, (uint64_t)(uintptr_t)two + page - 8, got, 8), 0);
	assert_int_equal(target_read(t, (uint64_t)(uintptr_t)two + page - 8, got, 16), -EFAULT);
	target_close(t);
	finish(&c);
	munmap(two, page);
}

static void test_no_process(void **state)
{
	struct target *t = NULL;
	struct child c = start(NULL);

	(void)state;
	assert_int_equal(target_open(&t, 0), -ESRCH);
	assert_int_equal(target_open(&t, -1), -ESRCH);
	assert_int_equal(target_open(&t, INT32_MAX), -ESRCH);
	kill(c.pid, SIGKILL);
	waitid(P_PID, (id_t)c.pid, NULL, WEXITED | WNOWAIT);
	assert_int_equal(target_open(&t, c.pid), -ESRCH);
	assert_null(t);
	finish(&c);
}

/* As nobody, on a process of root's. */
static void test_not_ours(void **state)
{
	struct child c;
	int status;
	pid_t pid;

	(void)state;
	if (getuid() != 0)
		skip();
	c = start(NULL);
	pid = fork();
	if (pid == 0) {
		struct target *t;
		int rc = setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534);

		rc = rc ? -EINVAL : target_open(&t, c.pid);
		_exit(rc == -EACCES || rc == -EPERM ? 0 : -rc);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	finish(&c);
}

static void *stays(void *first)
{
	pthread_join(*(pthread_t *)first, NULL);
	pause();
	return NULL;
}

static int count_thread(void *arg, int32_t tid)
{
	(void)tid;
	++*(int *)arg;
	return 0;
}

/* /proc/PID/maps is empty then, and its memory is to be had from the others alone. */
static void test_first_thread_gone(void **state)
{
	pid_t pid = fork();
	struct target *t = NULL;
	char got[sizeof(secret)] = "";
	int count = 0;

	(void)state;
	if (pid == 0) {
		static pthread_t self;
		pthread_t other;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		self = pthread_self();
		if (pthread_create(&other, NULL, stays, &self))
			_exit(1);
		pthread_exit(NULL);
	}
	for (;;) {
		char path[32], line[4096] = "";
		FILE *stat;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		stat = fopen(path, "re");
		assert_non_null(stat);
		assert_non_null(fgets(line, sizeof(line), stat));
		fclose(stat);
		if (strstr(line, ") Z "))
			break;
		usleep(1000);
	}
	assert_int_equal(target_open(&t, pid), 0);
	assert_int_equal(target_read(t, (uint64_t)(uintptr_t)secret, got, sizeof(got)), 0);
	assert_string_equal(got, secret);
	assert_int_equal(target_threads(t, count_thread, &count), 0);
	assert_int_equal(count, 2);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	target_close(t);
}

static int stop_at_first(void *arg, int32_t tid)
{
	*(int32_t *)arg = tid;
	return 7;
}

static void test_threads(void **state)
{
	struct child c = start(NULL);
	struct target *t = NULL;
	int32_t tid = 0;

	(void)state;
	assert_int_equal(target_open(&t, c.pid), 0);
	assert_int_equal(target_threads(t, stop_at_first, &tid), 7);
	assert_int_equal(tid, c.pid);
	finish(&c);
	assert_int_equal(target_threads(t, stop_at_first, &tid), -ESRCH);
	target_close(t);
}

static void test_maps_text(void **state)
{
	static const char text[] =
		"1000-2000 r-xp 00000000 fe:01 17                /bin/a b\n"
		"2000-3000 rw-p 00001000 fe:01 17                /lib/new\\012line\n"
		"2800-2900 rw-p 00000000 00:00 0 \n" /* lies in the one before */
		"nonsense\n\n"
		"3000-2000 rw-p 00000000 00:00 0 \n"
		"4000-5000 rw-p 00000000 00:00 0\n"
		"fffffffffffffffff-0 rw-p 00000000 00:00 0 \n"
		"7fff0000-7fff1000 ---p 00000000 00:00 0 [heap]";
	struct target *t = NULL;

	(void)state;
	assert_int_equal(target_from_text(&t, text, sizeof(text) - 1, &nothing, NULL), 0);
	assert_int_equal(t->mapping_count, 4);
	assert_string_equal(t->mappings[0].path, "/bin/a b");
	assert_string_equal(t->mappings[0].permissions, "r-xp");
	assert_int_equal(t->mappings[0].inode, 17);
	assert_string_equal(t->mappings[1].path, "/lib/new\nline");
	assert_int_equal(t->mappings[1].offset, 0x1000);
	assert_string_equal(t->mappings[2].path, "");
	assert_string_equal(t->mappings[3].path, "[heap]");
	assert_ptr_equal(target_mapping_at(t, 0x1fff), &t->mappings[0]);
	assert_ptr_equal(target_mapping_at(t, 0x2000), &t->mappings[1]);
	assert_null(target_mapping_at(t, 0x3000));
	assert_null(target_mapping_at(t, UINT64_MAX));
	target_close(t);
}

static const struct proc_map *mapping_of(const struct target *t, const char *path)
{
	for (size_t i = 0; i < t->mapping_count; i++)
		if (strncmp(t->mappings[i].path, path, strlen(path)) == 0)
			return &t->mappings[i];
	return NULL;
}

/* The mapped file, also when it has been deleted; never another that has its name now. */
static void test_file(void **state)
{
	char path[] = "/tmp/weft-test-target.XXXXXX", gone[sizeof(path) + 5], got[4] = "";
	int file = mkstemp(path), fd;
	struct target *t = NULL;
	struct child c;
	void *mapped;

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(write(file, "old", 3), 3);
	mapped = mmap(NULL, 3, PROT_READ, MAP_PRIVATE, file, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	c = start(NULL);
	assert_int_equal(target_open(&t, c.pid), 0);
	fd = target_file_open(t, mapping_of(t, path));
	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, 3), 3);
	assert_string_equal(got, "old");
	close(fd);

	snprintf(gone, sizeof(gone), "%s.gone", path);
	assert_int_equal(rename(path, gone), 0);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	fd = target_file_open(t, mapping_of(t, path));
	assert_true(fd >= 0 || fd == -ESTALE);
	if (fd >= 0) { /* by map_files */
		assert_int_equal(read(fd, got, 3), 3);
		assert_string_equal(got, "old");
		close(fd);
	}
	unlink(path);
	unlink(gone);
	fd = target_program_open(t);
	assert_true(fd >= 0);
	close(fd);
	target_close(t);
	finish(&c);
	munmap(mapped, 3);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),     cmocka_unit_test(test_half),
		cmocka_unit_test(test_no_process), cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_threads),    cmocka_unit_test(test_first_thread_gone),
		cmocka_unit_test(test_maps_text),  cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
