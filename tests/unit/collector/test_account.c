/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books of CPU time: readings from outside and last words of threads, made up and put into the
 * worker's queue in any order, and what weft.ThreadCPU makes of them; then readings of our own
 * process, from outside.
 */
#include "base/clock.h"
#include "base/recording.h"
#include "collector/look/account.h"
#include "collector/write/process_work.h"
#include "collector/write/worker.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <weft/jfr.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define PERIOD_NS (5 * MS)
#define MAIN_TID 70
#define TID 77
#define ROWS_MAX 1000

static char file[64];
static uint64_t begin_ns;

/* ---- a worker and its queue */

struct scene {
	struct queue queue;
	struct worker worker;
	struct process *process;
};

static void open_scene(struct scene *s, uint64_t before_ns, const char *pattern)
{
	struct recording_options o = {.path = file,
				      .command_line = "test",
				      .version = "0",
				      .stack_mode = "auto",
				      .period_ns = PERIOD_NS,
				      .engines = WEFT_ENGINE_CPU,
				      .threads = pattern};

	memset(s, 0, sizeof(*s));
	begin_ns = clock_mono_ns();
	o.start_ns = begin_ns;
	assert_int_equal(queue_init(&s->queue, (size_t)1 << 30), 0);
	assert_int_equal(recording_open(&s->worker.recording, &o), 0);
	assert_int_equal(naming_init(&s->worker.naming), 0);
	s->worker.naming.writer = recording_writer(s->worker.recording);
	s->worker.queue = &s->queue;
	s->worker.period_ns = PERIOD_NS;
	assert_int_equal(process_new(&s->process, getpid()), 0);
	s->process->opened_ns = begin_ns;
	s->process->inside_pid = MAIN_TID;
	s->process->cpu_before_ns = before_ns;
	queue_push(&s->queue, batch_new(BATCH_OPEN, s->process, 0));
}

static void fill_thread(struct batch *b, int32_t tid, uint64_t generation)
{
	b->thread = (struct batch_thread){
		.slot = 3, .tid = tid, .generation = generation, .claimed_ns = begin_ns + MS};
	snprintf(b->thread.name, sizeof(b->thread.name), "worker");
}

static void sample(struct scene *s, int32_t tid, uint64_t at_ns, uint32_t weight)
{
	struct batch *b = batch_new(BATCH_WALKED, s->process, sizeof(struct walked_sample));
	struct walked_sample *w = (void *)b->data;

	memset(w, 0, sizeof(*w));
	fill_thread(b, tid, (uint64_t)tid);
	w->bytes = sizeof(*w);
	w->sample.record.bytes = sizeof(w->sample);
	w->sample.time_ns = begin_ns + at_ns;
	w->sample.weight = weight;
	queue_push(&s->queue, b);
}

static void thread_end(struct scene *s, uint64_t at_ns, int32_t tid, uint64_t cpu_ns)
{
	struct batch *b = batch_new(BATCH_THREAD_END, s->process, 0);

	fill_thread(b, tid, (uint64_t)tid);
	b->thread.cpu_ns = cpu_ns;
	b->time_ns = begin_ns + at_ns;
	queue_push(&s->queue, b);
}

static void read_at(struct scene *s, uint64_t at_ns, uint64_t process_ns, int32_t tid,
		    uint64_t cpu_ns, uint32_t flags)
{
	struct account_head head = {.process_ns = process_ns, .time_ns = begin_ns + at_ns};
	struct account_word word = {.tid = tid, .flags = flags, .cpu_ns = cpu_ns, .name = "worker"};
	struct account_words words = {.word = NULL};

	if (tid)
		account_words_add(&words, &word);
	queue_push(&s->queue, account_words_batch(&words, s->process, &head));
	account_words_free(&words);
}

static void roll(struct scene *s, uint64_t at_ns)
{
	struct batch *b = batch_new(BATCH_ROLL, NULL, 0);

	b->time_ns = begin_ns + at_ns;
	queue_push(&s->queue, b);
}

