/* SPDX-License-Identifier: Apache-2.0 */
/* Timestamps: by the engine's anchor while it holds, else the kernel's; never back. */
#include <time.h>

#include "probe.h"

static struct probe_file file;

static uint64_t kernel_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t resume_ns(struct weft_coro *c)
{
	weft_coro_resume(c, NULL);
	CHECK(event_of(file.stations, c->next_event - 1) != NULL, ==, 1);
	return event_of(file.stations, c->next_event - 1)->timestamp;
}

static void by_kernel(void *arg)
{
	uint64_t before, after, ns;
	struct weft_coro c;
	int i;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	for (i = 0; i < 100; i++) {
		before = kernel_ns();
		ns = resume_ns(&c);
		after = kernel_ns();
		CHECK(ns, >=, before);
		CHECK(ns, <=, after);
	}
}

static void without_anchor(void **state)
{
	(void)state;
	file = probe_file(1, OURS, WEFT_CTP_TIMER);
	in_child(by_kernel, NULL); /* never written */
	file.header->anchor.base_ns = UINT64_C(1) << 60;
	file.header->anchor.valid_ticks = UINT64_MAX;
	file.header->anchor.seq = 3; /* half written, by an engine that is no more */
	file.header->allocated_count = 0;
	in_child(by_kernel, NULL);
	file.header->anchor.seq = 4;
	file.header->anchor.valid_ticks = 0; /* taken back */
	file.header->allocated_count = 0;
	in_child(by_kernel, NULL);
	file.header->anchor.valid_ticks = 1; /* an engine gone long ago */
	file.header->allocated_count = 0;
	in_child(by_kernel, NULL);
	probe_file_gone(&file);
	file = probe_file(1, PEER, 0);
	file.header->anchor.base_ns = UINT64_C(1) << 60;
	file.header->anchor.valid_ticks = UINT64_MAX;
	file.header->anchor.seq = 2; /* another's bytes, whatever they say */
	in_child(by_kernel, NULL);
	probe_file_gone(&file);
}

#if defined(__x86_64__)
/* A tick is one and a half nanoseconds, and it is long past CLOCK_MONOTONIC: no mistake is hidden.
 */
#define FAR (UINT64_C(1) << 60)

static void by_anchor(void *arg)
{
	struct weft_ctp_anchor *anchor = &file.header->anchor;
	uint64_t before, after, ns, birth;
	struct weft_coro c;
	int i;

	(void)arg;
	anchor->base_tsc = __builtin_ia32_rdtsc();
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	birth = c.last_ns;
	CHECK(birth, >=, FAR);
	for (i = 0; i < 100; i++) {
		before = __builtin_ia32_rdtsc() - anchor->base_tsc;
		__builtin_ia32_lfence();
		ns = resume_ns(&c) - FAR;
		__builtin_ia32_lfence();
		after = __builtin_ia32_rdtsc() - anchor->base_tsc;
		CHECK(ns, >=, before + before / 2);
		CHECK(ns, <=, after + after / 2);
	}
	anchor->base_ns = FAR / 2; /* the clock is set back under it */
	ns = c.last_ns;
	CHECK(resume_ns(&c), ==, ns);
	anchor->valid_ticks = 0;
	CHECK(resume_ns(&c), ==, ns);
	CHECK(file.stations->totals.last_ns, ==, ns);
}

static void with_anchor(void **state)
{
	(void)state;
	file = probe_file(1, OURS, WEFT_CTP_TIMER | WEFT_CTP_ANCHOR);
	file.header->anchor.base_ns = FAR;
	file.header->anchor.mult = UINT64_C(3) << 31;
	file.header->anchor.valid_ticks = UINT64_C(1) << 62;
	file.header->anchor.seq = 2;
	in_child(by_anchor, NULL);
	probe_file_gone(&file);
}

/* The product has more than 64 bits: hours after an anchor, still to the nanosecond. */
static void long_after(void **state)
{
	struct weft_ctp_anchor anchor;
	uint64_t ns, least, most;

	(void)state;
	memset(&anchor, 0, sizeof(anchor));
	anchor.seq = 2;
	anchor.mult = (UINT64_C(1) << 32) / 3;
	anchor.base_ns = 5;
	anchor.valid_ticks = UINT64_MAX;
	anchor.base_tsc = __builtin_ia32_rdtsc() - (UINT64_C(1) << 50);
	least = (UINT64_C(1) << 50) / 3;
	ns = weft_probe_tsc_ns(&anchor) - 5;
	__builtin_ia32_lfence();
	most = (__builtin_ia32_rdtsc() - anchor.base_tsc) / 3;
	assert_true(ns >= least - (least >> 30) && ns <= most); /* mult is rounded down */
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_anchor),
#if defined(__x86_64__)
		cmocka_unit_test(with_anchor),
		cmocka_unit_test(long_after),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
