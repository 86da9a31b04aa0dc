/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's thread record: its bytes, what goes out and what is left out, the pointer, and
 * what a thread stopped at any instruction of a write shows.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "otel_labels.h"
#include "runtime/otel/otel_private.h"
#include "unit.h"

extern __thread struct weft_otel_record *otel_thread_ctx_v1;

static const uint8_t trace_id[16] = {0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
				     0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c};
#define SPAN UINT64_C(0xb7ad6b7169203331)
#define ROOT UINT64_C(0x00f067aa0ba902b7)

static struct weft_slot *slot;

static struct weft_otel_record *record(void)
{
	return (struct weft_otel_record *)(void *)slot->otel_record;
}

static void write_context(uint64_t span, uint64_t root, const uint8_t *trace, uint32_t flags)
{
	struct weft_context c = {.span_id = span, .root_span_id = root, .trace_flags = flags};

	if (trace)
		memcpy(c.trace_id, trace, sizeof(c.trace_id));
	weft_context_write(&c);
	weft_otel_sync(slot, WEFT_CHANGED_IDS);
}

static int setup(void **state)
{
	(void)state;
	slot = weft_thread_own_slot();
	assert_non_null(slot);
	weft_context_clear();
	weft_otel_withdraw(slot);
	memset(&slot->otel, 0, sizeof(slot->otel));
	hand_made(slot);
	return 0;
}

/* As another writer's thread had it in memory. */
static void bytes_of_a_record(void **state)
{
	static const uint8_t expected[28 + 36] =
		"\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c"
		"\xb7\xad\x6b\x71\x69\x20\x33\x31\x01\x01\x24\x00"
		"\x00\x10"
		"00f067aa0ba902b7"
		"\x01\x0a/items/:id\x02\x04"
		"acme";
	struct hand_made *h = hand_made(slot);

	(void)state;
	hand_made_label(h, "http.route", "/items/:id");
	hand_made_label(h, "tenant", "acme");
	assert_null(otel_thread_ctx_v1);
	write_context(SPAN, ROOT, trace_id, 1);
	assert_ptr_equal(otel_thread_ctx_v1, record());
	assert_int_equal((uintptr_t)record() % 2, 0);
	assert_memory_equal(record(), expected, sizeof(expected));
	assert_string_equal(weft_otel_key_at(0)->text, WEFT_OTEL_ROOT_KEY);
	assert_string_equal(weft_otel_key_at(1)->text, "http.route");
}

static void both_ids_or_neither(void **state)
{
	static const uint8_t none[24];
	struct hand_made *h = hand_made(slot);

	(void)state;
	hand_made_label(h, "tenant", "acme");
	weft_otel_sync(slot, WEFT_CHANGED_ALL);
	write_context(SPAN, 0, NULL, 1);
	assert_memory_equal(record(), none, 24);
	assert_int_equal(record()->trace_flags, 0);
	assert_int_equal(record()->valid, 1);
	assert_int_equal(record()->attributes_bytes, 6);
	write_context(0, 0, trace_id, 1);
	assert_memory_equal(record(), none, 24);
	write_context(SPAN, 0, trace_id, 0);
	assert_memory_equal(record(), trace_id, 16);
	assert_memory_equal(record()->span_id, "\xb7\xad\x6b\x71\x69\x20\x33\x31", 8);
	assert_int_equal(record()->trace_flags, 0);
}

/* Who knows but the 64 bytes of v1 leaves the trace id of other ids behind. */
static void the_trace_of_other_ids_is_not_shown(void **state)
{
	static const uint8_t none[16];

	(void)state;
	write_context(SPAN, ROOT, trace_id, 1);
	assert_memory_equal(record(), trace_id, 16);
	weft_context_set(SPAN + 1, ROOT);
	weft_otel_sync(slot, WEFT_CHANGED_IDS);
	assert_memory_equal(record(), none, 16);
	assert_memory_equal(record()->span_id, none, 8);
	assert_memory_equal(record()->attributes + 2, "00f067aa0ba902b7", 16);
	weft_context_set(SPAN, ROOT);
	weft_otel_sync(slot, WEFT_CHANGED_IDS);
	assert_memory_equal(record(), trace_id, 16);
}

