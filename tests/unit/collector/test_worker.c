/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of threads, as the worker hears of them: from inside, from outside, or from both, with
 * words that come late. Each thread has one jdk.ThreadStart and one jdk.ThreadEnd, and the worker
 * forgets it. And how much waits in the worker: samples for older ones, events for the chunk's end.
 */
#include "base/clock.h"
#include "base/recording.h"
#include "collector/write/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/jfr.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define START_NS (1000000 * MS)
#define SLOT 3
#define CHUNK_BYTES 65536
#define SAMPLES 20000

static char file[] = "/tmp/weft-test-worker-XXXXXX";

static struct queue queue;
static struct worker worker;
static struct process *process;
static uint64_t chunk_bytes = CHUNK_BYTES;

static int begin(void **state)
{
	struct recording_options o = {
		.path = file,
		.command_line = "test",
		.version = "0",
		.stack_mode = "auto",
		.period_ns = 10 * MS,
		.wall_period_ns = 40 * MS,
		.engines = WEFT_ENGINE_CPU | WEFT_ENGINE_WALL,
		.start_ns = START_NS,
		.chunk_bytes = chunk_bytes,
	};

	(void)state;
	memset(&worker, 0, sizeof(worker));
	if (queue_init(&queue, SIZE_MAX) || recording_open(&worker.recording, &o) ||
	    naming_init(&worker.naming) || process_new(&process, getpid()))
		return -1;
	worker.naming.writer = recording_writer(worker.recording);
	worker.queue = &queue;
	worker.period_ns = o.period_ns;
	worker.wall_period_ns = o.wall_period_ns;
	process->opened_ns = START_NS;
	queue_push(&queue, batch_new(BATCH_OPEN, process, 0));
	return 0;
}

static struct batch *batch_of(enum batch_kind kind, uint64_t at_ns, size_t bytes)
{
	struct batch *b = batch_new(kind, process, bytes);

	assert_non_null(b);
	memset(b->data, 0, bytes);
	b->time_ns = START_NS + at_ns;
	b->thread = (struct batch_thread){
		.slot = SLOT, .tid = 77, .generation = 1, .claimed_ns = START_NS + MS};
	snprintf(b->thread.name, sizeof(b->thread.name), "worker");
	return b;
}

static void fill_sample(struct walked_sample *w, uint64_t at_ns)
{
	w->bytes = sizeof(*w);
	w->sample.record.bytes = sizeof(w->sample);
	w->sample.time_ns = START_NS + at_ns;
	w->sample.weight = 1;
}

static void own_sample(uint64_t at_ns)
{
	struct batch *b = batch_of(BATCH_WALKED, at_ns, sizeof(struct walked_sample));

	fill_sample((void *)b->data, at_ns);
	queue_push(&queue, b);
}

static void seen_asleep(uint64_t at_ns)
{
	struct batch *b = batch_of(BATCH_WALL_WALKED, at_ns,
				   sizeof(struct wall_word) + sizeof(struct walked_sample));
	struct wall_word *word = (void *)b->data;

	*word = (struct wall_word){.bytes = (uint32_t)b->bytes,
				   .kind = WALL_SAMPLE,
				   .state = WEFT_STATE_SLEEPING,
				   .samples = 1,
				   .from_ns = START_NS + at_ns,
				   .to_ns = START_NS + at_ns};
	fill_sample((void *)(word + 1), at_ns);
	((struct walked_sample *)(void *)(word + 1))->sample.flags = WEFT_SAMPLE_OUTSIDE;
	queue_push(&queue, b);
}

static void ends(enum batch_kind kind, uint64_t at_ns)
{
	queue_push(&queue, batch_of(kind, at_ns, 0));
}

static void work(void)
{
	queue_push(&queue, batch_new(BATCH_FINISH, NULL, 0));
	worker_run(&worker);
}

static int is_known_at(uint64_t at_ns)
{
	struct batch *b = batch_new(BATCH_ROLL, NULL, 0);

	b->time_ns = START_NS + at_ns;
	queue_push(&queue, b);
	work();
	return process_thread_find(process, SLOT, 1) != NULL;
}

static uint64_t count_events(const char *type)
{
	struct weft_jfr_reader *r = weft_jfr_open(file);
	struct weft_jfr_event_view e;
	uint64_t count = 0;

	assert_non_null(r);
	while (weft_jfr_next(r, &e) == 1)
		count += strcmp(weft_jfr_class_name(e.type), type) == 0;
	weft_jfr_reader_free(r);
	return count;
}

static int finish(void **state)
{
	struct batch *b = batch_new(BATCH_CLOSE, process, sizeof(struct session_counts));
	int rc;

	(void)state;
	memset(b->data, 0, b->bytes);
	b->end = RECORDING_END_EXITED;
	b->time_ns = START_NS + 60000 * MS;
	queue_push(&queue, b);
	work();
	rc = recording_close(worker.recording, START_NS + 60000 * MS, NULL);
	naming_free(&worker.naming);
	queue_destroy(&queue);
	return rc || worker.error ? -1 : 0;
}

