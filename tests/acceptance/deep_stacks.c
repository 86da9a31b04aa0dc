/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deep-stacks COUNT: to be run under `weft record --stack check`. Deep in libc, without frame
 * pointers, in the main thread and in another, it is interrupted at random; there it asks
 * backtrace() for the stack, sends itself the session's own signal, and compares the frames
 * that weft's handler put into the ring with it, from the interrupted pc on. Prints, for
 * each thread:
 *
 *   NAME samples equal outermost different not_walked lost
 *
 * Exit 1: not recorded. Half the ring stays free, so that nothing is lost.
 */
#include "../own_session.h"
#include "../unit/unwind/workload.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <weft/abi/session.h>
#include <weft/context.h>

#define TICK SIGRTMIN
#define DEPTH 512
#define SHOWN 3

struct tally {
	const char *name;
	timer_t timer;
	unsigned long wanted, samples, equal, outermost, different, not_walked, lost;
	unsigned int seed;
};

static struct weft_session_header *header;
static _Thread_local struct tally *own;

static void send_sample_signal(const struct weft_slot *slot)
{
	siginfo_t info = own_session_tick(header, slot, SIGPROF);

	syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGPROF, &info);
}

static uint64_t interrupted_pc(const ucontext_t *uc)
{
#if defined(__x86_64__)
	return (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
#else
	return uc->uc_mcontext.pc;
#endif
}

static const uint64_t *frames_of(const struct weft_sample_record *sample)
{
	const char *at = (const char *)(sample + 1);

	if (sample->stack == WEFT_SAMPLE_RAW)
		at += sample->register_count * 8u + ((sample->copy_bytes + 7u) & ~7u);
	return (const uint64_t *)(const void *)at;
}

/* The last sample published between two positions of the ring; NULL for none. */
static const struct weft_sample_record *last_sample(const struct weft_slot *slot, uint64_t from,
						    uint64_t to)
{
	const char *ring = (const char *)slot + header->samples_offset;
	const struct weft_sample_record *found = NULL;

	while (from < to) {
		const struct weft_record *record =
			(const void *)(ring + (from & (header->samples_bytes - 1)));

		if (record->type == WEFT_RECORD_SAMPLE)
			found = (const void *)record;
		from += record->bytes;
	}
	return found;
}

static void show(const char *who, const uint64_t *pcs, size_t count)
{
	fprintf(stderr, "%s:", who);
	for (size_t i = 0; i < count && i < 40; i++)
		fprintf(stderr, " %#lx", (unsigned long)pcs[i]);
	fprintf(stderr, "\n");
}

static size_t position_of(uint64_t pc, const uint64_t *pcs, size_t count)
{
	size_t i = 0;

	while (i < count && pcs[i] != pc)
		i++;
	return i;
}

static void compare(struct tally *t, const struct weft_sample_record *sample, uint64_t pc,
		    const uint64_t *expected, size_t expected_count)
{
	const uint64_t *pcs = frames_of(sample);
	size_t count = sample->frame_count;
	size_t ours = position_of(pc, pcs, count);
	size_t theirs = position_of(pc, expected, expected_count);

	if (count == 0) {
		t->not_walked++;
		return;
	}
	t->samples++;
	t->outermost += sample->end == WEFT_END_OUTERMOST;
	if (ours < count && theirs < expected_count && count - ours == expected_count - theirs &&
	    memcmp(pcs + ours, expected + theirs, (count - ours) * sizeof(*pcs)) == 0) {
		t->equal++;
	} else if (t->different++ < SHOWN) {
		show("weft", pcs, count);
		show("backtrace", expected, expected_count);
	}
}

static void next_tick(struct tally *t)
{
	struct itimerspec at = {.it_value = {.tv_nsec = 20000}};

	t->seed = t->seed * 1664525u + 1013904223u;
	at.it_value.tv_nsec += (long)(t->seed >> 8) % 150000;
	timer_settime(t->timer, 0, &at, NULL);
}

static int ring_is_half_full(const struct weft_slot *slot)
{
	uint64_t tail = __atomic_load_n(&slot->samples_c.tail, __ATOMIC_ACQUIRE);

	return slot->samples_p.head - tail > header->samples_bytes / 2;
}

static void on_tick(int number, siginfo_t *info, void *context)
{
	const struct weft_slot *slot = weft_thread_own_slot();
	const struct weft_sample_record *sample;
	void *expected[DEPTH];
	uint64_t before;
	int count;

	(void)number;
	(void)info;
	if (!slot || own->samples >= own->wanted)
		return;
	if (!ring_is_half_full(slot)) {
		count = backtrace(expected, DEPTH);
		before = slot->samples_p.head;
		send_sample_signal(slot);
		sample = last_sample(slot, before, slot->samples_p.head);
		if (sample)
			compare(own, sample, interrupted_pc(context), (const uint64_t *)expected,
				(size_t)count);
		else
			own->lost++;
	}
	next_tick(own);
}

static void tick_from_now_on(struct tally *t)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TICK};

	event._sigev_un._tid = (int)syscall(SYS_gettid);
	own = t;
	if (timer_create(CLOCK_MONOTONIC, &event, &t->timer) != 0)
		abort();
	next_tick(t);
}

static void *work(void *arg)
{
	struct tally *t = arg;
	const struct weft_slot *slot = weft_thread_own_slot();

	tick_from_now_on(t);
	for (unsigned int i = 0; t->samples < t->wanted; i++) {
		workload_round(i);
		while (slot && ring_is_half_full(slot))
			usleep(1000);
	}
	timer_delete(t->timer);
	return NULL;
}

/* What comes before all tables are there is walked by the collector alone. */
static void wait_for_tables(void)
{
	const struct weft_slot *slot = weft_thread_own_slot();
	const struct weft_sample_record *sample;

	do {
		uint64_t before = slot->samples_p.head;

		usleep(1000);
		send_sample_signal(slot);
		sample = last_sample(slot, before, slot->samples_p.head);
	} while (!sample || sample->frame_count == 0);
}

static void print_tally(const struct tally *t)
{
	printf("%s %lu %lu %lu %lu %lu %lu\n", t->name, t->samples, t->equal, t->outermost,
	       t->different, t->not_walked, t->lost);
}

int main(int argc, char **argv)
{
	unsigned long wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	struct tally in_main = {.name = "main", .wanted = wanted / 2, .seed = 1};
	struct tally in_thread = {.name = "thread", .wanted = wanted - wanted / 2, .seed = 2};
	struct sigaction act = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
	void *first[4];
	pthread_t id;

	header = own_session();
	if (!header || !weft_thread_own_slot())
		return 1;
	wait_for_tables();
	backtrace(first, 4); /* loads libgcc */
	sigaction(TICK, &act, NULL);
	workload_start();
	work(&in_main);
	if (pthread_create(&id, NULL, work, &in_thread) != 0 || pthread_join(id, NULL) != 0)
		return 1;
	print_tally(&in_main);
	print_tally(&in_thread);
	return 0;
}
