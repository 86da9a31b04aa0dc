/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory runs out at each allocation, one after the other, of each function that changes a set of
 * the program's own or weft's: then nothing has changed, and nothing is lost.
 */
#include <customlabels.h>
#include <weft/context.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALLOCATIONS_MOST 64

/* The allocator under the test's: glibc's. */
extern void *__libc_malloc(size_t bytes), *__libc_calloc(size_t count, size_t bytes);
extern void __libc_free(void *at);

static long left = -1; /* allocations until they fail; < 0: they never do */
static long refused, live;

static int fails(void)
{
	if (left > 0)
		left--;
	else if (left == 0) {
		refused++;
		errno = ENOMEM;
		return 1;
	}
	return 0;
}

void *malloc(size_t bytes)
{
	void *at = fails() ? NULL : __libc_malloc(bytes);

	live += at != NULL;
	return at;
}

void *calloc(size_t count, size_t bytes)
{
	void *at = fails() ? NULL : __libc_calloc(count, bytes);

	live += at != NULL;
	return at;
}

void free(void *at)
{
	live -= at != NULL;
	__libc_free(at);
}

static custom_labels_string_t str(const char *s)
{
	return (custom_labels_string_t){strlen(s), (const unsigned char *)s};
}

static void *same(void *data)
{
	return data;
}

static void *use_all_memory(void *data)
{
	left = left < 0 ? left : 0;
	return data;
}

static int run_with(custom_labels_labelset_t *ls, void *(*f)(void *))
{
	custom_labels_label_t labels[] = {{str("a"), str("A")},
					  {str("new"), str("1")},
					  {str("new"), str("2")},
					  {str("more"), str("3")}};

	return custom_labels_run_with(ls, labels, 4, f, NULL, NULL);
}

enum op { SET_NEW, SET_OLD, DELETE, RUN_WITH, RUN_WITH_THEN_NONE, CLONE, OPS };

static const char *const names[OPS] = {
	"a new label", "another value, the one before asked for",   "delete",
	"run_with",    "run_with, whose callback leaves no memory", "clone",
};

static int take(custom_labels_labelset_t *ls, enum op op)
{
	custom_labels_string_t old = {0};
	custom_labels_labelset_t *clone;
	int failed;

	switch (op) {
	case SET_NEW:
		return custom_labels_set(ls, str("new"), str("v"), NULL);
	case SET_OLD:
		failed = custom_labels_set(ls, str("a"), str("other"), &old);
		free((void *)(uintptr_t)old.buf);
		return failed;
	case DELETE: /* cannot say that it failed, and does not */
		custom_labels_delete(ls, str("b"));
		return custom_labels_get(ls, str("b")) ? ENOMEM : 0;
	case RUN_WITH:
		return run_with(ls, same);
	case RUN_WITH_THEN_NONE:
		return run_with(ls, use_all_memory);
	default:
		clone = custom_labels_clone(ls);
		failed = clone ? 0 : errno;
		custom_labels_free(clone);
		return failed;
	}
}

/* What is in the set, each time in the same order. */
static void show(custom_labels_labelset_t *ls, char *to, size_t room)
{
	static const char *const keys[] = {"a", "b", "new", "more"};
	size_t at = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const custom_labels_label_t *l = custom_labels_get(ls, str(keys[i]));

		if (l)
			at += (size_t)snprintf(to + at, room - at, "%s=%.*s;", keys[i],
					       (int)l->value.len, (const char *)l->value.buf);
	}
	snprintf(to + at, room - at, "%zu", custom_labels_count(ls));
}

/* Nothing is changed when it fails, and all is put back by run_with. */
static int is_unchanged(custom_labels_labelset_t *ls, enum op op, long allocations)
{
	char before[200], after[200];
	int failed;

	custom_labels_delete(ls, str("new"));
	if (custom_labels_set(ls, str("a"), str("x"), NULL) ||
	    custom_labels_set(ls, str("b"), str("y"), NULL))
		return 0;
	show(ls, before, sizeof(before));
	left = allocations;
	failed = take(ls, op);
	left = -1;
	show(ls, after, sizeof(after));
	if (failed != (refused ? ENOMEM : 0))
		printf("# after %ld allocations: %d, and %ld refused\n", allocations, failed,
		       refused);
	else if ((failed || op >= RUN_WITH) && strcmp(before, after) != 0)
		printf("# after %ld allocations: '%s', not '%s'\n", allocations, after, before);
	else
		return 1;
	return 0;
}

/* One allocation more each time, until none is refused. */
static int passes(int of_weft, enum op op, int n)
{
	long before = live, allocations = 0;
	custom_labels_labelset_t *ls = of_weft ? custom_labels_current() : custom_labels_new(1);
	int good = 1;

	do {
		refused = 0;
		good = is_unchanged(ls, op, allocations);
	} while (good && refused && ++allocations < ALLOCATIONS_MOST);
	if (!of_weft)
		custom_labels_free(ls);
	if (live != before)
		printf("# %ld allocations are lost\n", live - before);
	good = good && !refused && (allocations > 0) == (op != DELETE) && live == before;
	printf("%s %d - %s set, %s: with less than %ld allocations nothing changes\n",
	       good ? "ok" : "not ok", n, of_weft ? "weft's" : "own", names[op], allocations);
	return good;
}

int main(void)
{
	int n = 0, status = 0;

	weft_context_set(5, 6);
	for (int of_weft = 0; of_weft < 2; of_weft++)
		for (int op = 0; op < OPS; op++)
			status |= !passes(of_weft, (enum op)op, ++n);
	printf("1..%d\n", n);
	return status;
}
