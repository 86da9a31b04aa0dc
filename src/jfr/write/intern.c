/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of threads, methods and stacks. A value's key in its pool is its encoding, from
 * which the ids that it refers to are read back when it is marked.
 */
#include "jfr/common/encode.h"
#include "jfr/common/input.h"
#include "jfr/common/types.h"
#include "jfr/write/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FRAMES ((size_t)16384)
#define ACC_NATIVE 0x100

static uint64_t intern_scratch(struct weft_jfr_writer *w, enum pool_name pool, int fresh)
{
	struct pool *p = &w->pools[pool];
	uint64_t id = 0;

	if (w->scratch.failed)
		w->scratch.failed = 0;
	else if (fresh)
		id = pool_add(p, w->scratch.data, w->scratch.size);
	else
		id = pool_intern(p, w->scratch.data, w->scratch.size);
	if (!id)
		errno = ENOMEM;
	return id;
}

static uint64_t intern_one_text(struct weft_jfr_writer *w, enum pool_name pool, const char *text,
				size_t bytes)
{
	buf_clear(&w->scratch);
	/* converters insist on encoding 3 for symbols, even empty ones */
	if (!bytes) {
		buf_put_u8(&w->scratch, STRING_UTF8);
		buf_put_u8(&w->scratch, 0);
	} else {
		buf_put_string(&w->scratch, text, bytes);
	}
	return intern_scratch(w, pool, 0);
}

uint64_t intern_symbol(struct weft_jfr_writer *w, const char *text, size_t bytes)
{
	return intern_one_text(w, POOL_SYMBOL, text, bytes);
}

uint64_t intern_text(struct weft_jfr_writer *w, const char *text, size_t bytes)
{
	uint64_t id = intern_one_text(w, POOL_STRING, text, bytes);

	if (id)
		pool_mark(&w->pools[POOL_STRING], id, w->chunk);
	return id;
}

static uint64_t intern_group(struct weft_jfr_writer *w, const char *name)
{
	buf_clear(&w->scratch);
	buf_put_leb128(&w->scratch, 0); /* parent */
	buf_put_string(&w->scratch, name, strlen(name));
	return intern_scratch(w, POOL_GROUP, 0);
}

uint64_t weft_jfr_thread(struct weft_jfr_writer *w, const struct weft_jfr_thread *thread, int fresh)
{
	const char *name = thread->name ? thread->name : "";
	uint64_t group = 0;

	if (thread->group) {
		group = intern_group(w, thread->group);
		if (!group)
			return 0;
	}
	buf_clear(&w->scratch);
	/* the group comes first here so that marking finds it; chunk_put_thread() moves it */
	buf_put_leb128(&w->scratch, group);
	buf_put_string(&w->scratch, name, strlen(name));
	buf_put_leb128(&w->scratch, (uint64_t)thread->os_id);
	if (thread->java_name)
		buf_put_string(&w->scratch, thread->java_name, strlen(thread->java_name));
	else
		buf_put_u8(&w->scratch, STRING_NULL);
	buf_put_leb128(&w->scratch, (uint64_t)thread->java_id);
	return intern_scratch(w, POOL_THREAD, fresh);
}

/*
 * Readers take a class whose name begins with a bracket for an array, and JMC throws where the rest
 * names no type: "[vdso]" is written as "<vdso>".
 */
static uint64_t intern_class_name(struct weft_jfr_writer *w, const char *name)
{
	size_t bytes = strlen(name);
	char *copy;
	uint64_t id;

	if (name[0] != '[')
		return intern_symbol(w, name, bytes);
	copy = strdup(name);
	if (!copy) {
		errno = ENOMEM;
		return 0;
	}
	copy[0] = '<';
	if (copy[bytes - 1] == ']')
		copy[bytes - 1] = '>';
	id = intern_symbol(w, copy, bytes);
	free(copy);
	return id;
}

static uint64_t intern_class(struct weft_jfr_writer *w, const char *name)
{
	uint64_t symbol = intern_class_name(w, name);

	if (!symbol)
		return 0;
	buf_clear(&w->scratch);
	buf_put_leb128(&w->scratch, 0); /* classLoader */
	buf_put_leb128(&w->scratch, symbol);
	buf_put_leb128(&w->scratch, 0); /* package */
	buf_put_leb128(&w->scratch, 0); /* modifiers */
	buf_put_u8(&w->scratch, 0);     /* hidden */
	return intern_scratch(w, POOL_CLASS, 0);
}

/* A path in a descriptor, with all bytes escaped that could end the descriptor. */
static void put_path(struct buf *b, const char *path)
{
	static const char digit[] = "0123456789ABCDEF";

	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (!strchr("%()[;", *path) && c >= ' ' && c != 0x7F) {
			buf_put_u8(b, c);
			continue;
		}
		buf_put_u8(b, '%');
		buf_put_u8(b, (uint8_t)digit[c >> 4]);
		buf_put_u8(b, (uint8_t)digit[c & 15]);
	}
}

/*
 * The source file as a method descriptor, "()L/src/a.c;" or "()L./a.c;": a return type, for readers
 * that look at it. No class has such a name, so it marks native functions with a file.
 */
static uint64_t intern_descriptor(struct weft_jfr_writer *w, const char *file)
{
	struct buf text = {0};
	uint64_t id = 0;

	if (!file || !file[0])
		return w->descriptor;
	buf_put(&text, "()L", 3);
	if (file[0] != '/' && strncmp(file, "./", 2) != 0)
		buf_put(&text, "./", 2);
	put_path(&text, file);
	buf_put_u8(&text, ';');
	if (!text.failed)
		id = intern_symbol(w, (const char *)text.data, text.size);
	buf_free(&text);
	return id;
}

