/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the worker makes of wall-clock samples, when they come out of order with the samples of
 * the thread's own handler, as they do in life: batches are made up and put into its queue; the
 * file is read back. A made-up life says what a thread did at any moment, so every event and
 * every span can be held against it.
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

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define CPU_NS (10 * MS)
#define WALL_NS (40 * MS)
#define EVENTS_MAX 20000

static char file[64];
static uint64_t begin_ns;

/* ---- a worker and its queue */

struct scene {
	struct queue queue;
	struct worker worker;
	struct process *process;
};

static void open_scene(struct scene *s, uint32_t engines, int inline_context)
{
	struct recording_options o = {
		.path = file,
		.command_line = "test",
		.version = "0",
		.stack_mode = "auto",
		.period_ns = engines == WEFT_ENGINE_WALL ? WALL_NS : CPU_NS,
		.wall_period_ns = engines & WEFT_ENGINE_WALL ? WALL_NS : 0,
		.engines = engines,
		.inline_context = inline_context,
	};

	memset(s, 0, sizeof(*s));
	begin_ns = clock_mono_ns() - 100000 * MS;
	assert_int_equal(queue_init(&s->queue, (size_t)1 << 30), 0);
	assert_int_equal(recording_open(&s->worker.recording, &o), 0);
	assert_int_equal(naming_init(&s->worker.naming), 0);
	s->worker.naming.writer = recording_writer(s->worker.recording);
	s->worker.queue = &s->queue;
	s->worker.period_ns = o.period_ns;
	s->worker.wall_period_ns = o.wall_period_ns;
	assert_int_equal(process_new(&s->process, getpid()), 0);
	s->process->opened_ns = begin_ns;
	queue_push(&s->queue, batch_new(BATCH_OPEN, s->process, 0));
}

static void fill_thread(struct batch *b, uint64_t generation)
{
	b->thread = (struct batch_thread){
		.slot = 3, .tid = 77, .generation = generation, .claimed_ns = begin_ns};
	snprintf(b->thread.name, sizeof(b->thread.name), "worker");
}

static void fill_sample(struct walked_sample *w, uint64_t at_ns, uint64_t span)
{
	w->bytes = sizeof(*w);
	w->sample.record.bytes = sizeof(w->sample);
	w->sample.time_ns = begin_ns + at_ns;
	w->sample.weight = 1;
	w->sample.context = span ? WEFT_CONTEXT_IDS : WEFT_CONTEXT_NONE;
	w->sample.span_id = span;
}

static struct batch *own_sample(struct scene *s, uint64_t at_ns, uint64_t span)
{
	struct batch *b = batch_new(BATCH_WALKED, s->process, sizeof(struct walked_sample));

	fill_thread(b, 1);
	memset(b->data, 0, b->bytes);
	fill_sample((struct walked_sample *)(void *)b->data, at_ns, span);
	return b;
}

static struct batch *wall_word(struct scene *s, enum wall_kind kind, uint64_t at_ns,
			       uint32_t samples, uint64_t span)
{
	int has_sample = kind == WALL_SAMPLE || (kind == WALL_DELAY && span);
	size_t more = has_sample ? sizeof(struct walked_sample) : 0;
	struct batch *b = batch_new(BATCH_WALL_WALKED, s->process, sizeof(struct wall_word) + more);
	struct wall_word *word = (struct wall_word *)(void *)b->data;

	fill_thread(b, 1);
	memset(b->data, 0, b->bytes);
	*word = (struct wall_word){
		.bytes = (uint32_t)b->bytes,
		.kind = (uint8_t)kind,
		.state = kind == WALL_DELAY ? WEFT_STATE_WAITING_FOR_CPU : WEFT_STATE_SLEEPING,
		.samples = samples,
		.from_ns = begin_ns + at_ns - (at_ns < WALL_NS ? at_ns : WALL_NS),
		.to_ns = begin_ns + at_ns};
	if (more)
		fill_sample((struct walked_sample *)(void *)(word + 1), at_ns, span);
	return b;
}

