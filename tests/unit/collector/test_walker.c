/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits in the walker for names of JIT code is bounded, and nothing of it is lost: walked as
 * in life, on one thread, of a process (this one) that has code of its own and says nothing of it.
 */
#include "base/clock.h"
#include "collector/session/session.h"
#include "collector/walk/jit.h"
#include "collector/walk/process_walk.h"
#include "collector/walk/walk.h"
#include "collector/write/process_work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define BATCH_RECORDS 100
#define BATCH_BYTES (BATCH_RECORDS * sizeof(struct weft_sample_record))
#define HELD_MAX (10 * (BATCH_BYTES + sizeof(struct batch)))

static struct tables tables = {.fd = -1};
static struct table_cache no_cache = {.fd = -1};
static struct walker walker;
static struct queue in, out;
static struct process *process;
static struct session *session;
static void *code;

static int begin(void **state)
{
	struct session_settings settings = {.period_ns = 1000000, .stack_mode = WEFT_STACK_AUTO};

	(void)state;
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (process_new(&process, getpid()) || queue_init(&in, SIZE_MAX) ||
	    queue_init(&out, SIZE_MAX))
		return -1;
	process->opened_ns = clock_mono_ns();
	walker = (struct walker){
		.in = &in,
		.out = &out,
		.walking = {.modules = modules_new(&tables, &no_cache),
			    .tables = &tables,
			    .jit_budget = JIT_BUDGET_BYTES},
		.held_max = HELD_MAX,
	};
	return process_walk_jit(process) || session_new(&session, process, &settings) ||
	       !walker.walking.modules;
}

static int end(void **state)
{
	(void)state;
	session_free(session);
	process_free(process);
	modules_free(walker.walking.modules);
	queue_destroy(&in);
	queue_destroy(&out);
	if (code != MAP_FAILED)
		munmap(code, 4096);
	return 0;
}

static void put_samples(uint32_t batches)
{
	for (uint32_t i = 0; i < batches; i++) {
		struct batch *b = batch_new(BATCH_SAMPLES, process, BATCH_BYTES);

		assert_non_null(b);
		memset(b->data, 0, b->bytes);
		for (uint32_t k = 0; k < BATCH_RECORDS; k++) {
			struct weft_sample_record *r = (void *)(b->data + k * sizeof(*r));

			r->record.bytes = sizeof(*r);
			r->record.type = WEFT_RECORD_SAMPLE;
			r->time_ns = clock_mono_ns();
			r->weight = 1;
			r->stack = WEFT_SAMPLE_FRAMES;
		}
		queue_push(&in, b);
	}
}

/* Batches of this kind do not wait: what came out before it has not waited either. */
static void put_mark(void)
{
	queue_push(&in, batch_new(BATCH_TICK, NULL, 0));
}

/* So many batches of walked samples are in the queue up to the next of @kind. */
static uint32_t walked_before(enum batch_kind kind)
{
	uint32_t count = 0;

	for (;;) {
		struct batch *b;
		enum batch_kind found;

		assert_non_null(out.first);
		b = queue_pop(&out);
		found = b->kind;
		free(b);
		if (found == kind)
			return count;
		count += found == BATCH_WALKED;
	}
}

static void what_waits_for_names_is_bounded(void **state)
{
	(void)state;
	if (code == MAP_FAILED)
		skip(); /* no code can be made here */
	queue_push(&in, batch_new(BATCH_OPEN, process, 0));
	put_samples(9);
	put_mark();
	put_samples(9);
	put_mark();
	queue_push(&in, batch_new(BATCH_FINISH, NULL, 0));
	walker_run(&walker);
	assert_int_equal(walker.error, 0);
	assert_int_equal(walked_before(BATCH_TICK), 0);
	/* Nothing is waited for twice: there were no names. */
	assert_int_equal(walked_before(BATCH_TICK), 18);
	assert_int_equal(walked_before(BATCH_FINISH), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_waits_for_names_is_bounded, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
