/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole collector against targets that this program plays, honest and hostile ones, over
 * the real socket; what it wrote is read back by the library.
 */
#include "base/clock.h"
#include "base/recording.h"
#include "collector/run/collector.h"
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/jfr.h>

#include <cmocka.h>

#define PERIOD_NS 5000000u

static char directory[] = "/tmp/weft-test-XXXXXX";
static char file[64];

static struct collector *open_collector(int no_children, pid_t root)
{
	struct collector_options o = {
		.path = file,
		.command_line = "test",
		.version = "0",
		.period_ns = PERIOD_NS,
		.root = root,
		.no_children = no_children,
		.chunk_ns = 50000000,
	};
	struct collector *c;
	const char *what;
	int rc = collector_open(&c, &o, &what);

	if (rc)
		fail_msg("collector: %s: %s", what, strerror(-rc));
	return c;
}

/* Runs @play in a process of its own. */
static pid_t begin(const struct collector *c, int (*play)(struct target *t, const char *socket))
{
	pid_t pid = fork();

	if (pid == 0) {
		struct target t;
		int rc = target_join(&t, collector_socket(c));

		alarm(30);
		_exit(rc == -ECANCELED ? 100 : rc ? 101 : play(&t, collector_socket(c)));
	}
	return pid;
}

