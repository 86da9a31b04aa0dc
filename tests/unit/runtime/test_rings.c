/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings, both ends: wrap and pad, full, nested and abandoned appends, a producer killed at
 * any moment, a producer that lies.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ring_consumer.h"
#include "runtime/core/ring_append.h"
#include "unit.h"

#define RING 4096

struct memory {
	struct weft_ring_producer p;
	struct weft_ring_consumer c;
	uint8_t data[RING];
};

static struct memory *m;
static struct ring ring;
static struct ring_reader reader;
static uint64_t stack_low, stack_high;

static void ask_stack(void)
{
	pthread_attr_t attr;
	size_t bytes = 0;
	void *low = NULL;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &bytes);
	pthread_attr_destroy(&attr);
	stack_low = (uint64_t)(uintptr_t)low;
	stack_high = stack_low + bytes;
}

static int fresh(void **state)
{
	(void)state;
	if (!m)
		m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			 0);
	memset(m, 0, sizeof(*m));
	ask_stack();
	ring = (struct ring){.producer = &m->p,
			     .consumer = &m->c,
			     .data = m->data,
			     .bytes = RING,
			     .stack_low = stack_low,
			     .stack_high = stack_high};
	ring_reader_open(&reader, &m->p, &m->c, m->data, RING);
	return 0;
}

/* Number and length; every byte after them tells both. */
static uint32_t make_payload(uint8_t *out, uint64_t number)
{
	uint32_t bytes = 8 + (uint32_t)(number * 37 % 201);

	memcpy(out, &number, sizeof(number));
	memset(out + 8, (int)(number & 0xFF), bytes - 8);
	return bytes;
}

static __attribute__((noinline)) enum weft_ring_result append_bytes(const void *payload,
								    uint32_t bytes, uint64_t now_ns)
{
	const struct weft_record header = {.type = WEFT_RECORD_EVENT};
	struct ring_append a = {.ring = &ring,
				.frame = (uint64_t)(uintptr_t)__builtin_frame_address(0)};
	uint32_t all = (uint32_t)sizeof(header) + ((bytes + 7) & ~7u);
	struct weft_record *to = ring_append_open(&a, all, now_ns);

	if (to) {
		to->generation = to->rsv = 0;
		memcpy(to + 1, payload, bytes);
		ring_append_close(&a, to, &header, all);
	}
	return a.result;
}

static enum weft_ring_result append_at(uint64_t number, uint64_t now_ns)
{
	uint8_t payload[256];

	return append_bytes(payload, make_payload(payload, number), now_ns);
}

static enum weft_ring_result append(uint64_t number)
{
	return append_at(number, 1);
}

/* The number of the next record, after its bytes were checked; -1 = none, -2 = torn. */
static int64_t take(void)
{
	static _Alignas(8) uint8_t record[RING];
	uint8_t expected[256];
	int bytes = ring_reader_next(&reader, record, sizeof(record));
	uint64_t number;

	if (bytes == 0)
		return -1;
	if (bytes < (int)sizeof(struct weft_record) + 8)
		return -2;
	memcpy(&number, record + sizeof(struct weft_record), sizeof(number));
	if (memcmp(record + sizeof(struct weft_record), expected, make_payload(expected, number)))
		return -2;
	return (int64_t)number;
}

static void records_wrap_with_pads(void **state)
{
	uint64_t next = 0, seen = 0;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < round % 7 + 1; i++)
			assert_int_equal(append(next++), WEFT_RING_WRITTEN);
		for (int64_t got; (got = take()) != -1; seen++)
			assert_int_equal(got, seen);
		ring_reader_release(&reader);
	}
	assert_int_equal(seen, next);
	assert_int_equal(m->p.written, next);
	assert_int_equal(m->c.delivered, next);
	assert_true(m->p.head > 10 * RING);
}

static void a_full_ring_refuses(void **state)
{
	uint64_t written = 0;

	(void)state;
	while (append(written) == WEFT_RING_WRITTEN)
		written++;
	assert_int_equal(append(written), WEFT_RING_FULL);
	assert_true(m->p.head <= RING);
	for (uint64_t i = 0; i < written; i++)
		assert_int_equal(take(), i);
	assert_int_equal(append(written), WEFT_RING_FULL); /* taken, not yet released */
	ring_reader_release(&reader);
	assert_int_equal(append(written), WEFT_RING_WRITTEN);
	assert_int_equal(take(), written);
}

