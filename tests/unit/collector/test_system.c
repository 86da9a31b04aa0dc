/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of the machine: files made up below a directory of our own, whole, strange, cut and
 * missing; secrets in environments; libraries of mappings; who used how much of the processors.
 */
#include "base/recording.h"
#include "collector/process/libraries.h"
#include "collector/process/system_read.h"
#include "collector/write/environment.h"
#include "collector/write/process_work.h"
#include "collector/write/system_load.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static int set_up(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/weft-system-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* A file below the root, with the directories that it needs. */
static void give(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *c = full + strlen(root) + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = 0;
		mkdir(full, 0700);
		*c = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* ---- machine */

static void test_time(void **state)
{
	struct machine_time t = {7, 7};

	(void)state;
	assert_int_equal(system_read_time(root, &t), -ENOENT);
	give("/proc/stat", "cpu  100 20 30 1000 50 6 4 9 3 1\ncpu0 1 2 3\n");
	assert_int_equal(system_read_time(root, &t), 0);
	assert_int_equal(t.all, 100 + 20 + 30 + 1000 + 50 + 6 + 4 + 9);
	assert_int_equal(t.busy, 100 + 20 + 30 + 6 + 4);
	give("/proc/stat", "cpu 1 2 3 4\n");
	assert_int_equal(system_read_time(root, &t), 0);
	assert_int_equal(t.all, 10);
	t = (struct machine_time){7, 7};
	static const char *const wrong[] = {"",
					    "cpu",
					    "cpu 1 2 3",
					    "intr 1 2 3 4",
					    "cpu a b c d",
					    "cpu 1 2 3 99999999999999999999"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		give("/proc/stat", wrong[i]);
		assert_int_equal(system_read_time(root, &t), -EBADMSG);
	}
	assert_int_equal(t.all, 7);
}

static void test_memory(void **state)
{
	struct machine_memory m = {0};

	(void)state;
	assert_int_equal(system_read_memory(root, &m), -ENOENT);
	give("/proc/meminfo", "MemTotal:       1000 kB\nMemFree:   100 kB\nMemAvailable: 300 kB\n");
	assert_int_equal(system_read_memory(root, &m), 0);
	assert_int_equal(m.total_bytes, 1024000);
	assert_int_equal(m.used_bytes, 700 * 1024);
	give("/proc/meminfo", "XMemTotal: 1 kB\nMemTotal: 1000 kB\nMemFree: 100 kB\n");
	assert_int_equal(system_read_memory(root, &m), 0);
	assert_int_equal(m.used_bytes, 900 * 1024);
	give("/proc/meminfo", "MemTotal: 10 kB\nMemAvailable: 300 kB\n");
	assert_int_equal(system_read_memory(root, &m), 0);
	assert_int_equal(m.used_bytes, 0);
	static const char *const wrong[] = {"", "MemTotal:", "MemTotal: x", "MemFree: 3 kB\n",
					    "MemTotal: 18446744073709551615 kB\n"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		give("/proc/meminfo", wrong[i]);
		assert_int_equal(system_read_memory(root, &m), -EBADMSG);
	}
}

static void give_cpu(int cpu, const char *package, const char *siblings)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/package_cpus_list",
		 cpu);
	give(path, package);
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
		 cpu);
	give(path, siblings);
}

/* Two sockets, two cores each, two threads a core, and 5 is off. */
static void test_processors(void **state)
{
	struct machine_processors m;

	(void)state;
	system_read_processors(root, &m);
	assert_true(m.threads >= 1 && m.cores == m.threads && m.sockets == 1);
	assert_string_equal(m.model, "");
	give("/sys/devices/system/cpu/online", "0-4,6-7\n");
	for (int i = 0; i < 8; i++) {
		static const char *const core[] = {"0,2", "1,3", "4", "6-7"};

		give_cpu(i, i < 4 ? "0-3\n" : "4,6-7\n", core[i < 4 ? i % 2 : i < 6 ? 2 : 3]);
	}
	give("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: Acme\nmodel name\t: Acme One @ 3GHz\n"
			      "flags\t\t: fpu sse\n\nprocessor\t: 1\nmodel name\t: other\n");
	system_read_processors(root, &m);
	assert_int_equal(m.threads, 7);
	assert_int_equal(m.cores, 4);
	assert_int_equal(m.sockets, 2);
	assert_string_equal(m.model, "Acme One @ 3GHz");
	assert_string_equal(m.description, "Brand: Acme One @ 3GHz, Vendor: Acme, Flags: fpu sse");
	static const char *const wrong[] = {
		"", "x", "-", "0-", "3-1", "0-99999999999999999999", ",,", "0-4,x"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		give("/sys/devices/system/cpu/online", wrong[i]);
		system_read_processors(root, &m);
		assert_true(m.threads >= 1 && m.cores >= 1 && m.sockets >= 1);
		assert_true(m.threads <= 8192);
	}
}

