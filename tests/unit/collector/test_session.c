/* SPDX-License-Identifier: Apache-2.0 */
/* A session's memory: what is touched for threads to come, and what a liar can make of it. Passes
 * through it: how long one takes, and who comes first. */
#include "base/clock.h"
#include "collector/session/session.h"

#include "base/session_layout.h"
#include "collector/write/process_work.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct process *process;
static struct session *session;
static struct queue queue;

static int begin(void **state)
{
	struct session_settings settings = {.period_ns = 1000000, .stack_mode = WEFT_STACK_AUTO};

	(void)state;
	if (process_new(&process, getpid()) || queue_init(&queue, 1 << 20))
		return -1;
	process->opened_ns = clock_mono_ns();
	return session_new(&session, process, &settings);
}

static int end(void **state)
{
	(void)state;
	session_free(session);
	process_free(process);
	queue_destroy(&queue);
	return 0;
}

static uint64_t memory_used(void)
{
	struct stat st;

	assert_int_equal(fstat(session->memfd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static struct weft_session_header *header(void)
{
	return session->process->base;
}

static void a_false_high_water_mark_costs_no_memory(void **state)
{
	uint64_t before = memory_used();

	(void)state;
	assert_true(session->process->layout.slot_count >= 1024);
	header()->slots_high = UINT32_MAX;
	session_drain(session, &queue, DRAIN_RUNNING);
	/* the state words that are read are not there, either */
	assert_true(memory_used() - before < session->process->layout.slot_count * 8 + (64 << 10));
}

static void slots_in_use_have_the_next_ones_touched(void **state)
{
	uint64_t *words = weft_session_states(session->process->base, &session->process->layout),
		 before;

	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		words[i] = WEFT_STATE_WORD(1, WEFT_SLOT_FREE);
	header()->slots_high = 8;
	before = memory_used();
	session_drain(session, &queue, DRAIN_RUNNING);
	assert_true(memory_used() - before >= UINT64_C(8) * 3 * 4096);
	assert_int_equal(session->touched, 12);
}

static uint64_t test_now_ns;

/* Each reading takes as long as a whole pass may. */
static uint64_t slow_clock(void)
{
	test_now_ns += SESSION_PASS_NS;
	return test_now_ns;
}

/* Slots of threads that have ended: all of them have to be given back. */
static void end_threads(uint32_t count)
{
	uint64_t *words = weft_session_states(session->process->base, &session->process->layout);

	for (uint32_t i = 0; i < count; i++)
		words[i] = WEFT_STATE_WORD(1, WEFT_SLOT_DEAD);
	header()->slots_high = count;
}

static uint32_t count_free(uint32_t of)
{
	const uint64_t *words =
		weft_session_states(session->process->base, &session->process->layout);
	uint32_t count = 0;

	for (uint32_t i = 0; i < of; i++)
		count += WEFT_STATE_OF(words[i]) == WEFT_SLOT_FREE;
	return count;
}

static void a_pass_ends_in_time_and_the_next_goes_on(void **state)
{
	uint32_t passes = 0, ended = 0;
	struct drain_result result;

	(void)state;
	test_now_ns = clock_mono_ns();
	session->clock = slow_clock;
	end_threads(100);
	do {
		result = session_drain(session, &queue, DRAIN_RUNNING);
		passes++;
		assert_true(count_free(100) <= ended + 3);
		ended = count_free(100);
	} while (result.unfinished && passes < 1000);
	assert_int_equal(ended, 100);
	assert_true(passes >= 34);
	end_threads(100);
	session_drain(session, &queue, DRAIN_GONE); /* the last takes everything */
	assert_int_equal(count_free(100), 100);
}

/* The slot's other ring, with runs of coroutines. */
static void fill_events_ring(uint32_t index, uint32_t bytes)
{
	struct weft_slot *slot = process_slot(session->process, index);
	uint8_t *ring = (uint8_t *)slot + session->process->layout.events_offset;
	uint32_t each = (uint32_t)sizeof(struct weft_switch_record), at = 0;

	for (; at + each <= bytes; at += each) {
		struct weft_switch_record r = {
			.record = {.bytes = each, .type = WEFT_RECORD_SWITCH, .generation = 1},
			.begin_ns = clock_mono_ns(),
			.coroutine = at,
		};

		r.end_ns = r.begin_ns;
		memcpy(ring + at, &r, sizeof(r));
	}
	slot->events_p.head = at;
	slot->events_p.written = at / each;
}

/* A ring of the slot with so many bytes of records, which nobody could have put there as one. */
static void fill_ring(uint32_t index, uint32_t bytes)
{
	struct weft_slot *slot = process_slot(session->process, index);
	uint8_t *ring = (uint8_t *)slot + session->process->layout.samples_offset;
	uint32_t each = (uint32_t)sizeof(struct weft_sample_record), at = 0;

	for (; at + each <= bytes; at += each) {
		struct weft_sample_record r = {
			.record = {.bytes = each, .type = WEFT_RECORD_SAMPLE, .generation = 1},
			.time_ns = clock_mono_ns(),
			.weight = 1,
			.stack = WEFT_SAMPLE_FRAMES,
		};

		memcpy(ring + at, &r, sizeof(r));
	}
	slot->samples_p.head = at;
	slot->samples_p.written = at / each;
	slot->counters[WEFT_COUNTER_ATTEMPTED] = at / each;
	*process_slot_state(session->process, index) = WEFT_STATE_WORD(1, WEFT_SLOT_LIVE);
	header()->slots_high = index + 1;
}

static void the_fullest_ring_gets_the_last_room(void **state)
{
	uint32_t ring = session->process->layout.samples_bytes;
	struct batch *ballast = batch_new(BATCH_SETTINGS, NULL, queue.limit / 4 * 3);

	(void)state;
	assert_int_equal(queue_fill_needed(&queue), 0);
	fill_ring(0, ring / 16);
	fill_ring(1, ring / 16 * 15);
	queue_push(&queue, ballast);
	assert_true(queue_fill_needed(&queue) > 450);
	session_drain(session, &queue, DRAIN_RUNNING);
	assert_int_equal(process_slot(session->process, 0)->samples_c.tail, 0);
	assert_true(process_slot(session->process, 1)->samples_c.tail > 0);
	free(queue_pop(&queue));
	free(queue_pop(&queue));
	session_drain(session, &queue, DRAIN_RUNNING);
	assert_true(process_slot(session->process, 0)->samples_c.tail > 0);
}

/* Half a ring may be too little for the next record, and there is room to take it. */
static void a_half_full_ring_counts_as_full(void **state)
{
	uint32_t ring = session->process->layout.samples_bytes;

	(void)state;
	fill_ring(0, ring / 16 * 7);
	fill_ring(1, ring / 16 * 9);
	queue_push(&queue, batch_new(BATCH_SETTINGS, NULL, queue.limit / 16 * 15));
	session_drain(session, &queue, DRAIN_RUNNING);
	assert_int_equal(process_slot(session->process, 0)->samples_c.tail, 0);
	assert_true(process_slot(session->process, 1)->samples_c.tail > 0);
	queue_push(&queue, batch_new(BATCH_SETTINGS, NULL, queue.limit));
	assert_true(queue_fill_needed(&queue) > 1000);
}

static void a_full_ring_does_not_wait_for_the_other_one(void **state)
{
	uint32_t ring = session->process->layout.events_bytes;
	const struct weft_slot *slot = process_slot(session->process, 0);

	(void)state;
	fill_ring(0, sizeof(struct weft_sample_record));
	fill_events_ring(0, ring / 16 * 15);
	queue_push(&queue, batch_new(BATCH_SETTINGS, NULL, queue.limit / 4 * 3));
	session_drain(session, &queue, DRAIN_RUNNING);
	assert_int_equal(slot->samples_c.tail, 0);
	assert_int_equal(slot->events_c.tail, slot->events_p.head);
	free(queue_pop(&queue));
	free(queue_pop(&queue));
	session_drain(session, &queue, DRAIN_RUNNING);
	assert_int_equal(slot->samples_c.tail, slot->samples_p.head);
}

static void a_queue_knows_what_its_batches_take(void **state)
{
	struct batch *b = batch_new(BATCH_SAMPLES, NULL, 1 << 20);

	(void)state;
	b->bytes = 1000;
	b = batch_trim(b);
	assert_true(malloc_usable_size(b) < 8192);
	free(b);
	assert_null(batch_trim(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_pass_ends_in_time_and_the_next_goes_on, begin,
						end),
		cmocka_unit_test_setup_teardown(the_fullest_ring_gets_the_last_room, begin, end),
		cmocka_unit_test_setup_teardown(a_half_full_ring_counts_as_full, begin, end),
		cmocka_unit_test_setup_teardown(a_full_ring_does_not_wait_for_the_other_one, begin,
						end),
		cmocka_unit_test(a_queue_knows_what_its_batches_take),
		cmocka_unit_test_setup_teardown(a_false_high_water_mark_costs_no_memory, begin,
						end),
		cmocka_unit_test_setup_teardown(slots_in_use_have_the_next_ones_touched, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
