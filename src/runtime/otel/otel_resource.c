/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resource attributes of the process context, kept encoded: Resource's fields, one after the
 * other. First defaults, then OTEL_RESOURCE_ATTRIBUTES, then OTEL_SERVICE_NAME, then what the
 * program sets (weft_otel_resource): each replaces earlier values of the same key. Source: the
 * resource SDK and the environment variables of OpenTelemetry's specification; a variable with an
 * error in it is ignored as a whole.
 *
 * All of it runs with the bell held (otel_process.c).
 */
#include "runtime/otel/otel_private.h"

#include <stdlib.h>
#include <string.h>

#include <weft/publish.h>

#include "base/text/hex.h"
#include "runtime/core/copies.h"
#include "runtime/core/sys.h"

#define INSTANCE "service.instance.id"
#define SERVICE "service.name"
#define UNKNOWN "unknown_service"
#define KEY_BYTES 255

static WEFT_LARGE uint8_t encoded[OTEL_RESOURCE_BYTES];
static uint32_t used;
static int has_begun;
static uint32_t is_changing;
static int instance_is_ours; /* generated, so that a child needs another */

const uint8_t *weft_otel_resource_bytes(uint32_t *bytes)
{
	*bytes = used;
	return encoded;
}

/* ---- the fields: 0A n { 0A n key  12 n { 0A n value } } */

static uint32_t length_at(const uint8_t **at)
{
	uint64_t value = 0;

	leb128_read(at, encoded + used, &value); /* they are ours, and whole */
	return (uint32_t)value;
}

/* The encoded field of @key from *start to *end; 0 = there is none. */
static int otel_resource_find(const char *key, size_t key_bytes, uint8_t **start, uint8_t **end)
{
	const uint8_t *at = encoded, *last = encoded + used;

	while (at < last) {
		const uint8_t *in = at + 1, *next;
		uint32_t bytes = length_at(&in);

		next = in + bytes;
		in++;
		bytes = length_at(&in);
		if (bytes == key_bytes && !memcmp(in, key, bytes)) {
			*start = encoded + (at - encoded);
			*end = encoded + (next - encoded);
			return 1;
		}
		at = next;
	}
	return 0;
}

static void resource_remove(const char *key, size_t key_bytes)
{
	uint8_t *start, *end;

	if (!otel_resource_find(key, key_bytes, &start, &end))
		return;
	memmove(start, end, (size_t)(encoded + used - end));
	used -= (uint32_t)(end - start);
}

/* In the place of an older value, for there are readers that know attributes by their order. */
static int resource_set(const char *key, size_t key_bytes, const char *value, size_t bytes)
{
	uint32_t text = otel_field_bytes((uint32_t)bytes),
		 name = otel_field_bytes((uint32_t)key_bytes);
	uint32_t all = otel_field_bytes(name + otel_field_bytes(text)), old, behind;
	uint8_t *to, *start = encoded + used, *end = start;

	otel_resource_find(key, key_bytes, &start, &end);
	old = (uint32_t)(end - start);
	behind = (uint32_t)(encoded + used - end);
	if (all > sizeof(encoded) - used + old)
		return -ENOSPC;
	memmove(start + all, end, behind);
	to = otel_put_start(start, RESOURCE_ATTRIBUTES, name + otel_field_bytes(text));
	to = otel_put_bytes(to, KEY, key, (uint32_t)key_bytes);
	to = otel_put_start(to, VALUE, text);
	otel_put_bytes(to, TEXT, value, (uint32_t)bytes);
	used = used - old + all;
	return 0;
}

static void set_text(const char *key, const char *value)
{
	resource_set(key, strlen(key), value, strlen(value));
}

/* ---- defaults */

