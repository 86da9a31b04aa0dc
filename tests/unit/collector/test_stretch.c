/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of one context, and where the events of a heavy sample go. */
#include "collector/process/stretch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PERIOD 5000000u

static struct context_key key(uint64_t span, uint32_t tag)
{
	struct context_key k = {.span_id = span, .root_span_id = 7};

	k.tags[0] = tag;
	return k;
}

static void equal_contexts_are_one_stretch(void **state)
{
	struct context_key a = key(1, 0), b = key(2, 0);
	struct stretch s = {0}, ended;

	(void)state;
	assert_int_equal(stretch_add(&s, &a, 100, 100, &ended), 0);
	assert_int_equal(stretch_continues(&s, &a), 1);
	assert_int_equal(stretch_continues(&s, &b), 0);
	assert_int_equal(stretch_add(&s, &a, 150, 200, &ended), 0);
	assert_int_equal(stretch_add(&s, &b, 300, 300, &ended), 1);
	assert_int_equal(ended.key.span_id, 1);
	assert_int_equal(ended.first_ns, 100);
	assert_int_equal(ended.last_ns, 200);
	assert_int_equal(stretch_end(&s, &ended), 1);
	assert_int_equal(ended.first_ns, 300);
	assert_int_equal(stretch_end(&s, &ended), 0);
}

static void a_tag_alone_makes_another_stretch(void **state)
{
	struct context_key a = key(1, 5), b = key(1, 6);
	struct stretch s = {0}, ended;

	(void)state;
	stretch_add(&s, &a, 1, 1, &ended);
	assert_int_equal(stretch_add(&s, &b, 2, 2, &ended), 1);
	assert_int_equal(ended.key.tags[0], 5);
}

/* Else the sample between would be told to have worked for the span around it. */
static void a_sample_without_context_ends_the_stretch(void **state)
{
	struct context_key a = key(1, 0);
	struct stretch s = {0}, ended;

	(void)state;
	stretch_add(&s, &a, 100, 100, &ended);
	assert_int_equal(stretch_add(&s, NULL, 200, 200, &ended), 1);
	assert_int_equal(ended.last_ns, 100);
	assert_int_equal(stretch_add(&s, &a, 300, 300, &ended), 0);
	assert_int_equal(stretch_end(&s, &ended), 1);
	assert_int_equal(ended.first_ns, 300);
}

static void which_samples_have_a_context(void **state)
{
	struct weft_sample_record r = {.span_id = 3, .context = WEFT_CONTEXT_IDS};
	struct context_key k;

	(void)state;
	memset(r.trace_id, 1, sizeof(r.trace_id));
	assert_int_equal(context_of_sample(&r, 0, &k), 1);
	assert_int_equal(k.span_id, 3);
	assert_int_equal(k.trace_id[0], 0); /* not valid for this record */
	r.context = WEFT_CONTEXT_TRACE;
	assert_int_equal(context_of_sample(&r, 0, &k), 1);
	assert_int_equal(k.trace_id[0], 1);
	for (int bad = WEFT_CONTEXT_BUSY; bad <= WEFT_CONTEXT_SLOTLESS; bad++) {
		r.context = (uint8_t)bad;
		assert_int_equal(context_of_sample(&r, 0, &k), 0);
	}
	r = (struct weft_sample_record){.context = WEFT_CONTEXT_IDS};
	assert_int_equal(context_of_sample(&r, 0, &k), 0);
	assert_int_equal(context_of_sample(&r, 5, &k), 1);
	assert_int_equal(k.labels, 5);
	r.tags[9] = 1;
	assert_int_equal(context_of_sample(&r, 0, &k), 1);
}

static void one_period_is_one_event_at_its_time(void **state)
{
	struct spread s = spread_weight(1000 * (uint64_t)PERIOD, 1, PERIOD, 0);

	(void)state;
	assert_int_equal(s.count, 1);
	assert_int_equal(s.first_ns, 1000 * (uint64_t)PERIOD);
	assert_int_equal(spread_weight(5, 0, PERIOD, 0).count, 1);
}

static void periods_lie_backward_a_period_apart(void **state)
{
	uint64_t at = 1000 * (uint64_t)PERIOD;
	struct spread s = spread_weight(at, 4, PERIOD, at - 100 * (uint64_t)PERIOD);

	(void)state;
	assert_int_equal(s.count, 4);
	assert_int_equal(s.step_ns, PERIOD);
	assert_int_equal(s.first_ns + 3 * s.step_ns, at);
}

static void never_before_the_sample_before(void **state)
{
	(void)state;
	for (uint32_t weight = 2; weight < 400; weight += 7) {
		for (uint64_t room = 0; room < 3 * PERIOD; room += 31337) {
			uint64_t at = 1000 * (uint64_t)PERIOD, previous = at - room;
			struct spread s = spread_weight(at, weight, PERIOD, previous);
			uint64_t last = s.first_ns + (s.count - 1) * s.step_ns;

			assert_int_equal(s.count, weight);
			assert_int_equal(last, at);
			/* clear of previous + 1, where the stretch before ends */
			if (room > 2)
				assert_true(s.first_ns > previous + 1);
			else
				assert_int_equal(s.first_ns, at);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_contexts_are_one_stretch),
		cmocka_unit_test(a_tag_alone_makes_another_stretch),
		cmocka_unit_test(a_sample_without_context_ends_the_stretch),
		cmocka_unit_test(which_samples_have_a_context),
		cmocka_unit_test(one_period_is_one_event_at_its_time),
		cmocka_unit_test(periods_lie_backward_a_period_apart),
		cmocka_unit_test(never_before_the_sample_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
