/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strange-requests FORMAT SECONDS [LIBRARY [burn [filter]]]: a program that knows nothing of weft,
 * whose threads wait for requests in turn and publish whose it is: as OpenTelemetry's thread
 * context in place, in their TLS (`place`), or by another record, on the heap (`swap`), or as
 *Node.js does, by what runs on its heap (`nodejs`), as a set of Custom Labels (`labels`), both with
 *one span (`both`) or with two (`differ`), or nothing
 * (`none`); or leave pointers to pages that are gone (`gone`), or to a record whose rest is
 * (`torn`).
 *
 *	request  span  label tenant  waits
 *	first    0x11  acme          30 ms
 *	second   0x22  globex        10 ms
 *	none     -     -             20 ms
 *
 * The threads measure by their own clocks how long they were blocked in each. With `burn` they use
 * a tenth of that of CPU time instead, from 1.5 s after "ready" on; with `filter`, after half of
 * the time, under a filter that kills the process for process_vm_readv. "ready PID" when all have
 * begun; at the end the three sums in ns. With REQUESTS_OPENS what publishes lies in LIBRARY (else
 * `-`), which is opened 1.5 s after "ready": until then nobody publishes.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/otel_thread_context.h>

#include "../node_heap.h"
#include "../stranger_process.h"
#include "blocked_time.h"

#define EXPORTED __attribute__((visibility("default"), used))
#define REQUESTS 3 /* the last is none */
#define MS 1000000

#ifndef REQUESTS_OPENS
EXPORTED int requests_begin(void);
EXPORTED void requests_publish(const char *format, int request);

static const uint8_t spans[REQUESTS] = {0x11, 0x22, 0};
static const char *const tenants[REQUESTS] = {"acme", "globex", ""};

EXPORTED __thread struct weft_otel_record *volatile otel_thread_ctx_v1;
EXPORTED __thread struct weft_nodejs_variable otel_thread_ctx_nodejs_v1;
EXPORTED const uint32_t custom_labels_abi_version = 1;
EXPORTED __thread struct weft_custom_labels_set *volatile custom_labels_current_set;

/* attributes (2) { key (1) "threadlocal.attribute_key_map", value (2) { array (5) { values (1) {
 * string (1) } ... } } }: the root span's key, then "tenant". */
static const char payload[] = "\x12\x4b\x0a\x1d" WEFT_OTEL_KEY_MAP_KEY "\x12\x2a\x2a\x28"
			      "\x0a\x1c\x0a\x1a" WEFT_OTEL_ROOT_KEY "\x0a\x08\x0a\x06"
			      "tenant";

int requests_begin(void)
{
	struct weft_otel_process_header *h = stranger_process_map();

	if (h)
		stranger_process_publish(h, payload, sizeof(payload) - 1, 1);
	return h ? 0 : -1;
}

static void fill(struct weft_otel_record *record, int request)
{
	size_t bytes = strlen(tenants[request]);
	uint8_t *at = record->attributes;

	memset(record->trace_id, 0xA0, sizeof(record->trace_id));
	memset(record->span_id, 0, sizeof(record->span_id));
	record->span_id[7] = spans[request];
	record->trace_flags = 1;
	*at++ = 0;
	*at++ = 16;
	memcpy(at, "00000000000000cc", 16);
	at += 16;
	*at++ = 1;
	*at++ = (uint8_t)bytes;
	memcpy(at, tenants[request], bytes);
	record->attributes_bytes = (uint16_t)(20 + bytes);
}

/* One record of the thread, invalid while it changes. */
static void publish_in_place(int request)
{
	static __thread struct weft_otel_record record;

	__atomic_store_n(&record.valid, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	otel_thread_ctx_v1 = &record;
	if (!spans[request])
		return;
	fill(&record, request);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&record.valid, 1, __ATOMIC_RELEASE);
}

static struct weft_otel_record *new_record(int request)
{
	struct weft_otel_record *record = calloc(1, sizeof(*record));

