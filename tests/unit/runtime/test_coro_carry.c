/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts that go with coroutines (weft/coro_carry.h), as the thread itself, its slot and readers
 * of OpenTelemetry's record find them: ids, trace id, tags, labels, scopes; over threads, in any
 * order, to the end of threads and in forked children.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/abi/otel_thread_context.h>
#include <weft/coro_carry.h>
#include <weft/labels.h>
#include <weft/publish.h>

#include "children.h"
#include "coro_acts.h"
#include "runtime/core/label_store.h"
#include "runtime/coro/coro.h"
#include "unit.h"

extern __thread struct weft_otel_record *otel_thread_ctx_v1;

static struct weft_context context_of(uint64_t n)
{
	struct weft_context c = {.span_id = n, .root_span_id = n + 1, .trace_flags = n & 1};

	memset(c.trace_id, (int)n, sizeof(c.trace_id));
	for (int i = 0; i < WEFT_TAGS; i++)
		c.tags[i] = (uint32_t)(n * 10 + (uint64_t)i);
	return c;
}

static void assert_context(uint64_t n)
{
	struct weft_context c, expected = context_of(n);
	int found = weft_context_read(&c);

	if (!n) {
		assert_int_equal(found, WEFT_CONTEXT_NONE);
		return;
	}
	assert_int_equal(found, WEFT_CONTEXT_TRACE);
	assert_int_equal(c.span_id, expected.span_id);
	assert_int_equal(c.root_span_id, expected.root_span_id);
	assert_memory_equal(c.trace_id, expected.trace_id, sizeof(c.trace_id));
	assert_int_equal(c.trace_flags, expected.trace_flags);
	assert_memory_equal(c.tags, expected.tags, sizeof(c.tags));
}

static void write_context(uint64_t n)
{
	struct weft_context c = context_of(n);

	weft_context_write(&c);
}

static void whole_contexts_change_places(void **state)
{
	struct weft_coro a, b;

	(void)state;
	write_context(7);
	born(&a, 1, WEFT_CORO_DETACHED);
	born(&b, 2, 0);
	resume(&a);
	assert_context(0);
	write_context(21);
	suspend(&a);
	assert_context(7);
	resume(&b);
	assert_context(7); /* its creator's */
	write_context(22);
	suspend(&b);
	assert_context(7);
	resume(&a);
	assert_context(21);
	suspend(&a);
	resume(&b);
	assert_context(22);
	destroy(&b);
	assert_context(7);
	destroy(&a);
}

static void samples_know_the_coroutine(void **state)
{
	struct weft_slot_events *e = &weft_thread_own_slot()->events;
	struct weft_coro a, b;

	(void)state;
	born(&a, 5, 0);
	born(&b, 6, 0);
	resume(&a);
	assert_int_equal(e->coroutine, 5);
	assert_int_equal(e->coroutine_stack_low, 5 << 20);
	assert_int_equal(e->coroutine_stack_high, (5 << 20) + 4096);
	resume(&b);
	assert_int_equal(e->coroutine, 6);
	suspend(&b);
	assert_int_equal(e->coroutine, 5);
	assert_int_equal(e->coroutine_stack_low, 5 << 20);
	suspend(&a);
	assert_int_equal(e->coroutine | e->coroutine_stack_low | e->coroutine_stack_high, 0);
	destroy(&a);
	destroy(&b);
}

static void labels_of_each(void **state)
{
	uint64_t blocks = count(WEFT_COUNTER_CORO_BLOCKS);
	struct weft_coro a, b;

	(void)state;
	weft_label_set("worker", "w1");
	born(&a, 1, WEFT_CORO_DETACHED);
	born(&b, 2, WEFT_CORO_DETACHED);
	resume(&a);
	assert_string_equal(value_of("worker"), "(none)");
	assert_int_equal(weft_label_remove("worker"), WEFT_LABEL_ABSENT);
	assert_int_equal(weft_labels_clear(), 0);
	assert_int_equal(count(WEFT_COUNTER_CORO_BLOCKS), blocks);
	assert_int_equal(weft_label_set("tenant", "acme"), WEFT_LABEL_SET);
	assert_int_equal(weft_label_set("tenant", "emca"), WEFT_LABEL_UPDATED);
	assert_int_equal(count(WEFT_COUNTER_CORO_BLOCKS), blocks + 1);
	suspend(&a);
	assert_string_equal(value_of("worker"), "w1");
	assert_string_equal(value_of("tenant"), "(none)");
	resume(&b);
	assert_string_equal(value_of("worker"), "(none)");
	assert_string_equal(value_of("tenant"), "(none)");
	suspend(&b);
	weft_label_set("worker", "w2");
	resume(&a);
	assert_string_equal(value_of("tenant"), "emca");
	weft_label_set("tenant", "third");
	suspend(&a);
	assert_string_equal(value_of("worker"), "w2");
	resume(&a);
	assert_string_equal(value_of("tenant"), "third");
	suspend(&a);
	destroy(&a);
	destroy(&b);
	assert_int_equal(count(WEFT_COUNTER_CORO_BLOCKS), blocks + 1);
}

