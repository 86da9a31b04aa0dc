/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's own set (custom_labels_replace()) while coroutines come and go: it stays where the
 * program has put it, on the thread, and weft's sets of all of them are there behind it. TAP.
 */
#include <stdio.h>
#include <string.h>

#include <customlabels.h>
#include <weft/coro_carry.h>
#include <weft/labels.h>

#define CARRY (&weft_coro_carry_v1)

static struct weft_coro a = {.id = 1, .flags = WEFT_CORO_DETACHED};
static struct weft_coro b = {.id = 2, .flags = WEFT_CORO_DETACHED};
static int cases, failures;

static void is(int holds, const char *what)
{
	printf("%sok %d - %s\n", holds ? "" : "not ", ++cases, what);
	failures += !holds;
}

static custom_labels_string_t str(const char *s)
{
	return (custom_labels_string_t){.len = strlen(s), .buf = (const unsigned char *)s};
}

/* In the set that outside readers find, and in weft's own; NULL: it is not there. */
static int both_say(const char *seen, const char *own)
{
	const custom_labels_label_t *l = custom_labels_get(custom_labels_current(), str("tenant"));
	char text[64] = "";
	ssize_t bytes = weft_label_get("tenant", text, sizeof(text) - 1);

	if (seen ? !l || l->value.len != strlen(seen) || memcmp(l->value.buf, seen, l->value.len)
		 : l != NULL)
		return 0;
	return own ? bytes == (ssize_t)strlen(own) && !strcmp(text, own) : bytes == -1;
}

static void begin(void)
{
	weft_context_set(1, 1);
	weft_label_set("tenant", "thread");
	CARRY->create(&a, 1);
	CARRY->create(&b, 1);
	CARRY->resume(&a, 1);
	weft_context_set(2, 2);
	weft_label_set("tenant", "a");
	is(both_say("a", "a"), "a coroutine's labels are seen");
}

static void switches_under(custom_labels_labelset_t *own)
{
	CARRY->suspend(&a, 1);
	is(both_say("own", "thread"), "suspended: it is where it was");
	CARRY->resume(&b, 1);
	is(both_say("own", NULL), "in a coroutine without labels");
	weft_context_set(3, 3);
	is(weft_label_set("tenant", "b") == WEFT_LABEL_SET && both_say("own", "b"),
	   "which gets its first label behind it");
	is(custom_labels_current() == own, "it is the one that is current");
	CARRY->resume(&a, 1);
	is(both_say("own", "a"), "in two, one on top of the other");
}

int main(void)
{
	custom_labels_labelset_t *own = custom_labels_new(1), *old;

	if (!own || custom_labels_set(own, str("tenant"), str("own"), NULL))
		return 99;
	begin();
	old = custom_labels_replace(own);
	is(both_say("own", "a"), "the program's own in its place");
	switches_under(own);
	is(custom_labels_replace(NULL) == own && both_say(NULL, "a"), "gone: nothing is seen");
	CARRY->suspend(&a, 1);
	is(both_say("b", "b"), "until the next change, as of the one below");
	custom_labels_replace(own);
	CARRY->destroy(&b, 1);
	is(both_say("own", "thread"), "one that is destroyed under it");
	custom_labels_replace(old);
	is(both_say("thread", "thread"),
	   "the set that was there once, another's now: the thread's");
	CARRY->resume(&a, 1);
	is(both_say("a", "a") && weft_context_get().span_id == 2, "and each its own again");
	CARRY->destroy(&a, 1);
	is(both_say("thread", "thread") && weft_context_get().span_id == 1, "to the end");
	custom_labels_free(own);
	printf("1..%d\n", cases);
	return failures != 0;
}