static int finish_one_life(void **state)
{
	if (finish(state))
		return -1;
	return count_events("jdk.ThreadStart") == 1 && count_events("jdk.ThreadEnd") == 1 ? 0 : -1;
}

/* Its own handler has told nothing: nobody but the outside thread knows that it was there. */
static void who_is_seen_from_outside_alone_ends(void **state)
{
	(void)state;
	seen_asleep(100 * MS);
	ends(BATCH_THREAD_GONE, 200 * MS);
	assert_int_equal(is_known_at(1000 * MS), 1);
	assert_int_equal(is_known_at(2000 * MS), 0);
}

static void the_end_from_inside_is_waited_for(void **state)
{
	(void)state;
	own_sample(100 * MS);
	seen_asleep(150 * MS);
	ends(BATCH_THREAD_GONE, 200 * MS);
	assert_int_equal(is_known_at(3000 * MS), 1);
	own_sample(190 * MS); /* a drain thread that lags */
	ends(BATCH_THREAD_END, 3000 * MS);
	assert_int_equal(is_known_at(6000 * MS), 0);
}

static void late_words_are_no_second_life(void **state)
{
	(void)state;
	own_sample(100 * MS);
	ends(BATCH_THREAD_END, 200 * MS);
	seen_asleep(150 * MS);
	ends(BATCH_THREAD_GONE, 700 * MS);
	assert_int_equal(is_known_at(3000 * MS), 0);
}

/* Nothing newer comes that would let them go. */
static void what_waits_for_older_ones_is_bounded(void **state)
{
	(void)state;
	worker.timelines.limit = 1 << 20;
	for (int i = 0; i < SAMPLES; i++) {
		own_sample(100 * MS + (uint64_t)i);
		if (i % 100)
			continue;
		work();
		assert_true(worker.timelines.bytes <= worker.timelines.limit);
	}
	assert_true(worker.samples > SAMPLES / 2);
}

/* The drain thread says when a chunk ends; it may take long until that comes through the queues. */
static void a_chunk_that_nobody_ends_is_bounded(void **state)
{
	struct weft_jfr_written written;

	(void)state;
	for (int i = 0; i < SAMPLES; i++) {
		own_sample(100 * MS + (uint64_t)i * MS);
		if (i % 100)
			continue;
		work();
		weft_jfr_written(recording_writer(worker.recording), &written);
		assert_true(written.open_bytes < 3 * CHUNK_BYTES);
	}
	assert_true(written.chunks > 2);
}

static int begin_with_tiny_chunks(void **state)
{
	int rc;

	chunk_bytes = 4096; /* its types alone take more */
	rc = begin(state);
	chunk_bytes = CHUNK_BYTES;
	return rc;
}

static void a_chunk_is_not_full_of_its_types(void **state)
{
	struct weft_jfr_written written;

	(void)state;
	for (int i = 0; i < 4000; i++)
		own_sample(100 * MS + (uint64_t)i * MS);
	work();
	weft_jfr_written(recording_writer(worker.recording), &written);
	assert_in_range(written.chunks, 2, 40);
}

/* The drain thread asks for no other end of the chunk until this one is there. */
static void a_chunk_that_was_ended_is_not_full(void **state)
{
	(void)state;
	for (int i = 0; i < SAMPLES && !worker.roll_wanted; i++) {
		own_sample(100 * MS + (uint64_t)i * MS);
		if (i % 10 == 0)
			work();
	}
	assert_int_equal(worker.roll_wanted, 1);
	assert_int_equal(worker.rolls, 0);
	is_known_at(100 * MS + SAMPLES * MS);
	assert_int_equal(worker.roll_wanted, 0);
	assert_int_equal(worker.rolls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_is_seen_from_outside_alone_ends, begin,
						finish_one_life),
		cmocka_unit_test_setup_teardown(the_end_from_inside_is_waited_for, begin,
						finish_one_life),
		cmocka_unit_test_setup_teardown(late_words_are_no_second_life, begin,
						finish_one_life),
		cmocka_unit_test_setup_teardown(what_waits_for_older_ones_is_bounded, begin,
						finish),
		cmocka_unit_test_setup_teardown(a_chunk_that_nobody_ends_is_bounded, begin, finish),
		cmocka_unit_test_setup_teardown(a_chunk_that_was_ended_is_not_full, begin, finish),
		cmocka_unit_test_setup_teardown(a_chunk_is_not_full_of_its_types,
						begin_with_tiny_chunks, finish),
	};
	int rc, fd = mkstemp(file);

	if (fd < 0)
		return 1;
	close(fd);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return rc;
}
