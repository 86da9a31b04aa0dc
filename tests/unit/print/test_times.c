/* SPDX-License-Identifier: Apache-2.0 */
/* Description: times, spans and amounts are written as the JDK's tool writes them. */
#include "print/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct weft_jfr_chunk_view chunk = {
	.start_ns = 1700000000123456789, .start_ticks = 5000, .ticks_per_second = 2400000000};

/* As JDK 17 prints a @Timespan("NANOSECONDS"). */
static const struct {
	int64_t ns;
	const char *iso, *text;
} spans[] = {
	{0, "PT0S", "0 s"},
	{1, "PT0.000000001S", "0.000001 ms"},
	{-1, "PT-0.000000001S", "-0.000001 ms"},
	{999, "PT0.000000999S", "0.000999 ms"},
	{1000, "PT0.000001S", "0.00100 ms"},
	{12345, "PT0.000012345S", "0.0123 ms"},
	{999499, "PT0.000999499S", "0.999 ms"},
	{999500, "PT0.0009995S", "1.00 ms"},
	{12345000, "PT0.012345S", "12.3 ms"},
	{12350000, "PT0.01235S", "12.4 ms"},
	{20000000, "PT0.02S", "20.0 ms"},
	{999500000, "PT0.9995S", "1.00 s"},
	{-1500000000, "PT-1.5S", "-1.50 s"},
	{59949999999, "PT59.949999999S", "59.9 s"},
	{59950000000, "PT59.95S", "1 m 0 s"},
	{60000000000, "PT1M", "1 m 0 s"},
	{61000000001, "PT1M1.000000001S", "1 m 1 s"},
	{3599499999999, "PT59M59.499999999S", "59 m 59 s"},
	{3599500000000, "PT59M59.5S", "1 h 0 m"},
	{86400000000000, "PT24H", "1 d 0 h"},
	{-3700000000000, "PT-1H-1M-40S", "-1 h 2 m"},
	{INT64_MIN, "PT-2562047788015215H-30M-8S", "N/A"},
};

static void spans_of_time(void **state)
{
	char text[TIMES_ROOM];

	(void)state;
	for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++) {
		struct moment span = times_span(&chunk, spans[i].ns, TIME_NS);

		assert_int_equal(times_put_iso_span(text, span), strlen(spans[i].iso));
		assert_string_equal(text, spans[i].iso);
		times_put_span(text, span);
		assert_string_equal(text, spans[i].text);
	}
	times_put_iso_span(text, times_span(&chunk, INT64_MAX, TIME_MS));
	assert_string_equal(text, "PT2562047788015H12M55.807S");
	times_put_span(text, times_span(&chunk, INT64_MAX, TIME_MS));
	assert_string_equal(text, "106751991167 d 7 h");
	times_put_iso_span(text, times_span(&chunk, 2400, TIME_TICKS));
	assert_string_equal(text, "PT0.000001S");
}

static void iso(int64_t number, enum time_unit unit, int32_t offset_s, const char *expected)
{
	char text[TIMES_ROOM];

	times_put_iso_point(text, times_point(&chunk, number, unit), offset_s);
	assert_string_equal(text, expected);
}

static void points_in_time(void **state)
{
	char text[TIMES_ROOM];

	(void)state;
	iso(5000, TIME_TICKS, 0, "2023-11-14T22:13:20.123456789Z");
	iso(5000 + 24, TIME_TICKS, 5 * 3600 + 1800, "2023-11-15T03:43:20.123456799+05:30");
	iso(0, TIME_EPOCH_MS, 0, "1970-01-01T00:00Z");
	iso(0, TIME_EPOCH_MS, -3 * 3600 - 1800, "1969-12-31T20:30-03:30");
	iso(1, TIME_EPOCH_MS, 0, "1970-01-01T00:00:00.001Z");
	iso(-1, TIME_EPOCH_MS, 0, "1969-12-31T23:59:59.999Z");
	iso(60000, TIME_EPOCH_MS, 0, "1970-01-01T00:01Z");
	iso(1709210096789, TIME_EPOCH_MS, 0, "2024-02-29T12:34:56.789Z");
	iso(253402300800000, TIME_EPOCH_MS, 0, "+10000-01-01T00:00Z");
	iso(INT64_MAX, TIME_EPOCH_MS, 0, "+292278994-08-17T07:12:55.807Z");
	iso(-62198755200000, TIME_EPOCH_MS, 0, "-0001-01-01T00:00Z");
	iso(INT64_MIN, TIME_EPOCH_MS, 0, "-999999999-01-01T00:00+18:00");
	times_put_clock(text, times_point(&chunk, -1, TIME_EPOCH_MS), 3600);
	assert_string_equal(text, "00:59:59.999");
	times_put_clock(text, times_point(&chunk, INT64_MIN, TIME_TICKS), 0);
	assert_string_equal(text, "N/A");
}

static void amount(int64_t number, enum amount_unit unit, const char *expected)
{
	char text[TIMES_ROOM];

	times_put_amount(text, number, unit);
	assert_string_equal(text, expected);
}

static void amounts(void **state)
{
	(void)state;
	amount(0, AMOUNT_BYTES, "0 bytes");
	amount(1, AMOUNT_BYTES, "1 byte");
	amount(-1, AMOUNT_BITS, "-1 bit");
	amount(1023, AMOUNT_BYTES, "1023 bytes");
	amount(1024, AMOUNT_BYTES, "1.0 kB");
	amount(1280, AMOUNT_BYTES, "1.3 kB"); /* 1.25, halves up */
	amount(-5000, AMOUNT_BITS, "-4.9 kbit");
	amount(1, AMOUNT_BYTES_PER_S, "1 byte/s");
	amount(1536, AMOUNT_BYTES_PER_S, "1.5 kB/s");
	amount(1, AMOUNT_BITS_PER_S, "1 bps");
	amount(1073741824, AMOUNT_BITS_PER_S, "1.0 Gbps");
	amount(INT64_MAX, AMOUNT_BYTES, "8.0 EB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_of_time),
		cmocka_unit_test(points_in_time),
		cmocka_unit_test(amounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
