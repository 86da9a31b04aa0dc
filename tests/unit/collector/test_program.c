/* SPDX-License-Identifier: Apache-2.0 */
/* A look at a program before it is started, while somebody else writes it: a linker, a copy. */
#include "collector/run/program.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LOOKS 40000

static char path[] = "/tmp/weft-program-XXXXXX";
static char *own;
static size_t own_bytes;

static void read_own(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	own_bytes = (size_t)st.st_size;
	own = malloc(own_bytes);
	assert_non_null(own);
	assert_int_equal(pread(fd, own, own_bytes, 0), (ssize_t)own_bytes);
	close(fd);
}

static int write_program(void)
{
	int fd = open(path, O_WRONLY | O_TRUNC), ok;

	ok = fd >= 0 && write(fd, own, own_bytes / 2) > 0 &&
	     write(fd, own + own_bytes / 2, own_bytes - own_bytes / 2) > 0;
	close(fd);
	return ok;
}

static pid_t start_writer(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (write_program())
		;
	_exit(1);
}

/* Before, one in ten ended by SIGBUS. */
static void test_overwritten(void **state)
{
	enum program_verdict verdict;
	char subject[PATH_MAX];
	pid_t writer;
	int fine = 0;

	(void)state;
	writer = start_writer();
	for (int i = 0; i < LOOKS; i++) {
		assert_int_equal(program_look(path, &verdict, subject), 0);
		fine += verdict == PROGRAM_FINE;
	}
	assert_int_equal(kill(writer, SIGKILL), 0);
	waitpid(writer, NULL, 0);
	print_message("fine in %d of %d looks\n", fine, LOOKS);
	assert_true(write_program());
	assert_int_equal(program_look(path, &verdict, subject), 0);
	assert_int_equal(verdict, PROGRAM_FINE);
	assert_string_equal(subject, path);
}

static void test_cut(void **state)
{
	enum program_verdict verdict;
	char subject[PATH_MAX];

	(void)state;
	for (off_t bytes = (off_t)own_bytes; bytes >= 0; bytes -= (off_t)own_bytes / 64 + 1) {
		assert_int_equal(truncate(path, bytes), 0);
		assert_int_equal(program_look(path, &verdict, subject), 0);
	}
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(program_look(path, &verdict, subject), 0);
	assert_int_equal(verdict, PROGRAM_NOT_ELF);
}

static void test_script(void **state)
{
	static const char text[] = "#! /bin/sh -e\nexit 0\n";
	enum program_verdict verdict;
	char subject[PATH_MAX];
	int fd = open(path, O_WRONLY | O_TRUNC);

	(void)state;
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	assert_int_equal(program_look(path, &verdict, subject), 0);
	assert_int_equal(verdict, PROGRAM_FINE);
	assert_string_equal(subject, "/bin/sh");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overwritten),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_script),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 1;
	fchmod(fd, 0700);
	close(fd);
	read_own();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	free(own);
	return failed;
}
