/* SPDX-License-Identifier: Apache-2.0 */
/* Values by their classes: decoded into nodes, or passed over. */
#include "jfr/common/encode.h"
#include "jfr/common/text.h"
#include "jfr/read/reader.h"

#include <string.h>

#define DEEPEST 512 /* references of values nested deeper are null */
#define BUDGET_BASE 512
#define BUDGET_PER_BYTE 4

static void decode_value(struct decoder *d, const struct weft_jfr_class *class,
			 struct weft_jfr_node *out);

void decoder_start(struct decoder *d, struct weft_jfr_reader *r, const uint8_t *data, size_t bytes,
		   struct arena *memory)
{
	*d = (struct decoder){
		.reader = r,
		.in = {.at = data, .end = data + bytes, .fixed = r->fixed},
		.memory = memory,
		.budget = BUDGET_BASE + BUDGET_PER_BYTE * bytes,
	};
}

static struct weft_jfr_node *take_nodes(struct decoder *d, size_t count)
{
	struct weft_jfr_node *nodes;

	if (count > d->budget) {
		input_fail(&d->in);
		return NULL;
	}
	d->budget -= count;
	nodes = arena_alloc(d->memory, (count ? count : 1) * sizeof(*nodes));
	if (!nodes) {
		reader_no_memory(d->reader);
		input_fail(&d->in);
	}
	return nodes;
}

/* ---------------------------------------------------------------- references */

static const struct weft_jfr_node *decode_read_entry(struct decoder *from, struct pool_slot *slot)
{
	struct decoder d;
	struct weft_jfr_node *node = take_nodes(from, 1);

	if (!node)
		return NULL;
	decoder_start(&d, from->reader, slot->value, slot->bytes, &from->reader->pools.memory);
	d.depth = from->depth + 1;
	node = take_nodes(&d, 1);
	if (node)
		decode_value(&d, slot->type, node);
	if (d.in.failed) {
		input_fail(&from->in);
		return NULL;
	}
	return node;
}

/* 0: it is null only here, because of what is around it; so it must not be remembered. */
static int follow_reference(struct decoder *d, const struct weft_jfr_class *class, uint64_t key,
			    struct weft_jfr_node *out)
{
	struct pool_slot *slot = pools_find(d->reader, class, key);

	*out = (struct weft_jfr_node){.shape = WEFT_JFR_V_NULL, .type = class, .pool_key = key};
	if (slot && (slot->state == SLOT_READING || d->depth >= DEEPEST))
		return 0;
	if (slot && slot->state == SLOT_UNREAD) {
		slot->state = SLOT_READING;
		slot->node = decode_read_entry(d, slot);
		slot->state = SLOT_READ;
	}
	if (slot && slot->node) {
		*out = *slot->node;
		out->type = class;
		out->pool_key = key;
	}
	return 1;
}

static inline void decode_reference(struct decoder *d, const struct weft_jfr_class *class,
				    uint64_t key, struct weft_jfr_node *out)
{
	struct weft_jfr_node *recent = class ? pools_recent(d->reader, class, key) : NULL;

	if (recent && recent->type == class && recent->pool_key == key) {
		*out = *recent;
		return;
	}
	if (follow_reference(d, class, key, out) && recent && !d->in.failed)
		*recent = *out;
}

/* ---------------------------------------------------------------- values */

static void decode_decode_string(struct decoder *d, struct weft_jfr_node *out)
{
	const struct class_set *set = d->reader->classes;
	uint8_t encoding = input_u8(&d->in);

	if (encoding == STRING_NULL)
		return;
	if (encoding == STRING_POOL) {
		uint64_t key = (uint64_t)input_i64(&d->in);

		decode_reference(d, set->string, key, out);
		return;
	}
	out->string = text_read(&d->in, encoding, d->memory);
	out->shape = WEFT_JFR_V_STRING;
}

