/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: claim, exhaustion, stealing, release, and a storm of threads that claim. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/core/runtime.h"
#include "runtime/core/sys.h"
#include "unit.h"

#define SLOTS 64

static struct weft_session_header *shared;

/* A collector's session instead of the one that the constructor made. */
static void begin_session_of(uint32_t slots)
{
	struct weft_session_header h = {.cookie = 77, .run_state = WEFT_RUN_RECORDING};
	int fd = memfd_create("test", MFD_ALLOW_SEALING);

	assert_int_equal(weft_session_layout(&h, slots, 0, 0), 0);
	assert_int_equal(ftruncate(fd, (off_t)h.total_bytes), 0);
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	assert_true(weft_session_map(fd, h.total_bytes) < 0); /* not sealed */
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
	assert_true(weft_session_map(fd, h.total_bytes + 4096) < 0);
	weft_copies_store(NULL);
	assert_int_equal(weft_session_map(fd, h.total_bytes), 0);
	close(fd);
	weft_rt.has_collector = 1;
	shared = weft_rt.header;
}

static int begin_session(void **state)
{
	(void)state;
	begin_session_of(SLOTS);
	return 0;
}

static uint64_t word_of(const struct weft_slot *slot)
{
	return __atomic_load_n(&weft_rt.states[weft_rt_index(slot)], __ATOMIC_ACQUIRE);
}

static struct weft_slot *claim(void)
{
	const struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_HOOK};

	weft_copies_store(NULL);
	return weft_slot_claim(&birth);
}

static void claim_primes_and_release_ends(void **state)
{
	struct weft_slot *slot = claim();

	(void)state;
	assert_non_null(slot);
	assert_ptr_equal(weft_thread_slot, slot);
	assert_int_equal(WEFT_STATE_OF(word_of(slot)), WEFT_SLOT_LIVE);
	assert_int_equal(WEFT_GENERATION_OF(word_of(slot)), slot->thread.generation);
	assert_int_equal(slot->thread.tid, gettid());
	assert_int_equal(slot->thread.timer_id, -1);
	assert_int_equal(slot->counters[WEFT_COUNTER_PRIMED_HOOK], 1);
	assert_int_not_equal(slot->name[0], 0);
	assert_int_equal(shared->slots_used, 1);
	weft_slot_release();
	assert_null(weft_thread_slot);
	assert_int_equal(WEFT_STATE_OF(word_of(slot)), WEFT_SLOT_DEAD);
	assert_int_equal(shared->slots_used, 0);
	weft_slot_release(); /* twice does nothing */
}

static uint64_t clock_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *release_after_work(void *arg)
{
	uint64_t *clock = arg;
	struct weft_slot *slot = weft_thread_slot ? weft_thread_slot : claim(); /* the hook's */

	while (clock_of(CLOCK_THREAD_CPUTIME_ID) < 3000000)
		continue;
	assert_int_equal(slot->events.cpu_ns, 0);
	clock[0] = clock_of(CLOCK_THREAD_CPUTIME_ID);
	weft_slot_release();
	clock[1] = clock_of(CLOCK_THREAD_CPUTIME_ID);
	return slot;
}

static void a_thread_leaves_its_cpu_time(void **state)
{
	struct weft_slot *slot;
	uint64_t clock[2];
	pthread_t thread;
	void *result;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, release_after_work, clock), 0);
	pthread_join(thread, &result);
	slot = result;
	assert_true(slot->events.cpu_ns >= clock[0]);
	assert_true(slot->events.cpu_ns <= clock[1]);
	slot = claim();
	assert_int_equal(slot->events.cpu_ns, 0);
	weft_slot_release();
}

/* No less than its threads, which do not end themselves. Of a child that shares the memory it is
 * not said. */
