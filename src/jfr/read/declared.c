/* SPDX-License-Identifier: Apache-2.0 */
/* Goes from chunk to chunk; only a set of classes that is new is looked through. */
#include "jfr/read/declared.h"

#include "base/array.h"
#include "base/map.h"
#include "jfr/read/reader.h"

#include <stdlib.h>

struct collector {
	struct jfr_declared *out;
	struct map *seen; /* id and name */
	size_t room;
};

static int declared_add_once(struct collector *c, const struct weft_jfr_class *class)
{
	const struct weft_jfr_class **added;
	uint64_t id = (uint64_t) class->id;
	int fresh;

	if (!map_put_text(c->seen, &id, 1, class->name, &fresh))
		return 0;
	if (!fresh)
		return 1;
	added = array_add(&c->out->classes, &c->out->count, &c->room, sizeof(*added));
	if (added)
		*added = class;
	return added != NULL;
}

static int declared_read_chunks(struct weft_jfr_reader *r, struct collector *c)
{
	const struct class_set *last = NULL;
	int rc;

	while ((rc = chunk_open(r)) > 0) {
		if (r->classes == last)
			continue;
		last = r->classes;
		for (uint32_t i = 0; i < last->count; i++)
			if (!declared_add_once(c, last->list[i]))
				return reader_no_memory(r);
	}
	return rc;
}

int jfr_declared(struct weft_jfr_reader *r, struct jfr_declared *out)
{
	struct collector c = {.out = out, .seen = map_new()};
	int rc;

	*out = (struct jfr_declared){0};
	rc = c.seen ? declared_read_chunks(r, &c) : reader_no_memory(r);
	map_free(c.seen);
	return rc;
}

void jfr_declared_free(struct jfr_declared *d)
{
	free(d->classes);
	*d = (struct jfr_declared){0};
}
