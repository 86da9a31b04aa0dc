/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that exist before the engine starts. One that has a slot gets its timer here. One that
 * has none, and keeps running for a while, gets the priming signal, claims a slot and arms its
 * timer itself: so it is primed before its first sample. A thread that sleeps, or blocks the
 * signal, must not be signalled; nor one that waits for a CPU, because it may be in a call from
 * which it was just woken. Its timer is made here (WEFT_SIGVAL_ADOPTED), and the handler of its
 * first tick claims. The same is done for threads found later that cannot be signalled
 * (WEFT_ORDER_ADOPT).
 *
 * These timers are kept in a table until the engine stops, because nothing else knows of them
 * before their first tick. The kernel does not reuse a timer's number: an entry may outlive its
 * timer. Writer: whoever starts or stops the engine, or holds `at_work`; threads that arm a timer
 * of their own only remove theirs.
 */
#include <string.h>

#include "base/platform.h"
#include "runtime/core/decimal.h"
#include "runtime/core/sys.h"
#include "runtime/sample/clock.h"
#include "runtime/sample/sample.h"

#define ROOM_BYTES 4096
#define STATUS_BYTES 4096
#define STEADY_NS 2000000
#define RAN_NS 1000000 /* of CPU time in between: the thread computes */
#define SPARE_ENTRIES 64

struct adopted {
	int32_t tid, timer_id;
	uint64_t waits, cpu_ns; /* of one to be signalled: the number of its sleeps, its CPU time */
};

static struct adopted *table;
static uint32_t capacity, count;
static uint32_t at_work;
/* entries at the table's end, while threads are examined */
static uint32_t runners;
static WEFT_LARGE _Alignas(8) char room[ROOM_BYTES]; /* used by whoever starts the engine */
static WEFT_LARGE char status[STATUS_BYTES];         /* likewise */
static WEFT_LARGE uint16_t slot_hints[65536]; /* by the low bits of a tid: 1 + its slot, a hint */
/* likewise: was counted without a timer, and may still claim a slot */
static WEFT_LARGE uint64_t untimed[65536 / 64];

static int belongs_to(uint32_t index, int32_t tid)
{
	uint64_t word = load_acquire(&weft_rt.states[index]);

	return WEFT_STATE_OF(word) == WEFT_SLOT_LIVE && weft_rt_slot(index)->thread.tid == tid;
}

static int has_slot(int32_t tid)
{
	uint32_t hint = slot_hints[tid & 0xFFFF];

	if (!hint) /* also for slot 65535: then the thread counts as one without */
		return 0;
	if (hint <= weft_rt_slots_high() && belongs_to(hint - 1, tid))
		return 1;
	for (uint32_t i = 0; i < weft_rt_slots_high(); i++)
		if (belongs_to(i, tid))
			return 1;
	return 0;
}

static long read_status(int32_t tid)
{
	char path[16 + DECIMAL_BYTES] = "/proc/self/task/", *at = path + 16;

	at += decimal_write((unsigned char *)at, (uint32_t)tid);
	memcpy(at, "/status", sizeof("/status"));
	return sys_read_file(path, status, sizeof(status));
}

/* The value of the field called @name at the line's beginning, or NULL. */
static const char *adopt_field(const char *name, size_t bytes)
{
	const char *at = status;

	while (*at && memcmp(at, name, bytes)) {
		while (*at && *at != '\n')
			at++;
		at += *at == '\n';
	}
	return *at ? at + bytes : NULL;
}

/* "SigQ: 0/96365": can another signal be queued? If not, it would come without its value. */
static int has_room_for_signals(void)
{
	const char *at = adopt_field("SigQ:\t", 6);
	uint64_t queued = at ? number_parse(&at, 10) : 0;

	return at && *at++ == '/' && queued < number_parse(&at, 10);
}