static struct batch *roll(uint64_t at_ns)
{
	struct batch *b = batch_new(BATCH_ROLL, NULL, 0);

	b->time_ns = begin_ns + at_ns;
	return b;
}

static struct batch *thread_end(struct scene *s)
{
	struct batch *b = batch_new(BATCH_THREAD_END, s->process, 0);

	fill_thread(b, 1);
	b->time_ns = clock_mono_ns();
	return b;
}

static struct recording_written close_scene(struct scene *s)
{
	struct batch *b = batch_new(BATCH_CLOSE, s->process, sizeof(struct session_counts));
	struct recording_written written;

	memset(b->data, 0, b->bytes);
	b->end = RECORDING_END_EXITED;
	b->time_ns = clock_mono_ns();
	queue_push(&s->queue, b);
	queue_push(&s->queue, batch_new(BATCH_FINISH, NULL, 0));
	worker_run(&s->worker);
	assert_int_equal(s->worker.error, 0);
	assert_int_equal(recording_close(s->worker.recording, clock_mono_ns(), &written), 0);
	naming_free(&s->worker.naming);
	queue_destroy(&s->queue);
	return written;
}

/* ---- what is in the file: times from begin_ns on */

struct event {
	char type[40], state[32], span[20];
	int64_t start_ns, end_ns, samples, span_ticks;
	int64_t time_ns[7]; /* of weft.ThreadTime */
	uint64_t chunk;
};

static const char *const time_fields[] = {"passed",      "running",     "waiting",    "blocked",
					  "runningSeen", "waitingSeen", "blockedSeen"};
static struct event events[EVENTS_MAX];
static size_t event_count;

static void copy(char *out, size_t room, const struct weft_jfr_node *n)
{
	if (n && n->shape == WEFT_JFR_V_STRUCT && n->many.count)
		n = &n->many.item[0];
	snprintf(out, room, "%.*s", n && n->shape == WEFT_JFR_V_STRING ? (int)n->string.bytes : 0,
		 n && n->shape == WEFT_JFR_V_STRING ? n->string.data : "");
}

static int64_t number(const struct weft_jfr_event_view *e, const char *field)
{
	const struct weft_jfr_node *n = weft_jfr_event_get(e, field);

	return n && n->shape == WEFT_JFR_V_NUMBER ? n->number : -1;
}

static void read_file(void)
{
	struct weft_jfr_reader *r = weft_jfr_open(file);
	struct weft_jfr_event_view e;
	int64_t offset = (int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)clock_mono_ns();
	int rc;

	event_count = 0;
	assert_non_null(r);
	while ((rc = weft_jfr_next(r, &e)) == 1) {
		struct event *to = &events[event_count];

		if (!weft_jfr_event_get(&e, "eventThread"))
			continue;
		assert_true(event_count++ < EVENTS_MAX);
		snprintf(to->type, sizeof(to->type), "%s", weft_jfr_class_name(e.type));
		copy(to->state, sizeof(to->state), weft_jfr_event_get(&e, "state"));
		copy(to->span, sizeof(to->span), weft_jfr_event_get(&e, RECORDING_FIELD_SPAN));
		/* epoch, by clocks that were read at another moment: to the microsecond */
		to->start_ns = e.start_ns - offset - (int64_t)begin_ns;
		to->end_ns = to->start_ns + e.duration_ns;
		to->samples = number(&e, "samples");
		to->span_ticks = number(&e, "timeSpan");
		for (size_t i = 0; i < 7; i++)
			to->time_ns[i] = number(&e, time_fields[i]);
		to->chunk = e.chunk;
	}
	assert_int_equal(rc, 0);
	weft_jfr_reader_free(r);
}

static int is(const struct event *e, const char *type)
{
	return strcmp(e->type, type) == 0;
}

