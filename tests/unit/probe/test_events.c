/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in a station after each call: events, totals, histograms, states, payload. */
#include "probe.h"

static struct probe_file file;

static void life_of_one(void *arg)
{
	struct weft_ctp_station *st = file.stations;
	struct weft_coro_options options = {.size = sizeof(options), .id = 77, .site = &file};
	struct weft_coro c;

	(void)arg;
	CHECK(weft_coro_create(&c, &options), ==, 1);
	CHECK(file.header->allocated_count, ==, 1);
	CHECK(st->probe_id, ==, 77);
	CHECK(st->state, ==, WEFT_CTP_CREATED);
	CHECK(st->generation, ==, 2);
	CHECK(st->pid, ==, getpid());
	CHECK(st->dialect, ==, WEFT_CTP_MONOTONIC);
	CHECK(st->language, ==, WEFT_CTP_C);
	CHECK(st->site, ==, (uintptr_t)&file);
	CHECK(st->birth_ts, ==, st->totals.last_ns);
	weft_coro_resume(&c, (void *)0x11);
	CHECK(st->state, ==, WEFT_CTP_RUNNING);
	CHECK(weft_coro_running() == &c, ==, 1);
	weft_coro_suspend(&c, (void *)0x22);
	CHECK(st->state, ==, WEFT_CTP_SUSPENDED);
	CHECK(weft_coro_running() == NULL, ==, 1);
	CHECK(event_of(st, 0) != NULL, ==, 1);
	CHECK(event_of(st, 0)->addr, ==, 0x11);
	CHECK(event_of(st, 0)->is_active, ==, 1);
	CHECK(event_of(st, 0)->kind, ==, WEFT_CTP_KIND_RESUME);
	CHECK(event_of(st, 0)->tid, ==, syscall(SYS_gettid));
	CHECK(event_of(st, 1) != NULL, ==, 1);
	CHECK(event_of(st, 1)->addr, ==, 0x22);
	CHECK(event_of(st, 1)->is_active, ==, 0);
	CHECK(event_of(st, 1)->kind, ==, WEFT_CTP_KIND_SUSPEND);
	CHECK(event_of(st, 1)->timestamp, ==, st->totals.last_ns);
	weft_coro_wake(&c);
	CHECK(st->state, ==, WEFT_CTP_READY);
	CHECK(st->totals.wakes, ==, 1);
	CHECK(st->last_wake_ns, >=, event_of(st, 1)->timestamp);
	weft_coro_resume(&c, NULL);
	CHECK(st->state, ==, WEFT_CTP_RUNNING);
	weft_coro_wake(&c);
	CHECK(st->state, ==, WEFT_CTP_RUNNING);
	weft_coro_destroy(&c);
	CHECK(st->is_dead, ==, 1);
	CHECK(st->totals.suspends, ==, 2);
	CHECK(event_of(st, 3)->is_active, ==, 0);
	CHECK(st->totals.wakes, ==, 2);
	CHECK(file.header->dirty[0], ==, 1);
	weft_coro_destroy(&c);
	CHECK(file.header->recycle_count, ==, 0);
}

static void one_life(void **state)
{
	(void)state;
	file = probe_file(4, OURS, WEFT_CTP_TIMER);
	in_child(life_of_one, NULL);
	assert_int_equal(file.stations[0].state, WEFT_CTP_DEAD);
	probe_file_gone(&file);
}

static uint32_t sum_of(const uint32_t histogram[WEFT_CTP_BUCKETS])
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < WEFT_CTP_BUCKETS; i++)
		sum += histogram[i];
	return sum;
}

static void many_laps(void *arg)
{
	struct weft_ctp_totals *totals = &file.stations->totals;
	uint64_t n, last = 0;
	struct weft_coro c;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	for (n = 0; n < 1000; n++) {
		weft_coro_resume(&c, (void *)(uintptr_t)n);
		weft_coro_suspend(&c, (void *)(uintptr_t)n);
	}
	for (n = 2000 - WEFT_CTP_SLOTS; n < 2000; n++) {
		CHECK(event_of(file.stations, n) != NULL, ==, 1);
		CHECK(event_of(file.stations, n)->addr, ==, n / 2);
		CHECK(event_of(file.stations, n)->timestamp, >=, last);
		last = event_of(file.stations, n)->timestamp;
	}
	CHECK(totals->resumes, ==, 1000);
	CHECK(totals->suspends, ==, 1000);
	CHECK(sum_of(file.stations->run_histogram), ==, 1000);
	CHECK(sum_of(file.stations->wait_histogram), ==, 1000);
	/* every nanosecond from birth on is either of a run or of a wait */
	CHECK(totals->run_ns + totals->wait_ns, ==, totals->last_ns - file.stations->birth_ts);
	CHECK(totals->max_run_ns, <=, totals->run_ns);
	CHECK(totals->max_run_ns * 1000, >=, totals->run_ns);
	CHECK(c.switches, ==, 2000);
}

static void laps(void **state)
{
	(void)state;
	file = probe_file(1, OURS, WEFT_CTP_TIMER);
	in_child(many_laps, NULL);
	probe_file_gone(&file);
}