/* Half a ring always fits an empty one, wherever its head stands. */
static void the_longest_record_always_fits(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < RING; at += 8) {
		struct weft_record *r;

		m->p.head = m->c.tail = reader.tail = at;
		r = weft_ring_reserve(&ring, RING / 2);
		assert_non_null(r);
		r->bytes = RING / 2;
		r->type = WEFT_RECORD_EVENT;
		weft_ring_commit(&ring, r);
		assert_int_equal(ring_reader_next(&reader, (uint8_t[RING]){0}, RING), RING / 2);
	}
	assert_null(weft_ring_reserve(&ring, RING / 2 + 8));
}

static void a_tail_beyond_head_is_full(void **state)
{
	(void)state;
	m->c.tail = 64;
	assert_int_equal(append(1), WEFT_RING_FULL);
	m->c.tail = 0;
	assert_int_equal(append(1), WEFT_RING_WRITTEN);
}

/* A record of 64 bytes, 16 before the ring's end: with the pad it takes 80. */
static void a_pad_counts_as_use(void **state)
{
	(void)state;
	m->p.head = RING - 16;
	m->c.tail = RING + 64;
	assert_int_equal(append(1), WEFT_RING_FULL);
	m->c.tail = 56;
	assert_int_equal(append(1), WEFT_RING_FULL);
	assert_int_equal(m->p.head, RING - 16);
	m->c.tail = 64;
	assert_int_equal(append(1), WEFT_RING_WRITTEN);
	assert_int_equal(m->p.head, RING + 64);
}

static void nested_and_abandoned_are_told_apart(void **state)
{
	char here[4096];

	(void)state;
	memset(here, 0, sizeof(here));
	m->p.busy = (uint64_t)(uintptr_t)(here + sizeof(here)) + 2048; /* we are deeper */
	assert_int_equal(append(1), WEFT_RING_NESTED);
	assert_int_equal(m->p.written, 0);
	m->p.busy = (uint64_t)(uintptr_t)here - 8192; /* the other one was deeper: gone */
	assert_int_equal(append(2), WEFT_RING_HEALED);
	assert_int_equal(m->p.busy, 0);
	assert_int_equal(take(), 2);
	m->p.busy = 4096; /* another stack, in its few steps: after a minute it is taken over */
	assert_int_equal(append_at(3, 1), WEFT_RING_NESTED);
	assert_int_equal(append_at(3, 59000000000), WEFT_RING_NESTED);
	assert_int_equal(append_at(3, 60000000002), WEFT_RING_HEALED);
	assert_int_equal(append_at(4, 60000000002), WEFT_RING_WRITTEN);
	m->p.busy = (uint64_t)(uintptr_t)here - 8192; /* nobody knows the stack's bounds */
	ring.stack_low = ring.stack_high = 0;
	assert_int_equal(append_at(5, 1), WEFT_RING_NESTED);
	m->p.busy = 0;
	assert_int_equal(take(), 3);
	assert_int_equal(take(), 4);
	assert_int_equal(take(), -1);
}

/*
 * An append is stopped in the middle of its record, at a payload that cannot be read, and the
 * handler of that signal, on a stack of its own, appends too.
 */
static uint8_t *trap; /* two pages, the second cannot be read */
static void (*in_trap)(void);
static sigjmp_buf out_of_trap;

static void trapped(int signo)
{
	(void)signo;
	in_trap();
	mprotect(trap + 4096, 4096, PROT_READ | PROT_WRITE);
}

static void set_trap(void (*then)(void))
{
	static uint8_t stack[65536];
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = trapped, .sa_flags = SA_ONSTACK};

	if (!trap)
		trap = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(trap, 0, 4096);
	mprotect(trap + 4096, 4096, PROT_NONE);
	in_trap = then;
	sigaltstack(&other, NULL);
	sigaction(SIGSEGV, &action, NULL);
}

static enum weft_ring_result append_into_trap(void)
{
	return append_bytes(trap + 4096 - 32, 96, 5);
}

static void takes_over_after_a_second(void)
{
	assert_int_equal(append_at(1, 10), WEFT_RING_NESTED);
	assert_int_equal(append_at(2, 2000000000), WEFT_RING_HEALED);
	assert_int_equal(append_at(3, 2000000000), WEFT_RING_WRITTEN);
}

/* It goes on after all: writes into a pad, and publishes nothing. */
static void who_was_taken_over_does_no_harm(void **state)
{
	(void)state;
	set_trap(takes_over_after_a_second);
	assert_int_equal(append_into_trap(), WEFT_RING_NESTED);
	assert_int_equal(append(4), WEFT_RING_WRITTEN);
	for (int64_t n = 2; n <= 4; n++)
		assert_int_equal(take(), n);
	assert_int_equal(take(), -1);
	assert_int_equal(m->p.written, 3);
	assert_int_equal(reader.delivered, 3);
}