static void test_version(void **state)
{
	char text[256];

	(void)state;
	system_read_version(root, text, sizeof(text));
	assert_memory_equal(text, "Linux ", 6);
	give("/etc/os-release", "NAME=x\nPRETTY_NAME=\"My OS 12\"\n");
	system_read_version(root, text, sizeof(text));
	assert_memory_equal(text, "My OS 12, Linux ", 16);
	system_read_version(root, text, 6);
	assert_string_equal(text, "My OS");
}

/* ---- processes and the load */

static void give_times(const char *name, const char *stat)
{
	char path[64];

	snprintf(path, sizeof(path), "/%s/stat", name);
	give(path, stat);
}

static int open_process(const char *name)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void test_process_time(void **state)
{
	struct process_time t;
	int fd;

	(void)state;
	give_times("1", "12 (a b) c) (d)) S 1 2 3 4 -1 6 7 8 9 10 70 80 90 100 20 0 1 0 5\n");
	fd = open_process("1");
	assert_int_equal(system_read_process_time(fd, &t), 0);
	assert_int_equal(t.user, 70);
	assert_int_equal(t.system, 80);
	assert_int_equal(t.waited_user, 90);
	assert_int_equal(t.waited_system, 100);
	static const char *const wrong[] = {"", "1 (x", "1 (x) S 1 2", "1 (x) S 1 2 3 4 5 6 7 8 9",
					    "1 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 x"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		give_times("1", wrong[i]);
		assert_int_equal(system_read_process_time(fd, &t), -EBADMSG);
	}
	close(fd);
}

static void set_times(const char *name, int user, int system, int waited_user, int waited_system)
{
	char text[128];

	snprintf(text, sizeof(text), "1 (x) S 1 1 1 1 -1 0 0 0 0 0 %d %d %d %d 20 0\n", user,
		 system, waited_user, waited_system);
	give_times(name, text);
}

static void set_machine(int busy, int idle)
{
	char text[64];

	snprintf(text, sizeof(text), "cpu %d 0 0 %d 0 0 0 0\n", busy, idle);
	give("/proc/stat", text);
}

static void expect_share(struct system_load *l, uint64_t now_ns, double user, double system,
			 double machine)
{
	struct system_share s;

	assert_int_equal(system_load_share(l, root, now_ns, &s), 0);
	assert_float_equal(s.user, user, 1e-6);
	assert_float_equal(s.system, system, 1e-6);
	assert_float_equal(s.machine, machine, 1e-6);
}

/* A parent and a child that it waits for: the child's time counts once, also what it used after
 * the last look. */
static void test_load(void **state)
{
	struct process parent = {.work = &(struct process_work){0}, .pid = 10, .proc_fd = -1},
		       child = {.work = &(struct process_work){0}, .pid = 11, .parent = 10};
	struct system_load l;
	struct system_share none;

	(void)state;
	set_machine(1000, 1000);
	set_times("10", 50, 50, 5, 5);
	set_times("11", 7, 0, 0, 0);
	parent.proc_fd = open_process("10");
	child.proc_fd = open_process("11");
	child.work->next = &parent;
	system_load_begin(&l, root, 2, 1000);
	system_load_join(&parent, NULL);
	system_load_join(&child, &parent);
	assert_int_equal(system_load_share(&l, root, 1000, &none), -ENODATA);

	set_machine(1100, 1100);
	set_times("10", 70, 60, 5, 5);
	set_times("11", 27, 0, 0, 0);
	system_load_look(&l, &parent, &child);
	system_load_look(&l, &child, &child);
	expect_share(&l, 2000, 0.2, 0.05, 0.5); /* 40 and 10 of 200 */

	/* it used 30 more and 2 of the kernel's, ends unseen, and is waited for */
	system_load_leave(&child, &child);
	set_machine(1200, 1200);
	set_times("10", 70, 60, 5 + 57, 5 + 2);
	system_load_look(&l, &parent, &child);
	/* 57 less the 20 that were taken of it: those 7 before it joined are the program's, too */
	expect_share(&l, 3000, 0.185, 0.01, 0.5);
	/* nothing is owed any more, no machine is busier than its processes say */
	set_times("10", 70, 60, 162, 7);
	set_machine(1210, 1390);
	system_load_look(&l, &parent, &child);
	expect_share(&l, 4000, 0.5, 0, 0.5);
	close(parent.proc_fd);
	close(child.proc_fd);
}

