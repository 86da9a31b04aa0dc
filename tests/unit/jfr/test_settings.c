/* SPDX-License-Identifier: Apache-2.0 */
/* Description: settings gathered from strings, .jfc files and lists, by precedence. */
#include <weft/jfr_settings.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration version=\"2.0\">\n"

static struct weft_jfr_settings *new_list(const char *directory)
{
	struct weft_jfr_settings *s = weft_jfr_settings_new(directory);

	assert_non_null(s);
	return s;
}

static void lines_are(struct weft_jfr_settings *s, const char *expected)
{
	const char *lines = weft_jfr_settings_lines(s);

	assert_non_null(lines);
	assert_string_equal(lines, expected);
}

static int jfc(struct weft_jfr_settings *s, const char *text)
{
	return weft_jfr_settings_jfc(s, WEFT_JFR_FROM_FILE, "x.jfc", text, strlen(text));
}

static void count_trouble(enum weft_jfr_settings_trouble trouble,
			  const struct weft_jfr_setting *setting, void *arg)
{
	(void)setting;
	((int *)arg)[trouble]++;
}

static void strings(void **state)
{
	static const struct {
		const char *text, *lines;
	} good[] = {
		{"a.B#enabled=true", "a.B#enabled=true\n"},
		{"a.B#enabled=true,a.C#threshold=20 ms", "a.B#enabled=true\na.C#threshold=20 ms\n"},
		{"  a.B # enabled = true ", "a.B#enabled=true\n"},
		{"*#THRESHOLD=Infinity", "*#THRESHOLD=Infinity\n"},
		{"a#filter=x::y,z;@w=1,b#select=all", "b#select=all\n"},
		{"a#throttle=100/s", "a#throttle=100/s\n"},
		{"a#threshold=1 ms,a#threshold=2 ms", "a#threshold=2 ms\n"},
		{"a#threshold=1 ms,a#Threshold=2 ms", "a#Threshold=2 ms\n"},
		{"a#threshold=1 ms,b#threshold=2 ms", "a#threshold=1 ms\nb#threshold=2 ms\n"},
		{"a#threshold=1 ms,a#threshold=bad", "a#threshold=1 ms\n"},
		{"a#select=if-context,a#select=bad", "a#select=bad\n"},
		{"a#enabled=true\t", "a#enabled=true\n"},
	};
	static const char *const bad[] = {
		"",       "a",     "a#b",      "#enabled=true", "a#=true",           "a.B=true",
		",a#b=c", "a=b#c", "a\nx#b=c", "a#b\nd=c",      "enabled=true,a#b=c"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct weft_jfr_settings *s = new_list(NULL);

		assert_int_equal(
			weft_jfr_settings_string(s, WEFT_JFR_FROM_COMMAND_LINE, good[i].text), 0);
		assert_string_equal(weft_jfr_settings_error(s), "");
		lines_are(s, good[i].lines);
		weft_jfr_settings_free(s);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct weft_jfr_settings *s = new_list(NULL);
		int err = weft_jfr_settings_string(s, WEFT_JFR_FROM_COMMAND_LINE, bad[i]);

		if (err != -EINVAL)
			fail_msg("\"%s\": %d", bad[i], err);
		assert_non_null(strstr(weft_jfr_settings_error(s), "not EVENT#SETTING=VALUE"));
		lines_are(s, "");
		weft_jfr_settings_free(s);
	}
}

static void a_value_has_its_commas(void **state)
{
	struct weft_jfr_settings *s = new_list(NULL);
	const struct weft_jfr_setting *all;

	(void)state;
	assert_int_equal(weft_jfr_settings_string(s, WEFT_JFR_FROM_SET + 1, "a#b=c"), -EINVAL);
	assert_int_equal(weft_jfr_settings_string(s, WEFT_JFR_FROM_COMMAND_LINE,
						  "a#filter=x,y,,b#enabled=true,"),
			 0);
	assert_int_equal(weft_jfr_settings_all(s, &all), 2);
	assert_string_equal(all[0].glob, "a");
	assert_string_equal(all[0].name, "filter");
	assert_string_equal(all[0].value, "x,y,");
	assert_string_equal(all[1].value, "true,");
	assert_int_equal(all[0].source, WEFT_JFR_FROM_COMMAND_LINE);
	assert_null(all[0].file);
	weft_jfr_settings_free(s);
}

