/* SPDX-License-Identifier: Apache-2.0 */
/* See resources.h. The values of an attribute are a list, the newest first. */
#include "report/read/resources.h"

#include "base/array.h"
#include "base/map.h"
#include "report/read/rows.h"

#include <stdlib.h>

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

static int make_room(struct resources *r)
{
	void *bigger = r->value_count < UINT32_MAX ? array_grown(r->values, r->value_count + 1u,
								 &r->value_room, sizeof(*r->values))
						   : NULL;

	if (bigger)
		r->values = bigger;
	else
		r->failed = 1;
	return bigger != NULL;
}

void resources_put(struct resources *r, uint32_t process, const char *key,
		   const struct resource_value *value)
{
	uint32_t of[2] = {process, names_id(&r->keys, key)}, *at, number;
	struct resource_attribute *a;

	number = rows_put(&r->index, of, sizeof(of), &r->attributes, &r->attribute_count,
			  &r->attribute_room, sizeof(*a));
	if (!number || !make_room(r)) {
		r->failed = 1;
		return;
	}
	a = &r->attributes[number - 1];
	a->process = process;
	a->key = of[1];
	at = resources_place(r, a, value->since_ns);
	if (*at && value_at(r, *at)->since_ns == value->since_ns) {
		value_at(r, *at)->value = value->value;
		return;
	}
	if (a->count == RESOURCE_VALUES_MAX)
		return;
	a->count++;
	number = ++r->value_count;
	*value_at(r, number) = (struct resource_value){value->since_ns, value->value, *at};
	*at = number;
}

uint32_t resources_value(const struct resources *r, uint32_t process, uint32_t key, int64_t time_ns)
{
	const uint32_t of[2] = {process, key};
	const uint64_t *number = r->index ? map_get(r->index, of, sizeof(of)) : NULL;
	uint32_t at;

	if (!number || !*number)
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

int resources_has(const struct resources *r, uint32_t process)
{
	for (uint32_t i = 0; i < r->attribute_count; i++)
		if (r->attributes[i].process == process && resources_newest(r, &r->attributes[i]))
			return 1;
	return 0;
}