/* The parent has waited for it, and its end comes to us later: nothing counts twice, and all once.
 */
static void test_load_of_late_end(void **state)
{
	struct process parent = {.work = &(struct process_work){0}, .pid = 10, .proc_fd = -1},
		       child = {.work = &(struct process_work){0}, .pid = 11, .parent = 10};
	struct system_load l;

	(void)state;
	set_machine(1000, 1000);
	set_times("10", 50, 50, 5, 5);
	set_times("11", 0, 0, 0, 0);
	parent.proc_fd = open_process("10");
	child.proc_fd = open_process("11");
	child.work->next = &parent;
	system_load_begin(&l, root, 2, 1000);
	system_load_join(&parent, NULL);
	system_load_join(&child, &parent);
	set_machine(1100, 1100);
	set_times("11", 20, 0, 0, 0);
	system_load_look(&l, &child, &child);
	expect_share(&l, 2000, 0.1, 0, 0.5);
	/* 10 more, gone and waited for */
	set_machine(1200, 1200);
	give_times("11", "");
	set_times("10", 60, 50, 5 + 30, 5);
	system_load_look(&l, &parent, &child);
	expect_share(&l, 3000, 0.1, 0,
		     0.5); /* the parent's own 10, and what the child had not told */
	child.work->end = "exited";
	system_load_leave(&child, &child);
	set_machine(1300, 1300);
	system_load_look(&l, &parent, &child);
	expect_share(&l, 4000, 0, 0, 0.5);
	close(parent.proc_fd);
	close(child.proc_fd);
}

/* Gone before it could be read again: what it said as it ended is taken, and no more than once. */
static void test_load_of_last_words(void **state)
{
	struct process p = {.work = &(struct process_work){0}, .pid = 10, .proc_fd = -1};
	const uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	struct system_load l;

	(void)state;
	set_machine(1000, 1000);
	set_times("10", 50, 50, 0, 0);
	p.proc_fd = open_process("10");
	system_load_begin(&l, root, 2, 1000);
	system_load_join(&p, NULL);
	give_times("10", "");
	set_machine(1100, 1100);
	assert_int_equal(system_load_look(&l, &p, &p), -ESRCH);
	system_load_last(&l, &p, 130 * tick_ns);
	system_load_last(&l, &p, 130 * tick_ns);
	system_load_last(&l, &p, 0);
	expect_share(&l, 2000, 0.15, 0, 0.5);
	close(p.proc_fd);
}

/* By exec it goes on, also by a second one; one that starts with that pid later does not. */
static void test_load_of_exec(void **state)
{
	struct process_work ended = {.end = RECORDING_END_EXEC}, again = ended;
	struct process third = {.work = &again, .pid = 10, .start_ticks = 3};
	struct process before = {.work = &ended, .pid = 10, .start_ticks = 3};
	struct process after = {.work = &(struct process_work){0}, .pid = 10, .start_ticks = 3},
		       other = {.work = &(struct process_work){0}, .pid = 10, .start_ticks = 4};
	struct system_load l;

	(void)state;
	set_machine(0, 1000);
	set_times("10", 0, 0, 0, 0);
	before.proc_fd = after.proc_fd = other.proc_fd = open_process("10");
	system_load_begin(&l, root, 1, 1000);
	system_load_join(&before, NULL);
	set_times("10", 10, 0, 0, 0);
	system_load_join(&after, &before);
	system_load_join(&other, &before);
	set_times("10", 30, 0, 0, 0);
	system_load_look(&l, &after, NULL);
	assert_int_equal(l.user, 30);
	system_load_look(&l, &other, NULL);
	assert_int_equal(l.user, 50);
	before.work->next = &after;
	after.work->next = &third;
	third.proc_fd = before.proc_fd;
	system_load_join(&third, &before);
	set_times("10", 35, 0, 0, 0);
	system_load_look(&l, &third, NULL);
	assert_int_equal(l.user, 55);
	close(before.proc_fd);
}

