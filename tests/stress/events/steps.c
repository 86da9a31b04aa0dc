/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event-steps [--caught]
 *
 * Typed events, instruction by instruction (trap flag). At each instruction of an event's begin,
 * end and commit, of a span and of a coroutine's switch a handler commits events of its own, opens
 * and closes contexts, or leaves by longjmp. Then
 *
 *   - each record in the ring is whole, and there are as many as were counted,
 *   - attempted = written + full + nested + left by a longjmp,
 *   - the thread's commits have grown by just what is in the ring and does trigger,
 *   - no context is open that was not before,
 *   - and the thread can commit again at once.
 *
 * --caught turns it round, for a library whose counting is torn: exit 0 if that was found out.
 * x86-64. TAP.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/coro_carry.h>
#include <weft/event.h>

#include "../../own_session.h"
#include "base/ring_consumer.h"

#define TRAP_FLAG UINT64_C(0x100)
#define LEAVES_MOST 200 /* each steps through all that comes before it */
#define MARK UINT64_C(0x5EED5EED00000000)

static struct weft_event_type plain = {
	.name = "steps.Plain",
	WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG},
			  {.name = "b", .kind = WEFT_EVENT_LONG}),
};
static struct weft_event_type text = {
	.name = "steps.Text",
	WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_STRING},
			  {.name = "b", .kind = WEFT_EVENT_LONG}),
};
static struct weft_event_type stacked = {
	.name = "steps.Stacked",
	.flags = WEFT_EVENT_STACK,
	WEFT_EVENT_FIELDS({.name = "a", .kind = WEFT_EVENT_LONG}),
};
static struct weft_event_type context = {.name = "steps.Context", .flags = WEFT_EVENT_CONTEXTUAL};

static struct weft_session_header *session;
static struct weft_slot *slot;
static struct ring_reader reader;
static struct weft_coro coro = {.id = 5, .flags = WEFT_CORO_DETACHED};
static int cases, failures;
static int is_broken; /* a case that does not hold is what is looked for */

static void is(int holds, const char *what, const char *which)
{
	failures += !holds;
	if (is_broken)
		printf("# %s: %s: %s\n", what, which, holds ? "holds" : "does not hold");
	else
		printf("%sok %d - %s: %s\n", holds ? "" : "not ", ++cases, what, which);
}

static void set_trap_flag(int on)
{
	uint64_t flags;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
	flags = on ? flags | TRAP_FLAG : flags & ~TRAP_FLAG;
	__asm__ volatile("pushq %0; popfq" : : "r"(flags) : "memory", "cc");
}

/* ---- what is looked at */

static void act_plain(void)
{
	weft_event_emit(&plain, WEFT_LONG(MARK), WEFT_LONG(~MARK));
}

static void act_text(void)
{
	weft_event_emit(&text, WEFT_STRING("in the ring"), WEFT_LONG(MARK));
}

/* Walked into the ring, or copied: who comes in between finds it in use. */
static void act_walked(void)
{
	session->stack_mode = WEFT_STACK_FP;
	weft_event_emit(&stacked, WEFT_LONG(MARK));
}

static void act_copied(void)
{
	session->stack_mode = WEFT_STACK_RAW;
	weft_event_emit(&stacked, WEFT_LONG(MARK));
}

static void act_context(void)
{
	struct weft_event event;

	weft_event_begin(&event, &context);
	weft_event_end(&event);
	weft_event_commit(&event);
}

static void act_span(void)
{
	struct weft_span span;

	weft_span_begin(&span, "span", 7, 8);
	weft_span_end(&span);
}

/* A coroutine with a context of its own; what is committed on the way goes with it, or not. */
static void act_switch(void)
{
	static struct weft_event event;

	weft_coro_carry_v1.resume(&coro, 2);
	coro.state = WEFT_CTP_RUNNING;
	weft_event_begin(&event, &context);
	weft_coro_carry_v1.suspend(&coro, 3);
	coro.state = WEFT_CTP_SUSPENDED;
	weft_coro_carry_v1.resume(&coro, 4);
	weft_event_cancel(&event);
	weft_coro_carry_v1.suspend(&coro, 5);
}

static const struct {
	const char *name;
	void (*run)(void);
	int leaves; /* may be left by a longjmp */
} acts[] = {
	{"numbers", act_plain, 1},
	{"a string", act_text, 1},
	{"a contextual event", act_context, 1},
	{"a walked stack", act_walked, 1},
	{"a copied stack", act_copied, 1},
	{"a span", act_span, 0},
	{"a coroutine's switches", act_switch, 0},
};

/* ---- what comes in between */

static unsigned long instructions, leave_at;
static uint64_t in_coroutine; /* commits that went with it */
static jmp_buf out;

static void commit_in_handler(void)
{
	struct weft_event event;

	weft_event_begin(&event, &context);
	weft_event_emit(&plain, WEFT_LONG(MARK + 1), WEFT_LONG(~(MARK + 1)));
	weft_event_commit(&event);
}

static void on_trap(int signo)
{
	(void)signo;
	if (++instructions == leave_at)
		siglongjmp(out, 1);
	if (!leave_at)
		commit_in_handler();
}

/* ---- what must hold */

struct books {
	uint64_t attempted, written, lost, switches, commits, records;
};

static struct books look(void)
{
	const uint64_t *c = slot->counters;

	return (struct books){
		.attempted = c[WEFT_COUNTER_EVENTS_ATTEMPTED],
		.written = c[WEFT_COUNTER_EVENTS_WRITTEN],
		.lost = c[WEFT_COUNTER_EVENTS_RING_FULL] + c[WEFT_COUNTER_EVENTS_NESTED],
		.switches = c[WEFT_COUNTER_CORO_SWITCHES],
		.commits = slot->events.commits,
	};
}

