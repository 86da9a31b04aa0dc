/* SPDX-License-Identifier: Apache-2.0 */
/* A session's memory: what is touched for threads to come, and what a liar can make of it. */
#include "base/clock.h"
#include "collector/session/session.h"

#include "base/session_layout.h"
#include "collector/write/process_work.h"

#include <setjmp.h>
#include <stdarg.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_false_high_water_mark_costs_no_memory, begin,
						end),
		cmocka_unit_test_setup_teardown(slots_in_use_have_the_next_ones_touched, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