static void sources_in_order(void **state)
{
	struct weft_jfr_settings *s = new_list(NULL);

	(void)state;
	assert_int_equal(weft_jfr_settings_string(s, WEFT_JFR_FROM_SET, "a#threshold=4 s"), 0);
	assert_int_equal(weft_jfr_settings_string(s, WEFT_JFR_FROM_COMMAND_LINE, "a#threshold=3 s"),
			 0);
	assert_int_equal(weft_jfr_settings_list(s, WEFT_JFR_FROM_ENVIRONMENT, "a#threshold=2 s"),
			 0);
	assert_int_equal(jfc(s, HEAD "<event name='a'><setting name='threshold'>1 s</setting>"
				     "</event></configuration>"),
			 0);
	lines_are(s, "a#threshold=1 s\na#threshold=2 s\na#threshold=3 s\na#threshold=4 s\n");
	/* a later one of the same source stands last */
	assert_int_equal(weft_jfr_settings_string(s, WEFT_JFR_FROM_SET, "*#threshold=5 s"), 0);
	assert_int_equal(weft_jfr_settings_string(s, WEFT_JFR_FROM_SET, "a#threshold=6 s"), 0);
	lines_are(s, "a#threshold=1 s\na#threshold=2 s\na#threshold=3 s\n*#threshold=5 s\n"
		     "a#threshold=6 s\n");
	assert_int_equal(weft_jfr_settings_list(s, WEFT_JFR_FROM_ENVIRONMENT, NULL), 0);
	assert_int_equal(weft_jfr_settings_list(s, WEFT_JFR_FROM_ENVIRONMENT, ""), 0);
	weft_jfr_settings_free(s);
}

static void set_is_strict_and_stays_short(void **state)
{
	struct weft_jfr_settings *s = new_list(NULL);
	const struct weft_jfr_setting *all;
	char text[64];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "a#threshold=%d ms,b#select=%d", i, i);
		assert_int_equal(weft_jfr_settings_string(s, WEFT_JFR_FROM_SET, text), 0);
	}
	assert_int_equal(weft_jfr_settings_all(s, &all), 2);
	lines_are(s, "a#threshold=999 ms\nb#select=999\n");
	assert_int_equal(
		weft_jfr_settings_string(s, WEFT_JFR_FROM_SET, "a#threshold=1 s,a#cutoff=1 ms"),
		-EINVAL);
	assert_string_equal(weft_jfr_settings_error(s), "a#cutoff: no such setting");
	assert_int_equal(weft_jfr_settings_string(s, WEFT_JFR_FROM_SET, "a#threshold=1 x"),
			 -EINVAL);
	assert_string_equal(weft_jfr_settings_error(s), "a#threshold: no value of it: 1 x");
	lines_are(s, "a#threshold=999 ms\nb#select=999\n");
	weft_jfr_settings_free(s);
}

static void troubles_are_told_once(void **state)
{
	struct weft_jfr_settings *s = new_list(NULL);
	int told[2] = {0, 0};

	(void)state;
	assert_int_equal(weft_jfr_settings_string(s, WEFT_JFR_FROM_COMMAND_LINE,
						  "a#cutoff=1,b#cutoff=2,a#level=3,a#enabled=yes,"
						  "b#select=no,b#enabled=true"),
			 0);
	assert_int_equal(weft_jfr_settings_check(s, count_trouble, told), 4);
	assert_int_equal(told[WEFT_JFR_SETTING_UNKNOWN], 2);
	assert_int_equal(told[WEFT_JFR_SETTING_WRONG], 2);
	assert_int_equal(weft_jfr_settings_check(s, count_trouble, told), 0);
	assert_int_equal(weft_jfr_settings_string(s, WEFT_JFR_FROM_COMMAND_LINE, "c#cutoff=1"), 0);
	assert_int_equal(weft_jfr_settings_check(s, count_trouble, told), 0);
	lines_are(s, "b#select=no\nb#enabled=true\n");
	weft_jfr_settings_free(s);
}

