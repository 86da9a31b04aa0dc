/* SPDX-License-Identifier: Apache-2.0 */
/* See resources.h. The values of an attribute are a list, the newest first. */
#include "report/read/resources.h"

#include "base/array.h"
#include "base/map.h"
#include "report/read/rows.h"

#include <stdlib.h>

#define NO_KEY 0 /* in the index: of a process as a whole */

int resources_init(struct resources *r)
{
	*r = (struct resources){0};
	return names_init(&r->keys);
}

void resources_free(struct resources *r)
{
	names_free(&r->keys);
	map_free(r->index);
	free(r->attributes);
	free(r->values);
	free(r->processes);
	*r = (struct resources){0};
}

static struct resource_value *value_at(const struct resources *r, uint32_t number)
{
	return &r->values[number - 1];
}

/* Where the number of the first value stands that is not newer. */
static uint32_t *resources_place(const struct resources *r, struct resource_attribute *a,
				 int64_t since_ns)
{
	uint32_t *at = &a->newest;

	while (*at && value_at(r, *at)->since_ns > since_ns)
		at = &value_at(r, *at)->older;
	return at;
}

/* The number of an attribute, which is linked with those of its process when it is new; 0: out of
 * memory. */
static uint32_t attribute_of(struct resources *r, uint32_t process, uint32_t key)
{
	const uint32_t of[2] = {process, key}, whole[2] = {process, NO_KEY};
	uint32_t before = r->attribute_count, owner, number;
	struct resource_process *p;

	owner = rows_put(&r->index, whole, sizeof(whole), &r->processes, &r->process_count,
			 &r->process_room, sizeof(*p));
	number = rows_put(&r->index, of, sizeof(of), &r->attributes, &r->attribute_count,
			  &r->attribute_room, sizeof(*r->attributes));
	if (!owner || !number || r->attribute_count == before)
		return owner ? number : 0;
	r->attributes[number - 1].process = process;
	r->attributes[number - 1].key = key;
	p = &r->processes[owner - 1];
	if (p->last)
		r->attributes[p->last - 1].next = number;
	else
		p->first = number;
	p->last = number;
	return number;
}

/* NULL: out of memory. */
static struct resource_value *value_new(struct resources *r)
{
	void *bigger = r->value_count < UINT32_MAX ? array_grown(r->values, r->value_count + 1u,
								 &r->value_room, sizeof(*r->values))
						   : NULL;

	if (!bigger)
		return NULL;
	r->values = bigger;
	return &r->values[r->value_count++];
}

void resources_put(struct resources *r, uint32_t process, const char *key,
		   const struct resource_value *value)
{
	uint32_t id = names_id(&r->keys, key);
	uint32_t number = id ? attribute_of(r, process, id) : 0, *at;
	struct resource_attribute *a = number ? &r->attributes[number - 1] : NULL;
	struct resource_value *new;

	r->failed |= id && !a;
	if (!a)
		return;
	at = resources_place(r, a, value->since_ns);
	if (*at && value_at(r, *at)->since_ns == value->since_ns) {
		value_at(r, *at)->value = value->value;
		return;
	}
	if (a->count == RESOURCE_VALUES_MAX)
		return;
	new = value_new(r);
	if (!new) {
		r->failed = 1;
		return;
	}
	/* (the values may have moved) */
	at = resources_place(r, a, value->since_ns);
	a->count++;
	*new = (struct resource_value){value->since_ns, value->value, *at};
	*at = r->value_count;
}

uint32_t resources_value(const struct resources *r, uint32_t process, uint32_t key, int64_t time_ns)
{
	const uint32_t of[2] = {process, key};
	const uint64_t *number = r->index ? map_get(r->index, of, sizeof(of)) : NULL;
	uint32_t at;

	if (key == NO_KEY || !number || !*number)
		return 0;
	at = r->attributes[*number - 1].newest;
	while (at && value_at(r, at)->since_ns > time_ns && value_at(r, at)->older)
		at = value_at(r, at)->older;
	return at ? value_at(r, at)->value : 0;
}

uint32_t resources_newest(const struct resources *r, const struct resource_attribute *a)
{
	return a->newest ? value_at(r, a->newest)->value : 0;
}

static const struct resource_attribute *attribute_at(const struct resources *r, uint32_t number)
{
	return number ? &r->attributes[number - 1] : NULL;
}

static uint32_t first_of(const struct resources *r, uint32_t process)
{
	const uint32_t of[2] = {process, NO_KEY};
	const uint64_t *number = r->index ? map_get(r->index, of, sizeof(of)) : NULL;

	return number && *number ? r->processes[*number - 1].first : 0;
}

const struct resource_attribute *resources_next(const struct resources *r, uint32_t process,
						const struct resource_attribute *last)
{
	const struct resource_attribute *a =
		attribute_at(r, last ? last->next : first_of(r, process));

	while (a && !resources_newest(r, a))
		a = attribute_at(r, a->next);
	return a;
}
