/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Naming that takes for ever holds up nobody: walker and worker run as they do in life, the
 * test is the drain thread, and the one who names stands at a gate. Samples leave the first
 * queue all the same, while the second has room; when the gate opens, all of them are in the
 * file, in order, each in its chunk. Where both queues are full, memory stays within their
 * limits and what was taken is not lost.
 */
#include "base/clock.h"
#include "base/recording.h"
#include "collector/session/session.h"
#include "collector/walk/jit.h"
#include "collector/walk/walk.h"
#include "collector/write/process_work.h"
#include "collector/write/worker.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__x86_64__)
#define REGISTERS 17
#define PC_REGISTER 16
#else
#define REGISTERS 33
#define PC_REGISTER 32
#endif

#define PERIOD_NS 5000000u
#define COPY_BYTES 16384u
#define RECORD_BYTES (sizeof(struct weft_sample_record) + REGISTERS * 8 + COPY_BYTES)
#define BATCH_SAMPLES_COUNT 8
#define PATIENCE 30000 /* ms that the drain thread waits for room before it calls it held up */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	int open, waiting;
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static size_t gated_places(struct elf_module *m, uint64_t address, struct elf_place *out,
			   size_t max)
{
	pthread_mutex_lock(&gate.lock);
	gate.waiting = 1;
	pthread_cond_broadcast(&gate.moved);
	while (!gate.open)
		pthread_cond_wait(&gate.moved, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
	return elf_module_places(m, address, out, max);
}

static void open_gate(void)
{
	pthread_mutex_lock(&gate.lock);
	gate.open = 1;
	pthread_cond_broadcast(&gate.moved);
	pthread_mutex_unlock(&gate.lock);
}

/* Until the worker stands there. */
static void await_waiting(void)
{
	pthread_mutex_lock(&gate.lock);
	while (!gate.waiting)
		pthread_cond_wait(&gate.moved, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

struct scene {
	char path[64];
	struct tables tables;
	struct table_cache cache;
	struct session *session;
	struct process *process;
	struct queue drained, walked;
	struct walker walker;
	struct worker worker;
	pthread_t walking, writing;
	uint64_t start_ns, put;
};

static void begin(struct scene *s, size_t drained_bytes, size_t walked_bytes)
{
	struct session_settings settings = {.period_ns = PERIOD_NS,
					    .ring_bytes = WEFT_RING_BYTES_MIN,
					    .stack_mode = WEFT_STACK_RAW,
					    .stack_copy_bytes = COPY_BYTES};
	struct recording_options options = {.path = s->path,
					    .command_line = "test",
					    .version = "0",
					    .stack_mode = "raw",
					    .period_ns = PERIOD_NS};

	gate.open = gate.waiting = 0;
	memset(s, 0, sizeof(*s));
	snprintf(s->path, sizeof(s->path), "/tmp/weft-test-naming-%d.jfr", (int)getpid());
	s->tables.fd = s->cache.fd = -1;
	assert_int_equal(process_new(&s->process, getpid()), 0);
	s->process->session_id = 1;
	s->process->opened_ns = s->start_ns = clock_mono_ns() - 500 * UINT64_C(1000000000);
	assert_int_equal(session_new(&s->session, s->process, &settings), 0);
	assert_int_equal(recording_open(&s->worker.recording, &options), 0);
	assert_int_equal(queue_init(&s->drained, drained_bytes), 0);
	assert_int_equal(queue_init(&s->walked, walked_bytes), 0);
	assert_int_equal(naming_init(&s->worker.naming), 0);
	s->worker.naming.writer = recording_writer(s->worker.recording);
	s->worker.naming.places = gated_places;
	s->worker.queue = &s->walked;
	s->worker.period_ns = PERIOD_NS;
	s->walker = (struct walker){
		.in = &s->drained,
		.out = &s->walked,
		.walking = {.modules = modules_new(&s->tables, &s->cache), .tables = &s->tables},
	};
	assert_non_null(s->walker.walking.modules);
	assert_int_equal(pthread_create(&s->writing, NULL, worker_run, &s->worker), 0);
	assert_int_equal(pthread_create(&s->walking, NULL, walker_run, &s->walker), 0);
	queue_push(&s->drained, batch_new(BATCH_OPEN, s->process, 0));
}

/* One raw sample in this program's code, a period after the one before. */
static void fill_record(struct scene *s, struct weft_sample_record *r)
{
	uint64_t *registers = (uint64_t *)(r + 1);

	memset(r, 0, RECORD_BYTES);
	r->record = (struct weft_record){
		.bytes = RECORD_BYTES, .type = WEFT_RECORD_SAMPLE, .generation = 1};
	r->time_ns = s->start_ns + ++s->put * PERIOD_NS;
	r->weight = 1;
	r->engine = WEFT_ENGINE_CPU;
	r->stack = WEFT_SAMPLE_RAW;
	r->register_count = REGISTERS;
	r->copy_bytes = COPY_BYTES;
	r->copy_address = 0x7000000000;
	registers[PC_REGISTER] = (uint64_t)(uintptr_t)fill_record + 4;
}

static void put_batch(struct scene *s)
{
	struct batch *b = batch_new(BATCH_SAMPLES, s->process, BATCH_SAMPLES_COUNT * RECORD_BYTES);

	assert_non_null(b);
	b->thread.slot = 0;
	b->thread.generation = 1;
	b->thread.tid = getpid();
	for (size_t i = 0; i < BATCH_SAMPLES_COUNT; i++)
		fill_record(s, (void *)(b->data + i * RECORD_BYTES));
	queue_push(&s->drained, b);
}

/* As the drain thread does, but with patience. 0: there is none. */
static int await_room(struct scene *s, int patience_ms)
{
	for (int waited = 0; waited < patience_ms; waited++) {
		if (queue_has_room(&s->drained))
			return 1;
		usleep(1000);
	}
	return 0;
}

/* Until the worker stands at the gate and neither queue has room. */
static void fill(struct scene *s)
{
	await_room(s, PATIENCE);
	put_batch(s);
	await_waiting();
	while (queue_has_room(&s->walked) || queue_has_room(&s->drained)) {
		if (await_room(s, 1))
			put_batch(s);
		assert_true(s->put < 100000);
	}
}

static void put_samples(struct scene *s, uint64_t count)
{
	for (uint64_t until = s->put + count; s->put < until;) {
		if (!await_room(s, PATIENCE))
			fail_msg("held up after %llu samples", (unsigned long long)s->put);
		put_batch(s);
	}
}

static void roll(struct scene *s)
{
	struct batch *b = batch_new(BATCH_ROLL, NULL, 0);

	b->time_ns = s->start_ns + s->put * PERIOD_NS + 1;
	queue_push(&s->drained, b);
}

static void finish(struct scene *s)
{
	struct batch *b = batch_new(BATCH_CLOSE, s->process, sizeof(struct session_counts));
	struct recording_written written;

	memset(b->data, 0, b->bytes);
	b->end = RECORDING_END_EXITED;
	b->time_ns = clock_mono_ns();
	queue_push(&s->drained, b);
	queue_push(&s->drained, batch_new(BATCH_FINISH, NULL, 0));
	pthread_join(s->walking, NULL);
	pthread_join(s->writing, NULL);
	assert_int_equal(s->walker.error, 0);
	assert_int_equal(s->worker.error, 0);
	/* Of these scenes, which have no memory for tables. */
	assert_true(s->worker.total.counter[WEFT_COUNTER_TABLES_REFUSED] > 0);
	session_free(s->session);
	assert_int_equal(recording_close(s->worker.recording, clock_mono_ns(), &written), 0);
	assert_int_equal(written.in_file.samples, s->put);
	naming_free(&s->worker.naming);
	modules_free(s->walker.walking.modules);
	queue_destroy(&s->drained);
	queue_destroy(&s->walked);
}

/* What the row of that counter says; 0 when it is something else. */
static int64_t refused_tables(const struct weft_jfr_event_view *e)
{
	static const char counter[] = "tables_refused";
	struct weft_jfr_string name;

	if (strcmp(weft_jfr_class_name(e->type), RECORDING_COUNTER) != 0)
		return 0;
	name = weft_jfr_event_get(e, RECORDING_FIELD_NAME)->string;
	if (name.bytes != strlen(counter) || memcmp(name.data, counter, name.bytes) != 0)
		return 0;
	return weft_jfr_event_get(e, RECORDING_FIELD_VALUE)->number;
}

/* Every sample is there, a period after the one before, and those up to @border are in other
 * chunks than the rest. */
static void check_file(const struct scene *s, uint64_t border)
{
	struct weft_jfr_reader *r = weft_jfr_open(s->path);
	struct weft_jfr_event_view e;
	uint64_t count = 0, last_before = 0;
	int64_t first_ns = 0, refused = 0;
	int rc;

	assert_non_null(r);
	while ((rc = weft_jfr_next(r, &e)) == 1) {
		refused += refused_tables(&e);
		if (strcmp(weft_jfr_class_name(e.type), RECORDING_EXECUTION_SAMPLE) != 0)
			continue;
		if (count == 0)
			first_ns = e.start_ns;
		assert_int_equal(e.start_ns - first_ns, (int64_t)(count * PERIOD_NS));
		count++;
		if (count <= border)
			last_before = e.chunk;
		else if (border)
			assert_true(e.chunk > last_before);
	}
	assert_int_equal(rc, 0);
	assert_int_equal(count, s->put);
	assert_int_equal(refused, s->worker.total.counter[WEFT_COUNTER_TABLES_REFUSED]);
	weft_jfr_reader_free(r);
	unlink(s->path);
}

/* 33 MB of stacks through a queue of 1 MB, while not one frame can be named. */
static void samples_are_walked_while_nothing_is_named(void **state)
{
	struct scene s;
	uint64_t border;

	(void)state;
	begin(&s, 1 << 20, 64 << 20);
	put_samples(&s, 1000);
	border = s.put;
	roll(&s);
	put_samples(&s, 1000);
	await_waiting();
	assert_int_equal(__atomic_load_n(&s.worker.samples, __ATOMIC_RELAXED), 0);
	assert_true(s.put * RECORD_BYTES > s.drained.limit);
	open_gate();
	finish(&s);
	check_file(&s, border);
}

/* What both queues hold is bounded: then the drain thread is told that there is no room. */
static void memory_is_bounded_and_nothing_taken_is_lost(void **state)
{
	size_t batch = BATCH_SAMPLES_COUNT * RECORD_BYTES + sizeof(struct batch);
	struct scene s;
	uint64_t full_at;

	(void)state;
	begin(&s, 1 << 20, 1 << 16);
	fill(&s);
	/* The walker takes one batch more, perhaps: the one that it then holds. */
	full_at = s.put;
	while (s.put <= full_at + BATCH_SAMPLES_COUNT && await_room(&s, 100))
		put_batch(&s);
	assert_true(s.put <= full_at + BATCH_SAMPLES_COUNT);
	assert_true(__atomic_load_n(&s.drained.bytes, __ATOMIC_RELAXED) <= (1 << 20) + batch);
	assert_true(__atomic_load_n(&s.walked.bytes, __ATOMIC_RELAXED) <= (1 << 16) + batch);
	open_gate();
	finish(&s);
	check_file(&s, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_walked_while_nothing_is_named),
		cmocka_unit_test(memory_is_bounded_and_nothing_taken_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