static size_t count_of(const char *type)
{
	size_t count = 0;

	for (size_t i = 0; i < event_count; i++)
		count += (size_t)is(&events[i], type);
	return count;
}

/* The @index-th event of a type. */
static const struct event *one(const char *type, size_t index)
{
	for (size_t i = 0; i < event_count; i++)
		if (is(&events[i], type) && index-- == 0)
			return &events[i];
	fail_msg("no such %s", type);
	return NULL;
}

/* Likewise, of the stays alone. */
static const struct event *stay(size_t index)
{
	for (size_t i = 0; i < event_count; i++)
		if (is(&events[i], RECORDING_WALL_SAMPLE) &&
		    strcmp(events[i].state, "STATE_SLEEPING") == 0 && index-- == 0)
			return &events[i];
	fail_msg("no such stay");
	return NULL;
}

/* The wait for a CPU of that many samples. */
static const struct event *waiting(int64_t samples)
{
	for (size_t i = 0; i < event_count; i++)
		if (strcmp(events[i].state, "STATE_WAITING_FOR_CPU") == 0 &&
		    events[i].samples == samples)
			return &events[i];
	fail_msg("no such wait");
	return NULL;
}

/* The span that an event belongs to; "" for none. All that hold it must be the same, and one of
 * them in the event's own chunk. */
static const char *span_of(const struct event *e)
{
	const char *span = "";
	int own = 0;

	for (size_t i = 0; i < event_count; i++) {
		const struct event *s = &events[i];

		if (!is(s, RECORDING_SPAN) || s->start_ns > e->start_ns || s->end_ns <= e->start_ns)
			continue;
		if (*span)
			assert_string_equal(span, s->span);
		span = s->span;
		own |= s->chunk == e->chunk;
	}
	assert_int_equal(own, *span != 0);
	return span;
}

static int is_near(int64_t got, uint64_t want)
{
	int64_t apart = got - (int64_t)want;

	return apart > -500000 && apart < 500000;
}

/* ---- single cases */

static void a_stay_is_one_event(void **state)
{
	struct recording_written written;
	const struct event *e;
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_CPU | WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, wall_word(&s, WALL_SAMPLE, 100 * MS, 1, 0xa));
	queue_push(&s.queue, wall_word(&s, WALL_MORE, 180 * MS, 2, 0));
	queue_push(&s.queue, wall_word(&s, WALL_MORE, 300 * MS, 3, 0));
	queue_push(&s.queue, wall_word(&s, WALL_END, 320 * MS, 0, 0));
	written = close_scene(&s);
	read_file();
	assert_int_equal(written.in_file.wall, 6);
	assert_int_equal(count_of(RECORDING_WALL_SAMPLE), 1);
	assert_int_equal(count_of(RECORDING_EXECUTION_SAMPLE), 0);
	e = one(RECORDING_WALL_SAMPLE, 0);
	assert_true(is_near(e->start_ns, 100 * MS));
	assert_int_equal(e->samples, 6);
	assert_string_equal(e->state, "STATE_SLEEPING");
	assert_string_equal(span_of(e), "000000000000000a");
	e = one(RECORDING_SPAN, 0);
	assert_true(is_near(e->end_ns - e->start_ns, 200 * MS));
}

static void a_stay_over_chunks_is_an_event_in_each(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, wall_word(&s, WALL_SAMPLE, 100 * MS, 1, 0xa));
	queue_push(&s.queue, wall_word(&s, WALL_MORE, 1100 * MS, 25, 0));
	queue_push(&s.queue, roll(2000 * MS));
	queue_push(&s.queue, wall_word(&s, WALL_MORE, 3100 * MS, 50, 0));
	queue_push(&s.queue, roll(4000 * MS));
	queue_push(&s.queue, roll(5000 * MS));
	queue_push(&s.queue, wall_word(&s, WALL_MORE, 6100 * MS, 75, 0));
	close_scene(&s);
	read_file();
	assert_int_equal(count_of(RECORDING_WALL_SAMPLE), 3);
	for (size_t i = 0; i < 3; i++) {
		const struct event *e = one(RECORDING_WALL_SAMPLE, i);

		assert_int_equal(e->samples, i == 0 ? 26 : i == 1 ? 50 : 75);
		assert_string_equal(span_of(e), "000000000000000a");
	}
}