/* Likewise where what it had reserved goes round the end of the ring. */
static void nor_at_the_end_of_the_ring(void **state)
{
	m->p.head = m->c.tail = reader.tail = RING - 40;
	who_was_taken_over_does_no_harm(state);
}

static void jumps(void)
{
	siglongjmp(out_of_trap, 1);
}

static void left_for_good_is_healed_at_once(void **state)
{
	(void)state;
	set_trap(jumps);
	if (!sigsetjmp(out_of_trap, 1)) {
		append_into_trap();
		fail();
	}
	assert_int_equal(append(6), WEFT_RING_HEALED);
	assert_int_equal(append(7), WEFT_RING_WRITTEN);
	assert_int_equal(take(), 6);
	assert_int_equal(take(), 7);
	assert_int_equal(m->p.written, 2);
}

/* A commit that was left before, in and after the stores of written and head. */
static void a_commit_left_halfway_is_settled(void **state)
{
	for (int step = 0; step < 3; step++) {
		char here[4096];

		fresh(state);
		assert_int_equal(append(1), WEFT_RING_WRITTEN);
		m->p.own[1] = (m->p.head + 64) | 1; /* RESERVED, COMMITTING */
		m->p.own[2] = 2;                    /* COMMIT_WRITTEN */
		m->p.written = step > 0 ? 2 : 1;
		memcpy(m->data + m->p.head, m->data, 64);
		((struct weft_record *)(void *)(m->data + m->p.head))->bytes = 64;
		m->p.head += step > 1 ? 64 : 0;
		memset(here, 0, sizeof(here));
		m->p.busy = (uint64_t)(uintptr_t)here - 8192;
		assert_int_equal(append(3), WEFT_RING_HEALED);
		assert_int_equal(m->p.written, step > 1 ? 3 : 2);
	}
}

/*
 * A storm of signals, sent by another process: their handlers append too, on the thread's stack
 * or on another, and now and then jump out of what they interrupted.
 */
#define STORM_NUMBERS (1u << 18)
#define STORM_TICKS 1000 /* or WEFT_TICKS */
enum said { SAID_NOTHING, SAID_WRITTEN, SAID_REFUSED, TAKEN };
static uint8_t storm_said[STORM_NUMBERS];
static sigjmp_buf jump;
static volatile sig_atomic_t ticks, nested, healed;
static volatile uint64_t next_number, storm_ns;

/* Numbers are never used twice, also not by who interrupts the taking of one. */
static void append_in_storm(void)
{
	uint64_t number = __atomic_fetch_add(&next_number, 1, __ATOMIC_RELAXED);
	enum weft_ring_result result;

	if (number >= STORM_NUMBERS)
		return;
	storm_ns += 10000000;
	result = append_at(number, storm_ns);
	storm_said[number] = result >= 0 ? SAID_WRITTEN : SAID_REFUSED;
	nested += result == WEFT_RING_NESTED;
	healed += result == WEFT_RING_HEALED;
}

static void disturb(int signo)
{
	(void)signo;
	append_in_storm();
	if (++ticks % 3 == 0)
		siglongjmp(jump, 1);
}

static pid_t begin_storm(void)
{
	static uint8_t stack[65536];
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction here = {.sa_handler = disturb};
	struct sigaction there = {.sa_handler = disturb, .sa_flags = SA_ONSTACK};
	pid_t victim = getpid(), storm;

	sigaltstack(&other, NULL);
	sigaddset(&here.sa_mask, SIGUSR1);
	sigaddset(&here.sa_mask, SIGUSR2);
	there.sa_mask = here.sa_mask;
	sigaction(SIGUSR1, &here, NULL);
	sigaction(SIGUSR2, &there, NULL);
	storm = fork();
	if (storm)
		return storm;
	for (unsigned int i = 0; getppid() == victim; i++) {
		kill(victim, i % 2 ? SIGUSR1 : SIGUSR2);
		for (volatile unsigned int k = 0; k < i * 7919 % 3000; k++)
			;
	}
	_exit(0);
}

static void take_all(void)
{
	for (int64_t got; (got = take()) != -1;) {
		assert_true(got >= 0 && got < (int64_t)STORM_NUMBERS);
		assert_int_not_equal(storm_said[got], SAID_REFUSED);
		assert_int_not_equal(storm_said[got], TAKEN);
		storm_said[got] = TAKEN;
	}
	ring_reader_release(&reader);
}