/* Nobody tells of the machine: shares are of the time that has passed. Times that go back, and a
 * process that has gone, are no time. */
static void test_load_without_proc(void **state)
{
	struct process p = {.work = &(struct process_work){0}, .pid = 10};
	struct system_load l;
	struct system_share s;

	(void)state;
	set_times("10", 100, 0, 0, 0);
	p.proc_fd = open_process("10");
	system_load_begin(&l, root, 4, 1000000000);
	system_load_join(&p, NULL);
	set_times("10", 100 + (int)sysconf(_SC_CLK_TCK), 0, 0, 0);
	system_load_look(&l, &p, NULL);
	expect_share(&l, 2000000000, 0.25, 0, 0.25);
	set_times("10", 1, 0, 0, 0);
	system_load_look(&l, &p, NULL);
	give_times("10", "rubbish");
	system_load_look(&l, &p, NULL);
	expect_share(&l, 3000000000, 0, 0, 0);
	set_times("10", 1000000, 1000000, 0, 0);
	system_load_look(&l, &p, NULL);
	assert_int_equal(system_load_share(&l, root, 3000000001, &s), 0);
	assert_true(s.user >= 0 && s.system >= 0 && s.user + s.system <= 1 && s.machine <= 1);
	close(p.proc_fd);
}

/* ---- environment */

