/* SPDX-License-Identifier: Apache-2.0 */
/* Description: settings of events: values read and written, globs, lines, what is wrong. */
#include "base/event_settings.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

static struct event_settings put(enum event_setting setting, const char *value, int expected)
{
	struct event_settings s = {.threshold_ns = 7, .period_ns = 7, .select = SELECT_IF_CONTEXT};
	uint32_t bit = UINT32_C(1) << setting;
	int err = weft_setting_put(&s, setting, value, strlen(value));

	if (err != expected)
		fail_msg("%s=%s: %d, expected %d", weft_setting_name(setting), value, err,
			 expected);
	assert_int_equal(s.wrong, expected ? bit : 0);
	assert_int_equal(s.given, !expected || setting == SETTING_SELECT ? bit : 0);
	return s;
}

static void names(void **state)
{
	(void)state;
	for (int i = 0; i < SETTING_COUNT; i++) {
		const char *name = weft_setting_name((enum event_setting)i);

		assert_int_equal(weft_setting_find(name, strlen(name)), i);
		assert_int_equal(weft_setting_find(name, strlen(name) - 1), -ENOENT);
	}
	assert_null(weft_setting_name(SETTING_COUNT));
	assert_int_equal(weft_setting_find("STACKTRACE", 10), SETTING_STACK_TRACE);
	assert_int_equal(weft_setting_find("periodic", 8), -ENOENT);
	assert_int_equal(weft_setting_find("", 0), -ENOENT);
}

static void thresholds(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"20 ms", 20000000},
		{"0 ns", 0},
		{"20ms", 20000000},
		{"  1  us ", 1000},
		{"3 s", 3 * SECOND},
		{"2 m", 120 * SECOND},
		{"1 h", 3600 * SECOND},
		{"1 D", 86400 * SECOND},
		{"infinity", UINT64_MAX},
		{"Infinity", UINT64_MAX},
		{"9223372036854775807 ns", INT64_MAX},
	};
	static const char *const bad[] = {
		"",
		" ",
		"20",
		"ms",
		"-1 ms",
		"1.5 ms",
		"20 msx",
		"20 ms 3",
		"x20 ms",
		"infinite",
		"9223372036854775808 ns",
		"18446744073709551616 ns",
		"99999999999 d",
		"everyChunk",
		"0x10 ms",
		"\xff",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(put(SETTING_THRESHOLD, good[i].text, 0).threshold_ns, good[i].ns);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(put(SETTING_THRESHOLD, bad[i], -EINVAL).threshold_ns, 7);
}

static int time_of(const char *text, uint64_t bare_ns, uint64_t *ns)
{
	return weft_setting_time((struct setting_text){text, strlen(text)}, bare_ns, ns);
}

/* By others, too, whose numbers may have no unit. */
static void timespans(void **state)
{
	uint64_t ns = 7;

	(void)state;
	assert_int_equal(time_of(" 20 ms ", 0, &ns), 0);
	assert_int_equal(ns, 20000000);
	assert_int_equal(time_of("20", 0, &ns), -EINVAL);
	assert_int_equal(time_of("20 msx", 1, &ns), -EINVAL);
	assert_int_equal(time_of("", 1, &ns), -EINVAL);
	assert_int_equal(ns, 20000000);
	assert_int_equal(time_of("20 ", 1, &ns), 0);
	assert_int_equal(ns, 20);
	assert_int_equal(time_of("20", 1000, &ns), 0);
	assert_int_equal(ns, 20000);
	assert_int_equal(time_of("20 s", 1000, &ns), 0);
	assert_true(ns == 20 * SECOND);
	assert_int_equal(time_of("9223372036854775807", 2, &ns), -EINVAL);
}

static void periods(void **state)
{
	(void)state;
	assert_int_equal(put(SETTING_PERIOD, "10 ms", 0).period_ns, 10000000);
	assert_true(put(SETTING_PERIOD, "everyChunk", 0).period_ns == PERIOD_EVERY_CHUNK);
	assert_true(put(SETTING_PERIOD, "BEGINCHUNK", 0).period_ns == PERIOD_BEGIN_CHUNK);
	assert_true(put(SETTING_PERIOD, "endChunk", 0).period_ns == PERIOD_END_CHUNK);
	assert_int_equal(put(SETTING_PERIOD, "infinity", -EINVAL).period_ns, 7);
	assert_int_equal(put(SETTING_PERIOD, "chunk", -EINVAL).period_ns, 7);
}

