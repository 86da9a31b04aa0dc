/* SPDX-License-Identifier: Apache-2.0 */
/* Labels: results, limits, the block's layout, batches, scopes, threads, children. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/abi/custom_labels_v1.h>
#include <weft/labels.h>
#include <weft/publish.h>

#include "children.h"
#include "label_value.h"
#include "runtime/context/context.h"
#include "runtime/core/label_store.h"
#include "unit.h"

/* Labels of our own. */
static int room(void)
{
	const char *max = getenv("WEFT_LABELS_MAX");
	long labels = max ? strtol(max, NULL, 10) : WEFT_CUSTOM_LABELS_DEFAULT;

	if (max && (strspn(max, "0123456789") != strlen(max) || !labels)) /* nonsense */
		labels = WEFT_CUSTOM_LABELS_DEFAULT;
	labels = labels > WEFT_CUSTOM_LABELS_MOST ? WEFT_CUSTOM_LABELS_MOST : labels;
	labels = labels < WEFT_CUSTOM_LABELS_LEAST ? WEFT_CUSTOM_LABELS_LEAST : labels;
	return (int)labels - WEFT_CUSTOM_LABELS_RESERVED;
}

static uint64_t counted(enum weft_counter counter)
{
	return weft_thread_slot->counters[counter];
}

static void begin_anew(void)
{
	weft_context_clear();
	weft_labels_clear();
}

static void results_say_what_happened(void **state)
{
	uint64_t set, updated, removed;

	(void)state;
	if (room() < 2)
		skip();
	begin_anew();
	set = counted(WEFT_COUNTER_LABELS_SET);
	updated = counted(WEFT_COUNTER_LABELS_UPDATED);
	removed = counted(WEFT_COUNTER_LABELS_REMOVED);
	assert_int_equal(weft_label_set("tenant", "acme"), WEFT_LABEL_SET);
	assert_int_equal(weft_label_set("tenant", "acme"), WEFT_LABEL_UPDATED);
	assert_int_equal(weft_label_set("tenant", "other"), WEFT_LABEL_UPDATED);
	assert_string_equal(value_of("tenant"), "other");
	assert_int_equal(weft_label_set("tenant", "third"), WEFT_LABEL_UPDATED);
	assert_string_equal(value_of("tenant"), "third");
	assert_int_equal(weft_label_set("empty", ""), WEFT_LABEL_SET);
	assert_string_equal(value_of("empty"), "");
	assert_int_equal(weft_label_set("empty", NULL), WEFT_LABEL_REMOVED);
	assert_string_equal(value_of("empty"), "(none)");
	assert_int_equal(weft_label_remove("empty"), WEFT_LABEL_ABSENT);
	assert_int_equal(weft_label_remove("tenant"), WEFT_LABEL_REMOVED);
	assert_int_equal(counted(WEFT_COUNTER_LABELS_SET) - set, 2);
	assert_int_equal(counted(WEFT_COUNTER_LABELS_UPDATED) - updated, 3);
	assert_int_equal(counted(WEFT_COUNTER_LABELS_REMOVED) - removed, 2);
}

static void keys_are_not_empty(void **state)
{
	uint64_t invalid;

	(void)state;
	begin_anew();
	invalid = counted(WEFT_COUNTER_LABELS_INVALID);
	assert_int_equal(weft_label_set("", "x"), WEFT_LABEL_INVALID);
	assert_int_equal(weft_label_set(NULL, "x"), WEFT_LABEL_INVALID);
	assert_int_equal(weft_label_remove(NULL), WEFT_LABEL_INVALID);
	assert_int_equal(counted(WEFT_COUNTER_LABELS_INVALID) - invalid, 3);
	assert_int_equal(weft_label_get(NULL, NULL, 0), -1);
	assert_int_equal(weft_label_get("", NULL, 0), -1);
}

