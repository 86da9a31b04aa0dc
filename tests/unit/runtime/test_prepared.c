/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepared contexts: what is taken, what a thread has while one is attached and afterwards, what it
 * writes meanwhile, nesting, threads, children, freeing, OpenTelemetry's record. Whether the short
 * way was taken is seen by what the slot notes.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/abi/otel_thread_context.h>
#include <weft/prepared.h>
#include <weft/publish.h>

#include "label_value.h"
#include "runtime/context/prepared.h"
#include "runtime/core/label_store.h"
#include "unit.h"

extern __thread struct weft_otel_record *otel_thread_ctx_v1;

#define LABEL(k, v) ((struct weft_label){(k), strlen(k), (v), strlen(v), WEFT_LABEL_ABSENT})

static struct weft_prepared *prepare(uint64_t span, uint64_t root, const char *tenant,
				     const char *route)
{
	struct weft_context c = {.span_id = span, .root_span_id = root, .trace_flags = 1};
	struct weft_label labels[] = {LABEL("tenant", tenant), LABEL("route", route)};
	struct weft_prepared *p;

	memset(c.trace_id, (int)span, sizeof(c.trace_id));
	p = weft_context_prepare(&c, labels, 2);
	assert_non_null(p);
	assert_int_equal(labels[0].result, WEFT_LABEL_SET);
	assert_int_equal(labels[1].result, WEFT_LABEL_SET);
	return p;
}

static uint32_t depth(void)
{
	return weft_attachments(weft_thread_slot)->depth;
}

static void assert_ids(uint64_t span, uint64_t root)
{
	assert_int_equal(weft_context_get().span_id, span);
	assert_int_equal(weft_context_get().root_span_id, root);
}

/* A thread that has labels, so that it takes the short way. */
static int setup(void **state)
{
	(void)state;
	assert_non_null(weft_thread_own_slot());
	weft_context_clear();
	weft_labels_clear();
	weft_context_set(1, 2);
	weft_label_set("worker", "w");
	assert_int_equal(depth(), 0);
	return 0;
}

static void assert_own(void)
{
	assert_ids(1, 2);
	assert_string_equal(value_of("worker"), "w");
	assert_string_equal(value_of("tenant"), "(none)");
	assert_string_equal(value_of("route"), "(none)");
	assert_int_equal(depth(), 0);
}

static void assert_prepared(uint64_t span, uint64_t root, const char *tenant)
{
	assert_ids(span, root);
	assert_string_equal(value_of("tenant"), tenant);
	assert_string_equal(value_of("worker"), "(none)");
}

static void results_are_those_of_labels(void **state)
{
	char text[300];
	struct weft_label labels[] = {
		LABEL("tenant", "a"), LABEL("tenant", "b"), LABEL("span-id", "1"),
		LABEL("", "x"),       LABEL("route", "/"),  LABEL("gone", "x"),
		LABEL("gone", ""),    LABEL("long", ""),    LABEL("absent", "")};
	struct weft_attached before;
	struct weft_prepared *p;

	(void)state;
	memset(text, 'x', sizeof(text));
	labels[6].value = labels[8].value = NULL;
	labels[7].value = text;
	labels[7].value_bytes = sizeof(text);
	p = weft_context_prepare(NULL, labels, 9);
	assert_non_null(p);
	assert_int_equal(labels[0].result, WEFT_LABEL_SET);
	assert_int_equal(labels[1].result, WEFT_LABEL_UPDATED);
	assert_int_equal(labels[2].result, WEFT_LABEL_RESERVED);
	assert_int_equal(labels[3].result, WEFT_LABEL_INVALID);
	assert_int_equal(labels[4].result, WEFT_LABEL_SET);
	assert_int_equal(labels[5].result, WEFT_LABEL_SET);
	assert_int_equal(labels[6].result, WEFT_LABEL_REMOVED);
	assert_int_equal(labels[7].result, WEFT_LABEL_TRUNCATED);
	assert_int_equal(labels[8].result, WEFT_LABEL_ABSENT);
	weft_context_attach(&before, p);
	assert_prepared(0, 0, "b");
	assert_string_equal(value_of("span-id"), "(none)");
	assert_int_equal(strlen(value_of("long")), WEFT_CUSTOM_LABELS_VALUE_BYTES);
	assert_string_equal(value_of("gone"), "(none)");
	weft_context_detach(&before);
	assert_own();
	weft_context_free(p);
	weft_context_free(NULL);
}