/* Is it running, and would the signal be delivered at once? *waits: how often it has slept. */
static int would_take(int32_t tid, int signo, uint64_t *waits)
{
	const char *state, *blocked, *switches;

	if (read_status(tid) <= 0)
		return 0;
	state = adopt_field("State:\t", 7);
	blocked = adopt_field("SigBlk:\t", 8);
	switches = adopt_field("voluntary_ctxt_switches:\t", 25);
	if (!state || *state != 'R' || !blocked || !switches || !has_room_for_signals())
		return 0;
	*waits = number_parse(&switches, 10);
	return !(number_parse(&blocked, 16) >> (signo - 1) & 1);
}

/* The signals that it blocks; all, if that cannot be read. */
static uint64_t adopt_mask_of(int32_t tid)
{
	const char *blocked = read_status(tid) > 0 ? adopt_field("SigBlk:\t", 8) : NULL;

	return blocked ? number_parse(&blocked, 16) : SYS_SIGNALS_ALL;
}

/* The owner may end at this moment. */
static void arm_for(struct weft_slot *slot)
{
	if (load_relaxed(&slot->thread.timer_id) >= 0)
		return;
	if (weft_clock_is_possible(0))
		weft_clock_open(slot, adopt_mask_of(slot->thread.tid));
	weft_timer_make_for(slot);
}

/* A thread with a slot is known before it is listed. */
static void note_slots(int are_armed)
{
	for (uint32_t i = 0; i < weft_rt_slots_high(); i++) {
		struct weft_slot *slot = weft_rt_live_slot(i);

		if (!slot)
			continue;
		slot_hints[slot->thread.tid & 0xFFFF] = (uint16_t)(i + 1);
		if (are_armed)
			arm_for(slot);
	}
}

static uint64_t adopt_bit_of(int32_t tid)
{
	return UINT64_C(1) << (tid & 63);
}

static void note_untimed(int32_t tid)
{
	if (!(__atomic_fetch_or(&untimed[(tid & 0xFFFF) / 64], adopt_bit_of(tid),
				__ATOMIC_RELAXED) &
	      adopt_bit_of(tid)))
		weft_rt_count(WEFT_COUNTER_THREADS_NO_TIMER, 1);
}

int weft_adopt_was_untimed(int32_t tid)
{
	return (__atomic_fetch_and(&untimed[(tid & 0xFFFF) / 64], ~adopt_bit_of(tid),
				   __ATOMIC_RELAXED) &
		adopt_bit_of(tid)) != 0;
}

static void adopt_adopt(int32_t tid)
{
	int32_t timer_id = -1;

	if (count < capacity)
		timer_id =
			weft_timer_make(tid, WEFT_SIGVAL(weft_rt.cookie, WEFT_SIGVAL_ADOPTED, 0));
	if (timer_id < 0) {
		note_untimed(tid);
		return;
	}
	table[count] = (struct adopted){.tid = tid, .timer_id = timer_id};
	store_release(&count, count + 1);
}

/* It is running; what it does a moment later decides. */
static int adopt_note(int32_t tid, uint64_t waits)
{
	if (count + runners >= capacity)
		return 0;
	table[capacity - ++runners] = (struct adopted){.tid = tid,
						       .timer_id = -1,
						       .waits = waits,
						       .cpu_ns = sys_clock_ns(SYS_CPU_CLOCK(tid))};
	return 1;
}

static int adopt_look_at(void *arg, int32_t tid)
{
	int signo = weft_prime_signal();
	uint64_t waits;

	if (tid == *(const int32_t *)arg || has_slot(tid))
		return 0;
	if (!signo || !would_take(tid, signo, &waits) || !adopt_note(tid, waits))
		adopt_adopt(tid);
	return 0;
}

/*
 * A thread that runs may go to sleep before the signal arrives, and its call would end early; most
 * that have run for some microseconds will. One that waits for a CPU may still be in a call. So a
 * thread must have kept running on a CPU for a while, which is waited once for all of them.
 */