/* The thread was seen elsewhere before it was known how long it had been here. */
static void ticks_that_come_late_stay_with_their_span(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_CPU | WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, wall_word(&s, WALL_SAMPLE, 100 * MS, 1, 0xa));
	queue_push(&s.queue, own_sample(&s, 600 * MS, 0xb));
	queue_push(&s.queue, own_sample(&s, 1000 * MS, 0xb));
	queue_push(&s.queue, roll(1400 * MS));
	queue_push(&s.queue, wall_word(&s, WALL_MORE, 500 * MS, 10, 0));
	queue_push(&s.queue, wall_word(&s, WALL_END, 1400 * MS, 0, 0));
	close_scene(&s);
	read_file();
	assert_int_equal(stay(0)->samples, 1);
	assert_int_equal(stay(1)->samples, 10);
	assert_int_equal(stay(1)->chunk, stay(0)->chunk + 1);
	for (size_t i = 0; i < event_count; i++)
		if (is(&events[i], RECORDING_SPAN) && events[i].span[15] == 'b')
			assert_true(events[i].start_ns > 590 * (int64_t)MS);
	assert_int_equal(count_of(RECORDING_EXECUTION_SAMPLE), 2);
	assert_string_equal(span_of(one(RECORDING_EXECUTION_SAMPLE, 0)), "000000000000000b");
}

/* A look from outside that found no context parts the samples around it, though these come
 * later. */
static void what_comes_late_is_put_where_it_was(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_CPU | WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, wall_word(&s, WALL_SAMPLE, 150 * MS, 1, 0));
	queue_push(&s.queue, wall_word(&s, WALL_END, 170 * MS, 0, 0));
	queue_push(&s.queue, own_sample(&s, 100 * MS, 0xa));
	queue_push(&s.queue, own_sample(&s, 110 * MS, 0xa));
	queue_push(&s.queue, own_sample(&s, 200 * MS, 0xa));
	close_scene(&s);
	read_file();
	assert_int_equal(count_of(RECORDING_SPAN), 2);
	assert_string_equal(span_of(stay(0)), "");
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(span_of(one(RECORDING_EXECUTION_SAMPLE, i)),
				    "000000000000000a");
}

/* Later than anything is waited for: the time is off, whose it was is not. */
static void what_comes_too_late_keeps_its_context(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_CPU | WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, own_sample(&s, 5000 * MS, 0xa));
	queue_push(&s.queue, own_sample(&s, 9000 * MS, 0xa));
	queue_push(&s.queue, wall_word(&s, WALL_SAMPLE, 1000 * MS, 1, 0xb));
	close_scene(&s);
	read_file();
	assert_string_equal(span_of(stay(0)), "000000000000000b");
	assert_string_equal(span_of(one(RECORDING_EXECUTION_SAMPLE, 0)), "000000000000000a");
	assert_string_equal(span_of(one(RECORDING_EXECUTION_SAMPLE, 1)), "000000000000000a");
}

static void a_wait_for_a_cpu_has_the_newest_stack_and_context(void **state)
{
	const struct event *e;
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, own_sample(&s, 100 * MS, 0xa));
	queue_push(&s.queue, wall_word(&s, WALL_DELAY, 200 * MS, 4, 0));
	queue_push(&s.queue, own_sample(&s, 300 * MS, 0xa));
	close_scene(&s);
	read_file();
	assert_int_equal(count_of(RECORDING_SPAN), 1);
	e = one(RECORDING_WALL_SAMPLE, 1);
	assert_string_equal(e->state, "STATE_WAITING_FOR_CPU");
	assert_int_equal(e->samples, 4);
	assert_string_equal(span_of(e), "000000000000000a");
}