static int end(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- what is in the file */

#define SPANS_MAX 64

struct found {
	int samples, spans;
	int64_t span_start[SPANS_MAX], span_end[SPANS_MAX];
	char span_id[SPANS_MAX][17], route[SPANS_MAX][32];
	int64_t sample_time[4096];
	int64_t counter[8];
	char process_end[256];
};

static const char *const counted[] = {"attempted", "delivered", "invalid", "ring_full", "threads"};

static void copy(char *out, size_t room, const struct weft_jfr_node *n)
{
	out[0] = 0;
	if (n && n->shape == WEFT_JFR_V_STRING)
		snprintf(out, room, "%.*s", (int)n->string.bytes, n->string.data);
}

static void take_span(struct found *f, const struct weft_jfr_event_view *e)
{
	int i = f->spans++;

	if (i >= SPANS_MAX)
		return;
	f->span_start[i] = e->start_ns;
	f->span_end[i] = e->start_ns + e->duration_ns;
	copy(f->span_id[i], sizeof(f->span_id[i]), weft_jfr_event_get(e, RECORDING_FIELD_SPAN));
	copy(f->route[i], sizeof(f->route[i]), weft_jfr_event_get(e, "route"));
}

static void take_counter(struct found *f, const struct weft_jfr_event_view *e)
{
	char name[32];

	copy(name, sizeof(name), weft_jfr_event_get(e, RECORDING_FIELD_NAME));
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		if (strcmp(name, counted[i]) == 0)
			f->counter[i] += weft_jfr_event_get(e, RECORDING_FIELD_VALUE)->number;
}

static struct found *read_file(void)
{
	struct found *f = calloc(1, sizeof(*f));
	struct weft_jfr_reader *r = weft_jfr_open(file);
	struct weft_jfr_event_view e;
	int rc;

	assert_non_null(r);
	while ((rc = weft_jfr_next(r, &e)) == 1) {
		const char *type = weft_jfr_class_name(e.type);

		if (strcmp(type, RECORDING_EXECUTION_SAMPLE) == 0 && f->samples < 4096)
			f->sample_time[f->samples++] = e.start_ns;
		else if (strcmp(type, RECORDING_SPAN) == 0)
			take_span(f, &e);
		else if (strcmp(type, RECORDING_COUNTER) == 0)
			take_counter(f, &e);
		else if (strcmp(type, RECORDING_PROCESS) == 0 &&
			 strlen(f->process_end) + 16 < sizeof(f->process_end))
			copy(f->process_end + strlen(f->process_end), 16,
			     weft_jfr_event_get(&e, RECORDING_FIELD_END));
	}
	if (rc < 0)
		fail_msg("%s: %s", file, weft_jfr_error(r));
	weft_jfr_reader_free(r);
	return f;
}

/* ---- honest targets */

static int two_spans(struct target *t, const char *socket)
{
	uint64_t now = clock_mono_ns();
	struct weft_slot *slot = target_claim(t, 0, 1);

	(void)socket;
	target_log(t, WEFT_LOG_TAG_NAME, 2, "route");
	target_log(t, WEFT_LOG_STRING, 9, "/cart");
	target_sample(t, 0, 1, now, 1, 0xabc);
	target_sample(t, 0, 1, now + 1000, 1, 0xabc);
	target_sample(t, 0, 1, now + 20000000, 3, 0xdef);
	target_sample(t, 0, 1, now + 40000000, 1, 0);
	snprintf(slot->name, sizeof(slot->name), "worker");
	return 0;
}

static void samples_and_spans_of_an_honest_target(void **state)
{
	struct collector *c = open_collector(0, 1);
	pid_t pid = begin(c, two_spans);
	struct collector_result result;
	struct found *f;

	(void)state;
	assert_int_equal(end(pid), 0);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	f = read_file();
	assert_int_equal(result.written.in_file.samples, 6);
	assert_int_equal(result.processes, 1);
	assert_int_equal(result.total.delivered, 4);
	assert_int_equal(f->samples, 6);
	assert_int_equal(f->spans, 2);
	assert_string_equal(f->span_id[0], "0000000000000abc");
	assert_string_equal(f->span_id[1], "0000000000000def");
	assert_int_equal(f->span_end[0] - f->span_start[0], 1001);
	/* Its three events lie at its first sample: when it was set nobody knows. */
	assert_int_equal(f->span_end[1] - f->span_start[1], 1);
	assert_int_equal(f->counter[0], 4);
	assert_int_equal(f->counter[1], 4);
	assert_int_equal(f->counter[4], 1);
	free(f);
}

static int with_late_tags(struct target *t, const char *socket)
{
	struct weft_slot *slot = target_claim(t, 0, 1);
	uint64_t now = clock_mono_ns();

	(void)socket;
	(void)slot;
	target_sample(t, 0, 1, now, 1, 0xabc);
	usleep(120000);
	target_log(t, WEFT_LOG_TAG_NAME, 2, "route");
	target_log(t, WEFT_LOG_STRING, 9, "/cart");
	now = clock_mono_ns();
	target_sample(t, 0, 1, now, 1, 0);
	{
		struct {
			struct weft_sample_record sample;
		} r = {.sample = {.record = {.bytes = sizeof(r),
					     .type = WEFT_RECORD_SAMPLE,
					     .generation = 1},
				  .time_ns = now + 10,
				  .weight = 1,
				  .context = WEFT_CONTEXT_IDS,
				  .stack = WEFT_SAMPLE_FRAMES,
				  .span_id = 0x123}};

		r.sample.tags[2] = 9;
		target_publish(t, 0, &r, sizeof(r));
	}
	return 0;
}

static void a_tag_named_late_becomes_a_field_of_later_chunks(void **state)
{
	struct collector *c = open_collector(0, 1);
	pid_t pid = begin(c, with_late_tags);
	struct collector_result result;
	struct found *f;

	(void)state;
	assert_int_equal(end(pid), 0);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	f = read_file();
	assert_int_equal(f->spans, 2);
	assert_string_equal(f->route[0], "");
	assert_string_equal(f->span_id[1], "0000000000000123");
	assert_string_equal(f->route[1], "/cart");
	free(f);
}

/* Nothing that was published is lost when the target is killed the next moment. */
static int fill_and_die(struct target *t, const char *socket)
{
	uint64_t now = clock_mono_ns();

	(void)socket;
	for (uint32_t slot = 0; slot < 20; slot++) {
		target_claim(t, slot, 1);
		for (uint32_t i = 0; i < 50; i++)
			target_sample(t, slot, 1, now + i, 1, 5);
	}
	kill(getpid(), SIGKILL);
	return 0;
}

static void a_killed_target_loses_nothing(void **state)
{
	struct collector *c = open_collector(0, 1);
	pid_t pid = begin(c, fill_and_die);
	struct collector_result result;
	struct found *f;

	(void)state;
	assert_int_equal(end(pid), 128 + SIGKILL);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	f = read_file();
	assert_int_equal(f->samples, 1000);
	assert_int_equal(f->counter[0], 1000);
	assert_int_equal(f->counter[1], 1000);
	free(f);
}

static int die_slot_by_slot(struct target *t, const char *socket)
{
	uint64_t *bits = (void *)((uint8_t *)t->header + t->header->free_offset);
	uint64_t generation;

	(void)socket;
	for (generation = 1; generation <= 5; generation++) {
		uint64_t *state = target_state(t, 3);

		__atomic_and_fetch(bits, ~UINT64_C(8), __ATOMIC_SEQ_CST);
		target_claim(t, 3, generation);
		target_sample(t, 3, generation, clock_mono_ns(), 1, 0);
		__atomic_store_n(state, WEFT_STATE_WORD(generation, WEFT_SLOT_DEAD),
				 __ATOMIC_SEQ_CST);
		while (__atomic_load_n(state, __ATOMIC_SEQ_CST) !=
		       WEFT_STATE_WORD(generation, WEFT_SLOT_FREE))
			usleep(1000);
		while (!(__atomic_load_n(bits, __ATOMIC_SEQ_CST) & 8))
			usleep(1000);
	}
	return 0;
}

static void slots_of_dead_threads_are_given_back(void **state)
{
	struct collector *c = open_collector(0, 1);
	pid_t pid = begin(c, die_slot_by_slot);
	struct collector_result result;
	struct found *f;

	(void)state;
	assert_int_equal(end(pid), 0);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	f = read_file();
	assert_int_equal(f->samples, 5);
	assert_int_equal(f->counter[0], 5);
	assert_int_equal(f->counter[4], 5);
	free(f);
}

/* Killed between two stores: of a handler, of a commit, of a thief that was to make a slot new. */
static int die_at_work(struct target *t, const char *socket)
{
	struct weft_slot *slot;

	(void)socket;
	for (uint32_t i = 0; i < 3; i++) {
		slot = target_claim(t, i, 1);
		target_sample(t, i, 1, clock_mono_ns(), 1, 0);
		slot->counters[WEFT_COUNTER_ATTEMPTED] += i < 2;
		slot->samples_p.written += i == 1;
	}
	slot = target_claim(t, 3, 1);
	__atomic_store_n(target_state(t, 3), WEFT_STATE_WORD(2, WEFT_SLOT_OPENING),
			 __ATOMIC_SEQ_CST);
	slot->counters[WEFT_COUNTER_ATTEMPTED] = 7;
	slot->counters[WEFT_COUNTER_LOST_RING_FULL] = 1;
	slot->samples_p.written = 6;
	kill(getpid(), SIGKILL);
	return 0;
}

static void what_a_killed_thread_had_in_hand_is_pending(void **state)
{
	struct collector *c = open_collector(0, 1);
	pid_t pid = begin(c, die_at_work);
	struct collector_result result;

	(void)state;
	assert_int_equal(end(pid), 128 + SIGKILL);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	assert_int_equal(result.total.counter[WEFT_COUNTER_ATTEMPTED], 3 + 2 + 7);
	assert_int_equal(result.total.delivered, 3);
	assert_int_equal(result.total.pending, 1 + 1 + 6);
	assert_int_equal(result.total.unbalanced, 0);
}

static void end_slot_of(struct target *t, uint32_t index, uint64_t generation)
{
	uint64_t *state = target_state(t, index);

	__atomic_store_n(state, WEFT_STATE_WORD(generation, WEFT_SLOT_DEAD), __ATOMIC_SEQ_CST);
	while (__atomic_load_n(state, __ATOMIC_SEQ_CST) !=
	       WEFT_STATE_WORD(generation, WEFT_SLOT_FREE))
		usleep(1000);
}

static int keep_false_books(struct target *t, const char *socket)
{
	static const int64_t lies[] = {0, 5, -1, 1};

	(void)socket;
	for (uint32_t i = 0; i < 4; i++) {
		struct weft_slot *slot = target_claim(t, i, 1);

		for (int k = 0; k < 3; k++)
			target_sample(t, i, 1, clock_mono_ns(), 1, 0);
		slot->counters[WEFT_COUNTER_ATTEMPTED] += (uint64_t)lies[i];
		end_slot_of(t, i, 1);
		if (slot->counters[WEFT_COUNTER_ATTEMPTED] || slot->samples_p.written)
			return 1; /* not wiped */
	}
	return 0;
}

/* A thread that has ended has nothing in its hands: what is missing is not explained. */
static void books_out_of_balance_are_found(void **state)
{
	struct collector *c = open_collector(0, 1);
	pid_t pid = begin(c, keep_false_books);
	struct collector_result result;

	(void)state;
	assert_int_equal(end(pid), 0);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	assert_int_equal(result.total.counter[WEFT_COUNTER_ATTEMPTED], 17);
	assert_int_equal(result.total.delivered, 12);
	assert_int_equal(result.total.pending, 0);
	assert_int_equal(result.total.generations, 4);
	assert_int_equal(result.total.unbalanced, 3);
}

static int is_live(struct target *t, uint32_t index)
{
	return __atomic_load_n(target_state(t, index), __ATOMIC_SEQ_CST) ==
	       WEFT_STATE_WORD(1, WEFT_SLOT_LIVE);
}

/*
 * A slot that nobody will end, one whose thread lives on, and one of a process that lives,
 * but is no thread of this one: it may share its memory.
 */
static int leave_without_a_word(struct target *t, const char *socket)
{
	uint64_t *state = target_state(t, 2);
	pid_t gone = fork(); /* as good as a thread that is no more */

	(void)socket;
	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	target_claim(t, 0, 1);
	target_claim(t, 1, 1)->thread.tid = getppid();
	target_sample(t, 1, 1, clock_mono_ns(), 1, 0);
	target_claim(t, 2, 1)->thread.tid = gone;
	t->header->slots_used = 3;
	target_sample(t, 2, 1, clock_mono_ns(), 1, 0);
	while (__atomic_load_n(state, __ATOMIC_SEQ_CST) != WEFT_STATE_WORD(1, WEFT_SLOT_FREE))
		usleep(1000);
	usleep(300000); /* another look */
	if (!is_live(t, 0) || !is_live(t, 1))
		return 1;
	return __atomic_load_n(&t->header->slots_used, __ATOMIC_SEQ_CST) != 2;
}

static void threads_gone_without_a_word_give_their_slot_back(void **state)
{
	struct collector *c = open_collector(0, 1);
	pid_t pid = begin(c, leave_without_a_word);
	struct collector_result result;

	(void)state;
	assert_int_equal(end(pid), 0);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	assert_int_equal(result.total.counter[WEFT_COUNTER_SLOTS_REAPED], 1);
	assert_int_equal(result.total.delivered, 2);
	assert_int_equal(result.total.unbalanced, 0);
}

static int join_twice(struct target *t, const char *socket)
{
	struct target again;

	target_claim(t, 0, 1);
	target_sample(t, 0, 1, clock_mono_ns(), 1, 1);
	target_leave(t); /* as exec does */
	if (target_join(&again, socket))
		return 1;
	target_claim(&again, 0, 1);
	target_sample(&again, 0, 1, clock_mono_ns(), 1, 2);
	return 0;
}

static void who_joins_again_has_execed(void **state)
{
	struct collector *c = open_collector(0, 1);
	pid_t pid = begin(c, join_twice);
	struct collector_result result;
	struct found *f;

	(void)state;
	assert_int_equal(end(pid), 0);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	f = read_file();
	assert_int_equal(f->samples, 2);
	assert_int_equal(f->spans, 2);
	assert_non_null(strstr(f->process_end, RECORDING_END_EXEC));
	assert_non_null(strstr(f->process_end, RECORDING_END_EXITED));
	assert_int_equal(result.processes, 2);
	free(f);
}

static int nothing(struct target *t, const char *socket)
{
	(void)t;
	(void)socket;
	return 0;
}

static void only_the_root_is_welcome_without_children(void **state)
{
	struct collector *c = open_collector(1, getpid());
	pid_t pid = begin(c, nothing);
	struct collector_result result;
	struct target own;

	(void)state;
	assert_int_equal(end(pid), 100);
	assert_int_equal(target_join(&own, collector_socket(c)), 0);
	target_leave(&own);
	assert_int_equal(collector_finish(c, &result), 0);
	assert_int_equal(result.processes, 1);
	collector_free(c);
}

static void a_complete_recording_says_so_and_then_lets_go(void **state)
{
	struct collector *c = open_collector(0, 1);
	struct collector_result result;
	struct target t;

	(void)state;
	assert_int_equal(target_join(&t, collector_socket(c)), 0);
	assert_int_equal(t.header->run_state, WEFT_RUN_RECORDING);
	assert_true(t.header->timer_budget > 0);
	assert_int_equal(collector_complete(c, &result), 0);
	assert_int_equal(t.header->run_state, WEFT_RUN_CLOSED);
	assert_int_equal(t.header->collector_done, 0);
	collector_let_go(c);
	assert_int_equal(t.header->collector_done, 1);
	collector_free(c);
	target_leave(&t);
}

/* What a child that was forked just before its parent's end finds, late: [0] go on, [1] seen. */
static int orphan_pipe[2][2];

static int leave_an_orphan(struct target *t, const char *socket)
{
	uint32_t seen = 0;

	(void)socket;
	if (fork() != 0)
		return 0;
	if (read(orphan_pipe[0][0], &seen, sizeof(seen)) == sizeof(seen)) {
		seen = __atomic_load_n(&t->header->run_state, __ATOMIC_ACQUIRE);
		if (write(orphan_pipe[1][1], &seen, sizeof(seen)) < 0)
			return 1;
	}
	return 0;
}

static void a_parents_end_is_not_the_end_of_the_recording(void **state)
{
	struct collector *c = open_collector(0, 1);
	struct collector_progress now;
	struct collector_result result;
	uint32_t seen = 0;

	(void)state;
	assert_int_equal(pipe(orphan_pipe[0]) | pipe(orphan_pipe[1]), 0);
	assert_int_equal(end(begin(c, leave_an_orphan)), 0);
	do
		collector_progress(c, &now);
	while (now.processes == 0 || now.running > 0);
	assert_int_equal(write(orphan_pipe[0][1], &seen, sizeof(seen)), sizeof(seen));
	assert_int_equal(read(orphan_pipe[1][0], &seen, sizeof(seen)), sizeof(seen));
	assert_int_equal(seen, WEFT_RUN_RECORDING);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	for (int i = 0; i < 4; i++)
		close(orphan_pipe[i / 2][i % 2]);
}

/* ---- hostile ones */

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static const uint64_t bad_words[] = {
	0, 1, 7, 8, UINT64_MAX, UINT64_MAX - 7, INT64_MAX, UINT64_C(1) << 32, 0xFFFFFFFF, 4096};

static uint64_t bad_word(void)
{
	return any() % 2 ? any() : bad_words[any() % (sizeof(bad_words) / sizeof(bad_words[0]))];
}

/* Everything that the collector reads, over and over, as wrong as can be. */
static int scribble(struct target *t, const char *socket)
{
	uint64_t until = clock_mono_ns() + 700000000;

	(void)socket;
	for (uint32_t i = 0; i < 8; i++)
		target_claim(t, i, 1);
	while (clock_mono_ns() < until) {
		uint32_t index = (uint32_t)(any() % 8);
		uint64_t *slot = (uint64_t *)(void *)target_slot(t, index);
		uint64_t *ring = slot + t->header->samples_offset / 8;
		uint64_t *header = (uint64_t *)(void *)t->header;

		slot[(0x80 + any() % 0x200) / 8] = bad_word();
		for (int i = 0; i < 64; i++)
			ring[any() % 512] = bad_word();
		*target_state(t, index) =
			any() % 3 ? WEFT_STATE_WORD(any() % 4, any() % 6) : bad_word();
		/* not the layout that this very program goes by */
		header[(0x100 + any() % 0x780) / 8] = bad_word();
		((uint64_t *)(void *)((uint8_t *)t->header + 4096 + 0x82000))[any() % 64] =
			bad_word();
		if (any() % 50 == 0)
			usleep(1000);
	}
	return 0;
}

static int bad_records(struct target *t, const char *socket)
{
	static const uint32_t lengths[] = {0, 4, 8, 15, 17, 16, 24, 0x98, 0xFFFFFFF8, 300000};
	struct weft_sample_record r = {.record = {.type = WEFT_RECORD_SAMPLE, .generation = 1},
				       .stack = WEFT_SAMPLE_RAW,
				       .weight = 1};

	(void)socket;
	target_claim(t, 0, 1);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		r.record.bytes = lengths[i];
		r.time_ns = clock_mono_ns();
		r.copy_bytes = i % 2 ? 0xFFFFFFFF : 16384;
		r.register_count = i % 3 ? 65535 : 17;
		target_publish(t, 0, &r, 0x98);
		while (target_slot(t, 0)->samples_c.tail != target_slot(t, 0)->samples_p.head)
			usleep(500);
	}
	/* and afterwards good ones are read again */
	for (int i = 0; i < 3; i++)
		target_sample(t, 0, 1, clock_mono_ns(), 1, 0);
	/* of the future, of before the process, of another generation, of absurd weight */
	target_sample(t, 0, 1, UINT64_MAX / 2, 1, 0);
	target_sample(t, 0, 1, 1, 1, 0);
	target_sample(t, 0, 2, clock_mono_ns(), 1, 0);
	target_sample(t, 0, 1, clock_mono_ns(), UINT32_MAX, 0);
	return 0;
}