/* Also when the label that was changed last, which is looked at first, is gone or as long. */
static void nor_are_they_the_last_ones(void **state)
{
	struct weft_context c = {.span_id = 1, .root_span_id = 2};

	(void)state;
	begin_anew();
	for (int i = 0; i < 3; i++)
		weft_label_set("abcde", i ? "on" : "off");
	assert_int_equal(weft_label_set_bytes(NULL, 5, "x", 1), WEFT_LABEL_INVALID);
	assert_int_equal(weft_label_set("abcde", "value"), WEFT_LABEL_UPDATED);
	assert_int_equal(weft_label_remove("abcde"), WEFT_LABEL_REMOVED);
	assert_int_equal(weft_context_update(&c, NULL, 0, 0), 0);
	assert_int_equal(weft_label_set("", "x"), WEFT_LABEL_INVALID);
	assert_int_equal(weft_label_set_bytes("abcde", 0, "x", 1), WEFT_LABEL_INVALID);
	assert_string_equal(value_of("abcde"), "(none)");
}

static void reserved_ones_are_the_contexts(void **state)
{
	uint64_t reserved;

	(void)state;
	begin_anew();
	reserved = counted(WEFT_COUNTER_LABELS_RESERVED);
	assert_int_equal(weft_label_set("span-id", "1"), WEFT_LABEL_RESERVED);
	assert_int_equal(weft_label_remove("root-span-id"), WEFT_LABEL_RESERVED);
	assert_int_equal(counted(WEFT_COUNTER_LABELS_RESERVED) - reserved, 2);
	assert_int_equal(weft_label_set("span-id2", "1"), WEFT_LABEL_SET);
	assert_string_equal(value_of("span-id"), "(none)");
	weft_context_set(7, UINT64_MAX);
	assert_string_equal(value_of("span-id"), "7");
	assert_string_equal(value_of("root-span-id"), "18446744073709551615");
	assert_int_equal(weft_labels_clear(), 1);
	assert_string_equal(value_of("span-id"), "7");
}

static void no_room_is_said(void **state)
{
	char key[8] = "k0";
	uint64_t refused;

	(void)state;
	begin_anew();
	if (room() < 5)
		skip();
	for (int i = 0; i < room(); i++, key[1]++)
		assert_int_equal(weft_label_set(key, key), WEFT_LABEL_SET);
	refused = counted(WEFT_COUNTER_LABELS_NO_ROOM);
	assert_int_equal(weft_label_set("one more", "x"), WEFT_LABEL_NO_ROOM);
	assert_int_equal(counted(WEFT_COUNTER_LABELS_NO_ROOM) - refused, 1);
	assert_int_equal(weft_label_set("k3", "still"), WEFT_LABEL_UPDATED);
	assert_int_equal(weft_label_remove("k3"), WEFT_LABEL_REMOVED);
	assert_int_equal(weft_label_set("one more", "x"), WEFT_LABEL_SET);
	assert_string_equal(value_of("k2"), "k2");
	assert_string_equal(value_of("k4"), "k4");
	assert_int_equal(weft_labels_clear(), room());
}

/* @unit repeated up to over @limit bytes: where is it cut? */
static size_t cut_at(const char *unit, size_t limit, size_t lead)
{
	char value[1024] = "";

	memset(value, 'x', lead);
	while (strlen(value) <= limit + 4)
		strcat(value, unit);
	assert_int_equal(weft_label_set("cut", value), WEFT_LABEL_TRUNCATED);
	return (size_t)weft_label_get("cut", NULL, 0);
}

static void strings_are_cut_between_characters(void **state)
{
	uint64_t truncated;
	char key[200], value[300];

	(void)state;
	if (room() != 8)
		skip();
	begin_anew();
	truncated = counted(WEFT_COUNTER_LABELS_TRUNCATED);
	assert_int_equal(cut_at("a", 256, 0), 256);
	assert_int_equal(cut_at("\xC3\xA4", 256, 0), 256);
	assert_int_equal(cut_at("\xC3\xA4", 256, 1), 255);
	assert_int_equal(cut_at("\xE2\x82\xAC", 256, 0), 255);
	assert_int_equal(cut_at("\xE2\x82\xAC", 256, 2), 254);
	assert_int_equal(cut_at("\xF0\x9F\x98\x80", 256, 0), 256);
	assert_int_equal(cut_at("\xF0\x9F\x98\x80", 256, 1), 253);
	assert_int_equal(cut_at("\xF0\x9F\x98\x80", 256, 3), 255);
	assert_int_equal(cut_at("\x80", 256, 0), 256); /* no UTF-8: where the room ends */
	assert_int_equal(counted(WEFT_COUNTER_LABELS_TRUNCATED) - truncated, 9);
	memset(key, 'k', sizeof(key));
	key[199] = '\0';
	assert_int_equal(weft_label_set(key, "long key"), WEFT_LABEL_TRUNCATED);
	assert_int_equal(weft_label_get(key, NULL, 0), 8);
	key[128] = '\0';
	assert_string_equal(value_of(key), "long key");
	memset(value, 'v', sizeof(value));
	assert_int_equal(weft_label_set_bytes("exact", 5, value, 256), WEFT_LABEL_SET);
	assert_int_equal(weft_label_set_bytes("exact", 5, value, 257), WEFT_LABEL_TRUNCATED);
	assert_int_equal(weft_label_remove(key), WEFT_LABEL_REMOVED);
}

