/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes and their labels: every way out of one, jumps among them, and scopes that move. */
#include <stdio.h>
#include <string.h>

#include <weft/labels.h>

#include "runtime/label_store.h"
#include "unit.h"

static const char *value_of(const char *key)
{
	static char value[512];
	ssize_t bytes = weft_label_get(key, value, sizeof(value) - 1);

	if (bytes < 0)
		return "(none)";
	value[bytes] = '\0';
	return value;
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

static jmp_buf far_out;

/* Frames of several sizes, so that one scope lies where another's middle was. */
static __attribute__((noinline)) void leave_by_jump(unsigned int depth, const char *value)
{
	struct weft_context c = {.span_id = 5, .root_span_id = 6};
	volatile char room[64];

	room[depth % sizeof(room)] = (char)depth;
	if (depth % 5) {
		leave_by_jump(depth - 1, value);
		room[0]++;
	}
	WEFT_SCOPE (&c) {
		weft_label_set_bytes("a", 1, value, 256);
		longjmp(far_out, 1);
	}
}

static __attribute__((noinline)) void jump_often(unsigned int times)
{
	volatile unsigned int i, refused = 0;
	char value[257];

	memset(value, 'v', sizeof(value));
	for (i = 0; i < times; i++) {
		value[0] = (char)('A' + i % 26);
		if (!setjmp(far_out))
			leave_by_jump(i, value);
		refused += value_of("a")[0] != 'A' + (char)(i % 26);
	}
	assert_int_equal(refused, 0);
}

static void scopes_left_by_a_jump_give_their_room_back(void **state)
{
	struct weft_context c = {.span_id = 3, .root_span_id = 4};
	uint64_t refused;

	(void)state;
	begin_anew();
	refused = counted(WEFT_COUNTER_LABELS_NO_ROOM);
	weft_label_set("a", "outside");
	jump_often(3000);
	weft_label_set("b", "outside");
	WEFT_SCOPE (&c) {
		weft_label_set("b", "within");
		weft_label_set("c", "within");
		jump_often(3000);
		WEFT_SCOPE (NULL) {
			weft_label_set("c", "deeper");
			jump_often(3000);
			weft_label_set("d", "deeper");
		}
		assert_string_equal(value_of("c"), "within");
		assert_string_equal(value_of("d"), "(none)");
	}
	assert_string_equal(value_of("b"), "outside");
	assert_string_equal(value_of("c"), "(none)");
	assert_int_equal(counted(WEFT_COUNTER_LABELS_NO_ROOM), refused);
	weft_labels_clear();
	assert_int_equal(weft_label_set("a", "again"), WEFT_LABEL_SET);
}

/* Guards move: two of them may have begun in one place. They are never taken for left. */
static __attribute__((noinline)) struct weft_scope movable(void)
{
	struct weft_scope scope;

	weft_scope_enter(&scope, NULL);
	return scope;
}

static void scopes_that_move_are_kept(void **state)
{
	struct weft_scope scopes[100];
	char value[257];
	int depth;

	(void)state;
	begin_anew();
	memset(value, 'v', sizeof(value));
	weft_label_set_bytes("a", 1, value, 256);
	for (depth = 0; depth < 100; depth++) {
		scopes[depth] = movable();
		value[0] = (char)('0' + depth % 64);
		if (weft_label_set_bytes("a", 1, value, 256) == WEFT_LABEL_NO_ROOM)
			break;
	}
	assert_in_range(depth, 20, 99);
	for (; depth > 0; depth--) {
		weft_scope_leave(&scopes[depth]);
		assert_int_equal(value_of("a")[0], '0' + (depth - 1) % 64);
	}
	weft_scope_leave(&scopes[0]);
	assert_int_equal(value_of("a")[0], 'v');
}

static int ways_out(int way)
{
	const struct weft_context c = {.span_id = 9, .root_span_id = 9};
	int rounds = 0;

	for (int i = 0; i < 2; i++) {
		rounds++;
		WEFT_SCOPE (&c) {
			weft_label_set("a", "within");
			if (way == 1)
				break;
			if (way == 2)
				continue;
			if (way == 3)
				goto out;
			if (way == 4)
				return rounds;
			rounds += 10;
		}
		rounds += 100;
	}
out:
	return rounds;
}

/* As the header says: break and continue leave the block, not the loop. */
static void every_way_out_puts_back(void **state)
{
	static const int rounds[] = {222, 202, 202, 1, 1};
	uint32_t before;

	(void)state;
	begin_anew();
	weft_context_set(1, 2);
	weft_label_set("a", "outside");
	before = weft_store_now(weft_thread_slot)->scopes.scopes;
	for (int way = 0; way < 5; way++) {
		assert_int_equal(ways_out(way), rounds[way]);
		assert_int_equal(weft_context_get().span_id, 1);
		assert_string_equal(value_of("a"), "outside");
		assert_int_equal(weft_store_now(weft_thread_slot)->scopes.scopes, before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scopes_that_move_are_kept),
		cmocka_unit_test(every_way_out_puts_back),
		/* The last one: such scopes stay counted as open. */
		cmocka_unit_test(scopes_left_by_a_jump_give_their_room_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