static void throttles(void **state)
{
	static const char *const bad[] = {"",    "100", "100/", "/s",    "100/x",
					  "0 s", "on",  "-1/s", "1/2/s", "100/ss"};
	struct event_settings s = put(SETTING_THROTTLE, "100/s", 0);

	(void)state;
	assert_int_equal(s.throttle_count, 100);
	assert_int_equal(s.throttle_window_ns, SECOND);
	s = put(SETTING_THROTTLE, "0 / MS", 0);
	assert_int_equal(s.throttle_count, 0);
	assert_int_equal(s.throttle_window_ns, 1000000);
	s = put(SETTING_THROTTLE, "10ms", 0);
	assert_int_equal(s.throttle_count, 1);
	assert_int_equal(s.throttle_window_ns, 10000000);
	assert_int_equal(weft_setting_put(&s, SETTING_THROTTLE, "off", 3), 0);
	assert_int_equal(s.throttle_window_ns, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		(void)put(SETTING_THROTTLE, bad[i], -EINVAL);
}

static void words(void **state)
{
	struct event_settings s;

	(void)state;
	assert_int_equal(put(SETTING_ENABLED, "true", 0).enabled, 1);
	assert_int_equal(put(SETTING_ENABLED, "FALSE", 0).enabled, 0);
	(void)put(SETTING_ENABLED, "1", -EINVAL);
	assert_int_equal(put(SETTING_STACK_TRACE, "true", 0).stack_trace, 1);
	(void)put(SETTING_STACK_TRACE, "tru", -EINVAL);
	assert_int_equal(put(SETTING_SELECT, "if-context", 0).select, SELECT_IF_CONTEXT);
	assert_int_equal(put(SETTING_SELECT, "If-Triggered", 0).select, SELECT_IF_TRIGGERED);
	assert_int_equal(put(SETTING_SELECT, "all", 0).select, SELECT_ALL);
	/* a wrong select is all, whatever stood before */
	assert_int_equal(put(SETTING_SELECT, "none", -EINVAL).select, SELECT_ALL);
	memset(&s, 0, sizeof(s));
	assert_int_equal(weft_setting_put(&s, SETTING_COUNT, "true", 4), -EINVAL);
	assert_int_equal(s.wrong | s.given, 0);
}

static void text_of(enum event_setting setting, const char *in, const char *out)
{
	struct event_settings s = put(setting, in, 0), again = {0};
	char room[48], small[4];
	size_t bytes = weft_setting_text(&s, setting, room, sizeof(room));

	assert_string_equal(room, out);
	assert_int_equal(bytes, strlen(out));
	assert_int_equal(weft_setting_put(&again, setting, room, bytes), 0);
	memset(small, 'x', sizeof(small));
	bytes = weft_setting_text(&s, setting, small, 3);
	assert_true(bytes <= 2 && !small[bytes] && small[3] == 'x');
}

static void written_as_read(void **state)
{
	(void)state;
	text_of(SETTING_ENABLED, "TRUE", "true");
	text_of(SETTING_STACK_TRACE, "false", "false");
	text_of(SETTING_THRESHOLD, "20000 us", "20 ms");
	text_of(SETTING_THRESHOLD, "0 s", "0 ns");
	text_of(SETTING_THRESHOLD, "48 h", "2 d");
	text_of(SETTING_THRESHOLD, "1001 ns", "1001 ns");
	text_of(SETTING_THRESHOLD, "INFINITY", "infinity");
	text_of(SETTING_THRESHOLD, "9223372036854775807 ns", "9223372036854775807 ns");
	text_of(SETTING_THROTTLE, "100/S", "100/s");
	text_of(SETTING_THROTTLE, "9223372036854775807/ms", "9223372036854775807/ms");
	text_of(SETTING_THROTTLE, "10ms", "10 ms");
	text_of(SETTING_THROTTLE, "1 s", "1/s");
	text_of(SETTING_THROTTLE, "OFF", "off");
	text_of(SETTING_SELECT, "IF-CONTEXT", "if-context");
	text_of(SETTING_PERIOD, "1000ms", "1 s");
	text_of(SETTING_PERIOD, "everychunk", "everyChunk");
	text_of(SETTING_PERIOD, "beginchunk", "beginChunk");
	text_of(SETTING_PERIOD, "endchunk", "endChunk");
}

static void globs(void **state)
{
	static const struct {
		const char *glob, *event;
		int matches;
	} rows[] = {
		{"*", "jdk.ThreadPark", 1},
		{"jdk.*", "jdk.ThreadPark", 1},
		{"jdk.*", "weft.LockWait", 0},
		{"jdk.ThreadPark", "jdk.ThreadPark", 1},
		{"jdk.ThreadPar", "jdk.ThreadPark", 0},
		{"jdk.ThreadParks", "jdk.ThreadPark", 0},
		{"jdk.threadpark", "jdk.ThreadPark", 0},
		{"ThreadPark", "jdk.ThreadPark", 1},
		{"Thread*", "jdk.ThreadPark", 1},
		{"*Wait", "weft.LockWait", 1},
		{"a.Thread*", "jdk.a.ThreadPark", 0},
		{"ThreadPark", "a.b.ThreadPark", 1},
		{"b", "a.b.ThreadPark", 0},
		{"jdk?ThreadPark", "jdk.ThreadPark", 1},
		{"???", "abc", 1},
		{"????", "abc", 0},
		{"*a*b*c", "xaybzc", 1},
		{"*a*b*c", "xaybzcd", 0},
		{"*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0},
		{"**", "", 1},
		{"", "", 1},
		{"", "a", 0},
		{"", "a.", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (weft_setting_glob(rows[i].glob, strlen(rows[i].glob), rows[i].event) !=
		    rows[i].matches)
			fail_msg("%s, %s: not %d", rows[i].glob, rows[i].event, rows[i].matches);
}

static void the_last_line_counts(void **state)
{
	static const char text[] = "*#enabled=true\n"
				   "jdk.*#threshold=20 ms\n"
				   "\n"
				   "no line\n"
				   "jdk.A#nonsense=true\n"
				   "#enabled=false\n"
				   "jdk.A#enabled\n"
				   "jdk.B#enabled=false\n"
				   "jdk.A # threshold = 10 ms \r\n"
				   "jdk.A#throttle=100/x\n"
				   "A#stackTrace=true";
	struct event_settings a = {.throttle_count = 3}, b = {0};

	(void)state;
	weft_settings_apply(&a, "jdk.A", text, sizeof(text) - 1);
	assert_int_equal(a.given,
			 1 << SETTING_ENABLED | 1 << SETTING_THRESHOLD | 1 << SETTING_STACK_TRACE);
	assert_int_equal(a.wrong, 1 << SETTING_THROTTLE);
	assert_int_equal(a.enabled, 1);
	assert_int_equal(a.threshold_ns, 10000000);
	assert_int_equal(a.throttle_count, 3);
	assert_int_equal(a.stack_trace, 1);
	weft_settings_apply(&b, "jdk.B", text, sizeof(text) - 1);
	assert_int_equal(b.given, 1 << SETTING_ENABLED | 1 << SETTING_THRESHOLD);
	assert_int_equal(b.enabled, 0);
	assert_int_equal(b.threshold_ns, 20000000);
	/* nothing behind the text is looked at */
	memset(&b, 0, sizeof(b));
	weft_settings_apply(&b, "jdk.B", "jdk.B#enabled=trueX", 18);
	assert_int_equal(b.enabled, 1);
	weft_settings_apply(&b, "jdk.B", "jdk.B#enabled=falseX", 20);
	assert_int_equal(b.wrong, 1 << SETTING_ENABLED);
	assert_int_equal(b.enabled, 1);
}

static void settled(void **state)
{
	struct event_settings s = {.select = SELECT_IF_CONTEXT};

	(void)state;
	assert_int_equal(weft_settings_settle(&s, 0), 0);
	assert_int_equal(s.select, SELECT_IF_CONTEXT);
	assert_int_equal(weft_settings_settle(&s, 1), 1);
	assert_int_equal(s.select, SELECT_ALL);
	assert_int_equal(weft_settings_settle(&s, 1), 0);
	s.select = SELECT_IF_TRIGGERED;
	assert_int_equal(weft_settings_settle(&s, 1), 0);
	assert_int_equal(weft_settings_settle(&s, 0), 1);
	assert_int_equal(s.select, SELECT_ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),   cmocka_unit_test(thresholds),
		cmocka_unit_test(periods), cmocka_unit_test(throttles),
		cmocka_unit_test(words),   cmocka_unit_test(written_as_read),
		cmocka_unit_test(globs),   cmocka_unit_test(the_last_line_counts),
		cmocka_unit_test(settled), cmocka_unit_test(timespans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