struct seen {
	char text[1024];
	int stop_after;
};

static int write_down(void *arg, const char *key, size_t key_bytes, const char *value,
		      size_t value_bytes)
{
	struct seen *s = arg;
	size_t at = strlen(s->text);

	snprintf(s->text + at, sizeof(s->text) - at, "%.*s=%.*s;", (int)key_bytes, key,
		 (int)value_bytes, value);
	return s->stop_after && --s->stop_after == 0 ? 42 : 0;
}

static void all_can_be_enumerated(void **state)
{
	struct seen seen = {0};

	(void)state;
	if (room() != 8)
		skip();
	begin_anew();
	weft_label_set("a", "1");
	weft_label_set("b", "2");
	weft_label_set("c", "3");
	weft_label_remove("b");
	weft_context_set(1, 2);
	assert_int_equal(weft_labels_each(write_down, &seen), 0);
	assert_string_equal(seen.text, "span-id=1;root-span-id=2;a=1;c=3;");
	memset(&seen, 0, sizeof(seen));
	seen.stop_after = 3;
	assert_int_equal(weft_labels_each(write_down, &seen), 42);
	assert_string_equal(seen.text, "span-id=1;root-span-id=2;a=1;");
}

/* Like the founding document: set at 0, labels at 24, strings at 344 + 384 N; a twin behind. */
static void the_block_is_the_founding_one(void **state)
{
	const uint8_t *block;
	const struct weft_custom_labels_set *set;

	(void)state;
	if (room() != 8)
		skip();
	begin_anew();
	weft_label_set("a", "1");
	block = weft_thread_slot->labels;
	for (int turn = 0; turn < 2; turn++) {
		set = (const void *)(uintptr_t)weft_thread_slot->ext.label_set;
		if ((const uint8_t *)set == block)
			break;
		weft_label_set("a", turn ? "1" : "2");
	}
	assert_ptr_equal(set, block);
	assert_ptr_equal(set->storage, block + 24);
	assert_int_equal(set->capacity, 10);
	assert_int_equal(set->count, 3);
	assert_ptr_equal(set->storage[2].key.buf, block + 344 + 384 * 2);
	assert_ptr_equal(set->storage[2].value.buf, block + 344 + 384 * 2 + 128);
	assert_null(set->storage[0].key.buf); /* nobody outside reads it here */
	assert_non_null(set->storage[0].value.buf);
	assert_memory_equal(block + 344, "span-id", 7);
	assert_memory_equal(block + 344 + 384, "root-span-id", 12);
}

static void generations_tell_changes(void **state)
{
	uint64_t seq, was;

	(void)state;
	begin_anew();
	weft_label_set("a", "1");
	was = weft_thread_slot->ext.label_generation;
	seq = weft_thread_slot->ext.seq;
	weft_label_set("a", "1");
	assert_int_equal(weft_thread_slot->ext.label_generation, was);
	weft_label_set("a", "2");
	assert_int_equal(weft_thread_slot->ext.label_generation, was + 1);
	assert_int_equal(*((const uint64_t *)(uintptr_t)weft_thread_slot->ext.label_set - 1),
			 was + 1);
	assert_int_equal(weft_thread_slot->ext.seq & 1, 0);
	assert_true(weft_thread_slot->ext.seq > seq);
	assert_int_equal(weft_label_remove("b"), WEFT_LABEL_ABSENT);
	assert_int_equal(weft_thread_slot->ext.label_generation, was + 1);
}