static void malformed_records_are_counted_and_the_next_ones_read(void **state)
{
	struct collector *c = open_collector(0, 1);
	pid_t pid = begin(c, bad_records);
	struct collector_result result;
	struct found *f;

	(void)state;
	assert_int_equal(end(pid), 0);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	f = read_file();
	assert_int_equal(result.total.delivered, 4);
	/* 10 + 1, and what stood behind two that were too short to be samples */
	assert_int_equal(result.total.counter[WEFT_COUNTER_LOST_INVALID], 13);
	assert_int_equal(result.total.counter[WEFT_COUNTER_LOST_MISTIMED], 2);
	/* no more weight than time has passed */
	assert_in_range(f->samples, 4, 4 + 30000000000 / PERIOD_NS);
	assert_true(f->samples < 2000);
	free(f);
}

static int honest_for_a_while(struct target *t, const char *socket)
{
	(void)socket;
	target_claim(t, 0, 1);
	for (int i = 0; i < 500; i++) {
		while (!target_sample(t, 0, 1, clock_mono_ns(), 1, (uint64_t)(1 + i / 100)))
			usleep(1000);
		usleep(1000);
	}
	return 0;
}

static void a_hostile_target_spoils_nobody_elses_recording(void **state)
{
	struct collector *c = open_collector(0, 1);
	pid_t hostile = begin(c, scribble), honest = begin(c, honest_for_a_while);
	struct collector_result result;
	struct found *f;
	int spans[6] = {0};

	(void)state;
	assert_int_equal(end(hostile), 0);
	assert_int_equal(end(honest), 0);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	f = read_file();
	assert_true(f->samples >= 500);
	for (int i = 0; i < f->spans && i < SPANS_MAX; i++) {
		unsigned long id = strtoul(f->span_id[i], NULL, 16);

		if (id >= 1 && id <= 5)
			spans[id]++;
	}
	for (int id = 1; id <= 5; id++)
		assert_true(spans[id] >= 1);
	free(f);
}

