/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key map: which index stands for which key in all threads' attributes.
 *
 * Writers: any thread, outside handlers. A key is written into memory of its own, and then stored
 * into the first free place of `keys` by compare-and-swap: so the array has no holes, and an index
 * never changes. If two threads append the same key, the loser finds the winner's: it checks every
 * place, those below its count after it has counted, the others as it tries them. Readers look into
 * a hash first, which is only a hint (it is filled after the array), and then go through the array.
 * Progress: lock-free; a loser tries the next place, at most 256 times. If a thread dies or is
 * abandoned halfway, a piece of the arena is lost, nothing else. A forked child inherits all of it.
 */
#include "runtime/otel/otel_private.h"

#include <errno.h>
#include <string.h>

#include "base/text/utf8.h"

#define PLACES 1024 /* of the hash; a power of two */
#define ARENA_BYTES 65536

static WEFT_LARGE struct otel_key *keys[WEFT_OTEL_PROCESS_KEYS_MAX];
static WEFT_LARGE uint16_t places[PLACES]; /* 1 + index; 0 = free */
static WEFT_LARGE _Alignas(8) uint8_t arena[ARENA_BYTES];
static uint32_t arena_used;

uint32_t weft_otel_keys_usable = WEFT_OTEL_PROCESS_KEYS_MAX;

const struct otel_key *weft_otel_key_at(uint32_t index)
{
	return index < WEFT_OTEL_PROCESS_KEYS_MAX ? load_acquire(&keys[index]) : NULL;
}

uint32_t weft_otel_keys_count(void)
{
	uint32_t low = 0, high = WEFT_OTEL_PROCESS_KEYS_MAX;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (weft_otel_key_at(middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t hash_of(const char *key, size_t bytes)
{
	uint64_t hash = bytes * UINT64_C(0x9E3779B97F4A7C15), word;

	for (; bytes >= 8; key += 8, bytes -= 8) {
		memcpy(&word, key, 8);
		hash = (hash ^ word) * UINT64_C(0xBF58476D1CE4E5B9);
		hash ^= hash >> 29;
	}
	word = 0;
	memcpy(&word, key, bytes);
	hash = (hash ^ word) * UINT64_C(0x94D049BB133111EB);
	return (uint32_t)(hash >> 32);
}

static int find_by_hash(const char *key, size_t bytes, uint32_t hash)
{
	for (uint32_t n = 0; n < PLACES; n++) {
		uint32_t at = load_relaxed(&places[(hash + n) % PLACES]);

		if (!at)
			break;
		if (otel_key_is(weft_otel_key_at(at - 1), key, bytes))
			return (int)at - 1;
	}
	return -1;
}

/* In the array: an append that has not reached the hash yet, or never will. */
static int find_along(const char *key, size_t bytes, uint32_t hash)
{
	const struct otel_key *k;

	for (uint32_t i = 0; (k = weft_otel_key_at(i)); i++)
		if (k->hash == hash && otel_key_is(k, key, bytes))
			return (int)i;
	return -1;
}

int weft_otel_keys_find(const char *key, size_t bytes)
{
	uint32_t hash = hash_of(key, bytes);
	int index = find_by_hash(key, bytes, hash);

	return index >= 0 ? index : find_along(key, bytes, hash);
}

static void otel_keys_add_hint(uint32_t index, uint32_t hash)
{
	for (uint32_t n = 0; n < PLACES; n++) {
		uint16_t expected = 0;

		if (cas_release(&places[(hash + n) % PLACES], &expected, (uint16_t)(index + 1)))
			return;
	}
}

static struct otel_key *otel_keys_make_key(const char *key, size_t bytes)
{
	uint32_t size = (uint32_t)(sizeof(struct otel_key) + bytes + 8) & ~7u;
	uint32_t at = load_relaxed(&arena_used);
	struct otel_key *k;

	do {
		if (size > ARENA_BYTES - at)
			return NULL;
	} while (!cas_relaxed(&arena_used, &at, at + size));
	k = (struct otel_key *)(void *)(arena + at);
	k->hash = hash_of(key, bytes);
	k->bytes = (uint32_t)bytes;
	memcpy(k->text, key, bytes);
	return k;
}

/* At the first free place from @index on, unless another thread has stored the same key there. */
static int otel_keys_append(struct otel_key *k, uint32_t index)
{
	for (; index < WEFT_OTEL_PROCESS_KEYS_MAX; index++) {
		struct otel_key *there = NULL;

		if (__atomic_compare_exchange_n(&keys[index], &there, k, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			otel_keys_add_hint(index, k->hash);
			return (int)index;
		}
		if (otel_key_is(there, k->text, k->bytes))
			return (int)index;
	}
	return -1;
}

int weft_otel_keys_add(const char *key, size_t bytes, int *is_new)
{
	int index = weft_otel_keys_find(key, bytes);
	uint32_t count;
	struct otel_key *k;

	*is_new = 0;
	if (index >= 0)
		return index;
	count = weft_otel_keys_count();
	index = find_along(key, bytes, hash_of(key, bytes)); /* a key appended before the count */
	if (index >= 0)
		return index;
	if (!bytes || bytes > OTEL_KEY_BYTES || count == WEFT_OTEL_PROCESS_KEYS_MAX ||
	    !weft_otel_is_utf8(key, bytes))
		return -1;
	k = otel_keys_make_key(key, bytes);
	index = k ? otel_keys_append(k, count) : -1;
	*is_new = index >= 0 && weft_otel_key_at((uint32_t)index) == k;
	return index;
}

int weft_otel_keys_add_at(uint32_t index, const char *key, size_t bytes)
{
	const struct otel_key *there = weft_otel_key_at(index);
	struct otel_key *k;

	if (bytes > OTEL_KEY_BYTES)
		bytes = 0;
	if (there)
		return otel_key_is(there, key, bytes) ? 0 : -EEXIST;
	k = otel_keys_make_key(key, bytes);
	return k && otel_keys_append(k, index) == (int)index ? 0 : -ENOSPC;
}

static int is_ascii(const uint8_t *s)
{
	uint64_t word;

	memcpy(&word, s, 8);
	return !(word & UINT64_C(0x8080808080808080));
}

/* Of fewer than eight bytes, without a loop over them. */
static int rest_is_ascii(const uint8_t *s, size_t bytes)
{
	uint32_t first, last;

	if (bytes < 4)
		return !bytes || !((s[0] | s[bytes / 2] | s[bytes - 1]) & 0x80);
	memcpy(&first, s, 4);
	memcpy(&last, s + bytes - 4, 4);
	return !((first | last) & 0x80808080);
}

int weft_otel_is_utf8(const void *text, size_t bytes)
{
	const uint8_t *s = text, *end = s + bytes;

	while (end - s >= 8 && is_ascii(s))
		s += 8;
	if (end - s < 8 && rest_is_ascii(s, (size_t)(end - s)))
		return 1;
	while (s < end) {
		const uint8_t *first = s;

		if (end - s >= 8 && is_ascii(s))
			s += 8;
		else if (utf8_next(&s, end) == UTF8_REPLACEMENT &&
			 (*first != 0xEF || s - first != 3))
			return 0; /* (the text may contain U+FFFD itself) */
	}
	return 1;
}