static void files_are_read(void **state)
{
	struct weft_jfr_settings *s = new_list(NULL);
	const struct weft_jfr_setting *all;

	(void)state;
	assert_int_equal(jfc(s, HEAD
			     "<!-- a <setting> -->\n"
			     "<producer><category label='x'>\n"
			     "<Event NAME='jdk.A' label='A'>\n"
			     "  <setting name='threshold' control='c'>\n\t20 ms\n</setting>\n"
			     "  <Setting name='x&lt;&#65;'>a &amp; b<![CDATA[<c>]]></Setting>\n"
			     "  <note>no <b>value</b></note>\n"
			     "</Event></category></producer>\n"
			     "<control><text name='t'><event><setting/></event></text></control>"
			     "<event name='jdk.B'><setting name='enabled'>true<i>x</i></setting>"
			     "</event>\n"
			     "</configuration>\n"),
			 0);
	assert_int_equal(weft_jfr_settings_all(s, &all), 3);
	assert_string_equal(all[0].glob, "jdk.A");
	assert_string_equal(all[0].value, "20 ms");
	assert_string_equal(all[0].file, "x.jfc");
	assert_int_equal(all[0].line, 6);
	assert_string_equal(all[1].name, "x<A");
	assert_string_equal(all[1].value, "a & b<c>");
	assert_int_equal(all[1].line, 9);
	assert_string_equal(all[2].value, "true");
	lines_are(s, "jdk.A#threshold=20 ms\njdk.B#enabled=true\n");
	weft_jfr_settings_free(s);
}

/* What is read for hours keeps one name for a file; an empty list is not the same as no memory. */
static void a_file_is_read_again(void **state)
{
	struct weft_jfr_settings *s = new_list(NULL);
	const struct weft_jfr_setting *all;
	const char *name;

	(void)state;
	assert_int_equal(weft_jfr_settings_all(s, &all), 0);
	assert_non_null(all);
	assert_int_equal(jfc(s, HEAD "<event name='a'><setting name='enabled'>true</setting>"
				     "</event></configuration>"),
			 0);
	assert_int_equal(weft_jfr_settings_all(s, &all), 1);
	name = all[0].file;
	assert_int_equal(jfc(s, HEAD "<event name='a'><setting name='enabled'>false</setting>"
				     "</event></configuration>"),
			 0);
	assert_int_equal(weft_jfr_settings_all(s, &all), 1);
	assert_string_equal(all[0].value, "false");
	assert_ptr_equal(all[0].file, name);
	weft_jfr_settings_free(s);
}

static void bad_files_say_where(void **state)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{"", "x.jfc:1: no element found"},
		{"no xml", "x.jfc:1: syntax error"},
		{"<config version='2.0'/>", "x.jfc:1: not a <configuration>"},
		{"<configuration/>", "x.jfc:1: not a configuration of version 2"},
		{"<configuration version='1.0'/>", "x.jfc:1: not a configuration of version 2"},
		{HEAD "<event name='a'>\n</configuration>", "x.jfc:4: mismatched tag"},
		{HEAD "<event name='a'>", "x.jfc:3: no element found"},
		{HEAD "\n<event/></configuration>", "x.jfc:4: <event> without a name"},
		{HEAD "<event name=''/></configuration>", "x.jfc:3: <event> without a name"},
		{HEAD "<setting name='a'>1</setting></configuration>",
		 "x.jfc:3: <setting> that is in no <event>"},
		{HEAD "<event name='a'><setting>1</setting></event></configuration>",
		 "x.jfc:3: <setting> without a name"},
		{HEAD "<event name='a'><event name='b'/></event></configuration>",
		 "x.jfc:3: <event> within <event>"},
		{HEAD "<event name='a'><setting name='b'><setting name='c'/></setting></event>"
		      "</configuration>",
		 "x.jfc:3: <setting> that is in no <event>"},
		{HEAD "<event name='a#b'><setting name='enabled'>true</setting></event>"
		      "</configuration>",
		 "x.jfc:3: a name that no event or setting can have"},
		{HEAD "&unknown;</configuration>", "x.jfc:3: undefined entity"},
		{"<?xml version='1.0'?>\n<!DOCTYPE c [<!ENTITY a 'b'>]>\n<configuration/>",
		 "x.jfc:2: a document type does not belong in settings"},
		{"<?xml version='1.0'?>\n<!DOCTYPE c SYSTEM "
		 "'file:///etc/passwd'>\n<configuration/>",
		 "x.jfc:2: a document type does not belong in settings"},
		{HEAD "\xff</configuration>", "x.jfc:3: not well-formed (invalid token)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct weft_jfr_settings *s = new_list(NULL);

		assert_int_equal(jfc(s, bad[i].text), -EBADMSG);
		assert_string_equal(weft_jfr_settings_error(s), bad[i].error);
		lines_are(s, "");
		weft_jfr_settings_free(s);
	}
}

