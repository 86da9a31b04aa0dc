/* SPDX-License-Identifier: Apache-2.0 */
/* Layout and its check: what weft makes is sound, and no single lie passes. */
#include <errno.h>
#include <string.h>

#include "base/session_layout.h"
#include "unit.h"

static void layouts_are_sound(void **state)
{
	static const uint32_t slots[] = {0, 1, 64, 65, 4096, 65535, 65536, 1u << 31};
	static const uint32_t rings[] = {0, WEFT_RING_BYTES_MIN, WEFT_RING_BYTES_MAX};
	struct weft_session_header h;

	(void)state;
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		for (size_t j = 0; j < sizeof(rings) / sizeof(rings[0]); j++) {
			memset(&h, 0, sizeof(h));
			assert_int_equal(weft_session_layout(&h, slots[i], rings[j], rings[2 - j]),
					 0);
			assert_int_equal(weft_session_validate(&h, h.total_bytes), 0);
			assert_int_equal(weft_session_validate(&h, h.total_bytes - 1), -EPROTO);
			assert_true(h.slot_count >= (slots[i] < 65536 ? slots[i] : 65536));
		}
	}
	assert_int_equal(weft_session_layout(&h, 64, 4096, 0), -EINVAL);
	assert_int_equal(weft_session_layout(&h, 64, 0, 3 * WEFT_RING_BYTES_MIN), -EINVAL);
}

/* Every layout field, and what a liar could put there. */
static void lies_are_refused(void **state)
{
	static const struct {
		size_t offset, bytes;
	} fields[] = {
#define FIELD(name)                                                                                \
	{offsetof(struct weft_session_header, name),                                               \
	 sizeof(((struct weft_session_header *)0)->name)}
		FIELD(magic),         FIELD(version),        FIELD(header_bytes),
		FIELD(total_bytes),   FIELD(slot_count),     FIELD(block_slots),
		FIELD(states_offset), FIELD(free_offset),    FIELD(slots_offset),
		FIELD(slot_stride),   FIELD(samples_offset), FIELD(samples_bytes),
		FIELD(events_offset), FIELD(events_bytes),   FIELD(dict_offset),
		FIELD(dict_bytes),    FIELD(modules_offset), FIELD(modules_bytes),
		FIELD(map_offset),    FIELD(map_bytes),
#undef FIELD
	};
	static const uint64_t lies[] = {UINT64_MAX,        UINT64_MAX - 4095, UINT64_C(1) << 63,
					UINT64_C(1) << 44, 0x7FFFFFFF,        0xFFFFFFFF,
					0xFFFFF000};
	struct weft_session_header good = {0}, h;

	(void)state;
	weft_session_layout(&good, 128, 0, 0);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		for (size_t j = 0; j < sizeof(lies) / sizeof(lies[0]); j++) {
			h = good;
			memcpy((char *)&h + fields[i].offset, &lies[j], fields[i].bytes);
			if (weft_session_validate(&h, good.total_bytes) != -EPROTO)
				fail_msg("field at 0x%zx believed %llx", fields[i].offset,
					 (unsigned long long)lies[j]);
		}
	}
}

static void areas_do_not_overlap(void **state)
{
	struct weft_session_header good = {0}, h;

	(void)state;
	weft_session_layout(&good, 128, 0, 0);
	h = good;
	h.dict_offset = h.free_offset;
	assert_int_equal(weft_session_validate(&h, good.total_bytes), -EPROTO);
	h = good;
	h.events_offset = h.samples_offset;
	assert_int_equal(weft_session_validate(&h, good.total_bytes), -EPROTO);
	h = good;
	h.slot_count += 64;
	assert_int_equal(weft_session_validate(&h, good.total_bytes), -EPROTO);
	h = good;
	h.slots_offset += 8;
	assert_int_equal(weft_session_validate(&h, good.total_bytes), -EPROTO);
}

static void address_space_bounds_slots(void **state)
{
	(void)state;
	assert_int_equal(weft_session_slots_for(0, 0, 0), WEFT_SESSION_SLOTS_MAX);
	assert_int_equal(weft_session_slots_for(1, 0, 0), 64);
	assert_true(weft_session_slots_for(UINT64_C(1) << 30, 0, 0) % 64 == 0);
	assert_true(weft_session_slots_for(UINT64_C(1) << 30, 0, 0) < 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_are_sound),
		cmocka_unit_test(lies_are_refused),
		cmocka_unit_test(areas_do_not_overlap),
		cmocka_unit_test(address_space_bounds_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
