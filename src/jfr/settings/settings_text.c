/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as they stand on a command line and in the environment, and files by their names. */
#include "jfr/settings/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- strings */

/* Does the text up to @end begin as a setting, GLOB#SETTING=? */
static int settings_text_is_setting(const char *at, const char *end)
{
	struct setting_line line;

	return weft_setting_split(at, (size_t)(end - at), &line) == 0;
}

static const char *comma_after(const char *at)
{
	return at + strcspn(at, ",");
}

/* The end of the setting at @at: a comma before the next one, or the text's end. */
static const char *setting_end(const char *at)
{
	const char *end = comma_after(at);

	while (*end && !settings_text_is_setting(end + 1, comma_after(end + 1)))
		end = comma_after(end + 1);
	return end;
}

static int gather_setting(struct weft_jfr_settings *s, struct setting_chain *to, const char *at,
			  const char *end, const struct weft_jfr_setting *where)
{
	int shown = end - at > 200 ? 200 : (int)(end - at);
	struct setting_line line;
	int err = weft_setting_split(at, (size_t)(end - at), &line);

	if (!err)
		err = settings_gather(to, line, where);
	if (err == -EINVAL)
		return settings_fail(s, err, "%.*s: not EVENT#SETTING=VALUE", shown, at);
	return err ? settings_fail(s, err, "out of memory") : 0;
}

static int source_is_sound(struct weft_jfr_settings *s, enum weft_jfr_source source)
{
	s->error[0] = '\0';
	return source >= WEFT_JFR_FROM_FILE && source <= WEFT_JFR_FROM_SET;
}

/* `weft set` is answered at once, so what has no sense is refused and not just warned of. */
static int refuse_senseless(struct weft_jfr_settings *s, const struct setting_entry *e)
{
	const struct weft_jfr_setting *said = &e->public;

	if (e->known < 0)
		return settings_fail(s, -EINVAL, "%.200s#%.100s: no such setting", said->glob,
				     said->name);
	if (e->wrong && e->known != SETTING_SELECT)
		return settings_fail(s, -EINVAL, "%.200s#%.100s: no value of it: %.100s",
				     said->glob, said->name, said->value);
	return 0;
}

int weft_jfr_settings_string(struct weft_jfr_settings *s, enum weft_jfr_source source,
			     const char *text)
{
	struct weft_jfr_setting where = {.source = source};
	struct setting_chain fresh = {NULL, NULL};

	if (!source_is_sound(s, source))
		return settings_fail(s, -EINVAL, "no such source");
	for (const char *at = text;; at++) {
		const char *end = setting_end(at);
		int err = gather_setting(s, &fresh, at, end, &where);

		if (!err && fresh.last && source == WEFT_JFR_FROM_SET)
			err = refuse_senseless(s, fresh.last);
		if (err) {
			settings_drop(&fresh);
			return err;
		}
		at = end;
		if (!*at)
			break;
	}
	settings_join(s, &fresh);
	return 0;
}

int weft_jfr_settings_list(struct weft_jfr_settings *s, enum weft_jfr_source source,
			   const char *text)
{
	char path[PATH_MAX];

	s->error[0] = '\0';
	while (text && *text) {
		const char *end = comma_after(text);
		size_t bytes = (size_t)(end - text);
		int err;

		if (settings_text_is_setting(text, end))
			return weft_jfr_settings_string(s, source, text);
		if (bytes >= sizeof(path))
			return settings_fail(s, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
		memcpy(path, text, bytes);
		path[bytes] = '\0';
		err = bytes ? weft_jfr_settings_file(s, source, path) : 0;
		if (err)
			return err;
		text = *end ? end + 1 : end;
	}
	return 0;
}

/* ---- files */

static int settings_text_read_some(int fd, char *to, size_t room, size_t *bytes)
{
	*bytes = 0;
	while (*bytes < room) {
		ssize_t n = read(fd, to + *bytes, room - *bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		*bytes += (size_t)n;
	}
	return -EFBIG;
}

static int settings_text_read_file(struct weft_jfr_settings *s, enum weft_jfr_source source,
				   const char *path, int fd)
{
	size_t bytes;
	char *text = malloc(LARGEST_JFC + 1);
	int err;

	if (!text)
		return settings_fail(s, -ENOMEM, "out of memory");
	err = settings_text_read_some(fd, text, LARGEST_JFC + 1, &bytes);
	if (err == -EFBIG)
		err = settings_fail(s, err, "%s: larger than 1 MiB: no settings", path);
	else if (err)
		err = settings_fail(s, err, "%s: %s", path, strerror(-err));
	else
		err = weft_jfr_settings_jfc(s, source, path, text, bytes);
	free(text);
	return err;
}

/* Opens the profile of this name, or else the file. */
static int open_settings(const struct weft_jfr_settings *s, const char *path, char *room,
			 size_t room_bytes, const char **opened)
{
	int fd = -1, length;

	if (s->directory && !strchr(path, '/')) {
		length = snprintf(room, room_bytes, "%s/%s.jfc", s->directory, path);
		if (length > 0 && (size_t)length < room_bytes)
			fd = open(room, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd >= 0 || errno != ENOENT) {
			*opened = room;
			return fd;
		}
	}
	*opened = path;
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

int weft_jfr_settings_file(struct weft_jfr_settings *s, enum weft_jfr_source source,
			   const char *path)
{
	char room[PATH_MAX];
	const char *opened = path;
	int fd, err;

	if (!source_is_sound(s, source))
		return settings_fail(s, -EINVAL, "no such source");
	fd = open_settings(s, path, room, sizeof(room), &opened);
	if (fd < 0) {
		err = -errno;
		return settings_fail(s, err, "%s: %s", opened, strerror(-err));
	}
	err = settings_text_read_file(s, source, opened, fd);
	close(fd);
	return err;
}
