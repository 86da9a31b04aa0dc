/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, times, rates and counts: what they mean, and what is refused. */
#include "base/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define UNTOUCHED UINT64_C(0x5A5A5A5A)

typedef int read_quantity(const char *text, uint64_t *out);

struct good {
	const char *text;
	uint64_t value;
};

static void expect_good(read_quantity *read, const struct good *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = UNTOUCHED;

		if (read(cases[i].text, &value) || value != cases[i].value)
			fail_msg("'%s': %" PRIu64 ", expected %" PRIu64, cases[i].text, value,
				 cases[i].value);
	}
}

static void expect_bad(read_quantity *read, int err, const char *const *texts)
{
	for (; *texts; texts++) {
		uint64_t value = UNTOUCHED;
		int got = read(*texts, &value);

		if (got != err || value != UNTOUCHED)
			fail_msg("'%s': %d and %" PRIu64 ", expected %d", *texts, got, value, err);
	}
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void counts(void **state)
{
	static const struct good good[] = {
		{"0", 0}, {"12", 12}, {"007", 7}, {"18446744073709551615", UINT64_MAX}};
	static const char *const bad[] = {"",     " 1", "1 ",  "-1",  "+1", "1.5",
					  "0x10", "1k", "one", "1e3", NULL};
	static const char *const large[] = {"18446744073709551616", "99999999999999999999", NULL};

	(void)state;
	expect_good(quantity_count, good, COUNT_OF(good));
	expect_bad(quantity_count, -EINVAL, bad);
	expect_bad(quantity_count, -ERANGE, large);
}

static void sizes(void **state)
{
	static const struct good good[] = {
		{"4096", 4096},    {"256K", 262144},
		{"16M", 16777216}, {"1.5G", 1610612736},
		{"2KiB", 2048},    {"1T", UINT64_C(1) << 40},
		{"0.5K", 512},     {"16777215T", UINT64_C(16777215) << 40}};
	static const char *const bad[] = {"",    "M",     "16 M", "16MB!", "1.M",
					  ".5M", "1..5M", "5s",   NULL};
	static const char *const large[] = {"16777216T", "18446744073709551615K", NULL};

	(void)state;
	expect_good(quantity_bytes, good, COUNT_OF(good));
	expect_bad(quantity_bytes, -EINVAL, bad);
	expect_bad(quantity_bytes, -ERANGE, large);
}

static void times(void **state)
{
	static const struct good good[] = {{"10s", UINT64_C(10000000000)},
					   {"10", UINT64_C(10000000000)},
					   {"5ms", 5000000},
					   {"250us", 250000},
					   {"7ns", 7},
					   {"1m", UINT64_C(60000000000)},
					   {"1.5h", UINT64_C(5400000000000)},
					   {"0.001s", 1000000},
					   {"0.1234567891s", 123456789}};
	static const char *const bad[] = {"", "s", "1 s", "5M", "ms", "-1s", "1,5s", "1d", NULL};
	static const char *const large[] = {"6000000h", NULL};

	(void)state;
	expect_good(quantity_time_ns, good, COUNT_OF(good));
	expect_bad(quantity_time_ns, -EINVAL, bad);
	expect_bad(quantity_time_ns, -ERANGE, large);
}

static void rates(void **state)
{
	static const struct good good[] = {{"199", 199000},
					   {"199Hz", 199000},
					   {"1k", 1000000},
					   {"1.5kHz", 1500000},
					   {"0.5", 500}};
	static const char *const bad[] = {"", "Hz", "1M", "1/s", NULL};

	(void)state;
	expect_good(quantity_rate_mhz, good, COUNT_OF(good));
	expect_bad(quantity_rate_mhz, -EINVAL, bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
		cmocka_unit_test(sizes),
		cmocka_unit_test(times),
		cmocka_unit_test(rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