/* What its context was is known: the stack too, if it is one of that context. */
static void a_wait_goes_where_it_was_seen(void **state)
{
	struct batch *guess;
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, own_sample(&s, 100 * MS, 0xa));
	queue_push(&s.queue, wall_word(&s, WALL_SAMPLE, 200 * MS, 1, 0xb));
	queue_push(&s.queue, wall_word(&s, WALL_END, 210 * MS, 0, 0));
	queue_push(&s.queue, wall_word(&s, WALL_DELAY, 300 * MS, 4, 0xa));
	queue_push(&s.queue, wall_word(&s, WALL_DELAY, 400 * MS, 5, 0xc));
	queue_push(&s.queue, own_sample(&s, 450 * MS, 0xd));
	guess = wall_word(&s, WALL_DELAY, 500 * MS, 6, 0xe);
	((struct wall_word *)(void *)guess->data)->is_guess = 1;
	((struct wall_word *)(void *)guess->data)->from_ns = begin_ns + 440 * MS;
	queue_push(&s.queue, guess);
	guess = wall_word(&s, WALL_DELAY, 600 * MS, 7, 0xe);
	((struct wall_word *)(void *)guess->data)->is_guess = 1;
	queue_push(&s.queue, guess);
	close_scene(&s);
	read_file();
	assert_string_equal(span_of(waiting(4)), "000000000000000a");
	assert_string_equal(span_of(waiting(5)), "000000000000000c");
	assert_string_equal(span_of(waiting(6)), "000000000000000d");
	assert_string_equal(span_of(waiting(7)), "000000000000000e");
	assert_string_equal(span_of(stay(0)), "000000000000000b");
}

static void a_wait_before_anything_goes_to_what_comes_first(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, wall_word(&s, WALL_DELAY, 100 * MS, 2, 0));
	queue_push(&s.queue, wall_word(&s, WALL_DELAY, 150 * MS, 3, 0));
	queue_push(&s.queue, own_sample(&s, 200 * MS, 0xa));
	close_scene(&s);
	read_file();
	assert_int_equal(one(RECORDING_WALL_SAMPLE, 1)->samples, 5);
	assert_string_equal(span_of(one(RECORDING_WALL_SAMPLE, 1)), "000000000000000a");
}

/* A thread that has ended is heard of from outside a while later. */
static void the_last_ticks_of_a_thread_are_not_lost(void **state)
{
	struct recording_written written;
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, wall_word(&s, WALL_SAMPLE, 100 * MS, 1, 0xa));
	queue_push(&s.queue, thread_end(&s));
	queue_push(&s.queue, wall_word(&s, WALL_MORE, 900 * MS, 19, 0));
	queue_push(&s.queue, wall_word(&s, WALL_END, 1000 * MS, 0, 0));
	written = close_scene(&s);
	read_file();
	assert_int_equal(written.in_file.wall, 20);
	assert_int_equal(one(RECORDING_WALL_SAMPLE, 0)->samples, 20);
	assert_int_equal(count_of(RECORDING_WALL_SAMPLE), 1);
}

static struct batch *account(struct scene *s, uint64_t at_ns, uint64_t cpu_ns, uint64_t delay_ns)
{
	struct batch *b = wall_word(s, WALL_ACCOUNT, at_ns, 0, 0);
	struct wall_word *word = (struct wall_word *)(void *)b->data;

	word->from_ns = begin_ns;
	word->cpu_ns = cpu_ns;
	word->delay_ns = delay_ns;
	return b;
}