/* A random UUID, version 4 (RFC 9562). */
static void set_instance(void)
{
	uint8_t random[16] = {0};
	char text[37];
	int at = 0;

	if (sys_call3(SYS_getrandom, random, sizeof(random), 1 /* GRND_NONBLOCK */) !=
	    sizeof(random)) {
		uint64_t words[2] = {clock_monotonic_ns() * UINT64_C(0x9E3779B97F4A7C15),
				     (uint64_t)sys_getpid() << 32 |
					     (uint32_t)weft_layout.session_id};

		memcpy(random, words, sizeof(random));
	}
	random[6] = (uint8_t)((random[6] & 0x0F) | 0x40);
	random[8] = (uint8_t)((random[8] & 0x3F) | 0x80);
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		hex_put(text + at, &random[i], 1);
		at += 2;
	}
	text[at] = 0;
	set_text(INSTANCE, text);
	instance_is_ours = 1;
}

/* unknown_service:NAME, by the name of the executable file. */
static void set_service(void)
{
	char text[sizeof(UNKNOWN) + 256] = UNKNOWN, path[1024];
	long bytes = sys_call4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof(path) - 1);
	const char *name;
	size_t name_bytes;

	path[bytes > 0 ? bytes : 0] = 0;
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	name_bytes = strlen(name);
	if (name_bytes && name_bytes < 256 && weft_otel_is_utf8(name, name_bytes)) {
		text[sizeof(UNKNOWN) - 1] = ':';
		memcpy(text + sizeof(UNKNOWN), name, name_bytes + 1);
	}
	set_text(SERVICE, text);
}

/* ---- the environment */