static void a_bad_file_adds_nothing(void **state)
{
	struct weft_jfr_settings *s = new_list(NULL);
	char *large = malloc((size_t)1 << 21);

	(void)state;
	assert_non_null(large);
	memset(large, ' ', (size_t)1 << 21);
	assert_int_equal(weft_jfr_settings_jfc(s, WEFT_JFR_FROM_FILE, "l", large, (size_t)1 << 21),
			 -EFBIG);
	free(large);
	assert_int_equal(jfc(s, HEAD "<event name='a'><setting name='enabled'>true</setting>"
				     "</event></configuratio>"),
			 -EBADMSG);
	lines_are(s, "");
	weft_jfr_settings_free(s);
}

static void put_file(const char *directory, const char *name, const char *threshold)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f,
		HEAD "<event name='a'><setting name='threshold'>%s</setting></event>"
		     "</configuration>",
		threshold);
	assert_int_equal(fclose(f), 0);
}

static void profiles_and_lists(void **state)
{
	char directory[] = "/tmp/weft-settings-XXXXXX", path[512], list[1200];
	struct weft_jfr_settings *s;

	(void)state;
	assert_non_null(mkdtemp(directory));
	put_file(directory, "one.jfc", "1 s");
	put_file(directory, "two", "2 s");
	snprintf(path, sizeof(path), "%s/two", directory);
	s = new_list(directory);
	assert_int_equal(weft_jfr_settings_file(s, WEFT_JFR_FROM_FILE, "one"), 0);
	lines_are(s, "a#threshold=1 s\n");
	assert_int_equal(weft_jfr_settings_file(s, WEFT_JFR_FROM_FILE, path), 0);
	lines_are(s, "a#threshold=2 s\n");
	assert_int_equal(weft_jfr_settings_file(s, WEFT_JFR_FROM_FILE, "three"), -ENOENT);
	assert_string_equal(weft_jfr_settings_error(s), "three: No such file or directory");
	assert_int_equal(weft_jfr_settings_file(s, WEFT_JFR_FROM_FILE, directory), -EISDIR);
	snprintf(list, sizeof(list), "%s,one,,b#threshold=3 s,c#filter=one,two", path);
	assert_int_equal(weft_jfr_settings_list(s, WEFT_JFR_FROM_ENVIRONMENT, list), 0);
	lines_are(s, "a#threshold=2 s\na#threshold=1 s\nb#threshold=3 s\n");
	assert_int_equal(weft_jfr_settings_list(s, WEFT_JFR_FROM_ENVIRONMENT, "none"), -ENOENT);
	weft_jfr_settings_free(s);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/one.jfc", directory);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
}

static void globs(void **state)
{
	(void)state;
	assert_int_equal(weft_jfr_setting_applies("jdk.*", "jdk.ThreadPark"), 1);
	assert_int_equal(weft_jfr_setting_applies("Thread?ark", "jdk.ThreadPark"), 1);
	assert_int_equal(weft_jfr_setting_applies("weft.*", "jdk.ThreadPark"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings),
		cmocka_unit_test(a_value_has_its_commas),
		cmocka_unit_test(set_is_strict_and_stays_short),
		cmocka_unit_test(troubles_are_told_once),
#ifdef HAVE_EXPAT
		cmocka_unit_test(sources_in_order),
		cmocka_unit_test(files_are_read),
		cmocka_unit_test(a_file_is_read_again),
		cmocka_unit_test(bad_files_say_where),
		cmocka_unit_test(a_bad_file_adds_nothing),
		cmocka_unit_test(profiles_and_lists),
#endif
		cmocka_unit_test(globs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