/* What was said to be written was taken. Signals are blocked: nobody is at work. */
static void close_storm_books(void)
{
	for (uint64_t i = 0; i < next_number && i < STORM_NUMBERS; i++)
		assert_int_not_equal(storm_said[i], SAID_WRITTEN);
	memset(storm_said, SAID_NOTHING, sizeof(storm_said));
	next_number = 0;
}

static void signals_tear_nothing(void **state)
{
	const char *wanted = getenv("WEFT_TICKS");
	sig_atomic_t enough = wanted ? atoi(wanted) : STORM_TICKS;
	sigset_t both;
	pid_t storm;

	(void)state;
	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	sigprocmask(SIG_BLOCK, &both, NULL);
	storm = begin_storm();
	sigsetjmp(jump, 1);
	sigprocmask(SIG_UNBLOCK, &both, NULL);
	while (ticks < enough || (!(nested && healed) && ticks < 20000 * enough)) {
		append_in_storm();
		if (next_number % 8)
			continue;
		sigprocmask(SIG_BLOCK, &both, NULL); /* the consumer is another's */
		take_all();
		if (next_number > STORM_NUMBERS / 2)
			close_storm_books();
		sigprocmask(SIG_UNBLOCK, &both, NULL);
	}
	sigprocmask(SIG_BLOCK, &both, NULL);
	kill(storm, SIGKILL);
	waitpid(storm, NULL, 0);
	storm_ns += 61000000000;
	append_in_storm(); /* settles what the last jump left */
	storm_ns += 61000000000;
	append_in_storm();
	take_all();
	assert_int_equal(reader.delivered, m->p.written);
	close_storm_books();
	assert_true(nested > 0 && healed > 0);
	m->p.busy = 0;
}

/* What was committed before a SIGKILL is there; nothing else is. */
static void killed_producers_leave_whole_records(void **state)
{
	for (int round = 0; round < 40; round++) {
		int64_t seen = 0, got;
		pid_t child;

		fresh(state);
		child = fork();
		if (child == 0)
			for (uint64_t n = 0;;)
				n += append(n) == WEFT_RING_WRITTEN;
		for (int i = 0; i < 200 + round * 20; i++) {
			while ((got = take()) != -1)
				assert_int_equal(got, seen++);
			ring_reader_release(&reader);
		}
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		while ((got = take()) != -1)
			assert_int_equal(got, seen++);
		assert_int_equal(reader.tail, m->p.head);
		assert_true(m->p.written >= (uint64_t)seen && m->p.written <= (uint64_t)seen + 1);
	}
}

static void liars_are_not_believed(void **state)
{
	static const uint32_t lengths[] = {0, 1, 7, 12, 20, RING + 8, UINT32_MAX, UINT32_MAX - 7};
	static _Alignas(8) uint8_t out[RING];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		fresh(state);
		append(0);
		((struct weft_record *)(void *)m->data)->bytes = lengths[i];
		assert_int_equal(ring_reader_next(&reader, out, sizeof(out)), -EPROTO);
		assert_int_equal(append(1), WEFT_RING_WRITTEN);
		assert_int_equal(take(), 1); /* and goes on */
	}
	fresh(state);
	m->p.head = UINT64_MAX - 7;
	assert_int_equal(ring_reader_next(&reader, out, sizeof(out)), -EPROTO);
	fresh(state);
	m->p.head = RING + 8;
	assert_int_equal(ring_reader_next(&reader, out, sizeof(out)), -EPROTO);
	fresh(state);
	append(100);
	assert_int_equal(ring_reader_next(&reader, out, 16), -EMSGSIZE);
	assert_int_equal(ring_reader_next(&reader, out, 16), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(records_wrap_with_pads, fresh),
		cmocka_unit_test_setup(a_full_ring_refuses, fresh),
		cmocka_unit_test_setup(the_longest_record_always_fits, fresh),
		cmocka_unit_test_setup(a_tail_beyond_head_is_full, fresh),
		cmocka_unit_test_setup(a_pad_counts_as_use, fresh),
		cmocka_unit_test_setup(nested_and_abandoned_are_told_apart, fresh),
		cmocka_unit_test_setup(who_was_taken_over_does_no_harm, fresh),
		cmocka_unit_test_setup(nor_at_the_end_of_the_ring, fresh),
		cmocka_unit_test_setup(left_for_good_is_healed_at_once, fresh),
		cmocka_unit_test_setup(a_commit_left_halfway_is_settled, fresh),
		cmocka_unit_test_setup(signals_tear_nothing, fresh),
		cmocka_unit_test_setup(killed_producers_leave_whole_records, fresh),
		cmocka_unit_test_setup(liars_are_not_believed, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
