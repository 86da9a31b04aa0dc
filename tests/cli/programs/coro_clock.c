/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coro_clock: run by weft coro run, compares time by the engine's anchor with the kernel's, as
 * long as an engine lives, while it is stopped, and when it goes on. How far the one lies outside
 * of what the other said just before and just after is its error, whoever is preempted when.
 * Says the worst error and the median distance, in nanoseconds, and exits with 1 above BOUND_NS;
 * 77 where there is no anchor to judge.
 */
#include <weft/coro.h>

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BOUND_NS 1000
#define LOOKS 20000
#define PAUSE_US 50

#if defined(__x86_64__)
static uint64_t distance[LOOKS];
static size_t looks;
static uint64_t worst;

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* 0: the anchor does not hold. */
static int look(const struct weft_ctp_anchor *anchor)
{
	uint64_t before, ns, after, middle, error = 0;

	before = weft_probe_kernel_ns();
	__builtin_ia32_lfence();
	ns = weft_probe_tsc_ns(anchor);
	__builtin_ia32_lfence();
	after = weft_probe_kernel_ns();
	if (!ns)
		return 0;
	if (ns < before)
		error = before - ns;
	else if (ns > after)
		error = ns - after;
	if (error > worst)
		worst = error;
	middle = before + (after - before) / 2;
	if (looks < LOOKS)
		distance[looks++] = ns > middle ? ns - middle : middle - ns;
	return 1;
}

static void await(const struct weft_ctp_anchor *anchor, int holds)
{
	while (look(anchor) != holds)
		usleep(PAUSE_US);
}

/* A stopped engine's anchor runs out, and one that goes on makes another. */
static void stop_and_go_on(const struct weft_ctp_anchor *anchor, pid_t engine)
{
	kill(engine, SIGSTOP);
	await(anchor, 0);
	usleep(100000);
	await(anchor, 0);
	kill(engine, SIGCONT);
	await(anchor, 1);
}

int main(void)
{
	int fd = open(getenv("CTP_SHM_PATH"), O_RDONLY);
	const struct weft_ctp_header *header =
		mmap(NULL, WEFT_CTP_HEADER_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (fd < 0 || header == MAP_FAILED)
		return 2;
	if (!(header->features & WEFT_CTP_ANCHOR))
		return 77;
	await(&header->anchor, 1);
	stop_and_go_on(&header->anchor, getppid());
	while (looks < LOOKS) {
		look(&header->anchor);
		usleep(PAUSE_US);
	}
	qsort(distance, looks, sizeof(*distance), by_size);
	printf("worst %" PRIu64 " ns outside, median %" PRIu64 " ns from the middle\n", worst,
	       distance[looks / 2]);
	return worst > BOUND_NS;
}
#else
int main(void)
{
	return 77;
}
#endif
