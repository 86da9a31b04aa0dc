/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wall engine reads of a thread was true at one time, and the thread never knows:
 * contexts that change with every wait, calls that count how they return, slots that lie.
 */
#include "outside_child.h"

#include "base/clock.h"
#include "base/session_layout.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define MARK UINT64_C(0x7765667477616c6c)
#define SECOND_NS UINT64_C(1000000000)
#define GENERATION 7
#define SAMPLES_WANTED 300

static const struct wall_options fast = {.period_ns = 1000000};

/* ---- the child's part */

static struct weft_slot *claim(struct session *s, uint32_t index)
{
	struct weft_session_header *h = s->process->base;
	struct weft_slot *slot = weft_session_slot(s->process->base, &s->process->layout, index);

	slot->thread.tid = (int32_t)syscall(SYS_gettid);
	slot->thread.generation = GENERATION;
	if (h->slots_high <= index)
		__atomic_store_n(&h->slots_high, index + 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&weft_session_states(s->process->base, &s->process->layout)[index],
			 WEFT_STATE_WORD(GENERATION, WEFT_SLOT_LIVE), __ATOMIC_SEQ_CST);
	return slot;
}

static uint64_t root_of(uint64_t span)
{
	return span * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

/* The writer's protocol of abi/context_v1.h. */
static void set_context(struct weft_slot *slot, uint64_t span)
{
	struct weft_context_v1 *c = &slot->context;

	__atomic_store_n(&c->checksum, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&c->span_id, span, __ATOMIC_RELEASE);
	__atomic_store_n(&c->root_span_id, root_of(span), __ATOMIC_RELEASE);
	__atomic_store_n(&c->checksum, weft_context_v1_checksum(span, root_of(span)),
			 __ATOMIC_RELEASE);
}

/* A wait whose number stands in its frame, as the context says it, too. */
static __attribute__((noinline)) void wait_as(struct weft_slot *slot, uint64_t number)
{
	uint64_t frame[2] = {MARK, number};

	__asm__ volatile("" : : "r"(frame) : "memory");
	set_context(slot, number);
	nanosleep(&(struct timespec){0, (long)(number * 7919 % 2500000)}, NULL);
	frame[0] = 0;
	__asm__ volatile("" : : "r"(frame) : "memory");
	set_context(slot, number + (UINT64_C(1) << 40)); /* nobody waits with this one */
	for (volatile int i = 0; i < (int)(number % 5000); i++)
		;
}

static void wait_as_many(struct session *s, uint64_t *page)
{
	struct weft_slot *slot = claim(s, 3);

	__atomic_store_n(page, 1, __ATOMIC_RELEASE);
	for (uint64_t i = 1;; i++)
		wait_as(slot, i);
}

/* ---- contexts */

static unsigned int compared;

static void context_is_the_stacks(struct outside_child *c, const struct batch_thread *who,
				  const struct weft_sample_record *sample)
{
	const uint8_t *at = (const uint8_t *)(sample + 1) + (size_t)sample->register_count * 8;
	const uint64_t *word = (const void *)at;
	uint64_t number = 0;

	(void)c;
	for (size_t i = 0; i + 1 < sample->copy_bytes / 8; i++)
		if (word[i] == MARK) {
			number = word[i + 1];
			break;
		}
	if (!number)
		return; /* a wait of another kind: for a page, at the start */
	assert_int_equal(who->slot, 3);
	assert_int_equal(who->generation, GENERATION);
	assert_int_equal(sample->context, WEFT_CONTEXT_IDS);
	assert_true(sample->span_id == number);
	assert_true(sample->root_span_id == root_of(number));
	compared++;
}

static void each_context_belongs_to_its_stack(void **state)
{
	struct outside_child c;
	struct outside_told told;
	const struct weft_slot *slot;

	(void)state;
	compared = 0;
	assert_int_equal(outside_child_begin(&c, &fast, wait_as_many), 0);
	while (compared < SAMPLES_WANTED) {
		outside_child_watch(&c, SECOND_NS / 10);
		outside_child_take(&c, &told, context_is_the_stacks);
	}
	slot = weft_session_slot(c.session->process->base, &c.session->process->layout, 3);
	assert_true(slot->outside.samples >= compared);
	outside_child_end(&c);
}

static void sleep_in_context(struct session *s, uint64_t *page)
{
	struct weft_slot *slot = claim(s, 3);

	if (page[1])
		set_context(slot, 5);
	__atomic_store_n(page, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void sleep_without_context(struct session *s, uint64_t *page)
{
	claim(s, 3);
	__atomic_store_n(page, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void sleep_with_context(struct session *s, uint64_t *page)
{
	page[1] = 1;
	sleep_in_context(s, page);
}

static void only_those_with_a_context_are_told(void **state)
{
	static const struct wall_options filter = {.period_ns = 5000000, .context_only = 1};
	struct outside_child c;
	struct outside_told told;

	(void)state;
	for (int with = 0; with < 2; with++) {
		assert_int_equal(
			outside_child_begin(&c, &filter,
					    with ? sleep_with_context : sleep_without_context),
			0);
		outside_child_await(&c, c.pid, 'S');
		wall_tick(c.wall, c.threads, clock_mono_ns() + SECOND_NS, SECOND_NS);
		wall_flush(c.wall, clock_mono_ns() + SECOND_NS);
		outside_child_take(&c, &told, NULL);
		assert_int_equal(told.samples, with);
		assert_int_equal(told.filtered > 0, !with);
		assert_int_equal(told.ticks > 0, with);
		outside_child_end(&c);
	}
}

/* --context-from: with a reader of others' contexts, which this child has none of. */
static void own_contexts_go_where_others_alone_are_wanted(void **state)
{
	static const enum published_from from[] = {PUBLISHED_AUTO, PUBLISHED_WEFT, PUBLISHED_OTEL,
						   PUBLISHED_LABELS};
	struct outside_child c;
	struct outside_told told;

	(void)state;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		const struct wall_options options = {.period_ns = 5000000, .from = from[i]};
		struct published *published;
		int stays = from[i] == PUBLISHED_AUTO || from[i] == PUBLISHED_WEFT;

		assert_int_equal(outside_child_begin(&c, &options, sleep_with_context), 0);
		published = published_new(c.process, from[i], &c.counts);
		assert_non_null(published);
		wall_use_published(c.wall, published);
		outside_child_await(&c, c.pid, 'S');
		wall_tick(c.wall, c.threads, clock_mono_ns() + SECOND_NS, SECOND_NS);
		wall_flush(c.wall, clock_mono_ns() + SECOND_NS);
		outside_child_take(&c, &told, NULL);
		assert_int_equal(told.samples, 1);
		assert_int_equal(told.last.context, stays ? WEFT_CONTEXT_IDS : WEFT_CONTEXT_NONE);
		assert_int_equal(told.last.span_id, stays ? 5 : 0);
		outside_child_end(&c);
		published_free(published);
	}
}

/* Its slot comes after the first look at the list of slots. */
static void claim_late(struct session *s, uint64_t *page)
{
	__atomic_store_n(page, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&page[1], __ATOMIC_ACQUIRE))
		;
	set_context(claim(s, 3), 5);
	__atomic_store_n(&page[2], 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

/* Nobody has looked for slots since the thread got its own. */
static void a_slot_that_is_new_is_found(void **state)
{
	struct outside_child c;
	struct outside_told told;
	struct watched_thread *t;
	size_t cursor = 0;

	(void)state;
	assert_int_equal(outside_child_begin(&c, &fast, claim_late), 0);
	__atomic_store_n(&c.shared[1], 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&c.shared[2], __ATOMIC_ACQUIRE))
		usleep(1000);
	outside_child_await(&c, c.pid, 'S');
	t = threads_next(c.threads, &cursor);
	assert_non_null(t);
	assert_int_equal(t->slot, THREADS_NO_SLOT);
	wall_tick(c.wall, c.threads, clock_mono_ns() + SECOND_NS, SECOND_NS);
	outside_child_take(&c, &told, NULL);
	assert_int_equal(told.samples, 1);
	assert_int_equal(told.last.span_id, 5);
	assert_int_equal(t->slot, 3);
	outside_child_end(&c);
}

/* ---- slots that lie */

static void slots_that_lie_are_survived(void **state)
{
	struct outside_child c;
	struct outside_told told;
	struct watched_thread *t;
	struct weft_slot *slot;
	size_t cursor = 0;

	(void)state;
	assert_int_equal(outside_child_begin(&c, &fast, sleep_with_context), 0);
	outside_child_await(&c, c.pid, 'S');
	slot = weft_session_slot(c.session->process->base, &c.session->process->layout, 3);
	t = threads_next(c.threads, &cursor);
	assert_non_null(t);

	/* a stack up to the end of all memory, or of none */
	slot->thread.stack_low = 0;
	slot->thread.stack_high = UINT64_MAX;
	wall_tick(c.wall, c.threads, clock_mono_ns() + SECOND_NS, SECOND_NS);
	outside_child_take(&c, &told, NULL);
	assert_int_equal(told.samples, 1);
	assert_true(told.last.copy_bytes > 0);
	assert_int_equal(told.last.span_id, 5);

	/* another thread's slot, and one that is not there: no context, and no crash */
	slot->thread.tid = 1;
	kill(c.pid, SIGSTOP);
	outside_child_await(&c, c.pid, 'T');
	kill(c.pid, SIGCONT);
	outside_child_await(&c, c.pid, 'S');
	wall_tick(c.wall, c.threads, clock_mono_ns() + 3 * SECOND_NS, SECOND_NS);
	outside_child_take(&c, &told, NULL);
	assert_int_equal(told.samples, 1);
	assert_int_equal(told.last.context, WEFT_CONTEXT_NONE);
	assert_int_equal(told.last.span_id, 0);

	t->slot = c.session->process->layout.slot_count;
	kill(c.pid, SIGSTOP);
	outside_child_await(&c, c.pid, 'T');
	kill(c.pid, SIGCONT);
	outside_child_await(&c, c.pid, 'S');
	wall_tick(c.wall, c.threads, clock_mono_ns() + 5 * SECOND_NS, SECOND_NS);
	wall_flush(c.wall, clock_mono_ns() + 5 * SECOND_NS);
	outside_child_take(&c, &told, NULL);
	assert_int_equal(told.samples, 1);
	assert_int_equal(told.last.span_id, 0);
	outside_child_end(&c);
}

/* ---- calls that count how they return */

#define WAIT_MS 4

struct counted { /* in the shared page */
	uint64_t ready, calls, interrupted, early;
};

static struct counted *counted;
static int unread[2];
static sem_t empty;

static int by_nanosleep(void)
{
	return nanosleep(&(struct timespec){0, WAIT_MS * 1000000}, NULL);
}

static int by_usleep(void)
{
	return usleep(WAIT_MS * 1000);
}

static int by_poll(void)
{
	return poll(&(struct pollfd){unread[0], POLLIN, 0}, 1, WAIT_MS);
}

static int by_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(unread[0], &set);
	return select(unread[0] + 1, &set, NULL, NULL, &(struct timeval){0, WAIT_MS * 1000});
}

static int by_epoll(void)
{
	static __thread int epoll = -1;
	struct epoll_event e;

	if (epoll < 0)
		epoll = epoll_create1(0);
	return epoll_wait(epoll, &e, 1, WAIT_MS);
}

static int by_recv(void)
{
	struct timeval most = {0, WAIT_MS * 1000};
	char c;

	setsockopt(unread[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	return recv(unread[0], &c, 1, 0) < 0 && errno == EAGAIN ? 0 : -1;
}

static int by_semaphore(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += WAIT_MS * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return sem_timedwait(&empty, &t) < 0 && errno == ETIMEDOUT ? 0 : -1;
}

/* Timeouts of sockets are counted in the kernel's ticks, which may be late, and then catch up:
 * so goes this clock, too. */
static uint64_t ticks_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

static void *call_for_ever(void *arg)
{
	int (*const call)(void) = (int (*)(void))(uintptr_t)arg;
	uint64_t (*const now_ns)(void) = call == by_recv ? ticks_ns : clock_mono_ns;
	uint64_t least_ns = WAIT_MS * UINT64_C(1000000), tick_ns = clock_tick_ns();

	least_ns -= call == by_recv && least_ns > tick_ns ? tick_ns : 0;
	for (;;) {
		uint64_t before_ns = now_ns();

		errno = 0;
		if (call() != 0)
			__atomic_add_fetch(&counted->interrupted, 1, __ATOMIC_RELAXED);
		else if (call != by_semaphore && now_ns() - before_ns < least_ns)
			__atomic_add_fetch(&counted->early, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&counted->calls, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void call_all(struct session *s, uint64_t *page)
{
	static int (*const calls[])(void) = {by_usleep, by_poll, by_select,
					     by_epoll,  by_recv, by_semaphore};
	pthread_t thread;

	(void)s;
	counted = (struct counted *)(void *)page;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, unread) || sem_init(&empty, 0, 0))
		_exit(1);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (pthread_create(&thread, NULL, call_for_ever, (void *)(uintptr_t)calls[i]))
			_exit(1);
	__atomic_store_n(&counted->ready, 1, __ATOMIC_RELEASE);
	call_for_ever((void *)(uintptr_t)by_nanosleep);
}

static void no_call_is_cut_short(void **state)
{
	static const struct wall_options half_a_kilohertz = {.period_ns = 2000000};
	struct outside_child c;
	struct outside_told told;
	const struct counted *n;
	uint64_t taken = 0;

	(void)state;
	assert_int_equal(outside_child_begin(&c, &half_a_kilohertz, call_all), 0);
	n = (const struct counted *)(const void *)c.shared;
	while (__atomic_load_n(&n->calls, __ATOMIC_RELAXED) < 1500 || taken < 1000) {
		outside_child_watch(&c, SECOND_NS / 10);
		outside_child_take(&c, &told, NULL);
		taken += told.samples;
	}
	assert_int_equal(__atomic_load_n(&n->interrupted, __ATOMIC_RELAXED), 0);
	assert_int_equal(__atomic_load_n(&n->early, __ATOMIC_RELAXED), 0);
	outside_child_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_context_belongs_to_its_stack),
		cmocka_unit_test(only_those_with_a_context_are_told),
		cmocka_unit_test(own_contexts_go_where_others_alone_are_wanted),
		cmocka_unit_test(a_slot_that_is_new_is_found),
		cmocka_unit_test(slots_that_lie_are_survived),
		cmocka_unit_test(no_call_is_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