static void a_process_leaves_its_cpu_time(void **state)
{
	struct weft_slot *slot = claim();
	uint64_t before = clock_of(CLOCK_PROCESS_CPUTIME_ID);
	pid_t pid = weft_rt.pid;

	(void)state;
	weft_rt.pid = pid + 1;
	weft_account_process();
	assert_int_equal(shared->exit_cpu_ns, 0);
	weft_rt.pid = pid;
	weft_account_process();
	assert_true(shared->exit_cpu_ns >= before);
	assert_true(shared->exit_cpu_ns <= clock_of(CLOCK_PROCESS_CPUTIME_ID));
	assert_true(slot->events.cpu_ns > 0);
	assert_true(slot->events.cpu_ns <= shared->exit_cpu_ns);
	shared->exit_cpu_ns = 0;
	shared->run_state = WEFT_RUN_STOPPED; /* nobody wants to know */
	weft_account_process();
	assert_int_equal(shared->exit_cpu_ns, 0);
	shared->run_state = WEFT_RUN_RECORDING;
	weft_slot_release();
}

/* With nobody to drain it, the owner frees its own; the next generation is another. */
static void without_collector_the_owner_frees(void **state)
{
	struct weft_slot *slot = claim();
	uint64_t generation = slot->thread.generation;

	(void)state;
	shared->run_state = WEFT_RUN_CLOSED;
	slot->context.span_id = 5;
	weft_slot_release();
	assert_int_equal(WEFT_STATE_OF(word_of(slot)), WEFT_SLOT_FREE);
	assert_ptr_equal(claim(), slot);
	assert_int_equal(slot->thread.generation, generation + 1);
	assert_int_equal(slot->context.span_id, 0);
	weft_slot_release();
	shared->run_state = WEFT_RUN_RECORDING;
}

static pthread_key_t own_key;

/* ThreadSanitizer's own state of a thread goes in the last. */
#if defined(__SANITIZE_THREAD__)
#define ROUNDS 3
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ROUNDS 3
#endif
#endif
#ifndef ROUNDS
#define ROUNDS 4
#endif

/* In each round that POSIX promises, and before or after ours as the keys come. */
static void writes_to_the_very_end(void *rounds)
{
	weft_context_set(1, 2);
	if (rounds != (void *)1)
		pthread_setspecific(own_key, (void *)((uintptr_t)rounds - 1));
}

static void *ends_late(void *arg)
{
	pthread_setspecific(own_key, (void *)ROUNDS);
	weft_context_set(3, 4);
	return arg;
}

static void a_late_destructor_leaves_no_slot(void **state)
{
	(void)state;
	weft_copies_store(NULL);
	assert_int_equal(pthread_key_create(&own_key, writes_to_the_very_end), 0);
	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, ends_late, NULL), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	pthread_key_delete(own_key);
	assert_int_equal(shared->slots_used, 0);
}

static void a_slot_claimed_meanwhile_wins(void **state)
{
	const struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_HOOK};
	struct weft_slot *first = claim();
	uint32_t used = shared->slots_used;

	(void)state;
	assert_ptr_equal(weft_slot_claim(&birth), first);
	assert_int_equal(shared->slots_used, used);
	weft_slot_release();
}

/* All 64 are taken: nothing breaks; then a dead one is stolen and its books are kept. */
static void exhaustion_counts_and_dead_are_stolen(void **state)
{
	struct weft_slot *all[SLOTS], *stolen;
	int count = 0;

	(void)state;
	while (count < SLOTS && (all[count] = claim()))
		count++;
	assert_true(count > 32);
	while (claim()) /* what earlier tests left DEAD */
		;
	assert_null(claim());
	weft_copies_store(all[3]);
	all[3]->counters[WEFT_COUNTER_ATTEMPTED] = 10;
	all[3]->samples_p.written = 9;
	all[3]->samples_p.head = 800;
	all[3]->samples_c.delivered = 3;
	all[3]->samples_c.refused = 1;
	all[3]->samples_c.tail = 400;
	weft_slot_release();
	stolen = claim();
	assert_ptr_equal(stolen, all[3]);
	assert_int_equal(stolen->counters[WEFT_COUNTER_ATTEMPTED], 10);
	assert_int_equal(stolen->counters[WEFT_COUNTER_LOST_STOLEN], 5);
	assert_int_equal(stolen->samples_p.written, 9);
	assert_int_equal(stolen->samples_c.delivered, 3);
	assert_int_equal(stolen->samples_p.head, 0);
	assert_int_equal(stolen->samples_c.tail, 0);
	weft_slot_release();
	assert_ptr_equal(claim(), stolen); /* nothing more was lost by that */
	assert_int_equal(stolen->counters[WEFT_COUNTER_LOST_STOLEN], 5);
	assert_int_equal(shared->slots_high, SLOTS);
}