static int is_whole(const void *record, int bytes)
{
	const struct weft_event_record *r = record;
	const uint64_t *value = (const void *)(r + 1);

	if (r->record.type == WEFT_RECORD_SWITCH)
		return bytes >= (int)sizeof(struct weft_switch_record);
	if (r->record.type != WEFT_RECORD_EVENT || r->end < r->begin)
		return 0;
	if (r->record.rsv == plain.number)
		return (value[0] == MARK || value[0] == MARK + 1) && value[1] == ~value[0];
	if (r->record.rsv == stacked.number)
		return value[0] == MARK;
	if (r->record.rsv == text.number)
		return !memcmp((const char *)value + 4, "in the ring", 11) && value[2] == MARK;
	return 1;
}

/* -1: one was torn. */
static int64_t drain(void)
{
	static uint64_t record[1024];
	int64_t records = 0;
	int bytes;

	while ((bytes = ring_reader_next(&reader, record, sizeof(record))) > 0) {
		if (!is_whole(record, bytes))
			return -1;
		records++;
	}
	ring_reader_release(&reader);
	return bytes < 0 ? -1 : records;
}

static void begin_case(void)
{
	drain();
	instructions = leave_at = 0;
	in_coroutine = 0;
}

static void check(const char *name, const struct books *before, uint64_t left)
{
	struct books now = look();
	uint64_t written = now.written - before->written;
	uint64_t switches = now.switches - before->switches;
	int64_t records = drain();

	is(records >= 0 && (uint64_t)records == written, name, "as many whole records as counted");
	is(now.attempted - before->attempted == written + now.lost - before->lost + left, name,
	   "books");
	is(now.commits - before->commits + in_coroutine == written - switches, name,
	   "no commit is lost, and none too many");
	is(slot->events.open_contexts == 0, name, "no context is left open");
}

/* A handler of the program at each instruction. */
static void step_through(size_t act)
{
	struct books before;

	begin_case();
	if (acts[act].run == act_switch) {
		memset(&coro, 0, sizeof(coro));
		coro.id = 5;
		coro.flags = WEFT_CORO_DETACHED;
		weft_coro_carry_v1.create(&coro, 1);
	}
	before = look();
	set_trap_flag(1);
	acts[act].run();
	set_trap_flag(0);
	if (acts[act].run == act_switch) { /* what it has gathered, once more on the thread */
		uint64_t own = slot->events.commits;

		weft_coro_carry_v1.resume(&coro, 6);
		in_coroutine = slot->events.commits;
		weft_coro_carry_v1.suspend(&coro, 7);
		is(slot->events.commits == own, acts[act].name, "its commits are its own");
		weft_coro_carry_v1.destroy(&coro, 8);
	}
	printf("# %s: %lu instructions\n", acts[act].name, instructions);
	is(instructions > 100, acts[act].name, "there were instructions enough");
	check(acts[act].name, &before, 0);
}

/* Left at the n-th: then it may be open, and cancel or the next end may not know of it. */
static int leave_and_go_on(size_t act, unsigned long n)
{
	struct books before = look(), now;
	uint64_t left;
	int kept;

	instructions = 0;
	leave_at = n;
	if (!sigsetjmp(out, 1)) {
		set_trap_flag(1);
		acts[act].run();
		set_trap_flag(0);
	}
	leave_at = ~0UL;
	slot->events.open_contexts = 0;
	kept = weft_event_emit(&plain, WEFT_LONG(MARK), WEFT_LONG(~MARK));
	now = look();
	left = (now.attempted - before.attempted) - (now.written - before.written) -
	       (now.lost - before.lost);
	return kept && left <= 1 && drain() >= 0;
}

static void leave_everywhere(size_t act)
{
	unsigned long most = instructions, wrong = 0, stride = 1 + most / LEAVES_MOST;

	for (unsigned long n = 1; n < most; n += stride)
		wrong += !leave_and_go_on(act, n);
	printf("# %s: left at each %lu. of %lu instructions, %lu wrong\n", acts[act].name, stride,
	       most, wrong);
	is(wrong == 0, acts[act].name, "left by a longjmp, and the next goes on");
}

static int begin(void)
{
	struct sigaction action = {.sa_handler = on_trap, .sa_flags = SA_NODEFER};
	struct weft_span span;

	weft_context_set(0, 0);
	slot = weft_thread_slot;
	session = own_session();
	if (!session || !slot)
		return -1;
	__atomic_store_n(&session->run_state, WEFT_RUN_RECORDING, __ATOMIC_RELEASE);
	weft_event_type_enrol(&plain);
	weft_event_type_enrol(&text);
	weft_event_type_enrol(&context);
	weft_event_type_enrol(&stacked);
	session->stack_copy_bytes = 2048;
	weft_span_begin(&span, "first", 1, 1);
	weft_span_end(&span);
	ring_reader_open(&reader, &slot->events_p, &slot->events_c,
			 (const uint8_t *)slot + session->events_offset, session->events_bytes);
	sigaction(SIGTRAP, &action, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	is_broken = argc > 1 && !strcmp(argv[1], "--caught");
	if (begin())
		return 99;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		step_through(i);
		if (acts[i].leaves)
			leave_everywhere(i);
	}
	if (!is_broken) {
		printf("1..%d\n", cases);
		return failures != 0;
	}
	printf("%sok 1 - found out %d times\n1..1\n", failures ? "" : "not ", failures);
	return failures == 0;
}
