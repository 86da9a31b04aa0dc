/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of a variable when its secrets are taken out: see environment.h. */
#include "collector/write/environment.h"

#include "base/buf.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const environment_words[] = {
	"PASS",    "PWD",    "SECRET",    "TOKEN",     "KEY",    "CREDENTIAL", "AUTH",
	"PRIVATE", "COOKIE", "SIGNATURE", "SESSIONID", "BEARER", "SALT",       NULL,
};

static int equal_letters(const char *a, const char *b, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (toupper((unsigned char)a[i]) != b[i])
			return 0;
	return 1;
}

static int has_word(const char *name, size_t bytes, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= bytes; i++)
		if (equal_letters(name + i, word, length))
			return 1;
	return 0;
}

static int environment_is_directory(const char *name, size_t bytes)
{
	return (bytes == 3 && memcmp(name, "PWD", 3) == 0) ||
	       (bytes == 6 && memcmp(name, "OLDPWD", 6) == 0);
}

/* Does the name of a variable, or of what is set within one, speak of a secret? */
static int environment_is_secret(const char *name, size_t bytes)
{
	if (environment_is_directory(name, bytes))
		return 0;
	for (const char *const *word = environment_words; *word; word++)
		if (has_word(name, bytes, *word))
			return 1;
	return 0;
}

/* A private key, or three parts of base64 of which the first is a JSON object. */
static int is_secret_itself(const char *value, size_t bytes)
{
	return memmem(value, bytes, "PRIVATE KEY-----", 16) != NULL ||
	       (bytes > 20 && memcmp(value, "eyJ", 3) == 0 && memchr(value, '.', bytes));
}

static int environment_is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Where the user info of a URL ends, whose "://" is at @value; NULL: it has none. A password may
 * hold an @ or a /: up to the last @ of the word. */
static const char *end_of_user(const char *value, const char *end)
{
	const char *at = NULL;

	for (const char *c = value + 3; c < end && !strchr(" \t\n\"'<>,;", *c); c++)
		if (*c == '@')
			at = c;
	return at;
}

/* Where what is set ends that begins at @value, which may stand in quotes. Behind a colon there may
 * be blanks in it: "Authorization: Bearer x". */
static const char *end_of_setting(const char *value, const char *end, int has_blanks)
{
	const char *stop = has_blanks ? "\n\"'&,;" : " \t\n\"'&,;";
	char quote = value < end && (*value == '"' || *value == '\'') ? *value : 0;

	if (quote) {
		const char *c = memchr(value + 1, quote, (size_t)(end - value - 1));

		return c ? c + 1 : end;
	}
	while (value < end && !strchr(stop, *value))
		value++;
	return value;
}

static void redact(struct buf *out)
{
	buf_put(out, ENVIRONMENT_REDACTED, sizeof(ENVIRONMENT_REDACTED) - 1);
}

/* Is something set at @at, in a value that ends at @end? A colon before a slash divides paths. */
static int environment_is_setting(const char *name, const char *at, const char *end)
{
	if (*at != '=' && (*at != ':' || (at + 1 < end && at[1] == '/')))
		return 0;
	return environment_is_secret(name, (size_t)(at - name));
}

/* Copies @value; @name: where the word that ends at the byte looked at begins. */
static void put_redacted(struct buf *out, const char *value, size_t bytes)
{
	const char *end = value + bytes, *name = value;

	for (const char *at = value; at < end;) {
		const char *next = at + 1, *user;

		if (end - at >= 3 && memcmp(at, "://", 3) == 0) {
			user = end_of_user(at, end);
			buf_put(out, at, 3);
			if (user)
				redact(out);
			name = at = user ? user : at + 3;
			continue;
		}
		if (environment_is_setting(name, at, end)) {
			int colon = *at == ':';

			next += colon && next < end && *next == ' ';
			buf_put(out, at, (size_t)(next - at));
			at = end_of_setting(next, end, colon);
			if (at > next)
				redact(out);
			name = at;
			continue;
		}
		if (!environment_is_name_byte(*at))
			name = next;
		buf_put(out, at, 1);
		at = next;
	}
}

char *environment_shown(const char *name, size_t name_bytes, const char *value, size_t bytes)
{
	int cut = bytes > ENVIRONMENT_VALUE_MAX;
	struct buf out = {0};

	if (bytes && (environment_is_secret(name, name_bytes) || is_secret_itself(value, bytes)))
		redact(&out);
	else
		put_redacted(&out, value, cut ? ENVIRONMENT_VALUE_MAX : bytes);
	if (cut && out.size > sizeof(ENVIRONMENT_REDACTED))
		buf_put(&out, "...", 3);
	buf_put_u8(&out, 0);
	if (!out.failed)
		return (char *)out.data;
	buf_free(&out);
	return NULL;
}

/* A name has no bytes that are no text: a program may have written over its environment. */
static size_t name_bytes_of(const char *entry, size_t bytes)
{
	size_t n = 0;

	while (n < bytes && entry[n] != '=' && (unsigned char)entry[n] > ' ' && entry[n] != 0x7F)
		n++;
	return n < bytes && entry[n] == '=' ? n : 0;
}

void environment_each(const char *text, size_t bytes,
		      void (*take)(void *arg, const char *name, size_t name_bytes,
				   const char *shown),
		      void *arg)
{
	const char *end = text + bytes;

	for (size_t count = 0; text < end && count < ENVIRONMENT_COUNT_MAX; count++) {
		size_t length = strnlen(text, (size_t)(end - text));
		size_t name = name_bytes_of(text, length);
		char *shown = NULL;

		if (name)
			shown = environment_shown(text, name, text + name + 1, length - name - 1);
		if (shown)
			take(arg, text, name, shown);
		free(shown);
		text += length + 1;
	}
}