static void buckets(void **state)
{
	uint32_t b;

	(void)state;
	assert_int_equal(weft_probe_bucket(0), 0);
	assert_int_equal(weft_probe_bucket(63), 0);
	for (b = 1; b < WEFT_CTP_BUCKETS; b++) {
		assert_int_equal(weft_probe_bucket(UINT64_C(1) << (b + 5)), b);
		assert_int_equal(weft_probe_bucket((UINT64_C(1) << (b + 6)) - 1), b);
	}
	assert_int_equal(weft_probe_bucket(UINT64_MAX), WEFT_CTP_BUCKETS - 1);
}

static void with_payload(void *arg)
{
	static const char text[] = "thirty-two bytes of the program";
	struct weft_ctp_epoch *slot;
	struct weft_coro c;

	(void)arg;
	CHECK(weft_coro_create(&c, NULL), ==, 1);
	CHECK(weft_coro_payload(&c, "abc", 3), ==, 3);
	weft_coro_resume(&c, NULL);
	slot = event_of(file.stations, 0);
	CHECK(slot->holds, ==, WEFT_CTP_HOLDS_PAYLOAD);
	CHECK(slot->payload_bytes, ==, 3);
	CHECK(memcmp(slot->reserved, "abc\0\0\0\0\0", 8), ==, 0);
	weft_coro_suspend(&c, NULL);
	slot = event_of(file.stations, 1);
	CHECK(slot->holds, ==, WEFT_CTP_HOLDS_UNKNOWN);
	CHECK(slot->payload_bytes, ==, 0);
	CHECK(slot->reserved[0], ==, 0);
	CHECK(weft_coro_payload(&c, text, sizeof(text)), ==, WEFT_CTP_PAYLOAD_MAX);
	weft_coro_resume(&c, NULL);
	slot = event_of(file.stations, 2);
	CHECK(memcmp(slot->reserved, text, WEFT_CTP_PAYLOAD_MAX), ==, 0);
	CHECK(slot->is_active, ==, 1);
}

static void payload(void **state)
{
	(void)state;
	file = probe_file(1, OURS, WEFT_CTP_TIMER);
	in_child(with_payload, NULL);
	probe_file_gone(&file);
}

/* Resumes nest, and a scheduler need not undo them in order. */
static void nested(void *arg)
{
	struct weft_coro a, b, c;

	(void)arg;
	weft_coro_create(&a, NULL);
	weft_coro_resume(&a, NULL);
	weft_coro_create(&b, NULL);
	CHECK(file.stations[1].parent_station, ==, 1);
	CHECK(file.stations[1].parent_generation, ==, 2);
	weft_coro_resume(&b, NULL);
	CHECK(weft_coro_running() == &b, ==, 1);
	weft_coro_create(&c, NULL);
	CHECK(file.stations[2].parent_station, ==, 2);
	weft_coro_resume(&c, NULL);
	weft_coro_suspend(&b, NULL);
	CHECK(weft_coro_running() == &c, ==, 1);
	weft_coro_suspend(&c, NULL);
	CHECK(weft_coro_running() == &a, ==, 1);
	weft_coro_resume(&a, NULL); /* a suspension was not told: not twice in the chain */
	weft_coro_destroy(&a);
	CHECK(weft_coro_running() == NULL, ==, 1);
	CHECK(file.stations[0].totals.resumes, ==, 2);
	CHECK(sum_of(file.stations[0].run_histogram), ==, 1);
}

static void nesting(void **state)
{
	(void)state;
	file = probe_file(4, OURS, WEFT_CTP_TIMER);
	in_child(nested, NULL);
	probe_file_gone(&file);
}

static void all_calls(void *arg)
{
	struct weft_coro c;

	(void)arg;
	errno = 12345;
	CHECK(weft_coro_create(&c, NULL), ==, 0);
	weft_coro_resume(&c, NULL);
	CHECK(weft_coro_running() == &c, ==, 1);
	weft_coro_wake(&c);
	weft_coro_suspend(&c, NULL);
	weft_coro_destroy(&c);
	weft_coro_destroy(&c);
	CHECK(c.switches, ==, 2);
	memset(&c, 0, sizeof(c)); /* never created */
	weft_coro_resume(&c, NULL);
	weft_coro_wake(&c);
	weft_coro_suspend(&c, NULL);
	weft_coro_destroy(&c);
	CHECK(weft_coro_running() == NULL, ==, 1);
	CHECK(errno, ==, 12345);
}

static void no_engine(void **state)
{
	(void)state;
	unsetenv("CTP_SHM_PATH");
	in_child(all_calls, NULL);
	setenv("CTP_SHM_PATH", "", 1);
	in_child(all_calls, NULL);
}

/* A shorter struct than ours, from a caller built against an older header. */
static void short_options(void *arg)
{
	struct weft_coro_options options;
	struct weft_coro c;

	(void)arg;
	memset(&options, 0xff, sizeof(options));
	options.size = offsetof(struct weft_coro_options, parent);
	options.id = 5;
	CHECK(weft_coro_create(&c, &options), ==, 1);
	CHECK(c.id, ==, 5);
	CHECK(c.language, ==, WEFT_CTP_C);
	CHECK(file.stations[0].parent_station, ==, 0);
	CHECK(file.stations[0].site != UINT64_MAX, ==, 1);
}

static void old_options(void **state)
{
	(void)state;
	file = probe_file(1, OURS, WEFT_CTP_TIMER);
	in_child(short_options, NULL);
	probe_file_gone(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_life),    cmocka_unit_test(laps),
		cmocka_unit_test(buckets),     cmocka_unit_test(payload),
		cmocka_unit_test(nesting),     cmocka_unit_test(no_engine),
		cmocka_unit_test(old_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
