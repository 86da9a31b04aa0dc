/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stranger that knows nothing of weft and publishes for outside readers: OpenTelemetry's
 * process context, its thread context and Custom Labels v1, by hand. Three threads beside the
 * main one, each with its own span: 0x1000 and its number (1 .. 3); the main thread has none.
 * "ready", then rests. Built as a program, and with STRANGER_LIBRARY as a library that
 * STRANGER_OPENS (the same program without them) opens by dlopen: its path is the argument.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <weft/abi/custom_labels_v1.h>
#include <weft/abi/otel_thread_context.h>

#include "../../stranger_process.h"

#define SPAN 0x1000u

#ifndef STRANGER_OPENS
#define EXPORTED __attribute__((visibility("default"), used))

EXPORTED __thread struct weft_otel_record *volatile otel_thread_ctx_v1;
EXPORTED const uint32_t custom_labels_abi_version = 1;
EXPORTED __thread struct weft_custom_labels_set *volatile custom_labels_current_set;

/* ---- the process context, by protobuf's encoding; every part is shorter than 128 bytes */

static size_t put_part(uint8_t *at, int field, const void *data, size_t bytes)
{
	at[0] = (uint8_t)(field << 3 | 2);
	at[1] = (uint8_t)bytes;
	memcpy(at + 2, data, bytes);
	return bytes + 2;
}

static size_t put_pair(uint8_t *out, const char *key, int kind, const void *value, size_t bytes)
{
	uint8_t any[128];
	size_t any_bytes = put_part(any, kind, value, bytes), at;

	at = put_part(out, 1, key, strlen(key));
	return at + put_part(out + at, 2, any, any_bytes);
}

static size_t put_keys(uint8_t *out)
{
	static const char *const keys[] = {WEFT_OTEL_ROOT_KEY, "http.route"};
	size_t at = 0;

	for (int i = 0; i < 2; i++) {
		uint8_t any[128];

		at += put_part(out + at, 1, any, put_part(any, 1, keys[i], strlen(keys[i])));
	}
	return at;
}

static size_t put_payload(uint8_t *out)
{
	uint8_t pair[128], resource[128], keys[128];
	size_t bytes = put_pair(pair, "service.name", 1, "stranger", 8), at;

	at = put_part(out, 1, resource, put_part(resource, 1, pair, bytes));
	bytes = put_pair(pair, WEFT_OTEL_SCHEMA_KEY, 1, WEFT_OTEL_SCHEMA_DEV,
			 strlen(WEFT_OTEL_SCHEMA_DEV));
	at += put_part(out + at, 2, pair, bytes);
	bytes = put_keys(keys);
	bytes = put_pair(pair, WEFT_OTEL_KEY_MAP_KEY, 5, keys, bytes);
	return at + put_part(out + at, 2, pair, bytes);
}

static int publish_process(void)
{
	static uint8_t payload[512];
	struct weft_otel_process_header *h = stranger_process_map();
	struct timespec now;

	if (!h)
		return -1;
	clock_gettime(CLOCK_BOOTTIME, &now);
	stranger_process_publish(h, payload, put_payload(payload),
				 (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	return 0;
}

/* ---- one thread */

static void publish_record(unsigned int number)
{
	static __thread struct weft_otel_record record;
	char root[24];
	int n;

	for (int i = 0; i < 16; i++)
		record.trace_id[i] = (uint8_t)(0xA0 + i);
	record.span_id[6] = (uint8_t)((SPAN + number) >> 8);
	record.span_id[7] = (uint8_t)(SPAN + number);
	record.trace_flags = 1;
	n = snprintf(root, sizeof(root), "%016x", 0x2000 + number);
	record.attributes[0] = 0;
	record.attributes[1] = (uint8_t)n;
	memcpy(record.attributes + 2, root, (size_t)n);
	memcpy(record.attributes + 2 + n, "\1\6/items\7\1x\1\7/orders\1", 3 + 6 + 2 + 2 + 8);
	record.attributes_bytes = (uint16_t)(2 + n + 2 + 6 + 3 + 2 + 7 + 1);
	__atomic_store_n(&record.valid, 1, __ATOMIC_RELEASE);
	otel_thread_ctx_v1 = &record;
}

static struct weft_custom_labels_string string(const char *text)
{
	return (struct weft_custom_labels_string){strlen(text), (const unsigned char *)text};
}

static void publish_labels(unsigned int number)
{
	static __thread struct weft_custom_labels_label labels[5];
	static __thread struct weft_custom_labels_set set;
	static __thread char span[16];

	snprintf(span, sizeof(span), "%u", SPAN + number);
	labels[0] = (struct weft_custom_labels_label){string("span-id"), string(span)};
	labels[1] = (struct weft_custom_labels_label){{3, NULL}, string("of no key")};
	labels[2] = (struct weft_custom_labels_label){string("tenant"), string("first")};
	labels[3] = (struct weft_custom_labels_label){string("tenant"), string("second")};
	labels[4] = (struct weft_custom_labels_label){string("line"), string("a\nb\033[31m")};
	set = (struct weft_custom_labels_set){labels, 5, 5};
	custom_labels_current_set = &set;
}

EXPORTED int stranger_process(void);
EXPORTED void stranger_thread(unsigned int number);

int stranger_process(void)
{
	return publish_process();
}

void stranger_thread(unsigned int number)
{
	publish_record(number);
	publish_labels(number);
}
#endif

#ifndef STRANGER_LIBRARY
static void (*begin)(unsigned int number);
static unsigned int begun;

static void *live(void *arg)
{
	begin((unsigned int)(uintptr_t)arg);
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

static int find(const char *path)
{
#ifdef STRANGER_OPENS
	void *library = dlopen(path, RTLD_NOW);
	int (*process)(void) =
		library ? (int (*)(void))(uintptr_t)dlsym(library, "stranger_process") : NULL;

	begin = library ? (void (*)(unsigned int))(uintptr_t)dlsym(library, "stranger_thread")
			: NULL;
	return process ? process() : -1;
#else
	(void)path;
	begin = stranger_thread;
	return stranger_process();
#endif
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (find(argc > 1 ? argv[1] : ""))
		return 1;
	for (uintptr_t i = 1; i <= 3; i++)
		if (pthread_create(&thread, NULL, live, (void *)i))
			return 1;
	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) < 3)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
#endif