/* Percent-decodes without surrounding blanks; returns the length, -1: an error, or no room. */
static int otel_resource_decode(const char *from, size_t bytes, char *to, size_t room)
{
	size_t n = 0;

	while (bytes && (*from == ' ' || *from == '\t'))
		from++, bytes--;
	while (bytes && (from[bytes - 1] == ' ' || from[bytes - 1] == '\t'))
		bytes--;
	for (size_t i = 0; i < bytes; i++) {
		char c = from[i];

		if (c == '%') {
			unsigned int high = i + 2 < bytes ? hex_digit(from[i + 1]) : UINT32_MAX;
			unsigned int low = i + 2 < bytes ? hex_digit(from[i + 2]) : UINT32_MAX;

			if (high > 15 || low > 15)
				return -1;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (n == room)
			return -1;
		to[n++] = c;
	}
	return weft_otel_is_utf8(to, n) ? (int)n : -1;
}

/* An empty service.name counts as none: every process has a name. */
static int is_service(const char *key, size_t bytes)
{
	return bytes == strlen(SERVICE) && !memcmp(key, SERVICE, bytes);
}

/* Parses `key=value`, and sets it if @really; 0: an error. Empty between two commas is allowed. */
static int otel_resource_read_pair(const char *pair, size_t bytes, int really)
{
	static WEFT_LARGE char value[OTEL_TEXT_BYTES];
	static char key[KEY_BYTES];
	size_t key_end = 0;
	int key_bytes, value_bytes;

	while (key_end < bytes && pair[key_end] != '=')
		key_end++;
	key_bytes = otel_resource_decode(pair, key_end, key, sizeof(key));
	if (key_end == bytes)
		return key_bytes == 0;
	value_bytes =
		otel_resource_decode(pair + key_end + 1, bytes - key_end - 1, value, sizeof(value));
	if (key_bytes <= 0 || value_bytes < 0)
		return 0;
	if (!really || (!value_bytes && is_service(key, (size_t)key_bytes)))
		return 1;
	if ((size_t)key_bytes == strlen(INSTANCE) && !memcmp(key, INSTANCE, (size_t)key_bytes))
		instance_is_ours = 0;
	return resource_set(key, (size_t)key_bytes, value, (size_t)value_bytes) == 0;
}

static int otel_resource_read_pairs(const char *text, int really)
{
	while (*text) {
		size_t bytes = strcspn(text, ",");

		if (!otel_resource_read_pair(text, bytes, really))
			return 0;
		text += bytes + (text[bytes] == ',');
	}
	return 1;
}

void weft_otel_resource_begin(void)
{
	const char *pairs = secure_getenv("OTEL_RESOURCE_ATTRIBUTES");
	const char *name = secure_getenv("OTEL_SERVICE_NAME");

	if (has_begun)
		return;
	has_begun = 1;
	/* The reference reader wants these seven, and refuses a payload that lacks one. */
	set_text("deployment.environment.name", "");
	set_instance();
	set_service();
	set_text("service.version", "");
	set_text("telemetry.sdk.language", "c");
	set_text("telemetry.sdk.version", "0.1.0");
	set_text("telemetry.sdk.name", "weft");
	if (pairs && otel_resource_read_pairs(pairs, 0))
		otel_resource_read_pairs(pairs, 1);
	if (name && *name && weft_otel_is_utf8(name, strlen(name)) &&
	    strlen(name) <= OTEL_TEXT_BYTES)
		set_text(SERVICE, name);
}

void weft_otel_resource_after_fork(void)
{
	uint32_t was_changing = __atomic_exchange_n(&is_changing, 0, __ATOMIC_RELAXED);

	if (was_changing) { /* by another thread of the parent */
		used = 0;
		has_begun = 0;
		weft_otel_resource_begin();
	} else if (instance_is_ours) {
		set_instance();
	}
}

/* ---- the program */

int weft_otel_resource_own(const char *key, const char *value)
{
	size_t key_bytes = key ? strnlen(key, KEY_BYTES + 1) : 0;
	size_t bytes = value ? strnlen(value, OTEL_TEXT_BYTES + 1) : 0;
	int failed = 0;

	if (!key_bytes || key_bytes > KEY_BYTES || bytes > OTEL_TEXT_BYTES ||
	    !weft_otel_is_utf8(key, key_bytes) || !weft_otel_is_utf8(value, bytes))
		return -EINVAL;
	weft_fork_check();
	if (weft_otel_process_publisher() == WEFT_PUBLISHER_ANOTHER)
		return -EBUSY;
	weft_otel_process_lock();
	weft_otel_resource_begin();
	store_release(&is_changing, 1);
	if (value)
		failed = resource_set(key, key_bytes, value, bytes);
	else
		resource_remove(key, key_bytes);
	store_release(&is_changing, 0);
	if (!failed && !strcmp(key, INSTANCE))
		instance_is_ours = 0;
	weft_otel_process_unlock(!failed);
	return failed;
}

int weft_otel_options_set(const char *root_key, const char *schema)
{
	struct otel_options *o = &weft_otel_chosen;
	size_t bytes = root_key ? strnlen(root_key, OTEL_KEY_BYTES + 1) : 0;

	if (bytes > OTEL_KEY_BYTES || !weft_otel_is_utf8(root_key, bytes))
		return -EINVAL;
	if (schema && strcmp(schema, WEFT_OTEL_SCHEMA_DEV) && strcmp(schema, WEFT_OTEL_SCHEMA_V1))
		return -EINVAL;
	if (root_key) {
		memcpy(o->root_key, root_key, bytes + 1);
		o->root_is_set = 1;
	}
	if (schema) {
		memcpy(o->schema, schema, strlen(schema) + 1);
		o->schema_is_set = 1;
	}
	return 0;
}

int weft_otel_options_own(const char *root_key, const char *schema)
{
	enum weft_publisher now = weft_otel_process_publisher();

	if (now == WEFT_PUBLISHER_WEFT || now == WEFT_PUBLISHER_ANOTHER)
		return -EBUSY;
	return weft_otel_options_set(root_key, schema);
}

WEFT_API int weft_otel_resource(const char *key, const char *value)
{
	const struct weft_runtime_v1 *master = weft_copies_master();

	return master ? master->otel_resource(key, value) : weft_otel_resource_own(key, value);
}

WEFT_API int weft_otel_options(const char *root_key, const char *schema)
{
	const struct weft_runtime_v1 *master = weft_copies_master();

	return master ? master->otel_options(root_key, schema)
		      : weft_otel_options_own(root_key, schema);
}
