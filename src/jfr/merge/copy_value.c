/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values from a source into the output, by their classes: bytes as they are, but for references,
 * ticks of another clock, numbers of types, and integers that a source has written in full width.
 */
#include "jfr/common/encode.h"
#include "jfr/common/text.h"
#include "jfr/merge/copy_private.h"

static void copy_value_put_number(struct copy_writer *w, uint64_t number)
{
	buf_put_leb128(w->out, number);
}

static void copy_value_copy_bytes(struct copy_writer *w, size_t bytes)
{
	const uint8_t *from = input_bytes(&w->from.in, bytes);

	if (from)
		buf_put(w->out, from, bytes);
}

static void copy_int(struct copy_writer *w, unsigned int width)
{
	const uint8_t *from = w->from.in.at;
	uint64_t number = input_int(&w->from.in, width);

	if (w->from.in.failed)
		return;
	if (w->from.in.fixed)
		copy_value_put_number(w, number);
	else
		buf_put(w->out, from, (size_t)(w->from.in.at - from));
}

static void copy_string(struct copy_writer *w)
{
	const uint8_t *from = w->from.in.at;
	uint8_t encoding = input_u8(&w->from.in);
	struct weft_jfr_string text;

	if (encoding == STRING_POOL) {
		uint64_t key = (uint64_t)input_i64(&w->from.in);

		buf_put_u8(w->out, STRING_POOL);
		copy_value_put_number(
			w, copy_reference(w->source, w->source->reader->classes->string, key));
		return;
	}
	if (w->from.in.fixed && encoding > STRING_POOL) {
		text = text_read(&w->from.in, encoding, w->from.memory);
		buf_put_string(w->out, text.data ? text.data : "", text.bytes);
		return;
	}
	text_skip(&w->from.in, encoding);
	if (!w->from.in.failed)
		buf_put(w->out, from, (size_t)(w->from.in.at - from));
}

static void copy_special(struct copy_writer *w, uint8_t flags)
{
	int64_t number = input_i64(&w->from.in);

	if (flags & COPY_TICKS_AT)
		number = copy_moment(w->source, number);
	else if (flags & COPY_TICKS_FOR)
		number = copy_span(w->source, number);
	else if (classes_find(w->source->reader->classes, number))
		number = copy_type_id(w->source, classes_find(w->source->reader->classes, number));
	copy_value_put_number(w, (uint64_t)number);
}

static int is_special(const struct copy_writer *w, uint8_t flags)
{
	if (flags & (COPY_TICKS_AT | COPY_TICKS_FOR))
		return !w->source->same_clock;
	return (flags & COPY_TYPE_ID) && !w->source->own_numbers;
}

static void copy_value_copy_one(struct copy_writer *w, const struct class_field *f, uint8_t flags)
{
	if (f->pooled) {
		uint64_t key = (uint64_t)input_i64(&w->from.in);

		copy_value_put_number(w, (flags & COPY_STACK) && w->without_stack
						 ? 0
						 : copy_reference(w->source, f->type, key));
	} else if (is_special(w, flags)) {
		copy_special(w, flags);
	} else {
		copy_value(w, f->type);
	}
}

void copy_fields(struct copy_writer *w, const struct weft_jfr_class *class)
{
	const uint8_t *flags = w->source->set->classes[class->index].flags;

	for (size_t i = 0; i < class->field_count && !w->from.in.failed; i++) {
		size_t count = 1;

		if (class->fields[i].array) {
			count = input_count(&w->from.in);
			copy_value_put_number(w, count);
		}
		for (; count && !w->from.in.failed; count--)
			copy_value_copy_one(w, &class->fields[i], flags[i]);
	}
}

void copy_value(struct copy_writer *w, const struct weft_jfr_class *class)
{
	if (!w->from.budget--) {
		w->from.budget = 0;
		input_fail(&w->from.in);
	}
	switch (class->shape) {
	case CLASS_STRUCT:
	case CLASS_SIMPLE:
		copy_fields(w, class);
		return;
	case CLASS_STRING:
		copy_string(w);
		return;
	case CLASS_FLOAT:
		copy_value_copy_bytes(w, 4);
		return;
	case CLASS_DOUBLE:
		copy_value_copy_bytes(w, 8);
		return;
	case CLASS_BOOLEAN:
	case CLASS_BYTE:
		copy_value_copy_bytes(w, 1);
		return;
	case CLASS_CHAR:
	case CLASS_SHORT:
		copy_int(w, 2);
		return;
	case CLASS_INT:
		copy_int(w, 4);
		return;
	case CLASS_LONG:
		copy_int(w, 8);
		return;
	case CLASS_BROKEN:
		input_fail(&w->from.in);
		return;
	}
}