static double read_real(struct input *in, unsigned int bytes)
{
	uint64_t bits = input_be(in, bytes);
	uint32_t low = (uint32_t)bits;
	float single;
	double value;

	if (bytes == 4) {
		memcpy(&single, &low, sizeof(single));
		return (double)single;
	}
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void decode_array(struct decoder *d, const struct class_field *f, struct weft_jfr_node *out)
{
	size_t count = input_count(&d->in);
	struct weft_jfr_node *item = take_nodes(d, count);

	out->shape = WEFT_JFR_V_ARRAY;
	out->type = f->type;
	out->pool_key = 0;
	out->many.item = item;
	out->many.count = item ? count : 0;
	for (size_t i = 0; item && i < count; i++) {
		if (f->pooled)
			decode_reference(d, f->type, (uint64_t)input_i64(&d->in), &item[i]);
		else
			decode_value(d, f->type, &item[i]);
	}
}

static void decode_field(struct decoder *d, const struct class_field *f, struct weft_jfr_node *out)
{
	if (f->array)
		decode_array(d, f, out);
	else if (f->pooled)
		decode_reference(d, f->type, (uint64_t)input_i64(&d->in), out);
	else
		decode_value(d, f->type, out);
}

const struct weft_jfr_node *decode_fields(struct decoder *d, const struct weft_jfr_class *class)
{
	struct weft_jfr_node *nodes = take_nodes(d, class->field_count);

	for (size_t i = 0; nodes && i < class->field_count; i++)
		decode_field(d, &class->fields[i], &nodes[i]);
	return d->in.failed ? NULL : nodes;
}

static int64_t decode_read_number(struct input *in, enum class_shape shape)
{
	switch (shape) {
	case CLASS_BOOLEAN:
		return input_u8(in);
	case CLASS_BYTE:
		return (int8_t)input_u8(in);
	case CLASS_CHAR:
		return (uint16_t)input_int(in, 2);
	case CLASS_SHORT:
		return (int16_t)(uint16_t)input_int(in, 2);
	case CLASS_INT:
		return input_i32(in);
	default:
		return input_i64(in);
	}
}

static void decode_value(struct decoder *d, const struct weft_jfr_class *class,
			 struct weft_jfr_node *out)
{
	*out = (struct weft_jfr_node){.shape = WEFT_JFR_V_NULL, .type = class};
	switch (class->shape) {
	case CLASS_STRUCT:
		d->depth++;
		out->many.item = decode_fields(d, class);
		d->depth--;
		out->many.count = out->many.item ? class->field_count : 0;
		out->shape = WEFT_JFR_V_STRUCT;
		return;
	case CLASS_SIMPLE:
		decode_field(d, &class->fields[0], out);
		out->type = class;
		return;
	case CLASS_STRING:
		decode_decode_string(d, out);
		return;
	case CLASS_FLOAT:
	case CLASS_DOUBLE:
		out->real = read_real(&d->in, class->shape == CLASS_FLOAT ? 4 : 8);
		out->shape = WEFT_JFR_V_REAL;
		return;
	case CLASS_BROKEN:
		input_fail(&d->in);
		return;
	default:
		out->number = decode_read_number(&d->in, class->shape);
		out->shape = WEFT_JFR_V_NUMBER;
	}
}

/* ---------------------------------------------------------------- passing over */

static void skip_one(struct decoder *d, const struct class_field *f)
{
	if (f->pooled)
		input_i64(&d->in);
	else
		skip_value(d, f->type);
}

void skip_field(struct decoder *d, const struct class_field *f)
{
	size_t count = 1;

	if (f->array)
		count = input_count(&d->in);
	for (; count && !d->in.failed; count--)
		skip_one(d, f);
}

void skip_value(struct decoder *d, const struct weft_jfr_class *class)
{
	if (!d->budget--) {
		d->budget = 0;
		input_fail(&d->in);
	}
	switch (class->shape) {
	case CLASS_STRUCT:
	case CLASS_SIMPLE:
		for (size_t i = 0; i < class->field_count && !d->in.failed; i++)
			skip_field(d, &class->fields[i]);
		return;
	case CLASS_STRING:
		text_skip(&d->in, input_u8(&d->in));
		return;
	case CLASS_FLOAT:
		input_bytes(&d->in, 4);
		return;
	case CLASS_DOUBLE:
		input_bytes(&d->in, 8);
		return;
	case CLASS_BROKEN:
		input_fail(&d->in);
		return;
	default:
		decode_read_number(&d->in, class->shape);
	}
}