static void the_root_comes_and_goes(void **state)
{
	struct hand_made *h = hand_made(slot);
	char hex[17];

	(void)state;
	hand_made_label(h, "tenant", "acme");
	write_context(SPAN, 0, trace_id, 1);
	assert_memory_equal(record()->attributes,
			    "\x02\x04"
			    "acme",
			    6);
	for (int bit = 0; bit < 64; bit++) {
		uint64_t root = (UINT64_C(0x123456789ABCDEF0) >> bit) | UINT64_C(1) << bit;

		write_context(SPAN, root, trace_id, 1);
		snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)root);
		assert_int_equal(record()->attributes_bytes, 18 + 6);
		assert_memory_equal(record()->attributes, "\x00\x10", 2);
		assert_memory_equal(record()->attributes + 2, hex, 16);
		assert_memory_equal(record()->attributes + 18,
				    "\x02\x04"
				    "acme",
				    6);
	}
	write_context(SPAN, 0, trace_id, 1);
	assert_int_equal(record()->attributes_bytes, 6);
	assert_memory_equal(record()->attributes,
			    "\x02\x04"
			    "acme",
			    6);
}

/* A write of ids does not look at labels: whoever says so must say what changed. */
static void ids_alone_leave_labels(void **state)
{
	struct hand_made *h = hand_made(slot);

	(void)state;
	hand_made_label(h, "tenant", "acme");
	weft_otel_sync(slot, WEFT_CHANGED_ALL);
	hand_made_label(h, "http.route", "/");
	write_context(SPAN, 0, trace_id, 1);
	assert_int_equal(record()->attributes_bytes, 6);
	weft_otel_sync(slot, WEFT_CHANGED_LABELS);
	assert_int_equal(record()->attributes_bytes, 9);
}

static uint64_t left_out(void)
{
	return slot->counters[WEFT_COUNTER_OTEL_LEFT_OUT];
}

static void what_does_not_fit_is_left_out(void **state)
{
	static char long_value[256];
	struct hand_made *h = hand_made(slot);
	uint64_t before = left_out();

	(void)state;
	memset(long_value, 'v', sizeof(long_value));
	hand_made_bytes(h, "a", long_value, 255); /* 257 */
	hand_made_bytes(h, "b", long_value, 255); /* 514 */
	hand_made_bytes(h, "c", long_value, 255); /* does not fit */
	hand_made_bytes(h, "d", long_value, 78);  /* 594: to the last byte, beside the root */
	hand_made_bytes(h, "e", "", 0);           /* nor this one */
	weft_otel_sync(slot, WEFT_CHANGED_ALL);
	assert_int_equal(record()->attributes_bytes, 594);
	assert_int_equal(left_out() - before, 2);
	write_context(SPAN, ROOT, trace_id, 1);
	assert_int_equal(record()->attributes_bytes, 612);
	assert_int_equal(record()->attributes[18 + 514 + 1], 78);
	weft_otel_sync(slot, WEFT_CHANGED_LABELS); /* counted once */
	assert_int_equal(left_out() - before, 2);
	assert_int_equal(record()->attributes_bytes, 612);
}

static void what_is_no_text_is_left_out(void **state)
{
	static char long_value[256];
	struct hand_made *h = hand_made(slot);
	uint64_t before = left_out();

	(void)state;
	memset(long_value, 'v', sizeof(long_value));
	hand_made_label(h, "bad", "caf\xe9");
	hand_made_label(h, "tenant", "caf\xc3\xa9");
	hand_made_bytes(h, "long", long_value, 256);
	hand_made_label(h, "bad key \xff", "x");
	hand_made_label(h, NULL, "absent");
	hand_made_label(h, "http.route", "");
	weft_otel_sync(slot, WEFT_CHANGED_ALL);
	assert_int_equal(record()->attributes_bytes, 7 + 2);
	assert_memory_equal(record()->attributes,
			    "\x02\x05"
			    "caf\xc3\xa9\x01\x00",
			    9);
	assert_int_equal(left_out() - before, 3);
}

