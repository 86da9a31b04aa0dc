/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: what the collector reads from elsewhere. The first byte says what: text of
 * /proc/PID/maps, merged twice; a session's log, whose head comes from the input too; labels of
 * two samples, as sets with numbers.
 */
#include "base/dictionary.h"
#include "collector/process/label_sets.h"
#include "collector/process/maps.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sorted(const struct maps *m)
{
	for (size_t i = 0; i < m->count; i++) {
		if (m->item[i]->start >= m->item[i]->end)
			abort();
		if (i && m->item[i - 1]->end > m->item[i]->start)
			abort();
		if (maps_find(m, m->item[i]->start) != m->item[i])
			abort();
	}
}

static void read_maps(const uint8_t *data, size_t size)
{
	struct maps m = {0};
	char name[32];

	maps_update(&m, (const char *)data, size / 2);
	check_sorted(&m);
	maps_update(&m, (const char *)data + size / 2, size - size / 2);
	check_sorted(&m);
	for (size_t i = 0; i < m.count; i++)
		mapping_name(m.item[i], name, sizeof(name));
	maps_free(&m);
}

static void read_log(const uint8_t *data, size_t size)
{
	struct dictionary *d = dictionary_new();
	uint8_t *log = malloc(size + 1);
	uint64_t position = 0, head;

	if (!d || !log || size < sizeof(head))
		goto out;
	memcpy(&head, data, sizeof(head));
	memcpy(log, data + sizeof(head), size - sizeof(head));
	size -= sizeof(head);
	log_read(log, size, head % (size + 16), &position, dictionary_take, d);
	log_read(log, size, size, &position, dictionary_take, d);
	if (position > size)
		abort();
	for (uint32_t id = 0; id < 16; id++) {
		dictionary_string(d, id);
		dictionary_tag_name(d, id);
	}
out:
	free(log);
	dictionary_free(d);
}

static void check_set(const struct label_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct label_item *item = &set->item[i];

		if (!item->key_bytes || strlen(item->key) != item->key_bytes ||
		    strlen(item->value) != item->value_bytes)
			abort();
		if (i && strcmp(set->item[i - 1].key, item->key) >= 0)
			abort();
	}
}

static uint32_t put_labels(struct label_sets *sets, const uint8_t *data, size_t size)
{
	int64_t number;

	if (size > LABEL_BYTES_MAX || !label_bytes_are_sound(data, size))
		return 0;
	number = label_sets_put(sets, data, size);
	if (number < 0 || number != label_sets_put(sets, data, size))
		abort();
	if (!number != !size)
		abort();
	if (number)
		check_set(label_sets_get(sets, (uint32_t)number));
	return (uint32_t)number;
}

static void read_labels(const uint8_t *data, size_t size)
{
	struct label_sets *sets = label_sets_new();
	size_t first;
	uint32_t a, b;

	if (!sets || size < 2)
		goto out;
	first = (size_t)(data[0] | data[1] << 8) % (size - 1);
	a = put_labels(sets, data + 2, first);
	b = put_labels(sets, data + 2 + first, size - 2 - first);
	if (!label_sets_get(sets, a) != !a)
		abort();
	label_sets_mark(sets, b);
	label_sets_sweep(sets);
	if ((a != b && label_sets_get(sets, a)) || !label_sets_get(sets, b) != !b)
		abort();
	if (put_labels(sets, data + 2 + first, size - 2 - first) != b)
		abort();
out:
	label_sets_free(sets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const read[])(const uint8_t *data, size_t size) = {read_maps, read_log,
									 read_labels};

	if (size > 0)
		read[data[0] % 3](data + 1, size - 1);
	return 0;
}
