/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes say of themselves (weft.Resource): attributes of the resource that their spans
 * belong to, each from a moment on until it is said anew. What was before the first of an
 * attribute's values is taken to have had that one, for a process can tell nobody before it runs.
 */
#ifndef WEFT_REPORT_RESOURCES_H
#define WEFT_REPORT_RESOURCES_H

#include "report/read/names.h"

#include <stddef.h>
#include <stdint.h>

#define RESOURCE_VALUES_MAX 256 /* of one attribute of one process; later ones are passed over */

struct map;

struct resource_value {
	int64_t since_ns; /* epoch */
	uint32_t value;   /* id in model.names; 0 = none any more */
	uint32_t older;   /* number of a value, from 1; 0 = it is the first */
};

struct resource_attribute {
	uint32_t process; /* as threads have it: "demo [1200]", id in model.names */
	uint32_t key;     /* id in resources.keys */
	uint32_t newest, count;
	uint32_t next; /* number of the process's next one, from 1; 0 = it is the last */
};

struct resource_process {
	uint32_t first, last; /* numbers of its attributes */
};

struct resources {
	struct names keys; /* "service.name" */
	struct map *index;
	struct resource_attribute *attributes;
	struct resource_value *values;
	struct resource_process *processes;
	uint32_t attribute_count, value_count, process_count;
	size_t attribute_room, value_room, process_room;
	int failed; /* out of memory */
};

int resources_init(struct resources *r); /* 0 or -ENOMEM */
void resources_free(struct resources *r);

/* From @since_ns on an attribute of a process has this value. In any order, and as often as it is
 * written. */
void resources_put(struct resources *r, uint32_t process, const char *key,
		   const struct resource_value *value);
/* The value then; 0 = none. */
uint32_t resources_value(const struct resources *r, uint32_t process, uint32_t key,
			 int64_t time_ns);
/* The attributes of a process that have a value: the one after @last, the first one for NULL. NULL:
 * there are no more. */
const struct resource_attribute *resources_next(const struct resources *r, uint32_t process,
						const struct resource_attribute *last);
/* The newest value. */
uint32_t resources_newest(const struct resources *r, const struct resource_attribute *a);

#endif