/* The place of a label keeps the index of another key. */
static void keys_that_change_places(void **state)
{
	struct hand_made *h = hand_made(slot);

	(void)state;
	hand_made_label(h, "tenant", "1");
	hand_made_label(h, "http.route", "2");
	weft_otel_sync(slot, WEFT_CHANGED_ALL);
	assert_memory_equal(record()->attributes,
			    "\x02\x01"
			    "1\x01\x01"
			    "2",
			    6);
	h = hand_made(slot);
	hand_made_label(h, "http.route", "2");
	hand_made_label(h, "tenant", "1");
	weft_otel_sync(slot, WEFT_CHANGED_LABELS);
	assert_memory_equal(record()->attributes,
			    "\x01\x01"
			    "2\x02\x01"
			    "1",
			    6);
}

static void withdrawn(void **state)
{
	(void)state;
	write_context(SPAN, ROOT, trace_id, 1);
	weft_otel_withdraw(slot);
	assert_null(otel_thread_ctx_v1);
	assert_int_equal(record()->valid, 0);
	write_context(SPAN, ROOT, trace_id, 1);
	assert_ptr_equal(otel_thread_ctx_v1, record());
	assert_int_equal(record()->valid, 1);
}

/* A longjmp out of a write left valid at 0 and the notes at odds with the record. */
static void an_abandoned_write_is_made_whole(void **state)
{
	struct hand_made *h = hand_made(slot);

	(void)state;
	hand_made_label(h, "tenant", "acme");
	write_context(SPAN, ROOT, trace_id, 1);
	record()->valid = 0;
	memset(record()->attributes, 0xEE, 30);
	write_context(SPAN, ROOT, trace_id, 1);
	assert_int_equal(record()->valid, 1);
	assert_int_equal(record()->attributes_bytes, 24);
	assert_memory_equal(record()->attributes,
			    "\x00\x10"
			    "00f067aa0ba902b7\x02\x04"
			    "acme",
			    24);
}

static void *with_a_strangers_record(void *arg)
{
	static struct weft_otel_record strangers;
	struct weft_slot *mine = weft_thread_own_slot();

	otel_thread_ctx_v1 = &strangers;
	weft_otel_sync(mine, WEFT_CHANGED_ALL);
	weft_otel_sync(mine, WEFT_CHANGED_IDS);
	assert_ptr_equal(otel_thread_ctx_v1, &strangers);
	otel_thread_ctx_v1 = NULL; /* it comes and goes: still that library's thread */
	weft_otel_sync(mine, WEFT_CHANGED_ALL);
	weft_otel_withdraw(mine);
	assert_null(otel_thread_ctx_v1);
	assert_int_equal(mine->counters[WEFT_COUNTER_OTEL_FOREIGN], 1);
	return arg;
}

static void a_strangers_pointer_stays(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, with_a_strangers_record, NULL), 0);
	pthread_join(thread, NULL);
}

/* ---- every instruction of a write */

#define STEPS_MAX 400000
static struct weft_otel_record states[2]; /* before and after; made by the child */
static struct weft_otel_record *volatile shown;
static int volatile begun;

static void change(int n)
{
	struct hand_made *h = hand_made(slot);

	hand_made_label(h, "tenant", n ? "a much longer tenant" : "acme");
	if (n)
		hand_made_label(h, "http.route", "/items/:id");
	write_context(SPAN + (uint64_t)n, n ? ROOT : 0, trace_id, 1);
	weft_otel_sync(slot, WEFT_CHANGED_LABELS);
}

/* Twice as a whole, so that both states are known; then once more, step by step. */
static void be_stepped(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (int n = 0; n < 2; n++) {
		change(n);
		states[n] = *record();
	}
	change(0);
	shown = record();
	raise(SIGSTOP);
	begun = 1;
	{
		struct hand_made *h = hand_made(slot);
		struct weft_context c = {
			.span_id = SPAN + 1, .root_span_id = ROOT, .trace_flags = 1};

		hand_made_label(h, "tenant", "a much longer tenant");
		hand_made_label(h, "http.route", "/items/:id");
		memcpy(c.trace_id, trace_id, sizeof(trace_id));
		weft_context_write(&c);
		weft_otel_sync(slot, WEFT_CHANGED_ALL);
	}
	begun = 2;
	_exit(0);
}