static void more_than_a_thread_holds_have_no_room(void **state)
{
	struct weft_label labels[WEFT_CUSTOM_LABELS_MOST];
	char keys[WEFT_CUSTOM_LABELS_MOST][8];
	uint32_t room = weft_labels_max - WEFT_CUSTOM_LABELS_RESERVED;
	struct weft_attached before;
	struct weft_prepared *p;

	(void)state;
	for (uint32_t i = 0; i < WEFT_CUSTOM_LABELS_MOST; i++) {
		snprintf(keys[i], sizeof(keys[i]), "key%u", i);
		labels[i] = LABEL(keys[i], "v");
	}
	p = weft_context_prepare(NULL, labels, WEFT_CUSTOM_LABELS_MOST);
	assert_non_null(p);
	for (uint32_t i = 0; i < WEFT_CUSTOM_LABELS_MOST; i++)
		assert_int_equal(labels[i].result, i < room ? WEFT_LABEL_SET : WEFT_LABEL_NO_ROOM);
	weft_context_attach(&before, p);
	assert_string_equal(value_of(keys[room - 1]), "v");
	assert_int_equal(weft_label_set("one-more", "v"), WEFT_LABEL_NO_ROOM);
	weft_context_detach(&before);
	assert_own();
	weft_context_free(p);
}

static void the_short_way_restores_all(void **state)
{
	struct weft_prepared *p = prepare(11, 12, "acme", "/x");
	struct weft_attached before;
	struct weft_context seen;
	uint32_t tag = weft_tag_intern("stays");

	(void)state;
	for (int i = 0; i < 3; i++) {
		weft_context_attach(&before, p);
		assert_int_equal(depth(), 1);
		assert_prepared(11, 12, "acme");
		assert_string_equal(value_of("span-id"), "11");
		assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_TRACE);
		assert_int_equal(seen.trace_id[15], 11);
		assert_int_equal(weft_tag_set(1, tag), i ? tag : 0);
		weft_context_detach(&before);
		assert_own();
		assert_int_equal(weft_context_read(&seen), WEFT_CONTEXT_IDS);
		assert_int_equal(seen.tags[1], tag);
		weft_context_detach(&before);
		assert_own();
	}
	weft_context_free(p);
}

static void nothing_prepared_is_a_scope(void **state)
{
	struct weft_attached before;

	(void)state;
	weft_context_attach(&before, NULL);
	weft_label_set("tenant", "own");
	weft_context_set(5, 6);
	weft_context_detach(&before);
	assert_own();
}

static void they_nest(void **state)
{
	struct weft_prepared *p = prepare(11, 12, "acme", "/x"), *q = prepare(21, 22, "beta", "/y");
	struct weft_attached outer, inner, same;

	(void)state;
	weft_context_attach(&outer, p);
	weft_context_attach(&inner, q);
	weft_context_attach(&same, q);
	assert_int_equal(depth(), 3);
	assert_prepared(21, 22, "beta");
	weft_context_detach(&same);
	assert_prepared(21, 22, "beta");
	weft_context_detach(&inner);
	assert_int_equal(depth(), 1);
	assert_prepared(11, 12, "acme");
	weft_context_detach(&outer);
	assert_own();
	weft_context_free(p);
	weft_context_free(q);
}

static void deeper_than_is_noted(void **state)
{
	struct weft_prepared *p = prepare(11, 12, "acme", "/x"), *q = prepare(21, 22, "beta", "/y");
	struct weft_attached before[3 * WEFT_ATTACHED_MOST];
	int n = sizeof(before) / sizeof(before[0]);

	(void)state;
	for (int i = 0; i < n; i++) {
		weft_context_attach(&before[i], i % 2 ? q : p);
		assert_prepared(i % 2 ? 21 : 11, i % 2 ? 22 : 12, i % 2 ? "beta" : "acme");
	}
	while (n-- > 0) {
		weft_context_detach(&before[n]);
		if (n)
			assert_prepared(n % 2 ? 11 : 21, n % 2 ? 12 : 22, n % 2 ? "acme" : "beta");
	}
	assert_own();
	weft_context_free(p);
	weft_context_free(q);
}

