/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label blocks of coroutines (src/runtime/core/coro_blocks.c): taken and given back by several
 * threads at once, and where there is no memory for one.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/coro_carry.h>
#include <weft/labels.h>

#include "children.h"
#include "coro_acts.h"
#include "runtime/coro/coro.h"
#include "unit.h"

#define WORKERS 4
#define COMES_AND_GOES 500
#define BLOCKS_MOST 4096
#ifdef __has_feature
#define IS_SANITIZED (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static uint32_t wrong;

static void expect(int good)
{
	if (!good)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

/* Each thread has three labelled ones at a time: no two ever have one block. */
static void *come_and_go(void *arg)
{
	uint64_t id = (uint64_t)(uintptr_t)arg << 32;
	struct weft_coro three[3];
	char text[24];

	for (int round = 0; round < COMES_AND_GOES; round++) {
		for (uint64_t i = 0; i < 3; i++) {
			resume(born(&three[i], id + i, WEFT_CORO_DETACHED));
			snprintf(text, sizeof(text), "%lx", id + i);
			expect(weft_label_set("own", text) == WEFT_LABEL_SET);
			suspend(&three[i]);
		}
		for (uint64_t i = 0; i < 3; i++) {
			resume(&three[i]);
			snprintf(text, sizeof(text), "%lx", id + i);
			expect(strcmp(value_of("own"), text) == 0);
			destroy(&three[i]);
		}
		expect(strcmp(value_of("own"), "(none)") == 0);
	}
	return NULL;
}

static void blocks_are_never_two_coroutines(void **state)
{
	uint64_t refused = count(WEFT_COUNTER_CORO_NO_BLOCK);
	pthread_t threads[WORKERS];

	(void)state;
	wrong = 0;
	for (uint64_t i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, (void *)(i + 1)),
				 0);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
	assert_int_equal(count(WEFT_COUNTER_CORO_NO_BLOCK), refused);
}

/* In a child, which may have none: 1 good, 0 bad, -1 no limit to be had; @has: coroutines that have
 * labels, and so their blocks. */
static int labels_without_memory(struct weft_coro *has, struct weft_coro *last)
{
	const struct rlimit none = {1 << 20, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit now;
	const uint64_t *refused = &weft_thread_own_slot()->counters[WEFT_COUNTER_CORO_NO_BLOCK];
	unsigned int n = 0;
	int good;

	/* qemu-user says yes to it and sets nothing */
	if (setrlimit(RLIMIT_AS, &none) || getrlimit(RLIMIT_AS, &now) ||
	    now.rlim_cur != none.rlim_cur)
		return -1;
	do {
		resume(born(&has[n], n + 1, WEFT_CORO_DETACHED));
		good = weft_label_set("route", "/x") == WEFT_LABEL_SET;
		suspend(&has[n]);
	} while (good && ++n < BLOCKS_MOST);
	good = n > 0 && n < BLOCKS_MOST;
	resume(born(last, 9999, WEFT_CORO_DETACHED));
	weft_context_set(99, 99);
	good &= weft_label_set("route", "/y") == WEFT_LABEL_NO_ROOM && span() == 99;
	good &= weft_label_set("route", "/y") == WEFT_LABEL_NO_ROOM;
	good &= !strcmp(value_of("route"), "(none)");
	good &= *refused == 3;
	suspend(last);
	good &= !strcmp(value_of("worker"), "w1");
	destroy(&has[0]); /* whose block is free then */
	resume(last);
	good &= span() == 99 && weft_label_set("route", "/y") == WEFT_LABEL_SET;
	good &= !strcmp(value_of("route"), "/y");
	destroy(last);
	return good && setrlimit(RLIMIT_AS, &all) == 0;
}

static void without_memory_labels_are_refused(void **state)
{
	static struct weft_coro has[BLOCKS_MOST], last;
	int status;
	pid_t child;

	(void)state;
	if (IS_SANITIZED) /* which needs more itself */
		skip();
	weft_label_set("worker", "w1");
	child = fork();
	if (child == 0)
		_exit(1 - labels_without_memory(has, &last));
	status = child_status(child);
	if (status == 2)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(blocks_are_never_two_coroutines, nothing_at_first),
		cmocka_unit_test_setup(without_memory_labels_are_refused, nothing_at_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