/* Sums of the rows, ms. */
static void assert_times(const int64_t expected[7])
{
	for (size_t i = 0; i < 7; i++) {
		int64_t sum = 0;

		for (size_t j = 0; j < event_count; j++)
			if (is(&events[j], RECORDING_THREAD_TIME))
				sum += events[j].time_ns[i];
		assert_int_equal(sum / (int64_t)MS, expected[i]);
	}
}

static void the_account_stands_beside_what_is_seen(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, wall_word(&s, WALL_SAMPLE, 100 * MS, 1, 0xa));
	queue_push(&s.queue, wall_word(&s, WALL_MORE, 900 * MS, 19, 0));
	queue_push(&s.queue, account(&s, 900 * MS, 60 * MS, 40 * MS));
	queue_push(&s.queue, roll(1000 * MS));
	queue_push(&s.queue, wall_word(&s, WALL_DELAY, 1900 * MS, 2, 0));
	queue_push(&s.queue, account(&s, 2000 * MS, 700 * MS, 90 * MS));
	close_scene(&s);
	read_file();
	assert_true(count_of(RECORDING_THREAD_TIME) >= 2);
	assert_times((const int64_t[]){2000, 700, 90, 1210, 720, 80, 800});
	/* what it ran was many periods, and nobody saw it */
	assert_string_equal(one(RECORDING_WALL_SAMPLE, count_of(RECORDING_WALL_SAMPLE) - 1)->state,
			    "STATE_RUNNABLE");
}

/* What it says itself is when it ended, and what it had run. */
static void its_last_words_close_the_account(void **state)
{
	struct scene s;
	struct batch *b;

	(void)state;
	open_scene(&s, WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, wall_word(&s, WALL_SAMPLE, 40 * MS, 21, 0xa));
	b = thread_end(&s);
	b->thread.ended_ns = begin_ns + 900 * MS;
	b->thread.cpu_ns = 50 * MS;
	queue_push(&s.queue, b);
	queue_push(&s.queue, account(&s, 1000 * MS, 20 * MS, 10 * MS));
	close_scene(&s);
	read_file();
	assert_times((const int64_t[]){900, 50, 10, 840, 0, 0, 840});
}

static void what_is_left_out_has_no_account(void **state)
{
	struct scene s;
	struct batch *b;

	(void)state;
	open_scene(&s, WEFT_ENGINE_WALL, 0);
	b = account(&s, 5000 * MS, 20 * MS, 10 * MS);
	((struct wall_word *)(void *)b->data)->is_partial = 1;
	queue_push(&s.queue, b);
	close_scene(&s);
	read_file();
	assert_int_equal(count_of(RECORDING_THREAD_TIME), 0);
}

/* The end is told with the time of the look that found it, which may be before. */
static void words_from_outside_stay_in_order(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_WALL, 0);
	queue_push(&s.queue, wall_word(&s, WALL_SAMPLE, 100 * MS, 1, 0xa));
	queue_push(&s.queue, wall_word(&s, WALL_MORE, 900 * MS, 19, 0));
	queue_push(&s.queue, wall_word(&s, WALL_END, 800 * MS, 0, 0));
	close_scene(&s);
	read_file();
	assert_int_equal(stay(0)->samples, 20);
}

static void time_on_a_cpu_is_whole_periods(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_CPU | WEFT_ENGINE_WALL, 0);
	for (uint64_t i = 0; i < 4000; i++)
		queue_push(&s.queue, own_sample(&s, (1 + i) * CPU_NS, i % 3));
	close_scene(&s);
	read_file();
	assert_int_equal(count_of(RECORDING_EXECUTION_SAMPLE), 4000);
	/* but for where in a period it begins */
	assert_in_range(count_of(RECORDING_WALL_SAMPLE), 1000, 1001);
	for (size_t i = 0; i < 1000; i++) {
		const struct event *e = one(RECORDING_WALL_SAMPLE, i);

		assert_int_equal(e->samples, 1);
		assert_string_equal(e->state, "STATE_RUNNABLE");
	}
}