uint64_t weft_jfr_method_in(struct weft_jfr_writer *w, const char *module, const char *function,
			    const char *file)
{
	uint64_t class = intern_class(w, module ? module : "");
	uint64_t name = intern_symbol(w, function, function ? strlen(function) : 0);
	uint64_t descriptor = intern_descriptor(w, file);

	if (!class || !name || !descriptor)
		return 0;
	buf_clear(&w->scratch);
	buf_put_leb128(&w->scratch, class);
	buf_put_leb128(&w->scratch, name);
	buf_put_leb128(&w->scratch, descriptor);
	buf_put_leb128(&w->scratch, ACC_NATIVE);
	buf_put_u8(&w->scratch, 0); /* hidden */
	return intern_scratch(w, POOL_METHOD, 0);
}

uint64_t weft_jfr_method(struct weft_jfr_writer *w, const char *module, const char *function)
{
	return weft_jfr_method_in(w, module, function, NULL);
}

int weft_jfr_forget_stacks(struct weft_jfr_writer *w)
{
	if (w->chunk_events)
		return -EBUSY;
	pool_forget(&w->pools[POOL_STACK]);
	return 0;
}

static int by_id(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* The groups of all threads that there are; @room for as many as there are threads. */
static size_t groups_of_threads(const struct pool *threads, uint64_t *room)
{
	size_t count = 0;

	for (size_t i = 0; i < threads->count; i++) {
		struct input value = {0};
		size_t bytes;

		value.at = pool_value(threads, pool_id(threads, i), &bytes);
		value.end = value.at + bytes;
		room[count] = input_leb128(&value);
		count += room[count] != 0;
	}
	qsort(room, count, sizeof(*room), by_id);
	return count;
}

int weft_jfr_keep_threads(struct weft_jfr_writer *w, const uint64_t *ids, size_t count)
{
	uint64_t *sorted;
	int rc;

	if (w->chunk_events)
		return -EBUSY;
	sorted = malloc((count + 1) * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	if (count)
		memcpy(sorted, ids, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_id);
	rc = pool_retain(&w->pools[POOL_THREAD], sorted, count);
	if (rc == 0) /* those that are left are no more than @count */
		rc = pool_retain(&w->pools[POOL_GROUP], sorted,
				 groups_of_threads(&w->pools[POOL_THREAD], sorted));
	free(sorted);
	return rc;
}

static uint8_t *encode_frame(const struct weft_jfr_writer *w, uint8_t *to,
			     const struct weft_jfr_frame *f)
{
	if (!pool_has(&w->pools[POOL_METHOD], f->method) ||
	    (unsigned int)f->type > WEFT_JFR_FRAME_KERNEL)
		return NULL;
	to = encode_leb128(to, f->method);
	to = encode_leb128(to, (uint32_t)f->line);
	to = encode_leb128(to, (uint32_t)f->bytecode_index);
	return encode_leb128(to, f->type);
}

uint64_t weft_jfr_stack(struct weft_jfr_writer *w, const struct weft_jfr_frame *frames,
			size_t count, int truncated)
{
	uint8_t *start, *to;

	if (count > MOST_FRAMES) {
		count = MOST_FRAMES;
		truncated = 1;
	}
	buf_clear(&w->scratch);
	start = to = buf_reserve(&w->scratch, (2 + 4 * count) * LEB128_MAX);
	if (!start)
		return intern_scratch(w, POOL_STACK, 0);
	*to++ = truncated != 0;
	to = encode_leb128(to, count);
	for (size_t i = 0; i < count; i++) {
		to = encode_frame(w, to, &frames[i]);
		if (!to) {
			errno = EINVAL;
			return 0;
		}
	}
	w->scratch.size = (size_t)(to - start);
	return intern_scratch(w, POOL_STACK, 0);
}

/* Marks an entry: 1 when that is new, and its encoding is to be read from @value. */
static int intern_mark(struct weft_jfr_writer *w, enum pool_name pool, uint64_t id,
		       struct input *value)
{
	size_t bytes;

	if (!pool_mark(&w->pools[pool], id, w->chunk))
		return 0;
	value->at = pool_value(&w->pools[pool], id, &bytes);
	value->end = value->at + bytes;
	return 1;
}

static void mark_class(struct weft_jfr_writer *w, uint64_t id)
{
	struct input value = {0};

	if (!intern_mark(w, POOL_CLASS, id, &value))
		return;
	input_leb128(&value); /* classLoader */
	pool_mark(&w->pools[POOL_SYMBOL], input_leb128(&value), w->chunk);
}

static void mark_method(struct weft_jfr_writer *w, uint64_t id)
{
	struct input value = {0};

	if (!intern_mark(w, POOL_METHOD, id, &value))
		return;
	mark_class(w, input_leb128(&value));
	pool_mark(&w->pools[POOL_SYMBOL], input_leb128(&value), w->chunk);
	pool_mark(&w->pools[POOL_SYMBOL], input_leb128(&value), w->chunk);
}

void mark_stack(struct weft_jfr_writer *w, uint64_t id)
{
	struct input value = {0};
	uint64_t count;

	if (!intern_mark(w, POOL_STACK, id, &value))
		return;
	input_u8(&value); /* truncated */
	for (count = input_leb128(&value); count; count--) {
		mark_method(w, input_leb128(&value));
		for (int i = 0; i < 3; i++) /* line, bytecode index, type */
			input_leb128(&value);
	}
}

void mark_thread(struct weft_jfr_writer *w, uint64_t id)
{
	struct input value = {0};
	uint64_t group;

	if (!intern_mark(w, POOL_THREAD, id, &value))
		return;
	group = input_leb128(&value);
	if (group)
		pool_mark(&w->pools[POOL_GROUP], group, w->chunk);
}