static struct recording_written close_scene(struct scene *s)
{
	struct batch *b = batch_new(BATCH_CLOSE, s->process, sizeof(struct session_counts));
	struct recording_written written;

	memset(b->data, 0, b->bytes);
	b->end = RECORDING_END_EXITED;
	b->time_ns = begin_ns + 60000 * MS;
	queue_push(&s->queue, b);
	queue_push(&s->queue, batch_new(BATCH_FINISH, NULL, 0));
	worker_run(&s->worker);
	assert_int_equal(s->worker.error, 0);
	assert_int_equal(recording_close(s->worker.recording, begin_ns + 60000 * MS, &written), 0);
	naming_free(&s->worker.naming);
	queue_destroy(&s->queue);
	return written;
}

/* ---- what is in the file */

struct row {
	int64_t tid; /* 0: of no thread */
	int64_t used_ns, seen_ns, samples;
	char source[16];
	uint64_t chunk;
};

static struct row rows[ROWS_MAX];
static size_t row_count;

static int64_t number(const struct weft_jfr_node *n)
{
	return n && n->shape == WEFT_JFR_V_NUMBER ? n->number : 0;
}

static int64_t tid_of(const struct weft_jfr_node *thread)
{
	return thread ? number(weft_jfr_get(thread, "osThreadId")) : 0;
}

static void read_rows(void)
{
	struct weft_jfr_reader *r = weft_jfr_open(file);
	struct weft_jfr_event_view e;
	const struct weft_jfr_node *source;

	row_count = 0;
	assert_non_null(r);
	while (weft_jfr_next(r, &e) == 1) {
		struct row *to = &rows[row_count];

		if (strcmp(weft_jfr_class_name(e.type), RECORDING_THREAD_CPU) != 0)
			continue;
		assert_true(row_count++ < ROWS_MAX);
		source = weft_jfr_event_get(&e, RECORDING_FIELD_SOURCE);
		to->tid = tid_of(weft_jfr_event_get(&e, "eventThread"));
		to->used_ns = number(weft_jfr_event_get(&e, RECORDING_FIELD_USED));
		to->seen_ns = number(weft_jfr_event_get(&e, RECORDING_FIELD_SEEN));
		to->samples = number(weft_jfr_event_get(&e, RECORDING_FIELD_SAMPLES));
		snprintf(to->source, sizeof(to->source), "%.*s", (int)source->string.bytes,
			 source->string.data);
		to->chunk = e.chunk;
	}
	weft_jfr_reader_free(r);
}

static struct row sum_of(int64_t tid)
{
	struct row sum = {.tid = tid};

	for (size_t i = 0; i < row_count; i++) {
		if (rows[i].tid != tid)
			continue;
		sum.used_ns += rows[i].used_ns;
		sum.seen_ns += rows[i].seen_ns;
		sum.samples += rows[i].samples;
		memcpy(sum.source, rows[i].source, sizeof(sum.source));
	}
	return sum;
}

static void expect_used(int64_t tid, uint64_t used_ns)
{
	assert_int_equal(sum_of(tid).used_ns, used_ns);
}

/* ---- the books */

static void a_thread_has_what_it_used_and_what_was_seen(void **state)
{
	struct recording_written written;
	struct scene s;

	(void)state;
	open_scene(&s, 0, NULL);
	read_at(&s, 10 * MS, 12 * MS, TID, 10 * MS, 0);
	sample(&s, TID, 900 * MS, 1);
	sample(&s, TID, 990 * MS, 3);
	read_at(&s, 1000 * MS, 55 * MS, TID, 50 * MS, 0);
	written = close_scene(&s);
	read_rows();
	expect_used(TID, 50 * MS);
	assert_int_equal(sum_of(TID).seen_ns, 4 * PERIOD_NS);
	assert_int_equal(sum_of(TID).samples, 2);
	assert_string_equal(sum_of(TID).source, "schedstat");
	expect_used(0, 5 * MS);
	assert_string_equal(sum_of(0).source, "process");
	assert_int_equal(written.used_ns, 55 * MS);
	assert_int_equal(written.seen_ns, 4 * PERIOD_NS);
}

