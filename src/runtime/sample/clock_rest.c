/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks of threads that are switched often: see clock_rest.h. */
#include "runtime/sample/clock_rest.h"

#include "runtime/sample/clock.h"
#include "runtime/sample/kernel_time.h"
#include "runtime/sample/sample.h"

#define WINDOW_MS 100
#define SWITCHES_MAX 2500 /* a second: they cost about one hundredth of a CPU */
#define GAP_SHORT_NS 2500000
#define SWITCHES_MAX_SHORT 1000 /* where the event is nearly always due before the tick */

int weft_clock_should_rest(uint32_t switches, uint32_t ms, uint64_t gap_ns, int rests)
{
	uint64_t most = gap_ns < GAP_SHORT_NS ? SWITCHES_MAX_SHORT : SWITCHES_MAX;

	return (uint64_t)switches * 1000 > (rests ? most / 2 : most) * ms;
}

static void begin_window(struct weft_clock_rest *rest, uint32_t now_ms, uint32_t switches)
{
	rest->since_ms = now_ms ? now_ms : 1;
	rest->switches = switches;
}

static void begin_rest(struct weft_slot *slot)
{
	struct weft_clock_rest *rest = weft_clock_rest_of(slot);

	weft_clock_close(slot);
	rest->is_resting = 1;
	if (!rest->has_rested)
		__atomic_fetch_add(&weft_rt.header->clock_rested, 1, __ATOMIC_RELAXED);
	rest->has_rested = 1;
}

void weft_clock_rest_update(struct weft_slot *slot, uint64_t now_ns, const struct weft_usage *usage)
{
	struct weft_clock_rest *rest = weft_clock_rest_of(slot);
	uint32_t now_ms = (uint32_t)(now_ns / 1000000), passed_ms = now_ms - rest->since_ms;
	int should;

	rest->waits = usage->waits;
	if (!rest->since_ms) {
		begin_window(rest, now_ms, usage->switches);
		return;
	}
	if (passed_ms < WINDOW_MS)
		return;
	should = weft_clock_should_rest(usage->switches - rest->switches, passed_ms,
					weft_clock_gap_ns(), weft_clock_rests(slot));
	begin_window(rest, now_ms, usage->switches);
	if (!should)
		rest->is_resting = 0;
	else if (weft_clock_is_open(slot))
		begin_rest(slot);
}
