/* SPDX-License-Identifier: Apache-2.0 */
/*
 * self-signal ROUNDS BATCH [LABELS]: to be run under `weft record`. Sends itself SIGPROF with the
 * session's cookie by rt_tgsigqueueinfo, as the handler's own timers would, some 16 frames deep,
 * and SIGUSR1 with an empty handler for comparison. Prints medians in nanoseconds:
 *
 *   sampling_signal empty_signal handler_median context samples_lost frames
 *
 * handler_median is the middle of the session's own histogram (a log2 bucket: its upper
 * bound); context what the handler's snapshot of the context takes; frames those of the last
 * sample (0: a copy). LABELS: "still", the thread has five; "changed", and sets one before each
 * signal of either kind; "record-tls", "record-heap", "set-heap": it has none, but another
 * library's context, as OpenTelemetry's record in its static TLS or on the heap, or as a set of
 * Custom Labels. Between batches it waits, so that the collector keeps up. Exit 1: not recorded.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/otel_thread_context.h>
#include <weft/labels.h>

#include "../tests/own_session.h"
#include "base/context_snapshot.h"
#include "harness.h"

#define DEPTH 16
#define ROUNDS_MAX 1000

static struct weft_session_header *header;
static unsigned long batch = 4;
static int is_changing;
static double sampling[ROUNDS_MAX], empty[ROUNDS_MAX];

static double time_batch(int signo)
{
	siginfo_t info = own_session_tick(header, weft_thread_own_slot(), signo);
	long pid = getpid(), tid = syscall(SYS_gettid);
	uint64_t start = bench_now_ns();

	for (unsigned long i = 0; i < batch; i++) {
		if (is_changing)
			weft_label_set("route", i % 2 ? "/search" : "/static");
		syscall(SYS_rt_tgsigqueueinfo, pid, tid, signo, &info);
	}
	return (double)(bench_now_ns() - start) / (double)batch;
}

static __attribute__((noinline)) double at_depth(unsigned int depth, int signo)
{
	double ns = depth ? at_depth(depth - 1, signo) : time_batch(signo);

	__asm__ volatile("" : : : "memory"); /* no tail call */
	return ns;
}

static void take_labels(const char *how)
{
	static const char *const labels[][2] = {{"tenant", "acme"},
						{"route", "/search"},
						{"method", "GET"},
						{"user", "u-4711"},
						{"region", "eu-west-1"}};

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		weft_label_set(labels[i][0], labels[i][1]);
	is_changing = !strcmp(how, "changed");
}

/* As other libraries export them. */
__thread struct weft_otel_record *volatile otel_thread_ctx_v1;
const uint32_t custom_labels_abi_version = 1;
__thread struct weft_custom_labels_set *volatile custom_labels_current_set;

static void publish_record(struct weft_otel_record *record)
{
	memset(record->trace_id, 7, sizeof(record->trace_id));
	record->span_id[7] = 7;
	memcpy(record->attributes, "\0\4acme\1\7/search", 15);
	record->attributes_bytes = 15;
	record->valid = 1;
	otel_thread_ctx_v1 = record;
}

static void publish_set(void)
{
	struct weft_custom_labels_set *set = calloc(1, sizeof(*set));
	struct weft_custom_labels_label *label = calloc(2, sizeof(*label));

	if (!set || !label)
		exit(1);
	for (int i = 0; i < 2; i++) {
		label[i].key = (struct weft_custom_labels_string){
			5, (const unsigned char *)strdup(i ? "route" : "owner")};
		label[i].value = (struct weft_custom_labels_string){
			4, (const unsigned char *)strdup("acme")};
	}
	*set = (struct weft_custom_labels_set){label, 2, 2};
	custom_labels_current_set = set;
}

/* 1: @how is one of these, and the collector has found the variables. */
static int take_others(const char *how)
{
	static __thread struct weft_otel_record own;

	if (!strcmp(how, "record-tls"))
		publish_record(&own);
	else if (!strcmp(how, "record-heap"))
		publish_record(calloc(1, sizeof(own)));
	else if (!strcmp(how, "set-heap"))
		publish_set();
	else
		return 0;
	for (int i = 0; i < 1000; i++, usleep(10000))
		if (__atomic_load_n(&header->published.labels.at, __ATOMIC_ACQUIRE))
			return 1;
	exit(1);
}

static void ignore(int signo)
{
	(void)signo;
}

/* Upper bound of the bucket that holds the middle of the histogram. */
static double histogram_median(void)
{
	uint64_t total = 0, below = 0;
	unsigned int b;

	for (b = 0; b < 64; b++)
		total += header->handler_ns[b];
	for (b = 0; b < 63 && (below += header->handler_ns[b]) * 2 < total; b++)
		;
	return (double)(UINT64_C(1) << b);
}

static double context_ns(void)
{
	struct weft_context_snapshot out;
	double cost[101];

	for (int r = 0; r < 101; r++) {
		uint64_t start = bench_now_ns();

		for (int i = 0; i < 1000; i++) {
			weft_context_snapshot(weft_thread_slot, &out);
			bench_keep(&out);
		}
		cost[r] = (double)(bench_now_ns() - start) / 1000;
	}
	return bench_median(cost, 101);
}

/* Of the record that the ring's head has just passed, if it did not wrap. */
static unsigned int frames_of_last(uint64_t before)
{
	const struct weft_slot *slot = weft_thread_slot;
	const struct weft_sample_record *r =
		(const void *)((const char *)slot + header->samples_offset +
			       (before & (header->samples_bytes - 1)));

	return r->record.type == WEFT_RECORD_SAMPLE && r->stack == WEFT_SAMPLE_FRAMES
		       ? r->frame_count
		       : 0;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	uint64_t before = 0;
	struct sigaction nothing = {.sa_handler = ignore, .sa_flags = SA_RESTART};

	if (argc > 2)
		batch = strtoul(argv[2], NULL, 10);
	if (batch < 1)
		batch = 1;
	if (rounds > ROUNDS_MAX)
		rounds = ROUNDS_MAX;
	header = own_session();
	if (!header || !weft_thread_own_slot())
		return 1;
	sigaction(SIGUSR1, &nothing, NULL);
	weft_context_set(1, 2);
	if (argc > 3 && !take_others(argv[3]))
		take_labels(argv[3]);
	for (unsigned long i = 0; i < rounds; i++) {
		before = weft_thread_slot->samples_p.head;
		sampling[i] = at_depth(DEPTH, SIGPROF);
		usleep(5000);
		empty[i] = at_depth(DEPTH, SIGUSR1);
		usleep(5000);
	}
	printf("%.1f %.1f %.0f %.2f %llu %u\n", bench_median(sampling, rounds),
	       bench_median(empty, rounds), histogram_median(), context_ns(),
	       (unsigned long long)weft_thread_slot->counters[WEFT_COUNTER_LOST_RING_FULL],
	       frames_of_last(before));
	return 0;
}
