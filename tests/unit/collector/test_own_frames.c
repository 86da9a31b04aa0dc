/* SPDX-License-Identifier: Apache-2.0 */
/* Description: stacks read as without weft, and what weft itself used stays to be seen. */
#include "collector/walk/walking.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FRAMES 8

static const struct code app = {.name = "shop"}, libc = {.name = "libc.so.6"},
			 runtime = {.name = "libweft.so"}, late = {.name = "libweft-late.so"},
			 waits = {.name = "libweft-waits.so"},
			 writer = {.name = "libweft-jfr.so.0"}, vdso = {.name = "[vdso]"};

/* Leaf first, as walked; @expected: a digit for each frame, 1 = hidden. */
static void check(const struct code *const *frames, size_t count, size_t first,
		  const char *expected)
{
	struct walked_stack *w = calloc(1, sizeof(*w) + FRAMES * sizeof(struct walked_frame));
	struct walked_frame *frame = (void *)(w + 1);
	uint8_t hidden[FRAMES] = {0};
	size_t sum = 0;

	assert_non_null(w);
	w->frame_count = (uint16_t)count;
	for (size_t i = 0; i < count; i++)
		frame[i].code = frames[i];
	sum = own_frames_hide(w, first, hidden);
	for (size_t i = first; i < count; i++) {
		assert_int_equal(hidden[i], expected[i] - '0');
		sum -= hidden[i];
	}
	assert_int_equal(sum, 0);
	free(w);
}

#define CHECK(first, expected, ...)                                                                \
	do {                                                                                       \
		const struct code *const frames_[] = {__VA_ARGS__};                                \
		check(frames_, sizeof(frames_) / sizeof(frames_[0]), first, expected);             \
	} while (0)

static void frames_between_the_programs_are_hidden(void **state)
{
	(void)state;
	CHECK(0, "010", &app, &runtime, &libc);                          /* a thread's start */
	CHECK(0, "001100", &app, &app, &runtime, &runtime, &libc, &app); /* a signal's handler */
	CHECK(0, "0010", &libc, &app, &late, &libc);                     /* libc for the program */
	CHECK(0, "0101", &app, &waits, &app, &runtime);
	CHECK(0, "0110", &libc, &waits, &waits, &app); /* the program's own wait */
	CHECK(0, "0010", &walked_jit_code, &app, &runtime, &libc);
	CHECK(0, "010", NULL, &runtime, &app); /* code that nobody knows is the program's */
}

static void what_weft_uses_stays(void **state)
{
	(void)state;
	CHECK(0, "0", &runtime);
	CHECK(0, "01100", &runtime, &runtime, &runtime, &app, &libc);
	CHECK(0, "010", &waits, &waits, &app);
	CHECK(0, "00100", &libc, &runtime, &runtime, &app, &libc);
	CHECK(0, "0000", &vdso, &libc, &late, &app);
	CHECK(0, "01010", &runtime, &runtime, &app, &runtime, &libc);
}

static void others_are_left_alone(void **state)
{
	(void)state;
	CHECK(0, "000", &app, &libc, &app);
	CHECK(0, "000", &app, &writer, &app);
	CHECK(0, "00", NULL, &app);
}

static void an_event_begins_at_the_programs_call(void **state)
{
	(void)state;
	CHECK(2, "..01", &waits, &waits, &app, &runtime);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_between_the_programs_are_hidden),
		cmocka_unit_test(what_weft_uses_stays),
		cmocka_unit_test(others_are_left_alone),
		cmocka_unit_test(an_event_begins_at_the_programs_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
