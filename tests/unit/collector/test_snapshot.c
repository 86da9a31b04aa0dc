/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module map snapshots: a reader that follows the protocol of abi/module_map.h while the
 * writer storms through a small area. Every snapshot holds nothing but functions of its own
 * number, so a mix of two shows.
 */
#include "base/session_layout.h"
#include "collector/process/snapshot.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define AREA_BYTES 4096
#define MODULES_MAX 24 /* of 85 that an area has room for: a third, and a little */
#define SNAPSHOTS 200000u

static struct weft_session_header layout;
static uint8_t *base;

static int make_session(void **state)
{
	(void)state;
	layout.map_offset = WEFT_SESSION_HEADER_BYTES;
	layout.map_bytes = AREA_BYTES;
	base = aligned_alloc(4096, WEFT_SESSION_HEADER_BYTES + AREA_BYTES);
	if (base)
		memset(base, 0, WEFT_SESSION_HEADER_BYTES + AREA_BYTES);
	return base ? 0 : -1;
}

static int free_session(void **state)
{
	(void)state;
	free(base);
	return 0;
}

static struct weft_session_header *shared(void)
{
	return (void *)base;
}

/* What snapshot @number says, and of how many modules. */
static uint32_t count_of(uint32_t number)
{
	return number * 7 % MODULES_MAX;
}

static void fill(struct weft_map_module *list, uint32_t number, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t at = ((uint64_t)number << 20) + (uint64_t)i * 4096;

		list[i] = (struct weft_map_module){
			.start = at,
			.end = at + 4096,
			.bias = at ^ UINT64_C(0xAAAAAAAA000),
			.table = (uint64_t)number * 64,
			.object_start = at * 3,
			.object_eh = at * 5,
		};
	}
}

struct seen {
	uint32_t count;
	struct weft_map_module list[MODULES_MAX];
};

static const struct weft_map_snapshot *current(void)
{
	uint64_t at = __atomic_load_n(&shared()->map_current, __ATOMIC_ACQUIRE);

	if (at == 0)
		return NULL;
	assert_true(at >= layout.map_offset && at < layout.map_offset + layout.map_bytes);
	return (const void *)(base + at);
}

/* The number of what was read, 0 = it changed meanwhile. */
static uint32_t read_map(struct seen *out)
{
	const struct weft_map_snapshot *s = current();
	const uint64_t *from;
	uint64_t *to = (uint64_t *)out->list;
	uint32_t number;

	if (!s)
		return 0;
	number = __atomic_load_n(&s->number, __ATOMIC_ACQUIRE);
	out->count = __atomic_load_n(&s->count, __ATOMIC_RELAXED);
	if (!(number & WEFT_MAP_NUMBER_BITS) || out->count >= MODULES_MAX)
		return 0;
	from = (const uint64_t *)(const void *)(s + 1);
	/* The place is used again by now, and the count is another snapshot's. */
	if ((const uint8_t *)from + out->count * sizeof(struct weft_map_module) >
	    base + layout.map_offset + layout.map_bytes)
		return 0;
	for (size_t i = 0; i < out->count * sizeof(struct weft_map_module) / 8; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&s->number, __ATOMIC_RELAXED) == number ? number : 0;
}

static int is_whole(const struct seen *seen, uint32_t number)
{
	struct weft_map_module expected[MODULES_MAX];

	if (seen->count != count_of(number))
		return 0;
	fill(expected, number, seen->count);
	return memcmp(expected, seen->list, seen->count * sizeof(*expected)) == 0;
}

static void *storm(void *arg)
{
	struct weft_map_module list[MODULES_MAX];
	struct snapshots *s = arg;

	for (uint32_t n = 0; n < SNAPSHOTS;) {
		n = snapshots_next(s);
		fill(list, n, count_of(n));
		snapshots_put(s, list, count_of(n), (uint64_t)n * 64, n);
	}
	return NULL;
}