	if (!record)
		exit(4);
	fill(record, request);
	record->valid = 1;
	return record;
}

/* A record for each request, shown by its address. */
static void publish_other(int request)
{
	static __thread struct weft_otel_record *records[REQUESTS];

	if (!spans[request]) {
		otel_thread_ctx_v1 = NULL;
		return;
	}
	if (!records[request])
		records[request] = new_record(request);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	otel_thread_ctx_v1 = records[request];
}

/* A heap with a frame for each request, the last one's without a record; the variable's gate is
 * opened when all is there. */
static struct node_heap *new_heap(uint64_t frames[REQUESTS])
{
	struct node_heap *heap = calloc(1, sizeof(*heap));
	struct weft_nodejs_variable v;
	uint64_t cped_slot;

	if (!heap)
		exit(4);
	node_begin(heap, 4711, &v);
	for (int i = 0; i < REQUESTS; i++) {
		frames[i] = node_map(heap, 4);
		node_put(frames[i], node_new(heap, 2), 4711, v.undefined);
		node_put(frames[i], heap->word[NODE_HANDLE], 4711,
			 spans[i] ? node_wrap(heap, 4, new_record(i)) : v.undefined);
	}
	cped_slot = v.cped_slot;
	v.cped_slot = 0;
	otel_thread_ctx_nodejs_v1 = v;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&otel_thread_ctx_nodejs_v1.cped_slot, cped_slot, __ATOMIC_RELAXED);
	return heap;
}

static void publish_nodejs(int request)
{
	static __thread struct node_heap *heap;
	static __thread uint64_t frames[REQUESTS];

	if (!heap)
		heap = new_heap(frames);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&heap->word[NODE_CPED], frames[request], __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static struct weft_custom_labels_string string(const char *text)
{
	return (struct weft_custom_labels_string){strlen(text), (const unsigned char *)text};
}

static void publish_set(int request, unsigned int span)
{
	static __thread struct weft_custom_labels_label labels[2];
	static __thread struct weft_custom_labels_set set;
	static __thread char text[16];

	custom_labels_current_set = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!spans[request])
		return;
	snprintf(text, sizeof(text), "%u", span);
	labels[0] = (struct weft_custom_labels_label){string("span-id"), string(text)};
	labels[1] = (struct weft_custom_labels_label){string("tenant"), string(tenants[request])};
	set = (struct weft_custom_labels_set){labels, 2, 2};
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	custom_labels_current_set = &set;
}

/* A record at the end of a page, whose attributes begin on one that cannot be read. */
static void publish_torn(void)
{
	uint8_t *page =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct weft_otel_record *record;

	if (page == MAP_FAILED)
		exit(4);
	record = (void *)(page + 4096 - WEFT_OTEL_ATTRIBUTES_AT);
	record->span_id[7] = 0x33;
	record->attributes_bytes = 40;
	record->valid = 1;
	mprotect(page + 4096, 4096, PROT_NONE);
	otel_thread_ctx_v1 = record;
}

/* Both pointers lead to a page that was unmapped. */
static void publish_gone(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		exit(4);
	otel_thread_ctx_v1 = page;
	custom_labels_current_set = page;
	munmap(page, 4096);
}

void requests_publish(const char *format, int request)
{
	if (!strcmp(format, "gone"))
		publish_gone();
	if (!strcmp(format, "torn") && !otel_thread_ctx_v1)
		publish_torn();
	if (!strcmp(format, "place") || !strcmp(format, "both") || !strcmp(format, "differ"))
		publish_in_place(request);
	if (!strcmp(format, "swap"))
		publish_other(request);
	if (!strcmp(format, "nodejs"))
		publish_nodejs(request);
	if (!strcmp(format, "labels") || !strcmp(format, "both"))
		publish_set(request, spans[request]);
	if (!strcmp(format, "differ"))
		publish_set(request, spans[request] + 0x100u);
}
#endif