/* One that the collector drains is never stolen. */
static void draining_slots_are_left_alone(void **state)
{
	struct weft_slot *mine = weft_rt_slot(5);
	uint64_t generation = mine->thread.generation;

	(void)state;
	weft_rt.states[5] = WEFT_STATE_WORD(generation, WEFT_SLOT_DRAINING);
	assert_null(claim());
	weft_rt.states[5] = WEFT_STATE_WORD(generation, WEFT_SLOT_FREE);
	assert_null(claim()); /* no hint, no slot */
	weft_rt.free_bits[0] |= 1u << 5;
	assert_ptr_equal(claim(), mine);
}

/* Nor one that it holds, dead or alive; the owner's end leaves its hold alone. */
static void held_slots_are_left_alone(void **state)
{
	struct weft_slot *mine = weft_rt_slot(5);

	(void)state;
	weft_copies_store(mine);
	weft_rt.states[5] |= WEFT_SLOT_HELD;
	weft_slot_release();
	assert_int_equal(weft_rt.states[5],
			 WEFT_STATE_WORD(mine->thread.generation, WEFT_SLOT_DEAD) | WEFT_SLOT_HELD);
	assert_null(claim());
	weft_rt.states[5] &= ~(uint64_t)WEFT_SLOT_HELD;
	assert_ptr_equal(claim(), mine);
}

/* One that the collector took for gone is not ended twice. */
static void ended_by_the_collector_is_ended(void **state)
{
	struct weft_slot *mine = weft_rt_slot(5);
	uint64_t generation = mine->thread.generation;
	uint32_t used = shared->slots_used;

	(void)state;
	weft_copies_store(mine);
	weft_rt.states[5] = WEFT_STATE_WORD(generation, WEFT_SLOT_DRAINING);
	weft_slot_release();
	assert_int_equal(weft_rt.states[5], WEFT_STATE_WORD(generation, WEFT_SLOT_DRAINING));
	assert_int_equal(shared->slots_used, used);
	weft_rt.states[5] = WEFT_STATE_WORD(generation, WEFT_SLOT_DEAD);
	assert_ptr_equal(claim(), mine);
}

/* 2^24 claims of one slot: the generation that a timer without slot has is left out. */
static void generations_pass_over_adopted(void **state)
{
	struct weft_slot *slot;

	(void)state;
	begin_session_of(SLOTS);
	weft_rt.has_collector = 0;
	weft_rt.states[0] = WEFT_STATE_WORD(0xFFFFFE, WEFT_SLOT_FREE);
	weft_rt.free_bits[0] = 1;
	shared->blocks_open = 1;
	/* not by libc's function, before which weft's hook may stand: it spares weft's memory */
	syscall(SYS_mprotect, weft_rt.slots, weft_layout.slot_stride, PROT_READ | PROT_WRITE);
	slot = claim();
	assert_int_equal(slot->thread.generation, 0xFFFFFF);
	weft_slot_release();
	slot = claim();
	assert_ptr_equal(slot, weft_rt_slot(0));
	assert_int_equal(slot->thread.generation, 0x1000001);
	assert_int_not_equal(WEFT_SIGVAL_GENERATION(WEFT_SIGVAL(1, slot->thread.generation, 0)),
			     WEFT_SIGVAL_ADOPTED);
	weft_slot_release();
	assert_int_equal(weft_rt.states[0], WEFT_STATE_WORD(0x1000001, WEFT_SLOT_FREE));
	weft_rt.has_collector = 1;
}

static uint32_t owners[SLOTS];

static void *storm(void *arg)
{
	const struct weft_birth birth = {.how = WEFT_COUNTER_PRIMED_HOOK};

	for (int i = 0; i < 3000; i++) {
		struct weft_slot *slot = weft_slot_claim(&birth);

		if (!slot)
			continue;
		if (__atomic_add_fetch(&owners[weft_rt_index(slot)], 1, __ATOMIC_RELAXED) != 1)
			*(int *)arg = 1; /* two owners */
		__atomic_sub_fetch(&owners[weft_rt_index(slot)], 1, __ATOMIC_RELAXED);
		weft_slot_release();
	}
	return NULL;
}