static void signal_those_that_run_on(void)
{
	const struct timespec steady = {.tv_nsec = STEADY_NS};
	int signo = weft_prime_signal();

	if (runners)
		sys_call2(SYS_nanosleep, &steady, NULL);
	for (; runners; runners--) {
		struct adopted runner = table[capacity - runners];
		uint64_t waits;

		if (!would_take(runner.tid, signo, &waits) || waits != runner.waits ||
		    sys_clock_ns(SYS_CPU_CLOCK(runner.tid)) - runner.cpu_ns < RAN_NS ||
		    weft_prime_send(runner.tid, WEFT_ORDER_PRIME))
			adopt_adopt(runner.tid);
	}
}

/* A thread may still be reading an older, smaller table; a timer that it removes there is deleted
 * twice, which the kernel refuses. */
static void make_room_for(uint64_t threads)
{
	uint64_t entries = threads * 2 + SPARE_ENTRIES;
	long at;

	if (entries <= capacity)
		return;
	at = sys_map_memory(entries * sizeof(*table));
	if (sys_is_error(at))
		return;
	weft_area_add((const void *)at, entries * sizeof(*table));
	if (count)
		memcpy((struct adopted *)at, table, count * sizeof(*table));
	store_release(&table, (struct adopted *)at);
	capacity = (uint32_t)entries;
}

static void adopt_all(void)
{
	int32_t self = sys_gettid();
	int threads;

	note_slots(1);
	threads = platform_threads_count(0);
	if (threads <= 1)
		return;
	make_room_for((uint64_t)threads);
	platform_threads_enumerate(0, room, sizeof(room), adopt_look_at, &self);
	signal_those_that_run_on();
}

void weft_adopt_threads(void)
{
	if (!weft_timer_is_wanted())
		return;
	while (__atomic_exchange_n(&at_work, 1, __ATOMIC_ACQUIRE))
		sys_call0(SYS_sched_yield);
	adopt_all();
	store_release(&at_work, 0);
}

static int is_adopted(int32_t tid)
{
	for (uint32_t i = 0; i < count; i++)
		if (table[i].tid == tid && load_relaxed(&table[i].timer_id) >= 0)
			return 1;
	return 0;
}

static int adopt_if_alone(void *arg, int32_t tid)
{
	(void)arg;
	if (!has_slot(tid) && !is_adopted(tid))
		adopt_adopt(tid);
	return 0;
}

static void adopt_the_rest(void)
{
	int threads = platform_threads_count(0);

	if (threads <= 1)
		return;
	note_slots(0);
	make_room_for((uint64_t)threads + count);
	platform_threads_enumerate(0, room, sizeof(room), adopt_if_alone, NULL);
}

/* Excludes starts and stops of the engine, which wait for this call, and this one not for them: so
 * no timer is left that nobody knows of. */
void weft_adopt_more(void)
{
	uint64_t mask;

	if (!weft_timer_is_wanted() || weft_rt_is_careful() || !weft_engine_enter())
		return;
	mask = sys_signals_block(SYS_SIGNALS_ALL);
	if (!__atomic_exchange_n(&at_work, 1, __ATOMIC_ACQUIRE)) {
		adopt_the_rest();
		store_release(&at_work, 0);
	}
	sys_signals_restore(mask);
	if (!weft_engine_leave())
		weft_adopt_delete_all(); /* the stop did not wait any longer */
}

static void adopt_take_out(struct adopted *entry)
{
	weft_timer_delete(__atomic_exchange_n(&entry->timer_id, -1, __ATOMIC_RELAXED));
}

void weft_adopt_remove(int32_t tid)
{
	uint32_t n = load_acquire(&count);
	struct adopted *entries = load_acquire(&table);

	for (uint32_t i = 0; i < n; i++)
		if (entries[i].tid == tid)
			adopt_take_out(&entries[i]);
}

void weft_adopt_delete_all(void)
{
	for (uint32_t i = 0; i < count; i++)
		adopt_take_out(&table[i]);
	store_release(&count, 0);
}

void weft_adopt_forget(void)
{
	store_release(&at_work, 0);
	store_release(&count, 0);
}
