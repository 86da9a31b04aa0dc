/* SPDX-License-Identifier: Apache-2.0 */
/* Live contexts: see live.h. */
#include "reader/target/live.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void live_begin(struct live_context *c, enum live_abi abi)
{
	struct live_context fresh = {
		.abi = abi, .attribute = c->attribute, .room = c->room, .text = c->text};

	buf_clear(&fresh.text);
	*c = fresh;
}

void live_free(struct live_context *c)
{
	free(c->attribute);
	buf_free(&c->text);
	*c = (struct live_context){0};
}

static size_t live_put_text(struct live_context *c, const void *text, size_t bytes)
{
	size_t at = c->text.size;

	if (bytes)
		buf_put(&c->text, text, bytes);
	if (c->text.failed)
		c->flags |= LIVE_NO_MEMORY;
	return at;
}

static void live_append(struct live_context *c, const void *key, size_t key_bytes,
			const void *value, size_t value_bytes)
{
	struct live_attribute a = {.key_bytes = key_bytes, .value_bytes = value_bytes}, *grown;

	if (c->count == LIVE_ATTRIBUTES) {
		c->flags |= LIVE_CUT;
		return;
	}
	grown = array_grown(c->attribute, c->count + 1, &c->room, sizeof(*grown));
	a.key_at = live_put_text(c, key, key_bytes);
	a.value_at = live_put_text(c, value, value_bytes);
	if (!grown)
		c->flags |= LIVE_NO_MEMORY;
	else
		c->attribute = grown;
	if (!(c->flags & LIVE_NO_MEMORY))
		c->attribute[c->count++] = a;
}

const struct live_attribute *live_find(const struct live_context *c, const void *key,
				       size_t key_bytes)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->attribute[i].key_bytes == key_bytes &&
		    (!key_bytes || !memcmp(live_text(c, c->attribute[i].key_at), key, key_bytes)))
			return &c->attribute[i];
	return NULL;
}

void live_add(struct live_context *c, const void *key, size_t key_bytes, const void *value,
	      size_t value_bytes)
{
	if (!live_find(c, key, key_bytes))
		live_append(c, key, key_bytes, value, value_bytes);
}

void live_put(struct live_context *c, const void *key, size_t key_bytes, const void *value,
	      size_t value_bytes)
{
	const struct live_attribute *old = live_find(c, key, key_bytes);
	size_t at;

	if (!old) {
		live_append(c, key, key_bytes, value, value_bytes);
		return;
	}
	at = live_put_text(c, value, value_bytes);
	c->attribute[old - c->attribute].value_at = at;
	c->attribute[old - c->attribute].value_bytes = value_bytes;
}

int live_is_empty(const struct live_context *c)
{
	return c->count == 0 && !(c->flags & (LIVE_TORN | LIVE_UNREADABLE | LIVE_CUT | LIVE_TRACE |
					      LIVE_SPAN | LIVE_ROOT));
}

static unsigned int digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : UINT32_MAX;
}

int live_number(const char *text, size_t bytes, unsigned int base, uint64_t *out)
{
	uint64_t value = 0;

	if (bytes == 0)
		return -EINVAL;
	for (size_t i = 0; i < bytes; i++)
		if (digit(text[i]) >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit(text[i]), &value))
			return -EINVAL;
	*out = value;
	return 0;
}

void live_parse_id(struct live_context *c, const char *key, unsigned int base, uint64_t *id,
		   enum live_flag flag)
{
	const struct live_attribute *a = live_find(c, key, strlen(key));

	if (a && live_number(live_text(c, a->value_at), a->value_bytes, base, id) == 0 && *id)
		c->flags |= flag;
}