/* From outside, by itself, in any order, and what was read before it ended and comes after. */
static void last_words_count_once(void **state)
{
	struct scene s;

	(void)state;
	for (int order = 0; order < 3; order++) {
		open_scene(&s, 0, NULL);
		sample(&s, TID, 30 * MS, 1);
		if (order == 0)
			read_at(&s, 40 * MS, 0, TID, 30 * MS, 0);
		if (order < 2) {
			thread_end(&s, 43 * MS, TID, 42 * MS);
			read_at(&s, 45 * MS, 0, TID, 35 * MS, 0);
			read_at(&s, 200 * MS, 0, TID, 0, ACCOUNT_GONE);
		} else {
			read_at(&s, 45 * MS, 0, TID, 35 * MS, 0);
			read_at(&s, 200 * MS, 0, TID, 0, ACCOUNT_GONE);
			thread_end(&s, 43 * MS, TID, 42 * MS);
		}
		read_at(&s, 9000 * MS, 44 * MS, 0, 0, 0);
		close_scene(&s);
		read_rows();
		expect_used(TID, 42 * MS);
		assert_string_equal(sum_of(TID).source, "thread");
		expect_used(0, 2 * MS);
	}
}

static void a_number_that_is_used_again_is_another_thread(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 0, NULL);
	read_at(&s, 1000 * MS, 0, TID, 400 * MS, 0);
	read_at(&s, 1100 * MS, 0, TID, 0, ACCOUNT_GONE);
	read_at(&s, 1300 * MS, 0, TID, 100 * MS, 0);
	read_at(&s, 1400 * MS, 550 * MS, TID, 130 * MS, 0);
	close_scene(&s);
	read_rows();
	expect_used(TID, 530 * MS);
	expect_used(0, 20 * MS);
}

/* Without samples: a row from some periods on; what is less has none. */
static void little_is_left_to_the_rest(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 0, NULL);
	for (int i = 0; i < 10; i++)
		read_at(&s, 100 * MS, 0, 100 + i, 3 * MS, 0);
	read_at(&s, 200 * MS, 80 * MS, TID, 25 * MS, 0);
	close_scene(&s);
	read_rows();
	assert_int_equal(row_count, 2);
	expect_used(TID, 25 * MS);
	expect_used(0, 55 * MS);
}

static void what_was_used_before_is_not_ours(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 1000 * MS, NULL);
	read_at(&s, MS, 1001 * MS, TID, 600 * MS, ACCOUNT_OLDER);
	read_at(&s, 500 * MS, 1300 * MS, TID, 800 * MS, ACCOUNT_OLDER);
	read_at(&s, 510 * MS, 0, 78, 90 * MS, 0);
	close_scene(&s);
	read_rows();
	expect_used(TID, 200 * MS);
	expect_used(78, 90 * MS);
	expect_used(0, 10 * MS);
}

/* The main thread alone may have loaded the program. */
static void the_main_thread_counts_from_where_its_process_does(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 4 * MS, NULL);
	sample(&s, MAIN_TID, 90 * MS, 1);
	read_at(&s, 100 * MS, 40 * MS, MAIN_TID, 40 * MS, ACCOUNT_OLDER);
	thread_end(&s, 150 * MS, MAIN_TID, 60 * MS);
	read_at(&s, 200 * MS, 61 * MS, 0, 0, 0);
	close_scene(&s);
	read_rows();
	expect_used(MAIN_TID, 56 * MS);
	expect_used(0, MS);
}

/* Threads are read before their process: what looks like rest may be theirs. */
static void the_rest_waits_for_a_chunk(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 0, NULL);
	read_at(&s, 1000 * MS, 130 * MS, TID, 100 * MS, 0);
	roll(&s, 1000 * MS);
	read_at(&s, 2000 * MS, 240 * MS, TID, 235 * MS, 0);
	roll(&s, 2000 * MS);
	read_at(&s, 3000 * MS, 420 * MS, TID, 400 * MS, 0);
	close_scene(&s);
	read_rows();
	expect_used(TID, 400 * MS);
	expect_used(0, 20 * MS);
	for (size_t i = 1; i < row_count; i++)
		assert_true(rows[i].chunk >= rows[i - 1].chunk);
}

