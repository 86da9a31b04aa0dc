/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies values by their classes. Bytes stay as they are, but for references, ticks of another
 * clock, numbers of types, and integers that the source has in full width.
 */
#include "jfr/common/encode.h"
#include "jfr/common/text.h"
#include "jfr/merge/copy_private.h"

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
		buf_put_leb128(w->out, number);
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
		buf_put_leb128(w->out,
			       copy_reference(w->source, w->source->reader->classes->string, key));
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
	buf_put_leb128(w->out, (uint64_t)number);
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

		buf_put_leb128(w->out, (flags & COPY_STACK) && w->without_stack
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
			buf_put_leb128(w->out, count);
		}
		for (; count && !w->from.in.failed; count--)
			copy_value_copy_one(w, &class->fields[i], flags[i]);
	}
}

void copy_value(struct copy_writer *w, const struct weft_jfr_class *class)
{
	static const uint8_t integers[CLASS_BROKEN] = {
		[CLASS_CHAR] = 2, [CLASS_SHORT] = 2, [CLASS_INT] = 4, [CLASS_LONG] = 8};
	static const uint8_t others[CLASS_BROKEN] = {
		[CLASS_BOOLEAN] = 1, [CLASS_BYTE] = 1, [CLASS_FLOAT] = 4, [CLASS_DOUBLE] = 8};

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
	case CLASS_BROKEN:
		input_fail(&w->from.in);
		return;
	default:
		if (integers[class->shape])
			copy_int(w, integers[class->shape]);
		else
			copy_value_copy_bytes(w, others[class->shape]);
	}
}