static void a_creators_labels_are_inherited(void **state)
{
	struct weft_coro a;

	(void)state;
	weft_label_set("tenant", "acme");
	weft_label_set("route", "/x");
	weft_label_remove("tenant");
	weft_label_set("user", "u");
	born(&a, 1, 0);
	weft_labels_clear();
	resume(&a);
	assert_string_equal(value_of("route"), "/x");
	assert_string_equal(value_of("user"), "u");
	assert_string_equal(value_of("tenant"), "(none)");
	weft_label_set("tenant", "own");
	destroy(&a);
	assert_string_equal(value_of("route"), "(none)");
}

/* What a handler remembers of labels never is true of another coroutine's. */
static void generations_only_grow(void **state)
{
	struct weft_slot *slot = weft_thread_own_slot();
	uint64_t place = 0, generation = 0;
	struct weft_coro a;

	(void)state;
	for (int i = 0; i < 3; i++) {
		const struct weft_custom_labels_set *set;

		born(&a, 1, WEFT_CORO_DETACHED);
		resume(&a);
		weft_label_set("n", i & 1 ? "odd" : "even");
		set = weft_labels_visible(slot);
		if (i) {
			assert_int_equal(weft_labels_place(slot, set), place); /* used again */
			assert_true(weft_labels_generation(set) > generation);
		}
		place = weft_labels_place(slot, set);
		generation = weft_labels_generation(set);
		destroy(&a);
	}
}

static void scopes_go_along(void **state)
{
	struct weft_context inner = context_of(50);
	struct weft_scope scope, outer, on_thread;
	struct weft_coro a;

	(void)state;
	write_context(3);
	born(&a, 1, 0);
	weft_scope_enter(&on_thread, NULL);
	resume(&a);
	weft_scope_enter(&outer, &inner);
	suspend(&a); /* in a scope, without a block */
	assert_context(3);
	weft_label_set("worker", "in a scope");
	resume(&a);
	assert_context(50);
	weft_label_set("tenant", "outer");
	weft_scope_enter(&scope, NULL);
	weft_label_set("tenant", "inner");
	suspend(&a);
	weft_scope_leave(&on_thread);
	assert_string_equal(value_of("worker"), "(none)");
	resume(&a);
	assert_string_equal(value_of("tenant"), "inner");
	weft_scope_leave(&scope);
	assert_string_equal(value_of("tenant"), "outer");
	weft_scope_leave(&outer);
	assert_string_equal(value_of("tenant"), "(none)");
	assert_context(3);
	suspend(&a);
	destroy(&a);
}

static void one_is_left_from_the_middle(void **state)
{
	struct weft_coro a, b, c;
	uint64_t unordered = count(WEFT_COUNTER_CORO_UNORDERED);

	(void)state;
	weft_context_set(1, 1);
	born(&a, 1, 0);
	born(&b, 2, 0);
	born(&c, 3, 0);
	resume(&a);
	weft_context_set(10, 10);
	weft_label_set("who", "a");
	resume(&b); /* a scheduler's: the next before the last */
	weft_context_set(20, 20);
	suspend(&a);
	assert_int_equal(span(), 20);
	resume(&c);
	weft_context_set(30, 30);
	weft_label_set("who", "c");
	suspend(&b);
	assert_string_equal(value_of("who"), "c");
	resume(&a);
	assert_int_equal(span(), 10);
	assert_string_equal(value_of("who"), "a");
	destroy(&c); /* as it runs, below */
	assert_string_equal(value_of("who"), "a");
	suspend(&a);
	assert_int_equal(span(), 1);
	assert_string_equal(value_of("who"), "(none)");
	resume(&b);
	assert_int_equal(span(), 20);
	destroy(&b);
	destroy(&a);
	assert_int_equal(count(WEFT_COUNTER_CORO_UNORDERED), unordered);
}