static void liars_are_not_believed(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 0, NULL);
	read_at(&s, 100 * MS, 80 * MS, TID, 70 * MS, 0);
	sample(&s, TID, 100 * MS, 1);
	read_at(&s, 110 * MS, UINT64_MAX / 2, TID, UINT64_MAX - 5, ACCOUNT_OWN);
	thread_end(&s, 120 * MS, TID, UINT64_MAX / 3);
	sample(&s, 78, 100 * MS, 1);
	thread_end(&s, 120 * MS, 78, UINT64_MAX);
	close_scene(&s);
	read_rows();
	expect_used(TID, 70 * MS);
	expect_used(78, 0);
	expect_used(0, 10 * MS);
}

static void threads_that_are_not_wanted_are_not_in_it(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 0, "other*");
	read_at(&s, 1000 * MS, 900 * MS, TID, 800 * MS, 0);
	close_scene(&s);
	read_rows();
	assert_int_equal(row_count, 0);
}

/* However many come and go. */
static void nothing_stays_of_threads_that_are_gone(void **state)
{
	struct scene s;
	size_t room;

	(void)state;
	open_scene(&s, 0, NULL);
	for (int i = 0; i < 50000; i++) {
		uint64_t at = (uint64_t)i * MS;

		read_at(&s, at, 0, 1000 + i, MS, 0);
		read_at(&s, at + MS, at + 2 * MS, 1000 + i, 0, ACCOUNT_GONE);
	}
	queue_push(&s.queue, batch_new(BATCH_FINISH, NULL, 0));
	worker_run(&s.worker);
	room = s.process->work->account.room;
	assert_true(s.process->work->account.count < 6000);
	assert_true(room < 16384);
	close_scene(&s);
	read_rows();
	assert_int_equal(row_count, 1);
	expect_used(0, 50001 * MS);
}

/* A thread that was met without samples keeps its identity. */
static void a_first_sample_changes_no_identity(void **state)
{
	uint64_t keys[2] = {0, 0};
	struct scene s;

	(void)state;
	open_scene(&s, 0, NULL);
	read_at(&s, 1000 * MS, 900 * MS, TID, 800 * MS, 0);
	roll(&s, 1000 * MS);
	queue_push(&s.queue, batch_new(BATCH_FINISH, NULL, 0));
	worker_run(&s.worker);
	sample(&s, TID, 1100 * MS, 1);
	queue_push(&s.queue, batch_new(BATCH_FINISH, NULL, 0));
	worker_run(&s.worker);
	keys[0] = process_thread_by_tid(s.process, TID)->key;
	keys[1] = recording_account_key(s.process, process_thread_by_tid(s.process, TID));
	assert_true(keys[0] != 0);
	assert_true(keys[0] == keys[1]);
	close_scene(&s);
}

/* ---- readings of this process */

static struct account account;
static struct threads *threads;

static void on_new(void *arg, struct watched_thread *t)
{
	(void)arg;
	(void)t;
}

static void on_dead(void *arg, struct watched_thread *t)
{
	(void)arg;
	account_gone(&account, t);
}

/* How many words there are of @tid in what was queued, and the newest of them. */
static size_t words_of(struct queue *q, int32_t tid, struct account_word *newest,
		       struct account_head *head)
{
	size_t count = 0;

	while (q->first) {
		struct batch *b = queue_pop(q);

		memcpy(head, b->data, sizeof(*head));
		for (size_t at = sizeof(*head); at < b->bytes; at += sizeof(*newest)) {
			const struct account_word *w = (const void *)(b->data + at);

			if (w->tid != tid)
				continue;
			*newest = *w;
			count++;
		}
		free(b);
	}
	return count;
}

static void burn(uint64_t ns)
{
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		continue;
}