static struct weft_label label(const char *key, const char *value)
{
	return (struct weft_label){.key = key,
				   .key_bytes = strlen(key),
				   .value = value,
				   .value_bytes = value ? strlen(value) : 0};
}

static void batches_are_one_change(void **state)
{
	struct weft_context c = {.span_id = 5, .root_span_id = 6};
	struct weft_label batch[] = {label("a", "2"), label("b", "x"), label("span-id", "9"),
				     label("gone", NULL), label("c", NULL)};
	uint64_t generation;

	(void)state;
	if (room() != 8)
		skip();
	begin_anew();
	weft_label_set("a", "1");
	weft_label_set("c", "1");
	weft_label_set("kept", "1");
	generation = weft_thread_slot->ext.label_generation;
	assert_int_equal(weft_context_update(&c, batch, 5, 0), WEFT_LABEL_RESERVED);
	assert_int_equal(weft_thread_slot->ext.label_generation, generation + 1);
	assert_int_equal(batch[0].result, WEFT_LABEL_UPDATED);
	assert_int_equal(batch[1].result, WEFT_LABEL_SET);
	assert_int_equal(batch[2].result, WEFT_LABEL_RESERVED);
	assert_int_equal(batch[3].result, WEFT_LABEL_ABSENT);
	assert_int_equal(batch[4].result, WEFT_LABEL_REMOVED);
	assert_string_equal(value_of("a"), "2");
	assert_string_equal(value_of("kept"), "1");
	assert_int_equal(weft_context_get().span_id, 5);
	assert_int_equal(weft_thread_slot->ext.seq & 1, 0);
	assert_int_equal(weft_context_update(NULL, batch, 1, WEFT_UPDATE_REPLACE), 0);
	assert_string_equal(value_of("a"), "2");
	assert_string_equal(value_of("b"), "(none)");
	assert_string_equal(value_of("kept"), "(none)");
	assert_int_equal(weft_context_get().span_id, 5);
	assert_int_equal(weft_context_update(NULL, NULL, 0, WEFT_UPDATE_REPLACE), 0);
	assert_string_equal(value_of("a"), "(none)");
}

/* What a model says, a great many times: set, update, remove, clear, batches, scopes. */
#define MODEL_KEYS 12
struct model {
	int value[MODEL_KEYS]; /* 0: none */
	int used;
};

static uint64_t random_state = 88172645463325252u;

static uint32_t any(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 20) % below;
}

static const char *key_text(int key)
{
	static char text[MODEL_KEYS][128];

	snprintf(text[key], sizeof(text[key]), "key %0*d", 1 + key * 7, key);
	return text[key];
}

static const char *value_text(int value)
{
	static char text[300];

	/* many labels leave scopes little room to save them */
	snprintf(text, sizeof(text), "%0*d", 1 + value % (room() > 8 ? 20 : 200), value);
	return text;
}

static void model_agrees(const struct model *m)
{
	for (int i = 0; i < MODEL_KEYS; i++)
		assert_string_equal(value_of(key_text(i)),
				    m->value[i] ? value_text(m->value[i]) : "(none)");
}

static void model_step(struct model *m)
{
	int key = (int)any(MODEL_KEYS), value = 1 + (int)any(1000);

	switch (any(8)) {
	case 0:
		assert_int_equal(weft_label_remove(key_text(key)),
				 m->value[key] ? WEFT_LABEL_REMOVED : WEFT_LABEL_ABSENT);
		m->used -= m->value[key] != 0;
		m->value[key] = 0;
		break;
	case 1:
		if (any(4) == 0) {
			assert_int_equal(weft_labels_clear(), m->used);
			memset(m, 0, sizeof(*m));
		}
		break;
	default:
		if (!m->value[key] && m->used == room()) {
			assert_int_equal(weft_label_set(key_text(key), value_text(value)),
					 WEFT_LABEL_NO_ROOM);
			break;
		}
		assert_int_equal(weft_label_set(key_text(key), value_text(value)),
				 m->value[key] ? WEFT_LABEL_UPDATED : WEFT_LABEL_SET);
		m->used += m->value[key] == 0;
		m->value[key] = value;
	}
}

