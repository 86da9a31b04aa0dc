/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit-steps [--caught]
 *
 * A thread with ids and labels in all formats ends, instruction by instruction: from the end of
 * its function to the last round of its keys' destructors it runs with the trap flag set, and the
 * SIGTRAP handler looks at each instruction, as who reads from outside may. Never does a pointer
 * of the thread lead into a slot that is no longer its own; the set and the record it leads to are
 * whole as long as it does; and a pointer that is gone does not come back. Several threads, one
 * after the other: each begins with nothing, in a slot that was used before.
 *
 * --caught turns it round, for a slot.c that gives the slot away first. x86-64.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <weft/abi/otel_thread_context.h>
#include <weft/publish.h>

#include "runtime/context/labels.h"
#include "runtime/core/runtime.h"

#define TRAP_FLAG UINT64_C(0x100)
#define LIVES 6
#define ROUNDS 4 /* of destructors */

extern __thread struct weft_custom_labels_set *custom_labels_current_set;
extern __thread struct weft_otel_record *otel_thread_ctx_v1;

static struct {
	const struct weft_slot *slot; /* the one whose end is looked at */
	uint64_t *state, was;
	unsigned long instructions, shown, withdrawn, gone, wrong;
	int labels_left, otel_left;
	const char *complaint;
} seen;

static pthread_key_t key;
static int slots_again, begun_with_something;

static void complain(const char *what)
{
	seen.complaint = seen.wrong++ ? seen.complaint : what;
}

static int says(const struct weft_custom_labels_string *s, const char *text)
{
	return s->buf && s->bytes == strlen(text) && !memcmp(s->buf, text, s->bytes);
}

static void look_at_set(const struct weft_custom_labels_set *set)
{
	const struct weft_custom_labels_label *l = set->storage;

	if (set->count != 3 || !says(&l[0].key, "span-id") || !says(&l[0].value, "7") ||
	    !says(&l[1].value, "8") || !says(&l[2].key, "who") || !says(&l[2].value, "me"))
		complain("a set that is not whole");
}

static void look_at_record(const struct weft_otel_record *r)
{
	if (r->valid && (r->span_id[7] != 7 || r->trace_id[0] != 9 || r->attributes_bytes < 4))
		complain("a record that is not whole");
}

/* At each instruction. */
static void on_trap(int signo)
{
	const struct weft_custom_labels_set *set = custom_labels_current_set;
	const struct weft_otel_record *record = otel_thread_ctx_v1;
	int is_its_own = __atomic_load_n(seen.state, __ATOMIC_ACQUIRE) == seen.was;

	(void)signo;
	seen.instructions++;
	if (!is_its_own && (set || record || weft_thread_slot))
		complain("a pointer into a slot that has gone");
	if (!weft_thread_slot && (set || record))
		complain("a pointer that outlives the thread's own");
	if ((set && seen.labels_left) || (record && seen.otel_left))
		complain("a pointer that comes back");
	if (set && is_its_own)
		look_at_set(set);
	if (record && is_its_own)
		look_at_record(record);
	seen.labels_left |= !set;
	seen.otel_left |= !record;
	seen.shown += set && record;
	seen.withdrawn += !set && !record && is_its_own;
	seen.gone += !is_its_own;
}

static void set_trap_flag(int on)
{
	uint64_t flags;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
	flags = on ? flags | TRAP_FLAG : flags & ~TRAP_FLAG;
	__asm__ volatile("pushq %0; popfq" : : "r"(flags) : "memory", "cc");
}

/* A key of the program's, made after weft's own: in each round it comes after that. */
static void on_end(void *value)
{
	const char *round = value;

	if (*round > 1)
		pthread_setspecific(key, round + 1);
	else
		set_trap_flag(0);
}

static void *live(void *arg)
{
	static const char rounds[] = {ROUNDS, ROUNDS - 1, ROUNDS - 2, ROUNDS - 3};
	const struct weft_context c = {.span_id = 7, .root_span_id = 8, .trace_id = {9}};
	struct weft_slot *slot = weft_thread_claim();

	(void)arg;
	begun_with_something |= custom_labels_current_set || otel_thread_ctx_v1 ||
				weft_label_get("who", NULL, 0) >= 0 ||
				weft_label_get("span-id", NULL, 0) >= 0;
	weft_label_set("who", "somebody");
	weft_label_set("who", "me");
	weft_context_write(&c);
	slots_again += slot == seen.slot;
	seen.slot = slot;
	seen.state = &weft_rt.states[weft_rt_index(slot)];
	seen.was = *seen.state;
	seen.labels_left = seen.otel_left = 0;
	pthread_setspecific(key, rounds);
	set_trap_flag(1);
	return NULL;
}

static int check(int is_true, int number, const char *text)
{
	printf("%sok %d - %s\n", is_true ? "" : "not ", number, text);
	return is_true;
}

int main(int argc, char **argv)
{
	int is_caught = argc > 1 && !strcmp(argv[1], "--caught"), good;
	pthread_t thread;

	(void)weft_thread_claim(); /* which makes the key of weft's, if nobody has yet */
	if (weft_publish_select(7) != 7 || pthread_key_create(&key, on_end))
		return 1;
	signal(SIGTRAP, on_trap);
	for (int i = 0; i < LIVES; i++) {
		if (pthread_create(&thread, NULL, live, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("# %lu instructions: %lu shown, %lu withdrawn, %lu gone, %lu wrong; %d slots "
	       "again\n",
	       seen.instructions, seen.shown, seen.withdrawn, seen.gone, seen.wrong, slots_again);
	if (seen.complaint)
		printf("# %s\n", seen.complaint);
	good = check(seen.instructions > 1000 && seen.shown > 100 && seen.gone > 100, 1,
		     "there were instructions enough before and after");
	good &= check(is_caught ? seen.wrong > 0 : !seen.wrong && seen.withdrawn > 0, 2,
		      is_caught ? "found out" : "pointers go before the slot does");
	good &= check(is_caught || (slots_again > 0 && !begun_with_something), 3,
		      "who gets the slot next begins with nothing");
	printf("1..3\n");
	return good ? 0 : 1;
}