static long peek(pid_t pid, void *to, const volatile void *from, size_t bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

static size_t whole(const struct weft_otel_record *r)
{
	return (size_t)WEFT_OTEL_ATTRIBUTES_AT + r->attributes_bytes;
}

static int is(const struct weft_otel_record *r, const struct weft_otel_record *state)
{
	return r->attributes_bytes == state->attributes_bytes && !memcmp(r, state, whole(state));
}

/* Old, then nothing or old, then new; never a mix. */
static void stopped_anywhere_it_is_whole(void **state)
{
	struct weft_otel_record before, after, now;
	long steps = 0, old_seen = 0, new_seen = 0, none_seen = 0;
	struct weft_otel_record *at;
	int status, phase = 0;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		slot = weft_thread_own_slot(); /* the child's */
		weft_otel_after_fork();
		be_stepped();
	}
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status) ||
	    peek(pid, &before, &states[0], sizeof(before)) < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		skip(); /* an emulator knows no ptrace */
	}
	peek(pid, &after, &states[1], sizeof(after));
	peek(pid, (void *)&at, &shown, sizeof(at));
	while (phase < 2 && steps < STEPS_MAX && !ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) &&
	       waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		peek(pid, &phase, &begun, sizeof(phase));
		if (phase != 1)
			continue;
		steps++;
		peek(pid, &now, at, sizeof(now));
		if (now.valid != 1) {
			none_seen++;
			continue;
		}
		old_seen += is(&now, &before);
		new_seen += is(&now, &after);
		assert_true(is(&now, &before) || is(&now, &after));
		assert_false(new_seen && is(&now, &before));
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (!steps)
		skip();
	print_message("%ld steps: %ld old, %ld none, %ld new\n", steps, old_seen, none_seen,
		      new_seen);
	assert_true(old_seen > 0 && none_seen > 0 && new_seen > 0);
}

/* The sampling decision came late: one byte, and the record is never not valid. */
static void flags_alone(void **state)
{
	struct hand_made *h = hand_made(slot);
	uint8_t before[28 + 24];

	(void)state;
	hand_made_label(h, "tenant", "acme");
	write_context(SPAN, ROOT, trace_id, 0);
	weft_otel_sync(slot, WEFT_CHANGED_ALL);
	memcpy(before, record(), sizeof(before));
	weft_context_set_trace_flags(1);
	assert_int_equal(slot->ext.trace_flags, 1);
	weft_otel_sync(slot, WEFT_CHANGED_FLAGS);
	assert_int_equal(record()->trace_flags, 1);
	before[25] = 1;
	assert_memory_equal(record(), before, sizeof(before));
	/* other ids have come meanwhile: all of it is written */
	record()->span_id[0] ^= 1;
	weft_otel_sync(slot, WEFT_CHANGED_FLAGS);
	assert_memory_equal(record(), before, sizeof(before));
	weft_context_set(7, 8); /* no trace id: no flags */
	weft_otel_sync(slot, WEFT_CHANGED_IDS);
	weft_context_set_trace_flags(1);
	weft_otel_sync(slot, WEFT_CHANGED_FLAGS);
	assert_int_equal(record()->trace_flags, 0);
}

static int begin(void **state)
{
	(void)state;
	unsetenv("OTEL_RESOURCE_ATTRIBUTES");
	if (weft_otel_begin())
		return -1;
	/* in this order */
	return weft_otel_key("http.route", 10) != 1 || weft_otel_key("tenant", 6) != 2;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(bytes_of_a_record, setup),
		cmocka_unit_test_setup(both_ids_or_neither, setup),
		cmocka_unit_test_setup(the_trace_of_other_ids_is_not_shown, setup),
		cmocka_unit_test_setup(the_root_comes_and_goes, setup),
		cmocka_unit_test_setup(ids_alone_leave_labels, setup),
		cmocka_unit_test_setup(flags_alone, setup),
		cmocka_unit_test_setup(what_does_not_fit_is_left_out, setup),
		cmocka_unit_test_setup(what_is_no_text_is_left_out, setup),
		cmocka_unit_test_setup(keys_that_change_places, setup),
		cmocka_unit_test_setup(withdrawn, setup),
		cmocka_unit_test_setup(an_abandoned_write_is_made_whole, setup),
		cmocka_unit_test_setup(a_strangers_pointer_stays, setup),
		cmocka_unit_test_setup(stopped_anywhere_it_is_whole, setup),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
