/* SPDX-License-Identifier: Apache-2.0 */
/* Stays of modules in a process: see loads.h. */
#include "collector/process/loads.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define MODULES_MAX 4096
#define STAYS_MAX 8192 /* the oldest half goes */
#define FOREVER UINT64_MAX

void loads_free(struct loads *l)
{
	for (size_t i = 0; i < l->module_count; i++)
		free(l->module[i].mapping.path);
	free(l->module);
	free(l->stay);
	*l = (struct loads){0};
}

static size_t loads_find_module(const struct loads *l, uint32_t id)
{
	size_t i = l->module_count;

	while (i-- > 0)
		if (l->module[i].id == id)
			return i;
	return SIZE_MAX;
}

static size_t add_module(struct loads *l, uint32_t id, const struct weft_log_loaded *loaded,
			 const uint8_t *path, size_t bytes)
{
	struct load_module *m;

	if (loaded->end <= loaded->start || l->module_count == MODULES_MAX)
		return SIZE_MAX;
	m = array_grown(l->module, l->module_count + 1, &l->module_room, sizeof(*m));
	if (!m)
		return SIZE_MAX;
	l->module = m;
	m += l->module_count;
	*m = (struct load_module){
		.id = id,
		.mapping = {.start = loaded->start,
			    .end = loaded->end,
			    .bias = loaded->bias,
			    .has_bias = 1,
			    .inode = loaded->inode,
			    .device_major = major(loaded->device),
			    .device_minor = minor(loaded->device),
			    .path = strndup((const char *)path, bytes)},
	};
	return m->mapping.path ? l->module_count++ : SIZE_MAX;
}

static void loads_forget_oldest_half(struct loads *l)
{
	size_t half = l->stay_count / 2;

	l->stay_count -= half;
	memmove(l->stay, l->stay + half, l->stay_count * sizeof(*l->stay));
}

static void add_stay(struct loads *l, size_t module, const struct weft_log_loaded *times)
{
	struct stay *stay;

	if (module == SIZE_MAX)
		return;
	if (l->stay_count == STAYS_MAX)
		loads_forget_oldest_half(l);
	stay = array_grown(l->stay, l->stay_count + 1, &l->stay_room, sizeof(*stay));
	if (!stay)
		return;
	l->stay = stay;
	l->stay[l->stay_count++] =
		(struct stay){(uint32_t)module, times->since_ns, times->at_ns, FOREVER, FOREVER};
}

static void loads_end_stay(struct loads *l, size_t module, const struct weft_log_loaded *times)
{
	for (size_t i = l->stay_count; i-- > 0;) {
		struct stay *s = &l->stay[i];

		if (s->module != module || s->gone_ns != FOREVER)
			continue;
		s->until_ns = times->since_ns;
		s->gone_ns = times->at_ns;
		return;
	}
}

/* A module of the program's start has no stay: the first reading of the mappings tells more of it.
 */
static void loads_take_first(struct loads *l, uint32_t id, const uint8_t *data, size_t bytes)
{
	struct weft_log_module module;
	struct weft_log_loaded loaded = {0};

	if (bytes < sizeof(module))
		return;
	memcpy(&module, data, sizeof(module));
	loaded.bias = module.bias;
	loaded.start = module.start;
	loaded.end = module.end;
	add_module(l, id, &loaded, data + sizeof(module), bytes - sizeof(module));
}

static void take_loaded(struct loads *l, uint32_t id, const uint8_t *data, size_t bytes)
{
	struct weft_log_loaded loaded = {0};
	size_t module = loads_find_module(l, id);

	memcpy(&loaded, data, bytes < sizeof(loaded) ? bytes : sizeof(loaded));
	if (bytes >= sizeof(loaded))
		module = add_module(l, id, &loaded, data + sizeof(loaded), bytes - sizeof(loaded));
	add_stay(l, module, &loaded);
}

void loads_take(struct loads *l, const struct weft_log_record *record, const uint8_t *data)
{
	struct weft_log_loaded times = {0};
	size_t bytes = record->data_bytes, module;

	if (record->type == WEFT_LOG_MODULE)
		loads_take_first(l, record->id, data, bytes);
	if (bytes < WEFT_LOG_LOADED_AGAIN_BYTES)
		return;
	if (record->type == WEFT_LOG_LOADED)
		take_loaded(l, record->id, data, bytes);
	if (record->type != WEFT_LOG_GONE)
		return;
	memcpy(&times, data, WEFT_LOG_LOADED_AGAIN_BYTES);
	module = loads_find_module(l, record->id);
	if (module != SIZE_MAX)
		loads_end_stay(l, module, &times);
}

enum loads_found loads_find(struct loads *l, uint64_t pc, uint64_t time_ns, struct mapping **out,
			    uint64_t *gone_ns)
{
	size_t possible = 0;

	*gone_ns = 0;
	for (size_t i = l->stay_count; i-- > 0;) {
		const struct stay *s = &l->stay[i];
		struct mapping *one = &l->module[s->module].mapping;

		if (!mapping_holds(one, pc))
			continue;
		if (s->gone_ns <= time_ns && s->gone_ns > *gone_ns)
			*gone_ns = s->gone_ns;
		if (s->since_ns > time_ns || s->gone_ns <= time_ns)
			continue;
		*out = one;
		if (s->at_ns <= time_ns && time_ns <= s->until_ns)
			return LOADS_FOUND;
		possible++;
	}
	return possible == 0 ? LOADS_NOTHING : possible == 1 ? LOADS_FOUND : LOADS_UNSURE;
}
