/* SPDX-License-Identifier: Apache-2.0 */
/* OpenTelemetry's thread context in Node.js: see nodejs.h. */
#include "reader/context/nodejs.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

#define WORD 8

/* ---- the layout */

/* A distance of whole words, as the process context tells it: 1 and *words; 0: it does not, and
 * *words stays; -ENOTSUP. */
static int told_words(const struct otel_payload *process, const char *key, uint32_t *words)
{
	const struct live_context *c = &process->attributes;
	const struct live_attribute *a = live_find(c, key, strlen(key));
	uint64_t bytes;

	if (!a)
		return 0;
	if (live_number(live_text(c, a->value_at), a->value_bytes, 10, &bytes) || bytes % WORD ||
	    bytes / WORD > UINT8_MAX)
		return -ENOTSUP;
	*words = (uint32_t)(bytes / WORD);
	return 1;
}

/* How a writer's wrapper leads to the record: at once, or by an object of the writer's, in which
 * the first writers had it behind three words of a base class and did not tell that. */
static int told_slot(const struct otel_payload *process, uint32_t *slot, uint32_t *field)
{
	uint32_t behind = 3;
	int rc = told_words(process, "threadlocal.js_object_record_offset", slot);

	if (rc)
		return rc < 0 ? rc : 0;
	rc = told_words(process, "threadlocal.wrapped_object_offset", slot);
	if (rc <= 0)
		return rc;
	rc = told_words(process, "threadlocal.native_wrap_fields_offset", &behind);
	*field = behind + 1;
	return rc < 0 || *field > UINT8_MAX ? -ENOTSUP : 0;
}

int nodejs_layout(const struct otel_payload *process, uint32_t *layout)
{
	uint32_t word = 1, table = WEFT_NODEJS_LAYOUT_TABLE(WEFT_NODEJS_LAYOUT_USUAL);
	uint32_t header = WEFT_NODEJS_LAYOUT_HEADER(WEFT_NODEJS_LAYOUT_USUAL);
	uint32_t slot = 0, field = 0;

	if (told_words(process, "threadlocal.tagged_size", &word) < 0 || word != 1 ||
	    told_words(process, "threadlocal.js_map_table_offset", &table) < 0 ||
	    told_words(process, "threadlocal.ordered_hash_map_header_size", &header) < 0 ||
	    told_slot(process, &slot, &field) < 0)
		return -ENOTSUP;
	*layout = WEFT_NODEJS_LAYOUT(table, header, slot, field);
	return 0;
}

/* ---- reading */

struct nodejs_memory {
	const struct target *target;
};

static int nodejs_fetch(void *arg, void *to, uint64_t from, uint32_t bytes)
{
	const struct nodejs_memory *memory = arg;

	return target_read(memory->target, from, to, bytes);
}

static int nodejs_walk(const struct target *t, uint64_t variable, uint32_t layout, uint64_t *record)
{
	struct nodejs_memory memory = {t};
	struct weft_nodejs_walk walk = {layout, nodejs_fetch, &memory};
	struct weft_nodejs_variable v;
	int rc = target_read(t, variable, &v, sizeof(v));

	return rc ? rc : weft_nodejs_record(&walk, &v, record);
}

int nodejs_copy(const struct target *t, uint64_t variable, uint32_t layout, struct otel_copy *out)
{
	uint64_t record = 0;
	int rc = nodejs_walk(t, variable, layout, &record);

	out->bytes = 0;
	if (rc == 0)
		rc = otel_record_copy(t, record, out);
	if (rc)
		return rc;
	return out->bytes ? 0 : -ENODATA;
}

struct nodejs_room {
	uint64_t variable;
	uint32_t layout;
	struct otel_copy *copy;
};

/* The variable's first word, by which settle() begins, is the gate. */
static int nodejs_copy_open(const struct target *t, uint64_t gate, void *room, uint64_t *digest)
{
	const struct nodejs_room *r = room;
	int rc = gate ? nodejs_copy(t, r->variable, r->layout, r->copy) : -ENODATA;

	*digest = rc ? 0 : hash_bytes(r->copy->record, r->copy->bytes, r->copy->address);
	return rc;
}

int nodejs_read(struct settle *s, int32_t tid, uint64_t variable, uint32_t layout,
		struct otel_copy *room, int *is_torn)
{
	struct nodejs_room r = {variable, layout, room};
	struct settle_pointer p = {variable, NULL, NULL, nodejs_copy_open, &r};
	int rc = settle_pointer(s, tid, &p);

	*is_torn = rc == -EAGAIN;
	return *is_torn ? 0 : rc;
}