static void strange_guests_are_sent_away(void **state)
{
	struct collector *c = open_collector(0, 1);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct collector_result result;
	char bytes[200] = "not a hello";
	int fd[80];

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", collector_socket(c));
	for (int i = 0; i < 80; i++) {
		fd[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fd[i], (void *)&address, sizeof(address)), 0);
		if (i % 4 == 1)
			send(fd[i], bytes, (size_t)(i * 2), MSG_NOSIGNAL);
		if (i % 4 == 2)
			shutdown(fd[i], SHUT_WR);
	}
	{
		struct target t;

		assert_int_equal(target_join(&t, collector_socket(c)), 0);
		/* sealed: nobody can make it shorter under the collector's feet */
		target_leave(&t);
	}
	for (int i = 0; i < 80; i++)
		close(fd[i]);
	assert_int_equal(collector_finish(c, &result), 0);
	assert_int_equal(result.processes, 1);
	collector_free(c);
}

static void the_socket_and_its_directory_go(void **state)
{
	struct collector *c = open_collector(0, 1);
	char path[128];
	struct collector_result result;

	(void)state;
	snprintf(path, sizeof(path), "%s", collector_socket(c));
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(collector_finish(c, &result), 0);
	collector_free(c);
	assert_int_equal(access(path, F_OK), -1);
}

