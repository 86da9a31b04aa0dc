/* SPDX-License-Identifier: Apache-2.0 */
/* A target that says when its threads began tells no time that is still to come: it would become
 * the recording's, whose chunks end by it. */
#include "base/clock.h"
#include "base/recording.h"
#include "collector/run/collector.h"
#include "target.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/jfr.h>

#include <cmocka.h>

static char file[64];

static struct collector *open_collector(void)
{
	struct collector_options o = {.path = file,
				      .command_line = "test",
				      .version = "0",
				      .period_ns = 5000000,
				      .root = 1,
				      .chunk_ns = 50000000};
	struct collector *c = NULL;
	const char *what;

	snprintf(file, sizeof(file), "/tmp/weft-future-%d.jfr", (int)getpid());
	assert_int_equal(collector_open(&c, &o, &what), 0);
	return c;
}

static const uint64_t claimed_ns[] = {UINT64_MAX, UINT64_MAX - 2, UINT64_MAX / 2, UINT64_MAX / 4};
#define CLAIMS ((uint32_t)(sizeof(claimed_ns) / sizeof(claimed_ns[0])))

/* Each slot is claimed at another time that no clock will ever tell, and has an honest sample. */
static void play(const struct collector *c)
{
	struct target t;
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (target_join(&t, collector_socket(c)))
			_exit(1);
		for (uint32_t i = 0; i < CLAIMS; i++) {
			target_slot(&t, i)->thread.claimed_ns = claimed_ns[i];
			target_claim(&t, i, 1);
			target_sample(&t, i, 1, clock_mono_ns(), 1, 1);
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

static void expect_events_of_the_past(int64_t now_ns)
{
	struct weft_jfr_reader *r = weft_jfr_open(file);
	struct weft_jfr_event_view e;
	uint32_t samples = 0;

	assert_non_null(r);
	while (weft_jfr_next(r, &e) == 1) {
		samples += strcmp(weft_jfr_class_name(e.type), RECORDING_EXECUTION_SAMPLE) == 0;
		assert_true(e.start_ns <= now_ns);
	}
	assert_int_equal(samples, CLAIMS);
	weft_jfr_reader_free(r);
}

static int64_t big_endian(const uint8_t *at)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | at[i];
	return (int64_t)value;
}

static void expect_chunks_of_the_past(int64_t now_ns)
{
	uint8_t header[68];
	int64_t at = 0;
	int fd = open(file, O_RDONLY);

	for (; pread(fd, header, sizeof(header), at) == (ssize_t)sizeof(header);
	     at += big_endian(header + 8))
		assert_true(big_endian(header + 32) <= now_ns);
	assert_true(at > 0);
	close(fd);
}

static void a_claim_of_the_future_moves_no_clock(void **state)
{
	struct collector *c = open_collector();
	struct collector_result result;
	int64_t now_ns;

	(void)state;
	play(c);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	now_ns = (int64_t)clock_ns(CLOCK_REALTIME);
	expect_events_of_the_past(now_ns);
	expect_chunks_of_the_past(now_ns);
	unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_claim_of_the_future_moves_no_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