static void ids_in_each_sample(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, WEFT_ENGINE_CPU | WEFT_ENGINE_WALL, 1);
	queue_push(&s.queue, wall_word(&s, WALL_SAMPLE, 100 * MS, 3, 0xa));
	queue_push(&s.queue, wall_word(&s, WALL_END, 120 * MS, 0, 0));
	queue_push(&s.queue, own_sample(&s, 200 * MS, 0xb));
	close_scene(&s);
	read_file();
	assert_int_equal(count_of(RECORDING_SPAN) + count_of(RECORDING_WALL_SAMPLE), 0);
	assert_string_equal(one(RECORDING_INLINE_WALL_SAMPLE, 0)->span, "000000000000000a");
	assert_int_equal(one(RECORDING_INLINE_WALL_SAMPLE, 0)->samples, 3);
	assert_int_equal(one(RECORDING_INLINE_WALL_SAMPLE, 0)->span_ticks, 3 * WALL_NS);
	assert_string_equal(one(RECORDING_INLINE_SAMPLE, 0)->span, "000000000000000b");
}

/* ---- whole lives */

#define LIVES 40
#define PARTS 150
#define SENT_MAX 4000

/* One part of a life: so long the thread ran, or was blocked, in one context. */
struct part {
	uint64_t from_ns, to_ns, span;
	int blocked;
};

struct sent {
	uint64_t at_ns; /* when it reaches the worker */
	uint64_t order;
	struct batch *batch;
};

static uint64_t seed;

static uint64_t any(uint64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (seed >> 33) % below;
}

static struct sent sent[SENT_MAX];
static size_t sent_count;

static void send_at(uint64_t at_ns, struct batch *b)
{
	assert_true(sent_count < SENT_MAX);
	sent[sent_count] = (struct sent){at_ns, sent_count, b};
	sent_count++;
}

