/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coro-load RATE MS [IDLE [PAIRS]]: one coroutine on one thread switches RATE times a second for MS
 * milliseconds, in bursts of 10 us; before that IDLE others are created, which run PAIRS times each
 * (0) and never again. RATE 0: as fast as it can. Prints: switches, how many a second it was, its
 * own CPU time in ns, how many the session has lost (recorded), and the CPU time of its parent
 * meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <weft/coro.h>

#include "../tests/own_session.h"

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void create_idle(unsigned long count, unsigned long pairs)
{
	static struct weft_coro one; /* the station stays when the memory goes to the next */

	for (unsigned long i = 0; i < count; i++) {
		weft_coro_create(&one, NULL);
		for (unsigned long pair = 0; pair < pairs; pair++) {
			weft_coro_resume(&one, NULL);
			weft_coro_suspend(&one, NULL);
		}
	}
}

/* The engine's, when it is the engine that has started us. */
static uint64_t parent_cpu_ns(void)
{
	clockid_t id;

	return clock_getcpuclockid(getppid(), &id) ? 0 : clock_ns(id);
}

static uint64_t sum_of(const struct weft_session_header *h, enum weft_counter counter)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; h && i < h->slots_high; i++) {
		const struct weft_slot *slot =
			(const void *)((const char *)h + h->slots_offset + i * h->slot_stride);

		sum += slot->counters[counter];
	}
	return sum;
}

static uint64_t load(struct weft_coro *coro, double rate, uint64_t ns, uint64_t began_ns)
{
	uint64_t done = 0, passed;

	while ((passed = clock_ns(CLOCK_MONOTONIC) - began_ns) < ns) {
		uint64_t due = rate > 0 ? (uint64_t)((double)passed * rate / 1e9) : done + 64;

		if (due <= done && rate < 50000) {
			const struct timespec pause = {.tv_nsec = 100000};

			nanosleep(&pause, NULL);
		}
		for (; done < due; done += 2) {
			weft_coro_resume(coro, NULL);
			weft_coro_suspend(coro, (const void *)(uintptr_t)load);
		}
	}
	return done;
}

int main(int argc, char **argv)
{
	static struct weft_coro coro;
	uint64_t ns, began_ns, done, parent_ns;

	if (argc < 3)
		return 2;
	if (argc > 3 && strtoul(argv[3], NULL, 10)) {
		create_idle(strtoul(argv[3], NULL, 10), argc > 4 ? strtoul(argv[4], NULL, 10) : 0);
		usleep(500000); /* the engine has seen them all */
	}
	weft_coro_create(&coro, NULL);
	ns = strtoull(argv[2], NULL, 10) * 1000000;
	parent_ns = parent_cpu_ns();
	began_ns = clock_ns(CLOCK_MONOTONIC);
	done = load(&coro, strtod(argv[1], NULL), ns, began_ns);
	ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
	parent_ns = parent_cpu_ns() - parent_ns;
	printf("%llu %.0f %llu %llu %llu\n", (unsigned long long)done,
	       (double)done * 1e9 / (double)ns,
	       (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID),
	       (unsigned long long)sum_of(own_session(), WEFT_COUNTER_EVENTS_RING_FULL),
	       (unsigned long long)parent_ns);
	return 0;
}