#ifndef REQUESTS_LIBRARY
#define THREADS 6

static const char *format;
static void (*publish)(const char *format, int request); /* atomic; NULL: nobody can yet */
static int is_burning, is_filtering;
static uint64_t spent_ns[REQUESTS]; /* blocked, or on a CPU */
static unsigned int begun;
static int is_over;

static const long waits_ns[REQUESTS] = {30 * MS, 10 * MS, 20 * MS};

static void wait_for(int schedstat, int request)
{
	uint64_t at, other;

	publish(format, request);
	at = now(CLOCK_MONOTONIC);
	other = not_blocked(schedstat);
	nanosleep(&(struct timespec){.tv_nsec = waits_ns[request]}, NULL);
	at = now(CLOCK_MONOTONIC) - at;
	other = not_blocked(schedstat) - other;
	__atomic_add_fetch(&spent_ns[request], at > other ? at - other : 0, __ATOMIC_RELAXED);
}

static void burn_for(int request)
{
	uint64_t began, at;

	publish(format, request);
	began = at = now(CLOCK_THREAD_CPUTIME_ID);
	while (at - began < (uint64_t)waits_ns[request] / 10)
		at = now(CLOCK_THREAD_CPUTIME_ID);
	__atomic_add_fetch(&spent_ns[request], at - began, __ATOMIC_RELAXED);
}

/* On the calling thread; whoever calls it then dies, with all others. */
static void forbid_reading(void)
{
	struct sock_filter step[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the call's number */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog all = {sizeof(step) / sizeof(step[0]), step};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
		exit(5);
}

static void forbid_reading_once(void)
{
	static __thread int is_forbidden;

	if (!is_forbidden && __atomic_load_n(&is_filtering, __ATOMIC_RELAXED))
		forbid_reading();
	is_forbidden = __atomic_load_n(&is_filtering, __ATOMIC_RELAXED);
}

static void *live(void *arg)
{
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY);

	if (schedstat < 0 || prctl(PR_SET_NAME, "worker"))
		exit(3);
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&publish, __ATOMIC_ACQUIRE))
		usleep(1000);
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		for (int request = 0; request < REQUESTS; request++) {
			forbid_reading_once();
			if (is_burning)
				burn_for(request);
			else
				wait_for(schedstat, request);
		}
	return arg;
}

/* What publishes: here, or in the library. */
static int find_publisher(const char *path)
{
#ifdef REQUESTS_OPENS
	int (*begin)(void);
	void *library;

	usleep(1500000);
	library = dlopen(path, RTLD_NOW);
	begin = library ? (int (*)(void))(uintptr_t)dlsym(library, "requests_begin") : NULL;
	if (!begin || begin())
		return -1;
	__atomic_store_n(&publish,
			 (void (*)(const char *, int))(uintptr_t)dlsym(library, "requests_publish"),
			 __ATOMIC_RELEASE);
	return 0;
#else
	(void)path;
	if (strcmp(format, "none") != 0 && requests_begin())
		return -1;
	if (is_burning)
		usleep(1500000);
	__atomic_store_n(&publish, requests_publish, __ATOMIC_RELEASE);
	return 0;
#endif
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	unsigned int half;

	if (argc < 3)
		return 2;
	format = argv[1];
	is_burning = argc > 4 && !strcmp(argv[4], "burn");
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, live, NULL))
			return 1;
	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) < THREADS)
		usleep(1000);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (find_publisher(argc > 3 ? argv[3] : ""))
		return 1;
	half = (unsigned int)strtoul(argv[2], NULL, 10) * 500000;
	usleep(half);
	__atomic_store_n(&is_filtering, argc > 5 && !strcmp(argv[5], "filter"), __ATOMIC_RELAXED);
	usleep(half);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%llu %llu %llu\n", (unsigned long long)spent_ns[0], (unsigned long long)spent_ns[1],
	       (unsigned long long)spent_ns[2]);
	return 0;
}
#endif