static void what_is_written_meanwhile_goes(void **state)
{
	struct weft_prepared *p = prepare(11, 12, "acme", "/x"), *q = prepare(21, 22, "beta", "/y");
	struct weft_attached outer, inner;

	(void)state;
	weft_context_attach(&outer, p);
	weft_context_attach(&inner, q);
	assert_int_equal(weft_label_set("tenant", "mine"), WEFT_LABEL_UPDATED);
	assert_int_equal(weft_label_remove("route"), WEFT_LABEL_REMOVED);
	assert_int_equal(weft_label_set("user", "u"), WEFT_LABEL_SET);
	weft_context_set(31, 32);
	assert_prepared(31, 32, "mine");
	assert_string_equal(value_of("user"), "u");
	assert_string_equal(value_of("route"), "(none)");
	weft_context_detach(&inner);
	assert_prepared(11, 12, "acme");
	assert_string_equal(value_of("user"), "(none)");
	assert_string_equal(value_of("route"), "/x");
	weft_context_attach(&inner, q);
	assert_prepared(21, 22, "beta");
	assert_string_equal(value_of("route"), "/y");
	weft_context_detach(&inner);
	weft_context_detach(&outer);
	assert_own();
	weft_context_free(p);
	weft_context_free(q);
}

/* What cannot be saved is absent afterwards, or stays: nothing of the prepared context is left. */
static void without_room_nothing_of_it_stays(void **state)
{
	struct weft_label_store *store = weft_store_now(weft_thread_slot);
	uint32_t room = store->saved_room;
	struct weft_prepared *p = prepare(11, 12, "acme", "/x");
	struct weft_attached before;

	(void)state;
	for (uint32_t rest = 0; rest < 40; rest += 8) {
		setup(NULL);
		store->saved_room = store->scopes.bytes + rest;
		weft_context_attach(&before, p);
		weft_context_set(31, 32); /* (with no format but v1 this copies nothing) */
		weft_label_set("tenant", "mine");
		weft_context_detach(&before);
		assert_string_equal(value_of("tenant"), "(none)");
		assert_string_equal(value_of("route"), "(none)");
		assert_true(!strcmp(value_of("worker"), "w") ||
			    !strcmp(value_of("worker"), "(none)"));
		assert_ids(1, 2);
		assert_int_equal(depth(), 0);
		store->saved_room = room;
	}
	weft_context_free(p);
}

static void before_weft_begins_there_is_none(void **state)
{
	struct weft_context c = {.span_id = 1};
	uint32_t twin = weft_labels_twin;
	struct weft_attached before;

	(void)state;
	weft_labels_twin = 0;
	assert_null(weft_context_prepare(&c, NULL, 0));
	weft_labels_twin = twin;
	weft_context_attach(&before, NULL);
	assert_own();
	weft_context_detach(&before);
	assert_own();
}

static void scopes_in_it_and_around_it(void **state)
{
	struct weft_prepared *p = prepare(11, 12, "acme", "/x");
	struct weft_context c = {.span_id = 3, .root_span_id = 4};
	struct weft_attached before;

	(void)state;
	WEFT_SCOPE (&c) {
		weft_label_set("depth", "1");
		weft_context_attach(&before, p);
		assert_prepared(11, 12, "acme");
		assert_string_equal(value_of("depth"), "(none)");
		c.span_id = 5;
		WEFT_SCOPE (&c) {
			weft_label_set("tenant", "inner");
			weft_label_set("depth", "2");
			assert_prepared(5, 4, "inner");
		}
		assert_prepared(11, 12, "acme");
		assert_string_equal(value_of("depth"), "(none)");
		weft_context_detach(&before);
		assert_ids(3, 4);
		assert_string_equal(value_of("depth"), "1");
	}
	assert_own();
	weft_context_free(p);
}

static void a_jump_past_it_ends_with_the_scope_around(void **state)
{
	static struct weft_context c = {.span_id = 3, .root_span_id = 4};
	static struct weft_attached before;
	static struct weft_prepared *p;
	static sigjmp_buf out;

	(void)state;
	p = prepare(11, 12, "acme", "/x");
	WEFT_SCOPE (&c) {
		if (!sigsetjmp(out, 1)) {
			weft_context_attach(&before, p);
			siglongjmp(out, 1);
		}
		assert_prepared(11, 12, "acme");
	}
	assert_own();
	weft_context_free(p);
}

static void what_is_freed_stays_where_it_is_attached(void **state)
{
	struct weft_prepared *p = prepare(11, 12, "acme", "/x"), *again[200];
	struct weft_attached before, nothing;
	int seen = 0;

	(void)state;
	weft_context_attach(&before, p);
	weft_context_free(p);
	for (int i = 0; i < 200; i++) {
		again[0] = prepare(1000, 1, "beta", "/y");
		assert_ptr_not_equal(again[0], p);
		weft_context_free(again[0]);
	}
	assert_prepared(11, 12, "acme");
	weft_context_attach(&nothing, p); /* a mistake */
	assert_prepared(11, 12, "acme");
	weft_context_detach(&nothing);
	weft_context_detach(&before);
	assert_own();
	weft_context_attach(&nothing, p);
	assert_own();
	weft_context_detach(&nothing);
	for (int i = 0; i < 200; i++) {
		again[i] = prepare(1000, 1, "beta", "/y");
		seen |= again[i] == p;
		weft_context_free(again[i]);
	}
	assert_true(seen);
}