static void storms_never_share_a_slot(void **state)
{
	pthread_t threads[8];
	int shared_one = 0;

	(void)state;
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, storm, &shared_one);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(shared_one, 0);
}

static void free_all(void)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		weft_rt.states[i] = WEFT_STATE_WORD(WEFT_GENERATION_OF(weft_rt.states[i]), 0);
	weft_rt.free_bits[0] = ~UINT64_C(0);
	weft_copies_store(NULL);
}

static void storms_end_with_all_free(void **state)
{
	free_all();
	shared->run_state = WEFT_RUN_CLOSED;
	storms_never_share_a_slot(state);
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_int_equal(WEFT_STATE_OF(weft_rt.states[i]), WEFT_SLOT_FREE);
	assert_int_equal(weft_rt.free_bits[0], ~UINT64_C(0));
}

/* A collector that drains no more: the dead are stolen before more memory is opened. */
static void a_lost_collector_costs_no_memory(void **state)
{
	struct weft_slot *first;

	(void)state;
	begin_session_of(2 * SLOTS);
	first = claim();
	weft_slot_release();
	weft_rt.free_bits[0] = 0;
	shared->drained_ns = clock_monotonic_ns();
	assert_int_not_equal(weft_rt_index(claim()), weft_rt_index(first));
	assert_int_equal(shared->blocks_open, 2);
	weft_rt.free_bits[1] = 0;

	begin_session_of(2 * SLOTS);
	first = claim();
	weft_slot_release();
	weft_rt.free_bits[0] = 0;
	shared->drained_ns = 1;
	assert_ptr_equal(claim(), first);
	assert_int_equal(shared->blocks_open, 1);
	assert_int_equal(first->counters[WEFT_COUNTER_SLOTS_STOLEN], 1);
}

/* A quarter of a gigabyte of control pages: only when asked for. */
static void all_slots_can_be_claimed(void **state)
{
	static struct weft_slot *all[WEFT_SESSION_SLOTS_MAX];

	(void)state;
	if (!getenv("WEFT_ALL_SLOTS"))
		return;
	begin_session_of(WEFT_SESSION_SLOTS_MAX);
	for (uint32_t i = 0; i < WEFT_SESSION_SLOTS_MAX; i++) {
		all[i] = claim();
		assert_non_null(all[i]);
		all[i]->counters[WEFT_COUNTER_ATTEMPTED]++; /* nobody else has it */
		assert_int_equal(all[i]->counters[WEFT_COUNTER_ATTEMPTED], 1);
	}
	assert_int_equal(shared->slots_high, WEFT_SESSION_SLOTS_MAX);
	assert_int_equal(shared->slots_used, WEFT_SESSION_SLOTS_MAX);
	assert_int_equal(shared->blocks_open, WEFT_SESSION_SLOTS_MAX / WEFT_SESSION_BLOCK_SLOTS);
	assert_null(claim());
	for (uint32_t i = 0; i < WEFT_SESSION_SLOTS_MAX; i++) {
		weft_copies_store(all[i]);
		weft_slot_release();
	}
	assert_int_equal(shared->slots_used, 0);
	assert_non_null(claim());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claim_primes_and_release_ends),
		cmocka_unit_test(a_thread_leaves_its_cpu_time),
		cmocka_unit_test(a_process_leaves_its_cpu_time),
		cmocka_unit_test(without_collector_the_owner_frees),
		cmocka_unit_test(a_late_destructor_leaves_no_slot),
		cmocka_unit_test(a_slot_claimed_meanwhile_wins),
		cmocka_unit_test(exhaustion_counts_and_dead_are_stolen),
		cmocka_unit_test(draining_slots_are_left_alone),
		cmocka_unit_test(held_slots_are_left_alone),
		cmocka_unit_test(ended_by_the_collector_is_ended),
		cmocka_unit_test(storms_never_share_a_slot),
		cmocka_unit_test(storms_end_with_all_free),
		cmocka_unit_test(a_lost_collector_costs_no_memory),
		cmocka_unit_test(generations_pass_over_adopted),
		cmocka_unit_test(all_slots_can_be_claimed),
	};

	return cmocka_run_group_tests(tests, begin_session, NULL);
}
