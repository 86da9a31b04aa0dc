/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CPU-time timer per thread, by raw system calls: it ticks only while its thread runs,
 * so it never wakes a sleeping call, and exec flushes it.
 *
 * sigval says whose it is: cookie, generation and index of the slot; generation 0
 * (WEFT_SIGVAL_ADOPTED) for a thread that had no slot when its timer was made. The first
 * tick comes after a part of a period that differs from thread to thread: threads that live
 * shorter than a period are sampled in proportion, too.
 *
 * timers_armed in the header counts all; the collector's budget bounds it, because
 * RLIMIT_SIGPENDING is shared by all of a user's processes.
 */
#include "runtime/sampler.h"

#include <fcntl.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/sys.h"

#define THREAD_CPU_CLOCK(tid) ((int32_t)((~(uint32_t)(tid) << 3) | 6u))
#define NOTIFY_THREAD_ID 4
#define NOTIFY_SIGNAL 0
#define DIRENT_BYTES 4096

struct kernel_dirent {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static int32_t process_timer = -1;
static _Alignas(8) char dirents[DIRENT_BYTES]; /* used by whoever begins the session */

static int budget_allows(void)
{
	uint32_t *armed = &weft_rt.header->timers_armed;
	uint32_t budget = __atomic_load_n(&weft_rt.header->timer_budget, __ATOMIC_RELAXED);

	if (__atomic_add_fetch(armed, 1, __ATOMIC_RELAXED) <= budget)
		return 1;
	__atomic_fetch_sub(armed, 1, __ATOMIC_RELAXED);
	return 0;
}

void weft_timer_delete(int32_t timer_id)
{
	if (timer_id >= 0 && !sys_call1(SYS_timer_delete, timer_id))
		__atomic_fetch_sub(&weft_rt.header->timers_armed, 1, __ATOMIC_RELAXED);
}

static uint64_t period_ns(void)
{
	uint64_t ns = __atomic_load_n(&weft_rt.header->period_ns, __ATOMIC_RELAXED);

	return ns < 10000 ? 10000 : ns;
}

static int start(int32_t timer_id, uint64_t first_ns, uint64_t every_ns)
{
	struct itimerspec spec = {
		.it_value = {.tv_sec = (time_t)(first_ns / 1000000000u),
			     .tv_nsec = (long)(first_ns % 1000000000u)},
		.it_interval = {.tv_sec = (time_t)(every_ns / 1000000000u),
				.tv_nsec = (long)(every_ns % 1000000000u)},
	};

	return (int)sys_call4(SYS_timer_settime, timer_id, 0, &spec, NULL);
}

/* A timer on the CPU time of @tid, or -1. */
static int32_t arm(int32_t tid, uint64_t value)
{
	struct sys_sigevent event = {
		.value = value, .signo = SIGPROF, .notify = NOTIFY_THREAD_ID, .tid = tid};
	uint64_t every_ns = period_ns();
	uint64_t first_ns = 1 + hash_mix(clock_monotonic_ns() ^ (uint64_t)tid << 40) % every_ns;
	int32_t timer_id = -1;

	if (!budget_allows())
		return -1;
	if (sys_call3(SYS_timer_create, THREAD_CPU_CLOCK(tid), &event, &timer_id)) {
		__atomic_fetch_sub(&weft_rt.header->timers_armed, 1, __ATOMIC_RELAXED);
		return -1;
	}
	if (start(timer_id, first_ns, every_ns)) {
		weft_timer_delete(timer_id);
		return -1;
	}
	return timer_id;
}

static int engine_is_on(void)
{
	return weft_rt_run_state() == WEFT_RUN_RECORDING &&
	       (__atomic_load_n(&weft_rt.header->engines, __ATOMIC_RELAXED) & WEFT_ENGINE_CPU);
}

void weft_timer_arm(struct weft_slot *slot)
{
	uint64_t value;

	if (!engine_is_on() || slot->thread.timer_id >= 0)
		return;
	value = WEFT_SIGVAL(weft_rt.cookie, slot->thread.generation, weft_rt_index(slot));
	slot->thread.timer_id = arm(slot->thread.tid, value);
	if (slot->thread.timer_id < 0) {
		slot->thread.flags |= WEFT_SLOT_NO_TIMER;
		weft_slot_count(slot, WEFT_COUNTER_THREADS_NO_TIMER, 1);
	}
}

void weft_timer_disarm(struct weft_slot *slot)
{
	int32_t timer_id = __atomic_exchange_n(&slot->thread.timer_id, -1, __ATOMIC_RELAXED);

	weft_timer_delete(timer_id);
}

static int32_t parse_tid(const char *name)
{
	int32_t tid = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		tid = tid * 10 + (*name - '0');
	return *name ? 0 : tid;
}

/* A thread that a hook has seen meanwhile has its own. */
static int has_timer(int32_t tid)
{
	uint32_t high = __atomic_load_n(&weft_rt.header->slots_high, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < high && i < weft_rt.slot_count; i++) {
		uint64_t word = __atomic_load_n(&weft_rt.states[i], __ATOMIC_ACQUIRE);

		if (WEFT_STATE_OF(word) == WEFT_SLOT_LIVE && weft_rt_slot(i)->thread.tid == tid)
			return 1;
	}
	return 0;
}

static void adopt(int32_t tid)
{
	if (has_timer(tid))
		return;
	if (arm(tid, WEFT_SIGVAL(weft_rt.cookie, WEFT_SIGVAL_ADOPTED, 0)) < 0)
		weft_rt_count(WEFT_COUNTER_THREADS_NO_TIMER, 1);
}

static void adopt_listed(const char *list, long bytes, int32_t self)
{
	for (long at = 0; at < bytes;) {
		const struct kernel_dirent *entry = (const void *)(list + at);
		int32_t tid = parse_tid(entry->name);

		if (tid > 0 && tid != self)
			adopt(tid);
		at += entry->bytes;
	}
}

void weft_timer_adopt_threads(void)
{
	long fd, bytes;

	if (!engine_is_on())
		return;
	fd = sys_call4(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		       0);
	if (fd < 0)
		return;
	while ((bytes = sys_call3(SYS_getdents64, fd, dirents, sizeof(dirents))) > 0)
		adopt_listed(dirents, bytes, sys_gettid());
	sys_call1(SYS_close, fd);
}

int weft_timer_arm_process(void)
{
	struct sys_sigevent event = {.value = WEFT_SIGVAL(weft_rt.cookie, 0, 0),
				     .signo = SIGPROF,
				     .notify = NOTIFY_SIGNAL};
	long failed = sys_call3(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, &event, &process_timer);

	return failed ? (int)failed : start(process_timer, 1000000, 0);
}

void weft_timer_disarm_process(void)
{
	if (process_timer >= 0)
		sys_call1(SYS_timer_delete, process_timer);
	process_timer = -1;
}
