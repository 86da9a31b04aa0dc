/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JDK's events about machine and recording in a file: a recording by a made-up clock, of a
 * machine whose /proc lies in a directory of ours, read back.
 */
#include "base/recording.h"
#include "collector/write/process_work.h"
#include "collector/write/recording.h"
#include "collector/write/recording_system.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weft/jfr.h>

#include <cmocka.h>

#define SECOND_NS UINT64_C(1000000000)
#define START_NS (1000 * SECOND_NS)

static char root[64], path[96];

static void give(const char *name, const char *text)
{
	char full[128];
	FILE *f;

	snprintf(full, sizeof(full), "%s/proc/%s", root, name);
	f = fopen(full, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
	char proc[96];

	(void)state;
	snprintf(root, sizeof(root), "/tmp/weft-events-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/a.jfr", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	if (mkdir(proc, 0700))
		return -1;
	give("stat", "cpu 100 0 0 100\n");
	give("meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n");
	return 0;
}

static int tear_down(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

struct scene {
	struct recording *recording;
	struct process *process;
};

static struct scene begin(void)
{
	struct recording_options o = {
		.path = path,
		.command_line = "test",
		.version = "0",
		.stack_mode = "auto",
		.period_ns = 1000000,
		.pid = getpid(),
		.start_ns = START_NS,
		.machine = root,
		.max_age_ns = 0,
	};
	struct scene s;

	assert_int_equal(recording_open(&s.recording, &o), 0);
	assert_int_equal(process_new(&s.process, getpid()), 0);
	s.process->opened_ns = START_NS;
	recording_process_begin(s.recording, s.process);
	return s;
}

static void finish(struct scene *s, uint64_t after_ns)
{
	struct recording_written written;

	assert_int_equal(recording_close(s->recording, START_NS + after_ns, &written), 0);
}

/* Events of a type; @field of each, as a number or a thousandth of it. */
struct seen {
	size_t count;
	int64_t value[64];
	uint64_t chunk[64];
};

static struct seen look(const char *name, const char *field)
{
	struct weft_jfr_reader *reader = weft_jfr_open(path);
	struct weft_jfr_event_view e;
	struct seen seen = {0};
	int rc;

	assert_non_null(reader);
	while ((rc = weft_jfr_next(reader, &e)) == 1) {
		const struct weft_jfr_node *n;

		if (strcmp(weft_jfr_class_name(e.type), name) != 0)
			continue;
		assert_true(seen.count < 64);
		n = field ? weft_jfr_event_get(&e, field) : NULL;
		seen.chunk[seen.count] = e.chunk;
		if (n)
			seen.value[seen.count] = n->shape == WEFT_JFR_V_REAL
							 ? (int64_t)(n->real * 1000 + 0.5)
							 : n->number;
		seen.count++;
	}
	assert_int_equal(rc, 0);
	weft_jfr_reader_free(reader);
	return seen;
}

static void test_each_chunk(void **state)
{
	static const char *const each[] = {"jdk.ActiveRecording", "jdk.OSInformation",
					   "jdk.CPUInformation", "jdk.CPULoad",
					   "jdk.PhysicalMemory"};
	struct scene s = begin();

	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(recording_roll(s.recording, START_NS + i * 100), 0);
	finish(&s, 1000);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct seen seen = look(each[i], NULL);

		assert_int_equal(seen.count, 4);
		for (size_t k = 0; k < 4; k++) /* the first chunk of all has no events */
			assert_int_equal(seen.chunk[k], 1 + k);
	}
	assert_int_equal(look("jdk.PhysicalMemory", "usedSize").value[3], 600 * 1024);
	assert_int_equal(look("jdk.Shutdown", NULL).count, 0);
}

static void test_periods(void **state)
{
	struct scene s = begin();
	uint64_t next_ns = recording_tick(s.recording, START_NS);
	struct seen seen;

	(void)state;
	assert_int_equal(next_ns, START_NS + SECOND_NS);
	give("stat", "cpu 130 0 0 170\n"); /* 30 of 100 */
	assert_int_equal(recording_tick(s.recording, next_ns - 1), next_ns);
	assert_int_equal(recording_tick(s.recording, next_ns), next_ns + SECOND_NS);
	recording_set_system_event(s.recording, SYSTEM_CPU_LOAD, 1, 3 * SECOND_NS);
	recording_set_system_event(s.recording, SYSTEM_PHYSICAL_MEMORY, 1, 2 * SECOND_NS);
	recording_set_system_event(s.recording, SYSTEM_OS_INFORMATION, 1, SECOND_NS);
	for (uint64_t i = 2; i <= 10; i++)
		recording_tick(s.recording, START_NS + i * SECOND_NS);
	finish(&s, 10 * SECOND_NS + 50000000);
	seen = look("jdk.CPULoad", "machineTotal");
	assert_int_equal(seen.count, 4); /* at 1, 4, 7 and 10 s */
	assert_int_equal(seen.value[0], 300);
	assert_int_equal(look("jdk.PhysicalMemory", NULL).count, 1 + 5);
	assert_int_equal(look("jdk.OSInformation", NULL).count, 1);
}

static void test_off(void **state)
{
	struct scene s = begin();

	(void)state;
	for (int i = 0; i < SYSTEM_EVENT_COUNT; i++) {
		recording_set_system_event(s.recording, (enum system_event)i, 0, 0);
		assert_false(recording_system_enabled(s.recording, (enum system_event)i));
	}
	assert_int_equal(recording_tick(s.recording, START_NS + 5 * SECOND_NS), UINT64_MAX);
	recording_roll(s.recording, START_NS + 6 * SECOND_NS);
	recording_shutdown(s.recording, START_NS + 7 * SECOND_NS, "Exited");
	finish(&s, 7 * SECOND_NS);
	assert_int_equal(look("jdk.CPULoad", NULL).count, 0);
	assert_int_equal(look("jdk.Shutdown", NULL).count, 0);
	/* what was put before it was turned off */
	assert_int_equal(look("jdk.ActiveRecording", NULL).count, 1);
}

static void test_loss(void **state)
{
	struct scene s = begin();
	struct seen amount, total;

	(void)state;
	s.process->work->counted.counter[WEFT_COUNTER_LOST_RING_FULL] = 3;
	recording_roll(s.recording, START_NS + 1);
	recording_roll(s.recording, START_NS + 2);
	s.process->work->counted.counter[WEFT_COUNTER_LOST_NO_SLOT] = 2;
	s.process->work->counted.counter[WEFT_COUNTER_EVENTS_RING_FULL] = 1;
	recording_roll(s.recording, START_NS + 3);
	finish(&s, 1000);
	amount = look("jdk.DataLoss", "amount");
	total = look("jdk.DataLoss", "total");
	assert_int_equal(amount.count, 2);
	assert_int_equal(amount.value[0], 3 * 152);
	assert_int_equal(amount.value[1], 2 * 152 + 16);
	assert_int_equal(total.value[1], 5 * 152 + 16);
}

/* A chunk that cannot be written is told of by the next that can, and so is what it told. */
static void test_unwritten(void **state)
{
	struct scene s = begin();
	struct rlimit limit, before;
	struct seen amount;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	s.process->work->counted.counter[WEFT_COUNTER_LOST_RING_FULL] = 3;
	limit = before;
	limit.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_true(recording_roll(s.recording, START_NS + 1) < 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	recording_roll(s.recording, START_NS + 2);
	assert_true(recording_close(s.recording, START_NS + 3, NULL) < 0); /* the first error */
	amount = look("jdk.DataLoss", "amount");
	assert_int_equal(amount.count, 2);
	assert_true(amount.value[0] == 3 * 152 || amount.value[1] == 3 * 152);
	assert_true(amount.value[0] > 3 * 152 || amount.value[1] > 3 * 152);
}

static void test_threads(void **state)
{
	struct scene s = begin();
	struct process_thread *t;
	int fresh;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		t = process_thread(s.process, i, 1, &fresh);
		t->tid = 100 + (int32_t)i;
		snprintf(t->name, sizeof(t->name), "t%u", i);
		assert_int_equal(recording_thread(s.recording, s.process, t), 0);
		/* one was there before the recording, one gave nothing */
		if (i == 2)
			continue;
		recording_thread_begin(s.recording, s.process, t, START_NS - 1 + i * 2);
		recording_thread_begin(s.recording, s.process, t, START_NS + 7);
	}
	t = process_thread(s.process, 0, 1, &fresh);
	recording_thread_gone(s.recording, t, START_NS + 10);
	process_thread_drop(s.process, t);
	recording_process_end(s.recording, s.process, START_NS + 20, RECORDING_END_EXITED);
	finish(&s, 30);
	assert_int_equal(look("jdk.ThreadStart", NULL).count, 1);
	assert_int_equal(look("jdk.ThreadEnd", NULL).count, 2);
	assert_int_equal(look("jdk.Shutdown", NULL).count, 1); /* the program was that process */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_chunk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_periods, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_loss, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unwritten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
