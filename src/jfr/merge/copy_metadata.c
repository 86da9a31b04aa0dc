/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source's metadata with the output's numbers of types. The string table gets new numbers at its
 * end; in the tree `id` and `class` of elements lead to them, all else is copied element by
 * element. The n-th class element is the n-th class of the set, as classes.c reads them.
 */
#include "jfr/common/encode.h"
#include "jfr/merge/copy_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST_ELEMENT 32

struct rewrite {
	struct copy_source *source;
	const struct class_set *set;
	const struct copy_class *classes;
	struct input in;
	struct buf added, tree; /* strings that are new */
	size_t added_count;
	struct map *places; /* of new strings */
	uint32_t class;     /* number of the next class element */
	int in_class, failed;
};

static uint32_t take_index(struct rewrite *w)
{
	uint32_t index = (uint32_t)input_i32(&w->in);

	if (index < w->set->string_count)
		return index;
	input_fail(&w->in);
	return 0;
}

static int copy_metadata_is(const struct rewrite *w, uint32_t index, const char *word)
{
	const struct class_set *set = w->set;

	return index < set->string_count && set->strings[index].data &&
	       strcmp(set->strings[index].data, word) == 0;
}

/* The index of a number as a string. */
static uint64_t number_index(struct rewrite *w, uint64_t number, uint32_t as_it_was)
{
	char text[24];
	int length = snprintf(text, sizeof(text), "%llu", (unsigned long long)number), fresh;
	uint64_t *place;

	if (copy_metadata_is(w, as_it_was, text))
		return as_it_was;
	place = map_put(w->places, text, (size_t)length, &fresh);
	if (!place) {
		w->failed = -ENOMEM;
		return as_it_was;
	}
	if (fresh) {
		*place = w->set->string_count + w->added_count++;
		buf_put_string(&w->added, text, (size_t)length);
	}
	return *place;
}

static uint64_t type_index(struct rewrite *w, uint32_t value)
{
	const char *text = w->set->strings[value].data;
	int64_t id = text ? strtoll(text, NULL, 10) : 0;
	const struct weft_jfr_class *class = classes_find(w->set, id);
	struct copy_type *type =
		class ? w->classes[class->index].type : copy_type_undeclared(w->source, id);

	if (type)
		return number_index(w, type->id, value);
	w->failed = -ENOMEM;
	return value;
}

static uint64_t copy_metadata_new_value(struct rewrite *w, uint32_t key, uint32_t value,
					int is_class, int refers)
{
	if (w->in.failed || w->failed)
		return value;
	if (is_class && copy_metadata_is(w, key, "id") && w->class < w->set->count)
		return number_index(w, w->classes[w->class].type->id, value);
	if (refers && copy_metadata_is(w, key, "class"))
		return type_index(w, value);
	return value;
}

static void rewrite_element(struct rewrite *w, int depth);

static void rewrite_children(struct rewrite *w, int depth)
{
	size_t count = input_count(&w->in);

	buf_put_leb128(&w->tree, count);
	for (; count && !w->in.failed && !w->failed; count--)
		rewrite_element(w, depth + 1);
}

static void rewrite_element(struct rewrite *w, int depth)
{
	uint32_t name = take_index(w);
	int is_class = copy_metadata_is(w, name, "class") && !w->in_class, outer = w->in_class;
	int refers = copy_metadata_is(w, name, "field") ||
		     copy_metadata_is(w, name, "annotation") ||
		     copy_metadata_is(w, name, "setting");
	size_t count = input_count(&w->in);

	if (depth > DEEPEST_ELEMENT)
		input_fail(&w->in);
	buf_put_leb128(&w->tree, name);
	buf_put_leb128(&w->tree, count);
	for (; count && !w->in.failed && !w->failed; count--) {
		uint32_t key = take_index(w), value = take_index(w);

		buf_put_leb128(&w->tree, key);
		buf_put_leb128(&w->tree, copy_metadata_new_value(w, key, value, is_class, refers));
	}
	if (is_class) {
		w->class ++;
		w->in_class = 1;
	} else if (copy_metadata_is(w, name, "setting")) {
		w->in_class = 0;
	}
	rewrite_children(w, depth);
	w->in_class = outer;
}

static void copy_metadata_join(struct rewrite *w, struct buf *out)
{
	buf_put_leb128(out, w->set->string_count + w->added_count);
	for (size_t i = 0; i < w->set->string_count; i++) {
		const struct weft_jfr_string *s = &w->set->strings[i];

		if (s->data)
			buf_put_string(out, s->data, s->bytes);
		else
			buf_put_u8(out, STRING_NULL);
	}
	buf_put(out, w->added.data, w->added.size);
	buf_put(out, w->tree.data, w->tree.size);
	if (w->added.failed || w->tree.failed || out->failed)
		w->failed = -ENOMEM;
}

int copy_metadata(struct copy_source *s, struct copy_set *set)
{
	struct rewrite w = {
		.source = s,
		.set = set->set,
		.classes = set->classes,
		.in = {.at = set->set->bytes + set->set->tree,
		       .end = set->set->bytes + set->set->byte_count,
		       .fixed = set->set->fixed},
		.places = map_new(),
	};

	if (!w.places)
		return -ENOMEM;
	rewrite_element(&w, 0);
	if (!w.failed && !w.in.failed)
		copy_metadata_join(&w, &set->metadata);
	if (!w.failed && w.in.failed)
		w.failed = -EBADMSG;
	map_free(w.places);
	buf_free(&w.added);
	buf_free(&w.tree);
	return w.failed;
}