static int make_place(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(file, sizeof(file), "%s/out.jfr", directory);
	return setenv("WEFT_DIR", directory, 1);
}

static int remove_place(void **state)
{
	(void)state;
	unlink(file);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_and_spans_of_an_honest_target),
		cmocka_unit_test(a_tag_named_late_becomes_a_field_of_later_chunks),
		cmocka_unit_test(a_killed_target_loses_nothing),
		cmocka_unit_test(slots_of_dead_threads_are_given_back),
		cmocka_unit_test(what_a_killed_thread_had_in_hand_is_pending),
		cmocka_unit_test(books_out_of_balance_are_found),
		cmocka_unit_test(threads_gone_without_a_word_give_their_slot_back),
		cmocka_unit_test(who_joins_again_has_execed),
		cmocka_unit_test(only_the_root_is_welcome_without_children),
		cmocka_unit_test(a_complete_recording_says_so_and_then_lets_go),
		cmocka_unit_test(a_parents_end_is_not_the_end_of_the_recording),
		cmocka_unit_test(malformed_records_are_counted_and_the_next_ones_read),
		cmocka_unit_test(a_hostile_target_spoils_nobody_elses_recording),
		cmocka_unit_test(strange_guests_are_sent_away),
		cmocka_unit_test(the_socket_and_its_directory_go),
	};

	return cmocka_run_group_tests(tests, make_place, remove_place);
}