static void a_reader_in_a_storm_sees_no_mix(void **state)
{
	struct snapshots s;
	struct seen seen;
	uint32_t last = 0;
	pthread_t writer;

	(void)state;
	snapshots_begin(&s, base, &layout);
	assert_int_equal(pthread_create(&writer, NULL, storm, &s), 0);
	while (last < SNAPSHOTS) {
		uint32_t number = read_map(&seen);

		if (number == 0)
			continue;
		assert_true(is_whole(&seen, number));
		assert_true(number >= last);
		/* What it names was published before it. */
		assert_true(__atomic_load_n(&shared()->tables_used, __ATOMIC_ACQUIRE) >=
			    (uint64_t)number * 64);
		last = number;
	}
	pthread_join(writer, NULL);
	assert_int_equal(shared()->map_number, SNAPSHOTS);
}

/*
 * The reader stops in the middle, as a handler whose thread loses the CPU does, and the writer
 * goes on until the place is used again: the number tells.
 */
static void what_is_overwritten_is_known_by_its_number(void **state)
{
	struct weft_map_module list[MODULES_MAX];
	const struct weft_map_snapshot *old;
	struct snapshots s;
	uint64_t first;
	uint32_t n = 1;

	(void)state;
	snapshots_begin(&s, base, &layout);
	fill(list, n, 20);
	assert_int_equal(snapshots_put(&s, list, 20, 64, 0), 1);
	old = current();
	first = ((const struct weft_map_module *)(const void *)(old + 1))->start;
	assert_int_equal(first, UINT64_C(1) << 20);
	/* As long as its number stands, its entries do. */
	while (old->number == 1) {
		const struct weft_map_module *entry = (const void *)(old + 1);

		assert_int_equal(entry[19].start, first + UINT64_C(19) * 4096);
		fill(list, ++n, 20);
		assert_int_equal(snapshots_put(&s, list, 20, 64, 0), n);
		assert_true(n < 16);
	}
	assert_true(n > 2); /* not the one that follows: a reader has some time */
	/* And there is something to tell: it would have mixed two. */
	for (int i = 0; i < 8; i++) {
		fill(list, ++n, 20);
		snapshots_put(&s, list, 20, 64, 0);
	}
	assert_int_not_equal(((const struct weft_map_module *)(const void *)(old + 1))[19].start,
			     first + UINT64_C(19) * 4096);
}

/* Each of @sizes in turn: the newest is whole, and no older number stands where it lies. */
static void any_sequence_of_sizes_keeps_the_newest_whole(void **state)
{
	struct weft_map_module list[MODULES_MAX];
	struct snapshots s;
	struct seen seen;
	uint64_t random = 1;

	(void)state;
	snapshots_begin(&s, base, &layout);
	for (int i = 0; i < 20000; i++) {
		uint32_t count, n = snapshots_next(&s);

		random = random * UINT64_C(6364136223846793005) + 1;
		count = (uint32_t)(random >> 40) % MODULES_MAX;
		fill(list, n, count);
		assert_int_equal(snapshots_put(&s, list, count, 0, 0), n);
		assert_int_equal(read_map(&seen), n);
		assert_int_equal(seen.count, count);
		assert_memory_equal(seen.list, list, count * sizeof(*list));
		for (uint32_t k = 0; k + 1 < s.places; k++) {
			const struct weft_map_snapshot *old =
				(const void *)(base + layout.map_offset + s.place[k].offset);

			assert_true(old->number < n && old->number > 0);
		}
	}
}

/* More modules than fit: the rest is left out, nothing else is touched. */
static void too_many_modules_are_cut(void **state)
{
	struct weft_map_module *list = calloc(1000, sizeof(*list));
	struct snapshots s;

	(void)state;
	snapshots_begin(&s, base, &layout);
	assert_int_equal(snapshots_put(&s, list, 1000, 0, 0), 1);
	assert_int_equal(current()->count, (AREA_BYTES / 3 - 16) / sizeof(*list));
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_reader_in_a_storm_sees_no_mix, make_session,
						free_session),
		cmocka_unit_test_setup_teardown(what_is_overwritten_is_known_by_its_number,
						make_session, free_session),
		cmocka_unit_test_setup_teardown(any_sequence_of_sizes_keeps_the_newest_whole,
						make_session, free_session),
		cmocka_unit_test_setup_teardown(too_many_modules_are_cut, make_session,
						free_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
