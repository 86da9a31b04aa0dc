/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commits events of all kinds of field on several threads, and says on stdout what it committed:
 * a JSON object a line, as the file must have it, with the times between which it began and ended
 * (CLOCK_MONOTONIC).
 *
 *	typed-events THREADS EVENTS
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <weft/event.h>

#define FIELD(name_, kind_, ...)                                                                   \
	{                                                                                          \
		.name = name_, .kind = kind_, ##__VA_ARGS__                                        \
	}

static struct weft_event_type all = {
	.name = "test.All",
	.label = "All Kinds",
	.description = "A field of every kind",
	.category = "Test|Typed",
	.flags = WEFT_EVENT_STACK,
	WEFT_EVENT_FIELDS(
		FIELD("b", WEFT_EVENT_BOOLEAN), FIELD("y", WEFT_EVENT_BYTE),
		FIELD("c", WEFT_EVENT_CHAR), FIELD("s", WEFT_EVENT_SHORT),
		FIELD("i", WEFT_EVENT_INT), FIELD("l", WEFT_EVENT_LONG),
		FIELD("f", WEFT_EVENT_FLOAT), FIELD("d", WEFT_EVENT_DOUBLE),
		FIELD("text", WEFT_EVENT_STRING), FIELD("pooled", WEFT_EVENT_STRING_POOLED),
		FIELD("thread", WEFT_EVENT_THREAD), FIELD("id", WEFT_EVENT_ID),
		FIELD("size", WEFT_EVENT_LONG, .content = WEFT_EVENT_BYTES, .label = "Size")),
};
static struct weft_event_type instant = {
	.name = "test.Instant",
	.flags = WEFT_EVENT_INSTANT,
	WEFT_EVENT_FIELDS(FIELD("l", WEFT_EVENT_LONG)),
};
static struct weft_event_type empty = {.name = "test.Empty"};

static const char *const texts[] = {
	"", "plain", "gr\xc3\xbc\xc3\x9f dich \xe2\x82\xac",
	"a text that is longer than sixty-four bytes, so that the writer "
	"of the file may keep it in a pool of strings"};
static const char *const pooled[] = {"red", "green", "blue"};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t mix(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

struct values {
	uint64_t bits, number;
	const char *text, *pooled;
	float real;
};

static void tell(int64_t key, const struct values *v, pid_t tid, const uint64_t *when)
{
	flockfile(stdout);
	printf("{\"key\":%" PRId64 ",\"tid\":%d,\"b\":%s,\"y\":%d,\"c\":%u,\"s\":%d,\"i\":%" PRId32
	       ",\"f\":%.9g,\"d\":%.17g,\"text\":",
	       key, (int)tid, v->bits & 1 ? "true" : "false", (int8_t)v->bits,
	       (unsigned int)('A' + v->bits % 26), (int16_t)(v->bits >> 8), (int32_t)v->bits,
	       (double)v->real, (double)v->real / 3);
	if (v->text)
		printf("\"%s\"", v->text);
	else
		printf("null");
	printf(",\"pooled\":\"%s\",\"id\":\"%016" PRIx64 "\",\"begin\":[%" PRIu64 ",%" PRIu64
	       "],\"end\":[%" PRIu64 ",%" PRIu64 "]}\n",
	       v->pooled, v->number | 1, when[0], when[1], when[2], when[3]);
	funlockfile(stdout);
}

static void one(int64_t key, const struct values *v, pid_t tid)
{
	struct weft_event event;
	uint64_t when[4];
	int kept;

	when[0] = now_ns();
	weft_event_begin(&event, &all);
	when[1] = now_ns();
	if (v->bits % 7 == 0)
		usleep(200);
	when[2] = now_ns();
	weft_event_end(&event);
	when[3] = now_ns();
	kept = weft_event_commit(&event, WEFT_LONG(v->bits & 1), WEFT_LONG((int8_t)v->bits),
				 WEFT_LONG('A' + v->bits % 26), WEFT_LONG((int16_t)(v->bits >> 8)),
				 WEFT_LONG((int32_t)v->bits), WEFT_LONG(key),
				 WEFT_DOUBLE((double)v->real), WEFT_DOUBLE((double)v->real / 3),
				 WEFT_STRING(v->text), WEFT_LONG(weft_tag_intern(v->pooled)),
				 WEFT_LONG(tid), WEFT_LONG(v->number | 1), WEFT_LONG(key));
	if (!kept)
		fprintf(stderr, "event %" PRId64 " was not kept\n", key);
	tell(key, v, tid, when);
}

static int64_t count;

static void *work(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg * UINT64_C(0x9E3779B97F4A7C15) + 1;
	pid_t tid = (pid_t)syscall(SYS_gettid);

	for (int64_t i = 0; i < count; i++) {
		struct values v = {.bits = mix(&seed), .number = mix(&seed)};

		v.text = v.bits % 5 == 4 ? NULL : texts[v.bits % 5 % 4];
		v.pooled = pooled[v.bits % 3];
		v.real = (float)(int32_t)(v.bits >> 16) / 64;
		one((int64_t)(uintptr_t)arg * 1000000 + i, &v, tid);
		weft_event_emit(&instant, WEFT_LONG(i));
		weft_event_emit(&empty);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[64];
	int threads = argc > 2 ? atoi(argv[1]) : 1;

	count = argc > 2 ? atoi(argv[2]) : 10;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)(i + 1)))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