static void model_scope(struct model *m, int depth)
{
	struct model outer = *m;
	struct weft_scope scope;

	weft_scope_enter(&scope, NULL);
	for (uint32_t i = any(6); i > 0; i--)
		model_step(m);
	if (depth < 4 && room() <= 8 && any(2))
		model_scope(m, depth + 1);
	model_agrees(m);
	weft_scope_leave(&scope);
	*m = outer;
	model_agrees(m);
}

static void as_the_model_says(void **state)
{
	struct model m = {0};

	(void)state;
	begin_anew();
	for (int i = 0; i < 3000; i++) {
		for (uint32_t n = any(8); n > 0; n--)
			model_step(&m);
		model_agrees(&m);
		if (any(3) == 0)
			model_scope(&m, 0);
	}
}

static void scopes_put_back_ids_and_labels(void **state)
{
	struct weft_context inner = {.span_id = 3, .root_span_id = 4};

	(void)state;
	if (room() != 8)
		skip();
	begin_anew();
	weft_context_set(1, 2);
	weft_label_set("a", "outer");
	WEFT_SCOPE (&inner) {
		weft_label_set("a", "inner");
		weft_label_set("b", "inner");
		weft_labels_clear();
		assert_string_equal(value_of("a"), "(none)");
	}
	assert_string_equal(value_of("a"), "outer");
	assert_string_equal(value_of("b"), "(none)");
	assert_int_equal(weft_context_get().span_id, 1);
	assert_int_equal(weft_thread_slot->ext.seq & 1, 0);
}

/* Without room to save a label it is not changed. */
static void scopes_that_cannot_save_refuse(void **state)
{
	struct weft_scope scopes[100];
	char value[257];
	int depth;

	(void)state;
	if (room() != 8)
		skip();
	begin_anew();
	memset(value, 'v', sizeof(value));
	weft_label_set_bytes("a", 1, value, 256);
	for (depth = 0; depth < 100; depth++) {
		weft_scope_enter(&scopes[depth], NULL);
		value[0] = (char)('0' + depth % 64);
		if (weft_label_set_bytes("a", 1, value, 256) == WEFT_LABEL_NO_ROOM)
			break;
	}
	assert_in_range(depth, 20, 99);
	assert_int_equal(value_of("a")[0], '0' + (depth - 1) % 64);
	for (; depth >= 0; depth--)
		weft_scope_leave(&scopes[depth]);
	assert_int_equal(value_of("a")[0], 'v');
	assert_int_equal(weft_label_set("a", "again"), WEFT_LABEL_UPDATED);
}

/* Nor is it replaced: and that is said. */
static void replacing_tells_what_it_cannot_save(void **state)
{
	struct weft_scope scopes[100];
	struct weft_label one = label("b", "x");
	char value[257];
	uint64_t refused;
	int depth;

	(void)state;
	if (room() != 8)
		skip();
	begin_anew();
	memset(value, 'v', sizeof(value));
	weft_label_set_bytes("a", 1, value, 256);
	weft_label_set("b", "y");
	for (depth = 0; depth < 100; depth++) {
		weft_scope_enter(&scopes[depth], NULL);
		value[0] = (char)('0' + depth % 64);
		if (weft_label_set_bytes("a", 1, value, 256) == WEFT_LABEL_NO_ROOM)
			break;
	}
	refused = counted(WEFT_COUNTER_LABELS_NO_ROOM);
	assert_int_equal(weft_context_update(NULL, &one, 1, WEFT_UPDATE_REPLACE),
			 WEFT_LABEL_NO_ROOM);
	assert_int_equal(one.result, WEFT_LABEL_UPDATED);
	assert_int_equal(counted(WEFT_COUNTER_LABELS_NO_ROOM) - refused, 1);
	assert_int_equal(value_of("a")[0], '0' + (depth - 1) % 64);
	for (; depth >= 0; depth--)
		weft_scope_leave(&scopes[depth]);
	assert_string_equal(value_of("b"), "y");
}

