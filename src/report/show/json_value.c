/* SPDX-License-Identifier: Apache-2.0 */
#include "report/show/json_value.h"

#include "base/text/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

json_t *json_number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *json_bytes(const char *text, size_t bytes)
{
	json_t *value = json_stringn(text, bytes);
	char *wide, *to;

	if (value)
		return value;
	to = wide = malloc(2 * bytes + 1);
	for (size_t i = 0; wide && i < bytes; i++)
		to = utf8_put(to, (unsigned char)text[i]);
	value = wide ? json_stringn(wide, (size_t)(to - wide)) : NULL;
	free(wide);
	return value;
}

json_t *json_text(const char *s)
{
	return s ? json_bytes(s, strlen(s)) : json_null();
}

json_t *json_named(const json_t *o, const char *name)
{
	json_t *key = json_text(name);
	json_t *value = key ? json_object_get(o, json_string_value(key)) : NULL;

	json_decref(key);
	return value;
}

int json_set_named(json_t *o, const char *name, json_t *value)
{
	json_t *key = json_text(name);
	int rc = -1;

	if (key)
		rc = json_object_set(o, json_string_value(key), value);
	json_decref(key);
	json_decref(value);
	return rc;
}

int json_emit(json_t *value, FILE *out, size_t flags)
{
	int failed;

	if (!value)
		return -ENOMEM;
	if (isatty(fileno(out))) /* nothing of a name is a command to a terminal */
		flags |= JSON_ENSURE_ASCII;
	errno = 0;
	failed = json_dumpf(value, out, flags) || fputc('\n', out) == EOF;
	json_decref(value);
	return failed ? -(errno ? errno : EIO) : 0;
}
