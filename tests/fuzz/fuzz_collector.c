/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: what the collector reads from elsewhere. First byte even: text of
 * /proc/PID/maps, merged twice; odd: a session's log, whose head comes from the input too.
 */
#include "collector/dictionary.h"
#include "collector/maps.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	if (data[0] % 2)
		read_log(data + 1, size - 1);
	else
		read_maps(data + 1, size - 1);
	return 0;
}
