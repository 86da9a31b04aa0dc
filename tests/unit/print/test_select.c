/* SPDX-License-Identifier: Apache-2.0 */
/* Description: globs match what they should; fast, where backtracking would take for ever. */
#include "base/event_settings.h"
#include "print/select.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int glob_matches(const char *glob, const char *text)
{
	return weft_setting_glob_whole(glob, strlen(glob), text);
}

static void globs(void **state)
{
	static const struct {
		const char *glob, *text;
		int matches;
	} cases[] = {
		{"", "", 1},
		{"", "a", 0},
		{"*", "", 1},
		{"*", "jdk.GC", 1},
		{"jdk.*", "jdk.GC", 1},
		{"jdk.*", "jdkGC", 0},
		{"jdk.GC", "jdk.GC", 1},
		{"jdk.GC", "jdk.GCx", 0},
		{"jdk.gc", "jdk.GC", 0},
		{"?", "", 0},
		{"a?c", "abc", 1},
		{"a?c", "ac", 0},
		{"*Sample", "ExecutionSample", 1},
		{"*Sample", "ExecutionSampler", 0},
		{"*a*b*", "xxaxxbxx", 1},
		{"*a*b*", "xxbxxaxx", 0},
		{"*ab", "aab", 1},
		{"**", "x", 1},
		{"a*?", "a", 0},
		{"a*?", "ab", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (glob_matches(cases[i].glob, cases[i].text) != cases[i].matches)
			fail_msg("'%s' and '%s'", cases[i].glob, cases[i].text);
}

/* What it means, without cleverness. */
static int matches_plainly(const char *glob, const char *text)
{
	if (!*glob)
		return !*text;
	if (*glob == '*')
		return matches_plainly(glob + 1, text) ||
		       (*text && matches_plainly(glob, text + 1));
	return *text && (*glob == '?' || *glob == *text) && matches_plainly(glob + 1, text + 1);
}

static void fill(char *out, size_t room, const char *letters, unsigned int *seed)
{
	size_t bytes = (size_t)rand_r(seed) % room;

	for (size_t i = 0; i < bytes; i++)
		out[i] = letters[(size_t)rand_r(seed) % strlen(letters)];
	out[bytes] = 0;
}

static void any_glob_as_defined(void **state)
{
	unsigned int seed = 1;
	char glob[8], text[10];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		fill(glob, sizeof(glob), "ab*?", &seed);
		fill(text, sizeof(text), "ab", &seed);
		if (glob_matches(glob, text) != matches_plainly(glob, text))
			fail_msg("'%s' and '%s'", glob, text);
	}
}

static void many_stars_are_no_trouble(void **state)
{
	char glob[401], text[20001];

	(void)state;
	for (size_t i = 0; i < 400; i += 2)
		memcpy(glob + i, "*a", 2);
	glob[399] = 'b';
	glob[400] = 0;
	memset(text, 'a', 20000);
	text[20000] = 0;
	assert_false(glob_matches(glob, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs),
		cmocka_unit_test(any_glob_as_defined),
		cmocka_unit_test(many_stars_are_no_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
