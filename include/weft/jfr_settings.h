/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file jfr_settings.h
 * Settings of event types, gathered from .jfc files, the environment and command lines.
 *
 *	struct weft_jfr_settings *s = weft_jfr_settings_new("/usr/share/weft");
 *	const char *set = getenv("WEFT_SETTINGS");
 *	rc = weft_jfr_settings_file(s, WEFT_JFR_FROM_FILE, "profile");
 *	if (!rc)
 *		rc = weft_jfr_settings_list(s, WEFT_JFR_FROM_ENVIRONMENT, set);
 *	if (!rc)
 *		rc = weft_jfr_settings_string(s, WEFT_JFR_FROM_COMMAND_LINE,
 *					      "jdk.ThreadPark#threshold=1 ms");
 *	if (rc)
 *		complain(weft_jfr_settings_error(s));
 *	lines = weft_jfr_settings_lines(s);
 *
 * A setting is for the event types whose names a glob matches (`*`, `?`; one without a dot
 * also matches the part of a name behind its last dot). Where several match, the one of the
 * highest source counts, and of one source the one that was added last; the sources, lowest first:
 *	the type's own < a .jfc file < WEFT_SETTINGS < command line < weft set
 * Settings, values, and the files' grammar: docs/settings.md.
 *
 * One list is used by one thread at a time; nothing here is safe in a signal handler. Functions
 * that return int give 0 or -errno, -EINVAL for an unknown source; a call that fails has added
 * nothing, except weft_jfr_settings_list(). What is given is copied. Pointers that are returned
 * are the list's, and valid until it is next changed or the same function is called again.
 */
#ifndef WEFT_JFR_SETTINGS_H
#define WEFT_JFR_SETTINGS_H

#include <weft/jfr.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_jfr_settings;

/** Where a setting comes from, from the lowest. */
enum weft_jfr_source {
	WEFT_JFR_FROM_FILE = 1,
	WEFT_JFR_FROM_ENVIRONMENT,
	WEFT_JFR_FROM_COMMAND_LINE,
	WEFT_JFR_FROM_SET,
};

struct weft_jfr_setting {
	const char *glob, *name, *value; /* "jdk.ThreadPark", "threshold", "20 ms" */
	enum weft_jfr_source source;
	const char *file;  /* that it was read from; NULL = none */
	unsigned int line; /* in that file, from 1; 0 = none */
};

/**
 * weft_jfr_settings_new() - an empty list. @directory: where profiles (NAME.jfc) are; NULL =
 * nowhere; copied. NULL with errno ENOMEM.
 */
WEFT_JFR_API struct weft_jfr_settings *weft_jfr_settings_new(const char *directory);
WEFT_JFR_API void weft_jfr_settings_free(struct weft_jfr_settings *s); /* takes NULL */

/**
 * weft_jfr_settings_file() - adds all settings of a .jfc file. @path: a file's, or the name of a
 * profile: `default`, `profile` or another NAME without `/` for which DIRECTORY/NAME.jfc is there.
 * -errno of opening and reading it; -EFBIG over 1 MiB; -EBADMSG: it is no .jfc (version 2);
 * -ENOTSUP: built without expat; -ENOMEM.
 */
WEFT_JFR_API int weft_jfr_settings_file(struct weft_jfr_settings *s, enum weft_jfr_source source,
					const char *path);

/** weft_jfr_settings_jfc() - the same for a .jfc in memory. @name: for messages. */
WEFT_JFR_API int weft_jfr_settings_jfc(struct weft_jfr_settings *s, enum weft_jfr_source source,
				       const char *name, const void *text, size_t bytes);

/**
 * weft_jfr_settings_string() - adds "GLOB#SETTING=VALUE[,GLOB#SETTING=VALUE]...". A comma that no
 * GLOB#SETTING= follows belongs to the value. -EINVAL: it is no such text, or, from
 * WEFT_JFR_FROM_SET, an unknown setting or a wrong value (of any setting but select); -ENOMEM.
 */
WEFT_JFR_API int weft_jfr_settings_string(struct weft_jfr_settings *s, enum weft_jfr_source source,
					  const char *text);

/**
 * weft_jfr_settings_list() - adds "[FILE|NAME,]...[GLOB#SETTING=VALUE,]...", as WEFT_SETTINGS has
 * it: files first. NULL and "" add nothing. Errors as weft_jfr_settings_file() and
 * weft_jfr_settings_string(), and -ENAMETOOLONG; files before the wrong element stay added.
 */
WEFT_JFR_API int weft_jfr_settings_list(struct weft_jfr_settings *s, enum weft_jfr_source source,
					const char *text);

/** Why the last call that adds failed: "my.jfc:12: mismatched tag"; "" when it did not. */
WEFT_JFR_API const char *weft_jfr_settings_error(const struct weft_jfr_settings *s);

/** All settings but those replaced by one of the same source, glob and name; weakest first, unknown
 * ones too. Their number; 0 and *@out NULL: no memory. */
WEFT_JFR_API size_t weft_jfr_settings_all(struct weft_jfr_settings *s,
					  const struct weft_jfr_setting **out);

/**
 * weft_jfr_settings_lines() - the same as lines "GLOB#SETTING=VALUE\n", ended by NUL, without
 * unknown settings and wrong values; but a wrong `select` is there as it was written, for it acts
 * as `all`. NULL with errno ENOMEM.
 */
WEFT_JFR_API const char *weft_jfr_settings_lines(struct weft_jfr_settings *s);

enum weft_jfr_settings_trouble {
	WEFT_JFR_SETTING_UNKNOWN, /* no such setting: told once for each name; not in the lines */
	WEFT_JFR_SETTING_WRONG,   /* a value that it cannot have: not in the lines, unless select */
};

/**
 * weft_jfr_settings_check() - calls @tell for every setting with a trouble of which no earlier call
 * has told. Returns how many it told. @setting is valid during the call.
 */
WEFT_JFR_API size_t weft_jfr_settings_check(struct weft_jfr_settings *s,
					    void (*tell)(enum weft_jfr_settings_trouble trouble,
							 const struct weft_jfr_setting *setting,
							 void *arg),
					    void *arg);

/** weft_jfr_setting_applies() - does the glob match the type of this name? 1 or 0. */
WEFT_JFR_API int weft_jfr_setting_applies(const char *glob, const char *event);

#ifdef __cplusplus
}
#endif
#endif