static void *attach_and_wait(void *arg)
{
	pthread_barrier_t *both = ((void **)arg)[1];
	struct weft_attached before;

	weft_label_set("worker", "w");
	weft_context_attach(&before, ((void **)arg)[0]);
	pthread_barrier_wait(both);
	pthread_barrier_wait(both);
	if (strcmp(value_of("tenant"), "acme") != 0 || depth() != 1)
		return arg;
	weft_context_detach(&before);
	return strcmp(value_of("worker"), "w") != 0 ? arg : NULL;
}

static void threads_share_it(void **state)
{
	struct weft_prepared *p = prepare(11, 12, "acme", "/x");
	pthread_barrier_t both;
	void *arg[] = {p, &both}, *failed;
	struct weft_attached before;
	pthread_t thread;

	(void)state;
	pthread_barrier_init(&both, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, attach_and_wait, arg), 0);
	weft_context_attach(&before, p);
	pthread_barrier_wait(&both);
	weft_label_set("tenant", "mine");
	weft_context_free(p);
	for (int i = 0; i < 100; i++)
		weft_context_free(prepare(1000, 1, "beta", "/y"));
	pthread_barrier_wait(&both);
	assert_prepared(11, 12, "mine");
	weft_context_detach(&before);
	assert_own();
	pthread_join(thread, &failed);
	assert_null(failed);
	pthread_barrier_destroy(&both);
}

static void *attach_and_end(void *arg)
{
	struct weft_attached before;

	weft_label_set("worker", "w");
	weft_context_attach(&before, arg);
	return NULL;
}

static void a_thread_may_end_with_it(void **state)
{
	struct weft_prepared *p = prepare(11, 12, "acme", "/x");
	pthread_t thread;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_create(&thread, NULL, attach_and_end, p), 0);
		pthread_join(thread, NULL);
	}
	weft_context_free(p);
	assert_own();
}

