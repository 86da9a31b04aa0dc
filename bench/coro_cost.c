/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coro-cost ROUNDS ITERATIONS: what a switch of a coroutine costs its thread, in interleaved
 * rounds. Prints nanoseconds per switch, one per case of coro_cost.h (0 = not measured here).
 *
 * Built twice: by itself the probe writes stations and statistics alone; with libweft (-DLINKED)
 * the coroutine's context goes with it, too. There is no engine: the file is made here, with an
 * anchor for the TSC as an engine keeps it, and nobody reads it. The session's ring is read by
 * the thread itself, which moves the tail up every 64 switches, so that it is never full.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef LINKED
#include <weft/labels.h>
#endif
#include <weft/coro.h>

#include "../tests/own_session.h"
#include "coro_cost.h"
#include "harness.h"

#define STATIONS 64

static struct weft_ctp_header *header;
static struct weft_coro plain;
static struct weft_slot *slot;
#ifdef LINKED
static struct weft_coro labelled;
static struct weft_session_header *session;
#endif

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int make_file(void)
{
	char path[] = "/tmp/coro-cost.XXXXXX";
	size_t bytes = WEFT_CTP_FILE_BYTES(STATIONS);
	int fd = mkstemp(path);

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return -1;
	header = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (header == MAP_FAILED)
		return -1;
	*header = (struct weft_ctp_header){
		.magic = WEFT_CTP_MAGIC,
		.version = WEFT_CTP_VERSION,
		.max_stations = STATIONS,
		.extension = WEFT_CTP_EXTENSION,
		.features = WEFT_CTP_TIMER | WEFT_CTP_RECYCLE | WEFT_CTP_DIRTY | WEFT_CTP_ANCHOR,
		.engine_epoch = 1,
		.engine_pid = getpid(),
		.clock_id = CLOCK_MONOTONIC,
		.dirty_shift = WEFT_CTP_DIRTY_SHIFT_LEAST,
	};
	setenv("CTP_SHM_PATH", path, 1);
	weft_coro_create(&plain, NULL);
	close(fd);
	unlink(path);
	return plain.station ? 0 : -1;
}

/* ---- the TSC */

static void set_anchor(int valid)
{
#if defined(__x86_64__)
	struct weft_ctp_anchor *a = &header->anchor;

	if (valid && !a->mult) {
		uint64_t ns = clock_ns(), tsc = __builtin_ia32_rdtsc(), later;

		while ((later = clock_ns()) < ns + 20000000)
			;
		a->base_tsc = tsc;
		a->base_ns = ns;
		a->mult = ((later - ns) << 32) / (__builtin_ia32_rdtsc() - tsc);
	}
	a->seq += 2;
	a->valid_ticks = valid ? UINT64_MAX : 0;
#else
	(void)valid;
#endif
}

/* ---- switches */

static void switch_it(struct weft_coro *coro, uint64_t iterations)
{
	for (uint64_t i = 0; i < iterations; i += 2) {
		weft_coro_resume(coro, NULL);
		bench_keep(coro);
		weft_coro_suspend(coro, (const void *)(uintptr_t)switch_it);
	}
}

static void by_clock(uint64_t iterations, void *arg)
{
	set_anchor(0);
	switch_it(arg, iterations);
}

static void by_tsc(uint64_t iterations, void *arg)
{
	set_anchor(1);
	switch_it(arg, iterations);
}

#ifdef LINKED
static void record(uint64_t iterations, void *arg)
{
	set_anchor(1);
	__atomic_store_n(&session->run_state, WEFT_RUN_RECORDING, __ATOMIC_RELEASE);
	for (uint64_t i = 0; i < iterations; i += 64) {
		switch_it(arg, 64);
		__atomic_store_n(&slot->events_c.tail, slot->events_p.head, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&session->run_state, WEFT_RUN_IDLE, __ATOMIC_RELEASE);
}

static void set_labels(void)
{
	weft_coro_create(&labelled, NULL);
	weft_coro_resume(&labelled, NULL);
	weft_label_set("tenant", "acme");
	weft_label_set("route", "/search");
	weft_label_set("method", "GET");
	weft_coro_suspend(&labelled, NULL);
}
#endif

/* ---- the founding protocol, as its specification and its programs have it */

static struct {
	_Alignas(64) uint64_t timestamp, tid, addr, seq;
	uint8_t reserved[31], is_active;
} slots[8];
static uint32_t sleeping;

/* Odd while the slot is written, even after; the kernel is asked who we are each time; then
 * all is made visible before the engine's flag is looked at. */
static void founding(uint64_t iterations, void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < iterations; i++) {
		uint64_t lap = slots[i % 8].seq, expected = 1;

		__atomic_store_n(&slots[i % 8].seq, lap + 1, __ATOMIC_RELEASE);
		slots[i % 8].addr = i & 1 ? 0 : (uint64_t)(uintptr_t)founding;
		slots[i % 8].tid = (uint64_t)syscall(SYS_gettid);
		slots[i % 8].timestamp = clock_ns();
		slots[i % 8].is_active = i & 1;
		__atomic_store_n(&slots[i % 8].seq, lap + 2, __ATOMIC_RELEASE);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (__atomic_load_n(&sleeping, __ATOMIC_RELAXED) == expected)
			return;
	}
	bench_keep(slots);
}

static size_t add_linked(struct bench_case *cases, enum coro_case *which, size_t count)
{
#ifdef LINKED
	session = own_session();
	slot = weft_thread_own_slot();
	set_labels();
	if (session && slot) {
		which[count] = CORO_LABELS;
		cases[count++] = (struct bench_case){.run = by_tsc, .arg = &labelled};
		which[count] = CORO_RECORD;
		cases[count++] = (struct bench_case){.run = record, .arg = &plain};
		which[count] = CORO_RECORD_LABELS;
		cases[count++] = (struct bench_case){.run = record, .arg = &labelled};
	}
#else
	(void)cases;
	(void)which;
#endif
	return count;
}

int main(int argc, char **argv)
{
	struct bench_case cases[CORO_CASE_COUNT] = {{.run = founding},
						    {.run = by_clock, .arg = &plain},
						    {.run = by_tsc, .arg = &plain}};
	enum coro_case which[CORO_CASE_COUNT] = {CORO_FOUNDING, CORO_CLOCK, CORO_TSC};
	double ns[CORO_CASE_COUNT] = {0};
	size_t count;

	if (argc < 3 || make_file())
		return 1;
	count = add_linked(cases, which, 3);
	bench_interleave(cases, count, (unsigned int)atoi(argv[1]),
			 (uint64_t)atol(argv[2]) & ~UINT64_C(63));
	for (size_t i = 0; i < count; i++)
		ns[which[i]] = cases[i].ns;
#if defined(__x86_64__)
	set_anchor(1);
	if (!weft_probe_tsc_ns(&header->anchor)) /* then no case was by the TSC */
		return 1;
#else
	ns[CORO_TSC] = 0;
#endif
	for (int i = 0; i < CORO_CASE_COUNT; i++)
		printf("%.2f ", ns[i]);
	printf("%d\n", slot && slot->counters[WEFT_COUNTER_EVENTS_RING_FULL] == 0);
	return 0;
}