static int by_time(const void *left, const void *right)
{
	const struct sent *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/*
 * As the wall engine looks at a thread: ever less often while nothing changes. The look that
 * finds it gone tells the last ticks, and that they are the last. @look_ns: the next look.
 */
static uint32_t send_stay(struct scene *s, const struct part *part, uint64_t *look_ns)
{
	uint64_t at_ns = *look_ns > part->from_ns ? *look_ns : part->from_ns + 1 + any(10 * MS);
	uint32_t samples = 1;

	if (at_ns >= part->to_ns)
		return 0;
	send_at(at_ns + any(20 * MS), wall_word(s, WALL_SAMPLE, at_ns, 1, part->span));
	*look_ns = at_ns + 20 * MS + any(80 * MS);
	while (*look_ns < part->to_ns) {
		at_ns = *look_ns;
		send_at(at_ns + 20 * MS, wall_word(s, WALL_MORE, at_ns, 2, 0));
		samples += 2;
		*look_ns = at_ns + 20 * MS + any(980 * MS);
	}
	send_at(*look_ns + 20 * MS,
		wall_word(s, WALL_MORE, at_ns + any(part->to_ns - at_ns), 1, 0));
	send_at(*look_ns + 20 * MS, wall_word(s, WALL_END, *look_ns, 0, 0));
	*look_ns += 20 * MS;
	return samples + 1;
}

/* Drained each 100 ms. */
static uint32_t send_runs(struct scene *s, const struct part *part)
{
	uint32_t samples = 0;

	for (uint64_t at_ns = part->from_ns + MS; at_ns < part->to_ns; at_ns += CPU_NS) {
		send_at((at_ns / (100 * MS) + 1) * 100 * MS, own_sample(s, at_ns, part->span));
		samples++;
	}
	return samples;
}

static void a_life(struct part *parts, uint32_t *own, uint32_t *wall)
{
	struct scene s;
	uint64_t now_ns = MS, look_ns = 0;

	open_scene(&s, WEFT_ENGINE_CPU | WEFT_ENGINE_WALL, 0);
	sent_count = *own = *wall = 0;
	for (size_t i = 0; i < PARTS; i++) {
		struct part *p = &parts[i];

		p->from_ns = now_ns;
		p->blocked = i % 2 == 0;
		p->span = any(4);
		now_ns = p->to_ns = now_ns + MS + any((any(4) ? 20 : 400) * MS);
		if (p->blocked)
			*wall += send_stay(&s, p, &look_ns);
		else
			*own += send_runs(&s, p);
	}
	for (uint64_t at_ns = any(1000 * MS); at_ns < now_ns; at_ns += MS + any(1000 * MS))
		send_at(at_ns, roll(at_ns));
	qsort(sent, sent_count, sizeof(*sent), by_time);
	for (size_t i = 0; i < sent_count; i++)
		queue_push(&s.queue, sent[i].batch);
	close_scene(&s);
}

static const struct part *part_at(const struct part *parts, int64_t ns)
{
	for (size_t i = 0; i < PARTS; i++)
		if (ns >= (int64_t)parts[i].from_ns && ns < (int64_t)parts[i].to_ns)
			return &parts[i];
	return NULL;
}

/* Epoch times are off by what the clocks drift: so little that a part's middle is sure. */
static void check_event(const struct part *parts, const struct event *e)
{
	const struct part *p = part_at(parts, e->start_ns);
	const char *span = span_of(e);
	char want[20] = "";

	if (!p || part_at(parts, e->start_ns - 500000) != p ||
	    part_at(parts, e->start_ns + 500000) != p)
		return;
	if (p->span)
		snprintf(want, sizeof(want), "%016llx", (unsigned long long)p->span);
	assert_string_equal(span, want);
}

static void every_sample_has_the_context_that_it_was_taken_in(void **state)
{
	static struct part parts[PARTS];

	(void)state;
	for (seed = 1; seed <= LIVES; seed++) {
		uint64_t began = seed;
		uint32_t own, wall;
		int64_t ticks = 0;

		a_life(parts, &own, &wall);
		read_file();
		for (size_t i = 0; i < event_count; i++) {
			const struct event *e = &events[i];

			if (is(e, RECORDING_SPAN))
				continue;
			check_event(parts, e);
			if (is(e, RECORDING_WALL_SAMPLE) && strcmp(e->state, "STATE_SLEEPING") == 0)
				ticks += e->samples;
		}
		assert_int_equal(count_of(RECORDING_EXECUTION_SAMPLE), own);
		assert_int_equal(ticks, wall);
		seed = began;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stay_is_one_event),
		cmocka_unit_test(a_stay_over_chunks_is_an_event_in_each),
		cmocka_unit_test(ticks_that_come_late_stay_with_their_span),
		cmocka_unit_test(what_comes_late_is_put_where_it_was),
		cmocka_unit_test(what_comes_too_late_keeps_its_context),
		cmocka_unit_test(a_wait_for_a_cpu_has_the_newest_stack_and_context),
		cmocka_unit_test(a_wait_goes_where_it_was_seen),
		cmocka_unit_test(a_wait_before_anything_goes_to_what_comes_first),
		cmocka_unit_test(the_last_ticks_of_a_thread_are_not_lost),
		cmocka_unit_test(the_account_stands_beside_what_is_seen),
		cmocka_unit_test(its_last_words_close_the_account),
		cmocka_unit_test(what_is_left_out_has_no_account),
		cmocka_unit_test(words_from_outside_stay_in_order),
		cmocka_unit_test(time_on_a_cpu_is_whole_periods),
		cmocka_unit_test(ids_in_each_sample),
		cmocka_unit_test(every_sample_has_the_context_that_it_was_taken_in),
	};
	int rc;

	snprintf(file, sizeof(file), "/tmp/weft-test-wall-%d.jfr", (int)getpid());
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return rc;
}