static void out_of_order_is_counted(void **state)
{
	struct weft_coro a;
	uint64_t unordered = count(WEFT_COUNTER_CORO_UNORDERED);

	(void)state;
	weft_context_set(1, 1);
	born(&a, 1, 0);
	suspend(&a);
	assert_int_equal(count(WEFT_COUNTER_CORO_UNORDERED), unordered + 1);
	resume(&a);
	weft_context_set(2, 2);
	resume(&a);
	assert_int_equal(count(WEFT_COUNTER_CORO_UNORDERED), unordered + 2);
	assert_int_equal(span(), 2);
	suspend(&a);
	assert_int_equal(span(), 1);
	suspend(&a);
	assert_int_equal(count(WEFT_COUNTER_CORO_UNORDERED), unordered + 3);
	assert_int_equal(span(), 1);
	destroy(&a);
	destroy(&a);
	assert_int_equal(count(WEFT_COUNTER_CORO_UNORDERED), unordered + 3);
}

/* ---- over threads */

static void on_thread(void *(*f)(void *), void *arg)
{
	pthread_t t;
	void *result;

	assert_int_equal(pthread_create(&t, NULL, f, arg), 0);
	assert_int_equal(pthread_join(t, &result), 0);
	assert_null(result);
}

static void *resume_and_end(void *arg)
{
	resume(arg);
	weft_context_set(77, 77);
	weft_label_set("tenant", "gone");
	return NULL;
}

static void a_thread_ends_while_one_runs(void **state)
{
	uint64_t unordered = count(WEFT_COUNTER_CORO_UNORDERED);
	struct weft_coro a;

	(void)state;
	born(&a, 1, WEFT_CORO_DETACHED);
	on_thread(resume_and_end, &a);
	resume(&a); /* its ids went with the thread */
	assert_int_equal(span(), 0);
	assert_string_equal(value_of("tenant"), "gone");
	weft_label_set("tenant", "new");
	suspend(&a);
	assert_string_equal(value_of("tenant"), "(none)");
	destroy(&a);
	assert_int_equal(count(WEFT_COUNTER_CORO_UNORDERED), unordered);
}

#define WORKERS 4
#define COROUTINES 24
#define TURNS 4000

struct migrant {
	struct weft_coro coro;
	uint32_t turns;
	int is_taken;
};

static struct migrant migrants[COROUTINES];
static uint32_t turns_left, wrong;

