/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned tag values and tag names. The dictionary's records store the strings; a hash table finds
 * them. Both are private memory, so a forked child knows every string under the same id; the
 * records are replayed into its session (log.c).
 *
 * Under the log's lock; not in signal handlers.
 */
#include "runtime/core/runtime.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/core/copies.h"

#define STRING_BYTES_MAX 4096
#define NAME_BYTES_MAX 255
#define TABLE_SIZE (1u << 16) /* a 1 MiB dictionary holds at most 43 690 strings */

struct entry {
	const char *bytes; /* in the mirror */
	uint32_t hash;
	uint32_t size;
};

static WEFT_LARGE struct entry table[TABLE_SIZE]; /* by id order: index + 1 is the id */
static WEFT_LARGE uint32_t buckets[TABLE_SIZE];   /* id, 0 = empty; linear probing */
static uint32_t id_last;
static WEFT_LARGE char names[WEFT_TAGS][NAME_BYTES_MAX + 1];

/* The bucket of this string, or the empty one where it belongs. */
static uint32_t *find_bucket(const char *string, uint32_t size, uint32_t hash)
{
	for (uint32_t i = hash & (TABLE_SIZE - 1);; i = (i + 1) & (TABLE_SIZE - 1)) {
		const struct entry *e = &table[buckets[i] ? buckets[i] - 1 : 0];

		if (!buckets[i])
			return &buckets[i];
		if (e->hash == hash && e->size == size && !memcmp(e->bytes, string, size))
			return &buckets[i];
	}
}

static uint32_t tags_add(uint32_t *bucket, const char *string, uint32_t size, uint32_t hash)
{
	struct weft_log_record record = {.type = WEFT_LOG_STRING, .id = id_last + 1};
	const char *stored;

	if (id_last == TABLE_SIZE - 1 ||
	    weft_log_append(WEFT_LOG_DICT, &record, string, size, NULL, 0))
		return 0;
	stored = weft_log_last_data(WEFT_LOG_DICT, &record);
	table[id_last] = (struct entry){.bytes = stored, .hash = hash, .size = size};
	*bucket = ++id_last;
	return id_last;
}

uint32_t weft_tag_intern_own(const char *string)
{
	size_t size = string ? strnlen(string, STRING_BYTES_MAX + 1) : STRING_BYTES_MAX + 1;
	uint32_t hash, id, *bucket;

	if (size > STRING_BYTES_MAX)
		return 0;
	weft_fork_check();
	hash = (uint32_t)hash_mix(hash_fnv(string, size));
	weft_log_lock();
	bucket = find_bucket(string, (uint32_t)size, hash);
	id = *bucket ? *bucket : tags_add(bucket, string, (uint32_t)size, hash);
	weft_log_unlock();
	return id;
}

static int tags_set_name(unsigned int n, const char *name, size_t size)
{
	struct weft_log_record record = {.type = WEFT_LOG_TAG_NAME, .id = n};
	int failed;

	if (names[n][0])
		return strcmp(names[n], name) ? -EBUSY : 0;
	failed = weft_log_append(WEFT_LOG_DICT, &record, name, (uint32_t)size, NULL, 0);
	if (!failed)
		memcpy(names[n], name, size + 1);
	return failed;
}

int weft_tag_name_own(unsigned int n, const char *name)
{
	size_t size = name ? strnlen(name, NAME_BYTES_MAX + 1) : 0;
	int result;

	if (n >= WEFT_TAGS || size == 0 || size > NAME_BYTES_MAX)
		return -EINVAL;
	weft_fork_check();
	weft_log_lock();
	result = tags_set_name(n, name, size);
	weft_log_unlock();
	return result;
}

WEFT_API uint32_t weft_tag_intern(const char *string)
{
	const struct weft_runtime_v1 *master = weft_copies_master();

	return master ? master->tag_intern(string) : weft_tag_intern_own(string);
}

WEFT_API int weft_tag_name(unsigned int n, const char *name)
{
	const struct weft_runtime_v1 *master = weft_copies_master();

	return master ? master->tag_name(n, name) : weft_tag_name_own(n, name);
}