static void test_secrets(void **state)
{
	static const struct {
		const char *name, *value, *shown;
	} rows[] = {
		{"HOME", "/root", "/root"},
		{"EMPTY", "", ""},
		{"PWD", "/srv", "/srv"},
		{"OLDPWD", "/srv", "/srv"},
		{"DB_PWD", "x", "[redacted]"},
		{"DB_PASSWORD", "hunter2", "[redacted]"},
		{"db_password", "hunter2", "[redacted]"},
		{"PASSWORD", "", ""},
		{"GITHUB_TOKEN", "x", "[redacted]"},
		{"AWS_SECRET_ACCESS", "x", "[redacted]"},
		{"API_KEY", "x", "[redacted]"},
		{"GOOGLE_APPLICATION_CREDENTIALS", "/f", "[redacted]"},
		{"BASIC_AUTH", "u:p", "[redacted]"},
		{"DATABASE_URL", "postgres://u:p@h:5/db", "postgres://[redacted]@h:5/db"},
		{"URLS", "a://u@h,b://v:w@i/x", "a://[redacted]@h,b://[redacted]@i/x"},
		{"URL", "http://host/a@b", "http://[redacted]@b"},
		{"URL", "http://u:p/q@h/x", "http://[redacted]@h/x"},
		{"PLAIN", "http://host:80/path?x=1", "http://host:80/path?x=1"},
		{"URL", "http://h/?user=a&password=b&c=d",
		 "http://h/?user=a&password=[redacted]&c=d"},
		{"OPTS", "-Da.b=c -Ddb.password=x -v", "-Da.b=c -Ddb.password=[redacted] -v"},
		{"OPTS", "--api-key='a b' --c=d", "--api-key=[redacted] --c=d"},
		{"OPTS", "x --token=", "x --token="},
		{"HEADER", "Authorization: Bearer abc", "Authorization: [redacted]"},
		{"CONNECT", "Server=h;Password=x;Db=y", "Server=h;Password=[redacted];Db=y"},
		{"PATH", "/opt/keys:/usr/bin", "/opt/keys:/usr/bin"},
		{"X", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx", "[redacted]"},
		{"X", "-----BEGIN RSA PRIVATE KEY-----\nabc", "[redacted]"},
		{"X", "://", "://"},
		{"X", "a://@", "a://[redacted]@"},
		{"X", "=", "="},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *shown = environment_shown(rows[i].name, strlen(rows[i].name), rows[i].value,
						strlen(rows[i].value));

		assert_string_equal(shown, rows[i].shown);
		free(shown);
	}
}

static void note(void *arg, const char *name, size_t bytes, const char *shown)
{
	char *text = arg;

	snprintf(text + strlen(text), 512 - strlen(text), "%.*s=%s|", (int)bytes, name, shown);
}

static void test_environment(void **state)
{
	static const char text[] = "A=1\0B=\0\0=x\0none\0C C=2\0T_TOKEN=y\0D=a=b\0E=cut";
	char seen[512] = "", *large = malloc(ENVIRONMENT_VALUE_MAX + 100), *shown;

	(void)state;
	environment_each(text, sizeof(text) - 1, note, seen);
	assert_string_equal(seen, "A=1|B=|T_TOKEN=[redacted]|D=a=b|E=cut|");
	seen[0] = 0;
	environment_each(text, 0, note, seen);
	assert_string_equal(seen, "");
	assert_non_null(large);
	memset(large, 'x', ENVIRONMENT_VALUE_MAX + 100);
	shown = environment_shown("L", 1, large, ENVIRONMENT_VALUE_MAX + 100);
	assert_int_equal(strlen(shown), ENVIRONMENT_VALUE_MAX + 3);
	assert_string_equal(shown + ENVIRONMENT_VALUE_MAX, "...");
	free(shown);
	free(large);
}

/* ---- libraries */

static const char first_maps[] = "1000-2000 r--p 00000000 08:01 7 /bin/a\n"
				 "2000-3000 r-xp 00001000 08:01 7 /bin/a\n"
				 "3000-4000 rw-p 00002000 08:01 7 /bin/a\n"
				 "4000-5000 rw-p 00000000 00:00 0 [heap]\n"
				 "6000-7000 r--p 00000000 08:01 8 /data\n"
				 "7000-8000 r-xp 00000000 08:01 9 /lib/b.so\n"
				 "8000-9000 rw-p 00000000 00:00 0 \n"
				 "9000-a000 rw-p 00001000 08:01 9 /lib/b.so\n"
				 "a000-b000 r-xp 00000000 08:01 9 /lib/b.so\n"
				 "b000-c000 r-xp 00000000 00:00 0 [vdso]\n"
				 "rubbish\n";

static void expect_library(const struct libraries *l, size_t i, uint64_t base, uint64_t top,
			   const char *path, int gone)
{
	assert_true(i < l->count);
	assert_int_equal(l->item[i].base, base);
	assert_int_equal(l->item[i].top, top);
	assert_string_equal(l->item[i].path, path);
	assert_int_equal(l->item[i].gone, gone);
}

static void test_libraries(void **state)
{
	static const char second[] = "2000-3000 r-xp 00001000 08:01 7 /bin/a\n"
				     "a000-b000 r-xp 00000000 08:01 9 /lib/b.so";
	struct libraries *l = libraries_read(first_maps, sizeof(first_maps) - 1), *now;

	(void)state;
	assert_non_null(l);
	assert_int_equal(l->count, 3);
	expect_library(l, 0, 0x1000, 0x4000, "/bin/a", 0);
	expect_library(l, 1, 0x7000, 0xa000, "/lib/b.so", 0);
	expect_library(l, 2, 0xa000, 0xb000, "/lib/b.so", 0);
	now = libraries_read(second, sizeof(second) - 1);
	libraries_follow(now, l);
	assert_int_equal(now->count, 4);
	expect_library(now, 0, 0x2000, 0x3000, "/bin/a", 0);
	expect_library(now, 1, 0xa000, 0xb000, "/lib/b.so", 0);
	expect_library(now, 2, 0x1000, 0x4000, "/bin/a", 1);
	expect_library(now, 3, 0x7000, 0xa000, "/lib/b.so", 1);
	/* what has gone stays until it was written */
	l = libraries_read(second, sizeof(second) - 1);
	libraries_follow(l, now);
	assert_int_equal(l->count, 4);
	libraries_settle(l);
	assert_int_equal(l->count, 2);
	libraries_free(l);
	assert_null(libraries_read("", 0));
	assert_null(libraries_read("x\n", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_processors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_version, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_process_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_load, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_load_of_late_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_load_of_last_words, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_load_of_exec, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_load_without_proc, set_up, tear_down),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
