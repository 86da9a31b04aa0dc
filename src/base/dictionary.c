/* SPDX-License-Identifier: Apache-2.0 */
/* A session's logs, read as untrusted input: see dictionary.h. */
#include "base/dictionary.h"

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct dictionary {
	struct map *strings; /* id -> address of a copy */
	char *tag_name[WEFT_CONTEXT_V1_TAGS];
};

/* Each record is copied and checked before it is used, because the target can change it. */
static int take_one(const uint8_t *at, uint64_t left, log_take take, void *arg, uint64_t *bytes)
{
	struct weft_log_record record;

	if (left < sizeof(record))
		return -EBADMSG;
	memcpy(&record, at, sizeof(record));
	if (record.bytes < sizeof(record) || record.bytes % 8 || record.bytes > left ||
	    record.data_bytes > record.bytes - sizeof(record))
		return -EBADMSG;
	*bytes = record.bytes;
	take(arg, &record, at + sizeof(record));
	return 0;
}

int log_read(const uint8_t *log, uint64_t room, uint64_t head, uint64_t *position, log_take take,
	     void *arg)
{
	int rc = head > room || head < *position ? -EBADMSG : 0;

	while (rc == 0 && *position < head) {
		uint64_t bytes = 0;

		rc = take_one(log + *position, head - *position, take, arg, &bytes);
		*position += bytes;
	}
	if (rc == 0 || *position == room)
		return 0;
	*position = room;
	return rc;
}

struct dictionary *dictionary_new(void)
{
	struct dictionary *d = calloc(1, sizeof(*d));

	if (d)
		d->strings = map_new();
	if (d && !d->strings) {
		free(d);
		return NULL;
	}
	return d;
}

void dictionary_free(struct dictionary *d)
{
	if (!d)
		return;
	map_free_values(d->strings, free);
	for (unsigned int i = 0; i < WEFT_CONTEXT_V1_TAGS; i++)
		free(d->tag_name[i]);
	free(d);
}

static void dictionary_take_string(struct dictionary *d, uint32_t id, const uint8_t *data,
				   uint32_t bytes)
{
	int fresh;
	uint64_t *value = map_put(d->strings, &id, sizeof(id), &fresh);

	if (value && fresh)
		*value = (uint64_t)(uintptr_t)strndup((const char *)data, bytes);
}

void dictionary_take(void *arg, const struct weft_log_record *record, const uint8_t *data)
{
	struct dictionary *d = arg;

	if (record->type == WEFT_LOG_STRING)
		dictionary_take_string(d, record->id, data, record->data_bytes);
	else if (record->type == WEFT_LOG_TAG_NAME && record->id < WEFT_CONTEXT_V1_TAGS &&
		 !d->tag_name[record->id])
		d->tag_name[record->id] = strndup((const char *)data, record->data_bytes);
}

const char *dictionary_string(const struct dictionary *d, uint32_t id)
{
	const uint64_t *value = map_get(d->strings, &id, sizeof(id));

	return value ? (const char *)(uintptr_t)*value : NULL;
}

const char *dictionary_tag_name(const struct dictionary *d, unsigned int number)
{
	return number < WEFT_CONTEXT_V1_TAGS ? d->tag_name[number] : NULL;
}