/* As a longjmp leaves it: in the hidden set, of which nothing has been shown. */
static void *abandons_its_first(void *arg)
{
	struct weft_label_change c;
	struct weft_slot *slot = weft_thread_claim();

	weft_write_enter(slot, (uint64_t)(uintptr_t)__builtin_frame_address(0), 1);
	weft_store_begin(&c, slot);
	weft_store_put_key(&c, 2, "half", 4);
	if (weft_label_set("a", "1") != WEFT_LABEL_SET)
		return NULL;
	return strcmp(value_of("half"), "(none)") || strcmp(value_of("a"), "1") ||
			       counted(WEFT_COUNTER_PUBLISH_HEALED) != 1
		       ? NULL
		       : arg;
}

/*
 * A context write on an alternate stack above the write that it interrupts: where the thread's
 * stack is known it waits for that one, and where it is not, too; but not for long.
 */
static void *is_interrupted_from_above(void *arg)
{
	struct weft_slot *slot = weft_thread_claim();
	struct weft_label_owner *own = weft_label_owner(slot);
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	int good;

	slot->thread.stack_low = slot->thread.stack_high = 0;
	own->busy = here - 100000;
	weft_publish(slot, WEFT_CHANGED_IDS);
	good = own->busy && own->deferred && !counted(WEFT_COUNTER_PUBLISH_HEALED);
	own->busy_since_ns -= UINT64_C(1100000000);
	weft_publish(slot, WEFT_CHANGED_IDS);
	good &= !own->busy && !own->deferred && counted(WEFT_COUNTER_PUBLISH_HEALED) == 1;
	slot->thread.stack_low = here - 200000;
	slot->thread.stack_high = here + 200000;
	own->busy = here - 100000; /* the same stack: it was left by a longjmp */
	weft_publish(slot, WEFT_CHANGED_IDS);
	good &= !own->busy && counted(WEFT_COUNTER_PUBLISH_HEALED) == 2;
	own->busy = here + 100000; /* in progress, or left long ago */
	weft_publish(slot, WEFT_CHANGED_IDS);
	good &= own->busy && own->deferred;
	own->busy_since_ns -= UINT64_C(1100000000);
	weft_publish(slot, WEFT_CHANGED_IDS);
	good &= own->busy && own->deferred;
	own->busy_since_ns -= UINT64_C(60000000000);
	weft_publish(slot, WEFT_CHANGED_IDS);
	return good && !own->busy ? arg : NULL;
}

static char is_good[] = "good";

static void in_a_thread(void *(*what)(void *))
{
	pthread_t thread;
	void *result = NULL;

	assert_int_equal(pthread_create(&thread, NULL, what, is_good), 0);
	pthread_join(thread, &result);
	assert_non_null(result);
}

static void abandoned_writes_leave_nothing(void **state)
{
	(void)state;
	in_a_thread(abandons_its_first);
	in_a_thread(is_interrupted_from_above);
}

static void *says_its_own(void *arg)
{
	char value[32];

	if (weft_label_get("thread", NULL, 0) != -1)
		return NULL;
	for (int i = 0; i < 2000; i++) {
		snprintf(value, sizeof(value), "%s %d", (const char *)arg, i);
		weft_label_set("thread", value);
		if (strcmp(value, "") == 0 || weft_label_get("thread", NULL, 0) < 0)
			return NULL;
	}
	snprintf(value, sizeof(value), "%s 1999", (const char *)arg);
	{
		char now[32] = "";

		weft_label_get("thread", now, sizeof(now) - 1);
		return strcmp(now, value) ? NULL : arg;
	}
}

/* And a slot that is used again knows nothing of who had it. */
static void threads_have_their_own(void **state)
{
	pthread_t threads[4];
	static char names[4][4] = {"one", "two", "six", "ten"};
	void *result;

	(void)state;
	begin_anew();
	weft_label_set("thread", "main");
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, says_its_own, names[i]),
					 0);
		for (int i = 0; i < 4; i++) {
			pthread_join(threads[i], &result);
			assert_ptr_equal(result, names[i]);
		}
	}
	assert_string_equal(value_of("thread"), "main");
}

