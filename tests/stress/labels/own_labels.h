/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread of the storm writes, so that anyone who sees it can tell whose it is and of
 * which write. A value is "THREAD.ROUND.xxx", with as many x as the round says; a context's span
 * is THREAD << 32 | ROUND and its root span one more.
 *
 *   b0 .. b3   a batch: one write, one round, with the context
 *   s0 .. s2   one by one
 *   n0 .. n6   one of them at a time: set, then removed
 */
#ifndef STRESS_OWN_LABELS_H
#define STRESS_OWN_LABELS_H

#include <stdint.h>
#include <string.h>
#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/session.h>

#define BATCH 4
#define SINGLES 3
#define NEW_KEYS 7
#define TAIL_MAX 200
#define VALUE_ROOM 256
#define SPAN_OF(thread, round) ((uint64_t)(thread) << 32 | (uint32_t)(round))

/* Async-signal-safe, all of it: the storm's handler uses it too. */
static inline size_t put_number(char *to, uint64_t n)
{
	char digits[20];
	size_t count = 0;

	do {
		digits[count++] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	for (size_t i = 0; i < count; i++)
		to[i] = digits[count - 1 - i];
	return count;
}

static inline size_t make_value(char *to, uint32_t thread, uint32_t round)
{
	size_t n = put_number(to, thread), tail = round * 7 % TAIL_MAX;

	to[n++] = '.';
	n += put_number(to + n, round);
	to[n++] = '.';
	memset(to + n, 'x', tail);
	to[n + tail] = '\0';
	return n + tail;
}

static inline int take_number(const unsigned char **at, const unsigned char *end, uint64_t *n)
{
	const unsigned char *from = *at;

	for (*n = 0; *at < end && **at >= '0' && **at <= '9'; ++*at)
		*n = *n * 10 + (uint64_t)(**at - '0');
	return *at > from;
}

/* Is it a value, whole? */
static inline int take_value(const unsigned char *at, uint64_t bytes, uint64_t *thread,
			     uint64_t *round)
{
	const unsigned char *end = at + bytes;

	if (!take_number(&at, end, thread) || at == end || *at++ != '.' ||
	    !take_number(&at, end, round) || at == end || *at++ != '.')
		return 0;
	if ((uint64_t)(end - at) != *round * 7 % TAIL_MAX)
		return 0;
	while (at < end)
		if (*at++ != 'x')
			return 0;
	return 1;
}

/* What was found in a set. */
struct seen {
	uint64_t thread, batch_round, span, root;
	unsigned int labels, in_batch;
	int has_thread, has_span, has_root;
	const char *wrong; /* NULL = nothing */
};

static inline int key_is(const struct weft_custom_labels_string *key, const char *text)
{
	return key->bytes == strlen(text) && !memcmp(key->buf, text, key->bytes);
}

static inline void look_at_label(struct seen *s, const struct weft_custom_labels_label *l)
{
	const unsigned char *at = l->value.buf;
	uint64_t thread, round;

	if (key_is(&l->key, WEFT_CUSTOM_LABELS_SPAN_KEY)) {
		s->has_span = take_number(&at, at + l->value.bytes, &s->span);
		return;
	}
	if (key_is(&l->key, WEFT_CUSTOM_LABELS_ROOT_KEY)) {
		s->has_root = take_number(&at, at + l->value.bytes, &s->root);
		return;
	}
	s->labels++;
	if (l->key.bytes != 2 || !take_value(at, l->value.bytes, &thread, &round)) {
		s->wrong = "a label that nobody has written";
		return;
	}
	if (s->has_thread && thread != s->thread)
		s->wrong = "labels of two threads";
	s->has_thread = 1;
	s->thread = thread;
	if (l->key.buf[0] != 'b')
		return;
	if (s->in_batch++ && round != s->batch_round)
		s->wrong = "a batch of two rounds";
	s->batch_round = round;
}

/* Strings and labels as they stand there; the caller knows that nobody changes them. */
static inline void look_at_set(struct seen *s, const struct weft_custom_labels_set *set)
{
	memset(s, 0, sizeof(*s));
	for (uint64_t i = 0; set && i < set->count; i++)
		if (set->storage[i].key.buf)
			look_at_label(s, &set->storage[i]);
	if (s->has_span != s->has_root || (s->has_span && s->root != s->span + 1))
		s->wrong = "span and root span of two contexts";
	if (s->in_batch && s->in_batch != BATCH)
		s->wrong = "half a batch";
}

#endif
