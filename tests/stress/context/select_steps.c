/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread shows by the Custom Labels ABI while that format is switched off and on again,
 * at each instruction (trap flag): nothing, or its labels with the ids of now; never the ids of
 * when the format was last on. x86-64. TAP.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <weft/abi/custom_labels_v1.h>
#include <weft/labels.h>
#include <weft/publish.h>

#define TRAP_FLAG UINT64_C(0x100)
#define OFF WEFT_FORMAT_V1
#define ON (WEFT_FORMAT_V1 | WEFT_FORMAT_LABELS)

extern __thread struct weft_custom_labels_set *custom_labels_current_set;

static unsigned long instructions, stale;
static const char *span_now, *span_before;
static int cases, failures;

static const struct weft_custom_labels_string *span_shown(void)
{
	const struct weft_custom_labels_set *set = custom_labels_current_set;

	return set && set->count && set->storage[0].key.buf ? &set->storage[0].value : NULL;
}

static int says(const struct weft_custom_labels_string *s, const char *text)
{
	return s && text && s->bytes == strlen(text) && !memcmp(s->buf, text, s->bytes);
}

static void on_trap(int signo)
{
	const struct weft_custom_labels_string *span = span_shown();

	(void)signo;
	instructions++;
	stale += span && !says(span, span_now) && !says(span, span_before);
}

static void set_trap_flag(int on)
{
	uint64_t flags;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
	flags = on ? flags | TRAP_FLAG : flags & ~TRAP_FLAG;
	__asm__ volatile("pushq %0; popfq" : : "r"(flags) : "memory", "cc");
}

static void is(int holds, const char *what)
{
	printf("%sok %d - %s\n", holds ? "" : "not ", ++cases, what);
	failures += !holds;
}

/* The cell as another thread's switching leaves it: that comes here with the next write. */
static void switch_on_elsewhere(void)
{
	weft_publish_select(ON);
	custom_labels_current_set = NULL;
}

int main(void)
{
	signal(SIGTRAP, on_trap);
	weft_label_set("a", "1");
	weft_context_set(7, 8);
	span_before = "7";
	set_trap_flag(1);
	weft_publish_select(OFF);
	set_trap_flag(0);
	is(!custom_labels_current_set && !stale, "off: withdrawn");
	weft_context_set(9, 10);
	span_before = NULL;
	span_now = "9";
	set_trap_flag(1);
	weft_publish_select(ON);
	set_trap_flag(0);
	is(says(span_shown(), "9") && !stale, "on: the ids of now, at once");
	weft_publish_select(OFF);
	weft_context_set(11, 12);
	switch_on_elsewhere();
	span_now = "11";
	set_trap_flag(1);
	weft_label_set("a", "1");
	set_trap_flag(0);
	is(says(span_shown(), "11") && !stale,
	   "on elsewhere: with the next write, the same or not");
	weft_publish_select(OFF);
	weft_context_set(13, 14);
	switch_on_elsewhere();
	span_now = "15";
	set_trap_flag(1);
	weft_context_set(15, 16);
	set_trap_flag(0);
	is(says(span_shown(), "15") && !stale, "or with the next context");
	printf("# %lu instructions, %lu stale\n", instructions, stale);
	is(instructions > 300, "there were instructions enough");
	printf("1..%d\n", cases);
	return failures != 0;
}