static void children_take_labels_along(void **state)
{
	pid_t child;

	(void)state;
	if (room() != 8)
		skip();
	begin_anew();
	weft_label_set("who", "parent");
	weft_label_set("b", "2");
	child = fork();
	if (child == 0) {
		int good = !strcmp(value_of("who"), "parent") && !strcmp(value_of("b"), "2");

		good &= weft_label_set("who", "child") == WEFT_LABEL_UPDATED;
		good &= !strcmp(value_of("who"), "child");
		good &= weft_label_remove("b") == WEFT_LABEL_REMOVED;
		if (fork() == 0)
			_exit(!strcmp(value_of("who"), "child") ? 0 : 1);
		good &= wait(NULL) > 0;
		_exit(good ? 0 : 1);
	}
	assert_int_equal(child_status(child), 0);
	assert_string_equal(value_of("who"), "parent");
	assert_string_equal(value_of("b"), "2");
}

/* Both in the place of its own and in the next one. */
static void scopes_end_in_children(void **state)
{
	struct weft_context inner = {.span_id = 3, .root_span_id = 4};
	struct weft_scope outer_scope, inner_scope;
	pid_t child;

	(void)state;
	if (room() != 8)
		skip();
	begin_anew();
	weft_context_set(1, 2);
	weft_label_set("a", "outside");
	weft_scope_enter(&outer_scope, &inner);
	weft_label_set("a", "outer");
	weft_scope_enter(&inner_scope, NULL);
	weft_label_set("a", "inner");
	weft_label_set("b", "inner");
	child = fork();
	if (child == 0) {
		int good = !strcmp(value_of("b"), "inner");

		if (fork() == 0) {
			weft_scope_leave(&inner_scope);
			weft_scope_leave(&outer_scope);
			_exit(strcmp(value_of("a"), "outside") || weft_context_get().span_id != 1);
		}
		good &= wait(NULL) > 0;
		weft_scope_leave(&inner_scope);
		good &= !strcmp(value_of("a"), "outer") && !strcmp(value_of("b"), "(none)");
		weft_scope_leave(&outer_scope);
		good &= !strcmp(value_of("a"), "outside") && weft_context_get().span_id == 1;
		good &= weft_store_now(weft_thread_slot)->scopes.bytes == 0;
		_exit(good ? 0 : 1);
	}
	assert_int_equal(child_status(child), 0);
	weft_scope_leave(&inner_scope);
	weft_scope_leave(&outer_scope);
	assert_string_equal(value_of("a"), "outside");
}

static void formats_are_selected(void **state)
{
	unsigned int before = weft_publish_selected();

	(void)state;
	assert_int_equal(before, WEFT_FORMAT_V1 | WEFT_FORMAT_LABELS);
	assert_int_equal(weft_publish_select(1u << 7), -EINVAL);
	assert_int_equal(weft_publish_select(WEFT_FORMAT_LABELS), WEFT_FORMAT_LABELS);
	assert_int_equal(weft_publish_selected(), WEFT_FORMAT_LABELS);
	assert_int_equal(weft_publish_select(before), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_are_selected),
		cmocka_unit_test(results_say_what_happened),
		cmocka_unit_test(keys_are_not_empty),
		cmocka_unit_test(nor_are_they_the_last_ones),
		cmocka_unit_test(reserved_ones_are_the_contexts),
		cmocka_unit_test(no_room_is_said),
		cmocka_unit_test(strings_are_cut_between_characters),
		cmocka_unit_test(all_can_be_enumerated),
		cmocka_unit_test(the_block_is_the_founding_one),
		cmocka_unit_test(generations_tell_changes),
		cmocka_unit_test(batches_are_one_change),
		cmocka_unit_test(scopes_put_back_ids_and_labels),
		cmocka_unit_test(scopes_that_cannot_save_refuse),
		cmocka_unit_test(replacing_tells_what_it_cannot_save),
		cmocka_unit_test(abandoned_writes_leave_nothing),
		cmocka_unit_test(as_the_model_says),
		cmocka_unit_test(threads_have_their_own),
		cmocka_unit_test(children_take_labels_along),
		cmocka_unit_test(scopes_end_in_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
