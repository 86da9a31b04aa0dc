/* SPDX-License-Identifier: Apache-2.0 */
/* customlabels.h: every function for the program's own sets and for weft's. */
#pragma GCC visibility push(default)
#include <customlabels.h>
#pragma GCC visibility pop

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "customlabels/current.h"
#include "customlabels/set.h"

typedef struct weft_custom_labels_label label;
typedef struct weft_custom_labels_string string;

_Static_assert(sizeof(custom_labels_label_t) == sizeof(label) &&
		       offsetof(custom_labels_label_t, value) == offsetof(label, value) &&
		       offsetof(custom_labels_string_t, buf) == offsetof(string, buf),
	       "one layout by two names");

static string api_string_of(custom_labels_string_t s)
{
	return (string){.bytes = s.len, .buf = s.buf};
}

/* The set to read: for any set of weft's, the calling thread's visible one. */
static const struct weft_custom_labels_set *to_read(const custom_labels_labelset_t *ls)
{
	return current_is_weft(ls) ? current_of_weft() : ls;
}

static int api_exchange(custom_labels_labelset_t *ls, label *what, size_t count)
{
	if (current_is_weft(ls))
		return weft_set_exchange(what, count);
	return set_is_ours(ls) ? set_exchange(set_of(ls), what, count) : EINVAL;
}

custom_labels_labelset_t *custom_labels_new(size_t capacity)
{
	struct set *s = set_new(capacity);

	return s ? &s->seen : NULL;
}

void custom_labels_free(custom_labels_labelset_t *ls)
{
	if (!set_is_ours(ls))
		return;
	if (*current_place() == ls)
		current_put(NULL);
	set_free(set_of(ls));
}

custom_labels_labelset_t *custom_labels_current(void)
{
	return *current_place();
}

custom_labels_labelset_t *custom_labels_replace(custom_labels_labelset_t *ls)
{
	custom_labels_labelset_t *old = *current_place();

	current_put(ls);
	return old;
}

/* span-id and root-span-id change at any moment; a copy of them would be out of date. */
static int is_to_be_cloned(const label *l, int of_weft)
{
	static const char *const reserved[] = {WEFT_CUSTOM_LABELS_SPAN_KEY,
					       WEFT_CUSTOM_LABELS_ROOT_KEY};

	for (size_t i = 0; of_weft && l->key.buf && i < 2; i++)
		if (l->key.bytes == strlen(reserved[i]) &&
		    !memcmp(l->key.buf, reserved[i], l->key.bytes))
			return 0;
	return l->key.buf != NULL;
}

static int api_copy_labels(struct set *to, const struct weft_custom_labels_set *from, int of_weft)
{
	for (uint64_t i = 0; i < from->count; i++) {
		const label *l = &from->storage[i];

		if (!is_to_be_cloned(l, of_weft))
			continue;
		if (label_make(&to->seen.storage[to->seen.count], l->key, l->value))
			return ENOMEM;
		to->seen.count++;
	}
	return 0;
}

custom_labels_labelset_t *custom_labels_clone_with_capacity(const custom_labels_labelset_t *ls,
							    size_t capacity)
{
	const struct weft_custom_labels_set *from = to_read(ls);
	uint64_t labels = from ? from->count : 0;
	struct set *s = set_new(capacity < labels ? labels : capacity);

	if (!s)
		return NULL;
	if (from && api_copy_labels(s, from, current_is_weft(ls))) {
		set_free(s);
		return NULL;
	}
	return &s->seen;
}

custom_labels_labelset_t *custom_labels_clone(const custom_labels_labelset_t *ls)
{
	return custom_labels_clone_with_capacity(ls, 0);
}

const custom_labels_label_t *custom_labels_get(custom_labels_labelset_t *ls,
					       custom_labels_string_t key)
{
	const struct weft_custom_labels_set *from = to_read(ls);

	return from && key.buf ? (const void *)set_find(from, api_string_of(key)) : NULL;
}

size_t custom_labels_count(custom_labels_labelset_t *ls)
{
	const struct weft_custom_labels_set *from = to_read(ls);
	size_t count = 0;

	for (uint64_t i = 0; from && i < from->count; i++)
		count += from->storage[i].key.buf != NULL;
	return count;
}

static int api_copy_value(custom_labels_string_t *out, const label *l)
{
	unsigned char *at = malloc(l->value.bytes + 1);

	if (!at)
		return ENOMEM;
	memcpy(at, l->value.buf, l->value.bytes);
	*out = (custom_labels_string_t){.len = l->value.bytes, .buf = at};
	return 0;
}