static void children_have_it(void **state)
{
	struct weft_prepared *p = prepare(11, 12, "acme", "/x");
	struct weft_attached before, again;
	int status, is_right;
	pid_t child;

	(void)state;
	weft_context_attach(&before, p);
	child = fork();
	if (!child) {
		is_right = !strcmp(value_of("tenant"), "acme") && weft_context_get().span_id == 11;
		weft_context_attach(&again, p);
		is_right &= !strcmp(value_of("tenant"), "acme");
		weft_context_detach(&again);
		weft_context_detach(&before);
		is_right &= !strcmp(value_of("tenant"), "(none)") &&
			    !strcmp(value_of("worker"), "w") && weft_context_get().span_id == 1;
		_exit(is_right ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_prepared(11, 12, "acme");
	weft_context_detach(&before);
	assert_own();
	weft_context_free(p);
}

static void the_record_is_the_prepared_one(void **state)
{
	struct weft_otel_record *own, *r;
	struct weft_attached before;
	struct weft_prepared *early = prepare(11, 12, "acme", "/x"), *p;

	(void)state;
	if (!(weft_publish_select(7) & WEFT_FORMAT_OTEL))
		skip();
	weft_context_set(1, 2);
	own = otel_thread_ctx_v1;
	assert_non_null(own);
	p = prepare(21, 22, "beta", "/y");
	weft_context_attach(&before, p);
	r = otel_thread_ctx_v1;
	assert_int_equal(depth(), 1);
	assert_ptr_equal(r, (void *)(uintptr_t)p->record);
	assert_int_equal(r->valid, 1);
	assert_int_equal(r->trace_flags, 1);
	assert_int_equal(r->trace_id[0], 21);
	assert_int_equal(r->span_id[7], 21);
	assert_int_equal(r->attributes_bytes, 18 + 2 + 4 + 2 + 2);
	assert_memory_equal(r->attributes + 2, "0000000000000016", 16);
	assert_memory_equal(r->attributes + 20, "beta", 4);
	weft_context_set(23, 22); /* a write of ids: the thread's own record */
	assert_ptr_equal(otel_thread_ctx_v1, own);
	assert_int_equal(own->valid, 1);
	assert_memory_equal(own->attributes + 20, "beta", 4);
	weft_context_detach(&before);
	assert_ptr_equal(otel_thread_ctx_v1, own);
	assert_own();
	assert_int_equal(own->attributes_bytes, 18 + 2 + 1);
	weft_context_attach(&before, early); /* has no record yet */
	assert_ptr_equal(otel_thread_ctx_v1, own);
	assert_int_equal(own->trace_id[0], 11);
	weft_context_detach(&before);
	assert_own();
	weft_publish_select(3);
	assert_null(otel_thread_ctx_v1);
	weft_context_free(p);
	weft_context_free(early);
}

/* The thread's own set is another one each time. */
static void labels_change_in_between(void **state)
{
	struct weft_prepared *p = prepare(11, 12, "acme", "/x");
	struct weft_attached before;
	char value[8];

	(void)state;
	for (int i = 0; i < 20; i++) {
		snprintf(value, sizeof(value), "w%d", i);
		weft_label_set("worker", value);
		weft_context_set(1, 2 + (uint64_t)i);
		weft_context_attach(&before, p);
		assert_int_equal(depth(), 1);
		assert_prepared(11, 12, "acme");
		if (i % 3 == 0)
			weft_label_set("tenant", "mine");
		weft_context_detach(&before);
		assert_int_equal(depth(), 0);
		assert_ids(1, 2 + (uint64_t)i);
		assert_string_equal(value_of("worker"), value);
		assert_string_equal(value_of("tenant"), "(none)");
	}
	weft_context_free(p);
}

static struct weft_prepared *of_handler;

static void set_ids(int signo)
{
	(void)signo;
	weft_context_set(77, 88);
}

static void set_ids_at(int signo)
{
	struct sigaction action = {.sa_handler = set_ids};

	assert_int_equal(sigaction(signo, &action, NULL), 0);
}

/* A handler's context is the thread's until it detaches. */
static void a_handler_writes(void **state)
{
	struct weft_attached before;

	(void)state;
	of_handler = prepare(11, 12, "acme", "/x");
	set_ids_at(SIGUSR1);
	weft_context_attach(&before, of_handler);
	raise(SIGUSR1);
	assert_prepared(77, 88, "acme");
	weft_context_detach(&before);
	assert_own();
	weft_context_free(of_handler);
}

/* Whatever two stores a handler comes between: ids are those of one write, and the thread's own are
 * there afterwards. */
static void handlers_write_at_any_time(void **state)
{
	const struct itimerval often = {{0, 30}, {0, 30}}, never = {{0, 0}, {0, 0}};
	struct weft_prepared *p = prepare(11, 12, "acme", "/x");
	struct weft_attached before;
	struct weft_ids ids, again;

	(void)state;
	set_ids_at(SIGALRM);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 100000; i++) {
		weft_context_attach(&before, p);
		do {
			ids = weft_context_get();
			again = weft_context_get();
		} while (memcmp(&ids, &again, sizeof(ids)) != 0);
		weft_context_detach(&before);
		if (ids.span_id != 77 && ids.span_id != 11)
			break;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	assert_true((ids.span_id == 77 && ids.root_span_id == 88) ||
		    (ids.span_id == 11 && ids.root_span_id == 12));
	assert_int_equal(depth(), 0);
	weft_context_set(1, 2);
	assert_own();
	weft_context_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(results_are_those_of_labels, setup),
		cmocka_unit_test_setup(more_than_a_thread_holds_have_no_room, setup),
		cmocka_unit_test_setup(the_short_way_restores_all, setup),
		cmocka_unit_test_setup(nothing_prepared_is_a_scope, setup),
		cmocka_unit_test_setup(they_nest, setup),
		cmocka_unit_test_setup(deeper_than_is_noted, setup),
		cmocka_unit_test_setup(what_is_written_meanwhile_goes, setup),
		cmocka_unit_test_setup(without_room_nothing_of_it_stays, setup),
		cmocka_unit_test_setup(before_weft_begins_there_is_none, setup),
		cmocka_unit_test_setup(scopes_in_it_and_around_it, setup),
		cmocka_unit_test_setup(a_jump_past_it_ends_with_the_scope_around, setup),
		cmocka_unit_test_setup(what_is_freed_stays_where_it_is_attached, setup),
		cmocka_unit_test_setup(threads_share_it, setup),
		cmocka_unit_test_setup(a_thread_may_end_with_it, setup),
		cmocka_unit_test_setup(children_have_it, setup),
		cmocka_unit_test_setup(labels_change_in_between, setup),
		cmocka_unit_test_setup(a_handler_writes, setup),
		cmocka_unit_test_setup(handlers_write_at_any_time, setup),
		cmocka_unit_test_setup(the_record_is_the_prepared_one, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
