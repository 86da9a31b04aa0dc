/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a .jfc file, as a list of settings, and as the lines of a session.
 * What is taken comes out as lines that are taken again, and say the same.
 */
#include "base/event_settings.h"

#include <weft/jfr_settings.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const events[] = {"jdk.ThreadPark", "shop.Order", "a", "", "weft.LockWait"};
#define EVENT_COUNT (sizeof(events) / sizeof(events[0]))

static volatile size_t told;

static void tell(enum weft_jfr_settings_trouble trouble, const struct weft_jfr_setting *s,
		 void *arg)
{
	(void)arg;
	told += (size_t)trouble + strlen(s->glob) + strlen(s->name) + strlen(s->value);
}

/* Each value that is in force reads as it is written. */
static void check_values(const struct event_settings *s)
{
	char text[48];

	for (int i = 0; i < SETTING_COUNT; i++) {
		struct event_settings again = {0};
		size_t bytes = weft_setting_text(s, (enum event_setting)i, text, sizeof(text));

		if (bytes >= sizeof(text) || text[bytes] || strlen(text) != bytes)
			abort();
		if ((s->given >> i & 1) &&
		    weft_setting_put(&again, (enum event_setting)i, text, bytes) != 0)
			abort();
	}
}

static void apply(const char *lines, size_t bytes)
{
	for (size_t i = 0; i < EVENT_COUNT; i++) {
		struct event_settings s = {0};

		weft_settings_apply(&s, events[i], lines, bytes);
		check_values(&s);
		if (weft_settings_settle(&s, (int)i & 1) && s.select != SELECT_ALL)
			abort();
	}
}

static void check_list(struct weft_jfr_settings *s, int rc)
{
	const struct weft_jfr_setting *all;
	size_t count = weft_jfr_settings_all(s, &all);
	const char *lines = weft_jfr_settings_lines(s);

	if ((rc != 0) != (*weft_jfr_settings_error(s) != '\0'))
		abort();
	weft_jfr_settings_check(s, tell, NULL);
	for (size_t i = 0; i < count; i++)
		if (!*all[i].glob || !*all[i].name || strpbrk(all[i].value, "\r\n"))
			abort();
	if (lines)
		apply(lines, strlen(lines));
}

static void as_jfc(const uint8_t *data, size_t size)
{
	struct weft_jfr_settings *s = weft_jfr_settings_new(NULL);

	if (s)
		check_list(s, weft_jfr_settings_jfc(s, WEFT_JFR_FROM_FILE, "x", data, size));
	weft_jfr_settings_free(s);
}

static void as_string(const char *text, enum weft_jfr_source source)
{
	struct weft_jfr_settings *s = weft_jfr_settings_new("/nowhere");

	if (s)
		check_list(s, weft_jfr_settings_string(s, source, text));
	weft_jfr_settings_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *exact = malloc(size ? size : 1);

	if (text && exact) {
		memcpy(text, data, size);
		text[size] = '\0';
		memcpy(exact, data, size);
		as_jfc(data, size);
		as_string(text, WEFT_JFR_FROM_COMMAND_LINE);
		as_string(text, WEFT_JFR_FROM_SET);
		apply(exact, size); /* not a byte behind it */
	}
	free(text);
	free(exact);
	return 0;
}
