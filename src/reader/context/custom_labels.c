/* SPDX-License-Identifier: Apache-2.0 */
/* Label sets in another process: see custom_labels.h. */
#include "reader/context/custom_labels.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

#define STRINGS_AT_ONCE 256

/* ---- copying */

static uint64_t taken_bytes(const struct weft_custom_labels_string *s, uint64_t most)
{
	return s->bytes < most ? s->bytes : most;
}

static int is_there(const struct weft_custom_labels_label *l)
{
	return l->key.buf != NULL;
}

/* Cuts long texts, and drops the labels from the first on that finds no room. */
static void bound_texts(struct custom_labels_copy *c)
{
	uint64_t total = 0;

	for (uint64_t i = 0; i < c->count; i++) {
		struct weft_custom_labels_label *l = &c->label[i];
		uint64_t key, value;

		if (!is_there(l))
			continue;
		key = taken_bytes(&l->key, CUSTOM_LABELS_KEY);
		value = l->value.buf ? taken_bytes(&l->value, CUSTOM_LABELS_VALUE) : 0;
		if (key < l->key.bytes || value < l->value.bytes)
			c->is_cut = 1;
		l->key.bytes = key;
		l->value.bytes = value;
		if (total + key + value > sizeof(c->text)) {
			c->is_cut = 1;
			c->count = i;
			return;
		}
		total += key + value;
	}
}

struct strings {
	const struct target *target;
	struct iovec to[STRINGS_AT_ONCE], from[STRINGS_AT_ONCE];
	unsigned int count;
	size_t bytes;
};

static int custom_labels_read_strings(struct strings *s)
{
	ssize_t n = s->count ? target_readv(s->target, s->to, s->from, s->count) : 0;

	if (n >= 0 && (size_t)n != s->bytes)
		n = -EFAULT;
	s->count = 0;
	s->bytes = 0;
	return n < 0 ? (int)n : 0;
}

static int want_string(struct strings *s, struct custom_labels_copy *c,
		       const struct weft_custom_labels_string *string)
{
	if (!string->bytes)
		return 0;
	s->to[s->count] = (struct iovec){c->text + c->text_bytes, string->bytes};
	s->from[s->count] = (struct iovec){(void *)(uintptr_t)string->buf, string->bytes};
	s->count++;
	s->bytes += string->bytes;
	c->text_bytes += string->bytes;
	return s->count == STRINGS_AT_ONCE ? custom_labels_read_strings(s) : 0;
}

int custom_labels_copy_texts(const struct target *t, struct custom_labels_copy *c)
{
	struct strings s = {.target = t};
	int rc = 0;

	bound_texts(c);
	for (uint64_t i = 0; i < c->count && rc == 0; i++)
		if (is_there(&c->label[i])) {
			rc = want_string(&s, c, &c->label[i].key);
			if (rc == 0)
				rc = want_string(&s, c, &c->label[i].value);
		}
	return rc ? rc : custom_labels_read_strings(&s);
}

void custom_labels_empty(struct custom_labels_copy *c, uint64_t address)
{
	c->address = address;
	c->count = 0;
	c->is_cut = 0;
	c->text_bytes = 0;
}

int custom_labels_copy(const struct target *t, uint64_t address, struct custom_labels_copy *out)
{
	struct weft_custom_labels_set set;
	int rc;

	custom_labels_empty(out, address);
	if (!address)
		return 0;
	rc = target_read(t, address, &set, offsetof(struct weft_custom_labels_set, capacity));
	if (rc)
		return rc;
	out->count = set.count < CUSTOM_LABELS_READ ? set.count : CUSTOM_LABELS_READ;
	out->is_cut = set.count > out->count;
	if (out->count)
		rc = target_read(t, (uint64_t)(uintptr_t)set.storage, out->label,
				 out->count * sizeof(out->label[0]));
	if (rc == 0)
		rc = custom_labels_copy_texts(t, out);
	if (rc)
		out->count = 0;
	return rc;
}

uint64_t custom_labels_digest(const struct custom_labels_copy *c)
{
	uint64_t labels = hash_bytes(c->label, c->count * sizeof(c->label[0]), c->address);

	return hash_bytes(c->text, c->text_bytes, labels);
}

/* ---- telling */

static int is_id(const uint8_t *key, uint64_t bytes)
{
	return (bytes == strlen(WEFT_CUSTOM_LABELS_SPAN_KEY) &&
		memcmp(key, WEFT_CUSTOM_LABELS_SPAN_KEY, bytes) == 0) ||
	       (bytes == strlen(WEFT_CUSTOM_LABELS_ROOT_KEY) &&
		memcmp(key, WEFT_CUSTOM_LABELS_ROOT_KEY, bytes) == 0);
}

void custom_labels_put(const struct custom_labels_copy *c, int without_ids,
		       struct live_context *out)
{
	const uint8_t *at = c->text;

	if (c->is_cut)
		out->flags |= LIVE_CUT;
	for (uint64_t i = 0; i < c->count; i++) {
		const struct weft_custom_labels_label *l = &c->label[i];

		if (!is_there(l))
			continue;
		if (!without_ids || !is_id(at, l->key.bytes))
			live_add(out, at, l->key.bytes, at + l->key.bytes, l->value.bytes);
		at += l->key.bytes + l->value.bytes;
	}
}

void custom_labels_parse_ids(struct live_context *c)
{
	live_parse_id(c, WEFT_CUSTOM_LABELS_SPAN_KEY, 10, &c->span_id, LIVE_SPAN);
	live_parse_id(c, WEFT_CUSTOM_LABELS_ROOT_KEY, 10, &c->root_span_id, LIVE_ROOT);
}

static int copy_set(const struct target *t, uint64_t address, void *room, uint64_t *digest)
{
	int rc = custom_labels_copy(t, address, room);

	*digest = rc ? 0 : custom_labels_digest(room);
	return rc;
}

int custom_labels_read(struct settle *s, int32_t tid, uint64_t variable,
		       uint64_t (*seq_of)(void *arg, uint64_t set), void *arg,
		       struct custom_labels_copy *room, struct live_context *out)
{
	struct settle_pointer p = {variable, seq_of, arg, copy_set, room};
	int rc = settle_pointer(s, tid, &p);

	if (rc == -ENODATA)
		return rc;
	live_begin(out, LIVE_CUSTOM_LABELS);
	if (rc == -EAGAIN)
		out->flags |= LIVE_TORN;
	if (rc)
		return rc == -EAGAIN ? 0 : rc;
	if (!room->address)
		return -ENODATA;
	custom_labels_put(room, 0, out);
	custom_labels_parse_ids(out);
	return 0;
}