int custom_labels_careful_set(custom_labels_labelset_t *ls, custom_labels_string_t key,
			      custom_labels_string_t value, custom_labels_string_t *old_value)
{
	const struct weft_custom_labels_set *from = to_read(ls);
	const label *before;
	label what;
	int failed;

	if (old_value)
		*old_value = (custom_labels_string_t){0};
	if (!ls || !key.buf || (!value.buf && value.len))
		return EINVAL;
	failed = label_make(&what, api_string_of(key), api_string_of(value));
	if (failed)
		return failed;
	before = old_value && from ? set_find(from, what.key) : NULL;
	failed = before ? api_copy_value(old_value, before) : 0;
	if (!failed)
		failed = api_exchange(ls, &what, 1);
	if (failed && before) {
		free((void *)(uintptr_t)old_value->buf);
		*old_value = (custom_labels_string_t){0};
	}
	label_free(&what);
	return failed;
}

void custom_labels_careful_delete(custom_labels_labelset_t *ls, custom_labels_string_t key)
{
	label what = {.key = api_string_of(key)};

	if (!ls || !key.buf)
		return;
	if (current_is_weft(ls))
		weft_set_put_back(&what, 1);
	else if (!api_exchange(ls, &what, 1))
		label_free(&what);
}

static int api_make_labels(label *out, const custom_labels_label_t *labels, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int failed = EINVAL;

		if (labels[i].key.buf && (labels[i].value.buf || !labels[i].value.len))
			failed = label_make(&out[i], api_string_of(labels[i].key),
					    api_string_of(labels[i].value));
		if (failed) {
			labels_free(out, i);
			return failed;
		}
	}
	return 0;
}

/* Backwards, so that of equal keys the first one's old value is restored last. */
static int exchange_backwards(struct set *s, label *what, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		label first = what[i];

		what[i] = what[count - 1 - i];
		what[count - 1 - i] = first;
	}
	return set_exchange(s, what, count);
}

static int api_put_back(custom_labels_labelset_t *ls, label *what,
			const custom_labels_label_t *labels, size_t count)
{
	int failed;

	for (size_t i = 0; i < count; i++)
		if (!what[i].value.buf)
			what[i].key = api_string_of(labels[i].key);
	failed = current_is_weft(ls) ? weft_set_put_back(what, count)
				     : exchange_backwards(set_of(ls), what, count);
	labels_free(what, count);
	return failed;
}

static int call_with(custom_labels_labelset_t *ls, label *what, const custom_labels_label_t *labels,
		     size_t count, void *(*f)(void *), void *data, void **out)
{
	int failed = api_make_labels(what, labels, count);
	void *result;

	if (failed)
		return failed;
	failed = api_exchange(ls, what, count);
	if (failed) {
		labels_free(what, count);
		return failed;
	}
	result = f(data);
	if (out)
		*out = result;
	return api_put_back(ls, what, labels, count);
}

int custom_labels_careful_run_with(custom_labels_labelset_t *ls, custom_labels_label_t *labels,
				   int n, void *(*f)(void *), void *data, void **out)
{
	size_t count = (size_t)n;
	label *what;
	int failed;

	if (!ls || !f || n < 0 || (n && !labels))
		return EINVAL;
	what = malloc((count + 1) * sizeof(*what));
	if (!what)
		return ENOMEM;
	failed = call_with(ls, what, labels, count, f, data, out);
	free(what);
	return failed;
}

static unsigned char *api_append(unsigned char *to, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
	return to + bytes;
}

static size_t debug_bytes(const struct weft_custom_labels_set *from)
{
	size_t bytes = 2;

	for (uint64_t i = 0; from && i < from->count; i++)
		if (from->storage[i].key.buf)
			bytes += from->storage[i].key.bytes + from->storage[i].value.bytes + 4;
	return bytes;
}

int custom_labels_debug_string(const custom_labels_labelset_t *ls, custom_labels_string_t *out)
{
	const struct weft_custom_labels_set *from = to_read(ls);
	unsigned char *first = malloc(debug_bytes(from)), *at = first;
	const char *between = "";

	*out = (custom_labels_string_t){0};
	if (!first)
		return ENOMEM;
	at = api_append(at, "{", 1);
	for (uint64_t i = 0; from && i < from->count; i++) {
		const label *l = &from->storage[i];

		if (!l->key.buf)
			continue;
		at = api_append(at, between, strlen(between));
		at = api_append(at, l->key.buf, l->key.bytes);
		at = api_append(at, ": ", 2);
		at = api_append(at, l->value.buf, l->value.bytes);
		between = ", ";
	}
	at = api_append(at, "}", 1);
	*out = (custom_labels_string_t){.len = (size_t)(at - first), .buf = first};
	return 0;
}

/* The shorter names of three. */
#define ALIAS(name, of) extern __typeof__(of) name __attribute__((alias(#of)))
ALIAS(custom_labels_set, custom_labels_careful_set);
ALIAS(custom_labels_delete, custom_labels_careful_delete);
ALIAS(custom_labels_run_with, custom_labels_careful_run_with);