static void readings_are_the_kernels(void **state)
{
	struct threads_callbacks callbacks = {on_new, on_dead, NULL, NULL};
	struct account_word word = {.tid = 0};
	struct account_head head = {.process_ns = 0};
	uint64_t now_ns = clock_mono_ns(), before_ns;
	struct process *p;
	struct queue q;

	(void)state;
	assert_int_equal(queue_init(&q, 1 << 20), 0);
	assert_int_equal(process_new(&p, getpid()), 0);
	threads = threads_new(p, &callbacks);
	account_begin(&account, p, &q);
	assert_true(threads_look(threads, now_ns) > 0);
	account_look(&account, threads, now_ns, 1);
	assert_int_equal(words_of(&q, getpid(), &word, &head), 1);
	assert_true(word.flags & ACCOUNT_OLDER);
	before_ns = word.cpu_ns;
	burn(50 * MS);
	now_ns += 60 * MS; /* as if */
	account_look_all(&account, threads, now_ns);
	assert_int_equal(words_of(&q, getpid(), &word, &head), 1);
	assert_true(word.cpu_ns >= before_ns + 40 * MS);
	assert_true(head.process_ns >= word.cpu_ns);
	assert_true(head.process_ns <= clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	threads_free(threads); /* tells of those that are left */
	account_words_free(&account.words);
	process_free(p);
	queue_destroy(&q);
}

static void *sleep_until_told(void *arg)
{
	pthread_mutex_lock(arg);
	pthread_mutex_unlock(arg);
	return NULL;
}

/* Of threads that use nothing no more is read than now and then. */
static void idle_threads_cost_little(void **state)
{
	enum { IDLE = 300, LOOKS = 300 };
	static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	struct threads_callbacks callbacks = {on_new, on_dead, NULL, NULL};
	struct watched_thread *t;
	uint64_t now_ns = clock_mono_ns(), process_ns;
	size_t cursor = 0, seldom = 0;
	pthread_t thread[IDLE];
	struct process *p;
	struct queue q;

	(void)state;
	pthread_mutex_lock(&gate);
	for (int i = 0; i < IDLE; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, sleep_until_told, &gate), 0);
	assert_int_equal(queue_init(&q, 1 << 20), 0);
	assert_int_equal(process_new(&p, getpid()), 0);
	threads = threads_new(p, &callbacks);
	account_begin(&account, p, &q);
	process_ns = 0;
	for (int i = 0; i < LOOKS; i++) { /* of a process that is busy */
		assert_true(threads_look(threads, now_ns) > IDLE);
		account_look(&account, threads, now_ns, process_ns += 100 * MS);
		now_ns += 100 * MS;
	}
	while ((t = threads_next(threads, &cursor)))
		seldom += t->tid != getpid() && t->account.pause_ns >= 5000 * MS;
	assert_true(seldom >= IDLE * 9 / 10);
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < IDLE; i++)
		pthread_join(thread[i], NULL);
	threads_free(threads); /* tells of those that are left */
	account_words_free(&account.words);
	process_free(p);
	queue_destroy(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_has_what_it_used_and_what_was_seen),
		cmocka_unit_test(last_words_count_once),
		cmocka_unit_test(a_number_that_is_used_again_is_another_thread),
		cmocka_unit_test(little_is_left_to_the_rest),
		cmocka_unit_test(what_was_used_before_is_not_ours),
		cmocka_unit_test(the_main_thread_counts_from_where_its_process_does),
		cmocka_unit_test(the_rest_waits_for_a_chunk),
		cmocka_unit_test(liars_are_not_believed),
		cmocka_unit_test(threads_that_are_not_wanted_are_not_in_it),
		cmocka_unit_test(nothing_stays_of_threads_that_are_gone),
		cmocka_unit_test(a_first_sample_changes_no_identity),
		cmocka_unit_test(readings_are_the_kernels),
		cmocka_unit_test(idle_threads_cost_little),
	};
	int failed;

	snprintf(file, sizeof(file), "/tmp/weft-account-%d.jfr", (int)getpid());
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return failed;
}
