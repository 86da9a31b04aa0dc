/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another library that publishes OpenTelemetry's contexts, as a program might bring one along:
 *   STRANGER_PROCESS  a process context, when it is loaded, with the keys "strangers.own" and
 *                     "tenant"; stranger_more() publishes it anew with "route" behind them,
 *                     stranger_again() with "shop", too
 *   STRANGER_THREAD   the thread's symbol
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef STRANGER_THREAD
__thread void *otel_thread_ctx_v1 __attribute__((visibility("default")));

void *stranger_touch(void);
void *stranger_touch(void)
{
	return &otel_thread_ctx_v1;
}
#endif

#ifdef STRANGER_PROCESS
struct header {
	char signature[8];
	uint32_t version, bytes;
	uint64_t time;
	const void *payload;
};

/* attributes { key: "threadlocal.attribute_key_map" value { array_value { values ... } } } */
#define KEY                                                                                        \
	"\x0a\x1d"                                                                                 \
	"threadlocal.attribute_key_map"
#define OWN                                                                                        \
	"\x0a\x0f\x0a\x0d"                                                                         \
	"strangers.own"
#define TENANT                                                                                     \
	"\x0a\x08\x0a\x06"                                                                         \
	"tenant"
#define ROUTE                                                                                      \
	"\x0a\x07\x0a\x05"                                                                         \
	"route"
#define SHOP                                                                                       \
	"\x0a\x06\x0a\x04"                                                                         \
	"shop"
static const char first[] = "\x12\x3e" KEY "\x12\x1d\x2a\x1b" OWN TENANT;
static const char second[] = "\x12\x47" KEY "\x12\x26\x2a\x24" OWN TENANT ROUTE;
static const char third[] = "\x12\x4f" KEY "\x12\x2e\x2a\x2c" OWN TENANT ROUTE SHOP;
static struct header *header;

static void publish(const char *payload, uint32_t bytes)
{
	uint64_t time = header->time;

	__atomic_store_n(&header->time, 0, __ATOMIC_SEQ_CST);
	header->payload = payload;
	header->bytes = bytes;
	__atomic_store_n(&header->time, time + 1, __ATOMIC_SEQ_CST);
}

void stranger_more(void);
void stranger_more(void)
{
	publish(second, sizeof(second) - 1);
}

void stranger_again(void);
void stranger_again(void)
{
	publish(third, sizeof(third) - 1);
}

__attribute__((constructor)) static void begin(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 4096))
		return;
	header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (header == MAP_FAILED)
		return;
	memcpy(header->signature, "OTEL_CTX", 8);
	header->version = 2;
	publish(first, sizeof(first) - 1);
}
#endif