static void expect(int good)
{
	if (!good)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

/* What it left at its last turn, wherever that was; odd ones have labels. */
static void turn(struct migrant *m, uint64_t id)
{
	char text[32];

	if (m->turns) {
		snprintf(text, sizeof(text), "%d.%u", (int)id, m->turns);
		expect(span() == id * 1000000 + m->turns);
		expect(strcmp(value_of("turn"), id & 1 ? text : "(none)") == 0);
	} else {
		expect(span() == 0 && strcmp(value_of("turn"), "(none)") == 0);
	}
	m->turns++;
	weft_context_set(id * 1000000 + m->turns, id);
	snprintf(text, sizeof(text), "%d.%u", (int)id, m->turns);
	if (id & 1)
		weft_label_set("turn", text);
}

static struct migrant *take_one(unsigned int *seed)
{
	for (;;) {
		struct migrant *m = &migrants[(unsigned int)rand_r(seed) % COROUTINES];

		if (!__atomic_exchange_n(&m->is_taken, 1, __ATOMIC_ACQUIRE))
			return m;
		sched_yield();
	}
}

static void *work(void *arg)
{
	uint64_t n = (uint64_t)(uintptr_t)arg;
	unsigned int seed = (unsigned int)n;

	weft_context_set(n, n);
	if (n & 1)
		weft_label_set("worker", "odd");
	while (__atomic_fetch_sub(&turns_left, 1, __ATOMIC_RELAXED) - 1 < TURNS) {
		struct migrant *m = take_one(&seed);

		resume(&m->coro);
		turn(m, m->coro.id);
		suspend(&m->coro);
		expect(span() == n);
		expect(strcmp(value_of("worker"), n & 1 ? "odd" : "(none)") == 0);
		expect(strcmp(value_of("turn"), "(none)") == 0);
		__atomic_store_n(&m->is_taken, 0, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void coroutines_move_between_threads(void **state)
{
	uint64_t unordered = count(WEFT_COUNTER_CORO_UNORDERED);
	pthread_t threads[WORKERS];
	uint32_t turns = 0;

	(void)state;
	turns_left = TURNS;
	wrong = 0;
	for (uint64_t i = 0; i < COROUTINES; i++) {
		memset(&migrants[i], 0, sizeof(migrants[i]));
		born(&migrants[i].coro, i + 1, WEFT_CORO_DETACHED);
	}
	for (uint64_t i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < COROUTINES; i++) {
		turns += migrants[i].turns;
		destroy(&migrants[i].coro);
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(turns, TURNS);
	assert_int_equal(count(WEFT_COUNTER_CORO_UNORDERED), unordered);
}

/* ---- OpenTelemetry */

static void assert_record(uint64_t n, const char *text)
{
	const struct weft_otel_record *r = otel_thread_ctx_v1;
	struct weft_context c = context_of(n);
	uint64_t id = n ? __builtin_bswap64(c.span_id) : 0;
	static const uint8_t none[16];

	assert_non_null(r);
	assert_int_equal(r->valid, 1);
	assert_memory_equal(r->span_id, &id, 8);
	assert_memory_equal(r->trace_id, n ? c.trace_id : none, 16);
	if (text)
		assert_non_null(memmem(r->attributes, r->attributes_bytes, text, strlen(text)));
	else
		assert_true(r->attributes_bytes <= 18);
}

static void the_record_follows(void **state)
{
	const struct weft_otel_record *of_a;
	struct weft_coro a, b;

	(void)state;
	if (!(weft_publish_select(7) & WEFT_FORMAT_OTEL))
		skip();
	write_context(3);
	weft_label_set("worker", "walter");
	born(&a, 1, WEFT_CORO_DETACHED);
	born(&b, 2, WEFT_CORO_DETACHED);
	resume(&a);
	assert_record(0, NULL);
	write_context(10);
	assert_record(10, NULL);
	weft_label_set("tenant", "acme");
	assert_record(10, "acme");
	of_a = otel_thread_ctx_v1;
	suspend(&a);
	assert_record(3, "walter");
	resume(&b);
	write_context(20);
	assert_record(20, NULL);
	suspend(&b);
	resume(&a);
	assert_ptr_equal(otel_thread_ctx_v1, of_a); /* that is all of it */
	assert_record(10, "acme");
	resume(&b);
	assert_record(20, NULL);
	suspend(&b);
	assert_record(10, "acme");
	weft_publish_select(3);
	assert_null(otel_thread_ctx_v1);
	weft_label_set("tenant", "other");
	write_context(11);
	suspend(&a);
	assert_null(otel_thread_ctx_v1);
	weft_publish_select(7);
	assert_record(3, "walter");
	resume(&a); /* switched off, changed, and on again */
	assert_record(11, "other");
	destroy(&a);
	destroy(&b);
	assert_record(3, "walter");
	weft_publish_select(3);
	assert_null(otel_thread_ctx_v1);
}

/* ---- fork */

static int is_now(uint64_t id, const char *tenant)
{
	return span() == id && !strcmp(value_of("tenant"), tenant);
}

/* In the child; or in its child, which has a session by then. */
static int goes_on(struct weft_coro *running, struct weft_coro *waiting)
{
	int good = is_now(20, "b");

	weft_label_set("tenant", "child's");
	weft_context_set(25, 25);
	suspend(running);
	good &= is_now(1, "(none)") && !strcmp(value_of("worker"), "w");
	resume(waiting);
	good &= is_now(10, "(none)");
	weft_label_set("tenant", "new");
	suspend(waiting);
	resume(running);
	good &= is_now(25, "child's");
	destroy(running);
	good &= is_now(1, "(none)");
	resume(waiting);
	good &= is_now(10, "new");
	destroy(waiting);
	return good;
}

static void a_child_has_its_own(void **state)
{
	struct weft_coro a, b;

	(void)state;
	weft_context_set(1, 1);
	weft_label_set("worker", "w");
	born(&a, 1, WEFT_CORO_DETACHED);
	born(&b, 2, WEFT_CORO_DETACHED);
	resume(&a);
	weft_context_set(10, 10);
	suspend(&a);
	resume(&b);
	weft_context_set(20, 20);
	weft_label_set("tenant", "b");
	for (int deep = 0; deep < 2; deep++) {
		pid_t child = fork();

		if (child == 0) {
			if (deep && fork() > 0) {
				int status;

				_exit(wait(&status) > 0 && status == 0 ? 0 : 9);
			}
			_exit(goes_on(&b, &a) ? 0 : 1);
		}
		assert_int_equal(child_status(child), 0);
		assert_true(is_now(20, "b"));
	}
	suspend(&b);
	assert_true(is_now(1, "(none)"));
	destroy(&a);
	destroy(&b);
}

/* No handler of fork's runs: nothing is known of the thread but that it has no context. */
static void a_child_that_nobody_announced(void **state)
{
	struct weft_coro a, b;
	pid_t child;

	(void)state;
	if (!forks_wipe())
		skip();
	weft_context_set(1, 1);
	born(&a, 1, WEFT_CORO_DETACHED);
	born(&b, 2, WEFT_CORO_DETACHED);
	resume(&a);
	weft_context_set(10, 10);
	weft_label_set("tenant", "a");
	suspend(&a);
	resume(&b);
	weft_context_set(20, 20);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); /* aarch64 has no fork */
	if (child == 0) {
		suspend(&b);
		if (span())
			_exit(1);
		resume(&a);
		if (!is_now(10, "a"))
			_exit(2);
		suspend(&a);
		resume(&b);
		if (!is_now(0, "(none)"))
			_exit(3);
		destroy(&b);
		destroy(&a);
		_exit(0);
	}
	assert_int_equal(child_status(child), 0);
	assert_int_equal(span(), 20);
	destroy(&b);
	destroy(&a);
}

/* ---- what the engine is told */

static void events_and_stations_tell_the_context(void **state)
{
	static struct weft_ctp_station station;
	struct weft_ctp_context_prefix prefix;
	struct weft_coro a;
	uint32_t seq;

	(void)state;
	born(&a, 1, WEFT_CORO_DETACHED);
	a.station = &station;
	resume(&a);
	assert_int_equal(a.holds, WEFT_CTP_HOLDS_UNKNOWN);
	write_context(9);
	weft_label_set("tenant", "acme");
	weft_label_set("gone", "x");
	weft_label_remove("gone");
	weft_label_set("route", "/checkout");
	suspend(&a);
	assert_int_equal(a.holds, WEFT_CTP_HOLDS_CONTEXT);
	memcpy(&prefix, a.bytes, sizeof(prefix));
	assert_int_equal(prefix.valid, 1);
	assert_int_equal(prefix.trace_flags, 1);
	assert_int_equal(prefix.trace_id[15], 9);
	assert_int_equal(prefix.span_id[7], 9);
	assert_memory_equal(&station.context.prefix, &prefix, sizeof(prefix));
	assert_int_equal(station.context.root_span_id, 10);
	assert_int_equal(station.context.left_out, 0);
	assert_int_equal(station.context.label_bytes, 2 + 10 + 2 + 14);
	assert_memory_equal(station.context.labels, "\6\4tenantacme\5\11route/checkout", 28);
	seq = station.context.seq;
	assert_int_equal(seq & 1, 0);
	resume(&a);
	suspend(&a); /* nothing new */
	assert_int_equal(station.context.seq, seq);
	resume(&a);
	weft_label_set("tenant", "emca");
	a.holds = WEFT_CTP_HOLDS_PAYLOAD;
	memset(a.bytes, 0xEE, sizeof(a.bytes));
	suspend(&a);
	assert_int_equal(a.holds, WEFT_CTP_HOLDS_PAYLOAD);
	assert_int_equal(a.bytes[0], 0xEE);
	assert_true(station.context.seq > seq && station.context.seq % 2 == 0);
	assert_memory_equal(station.context.labels, "\6\4tenantemca", 12);
	resume(&a);
	for (int i = 0; i < 4; i++) {
		static const char *keys[] = {"tenant", "route", "k3", "k4"};

		weft_label_set(keys[i], "a value that takes thirty bytes");
	}
	suspend(&a);
	assert_int_equal(station.context.left_out, weft_labels_max == 3 ? 0 : 2);
	assert_true(station.context.label_bytes <= sizeof(station.context.labels));
	destroy(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(whole_contexts_change_places, nothing_at_first),
		cmocka_unit_test_setup(samples_know_the_coroutine, nothing_at_first),
		cmocka_unit_test_setup(labels_of_each, nothing_at_first),
		cmocka_unit_test_setup(a_creators_labels_are_inherited, nothing_at_first),
		cmocka_unit_test_setup(generations_only_grow, nothing_at_first),
		cmocka_unit_test_setup(scopes_go_along, nothing_at_first),
		cmocka_unit_test_setup(one_is_left_from_the_middle, nothing_at_first),
		cmocka_unit_test_setup(out_of_order_is_counted, nothing_at_first),
		cmocka_unit_test_setup(a_thread_ends_while_one_runs, nothing_at_first),
		cmocka_unit_test_setup(coroutines_move_between_threads, nothing_at_first),
		cmocka_unit_test_setup(the_record_follows, nothing_at_first),
		cmocka_unit_test_setup(a_child_has_its_own, nothing_at_first),
		cmocka_unit_test_setup(a_child_that_nobody_announced, nothing_at_first),
		cmocka_unit_test_setup(events_and_stations_tell_the_context, nothing_at_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
